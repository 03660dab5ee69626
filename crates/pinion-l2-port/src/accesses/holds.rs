//! Stretches of cycles in which loads are kept waiting: by atomics at handler memory, and by writes that wait at the
//! remapper of ids in front of the places.

use std::collections::VecDeque;

/// Holds the stretches in the order of their begin.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    /// By stretch: its first cycle, and the first one behind it.
    stretches: VecDeque<(u64, u64)>,
}

impl Holds {
    /// Notes a stretch that does not begin before those noted earlier, if there is a cycle in it.
    pub fn note(&mut self, from: u64, until: u64) {
        if from < until {
            self.stretches.push_back((from, until));
        }
    }

    /// Forgets the first stretches that are over in a cycle: nobody asks for an earlier one any more.
    #[inline]
    pub fn forget(&mut self, cycle: u64) {
        while self.stretches.front().is_some_and(|&(_, until)| until <= cycle) {
            self.stretches.pop_front();
        }
    }

    /// Gives the first cycle from one on that is in none of them.
    #[inline]
    pub fn opens(&self, cycle: u64) -> u64 {
        let past = |cycle: u64, &(from, until): &(u64, u64)| match from <= cycle {
            true => cycle.max(until),
            false => cycle,
        };
        self.stretches.iter().fold(cycle, past)
    }

    /// Counts those that are remembered.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.stretches.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_stretch_waits_for_its_end() {
        let mut holds = Holds::default();
        holds.note(11, 13);
        holds.note(14, 16);
        holds.note(17, 17);
        assert_eq!(holds.len(), 2, "one was empty");
        assert_eq!(
            [9, 10, 11, 12, 13, 14, 16].map(|at| holds.opens(at)),
            [9, 10, 13, 13, 13, 16, 16]
        );
        holds.forget(13);
        assert_eq!([holds.opens(12), holds.opens(15)], [12, 16]);
    }
}
