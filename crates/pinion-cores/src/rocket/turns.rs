//! Loops that only count, or wait for a cycle: shown to turn alike, their turns are left out of the
//! simulation, and what they do is added at once.
//!
//! In: each branch that is taken to an address before it. Out: the core as it is so many turns later. A
//! loop is of this kind if its body is a straight line of additions, operations on what does not change, and
//! reads of the cycle counter. Then each register moves by the same step in every turn, which says how
//! often the branch at the end is taken; and once the pipeline looks at the end of a turn as it did some turns
//! before, but for the time, it goes on like that. Nobody else sees such a loop: it ends with its branch, with an
//! interrupt, or where the core must stop. Nothing is left out for who hears every instruction.

use pinion_isa::{Class, Op, csr};

use super::code::{Code, Slot};
use super::predictor::{Guessed, Predictor};
use super::repeat::{self, Accesses, Repeat};
use super::{Core, FETCH_RING, REGISTERS};
use crate::Cycle;

/// Turns after which a loop is looked at.
const FIRST_LOOK: u32 = 8;
/// Turns after which one is looked at whose turns can only be repeated, which gains less.
const LATER_LOOK: u32 = 16;
/// Most instructions of a loop's body.
const MOST_INSTRUCTIONS: u64 = 16;
/// Most turns after which the pipeline looks the same again: where the words that instructions lie in
/// and the queue's room take turns, it does not in each.
pub(super) const MOST_TURNS: usize = 4;
/// Most registers that are made ready in a turn whose places are kept.
const MOST_MOVED: usize = 4;
/// Integer registers.
const INTEGERS: usize = 32;

/// Watches the loop that the core is in.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// Address of the branch that ends it.
    branch: u64,
    /// Times it was taken since it was met.
    count: u32,
    /// Times at which the loop is looked at.
    look: u32,
    /// Branch of the last loop that was of another kind.
    refused: u64,
    /// The pipeline at the end of a turn before.
    pub before: Option<Box<Snapshot>>,
    /// The turns that can be repeated, of this loop or another.
    pub repeat: Option<Box<Repeat>>,
    /// They can be repeated from here on.
    pub repeats: bool,
    /// Number of turns that were left out.
    #[cfg(test)]
    pub left_out: u64,
    /// Number of turns that were repeated.
    #[cfg(test)]
    pub repeated: u64,
}

/// A pipeline at the same place of a turn.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    times: Times,
    pub accesses: Accesses,
    /// `minstret`, and what a polling loop must not do.
    pub counts: (u64, u64),
    frontend: (bool, bool, u64, u64),
    pub registers: [u64; INTEGERS],
    pub predictor: Predictor,
    /// What the branch compared at the ends of turns since.
    pub compared: Vec<[u64; 2]>,
}

impl Snapshot {
    /// Gives the cycle in which the last instruction was in decode.
    pub fn decode(&self) -> Cycle {
        self.times.decode
    }
}

/// Where a pipeline is in a turn that comes again and again: what differs from place to place.
#[derive(Clone, Debug)]
pub(super) struct Place {
    decode: Cycle,
    moving: [Cycle; 2 + 2 * FETCH_RING],
    /// Registers that are made ready in every turn, and when; 0 behind the last.
    ready: [(u8, Cycle); MOST_MOVED],
    all_ready: Option<Cycle>,
    frontend: (bool, bool, u64, u64),
    guess: Guessed,
}

/// What moves along with time.
#[derive(Clone, Debug)]
struct Times {
    decode: Cycle,
    /// Where the fetch queue is, with its rings, the last word first.
    moving: [Cycle; 2 + 2 * FETCH_RING],
    /// When registers are ready, all of them last.
    ready: [Cycle; REGISTERS + 1],
}

/// A value at the end of a turn, and how far it moves in each.
type Moving = (u64, u64);

impl Core {
    /// Ends a turn of a loop: the branch at `pc` was taken to an address before it.
    #[inline(always)]
    pub(super) fn end_turn(&mut self, pc: u64, code: &Code) {
        let turns = &mut self.turns;
        if turns.branch != pc {
            (turns.branch, turns.count, turns.look) = (pc, 0, FIRST_LOOK);
            turns.before = None;
            return;
        }
        turns.count = turns.count.saturating_add(1);
        if turns.count >= turns.look && turns.refused != pc {
            self.look_at_turn(pc, code);
        }
    }

    #[inline(never)]
    fn look_at_turn(&mut self, pc: u64, code: &Code) {
        let Some(mut before) = self.turns.before.take() else {
            let counts = body(pc, code).is_some();
            if !counts && repeat::turn(pc, code).is_none() {
                self.turns.refused = pc;
            } else if !counts && self.turns.count < LATER_LOOK {
                self.turns.look = LATER_LOOK;
            } else {
                self.turns.before = Some(Box::new(self.snapshot()));
            }
            return;
        };
        let period = self.decode - before.times.decode;
        before.compared.push(self.compared(pc, code));
        let steps = self.steps(&before, pc, code, period);
        let looks_alike = self.looks_like(&before, period);
        if looks_alike && steps.is_none() && self.may_repeat(pc, code, &before, period) {
            (self.turns.before, self.turns.repeats) = (Some(before), true);
            return;
        }
        let steps = steps.filter(|_| looks_alike);
        let mut turns = 0;
        if let Some(steps) = &steps {
            turns = self.turns_to_come(pc, code, steps, &before, period);
            self.leave_out(turns, steps, &before, period);
        }
        if turns == 0 && before.compared.len() < MOST_TURNS {
            self.turns.before = Some(before);
            return;
        }
        if turns == 0 && steps.is_some() {
            // It ends soon, or the core must stop soon: what comes behind that is looked at again.
            (self.turns.count, self.turns.look) = (0, FIRST_LOOK);
            return;
        }
        if turns == 0 {
            // Its turns are not alike: others will say what comes of it.
            self.turns.look = self.turns.count.saturating_mul(2);
            return;
        }
        self.look_from_here(before);
    }

    /// Looks at the turns to come from here on, what came before being like this.
    fn look_from_here(&mut self, mut before: Box<Snapshot>) {
        before.times = self.times();
        before.accesses = self.accesses();
        before.counts = (self.hart.instret, self.effects);
        before.registers = self.hart.x;
        before.predictor.follow(&self.predictor);
        before.compared.clear();
        self.turns.before = Some(before);
    }

    /// Has repeated turns so many times, and may do so again unless something came otherwise.
    pub(super) fn turns_done(&mut self, before: Box<Snapshot>, times: u64, goes_on: bool) {
        if goes_on {
            return self.look_from_here(before);
        }
        // What comes next is looked at again; later, if this was in vain.
        let turns = &mut self.turns;
        (turns.count, turns.look) = match times {
            0 => (turns.count, turns.count.saturating_mul(2)),
            _ => (0, LATER_LOOK),
        };
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            times: self.times(),
            accesses: self.accesses(),
            counts: (self.hart.instret, self.effects),
            frontend: self.frontend(),
            registers: self.hart.x,
            predictor: self.predictor.clone(),
            compared: Vec::with_capacity(MOST_TURNS),
        }
    }

    fn times(&self) -> Times {
        let mut moving = [0; 2 + 2 * FETCH_RING];
        (moving[0], moving[1]) = (self.fetch, self.steered);
        for back in 0..FETCH_RING {
            let at = self.word_count.wrapping_sub(back) % FETCH_RING;
            (moving[2 + 2 * back], moving[3 + 2 * back]) = (self.departed[at], self.entered[at]);
        }
        let mut ready = [self.all_ready; REGISTERS + 1];
        ready[..REGISTERS].copy_from_slice(&self.ready);
        Times { decode: self.decode, moving, ready }
    }

    fn frontend(&self) -> (bool, bool, u64, u64) {
        (self.streams, self.redirected, self.fetch_word, self.fetch_line)
    }

    /// Tells whether the pipeline looks as at the end of the turn before, but for the time. Registers
    /// that were ready before that do not count.
    pub(super) fn looks_like(&self, before: &Snapshot, period: Cycle) -> bool {
        let (was, now) = (&before.times, self.times());
        let moved = |(was, now): (&Cycle, &Cycle)| *now == was + period;
        let ready = |(was, now): (&Cycle, &Cycle)| {
            moved((was, now)) || was == now && *was <= before.times.decode
        };
        self.unit_register == 0
            && !self.protected
            && self.ahead.is_none()
            && self.refill.is_past(before.times.decode)
            && self.frontend() == before.frontend
            && was.moving.iter().zip(&now.moving).all(moved)
            && was.ready.iter().zip(&now.ready).all(ready)
            && self.predictor.is_as(&before.predictor, period)
    }

    /// Gives how far each register moves in every turn, if the turn that ends was of the kind.
    fn steps(
        &self,
        before: &Snapshot,
        pc: u64,
        code: &Code,
        period: Cycle,
    ) -> Option<[u64; INTEGERS]> {
        let (first, instructions) = body(pc, code)?;
        let mut steps: [u64; INTEGERS] = std::array::from_fn(|register| {
            self.hart.x[register].wrapping_sub(before.registers[register])
        });
        let (begin, mut at, mut reads) = (steps, first, 0);
        while at < pc {
            let i = &code.get(at)?.instruction;
            let [a, b] = [i.rs1, i.rs2].map(|register| steps[usize::from(register) % INTEGERS]);
            let step = match i.op {
                _ if i.class == Class::Csr => {
                    reads += 1;
                    period
                }
                Op::Lui | Op::Auipc => 0,
                Op::Addi => a,
                Op::Add => a.wrapping_add(b),
                Op::Sub => a.wrapping_sub(b),
                _ if a == 0 && b == 0 => 0,
                _ => return None,
            };
            if i.rd != 0 {
                steps[usize::from(i.rd) % INTEGERS] = step;
            }
            at += u64::from(i.length);
        }
        let turns = before.compared.len() as u64;
        let counts = (self.hart.instret - before.counts.0, self.effects - before.counts.1);
        (steps == begin && counts == (turns * instructions, turns * reads)).then_some(steps)
    }

    /// Gives what the branch compares.
    fn compared(&self, pc: u64, code: &Code) -> [u64; 2] {
        let sources =
            code.get(pc).map_or([0; 2], |slot| [slot.instruction.rs1, slot.instruction.rs2]);
        sources.map(|register| self.hart.x[usize::from(register) % INTEGERS])
    }

    /// Counts how often the turns since `before` come again, all with the branch taken, before the core
    /// must stop.
    fn turns_to_come(
        &self,
        pc: u64,
        code: &Code,
        steps: &[u64; INTEGERS],
        before: &Snapshot,
        period: Cycle,
    ) -> u64 {
        let Some(slot) = code.get(pc) else { return 0 };
        let i = &slot.instruction;
        let end = self.limit.min(self.attention);
        let in_time = end.saturating_sub(self.decode + 1) / period.max(1);
        let [x, y] = [i.rs1, i.rs2].map(|register| steps[usize::from(register) % INTEGERS]);
        let ends = before.compared.iter();
        let taken = ends.map(|&[a, b]| times_taken(i.op, (a, x), (b, y))).min();
        in_time.min(taken.unwrap_or(0))
    }

    /// Tells where the pipeline is that looked as `before` some turns ago, to come back there later; none
    /// if too many registers are made ready in the turns between.
    pub(super) fn place(&self, looked: &Snapshot, before: &Snapshot) -> Option<Place> {
        let was = &before.times.ready;
        let moved = |register: &usize| self.ready[*register] != was[*register];
        let mut ready = [(0, 0); MOST_MOVED];
        for (count, register) in (0..REGISTERS).filter(moved).enumerate() {
            *ready.get_mut(count)? = (register as u8, looked.times.ready[register]);
        }
        let moves = self.all_ready != was[REGISTERS];
        Some(Place {
            decode: looked.times.decode,
            moving: looked.times.moving,
            ready,
            all_ready: moves.then_some(looked.times.ready[REGISTERS]),
            frontend: looked.frontend,
            guess: looked.predictor.guess(),
        })
    }

    /// Puts the pipeline to a place of its turn, so many cycles later.
    pub(super) fn come_to(&mut self, place: &Place, later: Cycle) {
        self.decode = place.decode + later;
        let moving = &place.moving;
        (self.fetch, self.steered) = (moving[0] + later, moving[1] + later);
        for back in 0..FETCH_RING {
            let at = self.word_count.wrapping_sub(back) % FETCH_RING;
            self.departed[at] = moving[2 + 2 * back] + later;
            self.entered[at] = moving[3 + 2 * back] + later;
        }
        for &(register, ready) in place.ready.iter().take_while(|(register, _)| *register != 0) {
            self.ready[usize::from(register) % REGISTERS] = ready + later;
        }
        if let Some(ready) = place.all_ready {
            self.all_ready = ready + later;
        }
        (self.streams, self.redirected, self.fetch_word, self.fetch_line) = place.frontend;
        self.predictor.come_to(&place.guess, later);
    }

    /// Moves the pipeline on by so many cycles, in which it went on as since `before`.
    pub(super) fn move_on(&mut self, cycles: Cycle, before: &Snapshot) {
        for at in [&mut self.decode, &mut self.fetch, &mut self.steered] {
            *at += cycles;
        }
        self.departed.iter_mut().chain(&mut self.entered).for_each(|at| *at += cycles);
        let ready = self.ready.iter_mut().chain([&mut self.all_ready]);
        for (at, _) in ready.zip(&before.times.ready).filter(|(at, was)| *at != *was) {
            *at += cycles;
        }
        self.predictor.move_on(cycles);
    }

    /// Does what so many times the turns since `before` do.
    fn leave_out(&mut self, turns: u64, steps: &[u64; INTEGERS], before: &Snapshot, period: Cycle) {
        let skipped = turns * period;
        #[cfg(test)]
        {
            self.turns.left_out += turns;
        }
        self.move_on(skipped, before);
        let reads = self.effects - before.counts.1;
        self.effects += turns * reads;
        if reads > 0 {
            self.hart.csr.cycle += skipped;
        }
        self.hart.instret += turns * (self.hart.instret - before.counts.0);
        for (value, step) in self.hart.x.iter_mut().zip(steps) {
            *value = value.wrapping_add(step.wrapping_mul(turns));
        }
    }
}

/// Gives where the body of the loop begins that a branch ends, and its instructions with the branch; none
/// if some of them do what is not foreseen here.
fn body(pc: u64, code: &Code) -> Option<(u64, u64)> {
    let branch = &code.get(pc)?.instruction;
    let first = pc.checked_add_signed(i64::from(branch.imm))?;
    let (mut at, mut instructions) = (first, 1);
    while at < pc {
        let slot = code.get(at)?;
        if !is_foreseen(slot) || instructions > MOST_INSTRUCTIONS {
            return None;
        }
        (at, instructions) = (at + u64::from(slot.instruction.length), instructions + 1);
    }
    (at == pc && !code.get(pc)?.reads_net).then_some((first, instructions))
}

/// Tells whether an instruction only computes, or reads the cycle counter.
fn is_foreseen(slot: &Slot) -> bool {
    let i = &slot.instruction;
    let reads_counter = i.class == Class::Csr
        && i.op == Op::Csrrs
        && i.rs1 == 0
        && i.rd != 0
        && matches!(i.csr(), csr::number::MCYCLE | csr::number::CYCLE);
    !slot.reads_net && !slot.writes_net && (i.class == Class::Alu || reads_counter)
}

/// Counts, from below, how often a branch on two values is taken in the turns to come.
fn times_taken(op: Op, a: Moving, b: Moving) -> u64 {
    match op {
        Op::Bne => times_apart(a.0.wrapping_sub(b.0), a.1.wrapping_sub(b.1) as i64),
        Op::Beq if a.0 == b.0 && a.1 == b.1 => u64::MAX,
        Op::Bltu => times_ordered(unsigned(a), unsigned(b), 1),
        Op::Bgeu => times_ordered(unsigned(b), unsigned(a), 0),
        Op::Blt => times_ordered(signed(a), signed(b), 1),
        Op::Bge => times_ordered(signed(b), signed(a), 0),
        _ => 0,
    }
}

/// Counts for how long a difference that moves by a step stays away from zero.
fn times_apart(difference: u64, step: i64) -> u64 {
    match step {
        0 => u64::MAX,
        1.. => (difference.wrapping_neg().wrapping_sub(1)) / step.unsigned_abs(),
        ..0 => difference.wrapping_sub(1) / step.unsigned_abs(),
    }
}

/// A value of a range, and how far it moves in each turn.
type Ranged = (i128, i128, std::ops::RangeInclusive<i128>);

fn unsigned((value, step): Moving) -> Ranged {
    (i128::from(value), i128::from(step as i64), 0..=i128::from(u64::MAX))
}

fn signed((value, step): Moving) -> Ranged {
    let range = i128::from(i64::MIN)..=i128::from(i64::MAX);
    (i128::from(value as i64), i128::from(step as i64), range)
}

/// Counts for how long one value stays below another by at least `gap`, while neither leaves its range.
fn times_ordered(low: Ranged, high: Ranged, gap: i128) -> u64 {
    let within = |(value, step, range): &Ranged| match step {
        0 => i128::MAX,
        1.. => (range.end() - value) / step,
        ..0 => (value - range.start()) / -step,
    };
    let (apart, closing) = (high.0 - low.0 - gap, low.1 - high.1);
    let ordered = match closing {
        _ if apart < 0 => 0,
        1.. => apart / closing,
        ..=0 => i128::MAX,
    };
    let times = ordered.min(within(&low)).min(within(&high));
    u64::try_from(times).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_taken_as_often_as_they_are() {
        let mut random = pinion_sim::random::SplitMix64::new(1);
        let mut draw = |most: u64| random.draw() % most;
        let ops = [Op::Beq, Op::Bne, Op::Blt, Op::Bge, Op::Bltu, Op::Bgeu];
        let corners = [0, 1 << 63, u64::MAX - 20];
        for _ in 0..20_000 {
            let op = ops[draw(6) as usize];
            let mut value = || {
                let value = corners[draw(3) as usize].wrapping_add(draw(60));
                (value, draw(7).wrapping_sub(3))
            };
            let (a, b) = (value(), value());
            let taken = |turn: u64| {
                let [x, y] =
                    [a, b].map(|(value, step)| value.wrapping_add(step.wrapping_mul(turn)));
                match op {
                    Op::Beq => x == y,
                    Op::Bne => x != y,
                    Op::Blt => (x as i64) < y as i64,
                    Op::Bge => x as i64 >= y as i64,
                    Op::Bltu => x < y,
                    _ => x >= y,
                }
            };
            if !taken(0) {
                continue;
            }
            let times = times_taken(op, a, b).min(200);
            for turn in 1..=times {
                assert!(taken(turn), "{op:?} {a:?} {b:?}: not in turn {turn} of {times}");
            }
        }
    }
}
