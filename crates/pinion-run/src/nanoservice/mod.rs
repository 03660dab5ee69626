//! Nanoservices: programs that run on a nanoPU node.
//!
//! A [`Service`](pinion_app::service::Service) and a [`Setup`] make a node; [`run::run`] puts it at one
//! end of a link and requests at the other, and gives a [`Summary`].

mod check;
pub mod ears;
mod fault;
mod flows;
pub mod frames;
pub mod hang;
mod json;
#[cfg(target_os = "linux")]
pub mod live;
mod nothing;
mod outside;
mod perfetto;
mod pipeline;
mod profile;
pub mod run;
pub(crate) mod said;
mod script;
mod setup;
pub mod summary;
mod text;
mod trace;
mod waiting;
pub mod wire;

pub use check::{check, checker, rests};
pub use frames::Outputs;
pub use outside::Traffic;
pub use perfetto::NodeTrace;
pub use pinion_observe::trace::Works;
pub use profile::HartProfile;
pub use script::{FILE_NAME as SCRIPT_NAME, Script};
pub use setup::{Setup, has_programs};
pub use summary::{HartRow, Nanoservice, Summary};
pub use trace::{Filter, Trace};
