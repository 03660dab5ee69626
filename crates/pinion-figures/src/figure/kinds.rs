//! The kinds of runs that a figure's file can ask for.
//!
//! | kind | what runs | module |
//! |---|---|---|
//! | `handlers` | one handler on packets made for it | `pspin/handlers.rs` |
//! | `example` | an example's handlers on its standard traffic | `pspin/example.rs` |
//! | `service` | nanoservice threads under a load | `nanopu/service.rs` |
//! | `application` | a small application on a nanoPU, or behind a DMA NIC | `nanopu/applications.rs` |
//! | `throughput` | a core that receives or sends as fast as it can | `nanopu/throughput.rs` |

use std::sync::Arc;

use super::engine::Kind;
use super::nanopu::{Applications, Bench, Services, Throughputs};
use super::pspin::programs::Programs;
use super::pspin::{Examples, Handlers};

/// Every kind with its name.
pub struct Kinds(Vec<(&'static str, Box<dyn Kind>)>);

/// The names, for messages.
const NAMES: [&str; 5] = ["handlers", "example", "service", "application", "throughput"];

impl Kinds {
    /// Makes the kinds with what they run on.
    pub(super) fn new(programs: &Arc<Programs>, bench: &Arc<dyn Bench>) -> Arc<Self> {
        let kinds: [Box<dyn Kind>; 5] = [
            Box::new(Handlers { programs: programs.clone() }),
            Box::new(Examples { programs: programs.clone() }),
            Box::new(Services { bench: bench.clone() }),
            Box::new(Applications { bench: bench.clone() }),
            Box::new(Throughputs { bench: bench.clone() }),
        ];
        Arc::new(Self(NAMES.into_iter().zip(kinds).collect()))
    }

    /// Finds a kind by its name.
    pub fn find(&self, name: &str) -> Option<&dyn Kind> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, kind)| kind.as_ref())
    }

    /// Lists the names.
    pub fn names() -> String {
        NAMES.join(", ")
    }
}
