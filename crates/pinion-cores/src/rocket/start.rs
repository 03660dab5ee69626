//! The loop in which every hart waits until the NIC is out of reset: shown to turn alike, its turns are
//! left out of the simulation, not of the count.
//!
//! In: each read of `lnicrdy` that finds it 0. Out: the core as it is at a later read. As any read of the
//! network it must know that nobody acts before it, so that the harts of a node take turns; how far each
//! goes in its turn stays as it is. What the loop reads changes with time alone.

use super::code::{Code, Kind};
use super::network::Network;
use super::turns::{MOST_TURNS, Place, Snapshot};
use super::{Core, RETIRE};
use crate::Cycle;

/// Most instructions of the loop.
const MOST_INSTRUCTIONS: u64 = 8;

/// Cycles before the core must stop in which the period is looked for: what that takes is not kept longer.
const LOOK_CYCLES: Cycle = 80;

/// What is known of the loop.
#[derive(Clone, Debug, Default)]
pub(super) struct Start {
    /// Address of the read.
    pc: u64,
    /// Decode cycle of the last read, `minstret` before it, and what the loop must not do.
    at: Cycle,
    retired: u64,
    effects: u64,
    /// The last reads, with their cycles, while the period is looked for.
    seen: Vec<(Cycle, Box<Snapshot>)>,
    /// The reads of a period, one after the other, with their cycles; none: it is not known.
    reads: Vec<(Cycle, Place)>,
    /// Cycles of a period.
    period: Cycle,
    /// The last read is as this one of them.
    phase: usize,
}

impl Start {
    /// Gives the cycles from a read to the next.
    fn cycles(&self, phase: usize) -> Cycle {
        let next = self.reads.get(phase + 1).map(|(at, _)| *at);
        next.unwrap_or(self.reads[0].0 + self.period) - self.reads[phase].0
    }

    /// Gives the read behind another.
    fn behind(&self, phase: usize) -> usize {
        if phase + 1 == self.reads.len() { 0 } else { phase + 1 }
    }
}

impl Core {
    /// Comes to a read of `lnicrdy` at `pc` that would decode in `t`: leaves out the turns of its loop
    /// that would be executed now, and tells whether there are some. The read then decodes later.
    pub(super) fn leave_start_out<N: Network>(
        &mut self,
        pc: u64,
        t: Cycle,
        code: &Code,
        network: &N,
    ) -> bool {
        let ready = network.ready_at();
        if t + RETIRE >= ready {
            self.start = Start::default();
            return false;
        }
        let Some(instructions) = turn(pc, code) else { return false };
        let start = &self.start;
        let is_here = start.pc == pc && start.effects == self.effects;
        let retired = self.hart.instret.wrapping_sub(start.retired);
        if !is_here || retired != 0 || start.at != t {
            let follows = is_here && retired == instructions;
            self.look_at_start(pc, t, follows);
        }
        let start = &self.start;
        if start.reads.is_empty() {
            return false;
        }
        // A read is executed if it is settled; of what follows it the whole turn must come before the
        // core stops.
        let settled = network.known_until().min(ready);
        let end = self.limit.min(self.attention);
        let (mut at, mut phase, mut turns) = (t, start.phase, 0);
        while at + RETIRE < settled {
            let next = at + start.cycles(phase);
            if next >= end {
                break;
            }
            (at, phase, turns) = (next, start.behind(phase), turns + 1);
        }
        if turns == 0 {
            return false;
        }
        let start = std::mem::take(&mut self.start);
        let (then, place) = &start.reads[phase];
        self.come_to(place, at - then);
        self.hart.instret += turns * instructions;
        self.start = Start { at, phase, retired: self.hart.instret, ..start };
        #[cfg(test)]
        {
            self.turns.left_out += turns;
        }
        true
    }

    /// Looks at a read, which `follows` the last one, or begins anew.
    fn look_at_start(&mut self, pc: u64, t: Cycle, follows: bool) {
        let mut start = std::mem::take(&mut self.start);
        let cycles = t - start.at.min(t);
        (start.at, start.retired, start.effects) = (t, self.hart.instret, self.effects);
        let is_known = !start.reads.is_empty();
        if is_known && follows && start.cycles(start.phase) == cycles {
            start.phase = start.behind(start.phase);
        } else {
            if is_known || !follows {
                start = Start { pc, reads: Vec::new(), seen: Vec::new(), ..start };
            }
            self.look_for_period(&mut start, t);
        }
        self.start = start;
    }

    /// Looks whether the pipeline looks as at the first of the reads; adds this one to them if not.
    #[cold]
    fn look_for_period(&self, start: &mut Start, t: Cycle) {
        if let Some((at, first)) = start.seen.first() {
            let is_alike = |(_, then): &(Cycle, Box<Snapshot>)| {
                then.registers == self.hart.x && self.predictor.knows_as(&then.predictor)
            };
            if self.looks_like(first, t - at) && start.seen.iter().all(is_alike) {
                let place =
                    |(at, then): &(Cycle, Box<Snapshot>)| Some((*at, self.place(then, first)?));
                start.reads =
                    start.seen.iter().map(place).collect::<Option<_>>().unwrap_or_default();
                (start.period, start.phase) = (t - at, 0);
                start.seen = Vec::new();
                return;
            }
        }
        if start.seen.len() == MOST_TURNS {
            start.seen = Vec::new();
        }
        if !start.seen.is_empty() || t + LOOK_CYCLES < self.limit {
            start.seen.push((t, Box::new(self.snapshot())));
        }
    }
}

/// Counts the instructions of a loop from the read of `lnicrdy` at `pc` to a branch back to it, if it does
/// nothing but look at what was read.
fn turn(pc: u64, code: &Code) -> Option<u64> {
    let mut at = pc;
    for instructions in 1..=MOST_INSTRUCTIONS {
        let slot = code.get(at)?;
        let i = &slot.instruction;
        match slot.kind {
            Kind::Ready if at == pc => {}
            Kind::Plain => {}
            Kind::Branch if at.wrapping_add(i.imm as i64 as u64) == pc => {
                return Some(instructions);
            }
            _ => return None,
        }
        at += u64::from(i.length);
    }
    None
}
