//! The ports of a cluster's DMA engine. In: transfers, lines of L2 and of the cluster's L1. Out: which lines are read and
//! when, lines with their strobes for both, what is done. It runs beside the model, some cycles behind: when a
//! transfer used its ports the model knows at its end. A line of L2 is there for the block in the cycle in which the
//! model reads it, and in no other; what does not read L2 is shown in the cycle in which the model begins it. `Beats` has
//! what the block has and the model not: where its beats keep each other waiting.

use std::collections::VecDeque;

use pinion_sim::block::Block;
use pinion_spin_machine::Machine;

use super::Seat;
use crate::lines::{self, Part, Written};
use crate::timeline::{Timed, Timeline};

mod beats;
mod ports;

use beats::{Beats, Side};
pub use ports::needs;
use ports::*;

/// Cycles from a beat's begin: L1 is asked, L2 has read, data are here, a line goes to L2, a copy is done.
const ASKS: u64 = 7;
const READS: u64 = 8;
const COMES: u64 = 9;
const LEAVES: u64 = 10;
const COPIED: u64 = 12;
/// Cycles by which the block is behind: as many beats as a transfer may have, and the way of one.
const BEHIND_CYCLES: u64 = 2048 + 64;
/// What comes from where an engine does not reach.
const ERROR_WORD: u32 = 0xbadc_ab1e;

/// Is a transfer, or a part of one, as the engine gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The core that launches it, in its cluster; `None`: it is a packet's copy.
    pub core: Option<u32>,
    /// Where its bytes are.
    pub from: u32,
    /// Where they go.
    pub to: u32,
    /// How many.
    pub bytes: u32,
}

/// Says what the model has made of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    /// The transfer's next part.
    pub part: Transfer,
    /// Whether it is the last.
    pub is_last: bool,
    /// What the lines hold that it is read from; `None`: the engine does not reach them.
    pub lines: Option<&'a [u8]>,
    /// Whether the engine reaches where it goes.
    pub writes: bool,
}

/// Says what happens in a cycle.
#[derive(Debug, Default)]
pub struct Cycle {
    takes: Option<Transfer>,
    /// The line of L2 that it asks for, and whether it is the last of a transfer.
    asks: Option<(Side, u32, bool)>,
    reads_now: Option<Side>,
    comes: Option<(Side, Vec<u8>)>,
    /// The line of L1 that it asks for.
    asks_l1: Option<u32>,
    writes_l1: Option<Written>,
    writes_l2: Option<(Side, Written)>,
    /// Whether a packet's copy is done, and a bit for each core one of whose transfers is.
    copied: bool,
    launched: u32,
}

/// Counts transfers that are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// All.
    pub all: u64,
    /// Those that the block had to be done with in another cycle than the model.
    pub moved: u64,
    /// The most cycles by which it was so before the model, and behind it.
    pub cycles: [u64; 2],
}

impl Done {
    /// Adds those of another engine.
    pub fn add(&mut self, other: Self) {
        self.all += other.all;
        self.moved += other.moved;
        self.cycles = [0, 1].map(|side| self.cycles[side].max(other.cycles[side]));
    }

    fn count(&mut self, model: u64, block: u64) {
        let cycles = [model.saturating_sub(block), block.saturating_sub(model)];
        self.add(Self { all: 1, moved: u64::from(model != block), cycles });
    }
}

/// Is a transfer that the model has not made all of.
#[derive(Debug)]
struct Under {
    transfer: Transfer,
    requested: u64,
    /// When the block is shown it.
    shown: Option<u64>,
    /// Beats so far, and the bytes that came with them.
    beats: u32,
    bytes: Vec<u8>,
}

/// Remembers transfers that the model has not made yet, and what happens in the cycles ahead.
#[derive(Debug)]
pub struct Transfers {
    time: Timeline<Cycle>,
    window: u32,
    line_bytes: u32,
    under: VecDeque<Under>,
    /// Cycle from which the block can be shown another.
    shows_from: u64,
    beats: Beats,
    /// Transfers in the block some of whose lines of L2 it has not asked for.
    open: u32,
    done: Done,
}

impl Timed for Transfers {
    type Now = Cycle;

    fn time(&mut self) -> &mut Timeline<Cycle> {
        &mut self.time
    }
}

/// Is the block of a cluster's DMA engine at its place.
pub type ClusterDmaSeat = Seat<Transfers>;

impl ClusterDmaSeat {
    /// Puts a block of a cluster at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine, cluster: u32) -> Self {
        let own = Transfers {
            time: Timeline::new(BEHIND_CYCLES),
            window: (machine.l1.base >> lines::WINDOW_SHIFT) + cluster,
            line_bytes: machine.dma.port_bytes,
            under: VecDeque::new(),
            shows_from: 0,
            beats: Beats::default(),
            open: 0,
            done: Done::default(),
        };
        Self::at(block, compares, own)
    }

    /// Gives where the lines begin that some bytes lie in, and the lines' bytes.
    pub fn lines_around(&self, from: u32, bytes: u32) -> (u32, u32) {
        let (begins, all) = lines::lines_of(from.into(), bytes.max(1), self.own.line_bytes);
        (begins as u32, all)
    }

    /// Counts the transfers that are done.
    pub fn done(&self) -> Done {
        self.own.done
    }

    /// Takes a transfer at cycle `now`.
    pub fn requests(&mut self, now: u64, transfer: Transfer) {
        let (requested, shown) = (now, None);
        self.own.under.push_back(Under { transfer, requested, shown, beats: 0, bytes: Vec::new() });
        self.show();
    }

    /// Shows the block those whose turn it is. Of what does not read L2 it is not known yet when it begins.
    fn show(&mut self) {
        for number in 0..self.own.under.len() {
            let under = &self.own.under[number];
            if under.shown.is_none() {
                if !self.own.side(under.transfer.from).is_l2() {
                    return;
                }
                self.show_at(number, 0);
            }
        }
    }

    fn show_at(&mut self, number: usize, start: u64) {
        let own = &mut self.own;
        let under = &mut own.under[number];
        let at = own.shows_from.max(under.requested).max(start);
        under.shown = Some(at);
        own.shows_from = at + 1;
        let transfer = under.transfer;
        self.set(at, |cycle| cycle.takes = Some(transfer));
    }

    /// Notes that the model has made the next part of its oldest transfer in cycle `now`.
    pub fn made(&mut self, now: u64, made: &Made<'_>) {
        let Made { part, is_last, lines, writes } = *made;
        let line_bytes = self.own.line_bytes;
        let Some(first) = self.own.under.front() else { return };
        let whole = first.transfer;
        if first.transfer.core != part.core || self.own.under_begins(&part) != Some(part.from) {
            self.wrong = Some(format!("{part:x?} is done before {whole:x?}, which came first"));
            return;
        }
        let (source, target) = (self.own.side(whole.from), self.own.side(whole.to));
        if (source.is_there(), target.is_there()) != (lines.is_some(), writes) {
            self.wrong =
                Some(format!("no block copies {whole:x?}: it reaches L2 and its cluster's L1"));
            return;
        }
        let core_cycles = if whole.core.is_some() { CORE_CYCLES } else { 0 };
        let spans = |address: u32, bytes: u32| (address % line_bytes + bytes).div_ceil(line_bytes);
        let model_beats = spans(part.from, part.bytes).max(spans(part.to, part.bytes)).max(1);
        let is_local = (source, target) == (Side::L1, Side::L1);
        let model_cycles = u64::from(model_beats) * if is_local { LOCAL_BEAT_CYCLES } else { 1 };
        let start = now - LATENCY_CYCLES - core_cycles - model_cycles;
        if first.shown.is_none() {
            self.show_at(0, start);
            self.show();
        }
        let Some(mut under) = self.own.under.pop_front() else { return };
        let shown = under.shown.unwrap_or(start);
        let reads = spans(part.from, part.bytes).max(1);
        match lines {
            Some(lines) => {
                let skipped = (part.from % line_bytes) as usize;
                under.bytes.extend(&lines[skipped..skipped + part.bytes as usize]);
            }
            None => {
                let answer = ERROR_WORD.to_le_bytes().into_iter().cycle();
                let answer = answer.skip(part.from as usize % 4).take(part.bytes as usize);
                under.bytes.extend(answer);
            }
        }
        // The block's beats: the lines that are read, and one that writes the last one's end if there is one.
        let from_lines = spans(whole.from, whole.bytes).max(1);
        let to_lines = spans(whole.to, whole.bytes).max(1);
        let down = u32::from(whole.to % line_bytes < whole.from % line_bytes);
        let steps = to_lines + down;
        let counts = if down > 0 { from_lines } else { steps };
        let until = if is_last { steps } else { under.beats + reads };
        let written: Vec<Part<'_>> =
            lines::parts((whole.to % line_bytes) as usize, &under.bytes, line_bytes as usize)
                .collect();
        let mut done = 0;
        for (number, beat) in (under.beats..until).enumerate() {
            let is_rest = beat >= from_lines;
            let source = if is_rest { Side::Nowhere } else { source };
            let writes = beat >= down && whole.bytes > 0;
            let target = if writes { target } else { Side::Nowhere };
            let earliest = if source.is_l2() { start + number as u64 } else { shown };
            let at = self.own.beats.begin(earliest.max(shown), (source, target), number == 0);
            if source.is_l2() && (beat + 1 == from_lines || number as u32 + 1 == reads) {
                self.own.beats.end_read(at);
            }
            if !is_rest {
                let line = self.own.line(whole.from) + beat;
                let place = number * line_bytes as usize;
                let data = lines.map(|lines| lines[place..place + line_bytes as usize].to_vec());
                self.reads(at, source, line, beat + 1 == from_lines, data);
            }
            if target.is_there() {
                let line = beat - down;
                let (place, bytes) = written[line as usize];
                let line = u64::from(self.own.line(whole.to) + line);
                self.writes(at, target, (line, place, bytes.to_vec()));
            }
            if beat + 1 == counts {
                done = at + COPIED + core_cycles;
            }
        }
        under.beats = until;
        if !is_last {
            self.own.under.push_front(under);
            return;
        }
        self.own.beats.end(steps, self.own.side(whole.from).is_l2());
        self.own.done.count(now, done);
        self.set(done, |cycle| match whole.core {
            None => cycle.copied = true,
            Some(core) => cycle.launched |= 1 << core,
        });
    }

    /// Notes that a beat that begins in cycle `at` reads a line.
    fn reads(&mut self, at: u64, side: Side, line: u32, is_last: bool, data: Option<Vec<u8>>) {
        let Some(data) = data else { return };
        if side == Side::L1 {
            self.set(at + ASKS, |cycle| cycle.asks_l1 = Some(line));
        } else {
            self.set(at, |cycle| cycle.asks = Some((side, line, is_last)));
            self.set(at + READS, |cycle| cycle.reads_now = Some(side));
        }
        self.set(at + COMES, |cycle| cycle.comes = Some((side, data)));
    }

    /// Notes that a beat that begins in cycle `at` writes a line.
    fn writes(&mut self, at: u64, side: Side, written: Written) {
        if side == Side::L1 {
            self.set(at + COMES, |cycle| cycle.writes_l1 = Some(written));
        } else {
            self.set(at + LEAVES, |cycle| cycle.writes_l2 = Some((side, written)));
        }
    }

    /// Begins a cycle.
    pub fn begin(&mut self, now: u64) {
        let (_, cycle) = self.own.time.begin(now);
        let (block, own) = (&mut *self.block, &mut self.own);
        block.put(WINDOW, own.window.into());
        block.put(WRITE_READY, (1 << lines::L2_MEMORIES) - 1);
        own.take(block, cycle.takes);
        let asks = cycle.asks.map_or(0, |(side, ..)| side.l2_bit());
        if let Some((_, line, is_last)) = cycle.asks {
            block.expect(READ_LINE, line.into());
            own.open -= u32::from(is_last);
            block.expect(READ_VALID, asks);
        } else if own.open == 0 {
            block.expect(READ_VALID, 0);
        }
        block.put(READ_READY, asks);
        let reads_now = cycle.reads_now.map_or(0, Side::l2_bit);
        block.put(READS_NOW, reads_now);
        block.expect(READ_TAKES, reads_now);
        match &cycle.comes {
            Some((Side::L1, data)) => lines::put_bytes(block, BEAT_DATA, 0, data),
            Some((side, data)) => {
                let place = if *side == Side::Packet { data.len() } else { 0 };
                lines::put_bytes(block, ANSWER_DATA, place, data);
            }
            None => {}
        }
        block.expect(ENGINE_VALID, u64::from(cycle.asks_l1.is_some() || cycle.writes_l1.is_some()));
        if let Some(line) = cycle.asks_l1 {
            block.expect(ENGINE_WRITE, 0);
            block.expect(ENGINE_LINE, line.into());
        }
        if let Some(written) = &cycle.writes_l1 {
            block.expect(ENGINE_WRITE, 1);
            lines::expect_written(block, ENGINE_LINE, written);
        }
        let writes = cycle.writes_l2.as_ref().map_or(0, |(side, ..)| side.l2_bit());
        block.expect(WRITE_VALID, writes);
        if let Some((_, written)) = &cycle.writes_l2 {
            lines::expect_written(block, WRITE_LINE, written);
        }
        block.expect(COPY_DONE, cycle.copied.into());
        block.expect(CORE_DONE, cycle.launched.into());
    }

    /// Says whether it has cycles to go that the model knows already.
    pub fn is_behind(&self) -> bool {
        self.own.time.is_behind()
    }
}

impl Transfers {
    fn side(&self, address: u32) -> Side {
        Side::of(address >> lines::WINDOW_SHIFT, self.window)
    }

    /// Gives a line's number in its memory.
    fn line(&self, address: u32) -> u32 {
        lines::line_of(address, self.line_bytes)
    }

    /// Gives where the next part of the oldest transfer begins, if it goes where this one does.
    fn under_begins(&self, part: &Transfer) -> Option<u32> {
        let under = self.under.front()?;
        let made = under.bytes.len() as u32;
        (under.transfer.to + made == part.to).then_some(under.transfer.from + made)
    }

    /// Lets a block take a transfer in this cycle.
    fn take(&mut self, block: &mut dyn Block, takes: Option<Transfer>) {
        let copies = takes.is_some_and(|transfer| transfer.core.is_none());
        block.put(COPY_VALID, copies.into());
        let launches = takes.and_then(|transfer| transfer.core).map_or(0, |core| 1 << core);
        block.put(LAUNCH_VALID, launches);
        let Some(Transfer { core, from, to, bytes }) = takes else { return };
        let ports = match core {
            None => {
                block.expect(COPY_READY, 1);
                [COPY_FROM, COPY_TO, COPY_BYTES]
            }
            Some(_) => {
                block.expect(LAUNCH_READY, launches);
                [LAUNCH_FROM, LAUNCH_TO, LAUNCH_BYTES]
            }
        };
        for (port, value) in ports.into_iter().zip([from, to, bytes]) {
            block.put_word(port, core.unwrap_or(0) as usize, value);
        }
        self.open += u32::from(self.side(from).is_l2());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_by_their_windows() {
        let of = |address: u32| Side::of(address >> lines::WINDOW_SHIFT, 0x41);
        assert_eq!(of(0x1040_4400), Side::L1);
        assert_eq!(of(0x1b00_4400), Side::L1);
        assert_eq!(of(0x1000_4400), Side::Nowhere);
        assert_eq!(of(0x1c00_0000), Side::Handler);
        assert_eq!(of(0x1c40_0000), Side::Packet);
    }
}
