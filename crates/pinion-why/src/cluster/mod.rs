//! Why a request took as long as it did across all nodes of a cluster, or a frame was lost between them.
//!
//! [`Ears`] hear all nodes and the network; of what they [`Heard`] comes the request that is meant, from
//! its sender to its receiver and back; [`Visits`] hear the nodes that it came to once more, closely; out
//! comes an [`Answer`].

mod answer;
mod ask;
mod chain;
mod ends;
mod heard;
mod lost;
mod visits;
mod web;

pub use answer::Answer;
pub use ask::ask;
pub use heard::{Ears, Heard, Journey, Meant, Trip};
pub use lost::Lost;
pub use visits::{Visits, Work};
