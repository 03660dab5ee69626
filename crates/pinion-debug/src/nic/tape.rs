//! Packets that can be given again: in from their source once, out as often as a run is repeated.

use pinion_app::error::Error;
use pinion_app::traffic::Packets;
use pinion_sim::Time;
use pinion_spin::{Offer, Traffic};

/// Keeps every packet that was taken from a source.
pub struct Tape {
    source: Packets,
    offers: Vec<Offer>,
    /// Of a live run's packets: the ends of its slices, and how many packets there were until then.
    slices: Vec<(Time, usize)>,
}

/// How far a tape has been played.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// How many packets it has given.
    given: usize,
    /// How many slices are over.
    slice: usize,
}

/// Gives a tape's packets from a place on.
pub struct Head<'a> {
    /// The tape.
    pub tape: &'a mut Tape,
    /// How far it is.
    pub place: &'a mut Place,
}

impl Tape {
    /// Begins a tape; a live run's packets, which are all there, are taken at once.
    pub fn new(mut source: Packets) -> Self {
        let (mut offers, mut slices) = (Vec::new(), Vec::new());
        while let Some(end) = source.until() {
            while let offer @ Offer::Frame(_) = source.next() {
                offers.push(offer);
            }
            slices.push((end, offers.len()));
            if !source.turn() {
                break;
            }
        }
        Self { source, offers, slices }
    }

    /// Takes the error that ended the source, if one did.
    pub fn take_error(&mut self) -> Option<Error> {
        self.source.take_error()
    }

    /// Gives the end of the slice that is played, of a live run's packets.
    pub fn slice_end(&self, place: Place) -> Option<Time> {
        self.slices.get(place.slice).map(|(end, _)| *end)
    }

    /// Goes on to the next slice; `false`: there is none.
    pub fn turn(&self, place: &mut Place) -> bool {
        place.slice += 1;
        place.slice < self.slices.len()
    }
}

impl Traffic for Head<'_> {
    fn next(&mut self) -> Offer {
        let Place { given, slice } = self.place;
        if !self.tape.slices.is_empty() {
            // What comes in the next slice was not there yet.
            let there = self.tape.slices.get(*slice).map_or(0, |(_, there)| *there);
            if *given >= there {
                return Offer::Nothing;
            }
        } else if *given == self.tape.offers.len() {
            let offer = self.tape.source.next();
            // An end stays one; nothing is asked again.
            if !matches!(offer, Offer::Frame(_)) {
                return offer;
            }
            self.tape.offers.push(offer);
        }
        *given += 1;
        self.tape.offers[*given - 1].clone()
    }
}
