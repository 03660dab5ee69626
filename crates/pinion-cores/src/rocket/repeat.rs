//! Loops that work in registers and in the first-level cache: once their turns are shown to take the same
//! cycles, they are executed without asking for the cycles.
//!
//! In: the end of a turn behind which the pipeline looks as at the end of a turn before (`turns.rs`). Out: the
//! core so many turns later. What a turn takes follows from that look, as long as each access hits, meets
//! the stores on their way into the array as it did, and the branch at the end is taken. Turns in which
//! something comes otherwise are undone, and left to the loop that asks. What others do, they do between two
//! runs of the core; so nothing but its own instructions can come otherwise here.

use pinion_isa::{Access, Instruction, Outcome};

use super::cache::State;
use super::code::{Code, Kind, Slot};
use super::data::{STORE_BITS, mask, place};
use super::turns::Snapshot;
use super::{Core, PendingStore};
use crate::Cycle;
use crate::port::{LINE_BYTES, MemoryPort};

/// Most instructions of a turn.
const MOST_INSTRUCTIONS: usize = 32;
/// Most loads in the turns behind which the pipeline looks the same again: as many as are remembered.
const MOST_LOADS: usize = (u64::BITS / STORE_BITS) as usize;

/// The turns of a loop that take the same cycles.
#[derive(Clone, Debug)]
pub(super) struct Repeat {
    /// Address of the branch that ends a turn.
    branch: u64,
    /// A turn's instructions, with the branch.
    turn: Vec<Slot>,
    /// Times that decoded code had changed.
    changes: u64,
    /// Turns behind which the pipeline looks the same again, and their cycles.
    turns: u64,
    period: Cycle,
    /// How each load of them met the stores on their way into the array.
    loads: Vec<u8>,
    /// Stores of a turn.
    stores: u64,
    /// What stores of the turns under way have overwritten: where, what, how many bytes.
    overwritten: Vec<(usize, u64, u8)>,
}

/// What a core was before turns that are undone.
struct Before {
    registers: [u64; 32],
    pc: u64,
    retired: u64,
    stores: [PendingStore; 2],
}

/// The store buffer and the data cache's timing at the end of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accesses {
    stores: [Cycle; 2],
    loads: (Cycle, Cycle),
    busy: Cycle,
    tags_written: Cycle,
}

/// Lists the instructions of the loop that a branch at `pc` ends; none if some of them are not executed here.
pub(super) fn turn(pc: u64, code: &Code) -> Option<Vec<Slot>> {
    let branch = code.get(pc)?;
    let mut at = pc.checked_add_signed(i64::from(branch.instruction.imm))?;
    let mut turn = Vec::new();
    while at < pc {
        let slot = code.get(at)?;
        let is_one = matches!(slot.kind, Kind::Plain | Kind::Load | Kind::Store);
        if !is_one || turn.len() == MOST_INSTRUCTIONS {
            return None;
        }
        turn.push(*slot);
        at += u64::from(slot.instruction.length);
    }
    turn.push(*branch);
    (at == pc && branch.kind == Kind::Branch).then_some(turn)
}

impl Core {
    pub(super) fn accesses(&self) -> Accesses {
        Accesses {
            stores: self.stores.map(|store| store.from),
            loads: self.load_run,
            busy: self.memory_busy,
            tags_written: self.tags_written,
        }
    }

    /// Tells whether accesses go on as they did since the end of a turn before, so many cycles ago.
    fn accesses_go_on(&self, before: &Snapshot, period: Cycle) -> bool {
        let (was, now) = (&before.accesses, self.accesses());
        let goes_on =
            |was: Cycle, now: Cycle| now == was + period || now == was && now <= before.decode();
        !self.fence
            && self.missed <= before.decode()
            && now.tags_written == was.tags_written
            && now.tags_written <= before.decode()
            && was.stores.iter().zip(now.stores).all(|(was, now)| goes_on(*was, now))
            && goes_on(was.loads.0, now.loads.0)
            && goes_on(was.loads.1, now.loads.1)
            && (now.busy == was.busy || now.busy == was.busy + period)
    }

    /// Tells whether the turns since `before`, which took `period` cycles, can be repeated, and keeps what
    /// that takes.
    pub(super) fn may_repeat(
        &mut self,
        pc: u64,
        code: &Code,
        before: &Snapshot,
        period: Cycle,
    ) -> bool {
        let turns = before.compared.len() as u64;
        let kept = self.turns.repeat.take();
        let kept = kept.filter(|kept| kept.branch == pc && kept.changes == code.changes());
        let Some(mut repeat) = kept.or_else(|| repeat(pc, code)) else { return false };
        let per_turn = |kind| repeat.turn.iter().filter(|slot| slot.kind == kind).count();
        let loads = turns as usize * per_turn(Kind::Load);
        let retired = self.hart.instret - before.counts.0 == turns * repeat.turn.len() as u64;
        let stored = self.effects - before.counts.1 == turns * repeat.stores;
        if !retired || !stored || loads > MOST_LOADS || !self.accesses_go_on(before, period) {
            self.turns.repeat = Some(repeat);
            return false;
        }
        (repeat.turns, repeat.period) = (turns, period);
        repeat.loads.clear();
        let met = |nth: usize| (self.loads_met >> (nth as u32 * STORE_BITS)) as u8;
        repeat.loads.extend((0..loads).rev().map(|nth| met(nth) & ((1 << STORE_BITS) - 1)));
        self.turns.repeat = Some(repeat);
        true
    }

    /// Repeats the turns that were found to take the same cycles, as often as they do before the core must
    /// stop.
    #[inline(never)]
    pub(super) fn repeat_turns<M: MemoryPort>(&mut self, code: &mut Code, memory: &mut M) {
        self.turns.repeats = false;
        let (before, repeat) = (self.turns.before.take(), self.turns.repeat.take());
        let (Some(before), Some(mut repeat)) = (before, repeat) else { return };
        let end = self.limit.min(self.attention);
        let in_time = end.saturating_sub(self.decode + 1) / repeat.period.max(1);
        let was = self.accesses();
        let mut times = 0;
        while times < in_time && self.repeat_once(&mut repeat, code, memory) {
            times += 1;
        }
        #[cfg(test)]
        {
            self.turns.repeated += times * repeat.turns;
        }
        self.effects += times * repeat.turns * repeat.stores;
        self.pass(times * repeat.period, &was, &before);
        self.turns.repeat = Some(repeat);
        self.turns_done(before, times, times == in_time);
    }

    /// Moves everything on that moved with time since `before`, by so many cycles.
    fn pass(&mut self, cycles: Cycle, was: &Accesses, before: &Snapshot) {
        let then = &before.accesses;
        let moved = |was: Cycle, then: Cycle| if was == then { was } else { was + cycles };
        for (nth, store) in self.stores.iter_mut().enumerate() {
            store.from = moved(was.stores[nth], then.stores[nth]);
        }
        self.load_run = (moved(was.loads.0, then.loads.0), moved(was.loads.1, then.loads.1));
        self.memory_busy = moved(was.busy, then.busy);
        self.move_on(cycles, before);
    }

    /// Executes the turns once more; if something comes otherwise than before, changes nothing and gives
    /// `false`.
    #[inline(always)]
    fn repeat_once<M: MemoryPort>(
        &mut self,
        repeat: &mut Repeat,
        code: &mut Code,
        memory: &mut M,
    ) -> bool {
        let before = Before {
            registers: self.hart.x,
            pc: self.hart.pc,
            retired: self.hart.instret,
            stores: self.stores,
        };
        repeat.overwritten.clear();
        let Repeat { turn, changes, turns, loads, overwritten, .. } = repeat;
        let mut loads = loads.iter();
        for _ in 0..*turns {
            for slot in turn.iter() {
                let i = &slot.instruction;
                let goes_on = match slot.kind {
                    Kind::Plain => {
                        self.hart.execute(i);
                        true
                    }
                    Kind::Load => {
                        self.load_again(i, loads.next().copied().unwrap_or(u8::MAX), memory)
                    }
                    Kind::Store => {
                        self.store_again(i, overwritten, code, memory) && code.changes() == *changes
                    }
                    _ => matches!(self.hart.execute(i), Outcome::Branched),
                };
                if !goes_on {
                    for &(offset, word, bytes) in overwritten.iter().rev() {
                        memory.write(offset, bytes, word);
                    }
                    self.hart.x = before.registers;
                    (self.hart.pc, self.hart.instret) = (before.pc, before.retired);
                    self.stores = before.stores;
                    return false;
                }
            }
        }
        true
    }

    /// Loads if that hits, and meets stores on their way into the array as it did.
    #[inline(always)]
    fn load_again<M: MemoryPort>(&mut self, i: &Instruction, met: u8, memory: &M) -> bool {
        let Outcome::Access(access) = self.hart.execute(i) else { return false };
        let Some(offset) = self.hits(&access, memory) else { return false };
        if met != 0 {
            let waits = met & 0b11;
            let meets = self.meets(access.address, access.bytes, waits);
            if meets != (met != waits) {
                return false;
            }
            if meets {
                self.stores = [PendingStore::default(); 2];
            }
        }
        self.hart.complete_integer(&access, memory.read(offset));
        true
    }

    /// Stores if that hits a line which was written before, and means nothing to anybody else.
    #[inline(always)]
    fn store_again<M: MemoryPort>(
        &mut self,
        i: &Instruction,
        overwritten: &mut Vec<(usize, u64, u8)>,
        code: &mut Code,
        memory: &mut M,
    ) -> bool {
        let Outcome::Access(access) = self.hart.execute(i) else { return false };
        let Some(offset) = memory.offset(access.address, access.bytes) else { return false };
        let slot = self.data_cache.find(access.address / LINE_BYTES);
        let may = slot.is_some_and(|slot| self.data_cache.state(slot) == State::Dirty);
        if !may || memory.means_something(access.address) {
            return false;
        }
        overwritten.push((offset, memory.read(offset), access.bytes));
        memory.write(offset, access.bytes, access.data);
        self.stores[0] = self.stores[1];
        self.stores[1].word = place(access.address) & self.word_index;
        self.stores[1].mask = mask(access.address, access.bytes);
        self.hart.complete_integer(&access, 0);
        code.forget(access.address);
        true
    }

    /// Gives where in memory an access reads that hits.
    #[inline(always)]
    fn hits<M: MemoryPort>(&self, access: &Access<u64>, memory: &M) -> Option<usize> {
        self.data_cache.find(access.address / LINE_BYTES)?;
        memory.offset(access.address, access.bytes)
    }
}

/// Makes what it takes to repeat a loop's turns, of which nothing is known yet.
#[cold]
fn repeat(branch: u64, code: &Code) -> Option<Box<Repeat>> {
    let turn = turn(branch, code)?;
    let stores = turn.iter().filter(|slot| slot.kind == Kind::Store).count() as u64;
    Some(Box::new(Repeat {
        branch,
        turn,
        changes: code.changes(),
        turns: 0,
        period: 0,
        loads: Vec::new(),
        stores,
        overwritten: Vec::new(),
    }))
}
