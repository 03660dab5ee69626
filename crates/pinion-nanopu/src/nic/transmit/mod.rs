//! The transmit side: from x31 to the pins (nanoPU paper, figure 1).
//!
//! In: words that harts write to x31; the receive side's requests for control frames,
//! acknowledgements and credit. Out: frames, each with the cycles of its first and last flit.
//!
//! A word's way: [`global_transmit`] → [`packetization`] (into one of the [`buffers`], watched by
//! [`timers`]) → `arbiter`, which lets frames of the [`packet_generator`] go first → [`egress`] →
//! pins.
//!
//! Nothing ticks. Each unit says when it next has something to do; [`Transmit::advance`] does these
//! things in order of time. It has to be called only at [`Transmit::next_event`], which lies where a
//! packet can be chosen or an acknowledgement takes effect: words that merely fill a packet are
//! looked at then, each with its own cycle. A frame is given out when it is chosen, two cycles or
//! more before its first flit, since nothing can change its way from there on.

mod agenda;
mod arbiter;
pub mod buffers;
pub mod counters;
pub mod egress;
pub mod global_transmit;
pub mod packet_generator;
pub mod packetization;
mod requests;
pub mod timers;
mod words;

use std::collections::VecDeque;

use self::agenda::{Agenda, Unit};
use self::counters::{Counters, Resident};
use self::egress::Egress;
use self::global_transmit::{GlobalTransmit, MOST, NotQueued, Word};
use self::packet_generator::PacketGenerator;
use self::packetization::{Acknowledged, Packetization};
use self::timers::Timers;
use super::{Credit, Delivered};
use crate::Cycle;
use crate::event::{Event, Listener};
use crate::hardware::{EgressSeat, GeneratorSeat, InLoop, PacketizationSeat, Placed, TimersSeat};
use crate::machine::transmit::{TransmitLatency, TransmitSection, TransmitSectionError};
use crate::transport::{Address, Transport};
use crate::waypoint::Waypoint;

/// Holds something that concerns a message and takes effect later.
#[derive(Clone, Copy, Debug)]
enum Notice {
    Delivered(Delivered),
    Credit(Credit),
    Timeout(u16),
}

/// Holds the transmit side of a node.
#[derive(Clone)]
pub struct Transmit {
    own: Address,
    transport: Box<dyn Transport>,
    header_bytes: usize,
    queues: GlobalTransmit,
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
    /// The transport wants to know the time.
    tells_time: bool,
    /// Frames that the ingress pipeline has made, by the cycle from which they may go.
    made: VecDeque<(Cycle, Vec<u8>)>,
    /// Messages that nobody acknowledges, by the cycle in which their last word leaves.
    sent: VecDeque<(Cycle, u16)>,
    strict_ids: bool,
    strict_queues: bool,
    strict_words: bool,
    stopped: Option<(Cycle, &'static str)>,
    counters: Counters,
    /// The frame being built; kept for its memory.
    frame: Vec<u8>,
    /// The block beside arbiter and egress pipeline.
    egress_block: InLoop<EgressSeat>,
    agenda: Agenda,
    /// When words that wait can make a packet complete.
    words_wake: Cycle,
    /// By stream: words from its first on that end a packet; 0 if not known.
    wanted: Vec<usize>,
}

/// Gives the stages' cycles with those that a transport's program adds.
fn with_cycles(latency: &TransmitLatency, transport: &dyn Transport) -> TransmitLatency {
    let more = transport.cycles().map_or(0, |cycles| cycles.egress);
    TransmitLatency { pipeline_cycles: latency.pipeline_cycles + more, ..*latency }
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
            queues: GlobalTransmit::new(
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
            egress: Egress::new(&section.egress, &with_cycles(latency, &*transport)),
            queue_cycles: latency.queue_cycles,
            notice_cycles: latency.notice_cycles,
            notices: VecDeque::new(),
            tells_time: transport.is_event_driven(),
            made: VecDeque::new(),
            sent: VecDeque::new(),
            strict_ids: !fixes.double_ack,
            strict_queues: !fixes.pull_overflow,
            strict_words: !fixes.tx_queue_full,
            stopped: None,
            counters: Counters::default(),
            frame: Vec::new(),
            egress_block: InLoop::default(),
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

    /// Gives its own and the next hop's MAC address, and its IP address.
    pub fn names(&self) -> ([u8; 6], [u8; 6], u32) {
        (self.own.mac, self.own.next_hop_mac, self.own.ip)
    }

    /// Puts a block beside arbiter and egress pipeline.
    pub fn set_egress(&mut self, seat: EgressSeat) {
        self.egress_block = InLoop::new(seat);
    }

    /// Puts a block into the timers' place, or beside them.
    pub fn set_timers(&mut self, seat: TimersSeat) {
        self.timers.set_hardware(seat);
    }

    /// Puts a block into the packet generator's place, or beside it.
    pub fn set_generator(&mut self, seat: GeneratorSeat) {
        self.generator.set_hardware(seat);
    }

    /// Puts a block into packetization's place, or beside it.
    pub fn set_packetization(&mut self, seat: PacketizationSeat) {
        self.packetization.set_hardware(seat);
    }

    /// Gives the blocks.
    pub fn blocks(&self) -> impl Iterator<Item = &dyn Placed> {
        let timers = self.timers.hardware().map(|seat| seat as &dyn Placed);
        let generator = self.generator.hardware().map(|seat| seat as &dyn Placed);
        let packetization = self.packetization.hardware().map(|seat| seat as &dyn Placed);
        let egress = self.egress_block.get().map(|seat| seat as &dyn Placed);
        timers.into_iter().chain(generator).chain(packetization).chain(egress)
    }

    /// Tells when the RTL would have stopped itself, and why; with all fixes on it never does.
    pub fn stopped(&self) -> Option<(Cycle, &'static str)> {
        self.stopped
    }

    /// Gives the transport.
    pub fn transport(&self) -> &dyn Transport {
        &*self.transport
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
                Unit::Sent => self.forget_sent(listener),
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
        self.timers.clock(now);
        self.generator.clock(now);
        // Before words that have not gone, all is known.
        let known = self.queues.next().map_or(now, |next| next.min(now));
        self.packetization.clock(known);
        let offered =
            self.generator.frame_from().into_iter().chain(self.packetization.packet_from());
        if let Some(seat) = self.egress_block.get_mut() {
            seat.clock(offered.fold(known, Cycle::min));
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

    /// Notes that the RTL stops here.
    fn stop(&mut self, at: Cycle, why: &'static str) {
        if self.stopped.is_none_or(|(first, _)| at < first) {
            self.stopped = Some((at, why));
        }
    }

    /// Hears that a queue of descriptors was full.
    fn full_schedule(&mut self, at: Cycle) {
        if self.strict_queues {
            self.stop(at, "the queue of packets to send is full");
        }
    }

    /// Lets an acknowledgement, credit or a timeout take effect.
    fn take_notice(&mut self, at: Cycle, listener: &mut impl Listener) {
        let Some((_, notice)) = self.notices.pop_front() else {
            return;
        };
        match notice {
            Notice::Delivered(delivered) => {
                let acknowledged = self.packetization.delivered(&delivered, &mut self.counters);
                let completes = acknowledged == Acknowledged::Complete;
                self.packetization.tell_delivered(at, &delivered, completes);
                match acknowledged {
                    Acknowledged::Complete => {
                        self.timers.cancel(delivered.tx_msg_id, at);
                        listener.event(at, Event::TimerCancel);
                        let message = self.packetization.number(delivered.tx_msg_id);
                        listener.waypoint(at, Waypoint::Freed { message });
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
                self.packetization.tell_credit(at, &credit);
            }
            Notice::Timeout(id) => {
                self.packetization.tell_timeout(at, id);
                if !self.packetization.timed_out(id, at) {
                    self.full_schedule(at);
                }
            }
        }
    }

    /// Frees a message whose last packet has left and that nobody will acknowledge.
    fn forget_sent(&mut self, listener: &mut impl Listener) {
        if let Some((at, id)) = self.sent.pop_front() {
            let message = self.packetization.number(id);
            listener.waypoint(at, Waypoint::Freed { message });
            self.packetization.free(id);
            self.counters.delivered += 1;
            self.queues.buffer_free(at);
        }
    }

    /// Lets a timer run out.
    fn time_out(&mut self, at: Cycle, listener: &mut impl Listener) {
        let Some((at, id)) = self.timers.expire(at) else {
            return;
        };
        listener.event(at, Event::Timeout);
        self.counters.timeouts += 1;
        // What has arrived and gone by then counts; of one cycle the timeout comes before acknowledgements.
        let at = at + self.notice_cycles;
        let place = self.notices.partition_point(|(other, _)| *other < at);
        self.notices.insert(place, (at, Notice::Timeout(id)));
    }
}
