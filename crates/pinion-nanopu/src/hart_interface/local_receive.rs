//! The local receive queues: the words that x30 reads (nanoPU paper, §2.2 and §3.4;
//! RTL RC/LNICQueues.scala).
//!
//! In: words from the global receive queues, one a cycle, each with the cycle in which it enters.
//! Out: the words, in order within a context; the last two can be given back. Holds a bounded number
//! of words for each context. A word that finds its context's queue full waits in front of it
//! until one is read.

use std::collections::VecDeque;

use crate::Cycle;
use crate::core::RETIRE;

/// Words that entered one after the other, a cycle each, and belong to one message.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Number of the first word, counted since the queue was made.
    first: u64,
    words: u32,
    /// Cycle in which the first of them enters.
    at: Cycle,
    /// Cycle in which the message's first word entered.
    stamp: Cycle,
    begins: bool,
    ends: bool,
}

impl Run {
    /// Gives the number of the word behind its last.
    fn end(&self) -> u64 {
        self.first + u64::from(self.words)
    }

    /// Gives the number of the word behind those that entered before cycle `at`.
    fn entered(&self, at: Cycle) -> u64 {
        self.first + at.saturating_sub(self.at).min(u64::from(self.words))
    }
}

/// Holds one context's words.
#[derive(Clone, Debug, Default)]
pub struct ContextQueue {
    /// Places of words that have come: all that came, until there are `places` of them.
    ring: Vec<u64>,
    /// Number of places in the end, a power of two, or 0.
    places: u32,
    /// Number of the word that is read next.
    head: u64,
    /// Number of the word that enters next.
    tail: u64,
    runs: VecDeque<Run>,
    /// The rest of the message that is entering is not wanted.
    skip: bool,
    /// Messages whose first word has been read.
    begun: u64,
    /// Messages the program said it is done with.
    finished: u64,
    /// Cycles of the last two reads, the last one first.
    reads: [Cycle; 2],
    /// First words of the last messages that were begun, the last one first, each with its number.
    starts: [(u64, u64); 3],
}

/// A message as far as its queue still holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastMessage {
    /// Word in front of the message: who sent it, and its length.
    pub application_header: u64,
    /// First words behind that, those that have come; none if newer ones lie in their place.
    pub words: Vec<u64>,
    /// The program said that it is done with it.
    pub is_done: bool,
}

impl ContextQueue {
    /// Makes room for `words` words, and two that have been read.
    pub fn allocate(&mut self, words: u32) {
        if self.places == 0 {
            self.places = (words + 4).next_power_of_two();
        }
    }

    /// Gives the place of a word of this number.
    fn place(&self, number: u64) -> usize {
        (number & u64::from(self.places - 1)) as usize
    }

    /// Counts the words that have been handed over and not read, entered or not.
    pub fn handed_over(&self) -> u32 {
        (self.tail - self.head) as u32
    }

    /// Takes words, the first of which enters in cycle `at`; `begins` marks a message's first word.
    /// Returns how many.
    pub fn push(&mut self, at: Cycle, begins: bool, words: impl Iterator<Item = u64>) -> u32 {
        let first = self.tail;
        for word in words {
            let place = self.place(self.tail);
            match self.ring.get_mut(place) {
                Some(old) => *old = word,
                None => self.ring.push(word),
            }
            self.tail += 1;
        }
        let n = (self.tail - first) as u32;
        match self.runs.back_mut().filter(|run| !begins && run.at + u64::from(run.words) == at) {
            Some(run) => run.words += n,
            None => {
                let stamp = self.runs.back().filter(|_| !begins).map_or(at, |run| run.stamp);
                let run = Run { first, words: n, at, stamp, begins, ends: false };
                self.runs.push_back(run);
            }
        }
        if self.skip {
            self.head = self.tail;
            self.forget();
        }
        n
    }

    /// Marks that the last word taken was a message's last.
    pub fn complete(&mut self) {
        if let Some(run) = self.runs.back_mut() {
            run.ends = true;
        }
        self.skip = false;
    }

    /// Counts the words that entered before cycle `at` and have not been read.
    pub fn count(&self, at: Cycle) -> u64 {
        if self.head == self.tail {
            return 0;
        }
        // Runs are in order of time: behind the last that has begun to enter, nothing has.
        let entered = self.runs.iter().rev().find(|run| run.at < at);
        entered.map_or(0, |run| run.entered(at).saturating_sub(self.head))
    }

    /// Gives the cycle in which the message entered whose word is read next, if that word entered
    /// before cycle `at`.
    pub fn head_stamp(&self, at: Cycle) -> Option<Cycle> {
        let run = self.runs.iter().find(|run| run.end() > self.head)?;
        (run.entered(at) > self.head).then_some(run.stamp)
    }

    /// Gives the first cycle from `from` on in which a word enters, of those handed over.
    pub fn next_entry(&self, from: Cycle) -> Option<Cycle> {
        let later = |run: &&Run| run.at + u64::from(run.words) > from;
        self.runs.iter().find(later).map(|run| run.at.max(from))
    }

    /// Reads the next word if it entered before cycle `now`.
    pub fn pop(&mut self, now: Cycle) -> Option<u64> {
        while let Some(run) = self.runs.front().filter(|run| run.end() + 2 <= self.head) {
            // Two words may be given back; what lies before is of no use.
            debug_assert!(run.words > 0);
            self.runs.pop_front();
        }
        let run = self.runs.iter().find(|run| run.end() > self.head)?;
        if run.entered(now) <= self.head {
            return None;
        }
        let word = self.ring[self.place(self.head)];
        if run.begins && run.first == self.head {
            self.begun += 1;
            self.starts = [(self.head, word), self.starts[0], self.starts[1]];
        }
        self.head += 1;
        self.reads = [now, self.reads[0]];
        Some(word)
    }

    /// Gives the next word if it entered before cycle `now`, and leaves it there.
    pub fn head_word(&self, now: Cycle) -> Option<u64> {
        (self.count(now) > 0).then(|| self.ring[self.place(self.head)])
    }

    /// Counts the messages that were begun, if the word that was read last, in `now`, began one.
    pub fn has_just_begun(&self, now: Cycle) -> Option<u64> {
        let is_first = self.reads[0] == now && self.starts[0].0 + 1 == self.head;
        (is_first && self.begun > 0).then_some(self.begun)
    }

    /// Gives the last `words` words (at most two) back.
    pub fn unread(&mut self, words: u64) {
        for _ in 0..words.min(self.head) {
            self.head -= 1;
            if self.begins(self.head) {
                self.begun -= 1;
                self.starts = [self.starts[1], self.starts[2], (0, 0)];
            }
            self.reads = [self.reads[1], 0];
        }
    }

    /// Ends the message that is being read, by an instruction that retires in `now`: throws away
    /// what is left of it. Returns how many words that were, or `None` if no message has been begun
    /// since the last ended.
    pub fn end_message(&mut self, now: Cycle) -> Option<u64> {
        // Later instructions may have read words of the next message before this one retires.
        let younger = self.reads.iter().filter(|&&read| read + RETIRE > now).count() as u64;
        let head = self.head.saturating_sub(younger);
        let begun = self.begun - (head..self.head).filter(|&word| self.begins(word)).count() as u64;
        if self.finished >= begun {
            return None;
        }
        self.finished += 1;
        let mut end = head;
        let mut ended = self.begins(head);
        for run in self.runs.iter().filter(|run| run.end() > head) {
            if ended || run.begins && run.first > head {
                ended = true;
                break;
            }
            end = run.end();
            ended = run.ends;
        }
        // Words that have not come yet are thrown away when they do.
        self.skip = !ended && self.runs.back().is_some_and(|run| !run.ends);
        let left = end.saturating_sub(self.head);
        self.head += left;
        Some(left)
    }

    /// Counts the messages that the program said it is done with, or forgot.
    pub fn ended(&self) -> u64 {
        self.finished
    }

    /// Gives the message whose first word was read last, with at most `words` words.
    pub fn last_message(&self, words: u64) -> Option<LastMessage> {
        let (number, application_header) = self.starts[0];
        if self.begun == 0 {
            return None;
        }
        let size = u64::from(self.places);
        let length = u64::from(application_header as u16).div_ceil(8);
        let first = number + 1;
        let end = (first + length.min(words)).min(self.tail);
        let is_there = self.tail - first <= size;
        let held = (first..end).filter(|_| is_there);
        Some(LastMessage {
            application_header,
            words: held.map(|word| self.ring[self.place(word)]).collect(),
            is_done: self.finished >= self.begun,
        })
    }

    /// Tells whether a word is a message's first.
    fn begins(&self, word: u64) -> bool {
        self.runs.iter().any(|run| run.begins && run.first == word)
    }

    /// Forgets what entered: the context has been bound anew.
    pub fn clear(&mut self) {
        self.head = self.tail;
        self.finished = self.begun;
        self.forget();
    }

    /// Forgets runs that have been read, but for the message that is entering.
    fn forget(&mut self) {
        while self.runs.len() > 1 {
            self.runs.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> ContextQueue {
        let mut queue = ContextQueue::default();
        queue.allocate(512);
        queue
    }

    #[test]
    fn words_can_be_read_in_the_cycle_after_they_entered() {
        let mut queue = queue();
        assert_eq!(queue.push(10, true, [7, 8, 9].into_iter()), 3);
        queue.complete();
        assert_eq!([10, 11, 12, 13, 99].map(|at| queue.count(at)), [0, 1, 2, 3, 3]);
        assert_eq!(queue.pop(10), None);
        assert_eq!([10, 11, 11].map(|now| queue.head_word(now)), [None, Some(7), Some(7)]);
        assert_eq!((queue.pop(11), queue.pop(11), queue.pop(12)), (Some(7), None, Some(8)));
        assert_eq!((queue.count(13), queue.handed_over()), (1, 1));
    }

    #[test]
    fn messages_that_are_still_to_come_do_not_count() {
        let mut queue = queue();
        queue.push(100, true, 0..3);
        queue.complete();
        queue.push(110, true, 0..3);
        queue.complete();
        let counts = [50, 101, 104, 110, 112, 120].map(|at| queue.count(at));
        assert_eq!(counts, [0, 1, 3, 3, 5, 6]);
    }

    #[test]
    fn two_words_can_be_given_back() {
        let mut queue = queue();
        queue.push(1, true, 0..3);
        queue.complete();
        queue.push(4, true, 10..13);
        queue.complete();
        let read = |queue: &mut ContextQueue, n| -> Vec<_> {
            (0..n).filter_map(|_| queue.pop(100)).collect()
        };
        assert_eq!(read(&mut queue, 4), [0, 1, 2, 10]);
        queue.unread(2);
        assert_eq!(queue.head_stamp(100), Some(1));
        assert_eq!(read(&mut queue, 4), [2, 10, 11, 12]);
        assert_eq!(queue.begun, 2);
    }

    #[test]
    fn the_last_message_is_known_until_its_words_are_overwritten() {
        let mut queue = queue();
        assert_eq!(queue.last_message(8), None);
        let header = 0x0a00_0001_0003_0014; // 20 bytes
        queue.push(1, true, [header, 1, 2, 3].into_iter());
        queue.complete();
        assert_eq!(queue.last_message(8), None, "nobody has begun it");
        assert_eq!(queue.pop(100), Some(header));
        let message = queue.last_message(8).unwrap();
        assert_eq!((message.words, message.is_done), (vec![1, 2, 3], false));
        assert_eq!(queue.last_message(2).unwrap().words, [1, 2]);
        queue.unread(1);
        assert_eq!(queue.last_message(8), None, "given back");
        queue.pop(100);
        assert_eq!(queue.end_message(104), Some(3));
        assert!(queue.last_message(8).unwrap().is_done);
        for at in 0..3 {
            queue.push(200 + 400 * at, true, 0..400);
            queue.complete();
            queue.head = queue.tail;
        }
        let message = queue.last_message(8).unwrap();
        assert_eq!((message.application_header, message.words), (header, vec![]));
    }

    #[test]
    fn a_message_may_be_begun_before_the_end_of_the_last_retires() {
        let mut queue = queue();
        queue.push(1, true, 0..3);
        queue.complete();
        queue.push(4, true, 10..13);
        queue.complete();
        assert_eq!((queue.pop(20), queue.pop(21), queue.pop(22)), (Some(0), Some(1), Some(2)));
        // Message-done decodes in 23 and retires in 26; the next read follows it at once.
        assert_eq!(queue.pop(24), Some(10));
        assert_eq!((queue.end_message(26), queue.handed_over()), (Some(0), 2));
        assert_eq!((queue.end_message(30), queue.handed_over()), (Some(2), 0));
        assert_eq!(queue.end_message(31), None);
    }

    #[test]
    fn the_rest_of_a_message_is_thrown_away_at_its_end() {
        let mut queue = queue();
        queue.push(1, true, 0..3);
        queue.complete();
        queue.push(4, true, 10..12);
        assert_eq!(queue.end_message(60), None, "no message has been begun");
        assert_eq!(queue.pop(50), Some(0));
        assert_eq!(queue.end_message(60), Some(2));
        assert_eq!(queue.pop(50), Some(10));
        assert_eq!(queue.end_message(60), Some(1));
        queue.push(9, false, 12..14);
        queue.complete();
        assert_eq!(queue.pop(50), None, "words that come later belong to it too");
        queue.push(20, true, 20..21);
        queue.complete();
        assert_eq!((queue.pop(50), queue.end_message(60)), (Some(20), Some(0)));
        assert_eq!(queue.handed_over(), 0);
    }
}
