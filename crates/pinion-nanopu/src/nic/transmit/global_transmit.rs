//! The global transmit queues: words written to x31, on their way to packetization (nanoPU paper,
//! §2.2; RTL LNIC/TxQueues).
//!
//! In: 64-bit words with their hart and context. Out: which word packetization takes next. Holds
//! one queue per hart, shared by its contexts. One word goes per cycle, of the lowest-numbered hart
//! that has one; a word of another message than the one before waits a cycle for that message's
//! state, unless it is a header word, which has none.
//!
//! Each context's words are kept apart, so that with the fix `head_of_line` a context that waits for
//! a buffer does not hold up the others; otherwise a hart's words go in the order written.

use std::collections::VecDeque;

use crate::Cycle;
use crate::machine::transmit::TransmitFixes;

/// Most harts, and most contexts of a hart.
pub const MOST: usize = 64;

/// Names a sequence of messages: those of one context on one hart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream(u16);

impl Stream {
    /// Names the messages that `context` writes on `hart`; both are below [`MOST`].
    pub fn new(hart: usize, context: usize) -> Self {
        debug_assert!(hart < MOST && context < MOST);
        Self((hart * MOST + context) as u16)
    }

    /// Tells which hart writes it.
    pub fn hart(self) -> usize {
        usize::from(self.0) / MOST
    }

    /// Tells which context writes it.
    pub fn context(self) -> usize {
        usize::from(self.0) % MOST
    }

    /// Gives its place in a table of [`MOST`] entries per hart.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Holds a word and when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// What was written.
    pub value: u64,
    /// When.
    pub at: Cycle,
}

/// Says why a word does not enter its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotQueued {
    /// The NIC does not know the hart or the context.
    Unknown,
    /// The hart's queue is full.
    Full,
}

/// Says what the next word of a stream meets in packetization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It is a header word and may go in.
    Header,
    /// It belongs to a message that is being written.
    Data,
    /// It is a header word that has to wait for a buffer.
    Wait,
}

/// Says what happens in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This word of this stream goes.
    Take(Stream, Word),
    /// The state of another message is being read: nothing goes.
    Switch,
    /// All that could go has to wait.
    Blocked,
    /// No word is there.
    Empty,
}

/// Holds the queues of all harts.
#[derive(Clone, Debug)]
pub struct GlobalTransmit {
    capacity: usize,
    contexts: usize,
    latency: u64,
    words: Vec<Vec<VecDeque<Word>>>,
    /// Words that wait, by hart.
    waiting: Vec<usize>,
    /// By hart: contexts that have words.
    ready: Vec<u64>,
    /// Harts that have words.
    harts_ready: u64,
    /// The stream whose state was read last.
    selected: Option<Stream>,
    head_of_line: bool,
    /// Full queues take words all the same, and tell.
    unlimited: bool,
    /// With that, by hart: when the words that wait were written.
    written: Vec<VecDeque<Cycle>>,
    overflow: Option<Cycle>,
    /// Earliest cycle in which something may go.
    next: Option<Cycle>,
    /// The last cycle that was decided.
    decided: Cycle,
}

/// Lists the numbers of the bits set in `mask`.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

impl GlobalTransmit {
    /// Makes empty queues of `capacity` words for `harts` harts (at most 64) of `contexts` contexts
    /// (at most 64); a word takes `latency` cycles.
    ///
    /// # Panics
    /// If there are none or more than 64 harts or contexts.
    pub fn new(
        harts: usize,
        contexts: usize,
        capacity: usize,
        latency: u64,
        fixes: TransmitFixes,
    ) -> Self {
        assert!((1..=MOST).contains(&harts) && (1..=MOST).contains(&contexts), "up to 64 of each");
        Self {
            capacity,
            contexts,
            latency,
            words: vec![Vec::new(); harts],
            waiting: vec![0; harts],
            ready: vec![0; harts],
            harts_ready: 0,
            selected: None,
            head_of_line: fixes.head_of_line,
            unlimited: !fixes.tx_queue_full,
            written: vec![VecDeque::new(); harts],
            overflow: None,
            next: None,
            decided: 0,
        }
    }

    /// Takes a word that a hart writes; gives its stream and the words of it that wait.
    ///
    /// # Errors
    /// [`NotQueued`] says why it does not.
    pub fn push(
        &mut self,
        hart: u8,
        context: u16,
        word: Word,
    ) -> Result<(Stream, usize), NotQueued> {
        let (h, c) = (usize::from(hart), usize::from(context));
        if h >= self.waiting.len() || c >= self.contexts {
            return Err(NotQueued::Unknown);
        }
        if self.unlimited {
            self.written[h].push_back(word.at);
        } else if self.waiting[h] >= self.capacity {
            return Err(NotQueued::Full);
        }
        let stream = Stream::new(h, c);
        let known = self.words[h].len();
        self.words[h].resize_with(known.max(c + 1), VecDeque::new);
        let queue = &mut self.words[h][c];
        queue.push_back(word);
        let waiting = queue.len();
        self.waiting[h] += 1;
        self.ready[h] |= 1 << c;
        self.harts_ready |= 1 << h;
        let goes = (word.at + self.latency).max(self.decided + 1);
        self.next = Some(self.next.map_or(goes, |next| next.min(goes)));
        Ok((stream, waiting))
    }

    /// Counts the words that a hart can still write.
    pub fn room(&self, hart: u8) -> usize {
        self.waiting
            .get(usize::from(hart))
            .map_or(0, |waiting| self.capacity.saturating_sub(*waiting))
    }

    /// Counts the words that wait, of all harts.
    pub fn waiting(&self) -> usize {
        self.waiting.iter().sum()
    }

    /// Gives the first word of a stream.
    pub fn front(&self, stream: Stream) -> Option<&Word> {
        self.words[stream.hart()].get(stream.context())?.front()
    }

    /// Gives the word `ahead` places behind a stream's first.
    pub fn peek(&self, stream: Stream, ahead: usize) -> Option<&Word> {
        self.words[stream.hart()].get(stream.context())?.get(ahead)
    }

    /// Gives the first words of all streams that have any.
    fn fronts(&self) -> impl Iterator<Item = &Word> {
        self.streams().filter_map(|stream| self.front(stream))
    }

    /// Lists the streams that have words.
    pub fn streams(&self) -> impl Iterator<Item = Stream> + '_ {
        bits(self.harts_ready)
            .flat_map(move |hart| bits(self.ready[hart]).map(move |c| Stream::new(hart, c)))
    }

    /// Tells whether a hart's queue is three quarters full.
    pub fn crowded(&self, hart: usize) -> bool {
        self.waiting[hart] * 4 > self.capacity * 3
    }

    /// Tells when [`step`](Self::step) is due.
    pub fn next(&self) -> Option<Cycle> {
        self.next
    }

    /// Hears that a buffer came free in cycle `at`: waiting header words may try again.
    pub fn buffer_free(&mut self, at: Cycle) {
        if self.harts_ready != 0 {
            let goes = (at + 1).max(self.decided + 1);
            self.next = Some(self.next.map_or(goes, |next| next.min(goes)));
        }
    }

    /// Decides what happens in cycle `at`; `gate` says what a stream's first word meets.
    pub fn step(&mut self, at: Cycle, gate: impl FnMut(Stream, u64) -> Gate) -> Step {
        self.decided = at;
        let step = self.choose(at, gate);
        match step {
            Step::Take(stream, _) => {
                self.selected = Some(stream);
                self.pop(stream, at);
                self.next = self.first_after(at);
            }
            Step::Switch => self.next = Some(at + 1),
            // Those that were there in this cycle wait to be told of a buffer.
            Step::Blocked | Step::Empty => self.next = self.first_written_after(at),
        }
        step
    }

    /// Takes up to `most` further words of the message whose word went last, as long as nothing can
    /// go between them and they go by cycle `until`. Gives each with its cycle to `take`, and
    /// counts them.
    pub fn follow(
        &mut self,
        stream: Stream,
        until: Cycle,
        most: usize,
        mut take: impl FnMut(Cycle, u64),
    ) -> usize {
        let (hart, context) = (stream.hart(), stream.context());
        let first = self.harts_ready.trailing_zeros() as usize == hart;
        if !first || self.ready[hart] != 1 << context {
            return 0;
        }
        let alone = self.harts_ready == 1 << hart;
        let mut taken = 0;
        while taken < most
            && let Some(&word) = self.front(stream)
        {
            let soonest = self.decided + 1;
            let at = soonest.max(word.at + self.latency);
            if at > until || at > soonest && !alone {
                break;
            }
            self.words[hart][context].pop_front();
            self.decided = at;
            taken += 1;
            if self.unlimited {
                self.note_overflow(hart, at);
                self.written[hart].pop_front();
            }
            take(at, word.value);
        }
        self.waiting[hart] -= taken;
        self.note_empty(stream);
        self.next = self.first_after(self.decided);
        taken
    }

    /// Tells when a hart wrote a word into a full queue, if one did up to cycle `now`, by which all
    /// that is due has been done.
    pub fn overflow(&mut self, now: Cycle) -> Option<Cycle> {
        for hart in bits(self.harts_ready) {
            self.note_overflow(hart, now);
        }
        self.overflow
    }

    /// Removes the first word of a stream in cycle `at`.
    fn pop(&mut self, stream: Stream, at: Cycle) {
        let hart = stream.hart();
        self.words[hart][stream.context()].pop_front();
        self.waiting[hart] -= 1;
        self.note_empty(stream);
        if self.unlimited {
            self.note_overflow(hart, at);
            self.written[hart].pop_front();
        }
    }

    /// Notes if a stream has no more words.
    fn note_empty(&mut self, stream: Stream) {
        let hart = stream.hart();
        if self.front(stream).is_none() {
            self.ready[hart] &= !(1 << stream.context());
            if self.ready[hart] == 0 {
                self.harts_ready &= !(1 << hart);
            }
        }
    }

    /// Notes that a hart wrote a word too many up to cycle `at`; a place comes free a cycle later.
    fn note_overflow(&mut self, hart: usize, at: Cycle) {
        if let Some(&written) = self.written[hart].get(self.capacity)
            && written <= at
        {
            self.overflow = Some(self.overflow.map_or(written, |first| first.min(written)));
        }
    }

    /// Finds the word to go: the lowest hart's, and of its contexts the one written first.
    fn choose(&mut self, at: Cycle, mut gate: impl FnMut(Stream, u64) -> Gate) -> Step {
        let mut blocked = false;
        for hart in bits(self.harts_ready) {
            let mut left = self.ready[hart];
            while let Some((stream, word)) = self.oldest(hart, left) {
                if word.at + self.latency > at {
                    break;
                }
                match gate(stream, word.value) {
                    Gate::Header => return Step::Take(stream, word),
                    Gate::Data if self.selected == Some(stream) => return Step::Take(stream, word),
                    Gate::Data => {
                        self.selected = Some(stream);
                        return Step::Switch;
                    }
                    Gate::Wait if self.head_of_line => blocked = true,
                    Gate::Wait => return Step::Blocked,
                }
                left &= !(1 << stream.context());
            }
        }
        if blocked { Step::Blocked } else { Step::Empty }
    }

    /// Finds the word of a hart that was written first, of the contexts in `mask`.
    fn oldest(&self, hart: usize, mask: u64) -> Option<(Stream, Word)> {
        let front = |context| {
            let stream = Stream::new(hart, context);
            (stream, self.words[hart][context][0])
        };
        if mask.is_power_of_two() {
            return Some(front(mask.trailing_zeros() as usize));
        }
        bits(mask).map(front).min_by_key(|(_, word)| word.at)
    }

    /// Finds the first cycle after `at` in which a word is there.
    fn first_after(&self, at: Cycle) -> Option<Cycle> {
        let first = self.fronts().map(|word| word.at + self.latency).min()?;
        Some(first.max(at + 1))
    }

    /// Finds the first cycle after `at` in which a word becomes a stream's first.
    fn first_written_after(&self, at: Cycle) -> Option<Cycle> {
        self.fronts().map(|word| word.at + self.latency).filter(|&there| there > at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(harts: usize, fixes: TransmitFixes) -> GlobalTransmit {
        GlobalTransmit::new(harts, 4, 8, 1, fixes)
    }

    /// Steps until nothing is due; header words are those below 10.
    fn run(queues: &mut GlobalTransmit, open: impl Fn(Stream) -> bool) -> Vec<(Cycle, u64)> {
        let mut taken = Vec::new();
        while let Some(at) = queues.next() {
            let gate = |stream, value| match value {
                0..10 if open(stream) => Gate::Header,
                0..10 => Gate::Wait,
                _ => Gate::Data,
            };
            if let Step::Take(_, word) = queues.step(at, gate) {
                taken.push((at, word.value));
            }
        }
        taken
    }

    #[test]
    fn the_lowest_hart_goes_first_and_another_message_costs_a_cycle() {
        let mut queues = queues(4, TransmitFixes::NONE);
        // The cycles are those of a run on the RTL (echo4_8B_backtoback).
        let words = [
            (0, 1, 34),
            (1, 2, 45),
            (0, 10, 56),
            (2, 3, 56),
            (3, 4, 64),
            (1, 11, 67),
            (0, 5, 73),
            (2, 12, 78),
            (0, 13, 79),
            (3, 14, 88),
            (1, 6, 90),
            (0, 7, 92),
            (1, 15, 96),
            (0, 16, 98),
        ];
        for (hart, value, at) in words {
            queues.push(hart, 0, Word { value, at }).unwrap();
        }
        let taken = [
            (35, 1),
            (46, 2),
            (58, 10),
            (59, 3),
            (65, 4),
            (69, 11),
            (74, 5),
            (81, 13),
            (83, 12),
            (90, 14),
            (91, 6),
            (93, 7),
            (98, 15),
            (100, 16),
        ];
        assert_eq!(run(&mut queues, |_| true), taken);
    }

    #[test]
    fn a_header_that_waits_holds_up_everybody_or_with_the_fix_only_its_context() {
        for (fixes, taken) in
            [(TransmitFixes::NONE, vec![]), (TransmitFixes::ALL, vec![(7, 2), (8, 3)])]
        {
            let mut queues = queues(2, fixes);
            queues.push(0, 0, Word { value: 1, at: 5 }).unwrap();
            queues.push(0, 1, Word { value: 2, at: 6 }).unwrap();
            queues.push(1, 0, Word { value: 3, at: 7 }).unwrap();
            assert_eq!(run(&mut queues, |stream| stream != Stream::new(0, 0)), taken);
            queues.buffer_free(20);
            assert_eq!(run(&mut queues, |_| true)[0], (21, 1));
            assert_eq!(queues.waiting(), 0);
        }
    }

    #[test]
    fn a_full_queue_refuses_words_or_without_the_fix_tells_when_it_overflowed() {
        let mut limited = queues(1, TransmitFixes::ALL);
        let mut rtl = queues(1, TransmitFixes::NONE);
        for at in 0..10 {
            let word = Word { value: 1, at };
            assert_eq!(limited.push(0, 0, word).is_ok(), at < 8);
            rtl.push(0, 0, word).unwrap();
        }
        assert_eq!(limited.room(0), 0);
        run(&mut rtl, |_| false);
        assert_eq!(rtl.overflow(9), Some(8));
        assert_eq!(limited.push(1, 0, Word { value: 1, at: 0 }), Err(NotQueued::Unknown));
        assert_eq!(limited.push(0, 4, Word { value: 1, at: 0 }), Err(NotQueued::Unknown));
    }

    #[test]
    fn a_queue_that_empties_as_fast_as_it_fills_does_not_overflow() {
        let mut rtl = queues(1, TransmitFixes::NONE);
        for at in 0..100 {
            rtl.push(0, 0, Word { value: 1, at }).unwrap();
        }
        assert_eq!(run(&mut rtl, |_| true).len(), 100);
        assert_eq!(rtl.overflow(100), None);
    }
}
