//! Where every cycle of every hart went. In: a run, instruction by instruction. Out: cycles by handler,
//! function, line and cause, as tables, annotated source and disassembly, flame graph, files for
//! speedscope and pprof, coverage, JSON. The cycles add up to those of all harts.
//!
//! | part | file |
//! |---|---|
//! | what cycles go by | `cause.rs` |
//! | a program's instructions, the stack of calls | `code.rs`, `stacks.rs` |
//! | the account | `ledger.rs` |
//! | who hears a sPIN NIC | `hpus.rs` |
//! | sums by function and line | `rows.rs` |
//! | where instructions were written, read once | `sources.rs` |
//! | what comes out | `text.rs`, `listing.rs`, `json.rs`, `flame.rs`, `speedscope.rs`, `pprof/`, `lcov.rs` |

mod cause;
mod code;
mod flame;
mod hpus;
mod json;
mod lcov;
mod ledger;
mod listing;
mod pprof;
mod rows;
mod sources;
mod speedscope;
mod stacks;
mod text;

use std::path::PathBuf;
use std::sync::Arc;

pub use cause::{Cause, Cycles};
pub use code::{CodeMap, Slot};
pub use hpus::HpuProfile;
pub use lcov::lcov;
pub use ledger::{At, BEFORE, Count, Gap, Key, Ledger};
pub use listing::Listing;
pub use pprof::format as pprof_format;
pub use rows::Rows;
pub use sources::Sources;
pub use stacks::{Flow, ROOT};

/// Names a class of work: a handler of a context, or what harts do besides.
#[derive(Clone, Debug, Default)]
pub struct Class {
    /// Name of it: a handler's function.
    pub name: String,
    /// Its context, of a handler.
    pub context: Option<String>,
    /// Its kind, of a handler.
    pub kind: Option<&'static str>,
    /// Number of its runs.
    pub runs: u64,
    /// Cycles of its runs, from begin to end, as the machine tells them.
    pub cycles: u64,
}

/// Names a hart.
#[derive(Clone, Debug)]
pub struct Hart {
    /// Name of it: `1.3` is HPU 3 of cluster 1.
    pub name: String,
}

/// What the handlers of packets of a context and a size took.
#[derive(Clone, Debug, Default)]
pub struct PacketRow {
    /// Their context.
    pub context: String,
    /// The largest size that belongs here, in bytes; the smallest is one more than half of it.
    pub to_bytes: u32,
    /// Number of them.
    pub packets: u64,
    /// What their handlers took.
    pub count: Count,
}

/// A finished account.
#[derive(Debug)]
pub struct Profile<'a> {
    /// Name of the application.
    pub app: String,
    /// Its program.
    pub elf: PathBuf,
    /// Its bytes, where they lie in no file.
    pub file: Option<Arc<[u8]>>,
    /// Name of the machine.
    pub machine: String,
    /// Name of a hart of it.
    pub hart_word: &'static str,
    /// Cycles of the run, from when the machine was ready.
    pub cycles: u64,
    /// The harts.
    pub harts: Vec<Hart>,
    /// The classes of work, by their number.
    pub classes: Vec<Class>,
    /// What packets took, by context and size.
    pub packets: Vec<PacketRow>,
    /// The program's instructions.
    pub code: CodeMap<'a>,
    /// What was counted.
    pub ledger: Ledger,
}

impl Profile<'_> {
    /// Gives the cycles of all harts.
    pub fn total(&self) -> u64 {
        self.cycles * self.harts.len() as u64
    }

    /// Reads the program; nothing where it is gone.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let read = || pinion_input::bytes(&self.elf).unwrap_or_default();
        self.file.as_ref().map_or_else(read, |file| file.to_vec())
    }

    /// Adds up everything that was counted.
    pub fn sum(&self) -> Count {
        let mut sum = Count::default();
        self.ledger.cells().iter().for_each(|(_, count)| sum.add(count));
        sum
    }

    /// Adds up what was counted of a class of work.
    pub fn of_class(&self, class: usize) -> Count {
        let mut sum = Count::default();
        let cells = self.ledger.cells().iter();
        cells.filter(|(key, _)| key.class as usize == class).for_each(|(_, count)| sum.add(count));
        sum
    }

    /// Adds up what was counted of a hart.
    pub fn of_hart(&self, hart: usize) -> Count {
        let mut sum = Count::default();
        self.ledger.hart(hart).iter().for_each(|count| sum.add(count));
        sum
    }
}
