//! One faulty direction of a cable, in cycles, between two MACs. In: frames with the cycle in which
//! they would arrive. Out: those that do, in order, with theirs. Holds the frames that others overtake.
//!
//! As on a real wire every frame carries a check sequence (CRC-32) there, and the receiving MAC drops
//! damaged ones.

use pinion_sim::node::flits;
use pinion_sim::{Clock, Time};

use super::{FaultCounts, FaultLane};

/// Bytes of the frame check sequence.
const CHECK_BYTES: usize = 4;

/// A [`FaultLane`] between two MACs that count cycles.
#[derive(Clone, Debug)]
pub struct FaultyWay {
    lane: FaultLane,
    clock: Clock,
    /// The cycle after the last frame that was let through.
    free: u64,
}

/// A frame that went through, or what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Through {
    /// It arrives whole.
    Whole(Vec<u8>),
    /// It was damaged, and the receiving MAC drops it.
    Damaged,
}

impl FaultyWay {
    /// Makes a direction whose faults are those of a lane, in cycles of a clock.
    pub fn new(lane: FaultLane, clock: Clock) -> Self {
        Self { lane, clock, free: 0 }
    }

    /// Takes a frame that would arrive in a cycle.
    pub fn push(&mut self, arrival: u64, mut frame: Vec<u8>) {
        let check = crc32fast::hash(&frame);
        frame.extend_from_slice(&check.to_le_bytes());
        self.lane.push(self.clock.time(arrival).ps(), &frame);
    }

    /// Gives the cycle in which the next held frame goes on by itself.
    pub fn next_cycle(&self) -> Option<u64> {
        Some(self.cycle_from(self.lane.next_deadline_ps()?))
    }

    /// Lets go the held frames that go on by themselves before a cycle.
    pub fn release_before(&mut self, until: u64) {
        if self.next_cycle().is_some_and(|next| next < until) {
            self.lane.release_due(self.clock.time(until - 1).ps());
        }
    }

    /// Takes a frame that went through, if one did, with the cycle of its first flit and the number of
    /// frames that were put in before it.
    pub fn take(&mut self) -> Option<(u64, u64, Through)> {
        let (ps, number, mut frame) = self.lane.take_numbered()?;
        let check = frame.split_off(frame.len() - CHECK_BYTES);
        let arrival = self.cycle_from(ps).max(self.free);
        self.free = arrival + flits(frame.len());
        let is_whole = check == crc32fast::hash(&frame).to_le_bytes();
        let through = if is_whole { Through::Whole(frame) } else { Through::Damaged };
        Some((arrival, number, through))
    }

    /// Counts the frames that it was given and nobody has taken yet.
    pub fn held(&self) -> usize {
        self.lane.held()
    }

    /// Gives what the faults did so far.
    pub fn counts(&self) -> FaultCounts {
        self.lane.counts()
    }

    /// Gives the first cycle at or after a time: a part of a cycle counts as a whole one, never early.
    fn cycle_from(&self, ps: u64) -> u64 {
        let cycle = self.clock.cycle_at(Time::from_ps(ps));
        cycle + u64::from(self.clock.time(cycle).ps() < ps)
    }
}
