//! Words on their way from the global transmit queues into packetization: each in its own cycle, but
//! looked at together, when they make a packet complete.
//!
//! In: words as harts write them. Out: the same words, in packetization. Holds nothing but when the next
//! packet can be complete. Waits for a packet's last word, and for credit and buffers of packetization.

use super::Transmit;
use super::agenda::Unit;
use super::global_transmit::{Step, Stream, Word};
use super::packetization::Written;
use crate::Cycle;
use crate::event::{Event, Listener};
use crate::waypoint::Waypoint;

impl Transmit {
    /// Notes when a word that was written can make a packet complete; `waiting` words of its stream
    /// wait.
    pub(super) fn note_word(&mut self, stream: Stream, waiting: usize) {
        let wanted = &mut self.wanted[stream.index()];
        if *wanted == 0 {
            let front = self.queues.front(stream).map_or(0, |front| front.value);
            *wanted = self.packetization.words_to_packet_end(stream, front);
        }
        let complete = waiting >= *wanted;
        if complete || self.queues.crowded(stream.hart()) {
            let wake = self.stream_wake(stream);
            self.words_wake = self.words_wake.min(wake);
        }
    }

    /// Tells the earliest cycle in which words of a stream that wait make a packet complete.
    pub(super) fn stream_wake(&self, stream: Stream) -> Cycle {
        let (Some(next), Some(front)) = (self.queues.next(), self.queues.front(stream)) else {
            return Cycle::MAX;
        };
        let ahead = self.packetization.words_to_packet_end(stream, front.value) - 1;
        if let Some(last) = self.queues.peek(stream, ahead) {
            return (next + ahead as Cycle).max(last.at + self.queue_cycles);
        }
        // Now and then, so that a hart is not told that there is less room than there is.
        if self.queues.crowded(stream.hart()) { next + 63 } else { Cycle::MAX }
    }

    /// Finds the earliest cycle in which words that wait can make a packet complete.
    pub(super) fn find_words_wake(&mut self) {
        let mut first = Cycle::MAX;
        for stream in self.queues.streams() {
            first = first.min(self.stream_wake(stream));
        }
        self.words_wake = first;
    }

    /// Moves words into packetization from cycle `at` up to `now`, until another unit is due or
    /// may have become so.
    pub(super) fn move_words(&mut self, mut at: Cycle, now: Cycle, listener: &mut impl Listener) {
        let until = self.agenda.others(Unit::Queues).min(now + 1) - 1;
        loop {
            let packetization = &mut self.packetization;
            match self.queues.step(at, |stream, value| packetization.gate_at(at, stream, value)) {
                Step::Take(stream, word) => {
                    if !self.write(stream, word, at, listener) {
                        return;
                    }
                    self.follow(stream, until, listener);
                }
                Step::Blocked => {
                    self.counters.header_waits += 1;
                    if self.packetization.is_replaced() {
                        // Nobody knows when its block has room.
                        self.queues.buffer_free(at);
                    }
                }
                Step::Switch | Step::Empty => {}
            }
            match self.queues.next() {
                Some(next) if next <= until => at = next,
                _ => return,
            }
        }
    }

    /// Moves the words behind one that went, up to the packet's last, as long as nothing can come
    /// between.
    pub(super) fn follow(&mut self, stream: Stream, until: Cycle, listener: &mut impl Listener) {
        let hart = stream.hart() as u8;
        let has_block = self.packetization.hardware().is_some();
        let mut told = Vec::new();
        let mut writer = self.packetization.writer(stream);
        let room = writer.room();
        let words = self.queues.follow(stream, until, room, |at, word| {
            listener.event(at, Event::PacketizeIn { hart });
            writer.put(word);
            if has_block {
                told.push((word, at));
            }
        });
        for word in told {
            self.packetization.tell_word(stream, word, None, false);
        }
        self.packetization.written(stream, words as u16);
    }

    /// Writes a word into packetization. Tells whether it was inside a packet, so that nothing
    /// else can have become due.
    pub(super) fn write(
        &mut self,
        stream: Stream,
        word: Word,
        at: Cycle,
        listener: &mut impl Listener,
    ) -> bool {
        listener.event(at, Event::PacketizeIn { hart: stream.hart() as u8 });
        self.wanted[stream.index()] = 0;
        match self.packetization.write(stream, word.value, at, &mut self.counters) {
            Written::Inside => return true,
            Written::Began(id) => {
                let waypoint = Waypoint::Sends {
                    message: self.counters.messages - 1,
                    hart: stream.hart() as u8,
                    context: stream.context() as u16,
                    written: word.at,
                };
                listener.waypoint(at, waypoint);
                if self.timed {
                    self.timers.set(id, at + 1);
                }
            }
            Written::Packet => {}
            Written::Overflow => self.full_schedule(at),
        }
        false
    }
}
