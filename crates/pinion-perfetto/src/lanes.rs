//! Things that overlap, as transfers in flight do, on as many tracks as are needed side by side:
//! Perfetto shows tracks of one name as one.

use std::io::Write;

use pinion_sim::Time;

use crate::track::Track;
use crate::writer::{Slice, Writer};

/// Holds the tracks of one name.
pub struct Lanes {
    parent: Track,
    rank: u32,
    name: String,
    /// The tracks, and when each is free again.
    lanes: Vec<(Track, Time)>,
}

impl Lanes {
    /// Makes the first track.
    pub fn new<W: Write>(writer: &mut Writer<W>, parent: Track, rank: u32, name: &str) -> Self {
        let lanes = vec![(writer.track(Some(parent), rank, name), Time::ZERO)];
        Self { parent, rank, name: name.to_owned(), lanes }
    }

    /// Takes a track that is free from `begin` on, until [`Lanes::close`].
    pub fn open<W: Write>(&mut self, writer: &mut Writer<W>, begin: Time) -> usize {
        let lane = self.lanes.iter().position(|(_, free)| *free <= begin).unwrap_or_else(|| {
            let track = writer.track(Some(self.parent), self.rank, &self.name);
            self.lanes.push((track, Time::ZERO));
            self.lanes.len() - 1
        });
        self.lanes[lane].1 = Time::MAX;
        lane
    }

    /// Writes what took a track and frees it.
    pub fn close<W: Write>(&mut self, writer: &mut Writer<W>, lane: usize, slice: Slice<'_>) {
        let (track, free) = &mut self.lanes[lane];
        *free = slice.end;
        writer.slice(*track, slice);
    }

    /// Writes a slice whose end is known.
    pub fn slice<W: Write>(&mut self, writer: &mut Writer<W>, slice: Slice<'_>) {
        let lane = self.open(writer, slice.begin);
        self.close(writer, lane, slice);
    }
}
