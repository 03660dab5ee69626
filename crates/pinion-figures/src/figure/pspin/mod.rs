//! PsPIN's published figures. In: programs, packets made for the question, a machine. Out: figures.
//!
//! | file | what it is |
//! |---|---|
//! | `programs.rs` | the programs: the figures' own handlers and the examples, built once |
//! | `load.rs` | packets made for a figure |
//! | `native.rs` | the use cases on this computer |
//! | `observed.rs` | what a NIC did with them: rates, latencies, HPUs used |
//! | `handlers.rs`, `example.rs`, `machine.rs` | kinds of runs that figures' files ask for |
//! | `use_cases.rs` | the six use cases on their standard traffic |
//! | the others | a figure each that a file alone cannot say; what varies stands in `figures/pspin-*.toml` |

mod example;
mod fig11;
mod fig13;
mod fig6;
mod handlers;
mod latency;
mod load;
mod machine;
mod native;
mod observed;
pub(in crate::figure) mod programs;
mod use_cases;

use std::sync::Arc;

use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{Handler, Nic};

use super::Figure;
use super::engine::FromFile;
use super::kinds::Kinds;
use pinion_app::app::App;
use pinion_app::error::{Error, Result};

pub(in crate::figure) use example::Examples;
pub(in crate::figure) use handlers::Handlers;
pub(in crate::figure) use machine::{Areas, Machines};
use programs::Programs;

/// Lists the figures.
pub(super) fn figures(programs: &Arc<Programs>, kinds: &Arc<Kinds>) -> Vec<Box<dyn Figure>> {
    vec![
        Box::new(latency::Latency { programs: programs.clone() }),
        FromFile::named("pspin-fig4", kinds),
        Box::new(fig6::Fig6 { programs: programs.clone() }),
        FromFile::named("pspin-fig8", kinds),
        FromFile::named("pspin-fig9", kinds),
        FromFile::named("pspin-fig10", kinds),
        Box::new(fig11::Fig11 { programs: programs.clone(), host: Arc::default() }),
        FromFile::named("pspin-fig12", kinds),
        Box::new(fig13::Fig13 { programs: programs.clone() }),
        FromFile::named("pspin-table3", kinds),
        FromFile::named("pspin-table4", kinds),
    ]
}

/// Builds a NIC whose only context has nothing but one payload handler. `memory` goes to the start
/// of its handler memory.
///
/// # Errors
/// When the program has no such handler, or does not fit the machine.
fn nic(app: &App, handler: &str, memory: &[u8]) -> Result<Nic> {
    let symbol = app.image.require(handler)?;
    let mut context = app.contexts[0].clone();
    context.header_handler = None;
    context.completion_handler = None;
    context.payload_handler = Some(Handler {
        name: handler.to_owned(),
        address: symbol.address as u32,
        bytes: symbol.size as u32,
    });
    context.handler_memory_image = memory.to_vec();
    let failed = |error| Error::part(format!("cannot set up `{handler}`"), error);
    let engine = MatchingEngine::new(Vec::new(), Limits::default())
        .map_err(|error| Error::part("cannot set up the matching engine", error))?;
    Nic::new(app.machine.value.clone(), &app.image, vec![context], engine).map_err(failed)
}
