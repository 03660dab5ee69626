//! A live run to look at from a browser. In: what is simulated, as it stands between two turns, and packets
//! that are through. Out: the page of `pinion run --html`, which follows the run, and its numbers as metrics
//! for Prometheus, over HTTP on a loopback address.
//!
//! | part | file |
//! |---|---|
//! | what is kept of the run, and how it is shown | `dashboard.rs`, `levels.rs`, `slowest.rs` |
//! | numbers as metrics | `metrics.rs` |
//! | who may ask | `door.rs` |
//! | requests and answers | `http.rs`, `server.rs` |
//!
//! The run is summed up when somebody asks, in the run's own thread between two turns: a page that nobody
//! looks at costs a sample of what units hold now and then.

mod dashboard;
mod door;
pub mod http;
mod levels;
mod metrics;
mod server;
mod slowest;

pub use dashboard::Dashboard;
