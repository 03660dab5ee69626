//! Global receive queues: whole messages that wait for a hart (nanoPU paper, §2.2; RTL
//! LNIC/RxQueues.scala).
//!
//! In: complete messages from reassembly, 64 B a cycle. Out: the same words, in order within a lane,
//! to whoever dispatches them. Holds a bounded number of 64 B words for each context. A word waits
//! while its context has its share.
//!
//! Words leave at cycles that are known when a message is dispatched, one every eight; a queue
//! remembers those ([`Drain`]) and so knows how full it looks in any cycle.

use std::collections::VecDeque;

use super::core_selection::Lane;
use super::reassembly::WORDS;
use crate::Cycle;
use crate::machine::receive::GlobalReceiveSection;

/// Cycles that a 64 B word takes on its way to a hart, 8 B a cycle.
pub const NARROW_CYCLES: Cycle = WORDS as Cycle;

/// A message in a lane.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// Its number.
    pub number: u64,
    /// The word an application reads first.
    pub application_header: u64,
    /// 64-bit words of payload.
    pub words: u32,
    /// 64 B words of it that have been stored.
    pub stored: u32,
    /// Packets it came in, for the books.
    pub packets: u8,
}

/// 64 B words that leave a queue, one every [`NARROW_CYCLES`].
#[derive(Clone, Copy, Debug)]
struct Drain {
    next: Cycle,
    left: u32,
}

/// How full a context's queues are.
#[derive(Clone, Debug, Default)]
struct Fill {
    words: u32,
    drains: VecDeque<Drain>,
}

/// A queue of messages of one context.
#[derive(Clone, Debug, Default)]
struct LaneQueue {
    messages: VecDeque<Queued>,
    words: VecDeque<u64>,
}

/// Holds the queues of all contexts.
#[derive(Clone, Debug)]
pub struct GlobalReceive {
    lanes: Vec<LaneQueue>,
    fills: Vec<Fill>,
    context_words: u32,
    /// Words of all together, if the contexts' shares exceed them.
    words: Option<u32>,
}

impl GlobalReceive {
    /// Makes empty queues.
    pub fn new(section: &GlobalReceiveSection, lanes_per_context: usize) -> Self {
        let contexts = usize::from(section.contexts);
        let shares = u64::from(section.context_words) * contexts as u64;
        Self {
            lanes: (0..contexts * lanes_per_context).map(|_| LaneQueue::default()).collect(),
            fills: (0..contexts).map(|_| Fill::default()).collect(),
            context_words: section.context_words,
            words: Some(section.words).filter(|&words| u64::from(words) < shares),
        }
    }

    /// Counts the 64 B words that a context may store from cycle `at` on.
    pub fn room(&mut self, context: u16, at: Cycle) -> u32 {
        let mut room = self.context_words.saturating_sub(self.fill(context, at));
        if let Some(words) = self.words {
            let all: u32 = (0..self.fills.len()).map(|context| self.fill(context as u16, at)).sum();
            room = room.min(words.saturating_sub(all));
        }
        room
    }

    /// Gives the next cycle after `at` in which there is room that there is not now, if it is
    /// known.
    pub fn next_room(&self, context: u16) -> Option<Cycle> {
        let next = |fill: &Fill| fill.drains.front().map(|drain| drain.next + 1);
        match self.words {
            None => next(&self.fills[usize::from(context)]),
            Some(_) => self.fills.iter().filter_map(next).min(),
        }
    }

    /// Begins a message in a lane; its words follow.
    pub fn begin(&mut self, lane: Lane, message: Queued) {
        self.lanes[lane as usize].messages.push_back(message);
    }

    /// Stores the next 64 B words of the message at a lane's end.
    pub fn store(&mut self, lane: Lane, context: u16, words: &[u64]) {
        let wide = words.len().div_ceil(WORDS) as u32;
        self.fills[usize::from(context)].words += wide;
        let lane = &mut self.lanes[lane as usize];
        lane.words.extend(words);
        if let Some(message) = lane.messages.back_mut() {
            message.stored += wide;
        }
    }

    /// Gives the message at a lane's head.
    pub fn head(&self, lane: Lane) -> Option<&Queued> {
        self.lanes[lane as usize].messages.front()
    }

    /// Takes the message at a lane's head off, all of whose words have been taken.
    pub fn finish(&mut self, lane: Lane) {
        self.lanes[lane as usize].messages.pop_front();
    }

    /// Takes 64-bit words off a lane's head.
    pub fn take(&mut self, lane: Lane, words: usize) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.lanes[lane as usize].words.drain(..words)
    }

    /// Enters that `count` 64 B words of a context leave, the first in cycle `first`.
    pub fn drain(&mut self, context: u16, first: Cycle, count: u32) {
        if count > 0 {
            self.fills[usize::from(context)].drains.push_back(Drain { next: first, left: count });
        }
    }

    /// Counts the packets of all messages that wait.
    #[cfg(test)]
    pub fn packets(&self) -> u64 {
        let messages = self.lanes.iter().flat_map(|lane| &lane.messages);
        messages.map(|message| u64::from(message.packets)).sum()
    }

    /// Counts a context's words as they look in cycle `at`: those that left before are gone.
    pub fn fill(&mut self, context: u16, at: Cycle) -> u32 {
        let fill = &mut self.fills[usize::from(context)];
        while let Some(drain) = fill.drains.front_mut().filter(|drain| drain.next < at) {
            let gone = (at - 1 - drain.next) / NARROW_CYCLES + 1;
            let gone = gone.min(drain.left.into()) as u32;
            fill.words -= gone;
            drain.left -= gone;
            drain.next += NARROW_CYCLES * Cycle::from(gone);
            if drain.left == 0 {
                fill.drains.pop_front();
            } else {
                break;
            }
        }
        fill.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(words: u32) -> GlobalReceive {
        let section = GlobalReceiveSection {
            contexts: 4,
            words,
            context_words: 64,
            notice_cycles: 1,
            read_cycles: 1,
            done_cycles: 2,
        };
        GlobalReceive::new(&section, 1)
    }

    fn message(words: u32) -> Queued {
        Queued { number: 0, application_header: 1, words, stored: 0, packets: 1 }
    }

    #[test]
    fn words_come_back_in_order_and_room_with_them() {
        let mut unit = queues(256);
        unit.begin(2, message(20));
        let words: Vec<u64> = (0..20).collect();
        unit.store(2, 2, &words);
        assert_eq!(unit.head(2).map(|m| (m.stored, m.words)), Some((3, 20)));
        assert_eq!((unit.room(2, 100), unit.room(1, 100)), (61, 64));
        unit.drain(2, 110, 3);
        assert!(unit.take(2, 20).eq(words));
        assert_eq!([unit.room(2, 110), unit.room(2, 111), unit.room(2, 118)], [61, 62, 62]);
        assert_eq!(unit.next_room(2), Some(119));
        assert_eq!([unit.room(2, 119), unit.room(2, 127)], [63, 64]);
        assert_eq!(unit.packets(), 1);
        unit.finish(2);
        assert!(unit.head(2).is_none() && unit.next_room(2).is_none());
    }

    #[test]
    fn contexts_may_share_less_than_the_sum_of_their_shares() {
        let mut unit = queues(80);
        unit.store(0, 0, &[0; 60 * WORDS]);
        assert_eq!(unit.room(1, 0), 20);
        unit.drain(0, 5, 1);
        assert_eq!(unit.next_room(1), Some(6));
        assert_eq!(unit.room(1, 6), 21);
    }
}
