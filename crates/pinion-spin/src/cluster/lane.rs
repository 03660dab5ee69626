//! The cores of a cluster whose next access goes to their own L1, in the order in which they are served.
//!
//! In: a core's access and its cycle. Out: who is served next. Those whose bank is busy wait until it is
//! free, and take turns by the bank's arbitration then; of those that wait together only the first comes
//! up. (RTL: logarithmic interconnect.)

use pinion_sim::calendar::{CORES, Calendar, PLACES, Turns};

use super::tcdm_interconnect::{Bank, L1Banks, MOST_BANKS};

/// Holds the next own-L1 accesses of a cluster's cores. Of those that wait for a bank together only the
/// one that the bank serves next is in the calendar.
#[derive(Clone, Debug)]
pub struct Lane {
    /// When they are due.
    pub calendar: Calendar,
    /// By core: its access.
    pub due: [Due; CORES],
    /// Bit per core: it waits for its bank as the next, others may wait behind it.
    heads: u16,
    /// By such a core, and by one that has come up from behind one: the cycle in which its bank is free.
    free_at: [u64; CORES],
    /// By core whose access is [`HELD`]: since when it waits.
    since: [u64; CORES],
}

/// Describes an access that is due.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(16))]
pub struct Due {
    /// What it accesses.
    pub address: u32,
    /// Place of the instruction in the program, and [`HELD`].
    pub place: u32,
    /// What its bank had served when it came, in the lower bits: its place among equals is of then. Of those
    /// who wait behind another the other's counts.
    pub served: u32,
    /// The number of that bank.
    pub bank: u16,
    /// Bit per core that waits for it behind this one.
    behind: u16,
}

/// Marks the place of an access that had to wait for its bank.
pub const HELD: u32 = 1 << 31;

impl Lane {
    /// Makes an empty lane of so many cores.
    pub fn new(cores: u32) -> Self {
        Self {
            calendar: Calendar::new(cores as usize),
            due: [Due::default(); CORES],
            heads: 0,
            free_at: [0; CORES],
            since: [0; CORES],
        }
    }

    /// Puts a core in, to be served at `time`.
    #[inline(always)]
    pub fn enter(&mut self, core: usize, time: u64, (address, place): (u32, u32), banks: &L1Banks) {
        let bank = banks.rules.index(address);
        let served = banks.banks[bank].served;
        self.due[core % CORES] =
            Due { address, place, served: served as u32, bank: bank as u16, behind: 0 };
        self.calendar.enter(core, time, Bank::order_after(served, core));
    }

    /// Lets a core wait whose bank is busy at `now`, and those who wait behind it.
    #[cold]
    #[inline(never)]
    pub fn hold(&mut self, core: usize, now: u64, banks: &L1Banks) {
        self.heads &= !bit(core);
        let due = &mut self.due[core % CORES];
        if due.place & HELD == 0 {
            due.place |= HELD;
            self.since[core % CORES] = now;
        }
        let waiting = bit(core) | std::mem::take(&mut due.behind);
        let number = due.bank;
        self.wait(waiting, number, banks);
    }

    /// Ends a core's waiting at `now`; gives the cycles that it has waited, 0 if it has not.
    #[inline]
    pub fn settle(&mut self, core: usize, now: u64) -> u64 {
        let due = &mut self.due[core % CORES];
        let is_held = due.place & HELD != 0;
        due.place &= !HELD;
        if is_held { now - self.since[core % CORES] } else { 0 }
    }

    /// Lets those wait on who waited behind a core, which has been served.
    #[inline]
    pub fn served(&mut self, core: usize, banks: &L1Banks) {
        self.heads &= !bit(core);
        let due = &mut self.due[core % CORES];
        let (behind, number) = (std::mem::take(&mut due.behind), due.bank);
        if behind != 0 {
            self.wait(behind, number, banks);
        }
    }

    /// Lets cores go on to wait for a bank until it is free again. They take turns then: whoever is not the first
    /// need not come up.
    fn wait(&mut self, waiting: u16, number: u16, banks: &L1Banks) {
        let Bank { free_at, served } = banks.banks[usize::from(number) % MOST_BANKS];
        let first = first_of(waiting, served);
        let goes_before = |head: &usize| {
            let due = &self.due[*head];
            let is_same = due.bank == number && due.served == served as u32;
            is_same && Bank::order_after(served, *head) < Bank::order_after(served, first)
        };
        if let Some(head) = each(self.heads).find(goes_before) {
            self.due[head].behind |= waiting;
        } else {
            self.lead(first, waiting, served as u32, free_at);
        }
    }

    /// Puts the first of those in who wait for a bank until `free_at`, which has `served` so many.
    fn lead(&mut self, head: usize, waiting: u16, served: u32, free_at: u64) {
        let due = &mut self.due[head % CORES];
        (due.behind, due.served) = (waiting & !bit(head), served);
        (self.heads, self.free_at[head % CORES]) = (self.heads | bit(head), free_at);
        self.calendar.enter(head, free_at, Bank::order_after(served.into(), head));
    }

    /// Has those who wait behind a core come up in the cycle under way like itself.
    #[cold]
    #[inline(never)]
    pub fn spread(&mut self, mut turns: Turns, core: usize) -> Turns {
        self.heads &= !bit(core);
        let (served, free_at) = (self.due[core % CORES].served, self.free_at[core % CORES]);
        for other in each(std::mem::take(&mut self.due[core % CORES].behind)) {
            (self.due[other].served, self.free_at[other]) = (served, free_at);
            turns = self.calendar.turn_at(turns, other, Bank::order_after(served.into(), other));
        }
        turns
    }

    /// Gives a core another turn of this cycle if its bank has served others since, so that its place
    /// among equals is another now; `true`: it has another.
    #[cold]
    #[inline(never)]
    pub fn turn_later(&mut self, turns: &mut Turns, core: usize, bank: &Bank) -> bool {
        *turns = self.spread(*turns, core);
        let due = &mut self.due[core % CORES];
        let before = Bank::order_after(u64::from(due.served), core);
        due.served = bank.served as u32;
        let order = bank.order(core);
        if order != before {
            *turns = self.calendar.turn_at(*turns, core, order);
        }
        order != before
    }

    /// Takes a core out; gives the cycles that it has waited, up to the one in which its bank is free.
    pub fn leave(&mut self, core: usize) -> u64 {
        let mut free_at = self.free_at[core];
        for head in each(self.heads) {
            if self.due[head].behind & bit(core) != 0 {
                self.due[head].behind &= !bit(core);
                free_at = self.free_at[head];
            }
        }
        self.calendar.leave(core);
        let due = &mut self.due[core];
        let (waiting, served) = (std::mem::take(&mut due.behind), due.served);
        self.heads &= !bit(core);
        if waiting != 0 {
            self.lead(first_of(waiting, served.into()), waiting, served, free_at);
        }
        self.settle(core, free_at)
    }
}

/// Gives which of some cores a bank serves first that has served so many: the arbitration tree takes at each level
/// the side that its counter's bit names, if somebody is there.
#[inline]
const fn first_of(cores: u16, served: u64) -> usize {
    let mut left = cores;
    let mut level = SIDES.len();
    while level > 0 {
        level -= 1;
        let side = left & SIDES[level] ^ left & ((served >> level & 1) as u16).wrapping_neg();
        left = if side == 0 { left } else { side };
    }
    left.trailing_zeros() as usize % CORES
}

/// By bit of a core's number: the cores that have it not.
const SIDES: [u16; 4] = [0x5555, 0x3333, 0x0f0f, 0x00ff];

const _: () = assert!(1 << SIDES.len() == CORES && PLACES as usize == CORES);

/// Gives a core's bit.
#[inline(always)]
const fn bit(core: usize) -> u16 {
    1 << (core % CORES)
}

/// Gives the cores whose bits are set.
fn each(mut bits: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let core = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (core < CORES).then_some(core)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;
    use pinion_sim::random::Xorshift32;

    const EACH: usize = 8;
    const ACCESSES: usize = 20_000;

    /// Makes what follows an access at `now`: the next one's cycle, its word, whether it is atomic.
    fn next(random: &mut Xorshift32, now: u64) -> (u64, u32, bool) {
        let [gap, word, atomic] = [5, 3, 2].map(|below| random.draw() % below);
        (now + 1 + u64::from(gap), 4 * word, atomic == 1)
    }

    /// Serves accesses as a lane does; gives who was served when, and how long each core has waited.
    fn by_lane() -> (Vec<(usize, u64)>, Vec<u64>) {
        let (machine, mut random) = (machine(), Xorshift32::new(11));
        let mut banks = L1Banks::new(&machine);
        let mut lane = Lane::new(EACH as u32);
        let mut atomics = [false; EACH];
        let (mut served, mut waited) = (Vec::new(), vec![0; EACH]);
        for (core, atomic) in atomics.iter_mut().enumerate() {
            let access = next(&mut random, 0);
            *atomic = access.2;
            lane.enter(core, access.0, (access.1, 0), &banks);
        }
        while served.len() < ACCESSES {
            let now = lane.calendar.next_time();
            let mut turns = lane.calendar.begin(now);
            while let Some(core) = lane.calendar.turn(&mut turns) {
                let due = lane.due[core];
                let bank = &banks.banks[usize::from(due.bank)];
                if bank.free_at > now {
                    lane.hold(core, now, &banks);
                    continue;
                }
                if bank.served as u32 != due.served && lane.turn_later(&mut turns, core, bank) {
                    continue;
                }
                let bank = &mut banks.banks[usize::from(due.bank)];
                banks.rules.serve_word(bank, now, due.address, atomics[core]);
                if due.place & HELD != 0 {
                    waited[core] += lane.settle(core, now);
                    lane.served(core, &banks);
                }
                served.push((core, now));
                let access = next(&mut random, now);
                atomics[core] = access.2;
                lane.enter(core, access.0, (access.1, 0), &banks);
            }
            if random.draw().is_multiple_of(20) {
                // Somebody leaves, whatever it waits for, and comes again.
                let who = random.draw() as usize % EACH;
                waited[who] += lane.leave(who);
                lane.enter(who, now + 20, (lane.due[who].address, 0), &banks);
            }
        }
        (served, waited)
    }

    /// Does the same with each core coming up whenever its bank is free.
    fn one_by_one() -> (Vec<(usize, u64)>, Vec<u64>) {
        let mut random = Xorshift32::new(11);
        let mut banks = L1Banks::new(&machine());
        let mut waited = vec![0; EACH];
        let mut served = Vec::new();
        let enter = |core: usize, time: u64, address: u32, banks: &L1Banks| {
            let count = banks.banks[banks.rules.index(address)].served;
            (time, Bank::order_after(count, core), core, address, count)
        };
        let mut atomics = [false; EACH];
        let mut list = Vec::new();
        for (core, atomic) in atomics.iter_mut().enumerate() {
            let access = next(&mut random, 0);
            *atomic = access.2;
            list.push(enter(core, access.0, access.1, &banks));
        }
        let mut cycle = list.iter().map(|one| one.0).min().unwrap_or(0);
        loop {
            list.sort_unstable();
            if list[0].0 > cycle {
                if random.draw().is_multiple_of(20) {
                    let who = random.draw() as usize % EACH;
                    let at = list.iter().position(|one| one.2 == who).expect("all are there");
                    let address = list.remove(at).3;
                    list.push(enter(who, cycle + 20, address, &banks));
                    list.sort_unstable();
                }
                if served.len() >= ACCESSES {
                    break;
                }
                cycle = list[0].0;
            }
            let (now, place, core, address, count) = list.remove(0);
            let number = banks.rules.index(address);
            let bank = &mut banks.banks[number];
            if bank.free_at > now {
                waited[core] += bank.free_at - now;
                let free_at = bank.free_at;
                list.push(enter(core, free_at, address, &banks));
            } else if bank.served != count && bank.order(core) != place {
                list.push((now, bank.order(core), core, address, bank.served));
            } else {
                banks.rules.serve_word(bank, now, address, atomics[core]);
                served.push((core, now));
                let access = next(&mut random, now);
                atomics[core] = access.2;
                list.push(enter(core, access.0, access.1, &banks));
            }
        }
        (served, waited)
    }

    #[test]
    fn the_first_of_some_cores_has_the_least_place() {
        for cores in 1..=u16::MAX {
            let served = u64::from(cores.wrapping_mul(0x9e37) >> 3);
            let least = each(cores).min_by_key(|&core| Bank::order_after(served, core));
            assert_eq!(Some(first_of(cores, served)), least, "{cores:#x} after {served}");
        }
    }

    #[test]
    fn those_who_wait_together_are_served_as_if_each_came_up_for_itself() {
        let (lane, alone) = (by_lane(), one_by_one());
        let first = lane.0.iter().zip(&alone.0).position(|(one, other)| one != other);
        assert_eq!(first, None);
        assert_eq!(lane.1, alone.1, "cycles that each has waited");
        assert!(lane.1.iter().all(|&waited| waited > 1000), "they meet: {:?}", lane.1);
    }
}
