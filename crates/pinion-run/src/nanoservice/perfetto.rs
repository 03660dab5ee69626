//! A node's run as a trace for Perfetto: what the node says comes in, a track per hart and stage of
//! the NIC goes out, and flows that follow messages from frame to hart and into the frames that carry the
//! answer. Times are cut to nanoseconds, of which a cycle is a third.

use std::io::Write;

use pinion_nanopu::Cycle;
use pinion_nanopu::event::Retirements;
use pinion_nanopu::event::{Event, NanoPu, Told};
use pinion_nanopu::waypoint::Waypoint;
use pinion_sim::Clock;
use pinion_sim::probe::Hears;

use super::Filter;
use super::flows::Flows;
use super::run::Settling;
use pinion_app::error::Result;
use pinion_observe::trace::nano::hart_of;
use pinion_observe::trace::perfetto::{Corner, Slice, Track, UNIT_COUNT, Value, Writer, written};

/// Writes a node's run as a trace for Perfetto.
pub struct NodeTrace<W> {
    clock: Clock,
    filter: Filter,
    writer: Writer<W>,
    stages: Vec<Stage>,
    transport: Track,
    harts: Vec<Hart>,
    flows: Flows,
    events: Vec<(Cycle, Said)>,
    last: Cycle,
}

/// What the node said.
#[derive(Clone, Copy)]
enum Said {
    Event(Event),
    Waypoint(Waypoint),
}

/// A stage of the NIC: words pass one after the other, frames or messages of several words.
struct Stage {
    track: Track,
    what: &'static str,
    /// When the first word passed of what is passing, and how many words have.
    open: Option<(Cycle, u64)>,
    /// How many have passed.
    passed: u64,
}

/// A hart and its local receive queue.
struct Hart {
    track: Track,
    queue: Track,
    queued: u64,
    /// When it read the first word of the message it works at, and the words read and written.
    open: Option<(Cycle, u64, u64)>,
    /// Brings words to its queue.
    delivery: Stage,
}

/// Names the stages in the order of a message's way, and what passes them.
const STAGES: [(&str, &str); 6] = [
    ("Ingress pipeline, in", "frame"),
    ("Ingress pipeline, out", "packet"),
    ("Reassembly", "message"),
    ("Packetization", "packet"),
    ("Egress pipeline, in", "packet"),
    ("Egress link", "frame"),
];

impl<W: Write> NodeTrace<W> {
    /// Begins the trace of a node with so many harts.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(clock: Clock, filter: Filter, harts: u32, corner: Corner, out: W) -> Result<Self> {
        let mut writer = Writer::new(out, &corner);
        let root = writer.track(None, 0, &corner.title("Node"));
        let stages = STAGES.iter().zip(0..);
        let stages = stages
            .map(|((name, what), index)| {
                // The way in stands above the harts, the way out below.
                let rank = if index < 3 { index } else { 1000 + index };
                Stage { track: writer.track(Some(root), rank, name), what, open: None, passed: 0 }
            })
            .collect();
        let harts = (0..harts).map(|hart| Hart::new(&mut writer, root, hart)).collect();
        let transport = writer.track(Some(root), 2000, "Transport");
        written(writer.check())?;
        let (flows, events) = (Flows::new(corner), Vec::new());
        Ok(Self { clock, filter, writer, stages, transport, harts, flows, events, last: 0 })
    }

    fn tell(&mut self, at: Cycle, event: Event) {
        self.last = at;
        match event {
            Event::IngressIn { last } => self.pass(0, at, last),
            Event::IngressOut { last } => self.pass(1, at, last),
            Event::ReassemblyOut { last } => self.pass(2, at, last),
            Event::PacketizeOut { last } => self.pass(3, at, last),
            Event::EgressIn { last } => self.pass(4, at, last),
            Event::EgressOut { last } => self.pass(5, at, last),
            Event::ControlRequest => self.happen(self.transport, at, "control frame asked for"),
            Event::Delivered => self.happen(self.transport, at, "packet acknowledged"),
            Event::Credit => self.happen(self.transport, at, "credit"),
            Event::Timeout => self.happen(self.transport, at, "message timed out"),
            Event::TimerCancel => self.happen(self.transport, at, "message delivered"),
            of_hart => self.tell_hart(at, of_hart),
        }
    }

    fn tell_hart(&mut self, at: Cycle, event: Event) {
        let Some(number) = hart_of(event).map(usize::from) else { return };
        let shown = self.filter.has(hart_of(event), at);
        let (clock, writer) = (self.clock, &mut self.writer);
        let Some(hart) = self.harts.get_mut(number) else { return };
        let track = hart.track;
        match event {
            Event::GlobalReceiveOut { last, .. } => {
                let flows = &mut self.flows;
                let delivery = &mut hart.delivery;
                delivery.pass(writer, (clock, shown), at, last, || flows.delivered(number as u8));
            }
            Event::ReceiveWord { .. } => hart.count(writer, (clock, shown), at, hart.queued + 1),
            Event::ReceivePop { .. } => {
                hart.count(writer, (clock, shown), at, hart.queued.saturating_sub(1));
                hart.open.get_or_insert((at, 0, 0)).1 += 1;
            }
            Event::TransmitWord { .. } | Event::PacketizeIn { .. } => {
                if let (Event::TransmitWord { .. }, Some(open)) = (event, &mut hart.open) {
                    open.2 += 1;
                }
            }
            Event::MessageDone { .. } => {
                hart.done(writer, (clock, shown), at, self.flows.done(number as u8));
            }
            Event::Trap { .. } if shown => self.happen(track, at, "trap"),
            Event::ThreadInterrupt { .. } if shown => {
                self.happen(track, at, "interrupt: another context")
            }
            _ => {}
        }
    }

    fn pass(&mut self, stage: usize, at: Cycle, last: bool) {
        let shown = self.filter.has(None, at);
        let Self { stages, writer, clock, flows, .. } = self;
        let number = stages[stage].passed;
        stages[stage].pass(writer, (*clock, shown), at, last, || match stage {
            0 => flows.frame_in(number),
            2 => flows.reassembled(),
            3 => flows.packet_out(),
            5 => flows.frame_out(number),
            _ => Vec::new(),
        });
    }

    fn happen(&mut self, track: Track, at: Cycle, name: &str) {
        if !self.filter.has(None, at) {
            return;
        }
        let time = self.clock.time(at);
        self.writer.instant(track, Slice { name, begin: time, end: time, ..Slice::default() });
    }
}

impl Stage {
    fn pass<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        (clock, shown): (Clock, bool),
        at: Cycle,
        last: bool,
        flows: impl FnOnce() -> Vec<u64>,
    ) {
        self.open.get_or_insert((at, 0)).1 += 1;
        if let Some((begin, words)) = self.open.take_if(|_| last) {
            let notes = vec![("words", Value::Count(words))];
            let (begin, end) = (clock.time(begin), clock.time(at));
            self.passed += 1;
            let (flows, ends) = (flows(), Vec::new());
            let slice = Slice { name: self.what, begin, end, flows, ends, notes };
            if shown {
                writer.slice(self.track, slice);
            }
        }
    }
}

impl Hart {
    fn new<W: Write>(writer: &mut Writer<W>, root: Track, hart: u32) -> Self {
        let track = writer.track(Some(root), 10 + hart, &format!("Hart {hart}"));
        let delivery = writer.track(Some(track), 0, "Words from the global queue");
        Self {
            track,
            queue: writer.counter(track, 1, "Words in the receive queue", UNIT_COUNT),
            queued: 0,
            open: None,
            delivery: Stage { track: delivery, what: "message", open: None, passed: 0 },
        }
    }

    fn count<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        (clock, shown): (Clock, bool),
        at: Cycle,
        queued: u64,
    ) {
        self.queued = queued;
        if shown {
            writer.count(self.queue, clock.time(at), queued);
        }
    }

    /// Writes the message that the hart has worked at.
    fn done<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        (clock, shown): (Clock, bool),
        at: Cycle,
        flows: Vec<u64>,
    ) {
        let Some((begin, read, written)) = self.open.take() else { return };
        let (begin, end) = (clock.time(begin), clock.time(at));
        let notes =
            vec![("words read", Value::Count(read)), ("words written", Value::Count(written))];
        let (name, ends) = ("message", Vec::new());
        if shown {
            writer.slice(self.track, Slice { name, begin, end, flows, ends, notes });
        }
    }
}

impl<W: Write> Hears<NanoPu> for NodeTrace<W> {
    fn interest(&self) -> Retirements {
        Retirements { waypoints: true, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            // Messages are counted from the first on, whatever is shown of them.
            Told::Event { at, event } => self.events.push((at, Said::Event(event))),
            Told::Waypoint { at, waypoint } => self.events.push((at, Said::Waypoint(waypoint))),
            _ => {}
        }
    }
}

impl<W: Write> Settling for NodeTrace<W> {
    fn settle(&mut self, cycle: Cycle) -> Result<()> {
        self.events.sort_by_key(|(at, _)| *at);
        let settled = self.events.partition_point(|(at, _)| *at < cycle);
        let events: Vec<(Cycle, Said)> = self.events.drain(..settled).collect();
        // What a stage passes on in the settled cycles may have become of earlier frames: these first.
        for (at, said) in &events {
            if let Said::Waypoint(waypoint) = said {
                self.flows.hear(*at, waypoint);
            }
        }
        for (at, said) in events {
            if let Said::Event(event) = said {
                self.tell(at, event);
            }
        }
        if cycle == Cycle::MAX {
            let last = self.last;
            for hart in &mut self.harts {
                hart.done(&mut self.writer, (self.clock, true), last, Vec::new());
            }
            return written(self.writer.flush());
        }
        written(self.writer.check())
    }
}
