//! An HPU: a core with its driver, which hands it tasks and takes its commands.

pub mod core;
pub mod driver;
pub mod execute;
pub mod fault;
pub mod permissions;
pub mod port;
pub mod trace;

pub use self::core::{Core, Waiting};
pub use driver::HpuDriver;
pub use permissions::Permissions;
