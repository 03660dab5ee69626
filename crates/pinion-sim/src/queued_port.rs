//! A port that takes bursts of some length from several requesters, each of which queues in front of it.
//!
//! In: requests, by requester, with the cycle from which each is there; a requester asks only while its buffer
//! has room. Out: the cycle in which each is accepted. Holds a buffer for each requester and one queue: requests
//! enter that one a cycle, by turns where several are there, while it has room, and the port takes them in
//! that order. While it has none, whoever was chosen stays the next. (RTL: axi_mux with axi_ar_buffer in front,
//! and the queue of axi_to_mem behind it, in PsPIN's prog_mem.)

use std::collections::VecDeque;

use crate::arbiter::{Requests, RoundRobin};

/// Requests that a requester's buffer holds (RTL: axi_ar_buffer).
const BUFFERED: usize = 2;

/// Requests that the queue holds (RTL: axi_to_mem, i_rd_regu_fifo).
const QUEUED: usize = 16;

/// Orders requests.
#[derive(Clone, Debug)]
pub struct QueuedPort {
    /// By requester: from when on each in its buffer waits.
    waiting: Vec<VecDeque<u64>>,
    /// By requester: the cycle in which its last one left the buffer.
    left: Vec<u64>,
    /// By requester: what has entered the queue and was not heard of: from when on it waited, and when it is
    /// accepted.
    entered: Vec<VecDeque<(u64, u64)>>,
    /// When the last ones that entered the queue are accepted: as many as it holds.
    queue: VecDeque<u64>,
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
            waiting: vec![VecDeque::with_capacity(BUFFERED); queues],
            left: vec![0; queues],
            entered: vec![VecDeque::new(); queues],
            queue: VecDeque::with_capacity(QUEUED),
            asking: Requests::new(requesters),
            turns: RoundRobin::default(),
            free_at: 0,
            seen_from: 0,
            beats,
        }
    }

    /// Says whether a requester's buffer has room in a cycle, which is none before the last one asked about.
    pub fn has_room(&mut self, requester: u32, cycle: u64) -> bool {
        self.enter(cycle.saturating_sub(1));
        let requester = requester as usize;
        // What leaves in this cycle makes room in the next one.
        let leaves = self.left[requester] == cycle;
        self.waiting[requester].len() + usize::from(leaves) < BUFFERED
    }

    /// Gives a cycle before which a requester's buffer, which is full, has no room.
    pub fn room_from(&self, requester: u32) -> u64 {
        self.enters_from(requester, 0) + 1
    }

    /// Gives a cycle before which a requester's request that waits from cycle `from` on does not enter the queue.
    pub fn not_before(&self, requester: u32, from: u64) -> u64 {
        let place = self.waiting[requester as usize].iter().position(|&it| it == from);
        self.enters_from(requester, place.unwrap_or(0))
    }

    /// Gives a cycle before which the request at a place in a requester's buffer does not enter the queue.
    fn enters_from(&self, requester: u32, place: usize) -> u64 {
        let count = self.waiting.len();
        let chosen = self.chosen_from().unwrap_or(self.seen_from);
        let all_wait = |places: usize| {
            let waits = |it: &VecDeque<u64>| it.get(places).is_some_and(|&from| from <= chosen);
            self.waiting.iter().all(waits)
        };
        // Where all wait they go round; otherwise it may be the next.
        let before = match all_wait(0) {
            true => (requester as usize + count - self.turns.pointer() as usize) % count,
            false => 0,
        };
        let before = before + if all_wait(place) { place * count } else { place };
        (chosen + before as u64).max(self.queue_from(before))
    }

    /// Lets a requester ask for a burst from a cycle on: its buffer had room in the one before.
    pub fn ask(&mut self, requester: u32, from: u64) {
        self.waiting[requester as usize].push_back(from);
    }

    /// Gives the next request of a requester that has entered the queue by a cycle: from when on it waited,
    /// and when it is accepted, which is known from then on.
    pub fn take_entered(&mut self, requester: u32, by: u64) -> Option<(u64, u64)> {
        self.enter(by);
        self.entered[requester as usize].pop_front()
    }

    /// Gives the cycle in which the next of those who wait is chosen.
    fn chosen_from(&self) -> Option<u64> {
        let first = self.waiting.iter().filter_map(VecDeque::front).min();
        first.map(|&first| first.max(self.seen_from))
    }

    /// Gives the cycle from which the queue has room for one more than `ahead`; of those that are not in it
    /// yet, one before which it has none.
    fn queue_from(&self, ahead: usize) -> u64 {
        let Some(index) = (self.queue.len() + ahead).checked_sub(QUEUED) else { return 0 };
        self.queue.get(index).or(self.queue.back()).map_or(0, |&at| at + 1)
    }

    /// Lets those who ask in the cycles up to `by` enter the queue, one a cycle.
    fn enter(&mut self, by: u64) {
        while let Some(chosen) = self.chosen_from() {
            let cycle = chosen.max(self.queue_from(0));
            if cycle > by {
                return;
            }
            for (requester, waiting) in self.waiting.iter().enumerate() {
                let asks = waiting.front().is_some_and(|&from| from <= chosen);
                self.asking.set(requester as u32, asks);
            }
            let Some(requester) = self.turns.grant(&self.asking) else { return };
            let requester = requester as usize;
            let at = cycle.max(self.free_at);
            if let Some(from) = self.waiting[requester].pop_front() {
                self.entered[requester].push_back((from, at));
            }
            self.left[requester] = cycle;
            if self.queue.len() == QUEUED {
                self.queue.pop_front();
            }
            self.queue.push_back(at);
            self.free_at = at + u64::from(self.beats);
            self.seen_from = cycle + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RTL axi_mux: who comes in the same cycle is served by turns.
    #[test]
    fn requesters_are_served_by_turns() {
        let mut port = QueuedPort::new(4, 2);
        [101, 102].into_iter().for_each(|from| port.ask(0, from));
        assert_eq!(port.not_before(0, 101), 101);
        assert_eq!(port.take_entered(1, 102), None);
        let entered = |port: &mut QueuedPort, requester, by| -> Vec<_> {
            std::iter::from_fn(|| port.take_entered(requester, by)).collect()
        };
        // What has entered knows when it is accepted.
        assert_eq!(entered(&mut port, 0, 102), [(101, 101), (102, 103)]);
        [103, 103].into_iter().for_each(|from| port.ask(0, from));
        port.ask(1, 103);
        port.ask(2, 103);
        assert_eq!(entered(&mut port, 1, 200), [(103, 107)]);
        assert_eq!(entered(&mut port, 2, 200), [(103, 109)]);
        assert_eq!(entered(&mut port, 0, 200), [(103, 105), (103, 111)]);
    }

    /// RTL axi_ar_buffer: two requests of each wait for the port's choice, and a third one for room.
    #[test]
    fn a_buffer_has_room_when_one_has_left() {
        let mut port = QueuedPort::new(2, 2);
        (0..2).for_each(|requester| (0..2).for_each(|_| port.ask(requester, 100)));
        // The lowest is chosen first, in 100, and the other one in 101.
        let has_room: Vec<_> = (100..104)
            .map(|cycle| [0, 1].map(|requester| port.has_room(requester, cycle)))
            .collect();
        assert_eq!(has_room, [[false, false], [true, false], [true, true], [true, true]]);
        assert!(port.has_room(1, 104));
    }

    /// Nobody is promised to wait longer than it does, and who waits among all is told how many go before it.
    #[test]
    fn nothing_enters_before_it_is_said_to() {
        let mut random = crate::random::Xorshift32::new(7);
        for busy in [2, 3, 9] {
            let mut port = QueuedPort::new(4, 2);
            let mut early = 0;
            for cycle in 100..4000 {
                for requester in 0..4 {
                    if random.draw().is_multiple_of(busy) && port.has_room(requester, cycle) {
                        port.ask(requester, cycle + 1);
                    }
                }
                let bounds: Vec<_> = (0..4u32)
                    .flat_map(|requester| {
                        let waiting = port.waiting[requester as usize].clone();
                        waiting.into_iter().map(move |from| (requester, from))
                    })
                    .map(|(requester, from)| (requester, from, port.not_before(requester, from)))
                    .collect();
                port.enter(cycle);
                for (requester, from, bound) in bounds {
                    let has_entered = !port.waiting[requester as usize].contains(&from);
                    assert!(!has_entered || bound <= cycle, "{requester} {from} {bound} {cycle}");
                    early += u32::from(!has_entered && bound > cycle + 2);
                }
                port.entered.iter_mut().for_each(VecDeque::clear);
            }
            assert!(busy > 2 || early > 1000, "{early}: many wait for others");
        }
    }

    /// RTL axi_to_mem: a queue of sixteen; who is next while it is full was chosen when it was.
    #[test]
    fn what_finds_the_queue_full_waits_in_its_turn() {
        let mut port = QueuedPort::new(2, 2);
        let mut accepted = Vec::new();
        for cycle in 100..200 {
            if port.has_room(0, cycle) {
                port.ask(0, cycle + 1);
            }
            accepted.extend(std::iter::from_fn(|| port.take_entered(0, cycle)));
        }
        // One is accepted every two cycles; later, sixteen are in the queue and one before it in the buffer.
        assert_eq!(accepted[..3], [(101, 101), (102, 103), (103, 105)]);
        let waits: Vec<_> = accepted.iter().map(|(from, at)| at - from).collect();
        assert_eq!(waits.iter().max(), Some(&(2 * 17 - 1)), "{waits:?}");
        // The other one comes while it is full and one of the first is chosen.
        port.ask(1, 200);
        let of_other = (200..300).find_map(|by| port.take_entered(1, by)).expect("it is accepted");
        assert!(of_other.1 - of_other.0 > 32, "{of_other:?}");
    }
}
