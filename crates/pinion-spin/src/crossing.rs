//! The crossings between the NIC's clock and that of the Ethernet side (FPsPIN §IV-A: 40 MHz and
//! 250 MHz). In: a moment in one clock. Out: the edge of the other at which the data are there.
//! Nothing where both sides have one clock. Host DMA crosses too; its latency includes that.

use pinion_sim::{Clock, Time};

use crate::Machine;

/// Holds both clocks.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// The Ethernet side's clock, if it is another one.
    ethernet: Option<Clock>,
    cycles: u64,
}

impl Crossing {
    /// Makes the crossings of a machine.
    pub fn new(machine: &Machine) -> Self {
        let mhz = machine.ethernet.frequency_mhz;
        Self {
            ethernet: (mhz > 0).then(|| Clock::from_hz(mhz * 1_000_000)),
            cycles: machine.ethernet.crossing_cycles,
        }
    }

    /// Gives the NIC's cycles that a frame needs after the one in which it arrived.
    pub fn in_cycles(&self) -> u64 {
        if self.ethernet.is_some() { self.cycles } else { 0 }
    }

    /// Gives when data that are ready at `ps` in the NIC's clock are on the Ethernet side.
    pub fn out_ps(&self, ps: u64) -> u64 {
        let Some(ethernet) = &self.ethernet else { return ps };
        let edge = ethernet.cycle_at(Time::from_ps(ps));
        ethernet.time(edge.saturating_add(self.cycles)).ps().max(ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn frames_leave_on_an_edge_of_the_other_clock() {
        let mut machine = machine();
        assert_eq!(Crossing::new(&machine).out_ps(12_345), 12_345, "one clock");
        machine.ethernet.frequency_mhz = 250;
        machine.ethernet.crossing_cycles = 3;
        let crossing = Crossing::new(&machine);
        assert_eq!(crossing.in_cycles(), 3);
        assert_eq!(crossing.out_ps(25_000), 28_000 + 12_000, "the next edge, and three cycles");
        assert_eq!(crossing.out_ps(28_000), 40_000);
    }
}
