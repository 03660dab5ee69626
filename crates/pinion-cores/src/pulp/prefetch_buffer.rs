//! The prefetch buffer of a core: the line it executes and the next one that it asks for ahead.
//!
//! In: where the core goes and whether it jumped there. Out: the cycle in which it can execute there.
//! Holds one line (L0) and at most one request to the cluster's instruction cache. The next line is
//! asked for when an instruction in the last word of this one comes to the fetch stage; a jump waits
//! for that request, wanted or not; an instruction that lies in two lines waits for both. Lines that
//! the cache has cost nothing in sequence, so that [`PrefetchBuffer::enter`] needs no request.
//! (RTL: riscv_prefetch_L0_buffer; cycles from the traces of the second set's rows `branch`, `cold`
//! and `waw`.)

use pinion_isa::{Class, DecodedProgram};

pub use super::arrival::Arrival;
pub(super) use super::reach::Reach;
use super::reach::{NO_RUN, Run};
use crate::port::{Answer, HeldLines, InstructionPort};

/// Bytes of a word: the fetch stage sees one at a time.
const WORD_BYTES: u32 = 4;

/// Cycles from a jump's request to the decode stage when the cache has the line.
const JUMP_CYCLES: u64 = 2;

/// Whatever is known to come has come by then.
const LAST_CYCLE: u64 = u64::MAX - 1;

/// Stands for no line.
const NO_LINE: u32 = u32::MAX;

/// Marks a line that was asked for ahead because a jump leads there, and not because it is the next.
const JUMPED_TO: u32 = 1 << 31;

/// Holds a core's line and its request for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefetchBuffer {
    /// First address that executes without a look at the buffer.
    start: u32,
    /// Bytes from there that do.
    bytes: u32,
    /// The line it holds.
    line: u32,
    /// The line it asked for ahead; with [`JUMPED_TO`] that of a jump's target.
    ahead: u32,
    /// Cycle in which the data of its last request come, if that is known.
    data_at: u64,
    /// Cycle from which it may be, if it is not.
    later: Option<u64>,
    /// What it came to, if it waits there to hear of its request.
    held: Option<Held>,
    /// Whether it holds the line without a request: it was entered, not fetched. Then the line is that
    /// of `at`, and all of it executes.
    entered: bool,
    /// Address in the line that was entered.
    at: u32,
    /// Lines around it that can be entered one from the other for nothing.
    run: Run,
    /// Such lines somewhere else, where it was before: a call comes back to them.
    other: Run,
}

/// Remembers what a core came to, and what it asked for there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    arrival: Arrival,
    /// The last line it asked for; `None`: it waits for what was asked ahead.
    asked: Option<u32>,
}

/// Gives the bytes at a line's begin in which instructions have their successor before the last word: none of
/// them asks for the next line.
const fn calm_bytes(line_bytes: u32) -> u32 {
    line_bytes.saturating_sub(2 * WORD_BYTES)
}

/// Lines that a run goes on to either side, at most.
const RUN_LINES: u32 = 32;

impl Default for PrefetchBuffer {
    fn default() -> Self {
        let (line, ahead) = (NO_LINE, NO_LINE);
        Self {
            start: 0,
            bytes: 0,
            line,
            ahead,
            data_at: 0,
            later: None,
            held: None,
            entered: false,
            at: 0,
            run: NO_RUN,
            other: NO_RUN,
        }
    }
}

impl PrefetchBuffer {
    /// Says whether the instruction at an address executes without a look here.
    #[inline(always)]
    pub fn covers(&self, pc: u32) -> bool {
        let ahead = if self.entered { pc ^ self.at } else { pc.wrapping_sub(self.start) };
        ahead < self.bytes
    }

    /// Gives what executes without a look here, in a program from `base` on: the lines around this
    /// one too, if [`Self::note`] is told where the core came to.
    #[inline(always)]
    pub(super) fn reach(&self, cache: &impl HeldLines, base: u32) -> Reach {
        if self.run.changes == cache.changes() { self.run.reach } else { self.reach_of_line(base) }
    }

    #[cold]
    fn reach_of_line(&self, base: u32) -> Reach {
        let start = if self.entered { self.at & !(self.bytes - 1) } else { self.start };
        Reach::new(start >> 1, self.bytes.div_ceil(2), base)
    }

    /// Enters the line of an address like [`Self::enter`]; gives its reach, `None` if it cannot.
    #[inline(never)]
    pub(super) fn enter_run(
        &mut self,
        pc: u32,
        time: u64,
        cache: impl HeldLines,
        base: u32,
    ) -> Option<Reach> {
        let before = self.run;
        let other = self.other;
        if other.reach.contains(pc.wrapping_sub(base) >> 1)
            && other.changes == cache.changes()
            && (other.calm == 0 || cache.rests())
            && self.is_free(time)
        {
            (self.run, self.other, self.ahead) = (other, before, NO_LINE);
            let line_bytes = other.line_bytes;
            let is_alone = pc.wrapping_sub(other.alone) < other.calm;
            self.entered = !is_alone;
            self.bytes = if is_alone { other.calm } else { line_bytes };
            (self.start, self.at, self.line) = (other.alone, pc, pc >> line_bytes.trailing_zeros());
            return Some(other.reach);
        }
        if !self.enter(pc, time, &cache) {
            return None;
        }
        self.other = before;
        let shift = cache.line_shift();
        let around = if self.entered { cache.around(self.line, time, RUN_LINES) } else { [0, 0] };
        let first = self.line - around[0];
        // The cache has the one behind the last that it has with its successor, of course.
        let last = self.line + around[1] + u32::from(self.entered);
        let calm = calm_bytes(1 << shift);
        let is_alone = !self.entered
            || !cache.has_with_next(last, LAST_CYCLE)
                && cache.gives(last, time.saturating_sub(JUMP_CYCLES)).is_some();
        let calm = if is_alone { calm } else { 0 };
        let half_words = (((last - first) << shift) + calm) / 2;
        let reach = Reach::new((first << shift) >> 1, half_words, base);
        let (changes, line_bytes) = (cache.changes(), 1 << shift);
        self.run = Run { reach, changes, alone: last << shift, calm, line_bytes };
        Some(reach)
    }

    /// Notes the last instruction that was executed, or is next, within its reach.
    #[inline(always)]
    pub(super) fn note(&mut self, pc: u32) {
        self.at = pc;
        let is_alone = pc.wrapping_sub(self.run.alone) < self.run.calm;
        if is_alone == self.entered {
            self.note_line(is_alone);
        }
    }

    /// Notes that it has come to the line that is there alone, or from there to another one.
    #[cold]
    fn note_line(&mut self, is_alone: bool) {
        let Run { alone, calm, line_bytes, .. } = self.run;
        if calm == 0 {
            return;
        }
        self.entered = !is_alone;
        self.bytes = if is_alone { calm } else { line_bytes };
        if is_alone {
            (self.start, self.line, self.ahead) = (alone, alone / line_bytes, NO_LINE);
        }
    }

    /// Gives the line it holds.
    pub fn line(&self) -> u32 {
        if self.entered { self.at >> self.bytes.trailing_zeros() } else { self.line }
    }

    /// Forgets the line: the core goes somewhere else. What was asked for comes all the same.
    pub fn leave(&mut self) {
        (self.bytes, self.line, self.ahead) = (0, NO_LINE, NO_LINE);
        (self.entered, self.run, self.held) = (false, NO_RUN, None);
    }

    /// Says whether what it asked for last came, or comes, later than a cycle.
    #[inline(always)]
    pub(super) fn came_behind(&self, cycle: u64) -> bool {
        self.data_at > cycle
    }

    /// Says whether what it asked for has come by cycle `time`.
    #[inline(always)]
    fn is_free(&self, time: u64) -> bool {
        self.data_at + JUMP_CYCLES <= time && self.later.is_none()
    }

    /// Enters the line of an address if the cache has it and nothing is under way: then it costs nothing.
    /// Where the cache has its successor too, all of it executes. `false`: [`Self::fetch`] must see to it.
    #[inline(always)]
    pub fn enter(&mut self, pc: u32, time: u64, cache: &impl HeldLines) -> bool {
        if !self.is_free(time) {
            return false;
        }
        let line = pc >> cache.line_shift();
        if !cache.has_with_next(line, time) {
            return self.enter_alone(pc, time, cache);
        }
        (self.line, self.ahead) = (line, NO_LINE);
        (self.at, self.bytes) = (pc, 1 << cache.line_shift());
        (self.entered, self.run) = (true, NO_RUN);
        true
    }

    /// Enters the line of an address up to where the next one is asked for, as [`Self::fetch`] would.
    #[inline(never)]
    fn enter_alone(&mut self, pc: u32, time: u64, cache: &impl HeldLines) -> bool {
        let line_bytes: u32 = 1 << cache.line_shift();
        let line = pc >> cache.line_shift();
        let calm = calm_bytes(line_bytes);
        let from = time.saturating_sub(JUMP_CYCLES);
        if pc % line_bytes >= calm || cache.gives(line, from).is_none() {
            return false;
        }
        (self.line, self.ahead) = (line, NO_LINE);
        (self.start, self.bytes) = (line * line_bytes, calm);
        (self.entered, self.run) = (false, NO_RUN);
        true
    }

    /// Fetches the instruction a core arrives at, in its turn; gives the cycle in which it leaves the
    /// decode stage.
    ///
    /// # Errors
    /// The cycle in which the core is to come again: then it will be known.
    pub fn fetch(
        &mut self,
        arrival: &Arrival,
        program: &DecodedProgram<u32>,
        cache: &mut impl InstructionPort,
    ) -> Result<u64, u64> {
        let now = arrival.time;
        let held = self.held.take();
        let arrival = &held.map_or(*arrival, |held| held.arrival);
        let pc = arrival.pc;
        let line = pc >> cache.line_shift();
        let line_bytes = 1 << cache.line_shift();
        let offset = pc % line_bytes;
        let length = program.get(pc).map_or(2, |instruction| u32::from(instruction.length));
        let straddles = offset + length > line_bytes;
        let last = line + u32::from(straddles);
        // One in the line that is here need not wait for the next one, which is on its way.
        let is_here = !arrival.jumped && self.line() == last && line == last;
        let goes_on = held.is_none() && is_here && self.ahead == line + 1;
        if let Some(later) = self.later.filter(|_| !goes_on) {
            let served = if now < later { Err(later) } else { cache.serve() };
            if served.is_err() {
                self.held = held.or(Some(Held { arrival: *arrival, asked: None }));
            }
            self.data_at = served?;
            self.later = None;
        }
        let asked = held.and_then(|held| held.asked);
        (self.line, self.entered, self.run) = (self.line(), false, NO_RUN);
        let mut time = arrival.time;
        if arrival.jumped && self.ahead == JUMPED_TO | line {
            (self.line, self.ahead) = (line, NO_LINE);
            time = time.max(self.data_at + 1);
        } else if arrival.jumped || self.line == NO_LINE {
            if asked.is_none() {
                let from = time.saturating_sub(JUMP_CYCLES + u64::from(straddles));
                self.request(arrival, line, from.max(self.data_at), cache)?;
            }
            if straddles && asked != Some(last) {
                self.request(arrival, last, self.data_at, cache)?;
            }
            (self.line, self.ahead) = (last, NO_LINE);
            time = self.data_at + 1;
        } else if last != self.line {
            if self.ahead != last && asked != Some(last) {
                // It was there when the core entered the line before.
                self.request(arrival, last, arrival.left.saturating_sub(1), cache)?;
            }
            self.line = last;
            time = arrival.leaves(self.data_at);
        }
        self.open_window(&Arrival { time, ..*arrival }, length, program, cache);
        Ok(time)
    }

    /// Gives the cycle from which an instruction that comes to the decode stage asks for the next line, if it is to.
    #[inline(always)]
    pub(super) fn asks_ahead(
        &self,
        behind: &Arrival,
        program: &DecodedProgram<u32>,
        cache: &impl HeldLines,
    ) -> Option<u64> {
        let line = self.line();
        let is_here = line == behind.pc >> cache.line_shift() && self.ahead != line + 1;
        if !is_here || self.later.is_some() || self.covers(behind.pc) {
            return None;
        }
        let length = program.get(behind.pc).map_or(2, |instruction| u32::from(instruction.length));
        let end = (line + 1) << cache.line_shift();
        let asked = Self::asks_ahead_at(behind, length, end, program);
        asked.filter(|_| !cache.has(line + 1, behind.time))
    }

    /// Says whether a line that it has asked for ahead is on its way, and the core does not wait for it.
    pub fn expects_line(&self) -> bool {
        self.later.is_some() && self.held.is_none()
    }

    /// Lets the instruction behind one that waits come to the decode stage, and ask for the next line
    /// if it is time: it does so while the core waits, if its own line is here.
    #[inline(always)]
    pub fn look_ahead(
        &mut self,
        behind: &Arrival,
        program: &DecodedProgram<u32>,
        cache: &mut impl InstructionPort,
    ) {
        if self.asks_ahead(behind, program, cache).is_none() {
            return;
        }
        (self.line, self.entered, self.run) = (self.line(), false, NO_RUN);
        let length = program.get(behind.pc).map_or(2, |instruction| u32::from(instruction.length));
        self.open_window(behind, length, program, cache);
    }

    /// Lets a jump behind an instruction that waits, whose last byte is at `last`, go to its target, which lies in
    /// one line: the buffer asks for that from cycle `time` on, while the core waits, if the cache does not have it.
    pub fn jump_ahead(
        &mut self,
        last: u32,
        target: u32,
        time: u64,
        cache: &mut impl InstructionPort,
    ) {
        let line = target >> cache.line_shift();
        let is_here = self.line() == last >> cache.line_shift();
        if self.later.is_some() || !is_here || cache.has(line, time) {
            return;
        }
        self.ask_ahead(line, time.max(self.data_at), cache);
        self.ahead = JUMPED_TO | line;
    }

    /// Asks for a line that nobody waits for yet.
    fn ask_ahead(&mut self, line: u32, from: u64, cache: &mut impl InstructionPort) {
        match cache.request(line, from) {
            Answer::Data(at) => self.data_at = at,
            Answer::Later(later) => self.later = Some(later),
        }
    }

    /// Asks whether the line asked for ahead has come; gives the cycle in which to ask again if not.
    pub fn ask_again(&mut self, now: u64, cache: &mut impl InstructionPort) -> Option<u64> {
        let later = self.later?;
        let served = if now < later { Err(later) } else { cache.serve() };
        match served {
            Ok(data_at) => (self.data_at, self.later) = (data_at, None),
            Err(again) => self.later = Some(again),
        }
        self.later
    }

    /// Asks for a line that a core needs where it arrived.
    ///
    /// # Errors
    /// The cycle in which it is to come again.
    fn request(
        &mut self,
        arrival: &Arrival,
        line: u32,
        from: u64,
        cache: &mut impl InstructionPort,
    ) -> Result<(), u64> {
        match cache.request(line, from) {
            Answer::Data(at) => self.data_at = at,
            Answer::Later(later) => {
                self.later = Some(later);
                self.held = Some(Held { arrival: *arrival, asked: Some(line) });
                return Err(later.max(arrival.time));
            }
        }
        Ok(())
    }

    /// Sets what executes without a look here, and asks for the next line if it is time.
    #[inline(always)]
    fn open_window(
        &mut self,
        arrival: &Arrival,
        length: u32,
        program: &DecodedProgram<u32>,
        cache: &mut impl InstructionPort,
    ) {
        let pc = arrival.pc;
        let line_bytes = 1 << cache.line_shift();
        let line = pc >> cache.line_shift();
        let (first, end) = (line * line_bytes, (line + 1) * line_bytes);
        let next = line + 1;
        let calm = first + calm_bytes(line_bytes);
        let mut window = (pc, pc + length);
        if self.line == line {
            if self.ahead != next && cache.has(next, arrival.time) {
                window = (first, end);
            } else if self.ahead != next && pc < calm {
                window = (first, calm);
            } else {
                let asked = match self.ahead == next {
                    true => None,
                    false => Self::asks_ahead_at(arrival, length, end, program),
                };
                if let Some(asked) = asked {
                    self.ask_ahead(next, asked, cache);
                    self.ahead = next;
                }
                if self.ahead == next {
                    // The last half word may begin an instruction that lies in both lines.
                    window = (pc, if pc < end - 2 { end - 2 } else { end });
                }
            }
        }
        if !cache.keeps(arrival.time) {
            // What may jump looks here again, so that the line is read anew.
            window = (pc, Self::straight_end(pc, length, window.1, program));
        }
        (self.start, self.bytes) = (window.0, window.1 - window.0);
    }

    /// Gives the end of what follows an instruction before the first that may jump, by `limit`.
    fn straight_end(pc: u32, length: u32, limit: u32, program: &DecodedProgram<u32>) -> u32 {
        let straight = |pc: u32| {
            program.get(pc).filter(|instruction| {
                matches!(instruction.class, Class::Alu | Class::Load | Class::Store | Class::Csr)
            })
        };
        let mut end = pc + length;
        while end < limit
            && straight(pc).is_some()
            && let Some(next) = straight(end)
        {
            end += u32::from(next.length);
        }
        end.min(limit.max(pc + length))
    }

    /// Gives the cycle in which an instruction in the last word of the line that ends at `end` comes
    /// to the fetch stage: the one arrived at, or its successor; `None`: neither.
    fn asks_ahead_at(
        arrival: &Arrival,
        length: u32,
        end: u32,
        program: &DecodedProgram<u32>,
    ) -> Option<u64> {
        let (pc, time) = (arrival.pc, arrival.time);
        let last_word = end - WORD_BYTES;
        if pc >= last_word {
            return Some(time.saturating_sub(1));
        }
        let successor = pc + length;
        if successor < last_word {
            return None;
        }
        // The successor is in the fetch stage when this one comes to the decode stage.
        let decoded = if arrival.jumped { time } else { (arrival.left + 1).min(time) };
        let spans = |pc: u32| program.get(pc).is_some_and(|one| pc + u32::from(one.length) > end);
        if spans(successor) && pc % WORD_BYTES != 0 {
            return Some(decoded.saturating_sub(1)); // known from its first half, a word earlier
        }
        let class = program.get(pc).map(|instruction| instruction.class);
        // A jump leaves in this very cycle and goes before.
        let jumps = matches!(class, Some(Class::Jump | Class::JumpRegister));
        (!jumps).then_some(decoded)
    }
}
