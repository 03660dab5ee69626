//! An HPU: a core with its driver, which hands it tasks and takes its commands.

pub mod core;
pub mod driver;
pub mod permissions;
pub mod prefetch_buffer;

pub use self::core::{Core, Waiting};
pub use driver::HpuDriver;
pub use permissions::Permissions;
pub use prefetch_buffer::PrefetchBuffer;
