//! Packets of a capture or a generator as a cable takes them: with the cycle in which each is due. Holds
//! the one that is next and, for a run that goes back, all before it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pinion_app::error::Error;
use pinion_app::traffic::Packets;
use pinion_sim::node::SaveError;
use pinion_sim::{Clock, Time};
use pinion_spin::{Offer, Traffic as _};

/// Packets on their way to a cable. Clones have their own place among the same packets.
#[derive(Clone)]
pub struct Arrivals {
    source: Arc<Mutex<Source>>,
    clock: Clock,
    /// The cycle that is the packets' time 0, once it is known.
    start: Option<u64>,
    next: Option<(u64, Vec<u8>)>,
    fetched: usize,
}

/// When a packet arrives, and its bytes.
type Arrival = (Time, Vec<u8>);

/// Where packets come from.
struct Source {
    packets: Packets,
    /// What was taken from a number on, if it is to come again.
    kept: Option<(usize, Vec<Arrival>)>,
    error: Option<Error>,
}

impl Source {
    /// Gives a packet by its number.
    fn packet(&mut self, number: usize) -> Option<Arrival> {
        if let Some(known) = self.kept.as_ref().and_then(|(from, kept)| kept.get(number - from)) {
            return Some(known.clone());
        }
        let packet = match self.packets.next() {
            Offer::Frame(frame) => Some((frame.arrival, frame.bytes)),
            _ => None,
        };
        self.error = self.error.take().or(self.packets.take_error());
        self.kept.iter_mut().for_each(|(_, kept)| kept.extend(packet.clone()));
        packet
    }
}

impl Arrivals {
    /// Holds packets back until [`begin`](Self::begin).
    pub fn new(packets: Packets, clock: Clock) -> Self {
        let source = Source { packets, kept: None, error: None };
        Self { source: Arc::new(Mutex::new(source)), clock, start: None, next: None, fetched: 0 }
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps them from here on, so that they can come again.
    pub fn keep(&self) {
        self.source().kept = Some((self.fetched, Vec::new()));
    }

    /// Gives a clone that lets them come again from here on.
    ///
    /// # Errors
    /// When they are not kept.
    pub fn save(&self) -> Result<Self, SaveError> {
        let lost = || SaveError::File { what: "packets that are read as they come".to_owned() };
        self.source().kept.as_ref().map(|_| self.clone()).ok_or_else(lost)
    }

    /// Lets them come from cycle `start` on.
    pub fn begin(&mut self, start: u64) {
        self.start = Some(start);
        self.fetch();
    }

    fn fetch(&mut self) {
        let Some(start) = self.start else { return };
        let packet = self.source().packet(self.fetched);
        if let Some((arrival, bytes)) = packet {
            self.fetched += 1;
            self.next = Some((start + self.clock.cycle_at(arrival), bytes));
        }
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
        let source = self.source();
        (source.packets.given(), source.packets.total())
    }

    /// Takes the error that ended them, if one did.
    pub fn take_error(&mut self) -> Option<Error> {
        self.source().error.take()
    }
}
