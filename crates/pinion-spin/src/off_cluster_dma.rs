//! The off-cluster DMA: transfers between the NIC's memories and the host's.
//!
//! In: host DMA commands from the command unit. Out: bytes to or from host memory, over the host
//! interface's bus. Holds when its reads and writes of either side are free, and its commands' slots.
//! Waits for the NIC memory's port, behind another transfer, and when its slots are taken. (Paper
//! §III-A, §III-B2; RTL: off-cluster DMA.)

use std::cell::Cell;

use crate::Machine;
use crate::command::Command;
use crate::command::interface::{Answers, DataPath, L1_RESPONSE_CYCLES, Slots, Taken};
use crate::host_interface::HostInterface;
use crate::listener::{Event, Listener};
use crate::memory::Place;
use crate::shared::Shared;

/// Cycles from the last beat that a copy from the host writes into L2 to the command's end.
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
    from_host_cycles: u64,
    /// Cycles from which data can be read from the NIC's memories, written to the host, and read
    /// from the host.
    reads_from: u64,
    host_writes_from: u64,
    host_reads_from: u64,
    /// Cycle in which the last copy from the host asks for its first line.
    asked_from: u64,
    /// Cycles until a request to read the NIC's memories is there.
    pub request_cycles: u64,
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
            from_host_cycles: machine.command.from_host_cycles,
            reads_from: 0,
            host_writes_from: 0,
            host_reads_from: 0,
            asked_from: 0,
            request_cycles: machine.command.read_request_cycles,
        }
    }

    /// Gives the cycle from which the next command's data could be read from the NIC's memories.
    pub fn next_read(&self, now: u64) -> u64 {
        now.max(self.reads_from)
    }

    /// Takes a command whose data may move from cycle `now` on, to or from L2.
    pub fn take(&mut self, now: u64, command: &Command, place: Option<Place>) -> Taken {
        let mut taken = match command.to_host {
            true => self.copy_to_host(now, command, place),
            false => self.copy_from_host(now, command, place),
        };
        taken.done = self.answers(command).take(taken.done);
        taken
    }

    fn answers(&mut self, command: &Command) -> &mut Answers {
        match command.to_host {
            true => &mut self.to_host,
            false => &mut self.from_host,
        }
    }

    /// Gives the beats that a copy to the host writes there, and the cycles from its last read to its last write
    /// beside those of a copy that is aligned alike on both sides: there may be a beat more to write than to
    /// read, and where data move down the last beat that is read has the end of one line and another one. (RTL:
    /// axi_dma_data_path.)
    fn host_writes(&self, command: &Command) -> (u64, u64) {
        let reads = self.path.nic_beats(command);
        let writes = self.path.beats(command.host_address, command).max(1);
        let shifts = self.path.shifts(u64::from(command.nic_address), command.host_address);
        let behind = match writes {
            1 => 0,
            _ => (writes + u64::from(shifts)).saturating_sub(reads),
        };
        (writes, behind)
    }

    fn copy_to_host(&mut self, now: u64, command: &Command, source: Option<Place>) -> Taken {
        let nic_beats = self.path.nic_beats(command);
        let (writes, behind) = self.host_writes(command);
        let start = self.next_read(now);
        self.reads_from = start + nic_beats;
        let end = (start + nic_beats + behind).max(self.host_writes_from + writes);
        self.host_writes_from = end;
        let done = end + self.dma_cycles + self.path.l2_cycles(source);
        Taken { done, nic_from: start, nic_beats }
    }

    fn copy_from_host(&mut self, now: u64, command: &Command, target: Option<Place>) -> Taken {
        let nic_beats = self.path.nic_beats(command);
        let reads = self.path.beats(command.host_address, command).max(1);
        let start = now.max(self.host_reads_from);
        self.asked_from = start;
        self.host_reads_from = start + reads.max(nic_beats);
        let in_l2 = self.path.l2_cycles(target);
        let beats = self.nic_writes(command);
        let done = start + self.dma_cycles + self.from_host_cycles + beats + in_l2;
        let nic_from = done.saturating_sub(nic_beats + WRITE_RESPONSE_CYCLES);
        Taken { done, nic_from, nic_beats }
    }

    /// Gives the cycle in which the last copy from the host that was taken asks for its first line.
    pub fn asked_from(&self) -> u64 {
        self.asked_from
    }

    /// Gives the cycles from a copy's first read of the host to its last write in the NIC: as many as it writes, where
    /// data move down one more; of a single one, as many as it reads. (RTL: axi_dma_data_path.)
    fn nic_writes(&self, command: &Command) -> u64 {
        match self.path.nic_beats(command) {
            1 => self.path.beats(command.host_address, command).max(1),
            beats => {
                let shifts = self.path.shifts(command.host_address, u64::from(command.nic_address));
                beats + u64::from(shifts)
            }
        }
    }

    /// Notes that the data of the last copy from the host have to wait for `cycles` at L2.
    pub fn hold(&mut self, cycles: u64) {
        self.host_reads_from += cycles;
        self.from_host.put_off(cycles);
    }

    /// Gives a command's beats on the NIC's side.
    pub fn nic_beats(&self, command: &Command) -> u64 {
        self.path.nic_beats(command)
    }

    /// Takes a copy from the host into a cluster's L1 at cycle `now`; gives when its first beat is ready
    /// to be written, and its beats. A beat on one side may need two of the other. (RTL:
    /// axi_dma_data_path.)
    pub fn data_from_host(&mut self, now: u64, command: &Command) -> (u64, u64) {
        let writes = self.path.nic_beats(command);
        let reads = self.path.beats(command.host_address, command).max(1);
        let start = now.max(self.host_reads_from);
        self.asked_from = start;
        self.host_reads_from = start + reads;
        let shifts = self.path.shifts(command.host_address, u64::from(command.nic_address));
        let first = if writes == 1 { reads - 1 } else { u64::from(shifts) };
        let cycles = self.dma_cycles + self.from_host_cycles + 1 - L1_RESPONSE_CYCLES;
        (start + cycles + first, writes)
    }

    /// Gives when a copy into a cluster's L1 is done whose last beat was written in a cycle.
    pub fn written_to_l1(&mut self, last_beat: u64) -> u64 {
        self.from_host.take(last_beat + L1_RESPONSE_CYCLES)
    }

    /// Gives when a copy from a cluster's L1 to the host is done whose last beat was read in a cycle.
    pub fn written_to_host(&mut self, last_beat: u64, command: &Command) -> u64 {
        let (writes, behind) = self.host_writes(command);
        let free = self.host_writes_from + self.request_cycles + writes;
        let last_write = (last_beat + behind).max(free);
        self.host_writes_from = last_write - self.request_cycles;
        self.to_host.take(last_write + self.dma_cycles - self.request_cycles)
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
        for (bytes, l1_cycles) in [(64, 15), (1024, 30)] {
            let command = host_dma(bytes);
            let l2 = Some(Place::L2Packet(0));
            let taken = OffClusterDma::new(&machine).take(100, &command, l2);
            assert_eq!(taken.done, 102 + l1_cycles);
            let last_beat = 104 + u64::from(bytes) / 64;
            let done = OffClusterDma::new(&machine).written_to_host(last_beat, &command);
            assert_eq!(done, 100 + l1_cycles);
        }
    }

    /// RTL axi_dma_data_path: data that are shifted down end with a beat more to write behind the last one that is
    /// read, of L2 as of L1.
    #[test]
    fn what_moves_down_is_written_a_cycle_later() {
        let done = |nic_offset: u32, host_offset: u64, bytes| {
            let command = Command {
                nic_address: 0x1c40_0000 + nic_offset,
                host_address: (1 << 60) + host_offset,
                ..host_dma(bytes)
            };
            OffClusterDma::new(&machine()).take(100, &command, Some(Place::L2Packet(0))).done
        };
        assert_eq!(done(0, 0, 128), 118);
        assert_eq!(done(8, 0, 112), 119, "two to read, two to write");
        assert_eq!(done(8, 0, 128), 119, "three to read, two to write");
        assert_eq!(done(0, 8, 128), 119, "two to read, three to write");
        assert_eq!(done(8, 0, 40), 117, "one and one");
    }

    /// RTL axi_dma_data_path: where data are shifted up to a line's end, the first beat to write needs one
    /// to read; where they are shifted down, two.
    #[test]
    fn beats_wait_for_what_they_hold() {
        let first = |host, nic_address, bytes| {
            let mut engine = OffClusterDma::new(&machine());
            let host_address = (1_u64 << 60) + host;
            let command = Command { to_host: false, host_address, nic_address, ..host_dma(bytes) };
            engine.data_from_host(100, &command)
        };
        assert_eq!(first(0, 0x1000_4400, 128), (111, 2));
        assert_eq!(first(40, 0x1000_4408, 128), (112, 3));
        assert_eq!(first(8, 0x1000_4428, 128), (111, 3));
        assert_eq!(first(40, 0x1000_4400, 64), (112, 1));
    }
}
