//! The transmit side: from x31 to the pins (nanoPU paper, figure 3).
//!
//! In: words that harts write to x31; the receive side's requests for control frames,
//! acknowledgements and credit. Out: frames, each with the cycles of its first and last flit.
//!
//! A word's way: [`tx_queue`] → [`packetization`] (into one of the [`buffers`], watched by
//! [`timers`]) → the arbiter here, which lets frames of the [`packet_generator`] go first → [`egress`]
//! → pins.
//!
//! Nothing ticks. Each unit says when it next has something to do; [`Transmit::advance`] does these
//! things in order of time. It has to be called only at [`Transmit::next_event`], which lies where a
//! packet can be chosen or an acknowledgement takes effect: words that merely fill a packet are
//! looked at then, each with its own cycle. A frame is given out when it is chosen, two cycles or
//! more before its first flit, since nothing can change its way from there on.

mod agenda;
pub mod buffers;
pub mod counters;
pub mod egress;
pub mod packet_generator;
pub mod packetization;
pub mod timers;
pub mod tx_queue;

use std::collections::VecDeque;

use pinion_net::frame::lnic::Flags;

use self::agenda::{Agenda, Unit};
use self::counters::{Counters, Resident};
use self::egress::{Egress, Passage};
use self::packet_generator::{Control, PacketGenerator};
use self::packetization::{Acknowledged, Packetization, Written};
use self::timers::Timers;
use self::tx_queue::{MOST, NotQueued, Step, Stream, TxQueues, Word};
use super::{ControlRequest, Credit, Delivered};
use crate::Cycle;
use crate::event::{Event, Listener};
use crate::machine::transmit::{TransmitSection, TransmitSectionError};
use crate::transport::{Address, Transport};

/// Holds something that concerns a message and takes effect later.
#[derive(Clone, Copy, Debug)]
enum Notice {
    Delivered(Delivered),
    Credit(Credit),
}

/// Holds the transmit side of a node.
#[derive(Clone)]
pub struct Transmit {
    own: Address,
    transport: Box<dyn Transport>,
    header_bytes: usize,
    queues: TxQueues,
    packetization: Packetization,
    timers: Timers,
    timed: bool,
    generator: PacketGenerator,
    control_payload: Vec<u8>,
    egress: Egress,
    queue_cycles: u64,
    notice_cycles: u64,
    /// By the cycle in which they take effect.
    notices: VecDeque<(Cycle, Notice)>,
    /// Messages that nobody acknowledges, by the cycle in which their last word leaves.
    sent: VecDeque<(Cycle, u16)>,
    strict_ids: bool,
    strict_queues: bool,
    strict_words: bool,
    stopped: Option<(Cycle, &'static str)>,
    counters: Counters,
    /// The frame being built; kept for its memory.
    frame: Vec<u8>,
    agenda: Agenda,
    /// When words that wait can make a packet complete.
    words_wake: Cycle,
    /// By stream: words from its first on that end a packet; 0 if not known.
    wanted: Vec<usize>,
}

impl Transmit {
    /// Makes the transmit side of a node with `harts` harts of `contexts` contexts, which sends as
    /// `own` by the rules of `transport`; `rtt_packets` is the initial credit of transports that do
    /// not set their own.
    ///
    /// # Errors
    /// [`TransmitSectionError`] names the number that describes no machine.
    pub fn new(
        section: &TransmitSection,
        harts: usize,
        contexts: usize,
        rtt_packets: u16,
        own: Address,
        transport: Box<dyn Transport>,
    ) -> Result<Self, TransmitSectionError> {
        section.check()?;
        if !(1..=MOST).contains(&harts) || !(1..=MOST).contains(&contexts) {
            return Err(TransmitSectionError::HartsOrContexts { harts, contexts });
        }
        let (fixes, latency) = (&section.fixes, &section.latency);
        let (send, control) = (transport.send_rules(), transport.control_rules());
        Ok(Self {
            own,
            header_bytes: transport.header_bytes(),
            queues: TxQueues::new(
                harts,
                contexts,
                section.queue_words,
                latency.queue_cycles,
                *fixes,
            ),
            packetization: Packetization::new(section, harts, rtt_packets, send),
            timers: Timers::new(&section.timer, section.message_ids),
            timed: send.acknowledged,
            generator: PacketGenerator::new(&section.generator, latency, fixes, control),
            control_payload: vec![0; control.payload_bytes],
            egress: Egress::new(&section.egress, latency),
            queue_cycles: latency.queue_cycles,
            notice_cycles: latency.notice_cycles,
            notices: VecDeque::new(),
            sent: VecDeque::new(),
            strict_ids: !fixes.double_ack,
            strict_queues: !fixes.pull_overflow,
            strict_words: !fixes.tx_queue_full,
            stopped: None,
            counters: Counters::default(),
            frame: Vec::new(),
            agenda: Agenda::new(),
            words_wake: Cycle::MAX,
            wanted: vec![0; harts * MOST],
            transport,
        })
    }

    /// Takes a word that `hart` writes to x31 in cycle `at` while `context` runs. A hart's words
    /// come in order of time; those of different harts may not, between two calls of
    /// [`advance`](Self::advance).
    pub fn word(&mut self, hart: u8, context: u16, word: u64, at: Cycle) {
        self.counters.words += 1;
        match self.queues.push(hart, context, Word { value: word, at }) {
            Ok((stream, waiting)) => {
                self.agenda.note(Unit::Queues, self.queues.next());
                self.note_word(stream, waiting);
            }
            Err(NotQueued::Full) => self.counters.words_lost += 1,
            Err(NotQueued::Unknown) => self.counters.words_unknown_context += 1,
        }
    }

    /// Counts the words that `hart` can write before its queue is full. Words that
    /// [`advance`](Self::advance) has not looked at yet count as waiting: at 0, advance and ask again.
    pub fn room(&self, hart: u8) -> usize {
        self.queues.room(hart)
    }

    /// Takes a request for control frames. Requests come in order of their cycles.
    pub fn control(&mut self, request: ControlRequest) {
        self.generator.push(request);
        self.note(Unit::Generator);
    }

    /// Counts the control frames that may still be asked for before one is dropped.
    pub fn control_room(&self) -> usize {
        self.generator.room()
    }

    /// Takes an acknowledgement. Acknowledgements and credit come in order of their cycles, an
    /// acknowledgement before the credit of the same frame.
    pub fn delivered(&mut self, delivered: Delivered) {
        let at = delivered.at + self.notice_cycles;
        self.notices.push_back((at, Notice::Delivered(delivered)));
        self.note(Unit::Notices);
    }

    /// Takes credit, or the wish to get a packet again.
    pub fn credit(&mut self, credit: Credit) {
        self.notices.push_back((credit.at + self.notice_cycles, Notice::Credit(credit)));
        self.note(Unit::Notices);
    }

    /// Tells when the RTL would have stopped itself, and why; with all fixes on it never does.
    pub fn stopped(&self) -> Option<(Cycle, &'static str)> {
        self.stopped
    }

    /// Gives what was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Lists the messages that are not delivered.
    pub fn resident(&self) -> impl Iterator<Item = Resident> + '_ {
        self.packetization.resident()
    }

    /// Counts the words that wait to enter packetization.
    pub fn words_waiting(&self) -> usize {
        self.queues.waiting()
    }

    /// Counts the control frames that wait.
    pub fn control_waiting(&self) -> usize {
        self.generator.waiting()
    }

    /// Counts the free message ids and buffers.
    pub fn free_places(&self) -> (usize, usize) {
        self.packetization.free_places()
    }

    /// Checks that no message, id or buffer has been lost or doubled.
    pub fn conserves(&self) -> bool {
        let c = &self.counters;
        let gone = c.delivered + c.refused_empty + c.refused_oversize;
        let live = self.resident().count() as u64;
        self.packetization.conserves() && c.messages == gone + live
    }

    /// Tells the earliest cycle in which something happens that shows, if nothing new comes; none
    /// if all is quiet.
    pub fn next_event(&self) -> Option<Cycle> {
        let agenda = &self.agenda;
        let mut first = agenda.due(Unit::Arbiter);
        for unit in [Unit::Notices, Unit::Sent, Unit::Timers] {
            first = first.min(agenda.due(unit));
        }
        first = first.min(agenda.due(Unit::Job).saturating_add(1));
        if agenda.due(Unit::Generator) < first
            && let Some(at) = self.generator.wake()
        {
            first = first.min(at.max(self.egress.free_from()));
        }
        first = first.min(self.words_wake);
        (first < Cycle::MAX).then_some(first)
    }

    /// Notes when a word that was written can make a packet complete; `waiting` words of its stream
    /// wait.
    fn note_word(&mut self, stream: Stream, waiting: usize) {
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
    fn stream_wake(&self, stream: Stream) -> Cycle {
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
    fn find_words_wake(&mut self) {
        let mut first = Cycle::MAX;
        for stream in self.queues.streams() {
            first = first.min(self.stream_wake(stream));
        }
        self.words_wake = first;
    }

    /// Does everything that is due up to cycle `now`. Chosen frames go to `out` with the cycles of
    /// their first and last flit, in that order; both lie ahead.
    pub fn advance(
        &mut self,
        now: Cycle,
        out: &mut impl FnMut(Cycle, Cycle, &[u8]),
        listener: &mut impl Listener,
    ) {
        let mut words = false;
        while self.stopped.is_none() {
            let (at, unit) = self.agenda.first();
            if at > now {
                break;
            }
            words |= matches!(unit, Unit::Queues | Unit::Notices | Unit::Sent);
            match unit {
                Unit::Generator => {
                    let overflow = self.generator.act(at, &mut self.counters);
                    if let Some(overflow) = overflow {
                        self.stop(overflow.at, overflow.queue);
                    }
                }
                Unit::Queues => self.move_words(at, now, listener),
                Unit::Notices => self.take_notice(at, listener),
                Unit::Sent => self.forget_sent(),
                Unit::Timers => self.time_out(at, listener),
                Unit::Job => self.packetization.take_job(at),
                Unit::Arbiter => self.pass(at, out, listener),
            }
            for &affected in unit.affects() {
                self.note(affected);
            }
        }
        if words || self.words_wake <= now {
            self.find_words_wake();
        }
        if self.strict_words
            && let Some(at) = self.queues.overflow(now)
        {
            self.stop(at, "a hart's transmit queue is full");
        }
    }

    /// Notes when a unit is due next.
    fn note(&mut self, unit: Unit) {
        let at = match unit {
            Unit::Generator => self.generator.next(),
            Unit::Queues => self.queues.next(),
            Unit::Notices => self.notices.front().map(|(at, _)| *at),
            Unit::Sent => self.sent.front().map(|(at, _)| *at),
            Unit::Timers => self.timers.next(),
            Unit::Job => self.packetization.next_job(),
            Unit::Arbiter => self.arbitration(),
        };
        self.agenda.note(unit, at);
    }

    /// Tells when the arbiter can choose a frame.
    fn arbitration(&self) -> Option<Cycle> {
        let (control, data) = (self.generator.frame_from(), self.packetization.packet_from());
        let there = control.into_iter().chain(data).min()?;
        Some(there.max(self.egress.free_from()))
    }

    /// Notes that the RTL stops here.
    fn stop(&mut self, at: Cycle, why: &'static str) {
        if self.stopped.is_none_or(|(first, _)| at < first) {
            self.stopped = Some((at, why));
        }
    }

    /// Moves words into packetization from cycle `at` up to `now`, until another unit is due or
    /// may have become so.
    fn move_words(&mut self, mut at: Cycle, now: Cycle, listener: &mut impl Listener) {
        let until = self.agenda.others(Unit::Queues).min(now + 1) - 1;
        loop {
            let packetization = &self.packetization;
            match self.queues.step(at, |stream, value| packetization.gate(stream, value)) {
                Step::Take(stream, word) => {
                    if !self.write(stream, word, at, listener) {
                        return;
                    }
                    self.follow(stream, until, listener);
                }
                Step::Blocked => self.counters.header_waits += 1,
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
    fn follow(&mut self, stream: Stream, until: Cycle, listener: &mut impl Listener) {
        let hart = stream.hart() as u8;
        let mut writer = self.packetization.writer(stream);
        let room = writer.room();
        let words = self.queues.follow(stream, until, room, |at, word| {
            listener.event(at, Event::PacketizeIn { hart });
            writer.put(word);
        });
        self.packetization.written(stream, words as u16);
    }

    /// Writes a word into packetization. Tells whether it was inside a packet, so that nothing
    /// else can have become due.
    fn write(
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
            Written::Began(id) if self.timed => self.timers.set(id, at + 1),
            Written::Began(_) | Written::Packet => {}
            Written::Overflow => self.full_schedule(at),
        }
        false
    }

    /// Hears that a queue of descriptors was full.
    fn full_schedule(&mut self, at: Cycle) {
        if self.strict_queues {
            self.stop(at, "the queue of packets to send is full");
        }
    }

    /// Lets an acknowledgement or credit take effect.
    fn take_notice(&mut self, at: Cycle, listener: &mut impl Listener) {
        let Some((_, notice)) = self.notices.pop_front() else {
            return;
        };
        match notice {
            Notice::Delivered(delivered) => {
                match self.packetization.delivered(&delivered, &mut self.counters) {
                    Acknowledged::Complete => {
                        self.timers.cancel(delivered.tx_msg_id);
                        listener.event(at, Event::TimerCancel);
                        self.queues.buffer_free(at);
                    }
                    Acknowledged::Twice if self.strict_ids => {
                        self.stop(delivered.at, "a message was acknowledged twice");
                    }
                    Acknowledged::Twice | Acknowledged::Nothing => {}
                }
            }
            Notice::Credit(credit) => {
                if !self.packetization.credit(&credit, at, &mut self.counters) {
                    self.full_schedule(at);
                }
            }
        }
    }

    /// Frees a message whose last packet has left and that nobody will acknowledge.
    fn forget_sent(&mut self) {
        if let Some((at, id)) = self.sent.pop_front() {
            self.packetization.free(id);
            self.counters.delivered += 1;
            self.queues.buffer_free(at);
        }
    }

    /// Lets a timer run out.
    fn time_out(&mut self, at: Cycle, listener: &mut impl Listener) {
        let Some(id) = self.timers.expire(at) else {
            return;
        };
        listener.event(at, Event::Timeout);
        self.counters.timeouts += 1;
        if !self.packetization.timed_out(id, at + self.notice_cycles) {
            self.full_schedule(at);
        }
    }

    /// Passes a frame through the arbiter in cycle `at`: control strictly before data.
    fn pass(
        &mut self,
        at: Cycle,
        out: &mut impl FnMut(Cycle, Cycle, &[u8]),
        listener: &mut impl Listener,
    ) {
        let passage = match self.generator.take(at) {
            Some(control) => self.pass_control(at, &control, listener),
            None => self.pass_data(at, listener),
        };
        if let Some(passage) = passage {
            out(passage.first_flit, passage.last_flit, &self.frame);
        }
    }

    /// Builds a control frame and sends it on its way.
    fn pass_control(
        &mut self,
        at: Cycle,
        control: &Control,
        listener: &mut impl Listener,
    ) -> Option<Passage> {
        let flags = control.flags;
        self.counters.control_frames += 1;
        self.counters.acknowledgements += u64::from(flags.has(Flags::ACK));
        self.counters.negative_acknowledgements += u64::from(flags.has(Flags::NACK));
        self.counters.pulls += u64::from(flags.has(Flags::PULL));
        let header = self.transport.control(&control.request, flags, &self.own);
        self.frame.clear();
        self.transport.write(&header, &self.control_payload, &mut self.frame);
        Some(self.egress.pass(at, self.header_bytes, self.frame.len(), false, listener))
    }

    /// Builds the next data packet and sends it on its way.
    fn pass_data(&mut self, at: Cycle, listener: &mut impl Listener) -> Option<Passage> {
        let packet = self.packetization.packet()?;
        let header = self.transport.data(&packet.outgoing, packet.number, packet.again, &self.own);
        self.frame.clear();
        self.transport.write(&header, self.packetization.payload(&packet), &mut self.frame);
        let passage = self.egress.pass(at, self.header_bytes, self.frame.len(), true, listener);
        let counter = if packet.again {
            &mut self.counters.packets_again
        } else {
            &mut self.counters.packets
        };
        *counter += 1;
        if self.packetization.packet_sent(passage.last_word) {
            self.sent.push_back((passage.last_word, packet.outgoing.tx_msg_id));
        }
        Some(passage)
    }
}

#[cfg(test)]
mod tests;
