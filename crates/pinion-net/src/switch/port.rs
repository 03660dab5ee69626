//! A port of a switch, as frames leave it. In: frames for it. Out: the same, one after the other, at
//! the rate of its cable. Holds two queues; control frames go before data, and data by its bands.

use std::collections::VecDeque;

use super::counts::PortCounts;
use super::frames::{self, Kind, TRIMMED_BYTES};
use super::steps::{DropCause, Enqueued};
use super::{Overflow, SwitchSpec};
use crate::link::{Link, LinkError};
use pinion_sim::node::flits;

/// Says how much waits at a port, from a cycle on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// The cycle in which it changed.
    pub cycle: u64,
    /// Bytes of data frames.
    pub data_bytes: u64,
    /// Bytes of control frames.
    pub control_bytes: u64,
}

/// A port.
#[derive(Clone, Debug)]
pub(super) struct Port {
    data: Queue,
    control: Queue,
    pace: Pace,
    /// An event will see to what waits.
    is_scheduled: bool,
    watched: Option<Vec<Occupancy>>,
    pub(super) counts: PortCounts,
}

impl Port {
    /// Makes a port with so many bands of data.
    pub(super) fn new(cable: Option<&Link>, bands: u8) -> Result<Self, LinkError> {
        let cycles_per_bit = cable.map(Link::cycles_per_bit).transpose()?.flatten();
        Ok(Self {
            data: Queue::new(bands),
            control: Queue::new(1),
            pace: Pace { cycles_per_bit, free_parts: 0 },
            is_scheduled: false,
            watched: None,
            counts: PortCounts::default(),
        })
    }

    /// Takes a frame into a queue, trims it or drops it; tells which.
    pub(super) fn enqueue(&mut self, now: u64, mut frame: Vec<u8>, spec: &SwitchSpec) -> Enqueued {
        let kind = Kind::of(&frame);
        let (data, control) = (spec.data_queue_bytes, spec.control_queue_bytes);
        if kind == Kind::Control {
            if !self.control.has_room(frame.len(), control) {
                self.counts.dropped_control += 1;
                return Enqueued::Dropped(DropCause::ControlFull);
            }
            self.control.push(0, frame);
            self.enqueued(now, Enqueued::Control)
        } else if self.data.has_room(frame.len(), data) {
            let marked = spec.ecn_bytes.is_some_and(|least| self.data.bytes >= least)
                && frames::mark(&mut frame);
            self.counts.marked += u64::from(marked);
            self.data.push(frames::priority(&frame), frame);
            self.enqueued(now, Enqueued::Data { marked })
        } else if kind == Kind::Other || spec.overflow == Overflow::Drop {
            self.counts.dropped_data += 1;
            Enqueued::Dropped(DropCause::DataFull)
        } else if self.control.has_room(TRIMMED_BYTES, control) {
            frames::trim(&mut frame);
            self.counts.trimmed += 1;
            self.control.push(0, frame);
            self.enqueued(now, Enqueued::Trimmed)
        } else {
            self.counts.dropped_trimmed += 1;
            Enqueued::Dropped(DropCause::TrimmedFull)
        }
    }

    /// Notes that a frame waits.
    fn enqueued(&mut self, now: u64, how: Enqueued) -> Enqueued {
        let counts = &mut self.counts;
        counts.largest_data_bytes = counts.largest_data_bytes.max(self.data.bytes);
        counts.largest_control_bytes = counts.largest_control_bytes.max(self.control.bytes);
        self.note(now);
        how
    }

    /// Gives the bytes that wait, of data and of control frames.
    pub(super) fn bytes_waiting(&self) -> (u64, u64) {
        (self.data.bytes, self.control.bytes)
    }

    /// Tells whether the next frame to leave is a control frame.
    pub(super) fn control_is_next(&self) -> bool {
        self.control.waiting() > 0
    }

    /// Sends the next frame in this cycle, for which it was scheduled; gives it with the cycle of
    /// its last flit.
    pub(super) fn send(&mut self, now: u64) -> Option<(Vec<u8>, u64)> {
        self.is_scheduled = false;
        let frame = self.control.pop().or_else(|| self.data.pop())?;
        let last = self.pace.take(now, frame.len());
        self.counts.frames_out += 1;
        self.counts.bytes_out += frame.len() as u64;
        self.note(now);
        Some((frame, last))
    }

    /// Gives the cycle in which the port must be asked to send, if nobody was told yet.
    pub(super) fn schedule(&mut self, now: u64) -> Option<u64> {
        if self.is_scheduled || self.waiting() == 0 {
            return None;
        }
        self.is_scheduled = true;
        Some(self.pace.free().max(now))
    }

    /// Counts the frames that wait.
    pub(super) fn waiting(&self) -> usize {
        self.data.waiting() + self.control.waiting()
    }

    /// Tells what waits, and when the port is free.
    pub(super) fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell("data.frames", self.data.waiting() as u64);
        tell("data.bytes", self.data.bytes);
        tell("control.frames", self.control.waiting() as u64);
        tell("control.bytes", self.control.bytes);
        tell("free", self.pace.free());
    }

    pub(super) fn watch(&mut self) {
        self.watched.get_or_insert_default();
    }

    pub(super) fn occupancy(&self) -> &[Occupancy] {
        self.watched.as_deref().unwrap_or_default()
    }

    fn note(&mut self, cycle: u64) {
        if let Some(watched) = &mut self.watched {
            let (data_bytes, control_bytes) = (self.data.bytes, self.control.bytes);
            watched.push(Occupancy { cycle, data_bytes, control_bytes });
        }
    }
}

/// Holds frames that wait, in bands of which the first goes first, and counts their bytes together.
#[derive(Clone, Debug)]
struct Queue {
    bands: Vec<VecDeque<Vec<u8>>>,
    bytes: u64,
}

impl Queue {
    fn new(bands: u8) -> Self {
        Self { bands: vec![VecDeque::new(); usize::from(bands.max(1))], bytes: 0 }
    }

    fn waiting(&self) -> usize {
        self.bands.iter().map(VecDeque::len).sum()
    }

    fn has_room(&self, frame_bytes: usize, capacity: u64) -> bool {
        self.bytes + (frame_bytes as u64) < capacity
    }

    /// Takes a frame of a priority; the last band has all that are lower, too.
    fn push(&mut self, priority: u8, frame: Vec<u8>) {
        self.bytes += frame.len() as u64;
        let last = self.bands.len() - 1;
        self.bands[usize::from(priority).min(last)].push_back(frame);
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        let frame = self.bands.iter_mut().find_map(VecDeque::pop_front)?;
        self.bytes -= frame.len() as u64;
        Some(frame)
    }
}

/// Knows when the port is free: after a frame's flits on the pins, and its bits on the cable where
/// that is slower. A frame may begin in the cycle in the middle of which the cable becomes free.
#[derive(Clone, Debug)]
struct Pace {
    /// Cycles that a bit takes, as a fraction; `None`: the cable is as fast as the pins.
    cycles_per_bit: Option<(u64, u64)>,
    /// When the port is free, in parts of a cycle (the fraction's denominator).
    free_parts: u128,
}

impl Pace {
    fn parts_per_cycle(&self) -> u128 {
        self.cycles_per_bit.map_or(1, |(_, bits)| u128::from(bits))
    }

    fn free(&self) -> u64 {
        u64::try_from(self.free_parts / self.parts_per_cycle()).unwrap_or(u64::MAX)
    }

    /// Takes a frame in a cycle in which the port is free; gives the cycle of its last flit.
    fn take(&mut self, first: u64, frame_bytes: usize) -> u64 {
        let per_cycle = self.parts_per_cycle();
        let bits_parts = match self.cycles_per_bit {
            Some((cycles, _)) => frame_bytes as u128 * 8 * u128::from(cycles),
            None => 0,
        };
        let begin = self.free_parts.max(u128::from(first) * per_cycle);
        let through_pins = (u128::from(first) + u128::from(flits(frame_bytes))) * per_cycle;
        self.free_parts = (begin + bits_parts).max(through_pins);
        u64::try_from(self.free_parts.div_ceil(per_cycle)).unwrap_or(u64::MAX).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Lane;
    use crate::pacing::Rate;

    #[test]
    fn a_port_keeps_pace_with_its_cable_and_nothing_waits_behind_it() {
        for rate in [Rate::gbit_s(200), Rate::gbit_s(100), Rate::gbit_s(400), Rate::Unlimited] {
            let link = Link { queue_bytes: 64, ..Link::new(100) }.at_rate(rate, 3_200_000_000);
            let mut port = Port::new(Some(&link), 1).unwrap();
            let mut lane = Lane::new(&link).unwrap();
            let (mut next, mut arrived) = (0, 0);
            // A short frame's last flit may be on the pins when the wire has long had its bits.
            let (mut least, mut most) = (100.0, 102.0);
            for index in 0..9_999 {
                let bytes = [1088, 72, 65][index % 3];
                let how = port.enqueue(next, vec![0; bytes], &SwitchSpec::default());
                assert_eq!(how, Enqueued::Data { marked: false });
                next = port.schedule(next).unwrap();
                let (frame, last) = port.send(next).unwrap();
                arrived = lane.send(next, last, 0, frame.len()).expect("room") + flits(bytes);
                let bits = 8.0 * bytes as f64;
                let wire = rate.bits_per_s().map_or(0.0, |rate| bits * 3.2e9 / rate as f64);
                let pins = flits(bytes) as f64;
                least += if wire == 0.0 { pins } else { wire };
                most += wire.max(pins);
            }
            let arrived = arrived as f64;
            assert!(least <= arrived + 2.0 && arrived <= most, "{rate}: {arrived} {least} {most}");
        }
    }
}
