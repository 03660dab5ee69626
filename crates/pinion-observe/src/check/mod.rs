//! What a checker says of handlers' memory: findings as they were seen, and what is told of them.

mod finding;
mod verdict;

pub use finding::{Deed, Finding, Kind, Seen, Who};
pub use verdict::{Access, Told, Verdict};
