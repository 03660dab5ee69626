//! The off-cluster DMA's ports. In: copies to and from the host, words for it, lines of the NIC's memories and of the
//! host's. Out: which lines are read, lines with their strobes for both, what is done. It runs beside the model, some
//! cycles behind: when a copy used its ports the model knows at its end. A line is ready for the block in the cycle
//! in which the model reads it, or asks the host for it, which answers in the next. Of a copy that others keep from the
//! NIC's memories the answer is not taken until the model says that it is done.

use std::collections::VecDeque;

use pinion_sim::block::{Block, Port};
use pinion_spin_machine::Machine;

use super::{Needs, Seat};
use crate::lines::{self, LEAVES_CYCLES, Memory, ReadPorts, Written};
use crate::reader::{self, BYTES_BITS, Behind, LinesNow, NIC_BITS, NOW_BITS, Reader, tag_bits};
use crate::words::{Copy, Direct};

const NOW: usize = 0;
const COMMAND_VALID: usize = 1;
const COMMAND_READY: usize = 2;
const COMMAND_TAG: usize = 3;
const COMMAND_TO_HOST: usize = 4;
const COMMAND_HOST: usize = 5;
const COMMAND_NIC: usize = 6;
const COMMAND_BYTES: usize = 7;
const DIRECT_VALID: usize = 8;
const DIRECT_READY: usize = 9;
const DIRECT_TAG: usize = 10;
const DIRECT_HOST: usize = 11;
const DIRECT_BYTES: usize = 12;
const DIRECT_DATA: usize = 13;
const DONE_VALID: usize = 14;
const DONE_READY: usize = 15;
const DONE_TAG: usize = 16;
const L1_VALID: usize = 17;
const L2_VALID: usize = 21;
const WRITE_VALID: usize = 25;
const WRITE_READY: usize = 26;
const WRITE_LINE: usize = 27;
const HOST_WRITE_VALID: usize = 30;
const HOST_WRITE_READY: usize = 31;
const HOST_WRITE_LINE: usize = 32;
const HOST_READ_VALID: usize = 35;
const HOST_READ_READY: usize = 36;
const HOST_READ_LINE: usize = 37;
const HOST_ANSWER_VALID: usize = 38;
const HOST_ANSWER_DATA: usize = 39;

const READS: ReadPorts = ReadPorts { l1: L1_VALID, l2: L2_VALID };

/// Bits of a host's address, and of a word's bytes.
const HOST_BITS: u32 = 64;
const DIRECT_BITS: u32 = 4;
/// Words, copies to the host, copies from it: each is done on its own.
const KINDS: u32 = 3;
const DIRECT: usize = 0;
const TO_HOST: usize = 1;
const FROM_HOST: usize = 2;
/// The longest word.
const DIRECT_MOST_BYTES: u32 = 8;
/// Cycles from a question of the host to its answer, and from that to its line's move.
const ANSWER_CYCLES: u64 = 1;
const MOVE_CYCLES: u64 = 1;
/// Lines of a copy up to which the block counts its cycles.
const MOST_COUNTED: u64 = 100;
/// Cycles by which the block is behind: as many lines as a copy may have, and the way of one.
const BEHIND_CYCLES: u64 = 2048 + 64;

/// Gives the cycles from a copy's first question of the host to its end, beside its lines.
fn from_host_cycles(machine: &Machine) -> u64 {
    machine.command.host_dma_cycles + machine.command.from_host_cycles
}

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let command = &machine.command;
    let line_bytes = lines::line_bytes(machine)?;
    lines::has("pcie.latency_ps", machine.pcie.latency_ps, 0)?;
    lines::has("pcie.rate_mbit_s", machine.pcie.rate_mbit_s, 0)?;
    let bits = 8 * line_bytes;
    let offset = line_bytes.trailing_zeros();
    let tag = tag_bits(machine);
    let mut ports = vec![
        Port::input("now", NOW_BITS),
        Port::input("command_valid", 1),
        Port::output("command_ready", 1),
        Port::input("command_tag", tag),
        Port::input("command_to_host", 1),
        Port::input("command_host", HOST_BITS),
        Port::input("command_nic", NIC_BITS),
        Port::input("command_bytes", BYTES_BITS),
        Port::input("direct_valid", 1),
        Port::output("direct_ready", 1),
        Port::input("direct_tag", tag),
        Port::input("direct_host", HOST_BITS),
        Port::input("direct_bytes", DIRECT_BITS),
        Port::input("direct_data", HOST_BITS),
        Port::output("done_valid", KINDS),
        Port::input("done_ready", KINDS),
        Port::output("done_tag", KINDS * tag),
    ];
    ports.extend(reader::ports(machine.cluster.count, line_bytes));
    ports.extend([
        Port::output("write_valid", 1),
        Port::input("write_ready", 1),
        Port::output("write_line", NIC_BITS - offset),
        Port::output("write_data", bits),
        Port::output("write_strobes", line_bytes),
        Port::output("host_write_valid", 1),
        Port::input("host_write_ready", 1),
        Port::output("host_write_line", HOST_BITS - offset),
        Port::output("host_write_data", bits),
        Port::output("host_write_strobes", line_bytes),
        Port::output("host_read_valid", 1),
        Port::input("host_read_ready", 1),
        Port::output("host_read_line", HOST_BITS - offset),
        Port::input("host_answer_valid", 1),
        Port::input("host_answer_data", bits),
    ]);
    let mut parameters = reader::parameters(machine, line_bytes);
    parameters.extend([
        ("DIRECT_CYCLES", command.host_direct_cycles),
        ("TO_HOST_CYCLES", command.host_dma_cycles.saturating_sub(1)),
        ("FROM_HOST_CYCLES", from_host_cycles(machine)),
        ("FAR_CYCLES", command.from_l2_cycles),
    ]);
    Ok(Needs { ports, parameters })
}

/// Says what happens in a cycle.
#[derive(Debug, Default)]
pub struct Cycle {
    takes: Option<Copy>,
    direct: Option<Direct>,
    lines: LinesNow,
    /// The line of the host's memory that is asked for, and whether it is a copy's last.
    asks: Option<(u64, bool)>,
    answers: Option<Vec<u8>>,
    writes: Option<Written>,
    done: [Option<u32>; KINDS as usize],
    /// Whether the answer of a copy from the host waits until others have let its lines into the NIC's memories.
    is_late: bool,
}

impl reader::Cycle for Cycle {
    fn lines(&mut self) -> &mut LinesNow {
        &mut self.lines
    }
}

/// Remembers copies that the model has not made yet, and what happens in the cycles ahead.
#[derive(Debug)]
pub struct Copies {
    /// Of copies to the host.
    reader: Reader<Cycle, Copy>,
    far_cycles: u64,
    from_host_cycles: u64,
    tag_bits: u32,
    /// Copies in the block some of whose lines it has not asked the host for.
    to_ask: u32,
    /// Lines for the host, with the cycle from which each can leave.
    leaving: VecDeque<(u64, Written)>,
    /// The second part of a word that lies in two lines.
    second: Option<(Direct, Written)>,
    /// Cycle behind the last read of a line, and what comes with it.
    reads_from: u64,
    /// Copies from the host, and when each asks for its first line.
    asking: VecDeque<(u32, u64)>,
    /// Cycle behind the last move of a line to the NIC's memories, and behind the copy's last as the engine counts.
    moves_from: u64,
    counted_from: u64,
    /// Cycle behind the last answer of a copy from the host.
    answers_from: u64,
}

impl Behind for Copies {
    type Cycle = Cycle;
    type Command = Copy;

    fn reader(&mut self) -> &mut Reader<Cycle, Copy> {
        &mut self.reader
    }
}

/// Is the off-cluster DMA's block at its place.
pub type OffClusterSeat = Seat<Copies>;

impl OffClusterSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let own = Copies {
            reader: Reader::new(machine, BEHIND_CYCLES),
            far_cycles: machine.command.from_l2_cycles,
            from_host_cycles: from_host_cycles(machine),
            tag_bits: tag_bits(machine),
            to_ask: 0,
            leaving: VecDeque::new(),
            second: None,
            reads_from: 0,
            asking: VecDeque::new(),
            moves_from: 0,
            counted_from: 0,
            answers_from: 0,
        };
        Self::at(block, compares, own)
    }

    /// Takes a copy at cycle `now`; if it goes to the host, its lines hold these bytes.
    pub fn take(&mut self, now: u64, copy: Copy, packet: u32, lines: Option<&[u8]>) {
        self.packet = Some(packet);
        let Some(lines) = self.there("copies", (copy.nic, copy.bytes), lines) else { return };
        if copy.to_host {
            self.own.reader.keep(copy.command, copy, lines);
        }
        self.set(now, |cycle| cycle.takes = Some(copy));
    }

    /// Takes a word at cycle `now`.
    pub fn take_direct(&mut self, now: u64, direct: Direct, packet: u32) {
        self.packet = Some(packet);
        self.set(now, |cycle| cycle.direct = Some(direct));
    }

    /// Notes that the oldest copy to the host of which this is not known has read its last line in the cycle before
    /// `end`.
    pub fn reads_until(&mut self, command: u32, end: u64) {
        let Some((copy, lines)) = self.next_unread(command) else { return };
        let Some(memory) = self.own.reader.memory(copy.nic) else { return };
        let line_bytes = self.own.reader.line_bytes as usize;
        let reads = lines.len() / line_bytes;
        let (from_offset, offset) =
            (copy.nic as usize % line_bytes, copy.host as usize % line_bytes);
        let bytes = &lines[from_offset..from_offset + copy.bytes as usize];
        let written: Vec<lines::Part<'_>> = lines::parts(offset, bytes, line_bytes).collect();
        // A line more to write than to read keeps the next copy's reads from its cycle.
        let start = end.saturating_sub(reads as u64).max(self.own.reads_from);
        self.own.reads_from = start + reads.max(written.len()) as u64;
        self.read_from(start, (copy.nic, memory), &lines);
        // Where bytes move down, a line has some of the one behind that, if there is one.
        let goes_down = usize::from(offset < from_offset);
        let last = if goes_down > 0 { reads - 1 } else { written.len() - 1 };
        let first_line = copy.host / line_bytes as u64;
        for (number, (place, bytes)) in written.into_iter().enumerate() {
            let from = start + (number + goes_down).min(last) as u64 + LEAVES_CYCLES;
            let line = first_line + number as u64;
            self.own.leaving.push_back((from, (line, place, bytes.to_vec())));
        }
    }

    /// Notes that a copy asks the host for a line in each cycle from `from` on.
    pub fn asks_from(&mut self, command: u32, from: u64) {
        self.own.asking.push_back((command, from));
    }

    /// Notes that a copy from the host is done in cycle `now`, whose lines hold these bytes there.
    pub fn made_from_host(&mut self, now: u64, copy: &Copy, lines: &[u8]) {
        let line_bytes = self.own.reader.line_bytes as usize;
        let count = lines.len() / line_bytes;
        let is_far = !matches!(self.own.reader.memory(copy.nic), Some(Memory::L1 { .. }));
        let far = if is_far { self.own.far_cycles } else { 0 };
        let (from_offset, offset) =
            (copy.host as usize % line_bytes, copy.nic as usize % line_bytes);
        let bytes = &lines[from_offset..from_offset + copy.bytes as usize];
        let goes_down = usize::from(offset < from_offset);
        let parts: Vec<lines::Part<'_>> = lines::parts(offset, bytes, line_bytes).collect();
        let steps = if parts.len() == 1 { count } else { parts.len() + goes_down };
        let Some((command, asks)) = self.own.asking.pop_front() else { return };
        if command != copy.command {
            let other = copy.command;
            self.wrong =
                Some(format!("command {other} is done before {command}, which asked first"));
            return;
        }
        let counted = |lines: usize| (lines as u64).min(MOST_COUNTED);
        self.own.counted_from =
            (asks + counted(steps)).max(self.own.counted_from + counted(parts.len()));
        let due = self.own.counted_from + self.own.from_host_cycles + far;
        let first_line = copy.host / line_bytes as u64;
        for (number, line) in lines.chunks(line_bytes).enumerate() {
            let (at, is_last) = (asks + number as u64, number + 1 == count);
            self.set(at, |cycle| cycle.asks = Some((first_line + number as u64, is_last)));
            self.set(at + ANSWER_CYCLES, |cycle| cycle.answers = Some(line.to_vec()));
        }
        let first_target = u64::from(copy.nic) / line_bytes as u64;
        let comes = |step: usize| match step < count {
            true => asks + step as u64 + ANSWER_CYCLES + MOVE_CYCLES,
            false => 0,
        };
        for step in 0..goes_down {
            self.own.moves_from = self.own.moves_from.max(comes(step)) + 1;
        }
        for (number, (place, bytes)) in parts.into_iter().enumerate() {
            let at = self.own.moves_from.max(comes(number + goes_down));
            self.own.moves_from = at + 1;
            let written = (first_target + number as u64, place, bytes.to_vec());
            self.set(at, |cycle| cycle.writes = Some(written));
        }
        for at in due.max(self.own.answers_from)..now {
            self.set(at, |cycle| {
                cycle.done[FROM_HOST] = Some(command);
                cycle.is_late = true;
            });
        }
        self.own.answers_from = now + 1;
        self.done(now, FROM_HOST, command);
    }

    /// Notes that a copy to the host, or a word, is done in cycle `now`.
    pub fn made(&mut self, now: u64, command: u32, is_copy: bool) {
        self.done(now, if is_copy { TO_HOST } else { DIRECT }, command);
    }

    fn done(&mut self, now: u64, kind: usize, command: u32) {
        self.set(now, |cycle| cycle.done[kind] = Some(command));
    }

    /// Begins a cycle.
    pub fn begin(&mut self, now: u64) {
        let (at, mut cycle) = self.own.reader.time.begin(now);
        let (block, own) = (&mut *self.block, &mut self.own);
        block.put(NOW, reader::now(at));
        let late = u64::from(cycle.is_late) << FROM_HOST;
        block.put(DONE_READY, ((1 << KINDS) - 1) & !late);
        for port in [WRITE_READY, HOST_WRITE_READY] {
            block.put(port, 1);
        }
        block.put(COMMAND_VALID, u64::from(cycle.takes.is_some()));
        if let Some(copy) = cycle.takes {
            block.put(COMMAND_TAG, copy.command.into());
            block.put(COMMAND_TO_HOST, copy.to_host.into());
            block.put(COMMAND_HOST, copy.host);
            block.put(COMMAND_NIC, copy.nic.into());
            block.put(COMMAND_BYTES, copy.bytes.into());
            block.expect(COMMAND_READY, 1);
            match copy.to_host {
                true => own.reader.opens(),
                false => own.to_ask += 1,
            }
        }
        own.reader.read(block, READS, &cycle.lines);
        own.ask_host(block, &cycle);
        own.write_host(block, at, cycle.direct.take());
        block.expect(WRITE_VALID, cycle.writes.is_some().into());
        if let Some(written) = &cycle.writes {
            lines::expect_written(block, WRITE_LINE, written);
        }
        let (mut valid, mut tags, mut mask) = (0, 0, 0);
        for (kind, command) in cycle.done.iter().enumerate() {
            if let Some(command) = command {
                let place = kind as u32 * own.tag_bits;
                valid |= 1 << kind;
                tags |= u64::from(*command) << place;
                mask |= ((1 << own.tag_bits) - 1) << place;
            }
        }
        block.expect(DONE_VALID, valid);
        if valid > 0 {
            // Of those that are not done it says anything.
            let said = block.get(DONE_TAG);
            block.expect(DONE_TAG, said & !mask | tags);
        }
    }

    /// Says whether it has cycles to go that the model knows already.
    pub fn is_behind(&self) -> bool {
        self.own.reader.time.is_behind() || !self.own.leaving.is_empty()
    }
}

impl Copies {
    /// Lets the block ask the host for a line, which it has to in its cycle, and has it answer one.
    fn ask_host(&mut self, block: &mut dyn Block, cycle: &Cycle) {
        block.put(HOST_READ_READY, cycle.asks.is_some().into());
        if let Some((line, is_last)) = cycle.asks {
            block.expect(HOST_READ_VALID, 1);
            block.expect(HOST_READ_LINE, line);
            self.to_ask -= u32::from(is_last);
        } else if self.to_ask == 0 {
            block.expect(HOST_READ_VALID, 0);
        }
        block.put(HOST_ANSWER_VALID, cycle.answers.is_some().into());
        if let Some(line) = &cycle.answers {
            lines::put_bytes(block, HOST_ANSWER_DATA, 0, line);
        }
    }

    /// Wants what goes to the host in a cycle: a word first, which may lie in two lines, else a copy's next line.
    fn write_host(&mut self, block: &mut dyn Block, at: u64, direct: Option<Direct>) {
        let mut parts = Vec::new();
        if let Some(direct) = direct {
            let line_bytes = self.reader.line_bytes as usize;
            let (offset, line) =
                (direct.host as usize % line_bytes, direct.host / line_bytes as u64);
            let data = direct.data.to_le_bytes();
            let data = &data[..direct.bytes.min(DIRECT_MOST_BYTES) as usize];
            let cut = lines::parts(offset, data, line_bytes).zip(line..);
            parts.extend(cut.map(|((place, bytes), line)| (line, place, bytes.to_vec())));
        }
        let second = self.second.take();
        let direct = direct.or(second.as_ref().map(|(direct, _)| *direct));
        block.put(DIRECT_VALID, direct.is_some().into());
        if let Some(direct) = direct {
            block.put(DIRECT_TAG, direct.command.into());
            block.put(DIRECT_HOST, direct.host);
            block.put(DIRECT_BYTES, direct.bytes.min(DIRECT_MOST_BYTES).into());
            block.put(DIRECT_DATA, direct.data);
            block.expect(DIRECT_READY, u64::from(parts.len() < 2));
        }
        let written = match (second, parts.len()) {
            (Some((_, written)), _) => Some(written),
            (None, 0) => match self.leaving.front() {
                // The first cycles of the block lie before the first of the model.
                Some((from, _)) if at.wrapping_sub(*from) < u64::MAX / 2 => {
                    self.leaving.pop_front().map(|(_, written)| written)
                }
                _ => None,
            },
            (None, _) => {
                let mut parts = parts.into_iter();
                let first = parts.next();
                self.second = direct.zip(parts.next());
                first
            }
        };
        block.expect(HOST_WRITE_VALID, written.is_some().into());
        if let Some(written) = &written {
            lines::expect_written(block, HOST_WRITE_LINE, written);
        }
    }
}
