//! Packets that can be given again: in from their source once, out as often as a run is repeated.

use pinion_app::error::Error;
use pinion_app::traffic::Packets;
use pinion_spin::{Offer, Traffic};

/// Keeps every packet that was taken from a source.
pub struct Tape {
    source: Packets,
    offers: Vec<Offer>,
}

/// Gives a tape's packets from a place on.
pub struct Head<'a> {
    /// The tape.
    pub tape: &'a mut Tape,
    /// How many it has given.
    pub at: &'a mut usize,
}

impl Tape {
    /// Begins a tape.
    pub fn new(source: Packets) -> Self {
        Self { source, offers: Vec::new() }
    }

    /// Takes the error that ended the source, if one did.
    pub fn take_error(&mut self) -> Option<Error> {
        self.source.take_error()
    }
}

impl Traffic for Head<'_> {
    fn next(&mut self) -> Offer {
        if *self.at == self.tape.offers.len() {
            let offer = self.tape.source.next();
            // An end stays one; nothing is asked again.
            if !matches!(offer, Offer::Frame(_)) {
                return offer;
            }
            self.tape.offers.push(offer);
        }
        *self.at += 1;
        self.tape.offers[*self.at - 1].clone()
    }
}
