//! Messages as a program reads and writes them: words of x30 against what a header announced, words of
//! x31 against what the program did.

use std::collections::VecDeque;

use pinion_nanopu::Cycle;
use pinion_observe::check::{Deed, Kind};

use super::hart::Taken;
use super::{NanoChecker, Step};

/// Number of the register that takes words.
pub const RECEIVE: u8 = 30;
/// Number of the register that sends words.
pub const SEND: u8 = 31;

/// Messages that a hart may be at, at most: one that waits for the answer to another it asks.
const MOST_AT_WORK: usize = 2;

/// An instruction that is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The instruction.
    pub pc: u32,
    /// When it retired.
    pub at: Cycle,
}

/// A message that comes in.
#[derive(Clone, Copy, Debug)]
struct Reading {
    begun: Moment,
    /// Words that were not read.
    left: u64,
    words: u64,
    is_done: bool,
}

/// A message that goes out.
#[derive(Clone, Copy, Debug)]
struct Writing {
    announced: Moment,
    bytes: u64,
    to: u32,
    context: u16,
    /// Words that were not written.
    left: u64,
    words: u64,
    /// Number of the message that came in last before.
    handling: u64,
    /// The header of the message in front of it, if that was of the same handling.
    before: Option<Moment>,
}

/// Holds the messages of a context.
#[derive(Debug, Default)]
pub struct Context {
    reading: Option<Reading>,
    /// The first reads of those that were begun and are not done.
    undone: VecDeque<Moment>,
    writing: Option<Writing>,
    /// Messages that were begun.
    begun: u64,
    /// Whether the program asked for a message, or was called for one, since it last read a word.
    asked: bool,
    /// Whether it was told that messages and words do not fit together: what follows may come of that.
    told: bool,
}

impl Context {
    /// Notes that the program asks for a message, or is called for one.
    pub fn ask(&mut self) {
        self.asked = true;
    }

    /// Forgets what waited: the context is bound.
    pub fn bind(&mut self) {
        self.reading = None;
        self.undone.clear();
    }
}

/// Counts the words of so many bytes.
const fn words(bytes: u64) -> u64 {
    bytes.div_ceil(8)
}

impl NanoChecker {
    /// Looks at a read of x30.
    pub(super) fn received(&mut self, step: &Step, taken: &Taken) {
        let hart = &mut self.harts[step.hart];
        let Some(context) = hart.contexts.get_mut(usize::from(taken.context)) else { return };
        let asked = std::mem::take(&mut context.asked);
        let beyond = context.reading.filter(|it| it.left == 0 && !it.is_done && !asked);
        let is_within = taken.word.is_some() && taken.begins.is_none();
        if let Some(reading) = context.reading.as_mut().filter(|_| is_within) {
            reading.left = reading.left.saturating_sub(1);
            return;
        }
        if let Some(reading) = beyond {
            self.beyond(step, &reading);
        } else if taken.word.is_none() {
            self.found(Kind::EmptyRead, step, Deed::Receive, None, None);
        }
        if let Some((word, message)) = taken.word.zip(taken.begins) {
            self.handling_ends(step, taken.context);
            self.begins(step, taken.context, word, message);
        }
    }

    fn begins(&mut self, step: &Step, number: u16, header: u64, message: Option<u64>) {
        let hart = &mut self.harts[step.hart];
        let Some(context) = hart.contexts.get_mut(usize::from(number)) else { return };
        context.begun += 1;
        let words = words(header & 0xffff);
        let begun = step.moment();
        context.reading = Some(Reading { begun, left: words, words, is_done: false });
        context.undone.push_back(begun);
        let thread = hart.stack.and_then(|stack| stack.thread);
        hart.threads.begin();
        let who = hart.threads.who();
        hart.runs(step.at, number, message);
        let from = (header >> 32) as u32;
        match (from == self.ip, self.sent.get(&number), &mut self.abroad) {
            (true, Some(known), _) => self.shared.clocks.learn(who, known),
            (false, _, Some(abroad)) => {
                abroad.receive(&mut self.shared.clocks, who, (from, number), step.at);
            }
            _ => {}
        }
        if let Some(thread) = thread.filter(|thread| *thread != number) {
            let note = format!("the thread of context {thread} runs");
            self.found(Kind::ForeignMessage, step, Deed::Begin, None, Some(note));
        }
    }

    fn beyond(&mut self, step: &Step, reading: &Reading) {
        let note = format!("its header announces {} words", reading.words);
        let other = (Deed::Begin, reading.begun);
        self.found(Kind::BeyondMessage, step, Deed::Receive, Some(other), Some(note));
    }

    /// Looks at what says that a message is done.
    pub(super) fn done(&mut self, step: &Step) {
        let hart = &mut self.harts[step.hart];
        let number = hart.context;
        let Some(context) = hart.contexts.get_mut(usize::from(number)) else { return };
        if context.undone.pop_front().is_none() {
            return self.found(Kind::UnmatchedDone, step, Deed::Done, None, None);
        }
        let Some(reading) = &mut context.reading else { return };
        reading.is_done = true;
        let (left, begun) = (std::mem::take(&mut reading.left), reading.begun);
        if left > 0 {
            let note = format!("{left} of its {} words are left", reading.words);
            let other = (Deed::Begin, begun);
            self.found(Kind::UnreadWords, step, Deed::Done, Some(other), Some(note));
        }
        self.handling_ends(step, number);
    }

    /// Looks at the message that was announced while the last one that came in was handled: it must be
    /// whole when that ends.
    fn handling_ends(&mut self, step: &Step, number: u16) {
        let context = &mut self.harts[step.hart].contexts[usize::from(number)];
        let begun = context.begun;
        let unfinished = |it: &Writing| it.left > 0 && it.handling == begun && begun > 0;
        if let Some(writing) = context.writing.filter(unfinished) {
            self.is_short(step, number, &writing, Some((Deed::Done, step.moment())));
        }
    }

    fn is_short(
        &mut self,
        step: &Step,
        number: u16,
        writing: &Writing,
        end: Option<(Deed, Moment)>,
    ) {
        let context = &mut self.harts[step.hart].contexts[usize::from(number)];
        if std::mem::replace(&mut context.told, true) {
            return;
        }
        let &Writing { announced, left, words, .. } = writing;
        let announcing = Step { pc: announced.pc, at: announced.at, ..*step };
        match writing.before {
            Some(before) => {
                let other = Some((Deed::Announce, before));
                let note = Some(writing.taken_for());
                self.found(Kind::ExcessWords, &announcing, Deed::Send, other, note);
            }
            None => {
                let note = Some(format!("{left} of its {words} words are missing"));
                self.found(Kind::MissingWords, &announcing, Deed::Announce, end, note);
            }
        }
    }

    /// Looks at a word that is written to x31.
    pub(super) fn sends(&mut self, step: &Step, word: u64) {
        if self.harts[step.hart].registers.undefined(SEND) != 0 {
            self.uninitialised(step, Deed::Send, SEND);
        }
        let hart = &mut self.harts[step.hart];
        let number = hart.context;
        let Some(context) = hart.contexts.get_mut(usize::from(number)) else { return };
        if let Some(writing) = context.writing.as_mut().filter(|writing| writing.left > 0) {
            writing.left -= 1;
            let who = hart.threads.who();
            let (is_whole, to, port) = (writing.left == 0, writing.to, writing.context);
            match &mut self.abroad {
                _ if !is_whole => {}
                _ if to == self.ip => self.tells(who, port),
                Some(abroad) => {
                    abroad.send(&mut self.shared.clocks, who, (to, port), step.at);
                }
                None => {}
            }
            return;
        }
        let handling = context.begun;
        let before = context.writing.filter(|writing| writing.handling == handling);
        let bytes = word & 0xffff;
        let words = words(bytes);
        let writing = Writing {
            announced: step.moment(),
            bytes,
            to: (word >> 32) as u32,
            context: (word >> 16) as u16,
            left: words,
            words,
            handling,
            before: before.map(|writing| writing.announced),
        };
        context.writing = Some(writing);
        if bytes > 0 && bytes <= self.longest || std::mem::replace(&mut context.told, true) {
            return;
        }
        match writing.before {
            Some(before) => {
                let (other, note) = (Some((Deed::Announce, before)), writing.taken_for());
                self.found(Kind::ExcessWords, step, Deed::Send, other, Some(note));
            }
            None => {
                let note = format!("it announces {bytes} B, and the most is {} B", self.longest);
                self.found(Kind::RefusedMessage, step, Deed::Announce, None, Some(note));
            }
        }
    }

    /// Lets whoever reads a message that this node sent itself know what its sender knew.
    fn tells(&mut self, who: usize, context: u16) {
        let nothing = self.shared.clocks.nothing();
        let known = self.sent.entry(context).or_insert(nothing);
        crate::clocks::join(known, self.shared.clocks.of(who));
        self.shared.clocks.tick(who);
    }

    /// Looks at what is left when the run is over; `rests`: because nothing happens any more.
    pub(super) fn ends(&mut self, rests: bool) {
        for hart in 0..self.harts.len() {
            for number in 0..self.harts[hart].contexts.len() {
                let context = &self.harts[hart].contexts[number];
                let writing = context.writing;
                // A hart that has not asked for another message is at its last one still.
                let at_work = match (rests, context.asked) {
                    (true, true) => 0,
                    (true, false) => 1,
                    (false, _) => MOST_AT_WORK,
                };
                let forgotten = context.undone.len().saturating_sub(at_work);
                let undone: Vec<Moment> = context.undone.iter().take(forgotten).copied().collect();
                let number = number as u16;
                let of = |moment: Moment| Step::of(hart, moment);
                if let Some(writing) = writing.filter(|writing| writing.left > 0) {
                    self.is_short(&of(writing.announced), number, &writing, None);
                }
                for begun in undone {
                    self.found(Kind::NeverDone, &of(begun), Deed::Begin, None, None);
                }
            }
        }
    }
}

impl Writing {
    fn taken_for(&self) -> String {
        let to = std::net::Ipv4Addr::from(self.to);
        let (bytes, context) = (self.bytes, self.context);
        format!("it is taken for the header of {bytes} B to {to}, context {context}")
    }
}
