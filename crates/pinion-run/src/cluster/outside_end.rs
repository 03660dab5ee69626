//! What stands for the world outside at a node of a cluster that runs live: frames from a device go on a
//! cable, and what arrives by the cable goes to the device.
//!
//! It is the last router on the way: what leaves gets the hardware address of the device's other side,
//! since nodes know none but each other's.

use std::collections::VecDeque;

use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, flits};

use super::rows::NodeRow;

/// The device's end of a cable.
#[derive(Debug, Default)]
pub struct OutsideEnd {
    /// Frames from the device, with the cycle of their first flit.
    waiting: VecDeque<(u64, Vec<u8>)>,
    /// Frames for the device.
    pub left: Vec<Vec<u8>>,
    /// Hardware address of the device's other side.
    pub mac: [u8; 6],
    moved: u64,
    frames_in: u64,
    frames_out: u64,
}

impl OutsideEnd {
    /// Takes a frame from the device whose first flit goes on the cable in a cycle that was not run yet,
    /// behind those before it.
    pub fn put(&mut self, first_flit: u64, frame: Vec<u8>) {
        self.waiting.push_back((first_flit, frame));
    }

    /// Tells whether frames from the device are not on the cable yet.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sums the node up.
    pub(super) fn row(&self, number: usize, name: &str) -> NodeRow {
        NodeRow {
            frames_in: self.frames_in,
            frames_out: self.frames_out,
            ..NodeRow::without_program(number, name, "outside")
        }
    }
}

impl Node for OutsideEnd {
    fn arrive(&mut self, _: usize, first_flit: u64, mut frame: Vec<u8>) {
        self.moved = self.moved.max(first_flit);
        self.frames_in += 1;
        if let Some(to) = frame.first_chunk_mut() {
            *to = self.mac;
        }
        self.left.push(frame);
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        while self.next_cycle().is_some_and(|first| first < until) {
            let Some((first, frame)) = self.waiting.pop_front() else { break };
            self.moved = self.moved.max(first);
            self.frames_out += 1;
            ports.send(0, first, first + flits(frame.len()) - 1, frame);
        }
    }

    fn next_cycle(&mut self) -> Option<u64> {
        self.waiting.front().map(|(first, _)| *first)
    }

    fn moved(&self) -> u64 {
        self.moved
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell("waiting", self.waiting.len() as u64);
        tell("left", self.left.len() as u64);
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Err(SaveError::Device { what: "the outside of a live cluster".to_owned() })
    }

    fn restore(&mut self, _: &Saved) -> Result<(), RestoreError> {
        let what = "one side is a live device, whose frames cannot be taken back".to_owned();
        Err(RestoreError::BuiltDifferently { what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_pass_both_ways_and_leave_for_the_devices_other_side() {
        let mut end = OutsideEnd { mac: [9; 6], ..OutsideEnd::default() };
        end.put(5, vec![1; 64]);
        end.put(13, vec![2; 64]);
        assert_eq!(end.next_cycle(), Some(5));
        let mut sent = Vec::new();
        let mut ports = |_: usize, first: u64, last: u64, frame: Vec<u8>| {
            sent.push((first, last, frame[0]));
        };
        end.run(13, &mut ports);
        assert_eq!((sent, end.next_cycle(), end.moved()), (vec![(5, 12, 1)], Some(13), 5));
        end.arrive(0, 20, vec![7; 64]);
        assert_eq!((&end.left[0][..6], &end.left[0][6..8]), (&[9; 6][..], &[7; 2][..]));
        assert!(end.save().unwrap_err().to_string().contains("the kernel holds frames"));
    }
}
