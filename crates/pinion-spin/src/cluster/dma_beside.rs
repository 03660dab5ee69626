//! Blocks of hardware beside the clusters' DMA engines, and their beats beside the banks of L1. In: transfers, when an engine
//! gets them and when they are made, as the model has it. Out: the same, to the block whose they are.

use super::dma::transfer::reaches;
use super::dma::{Issued, Requester, Transfer};
use crate::hardware::cluster_dma as block;
use crate::machine::DmaReach;
use crate::shared::Shared;

/// Gives a transfer as the block has it.
fn transfer_of(shared: &Shared, transfer: &Transfer) -> block::Transfer {
    let Transfer { requester, from, to, bytes, .. } = *transfer;
    let core = match requester {
        Requester::Scheduler => None,
        Requester::Core(core) => Some(core % shared.machine.cluster.cores),
    };
    block::Transfer { core, from, to, bytes }
}

/// Shows a block a transfer that its cluster's engine gets at cycle `now`.
pub(super) fn show(shared: &mut Shared, now: u64, cluster: u32, transfer: &Transfer) {
    if !shared.hardware.is_some() {
        return;
    }
    let shown = transfer_of(shared, transfer);
    if let Some(seat) = shared.hardware.cluster_dma(cluster) {
        seat.requests(now, shown);
    }
}

/// Shows a block beside a cluster's banks the beats of a transfer to or from an offset in its L1.
#[inline]
pub(super) fn show_beats(shared: &mut Shared, cluster: u32, issued: &Issued, offset: u32) {
    if let Some(seat) = shared.hardware.interconnect(cluster) {
        let first = offset / shared.machine.dma.port_bytes;
        seat.beats(issued.first_beat, issued.beats, first);
    }
}

/// Shows a block that a part of a transfer is made at cycle `now`, whose bytes have not been moved yet.
pub(super) fn show_made(
    shared: &mut Shared,
    now: u64,
    cluster: u32,
    part: &Transfer,
    is_last: bool,
) {
    if !shared.hardware.is_some() {
        return;
    }
    let shown = transfer_of(shared, part);
    let Shared { hardware, memories, machine, .. } = shared;
    let Some(seat) = hardware.cluster_dma(cluster) else { return };
    let reach = match part.requester {
        Requester::Scheduler => DmaReach::All,
        Requester::Core(_) => machine.dma.core_reach,
    };
    let (begins, all) = seat.lines_around(part.from, part.bytes);
    let place =
        |address| memories.place(address, cluster).filter(|place| reaches(reach, *place, cluster));
    let lines = place(begins).and_then(|place| memories.slice(place, all));
    seat.made(now, &block::Made { part: shown, is_last, lines, writes: place(part.to).is_some() });
}
