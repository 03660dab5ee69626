//! Turns of the loop that polls, by how the frontend is when one begins: what a turn takes is kept from one
//! message to the next.
//!
//! In: a poll that has found nothing. Out: the core at a later poll, or where it was. Before a core may sleep its
//! branch history has to forget the last message, and words and the queue's room take turns; but in a turn in
//! which all is foreseen, one state of the frontend follows from the other. So a turn is executed once as any
//! other, while it is watched, and from then on wherever the frontend is the same again and the predictor would
//! guess rightly: it meets the same branches, the network hears the same commands and says what it has. How long
//! a turn takes and where it leaves the frontend is not worked out again.

use pinion_isa::{Instruction, Op};

use super::code::{Code, Kind, Slot};
use super::network::Network;
use super::predictor::Control;
use super::{Activity, Core, FETCH_RING, RETIRE};
use crate::Cycle;
use crate::port::{LINE_BYTES, MemoryPort};

/// Most instructions of the loop.
const MOST_INSTRUCTIONS: u64 = 8;
/// Most turns that are kept; more are not met unless the loop is another.
const MOST_TURNS: usize = 48;
/// Longest time since a poll that is told from longer ones. What the queue's room follows from is not older than
/// [`OLDEST_WORD`] and what it compares.
const OLDEST: Cycle = u8::MAX as Cycle;
/// Longest time since the poll's own word came: a decode stage that has waited longer is not looked at.
const OLDEST_WORD: Cycle = 100;

/// Loops that are kept: a program may poll in several places.
const MOST_LOOPS: usize = 4;

/// What is known of the loops that poll, by the address of the poll.
#[derive(Clone, Debug, Default)]
pub(super) struct PollTurns {
    loops: Vec<PollLoop>,
    /// The one that makes room for another.
    next: usize,
}

/// What is known of a loop that polls.
#[derive(Clone, Debug)]
struct PollLoop {
    /// Address of the poll, and the times that decoded code had changed when it was looked at.
    place: (u64, u64),
    /// The loop; none if it is of another kind.
    body: Option<Body>,
    turns: Vec<Turn>,
    /// The turns that were the first behind a message last time, and the last one.
    hints: [usize; 2],
    /// Number of turns that were not worked out.
    #[cfg(test)]
    repeated: u64,
}

/// A loop from a poll that finds nothing to the next poll.
#[derive(Clone, Debug)]
struct Body {
    /// Address of the poll, and of what is behind it.
    pc: u64,
    behind: u64,
    /// The register that is polled into: the loop looks at no other.
    register: u8,
    /// First and last cache line that it lies in.
    lines: [u64; 2],
    /// Where it branches and jumps, one after the other.
    controls: Vec<Control>,
    /// It says that it is idle.
    idles: bool,
    instructions: u64,
}

/// The frontend at a poll, as far as the next turn depends on it: for how long the last words have been in the
/// queue, and out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    entered: [u8; FETCH_RING],
    departed: [u8; FETCH_RING],
    streams: bool,
}

/// A turn: times count from the poll that it begins with.
#[derive(Clone, Debug)]
struct Turn {
    look: Look,
    period: Cycle,
    /// When each branch and jump entered the fetch queue.
    fetched: Vec<i16>,
    /// When the idle command was in decode.
    idle: Cycle,
    /// Words that were fetched, and when the last of them left the queue and entered it, the last one first.
    words: usize,
    times: [(i16, i16); FETCH_RING],
    fetch: i16,
    steered: i16,
    streams: bool,
    /// The turn that comes behind it; [`UNKNOWN`]: it has not been met.
    next: usize,
}

/// Integer registers.
const INTEGERS: usize = 32;
/// Number of no turn.
const UNKNOWN: usize = usize::MAX;

/// Gives a time since another, or before it.
fn since(base: Cycle, at: Cycle) -> i16 {
    at.wrapping_sub(base) as i16
}

/// Gives the time that is so long after another.
fn after(base: Cycle, time: i16) -> Cycle {
    base.wrapping_add_signed(i64::from(time))
}

impl PollTurns {
    /// Gives the number of turns that were not worked out since it was asked for last.
    #[cfg(test)]
    pub fn take_repeated(&mut self) -> u64 {
        self.loops.iter_mut().map(|kept| std::mem::take(&mut kept.repeated)).sum()
    }

    /// Finds the loop with the poll at `pc`, or looks at it and forgets another.
    #[inline]
    fn find(&mut self, pc: u64, code: &Code) -> Option<&mut PollLoop> {
        let place = (pc, code.changes());
        let found = self.loops.iter().position(|kept| kept.place == place);
        let index = found.or_else(|| self.add(place, code))?;
        self.loops.get_mut(index)
    }

    #[cold]
    fn add(&mut self, place: (u64, u64), code: &Code) -> Option<usize> {
        let body = Body::of(place.0, code).ok()?;
        let new = PollLoop {
            place,
            body,
            turns: Vec::new(),
            hints: [0; 2],
            #[cfg(test)]
            repeated: 0,
        };
        if self.loops.len() < MOST_LOOPS {
            self.loops.push(new);
            return Some(self.loops.len() - 1);
        }
        let index = self.next;
        self.next = (index + 1) % MOST_LOOPS;
        self.loops[index] = new;
        Some(index)
    }
}

impl PollLoop {
    /// Finds the turn that begins like this.
    fn find(&mut self, look: &Look) -> usize {
        let is_it = |turn: &Turn| turn.look == *look;
        let hint = |hint: &&usize| self.turns.get(**hint).is_some_and(is_it);
        if let Some(hint) = self.hints.iter().find(hint) {
            return *hint;
        }
        let found = self.turns.iter().position(is_it).unwrap_or(UNKNOWN);
        self.hints[0] = found;
        found
    }
}

/// An instruction of the loop has not been met yet.
struct NotMet;

impl Body {
    /// Follows the loop from the poll at `pc` that finds nothing; none if it does more than look at that and say
    /// that it is idle.
    fn of(pc: u64, code: &Code) -> Result<Option<Self>, NotMet> {
        let slot = code.get(pc).ok_or(NotMet)?;
        if slot.kind != Kind::Poll {
            return Ok(None);
        }
        let poll = slot.instruction;
        let behind = pc.wrapping_add(u64::from(poll.length));
        let mut body = Self {
            pc,
            behind,
            register: poll.rd,
            lines: [pc / LINE_BYTES, behind.wrapping_sub(1) / LINE_BYTES],
            controls: Vec::new(),
            idles: false,
            instructions: 1,
        };
        let mut at = behind;
        while at != pc {
            let slot = code.get(at).ok_or(NotMet)?;
            match body.step(at, slot) {
                Some(next) if body.instructions <= MOST_INSTRUCTIONS => at = next,
                _ => return Ok(None),
            }
        }
        Ok((body.lines[1] - body.lines[0] <= 1).then_some(body))
    }

    /// Adds an instruction to the loop; gives what comes behind it.
    fn step(&mut self, at: u64, slot: &Slot) -> Option<u64> {
        let i = &slot.instruction;
        let behind = at.wrapping_add(u64::from(i.length));
        let lines = [at / LINE_BYTES, behind.wrapping_sub(1) / LINE_BYTES];
        self.lines = [self.lines[0].min(lines[0]), self.lines[1].max(lines[1])];
        self.instructions += 1;
        let used = [i.rs1, i.rs2, i.rs3];
        if i.rd != 0 || used.iter().any(|used| ![0, self.register].contains(used)) {
            return None;
        }
        let target = at.wrapping_add(i.imm as i64 as u64);
        let taken = match slot.kind {
            Kind::Idle if !self.idles => {
                self.idles = true;
                return Some(behind);
            }
            Kind::Branch => is_taken_on_zeros(i)?,
            Kind::Jump => true,
            _ => return None,
        };
        // Where a branch to what stands behind it goes says nothing of whether it is taken.
        if target == behind {
            return None;
        }
        let branch = slot.kind == Kind::Branch;
        self.controls.push(Control { pc: at, target, branch, taken });
        Some(if taken { target } else { behind })
    }
}

/// Tells whether a branch is taken whose operands are zero.
fn is_taken_on_zeros(i: &Instruction) -> Option<bool> {
    match i.op {
        Op::Beq | Op::Bge | Op::Bgeu => Some(true),
        Op::Bne | Op::Blt | Op::Bltu => Some(false),
        _ => None,
    }
}

impl Core {
    /// Goes on from a poll that has found nothing, if it was the last instruction: over turns that are known, or
    /// through one that is not.
    #[inline]
    pub(super) fn poll_again<M: MemoryPort, N: Network>(
        &mut self,
        code: &mut Code,
        memory: &mut M,
        network: &mut N,
    ) {
        if self.poll.at != self.decode || self.unit_register != 0 {
            return;
        }
        let mut kept = std::mem::take(&mut self.poll_turns);
        if let Some(known) = kept.find(self.poll.pc, code)
            && let Some(body) = &known.body
            && self.may_poll_again(body)
        {
            self.go_over_polls(known, code, memory, network);
        }
        self.poll_turns = kept;
    }

    /// Gives a bound of the cycles from a poll's retirement until what is behind it has decoded and retired, its
    /// word being in the cache.
    pub fn cycles_behind_poll(&self) -> Cycle {
        2 * FETCH_RING as Cycle + self.timing.csr_use_cycles + RETIRE
    }

    /// Tells whether what comes follows from the look of the frontend.
    fn may_poll_again(&self, body: &Body) -> bool {
        let held = |line: &u64| self.instruction_cache.find(*line).is_some();
        // Where the core has just been stopped, the next word may have been fetched.
        self.hart.pc == body.behind
            && self.fetch_word == body.behind.wrapping_sub(1) >> 2
            && self.ready[0] <= self.decode
            && self.refill.is_before(self.fetch)
            && self.fetch + OLDEST_WORD > self.decode
            && body.lines.iter().all(held)
    }

    /// Gives how the frontend looks.
    fn look(&self) -> Look {
        let age = |at: Cycle| self.decode.saturating_sub(at).min(OLDEST) as u8;
        let back = |back: usize| self.word_count.wrapping_sub(back) % FETCH_RING;
        Look {
            entered: std::array::from_fn(|word| age(self.entered[back(word)])),
            departed: std::array::from_fn(|word| age(self.departed[back(word)])),
            streams: self.streams,
        }
    }

    /// Goes over turns that are known, and through one that is not.
    fn go_over_polls<M: MemoryPort, N: Network>(
        &mut self,
        known: &mut PollLoop,
        code: &mut Code,
        memory: &mut M,
        network: &mut N,
    ) {
        let mut look = self.look();
        let mut which = known.find(&look);
        let PollLoop { body: Some(body), .. } = &*known else { return };
        let Some(entries) = self.predictor.entries(&body.controls) else { return };
        let end = self.limit.max(network.poll_limit()).min(self.attention);
        loop {
            let PollLoop {
                body: Some(body),
                turns,
                hints,
                #[cfg(test)]
                repeated,
                ..
            } = &mut *known
            else {
                return;
            };
            let Some(turn) = turns.get(which) else {
                if turns.len() < MOST_TURNS {
                    let turn = self.watch_turn(body, look, code, memory, network);
                    turns.extend(turn);
                }
                return;
            };
            hints[1] = which;
            let next = self.decode + turn.period;
            if next >= end {
                return;
            }
            let fetched = turn.fetched.iter().map(|&fetched| after(self.decode, fetched));
            let Some(foregone) = self.predictor.foregone(&body.controls, &entries, fetched) else {
                return;
            };
            let idle = body.idles.then_some(self.decode + turn.idle + RETIRE);
            let Some(words) = network.poll_again(idle, next + RETIRE) else { return };
            self.predictor.meet_again(foregone, &body.controls, &entries);
            self.pass_turn(turn);
            self.hart.x[usize::from(body.register) % INTEGERS] = words;
            self.hart.instret += body.instructions;
            self.set_ready(body.register, next + self.timing.csr_use_cycles);
            #[cfg(test)]
            {
                *repeated += 1;
            }
            if words != 0 {
                return;
            }
            self.poll(body.pc, next);
            if self.activity != Activity::Running {
                return;
            }
            let before = which;
            which = turn.next;
            if which == UNKNOWN {
                look = self.look();
                which = known.find(&look);
                known.turns[before].next = which;
            }
        }
    }

    /// Lets the frontend and the decode stage pass a turn.
    fn pass_turn(&mut self, turn: &Turn) {
        let base = self.decode;
        self.word_count = self.word_count.wrapping_add(turn.words);
        for (back, (departed, entered)) in (0..turn.words).zip(turn.times) {
            let at = self.word_count.wrapping_sub(back) % FETCH_RING;
            self.departed[at] = after(base, departed);
            self.entered[at] = after(base, entered);
        }
        self.fetch = after(base, turn.fetch);
        self.steered = after(base, turn.steered);
        self.streams = turn.streams;
        self.decode = base + turn.period;
    }

    /// Executes the instructions from a poll that has found nothing to the next poll as any other, as far as they
    /// come now; gives what such a turn takes, if all was foreseen.
    #[cold]
    fn watch_turn<M: MemoryPort, N: Network>(
        &mut self,
        body: &Body,
        look: Look,
        code: &mut Code,
        memory: &mut M,
        network: &mut N,
    ) -> Option<Turn> {
        let (base, words) = (self.decode, self.word_count);
        let (mut fetched, mut idle, mut foreseen) = (Vec::new(), 0, true);
        loop {
            let pc = self.hart.pc;
            let slot = *code.get(pc)?;
            let i = &slot.instruction;
            let arrival = self.arrive(pc, i, memory);
            let t = self.operands(i, arrival);
            if pc == body.pc {
                let times = std::array::from_fn(|back| {
                    let at = self.word_count.wrapping_sub(back) % FETCH_RING;
                    (since(base, self.departed[at]), since(base, self.entered[at]))
                });
                let turn = Turn {
                    look,
                    period: t - base,
                    fetched,
                    idle,
                    words: self.word_count.wrapping_sub(words),
                    times,
                    fetch: since(base, self.fetch),
                    steered: since(base, self.steered),
                    streams: self.streams,
                    next: UNKNOWN,
                };
                return (foreseen && !self.redirected && turn.period < OLDEST_WORD).then_some(turn);
            }
            if t >= self.limit.min(self.attention) {
                return None;
            }
            match slot.kind {
                Kind::Idle => {
                    idle = t - base;
                    self.idle_lean(i, pc, t, network);
                    continue;
                }
                Kind::Jump => self.jump_lean(slot.kind, i, pc, t),
                _ => self.branch_lean(i, pc, t),
            };
            fetched.push(since(base, self.fetch));
            // A guess that costs a fetch redirects the frontend, as one that is wrong.
            foreseen &= !self.redirected;
            if let Some(ahead) = self.ahead.take() {
                self.fetch_ahead(ahead, code, memory);
            }
            if std::mem::take(&mut self.turned) {
                self.end_turn(pc, code);
            }
        }
    }
}
