//! The NIC outbound engine: packets that commands send.
//!
//! In: packets, when their data have come from the NIC's memories. Out: frames on the link, one after
//! the other at its rate. Holds when the link is free and when the last packets leave; a full queue
//! makes the next send command wait before its data move. (Paper §III-A; RTL nic_outbound.)

use std::collections::VecDeque;

use crate::Machine;
use crate::crossing::Crossing;

/// Holds the link's side of the engine.
#[derive(Debug)]
pub struct OutboundEngine {
    link_free_ps: u64,
    link_mbit_s: u64,
    /// Cycles at which the last packets leave.
    departures: VecDeque<u64>,
    /// Packets that may wait for the link; commands wait beyond.
    queue_packets: usize,
    crossing: Crossing,
}

impl OutboundEngine {
    /// Makes an idle engine.
    pub fn new(machine: &Machine) -> Self {
        Self {
            link_free_ps: 0,
            link_mbit_s: machine.network.rate_mbit_s,
            departures: VecDeque::new(),
            queue_packets: machine.network.queue_packets as usize,
            crossing: Crossing::new(machine),
        }
    }

    /// Gives the time bytes take at a rate, in ps.
    fn serialise(bytes: u32, mbit_s: u64) -> u64 {
        if mbit_s == 0 {
            return 0;
        }
        (u64::from(bytes) * 8 * 1_000_000).div_ceil(mbit_s)
    }

    /// Sends a packet whose data are there at `from_ps`; gives when its last bit has left.
    pub fn send(&mut self, from_ps: u64, bytes: u32) -> u64 {
        let from_ps = self.crossing.out_ps(from_ps);
        self.link_free_ps =
            self.link_free_ps.max(from_ps) + Self::serialise(bytes, self.link_mbit_s);
        self.link_free_ps
    }

    /// Gives the cycle before which it may not start: its queue is full.
    pub fn not_before(&self) -> u64 {
        if self.departures.len() < self.queue_packets {
            return 0;
        }
        self.departures.front().copied().unwrap_or(0)
    }

    /// Notes that a packet leaves at `cycle`.
    pub fn departs(&mut self, cycle: u64) {
        self.departures.push_back(cycle);
        if self.departures.len() > self.queue_packets {
            self.departures.pop_front();
        }
    }
}
