//! A run on one page. In: what a run came to, part by part: texts, pictures, curves, source. Out: an HTML
//! file that needs nothing else: style and script are in it, and it may ask no other computer for anything.
//!
//! | part | file |
//! |---|---|
//! | the page and its parts | `page.rs`; what follows a run that goes on: `live.js` |
//! | curves over time that one can zoom into | `curves.rs`, drawn by `page.js` |
//! | how long packets took | `latencies.rs` |
//! | source with the cycles of each line | `source.rs` |

mod curves;
mod latencies;
mod page;
mod source;

pub use curves::{Curves, Panel};
pub use latencies::Latencies;
pub use page::{Page, escaped, inline};
pub use source::annotated;
