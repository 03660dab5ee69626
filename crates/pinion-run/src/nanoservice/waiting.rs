//! Requests that wait for an answer, in the order in which they came, by what tells them apart. Nearly always
//! they come from one peer, or one waits at a time: those of one key are kept where nothing has to be looked
//! up.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use pinion_nanopu::Cycle;

/// Bounds the requests of one key; some get no answer.
const MOST_WAITING: usize = 1 << 16;

/// Names a request: by peer, its port, the node's context and, where it tells, a word.
pub type Key = (u32, u16, u16, u64);

/// A request: the id of its message, and when it arrived.
pub type Request = (u16, Cycle);

/// Holds requests.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The key of some of them, and those.
    near: (Key, Queue),
    /// The others, by key; none of them is the key of those that are near.
    others: HashMap<Key, Queue>,
}

/// Requests of one key; of a single one nothing is allocated.
#[derive(Debug, Default)]
struct Queue {
    first: Option<Request>,
    rest: VecDeque<Request>,
}

impl Waiting {
    /// Has a request wait; `is_again` tells whether it is the last one of its key, again.
    #[inline]
    pub fn put(&mut self, key: Key, request: Request, is_again: impl Fn(&Request) -> bool) {
        let (near, queue) = &mut self.near;
        if *near != key && queue.first.is_none() && self.others.is_empty() {
            *near = key;
        }
        let queue = if *near == key { queue } else { self.others.entry(key).or_default() };
        queue.put(request, is_again);
    }

    /// Takes the oldest request of a key.
    #[inline]
    pub fn take(&mut self, key: Key) -> Option<Request> {
        if self.near.0 == key {
            return self.near.1.take();
        }
        if self.others.is_empty() {
            return None;
        }
        let Entry::Occupied(mut queue) = self.others.entry(key) else { return None };
        let request = queue.get_mut().take();
        if queue.get().first.is_none() {
            queue.remove();
        }
        request
    }
}

impl Queue {
    #[inline]
    fn put(&mut self, request: Request, is_again: impl Fn(&Request) -> bool) {
        match &self.first {
            None => self.first = Some(request),
            Some(first) => {
                let last = self.rest.back().unwrap_or(first);
                if !is_again(last) && self.rest.len() + 1 < MOST_WAITING {
                    self.rest.push_back(request);
                }
            }
        }
    }

    #[inline]
    fn take(&mut self) -> Option<Request> {
        let oldest = self.first.take()?;
        self.first = self.rest.pop_front();
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Key = (1, 2, 3, 0);
    const B: Key = (1, 2, 4, 0);

    #[test]
    fn the_oldest_of_a_key_is_answered_first() {
        let mut waiting = Waiting::default();
        let (again, never) = (|_: &Request| true, |_: &Request| false);
        assert_eq!(waiting.take(A), None);
        for (key, request) in [(A, (1, 10)), (B, (2, 20)), (A, (3, 30)), (B, (4, 40))] {
            waiting.put(key, request, never);
        }
        waiting.put(B, (4, 50), again);
        assert_eq!(waiting.take(B), Some((2, 20)));
        assert_eq!(
            [waiting.take(A), waiting.take(A), waiting.take(A)],
            [Some((1, 10)), Some((3, 30)), None]
        );
        // The other one is not forgotten where the first one's place is free.
        waiting.put(A, (5, 60), never);
        assert_eq!(
            [waiting.take(B), waiting.take(B), waiting.take(A)],
            [Some((4, 40)), None, Some((5, 60))]
        );
        waiting.put(B, (6, 70), again);
        assert_eq!(waiting.take(B), Some((6, 70)), "nothing was there that it could be again");
        assert!(waiting.others.is_empty());
    }
}
