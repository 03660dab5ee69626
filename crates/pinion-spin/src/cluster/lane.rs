//! The cores of a cluster whose next access goes to their own L1, and who of them is served in which cycle.
//!
//! In: a core's access and its cycle. Out: who is served next. Of those that ask for a bank in one cycle it serves the
//! one that its arbitration tree leads to; the others ask again when it is free, together with whoever comes then.
//! (RTL: tcdm_interconnect.)

use pinion_cores::pulp::near_access::NearAccess;
use pinion_sim::arbiter::RoundRobin;
use pinion_sim::calendar::{CORES, Calendar, Turns, bit, each};

use super::tcdm_interconnect::{Bank, L1Banks, MOST_BANKS};
use crate::hardware::InterconnectSeat;

/// Holds the next own-L1 accesses of a cluster's cores.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// When they are due.
    pub calendar: Calendar,
    /// By core: its access.
    pub due: [Due; CORES],
    /// Bit per core whose access is [`HELD`].
    held: u32,
    /// By such a core: since when it waits.
    since: [u64; CORES],
}

/// Describes an access that is due.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
pub struct Due {
    /// What it accesses.
    pub address: u32,
    /// Place of the instruction in the program, and [`HELD`] and [`SECOND`].
    pub place: u32,
    /// The number of the bank that it asks for.
    pub bank: u32,
}

impl Due {
    /// Gives the instruction's place in the program.
    pub const fn place(&self) -> u32 {
        self.place & !(HELD | SECOND)
    }

    /// Says whether it has had to wait for a bank.
    pub const fn is_held(&self) -> bool {
        self.place & HELD != 0
    }
}

/// Marks the place of an access that had to wait for its bank.
pub const HELD: u32 = 1 << 31;

/// Marks the place of an access in two words whose first has been served.
pub const SECOND: u32 = 1 << 30;

/// Says who is served.
#[derive(Clone, Debug)]
pub struct Served {
    /// The core.
    pub core: usize,
    /// Bit per core that asked as well.
    others: u32,
    /// Whose turn it is next at the bank.
    order: RoundRobin,
}

impl Served {
    /// Gives the others their turns of the cycle back where the core was not served after all.
    pub const fn give_back(&self, turns: &mut Turns) {
        turns.due |= self.others;
    }

    /// Does so, and lets the bank go on to the next of them.
    pub fn pass_over(self, turns: &mut Turns, bank: &mut Bank) {
        self.give_back(turns);
        bank.order = self.order;
    }
}

impl Lane {
    /// Puts a core in, to be served at `time`.
    #[inline(always)]
    pub fn enter(&mut self, core: usize, time: u64, access: NearAccess, banks: &mut L1Banks) {
        debug_assert!(self.held & bit(core) == 0, "it waits for nothing");
        let bank = banks.rules.index(access.address());
        banks.banks[bank].asking |= bit(core);
        let (address, place) = (access.address(), access.place());
        self.due[core % CORES] = Due { address, place, bank: bank as u32 };
        self.calendar.enter(core, time);
    }

    /// Lets the second word of a core's access be served after the first, which was in cycle `now`.
    pub fn enter_second(&mut self, core: usize, now: u64, banks: &mut L1Banks) {
        let due = &mut self.due[core % CORES];
        due.place |= HELD | SECOND;
        let bank = banks.rules.index((due.address | 3).wrapping_add(1));
        due.bank = bank as u32;
        banks.banks[bank].asking |= bit(core);
        self.held |= bit(core);
        self.since[core % CORES] = now;
        self.calendar.enter(core, now + 1);
    }

    /// Gives who is served of all that ask for the bank of a core's access in cycle `now`, the core among them; the
    /// others are taken out of the cycle's turns. `None`: nobody is. A block beside the banks is told who asks in vain.
    #[inline(always)]
    pub fn choose(
        &mut self,
        turns: &mut Turns,
        core: usize,
        now: u64,
        banks: &mut L1Banks,
        seat: &mut Option<&mut InterconnectSeat>,
    ) -> Option<Served> {
        let number = self.due[core % CORES].bank;
        let bank = &mut banks.banks[number as usize % MOST_BANKS];
        let asking = bank.asking & (turns.due | bit(core));
        turns.due &= !asking;
        let mut free_at = bank.free_at;
        if free_at <= now {
            if banks.rules.goes_first(now, 4 * number) {
                let mut order = bank.order.clone();
                let core = order.grant_word(asking.into())? as usize % CORES;
                bank.asking &= !bit(core);
                return Some(Served { core, others: asking & !bit(core), order });
            }
            free_at = now + 1;
        }
        if let Some(seat) = seat {
            seat.asks(now..free_at, asking, number);
        }
        self.hold(asking, now, free_at);
        None
    }

    /// Notes that a core was served in cycle `now`: those who asked as well wait until the bank is free again.
    #[inline]
    pub fn serve(
        &mut self,
        served: Served,
        now: u64,
        bank: &mut Bank,
        seat: &mut Option<&mut InterconnectSeat>,
    ) {
        bank.order = served.order;
        if let Some(seat) = seat {
            let number = self.due[served.core % CORES].bank;
            seat.serves(now, served.core, number, bank.free_at > now + 1);
            seat.asks(now..bank.free_at, served.others, number);
        }
        if served.others != 0 {
            self.hold(served.others, now, bank.free_at);
        }
    }

    /// Lets cores wait for a bank until it is free.
    fn hold(&mut self, cores: u32, now: u64, free_at: u64) {
        // Where many meet, nearly all have waited before.
        for core in each(cores & !self.held) {
            self.due[core].place |= HELD;
            self.since[core] = now;
        }
        self.held |= cores;
        self.calendar.enter_all(cores, free_at);
    }

    /// Ends a core's waiting at `now`; gives the cycles that it has waited, 0 if it has not.
    #[inline]
    pub fn settle(&mut self, core: usize, now: u64) -> u64 {
        let due = &mut self.due[core % CORES];
        let is_held = due.is_held();
        due.place &= !HELD;
        self.held &= !bit(core);
        if is_held { now - self.since[core % CORES] } else { 0 }
    }

    /// Describes who waits for which bank.
    pub fn describe(&self, banks: &L1Banks) -> String {
        let waiting = each(u32::MAX).filter_map(|core| {
            let due = &self.due[core];
            let bank = &banks.banks[due.bank as usize % MOST_BANKS];
            (bank.asking & bit(core) != 0).then(|| {
                format!("core {core} asks for bank {}, free from cycle {}", due.bank, bank.free_at)
            })
        });
        waiting.collect::<Vec<_>>().join("; ")
    }

    /// Takes a core out; gives the cycles that it has waited, up to the one in which it would ask again.
    pub fn leave(&mut self, core: usize, banks: &mut L1Banks) -> u64 {
        let Some(time) = self.calendar.leave(core) else { return 0 };
        banks.banks[self.due[core].bank as usize % MOST_BANKS].asking &= !bit(core);
        self.settle(core, time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;
    use pinion_sim::random::Xorshift32;

    const EACH: usize = 8;
    const ACCESSES: usize = 20_000;

    /// Makes what follows an access at `now`: the next one's cycle, its address, whether it is atomic.
    fn next(random: &mut Xorshift32, now: u64) -> (u64, u32, bool) {
        let [gap, word, atomic] = [5, 3, 2].map(|below| random.draw() % below);
        (now + 1 + u64::from(gap), 4 * word, atomic == 1)
    }

    /// Books the DMA beats of both runs: some, now and then.
    fn book(banks: &mut L1Banks, now: u64) {
        if now.is_multiple_of(16) {
            banks.dma(now, now + 11, 5, 64 * (now as u32 / 16));
        }
    }

    /// Serves accesses as a lane does; gives who was served when, and how long each core has waited.
    fn by_lane() -> (Vec<(usize, u64)>, Vec<u64>) {
        let mut random = [11; EACH].map(Xorshift32::new);
        let mut banks = L1Banks::new(&machine());
        let mut lane = Lane::default();
        let mut atomics = [false; EACH];
        let (mut served, mut waited) = (Vec::new(), vec![0; EACH]);
        for core in 0..EACH {
            (0..core).for_each(|_| _ = random[core].draw());
            let access = next(&mut random[core], 0);
            atomics[core] = access.2;
            lane.enter(core, access.0, NearAccess::new(access.1, 0), &mut banks);
        }
        for now in 0.. {
            if served.len() >= ACCESSES {
                break;
            }
            book(&mut banks, now);
            if lane.calendar.next_time() > now {
                continue;
            }
            let mut turns = lane.calendar.begin(now);
            while let Some(core) = turns.next_core() {
                let Some(one) = lane.choose(&mut turns, core, now, &mut banks, &mut None) else {
                    continue;
                };
                let core = one.core;
                let due = lane.due[core];
                let bank = &mut banks.banks[due.bank as usize];
                banks.rules.serve(bank, now, due.address, atomics[core]);
                lane.serve(one, now, bank, &mut None);
                waited[core] += lane.settle(core, now);
                served.push((core, now));
                let access = next(&mut random[core], now);
                atomics[core] = access.2;
                lane.enter(core, access.0, NearAccess::new(access.1, 0), &mut banks);
            }
        }
        (served, waited)
    }

    /// Does the same cycle by cycle, with an arbiter for each bank that sees all that ask.
    fn by_cycle() -> (Vec<(usize, u64)>, Vec<u64>) {
        let mut random = [11; EACH].map(Xorshift32::new);
        let mut banks = L1Banks::new(&machine());
        let mut waited = vec![0; EACH];
        let mut served = Vec::new();
        let mut accesses = [(0, 0, false); EACH];
        let mut orders = [(); 3].map(|()| RoundRobin::default());
        for core in 0..EACH {
            (0..core).for_each(|_| _ = random[core].draw());
            accesses[core] = next(&mut random[core], 0);
        }
        for now in 0.. {
            if served.len() >= ACCESSES {
                break;
            }
            book(&mut banks, now);
            for (bank, order) in orders.iter_mut().enumerate() {
                let asks =
                    |core: &usize| accesses[*core].0 <= now && accesses[*core].1 == 4 * bank as u32;
                let asking: Vec<usize> = (0..EACH).filter(asks).collect();
                let free_at = banks.banks[bank].free_at;
                let is_free = free_at <= now && banks.rules.goes_first(now, 4 * bank as u32);
                let bits = asking.iter().fold(0, |bits, core| bits | 1 << core);
                let first = if is_free { order.grant_word(bits) } else { None };
                for core in asking {
                    if first != Some(core as u32) {
                        waited[core] += 1;
                        continue;
                    }
                    banks.access(now, 4 * bank as u32, accesses[core].2);
                    served.push((core, now));
                    accesses[core] = next(&mut random[core], now);
                }
            }
        }
        (served, waited)
    }

    #[test]
    fn a_bank_serves_as_if_it_looked_at_all_who_ask_in_every_cycle() {
        let (mut lane, mut cycle) = (by_lane(), by_cycle());
        // Within a cycle they are in different banks.
        for served in [&mut lane.0, &mut cycle.0] {
            served.sort_by_key(|&(core, now)| (now, core));
        }
        let first = lane.0.iter().zip(&cycle.0).position(|(one, other)| one != other);
        assert_eq!(first, None);
        assert!(lane.1.iter().all(|&waited| waited > 1000), "they meet: {:?}", lane.1);
    }

    #[test]
    fn who_leaves_is_not_waited_for() {
        let mut banks = L1Banks::new(&machine());
        let mut lane = Lane::default();
        (0..3).for_each(|core| lane.enter(core, 4, NearAccess::new(8, 0), &mut banks));
        let mut turns = lane.calendar.begin(4);
        let first = turns.next_core().expect("three are due");
        let served = lane.choose(&mut turns, first, 4, &mut banks, &mut None).expect("it is free");
        assert_eq!(served.core, 0);
        let bank = &mut banks.banks[2];
        banks.rules.serve(bank, 4, 8, false);
        lane.serve(served, 4, bank, &mut None);
        assert_eq!(lane.leave(1, &mut banks), 1, "it would ask again in cycle 5");
        assert_eq!(lane.leave(1, &mut banks), 0);
        assert_eq!(banks.banks[2].asking, 0b100);
        assert_eq!(lane.calendar.begin(5).next_core(), Some(2));
    }
}
