//! Why a packet took as long as it did, or was dropped; of a nanoservice, a message.
//!
//! Runs are the same each time, so nothing need be kept in advance: who listens first says which packet or
//! message is meant, who listens next follows it, and its program's lines are counted in a third run. What
//! comes out has parts that follow each other without a gap, so that they add up.
//!
//! | part | of what |
//! |---|---|
//! | [`nano`] | messages to a nanoservice |
//! | [`Census`], [`Witness`], [`Lines`], [`Answer`] | packets of handlers on a sPIN NIC |
//! | [`cluster`] | requests through all nodes of a cluster, and frames lost between them |
//! | [`find`] | which of them is meant |
//! | [`way`] | a way's parts, as text, for programs and as a picture |

pub mod cluster;
pub mod find;
mod handlers;
mod locks;
pub mod nano;
pub mod way;

pub use find::Which;
pub use handlers::{Answer, Census, Elf, Found, Lines, Subject, Target, Witness, answer};
pub use locks::{Holder, LockWait, Spent};
pub use way::Longest;
