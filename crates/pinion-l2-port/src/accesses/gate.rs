//! The remapper of ids in front of the places: a write that it has let through and nobody has taken keeps loads from
//! passing. (RTL: axi_id_remap of pe_noc, state HoldAW.)

use std::collections::VecDeque;

use super::NEVER;

/// Holds the cycles in which writes were held.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// First and last cycles, in order.
    holds: VecDeque<(u64, u64)>,
}

impl Gate {
    /// Notes that a write was taken in a cycle which had been offered from another one on, if it had to wait;
    /// what was before `needed` nobody asks for any more.
    pub fn held(&mut self, offered: Option<u64>, taken: u64, needed: u64) {
        while self.holds.front().is_some_and(|&(_, last)| last < needed) {
            self.holds.pop_front();
        }
        if let Some(offered) = offered.filter(|&offered| offered < taken) {
            self.holds.push_back((offered + 1, taken));
        }
    }

    /// Gives the first cycle from one on in which a load passes, or [`NEVER`]: not before a write is taken which has
    /// been offered from some cycle on.
    #[inline]
    pub fn opens(&self, cycle: u64, offered: Option<u64>) -> u64 {
        let past = |cycle: u64, &(first, last): &(u64, u64)| match first <= cycle {
            true => cycle.max(last + 1),
            false => cycle,
        };
        let cycle = self.holds.iter().fold(cycle, past);
        match offered {
            Some(offered) if offered < cycle => NEVER,
            _ => cycle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_pass_between_writes_that_wait() {
        let mut gate = Gate::default();
        gate.held(Some(10), 12, 0);
        gate.held(Some(13), 15, 0);
        assert_eq!(
            [9, 10, 11, 12, 13, 14, 16].map(|at| gate.opens(at, None)),
            [9, 10, 13, 13, 13, 16, 16]
        );
        // One that has not been taken keeps them waiting from the cycle behind its first.
        assert_eq!([16, 17].map(|at| gate.opens(at, Some(16))), [16, NEVER]);
        gate.held(None, 20, 16);
        assert_eq!(gate.opens(14, None), 14, "forgotten");
    }
}
