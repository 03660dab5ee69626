//! One direction of a cable. In: frames as their sender gives them. Out: frames as they arrive at the
//! other end's MAC. Holds those under way.
//!
//! The [`Lane`] says when a frame arrives; a faulty direction ([`FaultyWay`]) loses, repeats and
//! damages frames, and lets others overtake them.

use std::collections::VecDeque;

use super::{Lane, LaneCounts, Link, LinkError};
use crate::fault::{FaultCounts, FaultyWay, Through};

/// One direction of a cable.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    lane: Lane,
    faults: Option<FaultyWay>,
    /// When each arrives, and its number: frames that found room are counted from 0.
    under_way: VecDeque<(u64, u64, Vec<u8>)>,
    window_cycles: u64,
    taken: u64,
    /// Cycles in which damaged frames arrive, and their numbers.
    damaged: Vec<(u64, u64)>,
    /// How many of them were asked for.
    damage_told: usize,
    /// Cycles in which frames arrive that went to another rank before that.
    ahead: VecDeque<u64>,
}

/// Counts frames of one direction of a cable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireCounts {
    /// Frames put in, their bytes, and those that found no room before it.
    pub sent: LaneCounts,
    /// What faults did.
    pub faults: FaultCounts,
    /// Damaged frames that the receiving MAC dropped.
    pub damaged: u64,
    /// Frames taken out.
    pub taken: u64,
    /// Frames still in it.
    pub under_way: u64,
}

impl WireCounts {
    /// Tells whether every frame that was put in has come out, or one knows why not.
    pub fn is_balanced(&self) -> bool {
        self.sent.frames + self.faults.duplicated
            == self.taken + self.faults.lost + self.damaged + self.under_way
    }
}

impl Wire {
    /// Lays a direction of a cable between nodes that advance in windows of so many cycles.
    pub(crate) fn new(
        link: &Link,
        faults: Option<FaultyWay>,
        window_cycles: u64,
    ) -> Result<Self, LinkError> {
        Ok(Self {
            lane: Lane::new(link)?,
            faults,
            under_way: VecDeque::new(),
            window_cycles,
            taken: 0,
            damaged: Vec::new(),
            damage_told: 0,
            ahead: VecDeque::new(),
        })
    }

    /// Takes a frame; it arrives in `not_before` at the earliest. Gives its number and how many of it will
    /// arrive, damaged or not, or nothing when it finds no room.
    pub(crate) fn send(
        &mut self,
        first: u64,
        last: u64,
        not_before: u64,
        frame: Vec<u8>,
    ) -> Option<(u64, u8)> {
        let number = self.lane.counts().frames;
        let arrival = self.lane.send(first, last, not_before, frame.len())?;
        let Some(faults) = &mut self.faults else {
            self.under_way.push_back((arrival, number, frame));
            return Some((number, 1));
        };
        let before = faults.counts();
        faults.push(arrival, frame);
        let now = faults.counts();
        self.settle();
        let copies = 1 + (now.duplicated - before.duplicated) - (now.lost - before.lost);
        Some((number, copies as u8))
    }

    /// Takes a frame whose arrival is known: another rank's end sent it.
    pub(crate) fn put(&mut self, arrival: u64, frame: Vec<u8>) {
        self.under_way.push_back((arrival, 0, frame));
    }

    /// Gives the cycle in which the next window must have begun: that of the earliest arrival, or a
    /// window before a held frame goes on, for its receiver may be another rank's.
    pub(crate) fn next(&self) -> Option<u64> {
        let front = self.under_way.front().map(|(arrival, ..)| *arrival);
        let held = self.faults.as_ref().and_then(FaultyWay::next_cycle);
        let held = held.map(|cycle| cycle.saturating_sub(self.window_cycles));
        front.into_iter().chain(held).min()
    }

    /// Lets go the held frames that go on by themselves before a cycle.
    pub(crate) fn settle_before(&mut self, until: u64) {
        if let Some(faults) = &mut self.faults {
            faults.release_before(until);
            self.settle();
        }
    }

    /// Takes the next frame that arrives before a cycle, and its number; held ones must have been let go.
    pub(crate) fn take_before(&mut self, until: u64) -> Option<(u64, u64, Vec<u8>)> {
        if self.under_way.front()?.0 >= until {
            return None;
        }
        self.taken += 1;
        self.under_way.pop_front()
    }

    /// Takes the next frame for another rank, be it ahead of `now`, before which everything has
    /// happened; held ones must have been let go.
    pub(crate) fn take_ahead(&mut self, now: u64) -> Option<(u64, Vec<u8>)> {
        while self.ahead.front().is_some_and(|arrival| *arrival < now) {
            self.ahead.pop_front();
        }
        let (arrival, _, frame) = self.take_before(u64::MAX)?;
        self.ahead.push_back(arrival);
        Some((arrival, frame))
    }

    /// Gives the next damaged frame that arrived before a cycle, with its number, once.
    pub(crate) fn take_damaged(&mut self, until: u64) -> Option<(u64, u64)> {
        let next = self.damaged.get(self.damage_told).filter(|(arrival, _)| *arrival < until)?;
        self.damage_told += 1;
        Some(*next)
    }

    /// Moves what faults let through to the frames under way; drops damaged ones.
    fn settle(&mut self) {
        let Some(faults) = &mut self.faults else { return };
        while let Some((arrival, number, through)) = faults.take() {
            match through {
                Through::Whole(frame) => self.under_way.push_back((arrival, number, frame)),
                Through::Damaged => self.damaged.push((arrival, number)),
            }
        }
    }

    /// Counts what has happened before cycle `now`.
    pub(crate) fn counts(&self, now: u64) -> WireCounts {
        let held = self.faults.as_ref().map_or(0, FaultyWay::held);
        let ahead = self.ahead.len() - self.ahead.partition_point(|arrival| *arrival < now);
        let damaged = self.damaged.partition_point(|(arrival, _)| *arrival < now);
        let damaged_later = self.damaged.len() - damaged;
        WireCounts {
            sent: self.lane.counts(),
            faults: self.faults.as_ref().map(FaultyWay::counts).unwrap_or_default(),
            damaged: damaged as u64,
            taken: self.taken - ahead as u64,
            under_way: (self.under_way.len() + held + ahead + damaged_later) as u64,
        }
    }
}
