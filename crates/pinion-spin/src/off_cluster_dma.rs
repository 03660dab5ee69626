//! The off-cluster DMA: transfers between the NIC's memories and the host's.
//!
//! In: host DMA commands from the command unit. Out: bytes to or from host memory, over the host
//! interface's bus. Holds when its reads and writes of either side are free, and its commands' slots.
//! Waits for the NIC memory's port, behind another transfer, and when its slots are taken. (Paper
//! §III-A, §III-B2; RTL: off-cluster DMA.)

use std::cell::Cell;

use crate::Machine;
use crate::command::Command;
use crate::command::interface::{Answers, DataPath, Slots, Taken};
use crate::host_interface::HostInterface;
use crate::listener::{Event, Listener};
use crate::memory::Place;
use crate::shared::Shared;

/// Cycles from the last beat that a copy from the host writes to the command's end.
const WRITE_RESPONSE_CYCLES: u64 = 3;

/// Holds the engine.
#[derive(Clone, Debug)]
pub struct OffClusterDma {
    /// Its commands.
    pub slots: Slots,
    /// Of copies to the host, and of those from it: each direction has an engine of its own, which
    /// answers in order. (RTL: soc_dma_wrap.)
    to_host: Answers,
    from_host: Answers,
    path: DataPath,
    dma_cycles: u64,
    from_l2_cycles: u64,
    from_host_cycles: u64,
    /// Cycles from which data can be read from the NIC's memories, written to the host, and read
    /// from the host.
    reads_from: u64,
    host_writes_from: u64,
    host_reads_from: u64,
    /// Where data were read last.
    last_source: Option<Place>,
    /// Where a copy from the host went last.
    last_target: Option<Place>,
}

impl OffClusterDma {
    /// Makes an idle engine.
    pub fn new(machine: &Machine) -> Self {
        Self {
            slots: Slots::new(machine),
            to_host: Answers::default(),
            from_host: Answers::default(),
            path: DataPath::new(machine),
            dma_cycles: machine.command.host_dma_cycles,
            from_l2_cycles: machine.command.from_l2_cycles,
            from_host_cycles: machine.command.from_host_cycles,
            reads_from: 0,
            host_writes_from: 0,
            host_reads_from: 0,
            last_source: None,
            last_target: None,
        }
    }

    /// Gives the cycle from which the next command's data could be read from the NIC's memories.
    pub fn next_read(&self, now: u64) -> u64 {
        now.max(self.reads_from)
    }

    /// Takes a command whose data may move from cycle `now` on.
    pub fn take(&mut self, now: u64, command: &Command, place: Option<Place>) -> Taken {
        let mut taken = match command.to_host {
            true => self.copy_to_host(now, command, place),
            false => self.copy_from_host(now, command, place),
        };
        self.slots.occupy();
        taken.done = self.answers(command).take(taken.done);
        taken
    }

    fn answers(&mut self, command: &Command) -> &mut Answers {
        match command.to_host {
            true => &mut self.to_host,
            false => &mut self.from_host,
        }
    }

    /// Gives a copy's beats: on the NIC's side, and on the side that has more of them.
    fn beats(&self, command: &Command) -> (u64, u64) {
        let nic_beats = self.path.nic_beats(command);
        (nic_beats, nic_beats.max(self.path.beats(command.host_address, command)))
    }

    fn copy_to_host(&mut self, now: u64, command: &Command, source: Option<Place>) -> Taken {
        let (nic_beats, beats) = self.beats(command);
        let memory = DataPath::memory(source);
        // It reads a cycle later from the next cluster; what it writes may still follow without a
        // gap, from its buffer (rows to_host_l1-burst_64, to_host_l1-burst_128).
        let switch = self.path.switch_cycles(self.last_source, memory);
        let free = now.max(self.reads_from);
        let start = now.max(self.reads_from + switch);
        self.last_source = memory;
        self.reads_from = start + nic_beats;
        // Where the host's address is not aligned, there is a beat more to write than to read.
        let write = free.max(self.host_writes_from);
        self.host_writes_from = write + beats;
        let done = write + self.dma_cycles + beats + self.path.l2_cycles(source);
        Taken { done, nic_from: start, nic_beats }
    }

    fn copy_from_host(&mut self, now: u64, command: &Command, target: Option<Place>) -> Taken {
        let (nic_beats, beats) = self.beats(command);
        let memory = DataPath::memory(target);
        // Row from_host_l1_send-burst_256: the next cluster's data come a cycle later.
        let switch = self.path.switch_cycles(self.last_target, memory);
        let start = now.max(self.host_reads_from + switch);
        self.last_target = memory;
        self.host_reads_from = start + beats;
        let in_l2 = u64::from(!matches!(target, Some(Place::L1 { .. }))) * self.from_l2_cycles;
        let done = start + self.dma_cycles + self.from_host_cycles + beats + in_l2;
        let nic_from = done.saturating_sub(nic_beats + WRITE_RESPONSE_CYCLES);
        Taken { done, nic_from, nic_beats }
    }

    /// Notes that the last command's data have to wait for `cycles` at a memory of the NIC.
    pub fn hold(&mut self, command: &Command, cycles: u64) {
        match command.to_host {
            true => self.reads_from += cycles,
            false => self.host_reads_from += cycles,
        }
        self.answers(command).put_off(cycles);
    }

    /// Copies the bytes: they are there now.
    pub fn perform(
        &mut self,
        shared: &mut Shared,
        now: u64,
        command: &Command,
        packet: u32,
        host: &mut HostInterface,
        listener: &mut dyn Listener,
    ) {
        let mut data = std::mem::take(&mut shared.scratch);
        data.clear();
        if command.to_host {
            let read = shared.memories.read(command.nic_address, command.bytes);
            data.extend_from_slice(read.unwrap_or(&[]));
            host.write(shared, now, (command.host_address, &data), packet, listener);
        } else {
            data.resize(command.bytes as usize, 0);
            let _ = host.memory.read(command.host_address, &mut data);
            if shared.interest.host_reads {
                let (time, address) = (shared.time(now), command.host_address);
                let data = Cell::from_mut(&mut data[..]).as_slice_of_cells();
                listener.hear(&Event::HostRead { time, address, data });
            }
            let _ = shared.memories.write(command.nic_address, &data);
        }
        shared.scratch = data;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Kind;
    use crate::testing::machine;

    fn host_dma(bytes: u32) -> Command {
        Command {
            kind: Kind::HostDma,
            nic_address: 0x1c40_0000,
            host_address: 1 << 60,
            bytes,
            to_host: true,
            data: 0,
        }
    }

    #[test]
    fn takes_the_measured_cycles() {
        let machine = machine();
        let l1 = Some(Place::L1 { cluster: 0, offset: 0x4400 });
        let l2 = Some(Place::L2Packet(0));
        for (bytes, source, cycles) in [(64, l1, 15), (1024, l1, 30), (64, l2, 17), (1024, l2, 32)]
        {
            let taken = OffClusterDma::new(&machine).take(100, &host_dma(bytes), source);
            assert_eq!(taken.done, 100 + cycles);
        }
    }

    /// Copies from the host to one cluster follow each other beat by beat, those to another a cycle
    /// later (row from_host_l1_send-burst_256).
    #[test]
    fn copies_from_the_host_change_clusters_in_a_cycle() {
        let mut engine = OffClusterDma::new(&machine());
        let read = Command { to_host: false, nic_address: 0x1000_4400, ..host_dma(256) };
        let mut done = |cluster| {
            let target = Some(Place::L1 { cluster, offset: 0x4400 });
            engine.take(100, &read, target).done
        };
        let first = done(0);
        assert_eq!([done(0), done(1), done(1)], [first + 4, first + 9, first + 13]);
    }
}
