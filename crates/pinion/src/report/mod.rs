//! What is printed and written about a run: events come in, captures, CSV lines and at the end a
//! [`Summary`] go out.

mod collector;
mod handlers;
mod histogram;
mod json;
mod packets;
mod summary;
mod text;

pub use collector::{Collector, Ears, Fault, Links, Outputs, Sink, Stats};
pub use handlers::HandlerRow;
pub use histogram::{Histogram, Quantiles};
pub(crate) use packets::Partial;
pub use packets::write_whole;
pub use summary::{Ending, Native, Subject, Summary};
pub(crate) use text::{bytes, count, number, seconds};
