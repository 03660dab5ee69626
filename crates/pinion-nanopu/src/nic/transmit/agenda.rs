//! When each unit of the transmit side is due.
//!
//! In: each unit's next cycle, noted whenever it may have changed. Out: which unit is first.

use crate::Cycle;

/// Names the units that have something to do, in the order in which they do it within a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The packet generator.
    Generator,
    /// The local transmit queues.
    Queues,
    /// Acknowledgements, credit and timeouts that take effect.
    Notices,
    /// Messages that nobody acknowledges and whose last word leaves.
    Sent,
    /// The timers.
    Timers,
    /// Packetization takes another descriptor.
    Job,
    /// The arbiter.
    Arbiter,
}

impl Unit {
    /// All units, in the order of the enum.
    pub const ALL: [Self; 7] = [
        Self::Generator,
        Self::Queues,
        Self::Notices,
        Self::Sent,
        Self::Timers,
        Self::Job,
        Self::Arbiter,
    ];

    /// Lists the units whose next cycle may change when this one does something.
    pub fn affects(self) -> &'static [Self] {
        match self {
            Self::Generator => &[Self::Generator, Self::Arbiter],
            Self::Queues => &[Self::Queues, Self::Timers, Self::Job],
            Self::Notices => &[Self::Notices, Self::Queues, Self::Timers, Self::Job],
            Self::Sent => &[Self::Sent, Self::Queues],
            Self::Timers => &[Self::Timers, Self::Notices],
            Self::Job => &[Self::Job, Self::Arbiter],
            Self::Arbiter => &[Self::Arbiter, Self::Job, Self::Sent],
        }
    }
}

/// Holds the next cycle of each unit.
#[derive(Clone, Debug)]
pub struct Agenda([Cycle; Unit::ALL.len()]);

impl Agenda {
    /// Makes an agenda on which nothing is due.
    pub fn new() -> Self {
        Self([Cycle::MAX; Unit::ALL.len()])
    }

    /// Notes when a unit is due next.
    pub fn note(&mut self, unit: Unit, at: Option<Cycle>) {
        self.0[unit as usize] = at.unwrap_or(Cycle::MAX);
    }

    /// Tells when a unit is due, [`Cycle::MAX`] if it is not.
    pub fn due(&self, unit: Unit) -> Cycle {
        self.0[unit as usize]
    }

    /// Finds the unit that is due first.
    pub fn first(&self) -> (Cycle, Unit) {
        let mut first = 0;
        for unit in 1..self.0.len() {
            if self.0[unit] < self.0[first] {
                first = unit;
            }
        }
        (self.0[first], Unit::ALL[first])
    }

    /// Tells when the first of the other units is due.
    pub fn others(&self, unit: Unit) -> Cycle {
        let others = self.0.iter().enumerate().filter(|(other, _)| *other != unit as usize);
        others.map(|(_, at)| *at).fold(Cycle::MAX, Cycle::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_unit_is_that_of_the_earliest_cycle_then_of_the_order() {
        let mut agenda = Agenda::new();
        assert_eq!(agenda.first().0, Cycle::MAX);
        agenda.note(Unit::Arbiter, Some(7));
        agenda.note(Unit::Timers, Some(5));
        agenda.note(Unit::Queues, Some(5));
        assert_eq!(agenda.first(), (5, Unit::Queues));
        assert_eq!(agenda.others(Unit::Queues), 5);
        agenda.note(Unit::Timers, None);
        assert_eq!(agenda.others(Unit::Queues), 7);
    }
}
