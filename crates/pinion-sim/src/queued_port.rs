//! A port that takes bursts of some length from several requesters, each of which queues in front of it.
//!
//! In: requests, by requester, with the cycle from which each is there. Out: the cycle in which each is
//! accepted. Holds one queue: requests enter it one a cycle, by turns where several are there, and the port
//! takes them in that order. (RTL: axi_mux with axi_ar_buffer in front, and the queue of axi_to_mem behind it,
//! in PsPIN's prog_mem.)

use std::collections::VecDeque;

use crate::arbiter::{Requests, RoundRobin};

/// Orders requests.
#[derive(Clone, Debug)]
pub struct QueuedPort {
    /// By requester: from when on each waits.
    waiting: Vec<VecDeque<u64>>,
    /// By requester: what has entered the queue and was not heard of: from when on it waited, and when it is
    /// accepted.
    entered: Vec<VecDeque<(u64, u64)>>,
    asking: Requests,
    turns: RoundRobin,
    free_at: u64,
    /// The cycle from which requests are seen that were not there at the last choice.
    seen_from: u64,
    beats: u32,
}

impl QueuedPort {
    /// Makes an idle port of some requesters, whose bursts take so many cycles.
    pub fn new(requesters: u32, beats: u32) -> Self {
        let queues = requesters as usize;
        Self {
            waiting: vec![VecDeque::new(); queues],
            entered: vec![VecDeque::new(); queues],
            asking: Requests::new(requesters),
            turns: RoundRobin::default(),
            free_at: 0,
            seen_from: 0,
            beats,
        }
    }

    /// Lets a requester ask for a burst from a cycle on.
    pub fn ask(&mut self, requester: u32, from: u64) {
        self.waiting[requester as usize].push_back(from);
    }

    /// Gives the next request of a requester that has entered the queue by a cycle: from when on it waited,
    /// and when it is accepted, which is known from then on.
    pub fn take_entered(&mut self, requester: u32, by: u64) -> Option<(u64, u64)> {
        self.enter(by);
        self.entered[requester as usize].pop_front()
    }

    /// Gives the cycle in which the next request of those in front of the queue may enter it.
    pub fn next(&self) -> u64 {
        self.first().map_or(self.seen_from, |from| self.seen_from.max(from))
    }

    /// Lets those who ask in the cycles up to `by` enter the queue, one a cycle.
    fn enter(&mut self, by: u64) {
        while let Some(first) = self.first() {
            let cycle = first.max(self.seen_from);
            if cycle > by {
                return;
            }
            for (requester, waiting) in self.waiting.iter().enumerate() {
                let asks = waiting.front().is_some_and(|&from| from <= cycle);
                self.asking.set(requester as u32, asks);
            }
            let Some(requester) = self.turns.grant(&self.asking) else { return };
            let requester = requester as usize;
            let at = cycle.max(self.free_at);
            if let Some(from) = self.waiting[requester].pop_front() {
                self.entered[requester].push_back((from, at));
            }
            self.free_at = at + u64::from(self.beats);
            self.seen_from = cycle + 1;
        }
    }

    /// Gives the cycle from which the first of those who wait asks.
    fn first(&self) -> Option<u64> {
        self.waiting.iter().filter_map(VecDeque::front).min().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RTL axi_mux: who comes in the same cycle is served by turns.
    #[test]
    fn requesters_are_served_by_turns() {
        let mut port = QueuedPort::new(4, 2);
        [101, 102, 103, 103].into_iter().for_each(|from| port.ask(0, from));
        port.ask(1, 103);
        port.ask(2, 103);
        assert_eq!(port.next(), 101);
        assert_eq!(port.take_entered(1, 102), None);
        let mut entered = |requester, by| -> Vec<_> {
            std::iter::from_fn(|| port.take_entered(requester, by)).collect()
        };
        // What has entered knows when it is accepted.
        assert_eq!(entered(0, 102), [(101, 101), (102, 103)]);
        assert_eq!(entered(1, 200), [(103, 107)]);
        assert_eq!(entered(2, 200), [(103, 109)]);
        assert_eq!(entered(0, 200), [(103, 105), (103, 111)]);
    }
}
