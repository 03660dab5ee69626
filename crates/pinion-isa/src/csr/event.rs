//! Counters of what happens in a core: `mhpmevent3` to 31 choose an event each, `mhpmcounter3` to 31
//! count it (RISC-V privileged, section 3.1.10). Events go in by number, counts come out. The numbers
//! are the core's; an event that a core does not count stays at what software wrote.

/// The first counter's place among `mcycle` and its kin.
const FIRST: u16 = 3;
/// Counts the counters.
const COUNT: usize = 29;
/// The bits of `mcounteren` and `mcountinhibit` that belong to them.
pub(crate) const BITS: u32 = !0b111;

/// Rocket's event for a miss of the data cache: set 2, of the memory system, bit 9.
pub const DATA_CACHE_MISS: u64 = 0x202;

/// Numbers of the registers' first.
const MHPMEVENT: u16 = 0x320;
const MHPMCOUNTER: u16 = 0xb00;
const MHPMCOUNTERH: u16 = 0xb80;
const HPMCOUNTER: u16 = 0xc00;
const HPMCOUNTERH: u16 = 0xc80;

/// Names a register of these: what it holds, and of which counter (0 to 28).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    /// The chosen event.
    Event(usize),
    /// The count.
    Counter(usize),
    /// Its upper half, on a core of 32 bits.
    CounterHigh(usize),
    /// The count, for user mode.
    User(usize),
    /// Its upper half, likewise.
    UserHigh(usize),
}

impl Register {
    /// Finds the register of a number.
    pub(crate) fn of(number: u16) -> Option<Self> {
        let index = usize::from((number & 31).checked_sub(FIRST)?);
        match number & !31 {
            MHPMEVENT => Some(Self::Event(index)),
            MHPMCOUNTER => Some(Self::Counter(index)),
            MHPMCOUNTERH => Some(Self::CounterHigh(index)),
            HPMCOUNTER => Some(Self::User(index)),
            HPMCOUNTERH => Some(Self::UserHigh(index)),
            _ => None,
        }
    }
}

/// Gives the bit of a counter in `mcounteren` and `mcountinhibit`.
pub(crate) fn bit(index: usize) -> u32 {
    index as u32 + u32::from(FIRST)
}

/// Holds a hart's counters and what they count. Most programs use none: then there is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventCounters {
    counters: Option<Box<[Counter; COUNT]>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counter {
    event: u64,
    count: u64,
}

impl EventCounters {
    /// Counts an event that happens now, in the counters that are not inhibited.
    pub fn count(&mut self, event: u64, inhibited: u32) {
        let Some(counters) = &mut self.counters else { return };
        for (index, counter) in counters.iter_mut().enumerate() {
            if counter.event == event && inhibited >> bit(index) & 1 == 0 {
                counter.count = counter.count.wrapping_add(1);
            }
        }
    }

    pub(crate) fn event(&self, index: usize) -> u64 {
        self.counters.as_ref().map_or(0, |counters| counters[index].event)
    }

    pub(crate) fn value(&self, index: usize) -> u64 {
        self.counters.as_ref().map_or(0, |counters| counters[index].count)
    }

    pub(crate) fn choose(&mut self, index: usize, event: u64) {
        self.counter(index).event = event;
    }

    pub(crate) fn set(&mut self, index: usize, count: u64) {
        self.counter(index).count = count;
    }

    fn counter(&mut self, index: usize) -> &mut Counter {
        &mut self.counters.get_or_insert_default()[index]
    }
}

macro_rules! numbered {
    ($($number:literal)*) => {
        const NAMES: [[&str; COUNT]; 5] = [
            [$(concat!("mhpmevent", $number)),*],
            [$(concat!("mhpmcounter", $number)),*],
            [$(concat!("mhpmcounter", $number, "h")),*],
            [$(concat!("hpmcounter", $number)),*],
            [$(concat!("hpmcounter", $number, "h")),*],
        ];
    };
}

numbered!(3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

/// Gives the name of a register of these.
pub(super) fn name(number: u16) -> Option<&'static str> {
    Some(match Register::of(number)? {
        Register::Event(index) => NAMES[0][index],
        Register::Counter(index) => NAMES[1][index],
        Register::CounterHigh(index) => NAMES[2][index],
        Register::User(index) => NAMES[3][index],
        Register::UserHigh(index) => NAMES[4][index],
    })
}

/// Finds a register of these by its name.
pub(super) fn number(name: &str) -> Option<u16> {
    let firsts = [MHPMEVENT, MHPMCOUNTER, MHPMCOUNTERH, HPMCOUNTER, HPMCOUNTERH];
    NAMES.iter().zip(firsts).find_map(|(names, first)| {
        let index = names.iter().position(|known| *known == name)?;
        Some(first + FIRST + index as u16)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_have_their_numbers_and_names() {
        for (number_, register, name_) in [
            (0x323, Register::Event(0), "mhpmevent3"),
            (0x33f, Register::Event(28), "mhpmevent31"),
            (0xb03, Register::Counter(0), "mhpmcounter3"),
            (0xb9f, Register::CounterHigh(28), "mhpmcounter31h"),
            (0xc04, Register::User(1), "hpmcounter4"),
            (0xc83, Register::UserHigh(0), "hpmcounter3h"),
        ] {
            assert_eq!(Register::of(number_), Some(register));
            assert_eq!(name(number_), Some(name_));
            assert_eq!(number(name_), Some(number_));
        }
        for other in [0x320, 0x322, 0x340, 0xb00, 0xb02, 0xc02] {
            assert_eq!(Register::of(other), None, "{other:#x}");
        }
    }

    #[test]
    fn a_counter_counts_its_event_unless_it_is_inhibited() {
        let mut counters = EventCounters::default();
        counters.count(DATA_CACHE_MISS, 0);
        assert_eq!(counters.value(0), 0, "nothing is chosen");
        counters.choose(0, DATA_CACHE_MISS);
        counters.choose(1, 0x102);
        counters.count(DATA_CACHE_MISS, 0);
        counters.count(DATA_CACHE_MISS, 1 << 3);
        assert_eq!((counters.value(0), counters.value(1)), (1, 0));
        counters.set(0, u64::MAX);
        counters.count(DATA_CACHE_MISS, 0);
        assert_eq!(counters.value(0), 0);
    }
}
