//! Packets that can be given again: in from their source once, out as often as a run is repeated.

use pinion_app::error::Error;
use pinion_app::traffic::Packets;
use pinion_sim::Time;
use pinion_spin::{Offer, Traffic};

/// Keeps every packet that was taken from a source.
#[derive(Default)]
pub struct Tape {
    /// `None`: packets come live, and are put on the tape.
    source: Option<Packets>,
    offers: Vec<Offer>,
    /// Bytes of the packets.
    bytes: u64,
    /// Of a live run's packets: its slices. Of one that goes on, the slice behind the last one has no end
    /// yet.
    slices: Vec<Slice>,
}

/// A slice of a live run.
struct Slice {
    /// Its end.
    end: Time,
    /// How many packets there were until then.
    there: usize,
    /// What host programs wrote into the NIC at its end.
    written: Vec<Written>,
}

/// What a host program wrote into a NIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where in the NIC's memory.
    pub address: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Estimate of the bytes that something written takes beside what was written.
const WRITTEN_BYTES: u64 = 64;

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
            slices.push(Slice { end, there: offers.len(), written: Vec::new() });
            if !source.turn() {
                break;
            }
        }
        Self { source: Some(source), offers, bytes: 0, slices }
    }

    /// Tells whether more may be put on it.
    pub fn is_open(&self) -> bool {
        self.source.is_none()
    }

    /// Puts packets on it that have come when the run had come to a moment, and what host programs had written
    /// then.
    pub fn put(&mut self, at: Time, offers: Vec<Offer>, written: Vec<Written>) {
        self.bytes += written.iter().map(|one| WRITTEN_BYTES + one.bytes.len() as u64).sum::<u64>();
        self.slices.push(Slice { end: at, there: self.offers.len(), written });
        for offer in &offers {
            if let Offer::Frame(frame) = offer {
                self.bytes += frame.bytes.len() as u64;
            }
        }
        self.offers.extend(offers);
    }

    /// Tells whether all of it was given.
    pub fn is_played(&self, place: Place) -> bool {
        place.given == self.offers.len()
    }

    /// Gives the bytes of the packets on it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Forgets what was given, and gives the place where what is left begins.
    pub fn forget(&mut self, place: Place) -> Place {
        self.offers.drain(..place.given);
        self.slices.clear();
        self.bytes = 0;
        Place::default()
    }

    /// Takes the error that ended the source, if one did.
    pub fn take_error(&mut self) -> Option<Error> {
        self.source.as_mut().and_then(Packets::take_error)
    }

    /// Gives the end of the slice that is played, of a live run's packets.
    pub fn slice_end(&self, place: Place) -> Option<Time> {
        self.slices.get(place.slice).map(|slice| slice.end)
    }

    /// Gives what host programs wrote at the end of the slice that is played.
    pub fn written(&self, place: Place) -> &[Written] {
        self.slices.get(place.slice).map_or(&[], |slice| &slice.written)
    }

    /// Goes on to the next slice; `false`: there is none.
    pub fn turn(&self, place: &mut Place) -> bool {
        place.slice += 1;
        self.is_open() || place.slice < self.slices.len()
    }
}

impl Traffic for Head<'_> {
    fn next(&mut self) -> Offer {
        let Place { given, slice } = self.place;
        let Tape { source, offers, slices, .. } = &mut *self.tape;
        if source.is_none() || !slices.is_empty() {
            // What comes in the next slice was not there yet.
            let last = if source.is_none() { offers.len() } else { 0 };
            if *given >= slices.get(*slice).map_or(last, |slice| slice.there) {
                return Offer::Nothing;
            }
        } else if *given == offers.len() {
            let offer = source.as_mut().map_or(Offer::End, Traffic::next);
            // An end stays one; nothing is asked again.
            if !matches!(offer, Offer::Frame(_)) {
                return offer;
            }
            offers.push(offer);
        }
        *given += 1;
        self.tape.offers[*given - 1].clone()
    }
}
