//! The outbound engine's ports. In: sends, and the lines of the NIC's memories that it reads. Out: which lines, the
//! packets' beats, what is done. It runs beside the model, some cycles behind: when a burst of a cluster's L1 was
//! read the model knows at its end. A line is ready in the cycle in which the model reads it, and in no other.

use pinion_sim::block::{Block, Port};
use pinion_spin_machine::Machine;

use super::{Needs, Seat};
use crate::lines::{self, LEAVES_CYCLES, ReadPorts};
use crate::reader::{self, BYTES_BITS, Behind, LinesNow, NIC_BITS, NOW_BITS, Reader, tag_bits};

const NOW: usize = 0;
const COMMAND_VALID: usize = 1;
const COMMAND_READY: usize = 2;
const COMMAND_TAG: usize = 3;
const COMMAND_FROM: usize = 4;
const COMMAND_BYTES: usize = 5;
const DONE_VALID: usize = 6;
const DONE_READY: usize = 7;
const DONE_TAG: usize = 8;
const L1_VALID: usize = 9;
const L2_VALID: usize = 13;
const TVALID: usize = 17;
const TREADY: usize = 18;
const TDATA: usize = 19;
const TKEEP: usize = 20;
const TLAST: usize = 21;

const READS: ReadPorts = ReadPorts { l1: L1_VALID, l2: L2_VALID };

/// The cycles that the published engine takes, which the block has fixed.
const SEND_CYCLES: u64 = 1;
const FROM_L2_CYCLES: u64 = 2;
/// Cycles, beside a packet's beats, until the model knows when they were read.
const KNOWN_CYCLES: u64 = 8;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let command = &machine.command;
    let line_bytes = lines::line_bytes(machine)?;
    lines::has("command.send_cycles", command.send_cycles, SEND_CYCLES)?;
    lines::has("command.from_l2_cycles", command.from_l2_cycles, FROM_L2_CYCLES)?;
    let tag = tag_bits(machine);
    let mut ports = vec![
        Port::input("now", NOW_BITS),
        Port::input("command_valid", 1),
        Port::output("command_ready", 1),
        Port::input("command_tag", tag),
        Port::input("command_from", NIC_BITS),
        Port::input("command_bytes", BYTES_BITS),
        Port::output("done_valid", 1),
        Port::input("done_ready", 1),
        Port::output("done_tag", tag),
    ];
    ports.extend(reader::ports(machine.cluster.count, line_bytes));
    ports.extend([
        Port::output("m_axis_tvalid", 1),
        Port::input("m_axis_tready", 1),
        Port::output("m_axis_tdata", 8 * line_bytes),
        Port::output("m_axis_tkeep", line_bytes),
        Port::output("m_axis_tlast", 1),
    ]);
    Ok(Needs { ports, parameters: reader::parameters(machine, line_bytes) })
}

/// Is a send as the engine gets it.
#[derive(Clone, Copy, Debug)]
pub struct Send {
    /// Its command's number.
    pub command: u32,
    /// Where the packet lies, as cores have it.
    pub from: u32,
    /// Its bytes.
    pub bytes: u32,
}

/// Is a beat of a packet.
#[derive(Debug)]
struct Beat {
    bytes: Vec<u8>,
    is_last: bool,
}

/// Says what happens in a cycle.
#[derive(Debug, Default)]
pub struct Cycle {
    takes: Option<Send>,
    lines: LinesNow,
    beat: Option<Beat>,
    done: Option<u32>,
}

impl reader::Cycle for Cycle {
    fn lines(&mut self) -> &mut LinesNow {
        &mut self.lines
    }
}

/// Remembers sends that the model has not read yet, and what happens in the cycles ahead.
#[derive(Debug)]
pub struct Sends {
    reader: Reader<Cycle, Send>,
    /// Cycle of the last beat so far.
    last_beat: u64,
}

impl Behind for Sends {
    type Cycle = Cycle;
    type Command = Send;

    fn reader(&mut self) -> &mut Reader<Cycle, Send> {
        &mut self.reader
    }
}

/// Is the outbound engine's block at its place.
pub type OutboundSeat = Seat<Sends>;

impl OutboundSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let most_beats =
            u64::from(machine.inbound.max_packet_bytes / machine.command.port_bytes) + 2;
        let own = Sends { reader: Reader::new(machine, most_beats + KNOWN_CYCLES), last_beat: 0 };
        Self::at(block, compares, own)
    }

    /// Takes a send at cycle `now` whose lines hold these bytes; `None`: they are not in the NIC's memories.
    pub fn take(&mut self, now: u64, send: Send, packet: u32, lines: Option<&[u8]>) {
        self.packet = Some(packet);
        let Some(lines) = self.there("sends", (send.from, send.bytes), lines) else { return };
        self.own.reader.keep(send.command, send, lines);
        self.set(now, |cycle| cycle.takes = Some(send));
    }

    /// Notes that the oldest send of which this is not known reads a line in each cycle from `start` on, of L2.
    pub fn reads_from(&mut self, command: u32, start: u64) {
        self.read(command, |_| start);
    }

    /// Notes that the oldest send of which this is not known has read its last line in the cycle before `end`.
    pub fn reads_until(&mut self, command: u32, end: u64) {
        self.read(command, |lines| end.saturating_sub(lines));
    }

    /// Notes that a send is done in cycle `now`.
    pub fn done(&mut self, now: u64, command: u32) {
        self.set(now, |cycle| cycle.done = Some(command));
    }

    /// Notes when a send's lines are read, the first in the cycle that `start` gives for their number, and so when
    /// its beats leave.
    fn read(&mut self, command: u32, start: impl FnOnce(u64) -> u64) {
        let Some((send, lines)) = self.next_unread(command) else { return };
        let Some(memory) = self.own.reader.memory(send.from) else { return };
        let line_bytes = self.own.reader.line_bytes as usize;
        let count = lines.len() / line_bytes;
        let start = start(count as u64);
        self.read_from(start, (send.from, memory), &lines);
        let offset = send.from as usize % line_bytes;
        let bytes = &lines[offset..offset + send.bytes as usize];
        let beats = bytes.len().div_ceil(line_bytes);
        for (number, beat) in bytes.chunks(line_bytes).enumerate() {
            // Where bytes move down, a beat has some of the line behind, if there is one.
            let line = (number + usize::from(offset > 0)).min(count - 1);
            let leaves = (start + line as u64 + LEAVES_CYCLES).max(self.own.last_beat + 1);
            self.own.last_beat = leaves;
            let beat = Beat { bytes: beat.to_vec(), is_last: number + 1 == beats };
            self.set(leaves, |cycle| cycle.beat = Some(beat));
        }
    }

    /// Begins a cycle.
    pub fn begin(&mut self, now: u64) {
        let (at, cycle) = self.own.reader.time.begin(now);
        let block = &mut self.block;
        block.put(NOW, reader::now(at));
        for (port, value) in [(COMMAND_VALID, 0), (DONE_READY, 1), (TREADY, 1)] {
            block.put(port, value);
        }
        if let Some(send) = cycle.takes {
            block.put(COMMAND_VALID, 1);
            block.put(COMMAND_TAG, send.command.into());
            block.put(COMMAND_FROM, send.from.into());
            block.put(COMMAND_BYTES, send.bytes.into());
            block.expect(COMMAND_READY, 1);
            self.own.reader.opens();
        }
        self.own.reader.read(&mut **block, READS, &cycle.lines);
        block.expect(TVALID, u64::from(cycle.beat.is_some()));
        if let Some(beat) = cycle.beat {
            lines::expect_bytes(&mut **block, TDATA, 0, &beat.bytes);
            block.expect(TKEEP, lines::strobes(0, beat.bytes.len()));
            block.expect(TLAST, beat.is_last.into());
        }
        block.expect(DONE_VALID, u64::from(cycle.done.is_some()));
        if let Some(command) = cycle.done {
            block.expect(DONE_TAG, command.into());
        }
    }

    /// Says whether it has cycles to go that the model knows already.
    pub fn is_behind(&self) -> bool {
        self.own.reader.time.is_behind()
    }
}
