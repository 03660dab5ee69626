//! A port that two sides share burst by burst, in turns.
//!
//! In: bursts of either side, with the cycle from which each could come in, that of its first data, and
//! its beats. Out: the cycle it starts. Behind the arbiter there is a queue, whose order is sure; who is
//! first there and has no data yet keeps the port waiting. Of those that wait on both sides for a place
//! in the queue, the side that did not come in last is next. A burst that is booked later may move those
//! that have not come in, so a start is sure only once it has come: owners look again then. (RTL: AXI
//! multiplexers, round-robin.)

use std::collections::VecDeque;

/// Names a burst of one side: they count up on each.
pub type BurstId = u64;

/// Names the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one with long bursts, which mostly has the port to itself.
    Stream = 0,
    /// The other.
    Guest = 1,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Stream => Self::Guest,
            Self::Guest => Self::Stream,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    id: BurstId,
    ready: u64,
    data: u64,
    beats: u64,
    /// When the arbiter lets it in.
    entry: u64,
    start: u64,
}

impl Burst {
    fn end(&self) -> u64 {
        self.start + self.beats
    }
}

/// The most bursts that a queue can hold.
const MOST_QUEUED: usize = 16;

/// Holds when the last bursts that came in started.
#[derive(Clone, Copy, Debug, Default)]
struct Starts {
    at: [u64; MOST_QUEUED],
    count: usize,
}

impl Starts {
    fn push(&mut self, start: u64) {
        self.at[self.count % MOST_QUEUED] = start;
        self.count += 1;
    }

    /// Gives the start of the last but `back`, counted from 1; 0 where there were not so many.
    fn back(&self, back: usize) -> u64 {
        if back > self.count { 0 } else { self.at[(self.count - back) % MOST_QUEUED] }
    }
}

/// Orders the bursts of two sides.
#[derive(Clone, Debug)]
pub struct TurnPort {
    /// By side: its bursts in order.
    bursts: [VecDeque<Burst>; 2],
    /// By side: how many of them have come in.
    entered: [usize; 2],
    /// Cycle from which the port is free of what has come in.
    free_at: u64,
    /// Bursts that may wait behind the arbiter.
    queue: usize,
    starts: Starts,
    /// Who came in last, and when: nobody comes in before who is in front of him.
    last: Side,
    last_entry: u64,
    /// By side: the name of its next burst.
    next: [BurstId; 2],
    /// Cycle in which the first of the bursts that wait comes in.
    next_entry: u64,
    /// Cycle before which what has come in is to be noted: that is put off while a side has the port
    /// to itself.
    seen: u64,
}

impl Default for TurnPort {
    fn default() -> Self {
        Self {
            bursts: [VecDeque::new(), VecDeque::new()],
            entered: [0; 2],
            free_at: 0,
            queue: 0,
            starts: Starts::default(),
            last: Side::Guest,
            last_entry: 0,
            next: [0; 2],
            next_entry: u64::MAX,
            seen: 0,
        }
    }
}

impl TurnPort {
    /// Makes a port behind whose arbiter so many bursts may wait, at most 16.
    pub fn with_queue(queue: u32) -> Self {
        Self { queue: (queue as usize).min(MOST_QUEUED), ..Self::default() }
    }

    /// Books a burst of `beats` cycles that could go from cycle `ready` on; gives its name and the
    /// cycle it starts, as things stand.
    #[inline]
    pub fn book(&mut self, now: u64, side: Side, ready: u64, beats: u64) -> (BurstId, u64) {
        self.book_ahead(now, side, (ready, ready), beats)
    }

    /// Books a burst that could come in from a cycle on, and whose data come in another; gives the
    /// same.
    pub fn book_ahead(
        &mut self,
        now: u64,
        side: Side,
        (ready, data): (u64, u64),
        beats: u64,
    ) -> (BurstId, u64) {
        self.seen = self.seen.max(now);
        let id = self.next[side as usize];
        self.next[side as usize] += 1;
        if self.bursts[side.other() as usize].is_empty() {
            return (id, self.append(side, Burst { id, ready, data, beats, entry: 0, start: 0 }));
        }
        self.settle(self.seen);
        self.bursts[side as usize].push_back(Burst { id, ready, data, beats, entry: 0, start: 0 });
        (id, self.arrange(side))
    }

    /// Adds a burst of the side that has the port to itself: it goes behind the side's others.
    #[inline(always)]
    fn append(&mut self, side: Side, mut burst: Burst) -> u64 {
        let own = &mut self.bursts[side as usize];
        let waiting = own.len() - self.entered[side as usize];
        let (before, entry) = match own.back() {
            Some(last) if waiting > 0 => (last.end(), last.entry),
            _ => (self.free_at, self.last_entry),
        };
        let room = match self.queue {
            0 => before,
            queue if queue <= waiting => own[own.len() - queue].start,
            queue => self.starts.back(queue - waiting),
        };
        burst.entry = burst.ready.max(room).max(entry);
        burst.start = burst.entry.max(before).max(burst.data);
        self.next_entry = self.next_entry.min(burst.entry);
        own.push_back(burst);
        burst.start
    }

    /// Gives the cycle a burst starts, as things stand; `None`: it was forgotten.
    pub fn start(&self, side: Side, id: BurstId) -> Option<u64> {
        self.find(side, id).map(|index| self.bursts[side as usize][index].start)
    }

    /// Gives the cycle a burst has gone through, as things stand; `None`: it was forgotten.
    #[inline]
    pub fn end(&self, side: Side, id: BurstId) -> Option<u64> {
        let index = self.find(side, id)?;
        Some(self.bursts[side as usize][index].end())
    }

    /// Gives the cycle, behind `after`, in which the first of the bursts comes in that are kept waiting
    /// in front of the port at cycle `at`; `None`: none is.
    pub fn next_admission(&self, at: u64, after: u64) -> Option<u64> {
        let from = at.max(after.saturating_add(1));
        let first = |bursts: &VecDeque<Burst>| {
            // They come in one after the other.
            let begun = bursts.partition_point(|burst| burst.entry < from);
            Some(bursts.range(begun..).find(|burst| burst.ready < at)?.entry)
        };
        let [stream, guest] = &self.bursts;
        first(stream).into_iter().chain(first(guest)).min()
    }

    /// Forgets a burst, which has started by cycle `now`, and those before it.
    pub fn forget(&mut self, now: u64, side: Side, id: BurstId) {
        self.seen = self.seen.max(now + 1);
        if !self.bursts[side.other() as usize].is_empty() {
            self.settle(self.seen);
        }
        let own = &mut self.bursts[side as usize];
        while let Some(&burst) = own.front().filter(|burst| burst.id <= id) {
            own.pop_front();
            if self.entered[side as usize] > 0 {
                self.entered[side as usize] -= 1;
                continue;
            }
            self.free_at = burst.end();
            self.starts.push(burst.start);
            (self.last, self.last_entry) = (side, burst.entry);
            self.next_entry = own.front().map_or(u64::MAX, |burst| burst.entry);
        }
    }

    /// Forgets every burst of a side that does not come any more.
    pub fn cancel(&mut self, side: Side) {
        self.settle(self.seen);
        self.bursts[side as usize].clear();
        self.entered[side as usize] = 0;
        self.note_next_entry();
    }

    #[inline]
    fn find(&self, side: Side, id: BurstId) -> Option<usize> {
        let bursts = &self.bursts[side as usize];
        let index = id.checked_sub(bursts.front()?.id)? as usize;
        (index < bursts.len()).then_some(index)
    }

    fn waiting(&self, side: Side) -> Option<&Burst> {
        self.bursts[side as usize].get(self.entered[side as usize])
    }

    fn next_start(&self, side: Side) -> u64 {
        self.waiting(side).map_or(u64::MAX, |burst| burst.start)
    }

    fn note_next_entry(&mut self) {
        let entry = |side| self.waiting(side).map_or(u64::MAX, |burst| burst.entry);
        self.next_entry = entry(Side::Stream).min(entry(Side::Guest));
    }

    /// Notes what has come in before cycle `now`.
    #[inline]
    fn settle(&mut self, now: u64) {
        while self.next_entry < now {
            let side = match self.next_start(Side::Stream) <= self.next_start(Side::Guest) {
                true => Side::Stream,
                false => Side::Guest,
            };
            let Some(&burst) = self.waiting(side) else { return };
            self.free_at = burst.end();
            self.starts.push(burst.start);
            (self.last, self.last_entry) = (side, burst.entry);
            self.entered[side as usize] += 1;
            self.note_next_entry();
        }
    }

    /// Puts the bursts that have not come in in order, after `side` got a new one; gives the start of
    /// that.
    fn arrange(&mut self, side: Side) -> u64 {
        let last = self.bursts[side as usize].len() - 1;
        let other = side.other();
        if self.waiting(other).is_none() {
            // Nobody to take turns with: behind one's own.
            let burst = self.bursts[side as usize].pop_back();
            return burst.map_or(0, |burst| self.append(side, burst));
        }
        let (mut free_at, mut starts) = (self.free_at, self.starts);
        let (mut went, mut last_entry) = (self.last, self.last_entry);
        let mut at = self.entered;
        loop {
            let room = if self.queue == 0 { free_at } else { starts.back(self.queue) };
            let ready = |side: Side| {
                let burst = self.bursts[side as usize].get(at[side as usize]);
                burst.map_or(u64::MAX, |burst| burst.ready.max(room).max(last_entry))
            };
            let turn = went.other();
            let next = if ready(turn) <= ready(went) { turn } else { went };
            let entry = ready(next);
            if entry == u64::MAX {
                self.note_next_entry();
                return self.bursts[side as usize][last].start;
            }
            let burst = &mut self.bursts[next as usize][at[next as usize]];
            burst.entry = entry;
            burst.start = entry.max(free_at).max(burst.data);
            free_at = burst.end();
            starts.push(burst.start);
            (went, last_entry) = (next, entry);
            at[next as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_side_alone_streams() {
        let mut port = TurnPort::default();
        let starts: Vec<u64> = (0..4).map(|_| port.book(0, Side::Stream, 4, 8).1).collect();
        assert_eq!(starts, [4, 12, 20, 28]);
    }

    /// Row from_host_l2-burst_1024: packets that come in and copies from the host take turns.
    #[test]
    fn both_sides_take_turns() {
        let mut port = TurnPort::default();
        let stream: Vec<BurstId> = (0..4).map(|_| port.book(0, Side::Stream, 0, 16).0).collect();
        let guests = [port.book(5, Side::Guest, 10, 16), port.book(5, Side::Guest, 10, 16)];
        assert_eq!(guests.map(|(_, start)| start), [16, 48]);
        let starts: Vec<_> = stream.iter().map(|&id| port.start(Side::Stream, id)).collect();
        assert_eq!(starts, [Some(0), Some(32), Some(64), Some(80)]);
        port.forget(49, Side::Guest, guests[1].0);
        assert_eq!(port.start(Side::Guest, guests[0].0), None);
        assert_eq!(port.end(Side::Stream, stream[3]), Some(96));
    }

    /// Behind the arbiter the order is sure: a guest comes behind what is there (row
    /// from_host_l2-burst_1024).
    #[test]
    fn a_guest_comes_behind_the_queue() {
        let mut port = TurnPort::with_queue(2);
        for _ in 0..6 {
            port.book(0, Side::Stream, 0, 8);
        }
        // One goes, two wait in order.
        assert_eq!(port.book(4, Side::Guest, 4, 8).1, 24);
        assert_eq!(port.book(4, Side::Guest, 4, 8).1, 40);
    }

    /// What waits in front of the port comes in as the queue moves on.
    #[test]
    fn admissions_are_those_of_waiting_bursts() {
        let mut port = TurnPort::with_queue(1);
        for _ in 0..4 {
            port.book(0, Side::Stream, 2, 8);
        }
        // One goes at 2, one waits in the queue; the others come in at 10 and 18.
        assert_eq!(port.next_admission(1, 0), None);
        assert_eq!(port.next_admission(3, 0), Some(10));
        assert_eq!(port.next_admission(3, 10), Some(18));
        assert_eq!(port.next_admission(19, 0), None);
    }

    /// Who is first in the queue and has no data keeps the port waiting.
    #[test]
    fn the_port_waits_for_data() {
        let mut port = TurnPort::with_queue(5);
        port.book(0, Side::Stream, 0, 4);
        assert_eq!(port.book_ahead(1, Side::Guest, (1, 20), 4).1, 20);
        assert_eq!(port.book(2, Side::Stream, 2, 4).1, 24);
    }

    /// Bursts never overlap, keep their side's order and start no earlier than they are ready.
    #[test]
    fn random_bursts_keep_the_rules() {
        let mut stream = crate::random::SplitMix64::new(1);
        let mut random = |below: u64| stream.draw() % below;
        let (mut port, mut now) = (TurnPort::default(), 0);
        let mut booked = Vec::new();
        for _ in 0..500 {
            now += random(6);
            let side = if random(2) == 0 { Side::Stream } else { Side::Guest };
            let (ready, beats) = (now + random(20), 1 + random(8));
            booked.push((side, port.book(now, side, ready, beats).0, ready, beats));
        }
        let start = |&(side, id, _, _): &_| port.start(side, id).expect("not forgotten");
        let mut times: Vec<_> = booked.iter().map(|one| (start(one), one.3)).collect();
        assert!(booked.iter().all(|one| start(one) >= one.2));
        times.sort_unstable();
        assert!(times.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
    }

    /// Noting what has started is put off; that changes nothing.
    #[test]
    fn starts_are_those_of_a_port_that_notes_them_at_once() {
        [0, 1, 5].into_iter().for_each(notes_late_as_at_once);
    }

    fn notes_late_as_at_once(queue: u32) {
        let mut stream = crate::random::SplitMix64::new(3);
        let mut random = |below: u64| stream.draw() % below;
        let (mut port, mut prompt, mut base) =
            (TurnPort::with_queue(queue), TurnPort::with_queue(queue), 0);
        let mut booked: [VecDeque<BurstId>; 2] = Default::default();
        for step in 0..100_000 {
            base += random(4); // the port is often idle, so that sides are alone
            // Who runs ahead comes with a later cycle than who comes next.
            let now = base + random(16);
            // Now and then nobody but the stream comes.
            let side = if step / 50 % 3 > 0 && random(3) == 0 { Side::Guest } else { Side::Stream };
            if random(3) == 0 {
                let (ready, beats) = (now + random(6), 1 + random(3));
                prompt.settle(now);
                let (id, start) = port.book(now, side, ready, beats);
                assert_eq!((id, start), prompt.book(now, side, ready, beats), "step {step}");
                booked[side as usize].push_back(id);
            } else if let Some(&id) = booked[side as usize].front()
                && prompt.start(side, id).is_some_and(|start| start <= now)
            {
                booked[side as usize].pop_front();
                port.forget(now, side, id);
                prompt.settle(now + 1);
                prompt.forget(now, side, id);
            } else if random(400) == 0 {
                booked[side as usize].clear();
                port.cancel(side);
                prompt.cancel(side);
            }
            for (side, ids) in [Side::Stream, Side::Guest].into_iter().zip(&booked) {
                for &id in ids {
                    assert_eq!(port.end(side, id), prompt.end(side, id), "step {step}");
                }
            }
        }
    }
}
