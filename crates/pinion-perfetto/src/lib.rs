//! Traces in Perfetto's format: tracks, slices, instants and counters come in, bytes go out.
//!
//! A file holds the packets of Perfetto's protobuf format one after the other, so what is written can be
//! opened whenever a run ends. Times are nanoseconds: a cycle of a clock faster than 1 GHz is cut to its
//! nanosecond.
//!
//! | unit | file |
//! |---|---|
//! | writes packets one by one | `writer.rs` |
//! | events as bytes | `encode.rs` |
//! | things that overlap, side by side | `lanes.rs` |
//! | where a machine stands among those of the same file | `corner.rs` |
//! | the format's messages, as readers want them | `proto.rs` |

mod corner;
mod encode;
mod lanes;
pub mod proto;
mod track;
mod writer;

pub use corner::Corner;
pub use lanes::Lanes;
pub use proto::{UNIT_BYTES, UNIT_COUNT, Value};
pub use track::Track;
pub use writer::{Slice, Writer};
