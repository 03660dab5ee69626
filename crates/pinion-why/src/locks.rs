//! Which locks a handler or hart waited for, and who had them. In: every access that is performed while it
//! works. Out: its waits. Holds what happened at words that atomics change.
//!
//! It waits where it comes to one word again and again, and nothing it does there changes the word: a lock
//! that is taken, a word that is not yet what a loop wants it to be. Whether an access changed a word is
//! told by what the next one finds there. Somebody has the lock from his change of the word to his next
//! one; of whom only the second is seen, he had it before the waiting began.

use pinion_isa::{Class, Instruction, Op};
use pinion_observe::trace::SourceLines;
use pinion_sim::{Clock, Time};
use rustc_hash::FxHashMap as HashMap;

use crate::way::{Behind, Blocker, LineShare, Step};

/// Somebody else has the lock.
pub const LOCK_WAIT: Step = Step::wait("lock_wait");

/// Words of which it is kept what happened there.
const MOST_WORDS: usize = 4096;
/// Accesses to one word that are kept.
const MOST_DEEDS: usize = 1 << 16;

/// What a packet's handlers, or a hart at a message, spent their time with.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    /// What each line took, the longest first.
    pub lines: Vec<LineShare>,
    /// The locks they waited for.
    pub locks: Vec<LockWait>,
}

/// Somebody who had a lock while another waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Where it worked: cluster and HPU; of a hart, 0 and its number.
    pub seat: (u32, u32),
    /// A handler's packet.
    pub packet: Option<u64>,
    /// A cycle in which it had the lock.
    pub cycle: u64,
    /// What he had it for in all, in ps, if it was seen when he took it and when he gave it back.
    pub held_ps: Option<u64>,
}

/// A wait for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// The word's address.
    pub address: u64,
    /// The line of source that comes to it, where the program tells.
    pub line: Option<String>,
    /// When it was come to in vain for the first time.
    pub from: Time,
    /// When it did not come in vain.
    pub to: Time,
    /// Who had it meanwhile, the last one first.
    pub holders: Vec<Holder>,
}

impl LockWait {
    /// Says what is waited for.
    pub fn words(&self) -> String {
        let line = self.line.as_ref().map_or_else(String::new, |line| format!(", {line}"));
        format!("waits for the lock at {:#010x}{line}", self.address)
    }

    /// Names who had it; `name` says who a holder is, where that is known.
    pub fn behind(&self, name: impl Fn(&Holder) -> Option<Blocker>) -> Behind {
        let named = self
            .holders
            .iter()
            .filter_map(|holder| Some(Blocker { held_ps: holder.held_ps, ..name(holder)? }));
        Behind::of(named)
    }
}

/// An access to a word.
#[derive(Clone, Copy, Debug)]
pub struct Deed {
    /// Where it comes among all: what comes later finds what it left.
    pub order: u64,
    /// Its cycle.
    pub cycle: u64,
    /// Where its doer works: cluster and HPU; of a hart, 0 and its number.
    pub seat: (u32, u32),
    /// A handler's packet.
    pub packet: Option<u64>,
    /// What was there before.
    pub found: u64,
    /// What it does.
    pub does: Does,
}

/// Says what an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Reads.
    Load,
    /// Writes, whatever was there.
    Store,
    /// Reads and writes, or tries to.
    Atomic,
}

/// Comes of one HPU to one word, with no access to another between.
#[derive(Clone, Copy, Debug)]
struct Visit {
    address: u64,
    pc: u64,
    seat: (u32, u32),
    first: u64,
    last: u64,
    times: u64,
}

/// Follows the words that are shared by atomics.
#[derive(Debug, Default)]
pub struct Locks {
    deeds: HashMap<u64, Vec<Deed>>,
    visit: Option<Visit>,
    visits: Vec<Visit>,
}

impl Locks {
    /// Hears of an access to a word by the instruction at an address; `own`: by who is asked about.
    pub fn hear(&mut self, word: u64, pc: u64, deed: Deed, own: bool) {
        if own {
            self.come(word, pc, &deed);
        }
        let is_known = self.deeds.contains_key(&word);
        if !is_known && (deed.does != Does::Atomic || self.deeds.len() >= MOST_WORDS) {
            return;
        }
        let deeds = self.deeds.entry(word).or_default();
        if deeds.len() < MOST_DEEDS {
            deeds.push(deed);
        }
    }

    fn come(&mut self, address: u64, pc: u64, deed: &Deed) {
        let (seat, cycle) = (deed.seat, deed.cycle);
        match &mut self.visit {
            Some(visit) if visit.address == address && visit.seat == seat => {
                visit.last = cycle;
                visit.times += 1;
            }
            other => {
                let new = Visit { address, pc, seat, first: cycle, last: cycle, times: 1 };
                self.visits.extend(other.replace(new).filter(|visit| visit.times > 1));
            }
        }
    }

    /// Gives the waits, in order of time.
    pub fn waits(&self, clock: Clock, lines: &SourceLines) -> Vec<LockWait> {
        let last = self.visit.filter(|visit| visit.times > 1);
        let mut waits = Vec::new();
        for visit in self.visits.iter().chain(&last) {
            let Some(deeds) = self.deeds.get(&visit.address) else { continue };
            let mut deeds = deeds.clone();
            deeds.sort_by_key(|deed| deed.order);
            for (from, to) in vain(&deeds, visit) {
                let line = lines.at(visit.pc).map(str::to_owned);
                let holders = holders(&deeds, visit.seat, (from, to), clock);
                let (from, to) = (clock.time(from), clock.time(to));
                waits.push(LockWait { address: visit.address, line, from, to, holders });
            }
        }
        waits.sort_by_key(|wait| wait.from);
        waits
    }
}

impl Does {
    /// Says what an instruction does to a word; `None`: nothing.
    pub fn of(instruction: &Instruction) -> Option<Self> {
        match instruction.op.class() {
            Class::Amo | Class::StoreConditional => Some(Self::Atomic),
            Class::Load | Class::LoadReserved | Class::XpulpLoad => Some(Self::Load),
            Class::Store | Class::XpulpStore => Some(Self::Store),
            _ if instruction.op == Op::ScW => Some(Self::Atomic),
            _ => None,
        }
    }
}

/// Gives the spans of a visit in which the word was come to in vain: from the first time to the time
/// that was not.
fn vain(deeds: &[Deed], visit: &Visit) -> Vec<(u64, u64)> {
    let is_own =
        |deed: &Deed| deed.seat == visit.seat && (visit.first..=visit.last).contains(&deed.cycle);
    let own: Vec<usize> = (0..deeds.len()).filter(|at| is_own(&deeds[*at])).collect();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    let mut begun = None;
    for (place, at) in own.iter().enumerate() {
        let deed = &deeds[*at];
        let is_vain = match deed.does {
            Does::Store => false,
            // What is there afterwards is what the next one finds.
            Does::Atomic => deeds.get(at + 1).is_some_and(|next| next.found == deed.found),
            // A loop that reads goes on until it reads something else.
            Does::Load => own.get(place + 1).is_some_and(|next| {
                let next = &deeds[*next];
                next.does == Does::Load && next.found == deed.found
            }),
        };
        match (begun, is_vain) {
            (None, true) => begun = Some((deed.cycle, deed.found)),
            (Some((from, _)), false) => {
                // The last that reads the same is followed by the one that does not.
                let next = own.get(place + 1).map(|next| &deeds[*next]);
                let reads_on = deed.does == Does::Load
                    && next.is_some_and(|next| next.does == Does::Load && next.found != deed.found);
                let to =
                    if reads_on { next.map_or(deed.cycle, |next| next.cycle) } else { deed.cycle };
                let is_wait = deed.does != Does::Load || reads_on;
                spans.extend(is_wait.then_some((from, to)));
                begun = None;
            }
            _ => {}
        }
    }
    // It was ended while it waited.
    spans.extend(begun.map(|(from, _)| (from, visit.last)));
    spans.retain(|(from, to)| to > from);
    spans
}

/// Gives who had a word between two cycles, the last one first, other than who waited.
fn holders(deeds: &[Deed], but: (u32, u32), (from, to): (u64, u64), clock: Clock) -> Vec<Holder> {
    let changes = deeds.iter().enumerate().filter(|(at, deed)| match deed.does {
        Does::Load => false,
        _ => deeds.get(at + 1).is_none_or(|next| next.found != deed.found),
    });
    let mut found = Vec::new();
    let mut holds: Option<&Deed> = None;
    let mut note = |deed: &Deed, taken: Option<u64>, given: Option<u64>| {
        if deed.seat != but && given.is_none_or(|at| at >= from) && taken.is_none_or(|at| at < to) {
            let held = taken.zip(given);
            let held_ps =
                held.map(|(taken, given)| clock.time(given).since(clock.time(taken)).ps());
            let (seat, packet, cycle) = (deed.seat, deed.packet, deed.cycle);
            found.push(Holder { seat, packet, cycle, held_ps });
        }
    };
    let mut is_first = true;
    for (_, change) in changes {
        match holds.take() {
            Some(holder) if holder.seat == change.seat => {
                note(holder, Some(holder.cycle), Some(change.cycle));
            }
            // The first change that was seen gives back what was taken before.
            None if is_first && change.cycle >= from => note(change, None, Some(change.cycle)),
            _ => holds = Some(change),
        }
        is_first = false;
    }
    if let Some(holder) = holds {
        note(holder, Some(holder.cycle), None);
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deed(cycle: u64, hpu: u32, found: u64, does: Does) -> Deed {
        Deed { order: cycle, cycle, seat: (0, hpu), packet: Some(u64::from(hpu) + 10), found, does }
    }

    fn visit(first: u64, last: u64) -> Visit {
        Visit { address: 4, pc: 0, seat: (0, 1), first, last, times: 3 }
    }

    #[test]
    fn who_spins_on_a_lock_waits_for_who_gives_it_back() {
        use Does::Atomic;
        let deeds = [
            deed(10, 0, 0, Atomic), // taken
            deed(20, 1, 1, Atomic),
            deed(30, 1, 1, Atomic),
            deed(40, 0, 1, Atomic), // given back
            deed(50, 1, 0, Atomic), // taken
            deed(90, 1, 1, Atomic),
        ];
        assert_eq!(vain(&deeds, &visit(20, 50)), [(20, 50)]);
        let clock = Clock::from_hz(1_000_000_000);
        let held_ps = Some(30_000);
        let holder = Holder { seat: (0, 0), packet: Some(10), cycle: 10, held_ps };
        assert_eq!(holders(&deeds, (0, 1), (20, 50), clock), [holder]);
        // Only how it is given back was seen.
        let holder = Holder { held_ps: None, cycle: 40, ..holder };
        assert_eq!(holders(&deeds[1..], (0, 1), (20, 50), clock), [holder]);
    }

    #[test]
    fn who_changes_a_word_each_time_does_not_wait() {
        use Does::{Atomic, Load};
        let counts = [deed(10, 1, 0, Atomic), deed(20, 1, 1, Atomic), deed(30, 1, 2, Atomic)];
        assert_eq!(vain(&counts, &visit(10, 30)), []);
        let reads = [deed(10, 1, 7, Load), deed(20, 1, 7, Load), deed(30, 1, 7, Load)];
        assert_eq!(vain(&reads, &visit(10, 30)), [], "it stays what it was");
        let waits = [
            deed(10, 1, 7, Load),
            deed(20, 1, 7, Load),
            deed(25, 0, 7, Atomic),
            deed(30, 1, 8, Load),
        ];
        assert_eq!(vain(&waits, &visit(10, 30)), [(10, 30)]);
    }
}
