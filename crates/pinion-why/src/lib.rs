//! Why a packet took as long as it did, or was dropped; of a nanoservice, a message.
//!
//! Runs are the same each time, so nothing need be kept in advance: who listens first says which packet or
//! message is meant, who listens next follows it, and its program's lines are counted in a third run. What
//! comes out has parts that follow each other without a gap.
//!
//! | part | of what |
//! |---|---|
//! | [`nano`] | messages to a nanoservice |
//! | [`Census`], [`Witness`], [`Lines`], [`Answer`] | packets of handlers on a sPIN NIC |

mod handlers;
pub mod nano;
mod way;

pub use handlers::{
    Answer, Blocker, Census, Chain, Found, Lines, Span, Step, Target, Which, Witness,
};
pub use way::{LineShare, Part, Standing};
