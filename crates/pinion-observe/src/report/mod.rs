//! What is printed and written about a run: events come in, captures, CSV lines and at the end a
//! [`Summary`] go out.

mod collector;
mod ending;
mod handlers;
mod histogram;
mod nothing;
mod packet_handlers;
mod packets;
mod summary;
mod text;

use std::path::Path;

use pinion_app::error::Result;

pub use collector::{Collector, Ears, Links, Outputs, Sink, Stats};
pub use ending::{Ending, Report};
pub use handlers::HandlerRow;
pub use histogram::{Histogram, Quantiles};
pub use nothing::Traces;
pub use packet_handlers::{Handlers, Native, Subject};
pub use pinion_output::{Partial, remove_partials, try_remove_partials};
pub use summary::{Section, Summary, as_keys, ratio};
pub use text::write_latencies;

/// Writes a whole file at once, under its final name only when complete.
///
/// # Errors
/// When it cannot be written.
pub fn write_whole(target: &Path, bytes: &[u8]) -> Result<()> {
    Ok(pinion_output::write_whole(target, bytes)?)
}
