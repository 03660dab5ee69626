//! The time line: what happens when. In: things at times, in any order. Out: the earliest; of those
//! at the same time, the one that was asked for first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::world::Side;

/// Something that happens.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The run begins.
    Start { side: Side },
    /// A timer that an actor set is over.
    Timer { side: Side, token: u64 },
    /// A frame's last bit reaches the NIC.
    ToNic(Vec<u8>),
    /// A frame's last bit reaches the peer.
    ToPeer(Vec<u8>),
    /// A frame that no context matches goes to the host.
    ToHost(Vec<u8>),
    /// The NIC wrote host memory.
    HostWrite { address: u64, bytes: u32 },
}

/// Orders what happens.
#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    pushed: u64,
    now_ps: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    at_ps: u64,
    number: u64,
    what: What,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ps, self.number).cmp(&(other.at_ps, other.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Queue {
    /// Lets something happen; what lies in the past happens now.
    pub fn push(&mut self, at_ps: u64, what: What) {
        let at_ps = at_ps.max(self.now_ps);
        self.heap.push(Reverse(Entry { at_ps, number: self.pushed, what }));
        self.pushed += 1;
    }

    /// Gives when something happens next.
    pub fn next_ps(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(entry)| entry.at_ps)
    }

    /// Takes what happens next, and goes on to its time.
    pub fn pop(&mut self) -> Option<What> {
        let Reverse(entry) = self.heap.pop()?;
        self.now_ps = entry.at_ps;
        Some(entry.what)
    }

    /// Gives the time that it has come to.
    pub fn now_ps(&self) -> u64 {
        self.now_ps
    }
}
