//! When frames arrive that go one way along a link. In: the cycles of a frame's first and last flit at
//! the sender's pins, and its bytes. Out: the cycle of its first flit at the receiver's. Holds when the
//! wire is free; a frame waits until it is, then for its last flit and the latency. A frame that finds
//! too many bytes waiting is dropped.

use super::{Link, LinkError};
use pinion_sim::node::flits;

/// The timing of one direction of a link.
#[derive(Clone, Debug)]
pub struct Lane {
    latency_cycles: u64,
    queue_bytes: u64,
    /// Cycles that a bit takes, as a fraction; `None`: the wire is as fast as the pins.
    cycles_per_bit: Option<(u64, u64)>,
    /// When the wire is free, in parts of a cycle (the fraction's denominator).
    free_parts: u128,
    /// The cycle after the last flit that arrives so far.
    arrives_after: u64,
    counts: LaneCounts,
}

/// Counts what a lane did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneCounts {
    /// Frames taken.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames dropped because too much was waiting for the wire.
    pub dropped: u64,
    /// Frames that were handed over too late for their latency and arrived late.
    pub late: u64,
}

impl Lane {
    /// Makes a lane of a link.
    ///
    /// # Errors
    /// When the link has no latency, or a rate without a clock.
    pub fn new(link: &Link) -> Result<Self, LinkError> {
        if link.latency_cycles == 0 {
            return Err(LinkError::NoLatency);
        }
        Ok(Self {
            latency_cycles: link.latency_cycles,
            queue_bytes: link.queue_bytes,
            cycles_per_bit: link.cycles_per_bit()?,
            free_parts: 0,
            arrives_after: 0,
            counts: LaneCounts::default(),
        })
    }

    /// Takes a frame whose flits are on the sender's pins from `first_flit` to `last_flit`, to arrive
    /// no earlier than `not_before`; gives the cycle of its first flit at the receiver's pins, or
    /// nothing when it is dropped.
    pub fn send(
        &mut self,
        first_flit: u64,
        last_flit: u64,
        not_before: u64,
        frame_bytes: usize,
    ) -> Option<u64> {
        let Some(last_flit) = self.through_wire(first_flit, last_flit, frame_bytes) else {
            self.counts.dropped += 1;
            return None;
        };
        self.counts.frames += 1;
        self.counts.bytes += frame_bytes as u64;
        // The receiver's pins take a frame without gaps: its first flit waits for the rest.
        let first = (last_flit + self.latency_cycles).saturating_sub(flits(frame_bytes) - 1);
        let first = first.max(first_flit + self.latency_cycles);
        self.counts.late += u64::from(first < not_before);
        let arrival = first.max(not_before).max(self.arrives_after);
        self.arrives_after = arrival + flits(frame_bytes);
        Some(arrival)
    }

    /// Gives the cycle in which the frame's last bit has left the sender's side of the wire.
    fn through_wire(&mut self, first: u64, last: u64, frame_bytes: usize) -> Option<u64> {
        let Some((cycles, bits)) = self.cycles_per_bit else { return Some(last) };
        let bits_per_part = u128::from(bits);
        let start = (u128::from(first) * bits_per_part).max(self.free_parts);
        let waiting_parts = start - u128::from(first) * bits_per_part;
        if waiting_parts / 8 / u128::from(cycles) > u128::from(self.queue_bytes) {
            return None;
        }
        self.free_parts = start + frame_bytes as u128 * 8 * u128::from(cycles);
        let end = self.free_parts.div_ceil(bits_per_part).saturating_sub(1);
        Some(u64::try_from(end).unwrap_or(u64::MAX).max(last))
    }

    /// Gives what the lane did so far.
    pub fn counts(&self) -> LaneCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::Rate;

    fn arrivals(link: Link, frames: &[(u64, usize)]) -> Vec<Option<u64>> {
        let mut lane = Lane::new(&link).unwrap();
        let send =
            |&(first, bytes): &(u64, usize)| lane.send(first, first + flits(bytes) - 1, 0, bytes);
        frames.iter().map(send).collect()
    }

    #[test]
    fn a_frame_arrives_after_the_latency() {
        assert_eq!(arrivals(Link::new(140), &[(5, 72), (14, 72)]), [Some(145), Some(154)]);
    }

    #[test]
    fn a_slower_wire_spaces_frames_and_keeps_their_flits_together() {
        // 51.2 Gbit/s at 3.2 GHz are 2 B a cycle: 64 B take 32 cycles.
        let link = Link::new(100).at_rate(Rate::BitsPerSecond(51_200_000_000), 3_200_000_000);
        let first = 31 - 7 + 100;
        assert_eq!(
            arrivals(link, &[(0, 64), (8, 64), (200, 64)]),
            [Some(first), Some(first + 32), Some(first + 200)]
        );
    }

    #[test]
    fn a_rate_that_does_not_divide_does_not_drift() {
        let link = Link::new(1).at_rate(Rate::gbit_s(200), 3_200_000_000);
        let frames: Vec<(u64, usize)> = (0..10_000).map(|i| (i * 136, 1088)).collect();
        let arrivals = arrivals(link, &frames);
        // 8704 bits at 62.5 bits a cycle are 139.264 cycles.
        let mean = (arrivals[9999].unwrap() - arrivals[0].unwrap()) as f64 / 9999.0;
        assert!((mean - 139.264).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn too_much_waiting_is_dropped() {
        let link = Link { queue_bytes: 150, ..Link::new(1) };
        let link = link.at_rate(Rate::gbit_s(8), 1_000_000_000);
        let dropped: Vec<bool> =
            arrivals(link, &[(0, 100); 5]).iter().map(|arrival| arrival.is_none()).collect();
        assert_eq!(dropped, [false, false, true, true, true]);
    }

    #[test]
    fn impossible_links_are_refused() {
        assert!(matches!(Lane::new(&Link::new(0)), Err(LinkError::NoLatency)));
        let link = Link::new(1).at_rate(Rate::gbit_s(1), 0);
        assert!(matches!(Lane::new(&link), Err(LinkError::NoClock { .. })));
    }
}
