//! What blocks have in common that read lines of the NIC's memories for commands, some cycles behind the model: their
//! ports and parameters, commands whose reads the model has not told yet, what happens in the cycles ahead.

use std::collections::VecDeque;

use pinion_sim::block::{Block, Port, bits_for};
use pinion_spin_machine::Machine;

use crate::Seat;
use crate::lines::{self, Comes, L2_MEMORIES, Memory, ReadPorts, Reads};
use crate::timeline::{Timed, Timeline};

/// Bits of the count of cycles, of an address in the NIC, and of a command's bytes.
pub const NOW_BITS: u32 = 8;
pub const NIC_BITS: u32 = 32;
pub const BYTES_BITS: u32 = 22;

/// Gives the bits of a command's number.
pub fn tag_bits(machine: &Machine) -> u32 {
    bits_for(u64::from(machine.hpus()) * u64::from(machine.command.per_hpu))
}

/// Lists the ports of what reads lines of so many bytes.
pub fn ports(clusters: u32, line_bytes: u32) -> [Port; 8] {
    let (line, bits) = (lines::line_bits(line_bytes), 8 * line_bytes);
    [
        Port::output("l1_valid", clusters),
        Port::input("l1_ready", clusters),
        Port::output("l1_line", line),
        Port::input("l1_data", clusters * bits),
        Port::output("l2_valid", L2_MEMORIES),
        Port::input("l2_ready", L2_MEMORIES),
        Port::output("l2_line", line),
        Port::input("l2_data", L2_MEMORIES * bits),
    ]
}

/// Lists the parameters that such blocks have.
pub fn parameters(machine: &Machine, line_bytes: u32) -> Vec<(&'static str, u64)> {
    let line = lines::line_bits(line_bytes).into();
    vec![
        ("CLUSTERS", machine.cluster.count.into()),
        ("TAG_BITS", tag_bits(machine).into()),
        ("COMMANDS", machine.command.per_interface.into()),
        ("L1_LINE_BITS", line),
        ("L2_LINE_BITS", line),
        ("BYTES_BITS", BYTES_BITS.into()),
        ("BYTES", line_bytes.into()),
    ]
}

/// Gives the count of cycles as a block sees it.
pub const fn now(cycle: u64) -> u64 {
    cycle & ((1 << NOW_BITS) - 1)
}

/// Says which lines are read in a cycle, and which come.
#[derive(Debug, Default)]
pub struct LinesNow {
    reads: Option<Reads>,
    comes: Vec<Comes>,
}

/// Is what happens in a cycle of such a block.
pub trait Cycle: Default {
    /// Gives the lines that are read in it.
    fn lines(&mut self) -> &mut LinesNow;
}

/// Remembers commands of a kind `K` that the model has not read for yet, and what happens in the cycles ahead.
#[derive(Debug)]
pub struct Reader<C, K> {
    pub line_bytes: u32,
    pub clusters: u32,
    pub time: Timeline<C>,
    /// Commands whose reads are not known yet, by number, with what their lines hold.
    unread: VecDeque<(u32, K, Vec<u8>)>,
    /// Commands in the block some of whose lines it has not read.
    open: u32,
}

impl<C: Cycle, K> Reader<C, K> {
    /// Makes one whose block runs so many cycles behind.
    pub fn new(machine: &Machine, behind_cycles: u64) -> Self {
        Self {
            line_bytes: machine.command.port_bytes,
            clusters: machine.cluster.count,
            time: Timeline::new(behind_cycles),
            unread: VecDeque::new(),
            open: 0,
        }
    }

    /// Gives the memory of an address.
    pub fn memory(&self, address: u32) -> Option<Memory> {
        Memory::of(address, self.clusters)
    }

    /// Keeps a command's lines until it is known when they are read.
    pub fn keep(&mut self, number: u32, command: K, lines: &[u8]) {
        self.unread.push_back((number, command, lines.to_vec()));
    }

    /// Notes that the block takes a command that reads.
    pub fn opens(&mut self) {
        self.open += 1;
    }

    /// Lets a block read what it does in a cycle, and gives it what comes.
    pub fn read(&mut self, block: &mut dyn Block, ports: ReadPorts, now: &LinesNow) {
        ports.read(block, now.reads, self.open > 0);
        self.open -= u32::from(now.reads.is_some_and(|reads| reads.is_last));
        for line in &now.comes {
            ports.come(block, line);
        }
    }
}

/// Is what a seat keeps whose block reads lines, some cycles behind the model.
pub trait Behind {
    /// What happens in a cycle.
    type Cycle: Cycle;
    /// What it reads for.
    type Command;

    /// Gives what it keeps of that.
    fn reader(&mut self) -> &mut Reader<Self::Cycle, Self::Command>;
}

impl<T: Behind> Timed for T {
    type Now = T::Cycle;

    fn time(&mut self) -> &mut Timeline<T::Cycle> {
        &mut self.reader().time
    }
}

impl<T: Behind> Seat<T> {
    /// Gives where the lines begin that some bytes lie in, and the lines' bytes.
    pub fn lines_of(&mut self, from: u64, bytes: u32) -> (u64, u32) {
        lines::lines_of(from, bytes, self.own.reader().line_bytes)
    }

    /// Gives what the lines of a command hold; `None`: it `does` something with bytes that are not in the NIC's
    /// memories, which is noted.
    pub fn there<'a>(
        &mut self,
        does: &str,
        (nic, bytes): (u32, u32),
        lines: Option<&'a [u8]>,
    ) -> Option<&'a [u8]> {
        let is_there = self.own.reader().memory(nic).is_some() && bytes > 0;
        let lines = lines.filter(|_| is_there);
        if lines.is_none() {
            self.wrong = Some(format!(
                "no block {does} {bytes} bytes at {nic:#x}: they are not in L1 or L2"
            ));
        }
        lines
    }

    /// Gives the oldest command of which it is not known when it reads, and its lines; it has to be this one.
    pub fn next_unread(&mut self, number: u32) -> Option<(T::Command, Vec<u8>)> {
        let (first, command, lines) = self.own.reader().unread.pop_front()?;
        if first == number {
            return Some((command, lines));
        }
        self.wrong = Some(format!("command {number} reads before {first}, which came first"));
        None
    }

    /// Notes that lines are read from an address on, one in each cycle from `start` on.
    pub fn read_from(&mut self, start: u64, (nic, memory): (u32, Memory), lines: &[u8]) {
        let line_bytes = self.own.reader().line_bytes as usize;
        for (at, reads, comes_at, comes) in ReadPorts::lines(nic, memory, lines, line_bytes) {
            self.set(start + at, |cycle| cycle.lines().reads = Some(reads));
            self.set(start + comes_at, |cycle| cycle.lines().comes.push(comes));
        }
    }
}
