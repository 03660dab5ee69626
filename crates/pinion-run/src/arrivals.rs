//! Packets of a capture or a generator as a cable takes them: with the cycle in which each is due. Holds
//! the one that is next.

use pinion_app::error::Error;
use pinion_app::traffic::Packets;
use pinion_sim::Clock;
use pinion_spin::{Offer, Traffic as _};

/// Packets on their way to a cable.
pub struct Arrivals {
    packets: Packets,
    clock: Clock,
    /// The cycle that is the packets' time 0, once it is known.
    start: Option<u64>,
    next: Option<(u64, Vec<u8>)>,
    error: Option<Error>,
}

impl Arrivals {
    /// Holds packets back until [`begin`](Self::begin).
    pub fn new(packets: Packets, clock: Clock) -> Self {
        Self { packets, clock, start: None, next: None, error: None }
    }

    /// Lets them come from cycle `start` on.
    pub fn begin(&mut self, start: u64) {
        self.start = Some(start);
        self.fetch();
    }

    fn fetch(&mut self) {
        let Some(start) = self.start else { return };
        if let Offer::Frame(frame) = self.packets.next() {
            self.next = Some((start + self.clock.cycle_at(frame.arrival), frame.bytes));
        }
        self.error = self.error.take().or(self.packets.take_error());
    }

    /// Gives the cycle in which the next one is due.
    pub fn next_cycle(&self) -> Option<u64> {
        self.next.as_ref().map(|(due, _)| *due)
    }

    /// Takes the next one, with the cycle in which it is due.
    pub fn take(&mut self) -> Option<(u64, Vec<u8>)> {
        let taken = self.next.take()?;
        self.fetch();
        Some(taken)
    }

    /// Tells whether all have been taken.
    pub fn is_over(&self) -> bool {
        self.start.is_some() && self.next.is_none()
    }

    /// Gives how many were made so far, and how many there are where that is known.
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.packets.given(), self.packets.total())
    }

    /// Takes the error that ended them, if one did.
    pub fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }
}
