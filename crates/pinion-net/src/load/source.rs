//! The source: requests out, answers in. In: a [`LoadSpec`] and the node's frames. Out: frames for
//! the node, one at a time on a wire of 8 bytes a cycle. Holds frames that wait for the wire and
//! requests without an answer. Waits for the node's startup messages, for a request to be due and,
//! in a closed loop, for answers.

use super::arrival::Clockwork;
use super::distribution::unit_interval;
use super::matching::{Found, Outstanding, Request};
use super::resend::{Packet, Resend};
use super::store::StoreModel;
use super::wire::{Heard, Label, Message, Wire};
use super::{
    Arrivals, Contexts, Flavour, LoadError, LoadReport, LoadSpec, Nodes, Peer, ResponseAt, flits,
};
use pinion_sim::node::{RestoreError, SaveError, Saved};
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Sends requests to a node and measures how long it takes to answer.
#[derive(Clone)]
pub struct LoadSource {
    spec: LoadSpec,
    wire: Wire,
    store: Option<StoreModel>,
    random: Streams,
    /// Frames with the cycle they are due, and a number that keeps their order.
    waiting: BinaryHeap<Reverse<(u64, u64, Vec<u8>)>>,
    created: u64,
    wire_free: u64,
    current: Vec<u8>,
    startup_left: u32,
    next: Next,
    outstanding: Outstanding,
    /// Keeps requests until they are acknowledged, where the load wants that.
    resend: Option<Resend>,
    issued: u64,
    /// Requests that each context got, for overruns.
    sent_to: Vec<u64>,
    closings_left: u64,
    report: LoadReport,
}

/// Holds the random streams, one for each use.
#[derive(Clone)]
struct Streams {
    gap: Pcg64Mcg,
    service: Pcg64Mcg,
    context: Pcg64Mcg,
    payload: Pcg64Mcg,
    node: Pcg64Mcg,
}

/// Says when the next request is due.
#[derive(Clone)]
enum Next {
    /// Nothing before the node is ready.
    NotStarted,
    /// An open loop's request, in this cycle.
    Open(Clockwork, u64),
    /// A closed loop's free places, with the cycle in which each may be used.
    Closed(VecDeque<u64>),
}

impl LoadSource {
    /// Starts; with no startup messages to wait for, requests come from `start_delay_cycles` on.
    ///
    /// # Errors
    /// [`LoadError::Impossible`] when the load is.
    pub fn new(spec: LoadSpec) -> Result<Self, LoadError> {
        spec.check()?;
        let window_packets = match spec.flavour {
            Flavour::Lnic { rtt_packets, .. } => rtt_packets,
            Flavour::Udp { .. } => 0,
        };
        let stream = |salt: u64| Pcg64Mcg::seed_from_u64(spec.seed ^ salt << 56);
        let mut source = Self {
            wire: Wire::new(spec.flavour.clone(), spec.ends, spec.nodes.count()),
            store: spec.store.map(StoreModel::new),
            random: Streams {
                gap: stream(1),
                service: stream(2),
                context: stream(3),
                payload: stream(4),
                node: stream(5),
            },
            waiting: BinaryHeap::new(),
            created: 0,
            wire_free: 0,
            current: Vec::new(),
            startup_left: spec.startup_messages,
            next: Next::NotStarted,
            outstanding: Outstanding::new(spec.matching),
            resend: spec.timeout_cycles.map(|cycles| Resend::new(cycles, window_packets)),
            issued: 0,
            sent_to: Vec::new(),
            closings_left: u64::from(spec.closing_messages) * u64::from(spec.nodes.count()),
            report: LoadReport::new(spec.keep_samples),
            spec,
        };
        if source.startup_left == 0 {
            source.start(0);
        }
        Ok(source)
    }

    /// Gives what has become of the load so far.
    pub fn report(&self) -> &LoadReport {
        &self.report
    }

    /// Gives up what has no answer and hands the report over.
    pub fn into_report(mut self) -> LoadReport {
        while let Some(request) = self.outstanding.give_up_oldest() {
            self.report.note_missing(request);
        }
        self.report
    }

    /// Gives the load.
    pub fn spec(&self) -> &LoadSpec {
        &self.spec
    }

    /// Tells whether the node has said that it is ready.
    pub fn has_started(&self) -> bool {
        !matches!(self.next, Next::NotStarted)
    }

    fn start(&mut self, now: u64) {
        let start = now.saturating_add(self.spec.start_delay_cycles);
        self.next = match &self.spec.arrivals {
            Arrivals::Open { gap, timing } => {
                let mut clockwork = Clockwork::new(*timing, start);
                let due = clockwork.next(gap, &mut self.random.gap);
                Next::Open(clockwork, due)
            }
            Arrivals::Closed { outstanding, .. } => {
                Next::Closed((0..*outstanding).map(|_| start).collect())
            }
        };
    }

    /// Tells when the next request is due.
    fn request_due(&self) -> Option<u64> {
        if self.issued >= self.spec.requests {
            return self.closing_due();
        }
        match &self.next {
            Next::NotStarted => None,
            Next::Open(_, due) => Some(*due),
            Next::Closed(free) => free.front().copied().or_else(|| {
                let oldest = self.outstanding.oldest()?;
                Some(oldest.sent.saturating_add(self.spec.patience_cycles))
            }),
        }
    }

    /// Tells when a closing message is due: when all is answered, or given up.
    fn closing_due(&self) -> Option<u64> {
        if self.closings_left == 0 || !self.has_started() {
            return None;
        }
        match self.outstanding.len() {
            0 => Some(self.report.last_answer_cycle.max(self.report.last_sent_cycle) + 1),
            _ => self.gives_up_at(),
        }
    }

    /// Makes the frames of the request that is due.
    fn issue(&mut self, due: u64) {
        if self.issued >= self.spec.requests {
            self.close(due);
            return;
        }
        let due = match &mut self.next {
            Next::NotStarted => return,
            Next::Open(clockwork, next) => {
                if let Arrivals::Open { gap, .. } = &self.spec.arrivals {
                    *next = clockwork.next(gap, &mut self.random.gap);
                }
                due
            }
            Next::Closed(free) => {
                if free.pop_front().is_none()
                    && let Some(request) = self.outstanding.give_up_oldest()
                {
                    self.report.note_missing(request);
                }
                // The time of sending names the request: no two have the same.
                match self.issued {
                    0 => due,
                    _ => due.max(self.report.last_sent_cycle + 1),
                }
            }
        };
        let (service, mode) = self.spec.service.sample(&mut self.random.service);
        let context = match self.spec.contexts {
            Contexts::Fixed(context) => context,
            Contexts::Uniform(count) => draw(&mut self.random.context, u32::from(count)) as u16,
            Contexts::InTurn(count) => (self.issued % u64::from(count)) as u16,
            Contexts::ByMode => mode as u16,
        };
        let node = match self.spec.nodes {
            Nodes::One => 0,
            Nodes::Uniform(count) => draw(&mut self.random.node, count),
            Nodes::InTurn(count) => (self.issued % u64::from(count)) as u32,
        };
        let service = service.round() as u64 * self.overrun_factor(context);
        self.outstanding.add(Request::new(self.issued, due, (node, context), mode));
        self.report.note_sent(due);
        let number = self.issued;
        self.issued += 1;
        self.send(Label { number, node, context }, service, due);
    }

    fn overrun_factor(&mut self, context: u16) -> u64 {
        let Some(overrun) = self.spec.overrun.filter(|overrun| overrun.context == context) else {
            return 1;
        };
        let place = usize::from(context);
        if self.sent_to.len() <= place {
            self.sent_to.resize(place + 1, 0);
        }
        self.sent_to[place] += 1;
        if self.sent_to[place].is_multiple_of(overrun.every) { overrun.factor } else { 1 }
    }

    fn has_begun_to_close(&self) -> bool {
        let all = u64::from(self.spec.closing_messages) * u64::from(self.spec.nodes.count());
        self.closings_left < all
    }

    fn close(&mut self, due: u64) {
        while let Some(request) = self.outstanding.give_up_oldest() {
            self.report.note_missing(request);
        }
        // Every node gets all of them.
        let (messages, nodes) = (self.spec.closing_messages, self.spec.nodes.count());
        let sent = u64::from(messages) * u64::from(nodes) - self.closings_left;
        self.closings_left -= 1;
        let node = (sent / u64::from(messages)) as u32;
        let index = (sent % u64::from(messages)) as u32;
        let context = match self.spec.contexts {
            Contexts::Fixed(context) => context,
            _ => (index % u32::from(self.spec.context_count().max(1))) as u16,
        };
        self.send(Label { number: self.issued + sent, node, context }, 0, due);
    }

    fn send(&mut self, to: Label, service: u64, due: u64) {
        let message = self.message(to, service, due);
        let Some(resend) = &mut self.resend else {
            for frame in self.wire.request(to, &message) {
                self.enqueue(due, frame);
            }
            return;
        };
        let packets = resend.send(to, &message, due);
        self.enqueue_packets(due, &packets);
    }

    /// Sends what the keeper of requests lets go.
    fn enqueue_packets(&mut self, due: u64, packets: &[Packet]) {
        self.report.resent = self.resend.as_ref().map(Resend::counts).unwrap_or_default();
        for packet in packets {
            let frame = self.wire.packet(packet);
            self.enqueue(due, frame);
        }
    }

    /// Makes the message of a request.
    fn message(&mut self, to: Label, service: u64, due: u64) -> Vec<u8> {
        // What tells a store to end is no request, but the usual message.
        if let Some(store) = self.store.as_mut().filter(|_| to.number < self.spec.requests) {
            return store.request(to, service, due, &mut self.random.payload);
        }
        let mut message = Vec::with_capacity(usize::from(self.spec.message_bytes));
        if self.spec.has_service() {
            message.extend_from_slice(&service.to_be_bytes());
        }
        message.extend_from_slice(&due.to_be_bytes());
        let start = message.len();
        let drawn = self.spec.sizes.map(|sizes| sizes.at(unit_interval(&mut self.random.payload)));
        let drawn = drawn.map_or(0, |bytes| bytes as usize);
        message.resize(usize::from(self.spec.message_bytes).max(drawn), 0);
        self.random.payload.fill_bytes(&mut message[start..]);
        message
    }

    /// Sends again what nothing was heard of until `cycle`.
    fn time_out(&mut self, cycle: u64) {
        let Some(resend) = &mut self.resend else { return };
        let packets = resend.time_out(cycle);
        self.enqueue_packets(cycle, &packets);
    }

    /// Tells when something is to be made: a request, or packets that go again.
    fn makes_at(&self) -> Option<u64> {
        let again = self.resend.as_ref().and_then(Resend::next_cycle);
        self.request_due().into_iter().chain(again).min()
    }

    fn enqueue(&mut self, due: u64, frame: Vec<u8>) {
        self.waiting.push(Reverse((due, self.created, frame)));
        self.created += 1;
    }

    fn hear_message(&mut self, message: &Message, arrival: u64) {
        if !self.has_started() {
            self.startup_left = self.startup_left.saturating_sub(1);
            if self.startup_left == 0 {
                self.start(arrival);
            }
            return;
        }
        // Who announces itself may do so to any context.
        if message.to != self.spec.ends.context {
            self.report.foreign_frames += 1;
            return;
        }
        let mut words =
            message.start.as_chunks::<8>().0.iter().map(|word| u64::from_be_bytes(*word));
        let sent = words.nth(self.spec.sent_word());
        match self.outstanding.answer(sent, (message.node, message.context)) {
            Found::Request(request) => {
                if let Some(store) = &mut self.store
                    && !store.is_right(request.number, &message.start)
                {
                    self.report.wrong += 1;
                }
                self.report.note_answer(request, arrival);
                if let (Next::Closed(free), Arrivals::Closed { think, .. }) =
                    (&mut self.next, &self.spec.arrivals)
                {
                    let (think, _) = think.sample(&mut self.random.gap);
                    let due = arrival.saturating_add(think.round() as u64);
                    let place = free.partition_point(|&other| other <= due);
                    free.insert(place, due);
                }
            }
            Found::Again => self.report.repeated += 1,
            // Programs may answer what tells them to end.
            Found::Nothing if self.has_begun_to_close() => {}
            Found::Nothing => self.report.unexpected += 1,
        }
    }
}

/// Draws one of so many numbers.
fn draw(random: &mut Pcg64Mcg, count: u32) -> u32 {
    ((u64::from(random.next_u32()) * u64::from(count)) >> 32) as u32
}

impl Peer for LoadSource {
    fn next_cycle(&mut self) -> Option<u64> {
        let waiting = self.waiting.peek().map(|Reverse((due, ..))| *due);
        let due = waiting.into_iter().chain(self.makes_at()).min();
        due.map(|due| due.max(self.wire_free))
    }

    fn next_frame(&mut self) -> Option<(u64, &[u8])> {
        // A request that is due no later than what waits comes behind it only if both are due at
        // the same time: what waits is older.
        while let Some(cycle) = self.makes_at() {
            match self.waiting.peek() {
                Some(Reverse((due, ..))) if *due <= cycle => break,
                _ if self.request_due() == Some(cycle) => self.issue(cycle),
                _ => self.time_out(cycle),
            }
        }
        let Reverse((due, _, frame)) = self.waiting.pop()?;
        let cycle = due.max(self.wire_free);
        self.wire_free = cycle + flits(frame.len());
        self.current = frame;
        Some((cycle, &self.current))
    }

    fn frame_out(&mut self, first_flit: u64, last_flit: u64, frame: &[u8]) {
        let (heard, reply) = self.wire.hear(frame);
        if let Some((delay, reply)) = reply {
            self.enqueue(last_flit.saturating_add(delay), reply);
        }
        let arrival = match self.spec.response_at {
            ResponseAt::FirstFlit => first_flit,
            ResponseAt::LastFlit => last_flit,
        };
        match heard {
            Heard::Message(message) => self.hear_message(&message, arrival),
            Heard::Control(header, node) => {
                self.report.control_frames += 1;
                if let Some(resend) = &mut self.resend {
                    let packets = resend.hear(&header, node, last_flit);
                    self.enqueue_packets(last_flit, &packets);
                }
            }
            Heard::Foreign => self.report.foreign_frames += 1,
            Heard::Part => {}
        }
    }

    fn is_done(&self, now: u64) -> bool {
        if self.issued < self.spec.requests || self.closings_left > 0 || !self.has_started() {
            return false;
        }
        let answered = self.outstanding.len() == 0 && self.waiting.is_empty();
        let answered = answered && self.resend.as_ref().is_none_or(Resend::is_idle);
        answered || self.gives_up_at().is_some_and(|cycle| now >= cycle)
    }

    /// Gives the cycle in which the load ends at the latest; `None` while requests are to come.
    fn gives_up_at(&self) -> Option<u64> {
        let all_issued = self.issued >= self.spec.requests;
        (all_issued && self.has_started())
            .then(|| self.report.last_sent_cycle.saturating_add(self.spec.patience_cycles))
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        tell("requests", self.issued);
        tell("waiting", self.waiting.len() as u64);
        tell("unanswered", self.outstanding.len());
        tell("answered", self.report.answered);
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Ok(Saved::new(self.clone()))
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        self.clone_from(saved.get::<Self>()?);
        Ok(())
    }
}
