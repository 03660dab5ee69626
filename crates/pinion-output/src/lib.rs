//! Files that a run writes. In: a name and bytes. Out: a file that is whole, or none.
//!
//! A file grows under a temporary name in the same folder and gets its final name when it is complete
//! ([`Partial::keep`]); unless it is kept, it is removed. Files that grow line by line, so that what was
//! done is kept whatever becomes of the process, are [`OutputFile`]s without a temporary name.
//!
//! All outputs are opened here and nowhere else, so that tests can let any call on one fail ([`faults`]).

pub mod faults;
mod file;
mod partial;

pub use file::OutputFile;
pub use partial::{OutputError, Partial, remove_partials, try_remove_partials, write_whole};
