//! The kinds of runs that a figure's file can ask for.
//!
//! | kind | what runs | module |
//! |---|---|---|
//! | `handlers` | one handler on packets made for it | `pspin/handlers.rs` |
//! | `example` | an example's handlers on its standard traffic | `pspin/example.rs` |
//! | `machine`, `area` | nothing: a machine's numbers, what its components take | `pspin/machine.rs` |
//! | `service` | nanoservice threads under a load | `nanopu/service.rs` |
//! | `store` | a key-value store under a load | `nanopu/store.rs` |
//! | `chain` | writes to replicas in a chain | `nanopu/chain.rs` |
//! | `echo` | a message's way, stage by stage | `nanopu/echo.rs` |
//! | `queue` | a cluster, and what waits before a cable of it | `nanopu/queue.rs` |
//! | `messages` | NICs that send messages of published sizes through a switch | `nanopu/messages.rs` |
//! | `application` | a small application on a nanoPU, or behind a DMA NIC | `nanopu/applications.rs` |
//! | `throughput` | a core that receives or sends as fast as it can | `nanopu/throughput.rs` |
//! | `ping` | pings, answered by the host, by handlers or by both | `fpspin/ping.rs` |
//! | `transfer` | a file sent by SLMP | `fpspin/transfer.rs` |
//! | `datatypes` | messages of MPI datatypes, alone and beside a computation | `fpspin/datatypes.rs` |
//! | `none` | nothing: rows of parameters | here |

use std::sync::Arc;

use super::Setting;
use super::engine::{Asked, Kind, Record};
use super::fpspin::{Datatypes, Pings, Transfers};
use super::nanopu::{
    Applications, Bench, Chains, Echoes, Messages, Queues, Services, Stores, Throughputs,
};
use super::pspin::programs::Programs;
use super::pspin::{Areas, Examples, Handlers, Machines};
use pinion_app::error::Result;

/// Every kind with its name.
pub struct Kinds(Vec<(&'static str, Box<dyn Kind>)>);

/// The names, for messages.
const NAMES: [&str; 16] = [
    "handlers",
    "example",
    "machine",
    "area",
    "service",
    "store",
    "chain",
    "echo",
    "queue",
    "messages",
    "application",
    "throughput",
    "ping",
    "transfer",
    "datatypes",
    "none",
];

impl Kinds {
    /// Makes the kinds with what they run on.
    pub(super) fn new(programs: &Arc<Programs>, bench: &Arc<dyn Bench>) -> Arc<Self> {
        let kinds: [Box<dyn Kind>; NAMES.len()] = [
            Box::new(Handlers { programs: programs.clone() }),
            Box::new(Examples { programs: programs.clone() }),
            Box::new(Machines),
            Box::new(Areas),
            Box::new(Services { bench: bench.clone() }),
            Box::new(Stores { bench: bench.clone() }),
            Box::new(Chains { bench: bench.clone() }),
            Box::new(Echoes { bench: bench.clone() }),
            Box::new(Queues),
            Box::new(Messages),
            Box::new(Applications { bench: bench.clone() }),
            Box::new(Throughputs { bench: bench.clone() }),
            Box::new(Pings { programs: programs.clone() }),
            Box::new(Transfers { programs: programs.clone() }),
            Box::new(Datatypes { programs: programs.clone() }),
            Box::new(Nothing),
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

/// Runs nothing: what rows hold stands in the file.
struct Nothing;

impl Kind for Nothing {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &[]
    }

    fn run(&self, _: &Asked<'_>, _: &Setting<'_>) -> Result<Vec<Record>> {
        Ok(vec![Record::new()])
    }
}
