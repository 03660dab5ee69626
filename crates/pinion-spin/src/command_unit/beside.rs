//! Blocks of hardware beside what lies behind the command unit's interfaces. In: commands, when they use the NIC's
//! memories and when they are done, as the model has it. Out: the same, to the block whose they are.

use pinion_host::HostMemory;

use crate::cluster::hpu::driver::CommandSlot;
use crate::command::cluster_path::Line;
use crate::command::interface::Taken;
use crate::command::{Command, Kind};
use crate::hardware::outbound::Send;
use crate::hardware::words::{Copy, Direct};
use crate::shared::Shared;

/// Cycles from the request for a line of a cluster's L1 to the beat that the model counts: of the outbound engine,
/// and of the off-cluster DMA, which has registers before.
const SEND_BEAT_CYCLES: u64 = 1;
const COPY_BEAT_CYCLES: u64 = 5;

/// Gives a copy as the block has it.
fn copy_of(command: u32, decoded: &Command) -> Copy {
    let Command { to_host, host_address: host, nic_address: nic, bytes, .. } = *decoded;
    Copy { command, to_host, host, nic, bytes }
}

/// Shows blocks a command that its interface takes at cycle `now`, with what the lines hold that it reads.
pub fn show(shared: &mut Shared, now: u64, command: u32, slot: &CommandSlot) {
    if !shared.hardware.is_some() {
        return;
    }
    let Ok(decoded) = Command::decode(&slot.command) else { return };
    let Shared { hardware, memories, .. } = shared;
    let (nic, bytes) = (decoded.nic_address, decoded.bytes);
    match decoded.kind {
        Kind::Send => {
            let Some(seat) = hardware.outbound() else { return };
            let (begins, all) = seat.lines_of(nic.into(), bytes);
            let send = Send { command, from: nic, bytes };
            seat.take(now, send, slot.packet, memories.read(begins as u32, all));
        }
        Kind::HostDma => {
            let Some(seat) = hardware.off_cluster() else { return };
            let (begins, all) = seat.lines_of(nic.into(), bytes);
            let lines = memories.read(begins as u32, all);
            seat.take(now, copy_of(command, &decoded), slot.packet, lines);
        }
        Kind::HostDirect => {
            let Some(seat) = hardware.off_cluster() else { return };
            let Command { host_address: host, data, .. } = decoded;
            seat.take_direct(now, Direct { command, host, bytes, data }, slot.packet);
        }
    }
}

/// Shows a block from when on a copy asks the host for its lines.
pub fn show_asks(shared: &mut Shared, decoded: &Command, command: u32, from: u64) {
    if decoded.writes_nic()
        && let Some(seat) = shared.hardware.off_cluster()
    {
        seat.asks_from(command, from);
    }
}

/// Shows blocks from when on a command reads L2.
pub fn show_start(shared: &mut Shared, decoded: &Command, command: u32, taken: &Taken) {
    match decoded.kind {
        Kind::Send => {
            if let Some(seat) = shared.hardware.outbound() {
                seat.reads_from(command, taken.nic_from);
            }
        }
        Kind::HostDma if decoded.to_host => {
            if let Some(seat) = shared.hardware.off_cluster() {
                seat.reads_until(command, taken.nic_from + taken.nic_beats);
            }
        }
        _ => {}
    }
}

/// Shows blocks when the last beat of a command came out of a cluster's L1.
pub fn show_last_beat(shared: &mut Shared, line: Line, command: u32, last_beat: u64) {
    match line {
        Line::Sends => {
            if let Some(seat) = shared.hardware.outbound() {
                seat.reads_until(command, last_beat + 1 - SEND_BEAT_CYCLES);
            }
        }
        Line::ToHost => {
            if let Some(seat) = shared.hardware.off_cluster() {
                seat.reads_until(command, last_beat + 1 - COPY_BEAT_CYCLES);
            }
        }
        Line::FromHost => {}
    }
}

/// Shows blocks that a command is done at cycle `now`.
pub fn show_done(
    shared: &mut Shared,
    now: u64,
    (command, slot): (u32, &CommandSlot),
    memory: &HostMemory,
) {
    if !shared.hardware.is_some() {
        return;
    }
    let Ok(decoded) = Command::decode(&slot.command) else { return };
    if decoded.kind == Kind::Send {
        if let Some(seat) = shared.hardware.outbound() {
            seat.done(now, command);
        }
        return;
    }
    let Some(seat) = shared.hardware.off_cluster() else { return };
    match decoded.kind {
        Kind::HostDma if !decoded.to_host => {
            let (begins, all) = seat.lines_of(decoded.host_address, decoded.bytes);
            let mut lines = vec![0; all as usize];
            let _ = memory.read(begins, &mut lines);
            seat.made_from_host(now, &copy_of(command, &decoded), &lines);
        }
        kind => seat.made(now, command, kind == Kind::HostDma),
    }
}
