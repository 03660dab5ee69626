//! A key-value store under load: the store example, a link, a load. Out: what became of the load.

use pinion_net::load::{LoadReport, LoadSpec};

use super::super::Store;
use super::serve::drive;
use super::{Nodes, node};
use crate::figure::Setting;
use pinion_app::error::Result;

/// The program; its source says what the arguments mean.
const PROGRAM: &str = "nanopu_mica";
/// Retransmission timeout of the published runs (artifact, FireSim settings for MICA).
const TIMEOUT: &str = "transmit.timer.timeout_cycles=4480";
/// Is the memory of the published runs (artifact, FireSim settings): DDR3 whose rows stay open, behind a
/// last-level cache of 4 MiB. What lines cost there is the machine file's.
pub(super) const MEMORY: [&str; 2] = ["memory.row_bytes=8192", "memory.last_level_sets=4096"];
/// Harts that hold a part of the store, each of which announces itself.
const HARTS: u32 = 4;
/// Bounds the cycles that a hart takes to put a pair into its empty store.
const PAIR_CYCLES: u64 = 10_000;

/// Puts a load on a store.
pub(super) fn store(
    nodes: &Nodes,
    run: &Store,
    mut load: LoadSpec,
    setting: &Setting<'_>,
) -> Result<LoadReport> {
    let image = nodes.programs.get(PROGRAM, None, setting)?;
    let published = MEMORY.into_iter().chain([TIMEOUT]).map(str::to_owned);
    let machine = nodes.machine(&published.collect::<Vec<_>>(), setting)?;
    let assignment = if run.is_shared { "jbsq" } else { "static" };
    let pairs = run.pairs.to_string();
    let node = node(&machine, &image, &[PROGRAM, assignment, &pairs])?;
    load.startup_messages = HARTS;
    drive(node, load, run.link_cycles, 4_000_000 + run.pairs * PAIR_CYCLES)
}
