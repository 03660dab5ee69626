//! Why a message to a nanoservice took as long as it did, or a frame was dropped.
//!
//! [`Follower`] hears a run and keeps when each message came where; [`Found`] is the one that is meant;
//! [`WorkLines`] hears the same run again, instruction by instruction of the hart that worked at it; out
//! comes an [`Answer`].

mod answer;
mod ask;
mod chain;
mod follower;
mod life;
mod lines;

pub use answer::{Answer, why_dropped};
pub use ask::{answer, answer_since};
pub use chain::Chain;
pub(crate) use chain::WORK;
pub use follower::{DroppedFrame, Follower, Found};
pub use life::{Arrival, Departure, Fate, Left, Life, Outgoing};
pub use lines::WorkLines;
