//! What stands at a node of a cluster where frames come from elsewhere: out of a capture or a generator, or
//! in a live run from a device. They go on the node's cable; what arrives by the cable is counted, and goes
//! to the device if there is one.
//!
//! A device's end is the last router on the way: what leaves gets the hardware address of the device's
//! other side, since nodes know none but each other's.

use std::collections::VecDeque;

use crate::arrivals::Arrivals;
use pinion_app::traffic::Packets;
use pinion_sim::Clock;
use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, Trouble, flits};

use super::rows::NodeRow;

/// The end of a cable where frames come from elsewhere.
#[derive(Clone)]
pub struct FramesEnd {
    source: Source,
    pins_free: u64,
    /// The first cycle that was not run.
    now: u64,
    moved: u64,
    frames_in: u64,
    frames_out: u64,
}

/// Where frames come from.
#[derive(Clone)]
enum Source {
    /// A device puts them here, and takes what leaves.
    Device {
        /// Hardware address of the device's other side.
        mac: [u8; 6],
        /// Frames that are not on the cable yet, with the cycle of their first flit.
        waiting: VecDeque<(u64, Vec<u8>)>,
        left: Vec<Vec<u8>>,
    },
    /// A capture or a generator has them.
    Packets(Box<Arrivals>),
}

impl FramesEnd {
    /// Makes the end of a device whose other side has this hardware address.
    pub(super) fn of_device(mac: [u8; 6]) -> Self {
        Self::new(Source::Device { mac, waiting: VecDeque::new(), left: Vec::new() })
    }

    /// Makes the end of packets, the time 0 of which is cycle `start` of the network.
    pub(super) fn of_packets(packets: Packets, start: u64, clock: Clock) -> Self {
        let mut arrivals = Arrivals::new(packets, clock);
        arrivals.begin(start);
        Self::new(Source::Packets(Box::new(arrivals)))
    }

    fn new(source: Source) -> Self {
        Self { source, pins_free: 0, now: 0, moved: 0, frames_in: 0, frames_out: 0 }
    }

    /// Keeps packets, so that they can come again.
    pub(super) fn keep(&mut self) {
        if let Source::Packets(packets) = &self.source {
            packets.keep();
        }
    }

    /// Takes a frame from the device whose first flit goes on the cable in a cycle that was not run yet,
    /// behind those before it.
    pub(super) fn put(&mut self, first_flit: u64, frame: Vec<u8>) {
        if let Source::Device { waiting, .. } = &mut self.source {
            waiting.push_back((first_flit, frame));
        }
    }

    /// Gives what has left for the device since it was asked last.
    pub(super) fn take_left(&mut self) -> Vec<Vec<u8>> {
        match &mut self.source {
            Source::Device { left, .. } => std::mem::take(left),
            Source::Packets(_) => Vec::new(),
        }
    }

    /// Tells whether frames are not on the cable yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.due().is_some()
    }

    /// Takes the next frame that is due.
    fn take(&mut self) -> Option<(u64, Vec<u8>)> {
        match &mut self.source {
            Source::Device { waiting, .. } => waiting.pop_front(),
            Source::Packets(packets) => packets.take(),
        }
    }

    fn due(&self) -> Option<u64> {
        match &self.source {
            Source::Device { waiting, .. } => waiting.front().map(|(due, _)| *due),
            Source::Packets(packets) => packets.next_cycle(),
        }
    }

    /// Sums the node up.
    pub(super) fn row(&self, number: usize, name: &str) -> NodeRow {
        let app = match &self.source {
            Source::Device { .. } => "outside",
            Source::Packets(_) => "packets",
        };
        NodeRow {
            ending: if self.is_waiting() { "cut_off" } else { "finished" }.to_owned(),
            frames_in: self.frames_in,
            frames_out: self.frames_out,
            ..NodeRow::without_program(number, name, app)
        }
    }
}

impl Node for FramesEnd {
    fn arrive(&mut self, _: usize, first_flit: u64, mut frame: Vec<u8>) {
        self.moved = self.moved.max(first_flit);
        self.frames_in += 1;
        if let Source::Device { mac, left, .. } = &mut self.source {
            if let Some(to) = frame.first_chunk_mut() {
                *to = *mac;
            }
            left.push(frame);
        }
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        while self.next_cycle().is_some_and(|first| first < until) {
            let Some((due, frame)) = self.take() else { break };
            let first = due.max(self.pins_free);
            self.pins_free = first + flits(frame.len());
            self.moved = self.moved.max(first);
            self.frames_out += 1;
            ports.send(0, first, self.pins_free - 1, frame);
        }
        self.now = until;
    }

    fn next_cycle(&mut self) -> Option<u64> {
        self.due().map(|due| self.pins_free.max(due))
    }

    fn moved(&self) -> u64 {
        // A capture that is silent for a while is not one that hangs.
        if self.is_waiting() { self.moved.max(self.now) } else { self.moved }
    }

    fn trouble(&mut self) -> Option<Trouble> {
        match &mut self.source {
            Source::Device { .. } => None,
            Source::Packets(packets) => packets.take_error().map(Into::into),
        }
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell(
            "waiting",
            match &self.source {
                Source::Device { waiting, .. } => waiting.len() as u64,
                Source::Packets(_) => u64::from(self.is_waiting()),
            },
        );
        tell("frames_in", self.frames_in);
        tell("frames_out", self.frames_out);
    }

    fn save(&self) -> Result<Saved, SaveError> {
        if let Source::Packets(packets) = &self.source {
            packets.save()?;
        }
        // What a device has brought, and whether it takes what left, is for whoever keeps the run.
        Ok(Saved::new(self.clone()))
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        self.clone_from(saved.get()?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(end: &mut FramesEnd, until: u64) -> Vec<(u64, u64, usize)> {
        let mut sent = Vec::new();
        end.run(until, &mut |_: usize, first: u64, last: u64, frame: Vec<u8>| {
            sent.push((first, last, frame.len()));
        });
        sent
    }

    #[test]
    fn frames_pass_both_ways_and_leave_for_the_devices_other_side() {
        let mut end = FramesEnd::of_device([9; 6]);
        end.put(5, vec![1; 64]);
        end.put(13, vec![2; 64]);
        assert_eq!(end.next_cycle(), Some(5));
        assert_eq!(sent(&mut end, 13), [(5, 12, 64)]);
        assert_eq!((end.next_cycle(), end.is_waiting()), (Some(13), true));
        end.arrive(0, 20, vec![7; 64]);
        let left = end.take_left();
        assert_eq!((&left[0][..6], &left[0][6..8]), (&[9; 6][..], &[7; 2][..]));
        end.put(21, vec![3; 64]);
        let saved = end.save().unwrap();
        assert_eq!(sent(&mut end, 30), [(13, 20, 64), (21, 28, 64)]);
        end.restore(&saved).unwrap();
        assert_eq!(sent(&mut end, 30), [(13, 20, 64), (21, 28, 64)]);
    }

    #[test]
    fn packets_come_at_their_times_and_no_faster_than_pins() {
        // 1,000 bit a packet: each is there 100 ns, which are 100 cycles, behind the one before.
        let packets = |rate: &str| {
            let text = format!("udp,size=125,count=3,rate={rate},wire=frame");
            Packets::generate(&text, None, None).unwrap()
        };
        let clock = Clock::from_hz(1_000_000_000);
        let mut end = FramesEnd::of_packets(packets("10g"), 1_000, clock);
        assert_eq!(sent(&mut end, 1_100), []);
        assert_eq!(
            sent(&mut end, 10_000),
            [(1_100, 1_115, 125), (1_200, 1_215, 125), (1_300, 1_315, 125)]
        );
        assert_eq!((end.next_cycle(), end.row(1, "probe").frames_out), (None, 3));
        let mut end = FramesEnd::of_packets(packets("400g"), 0, clock);
        assert_eq!(sent(&mut end, 10_000), [(3, 18, 125), (19, 34, 125), (35, 50, 125)]);
    }
}
