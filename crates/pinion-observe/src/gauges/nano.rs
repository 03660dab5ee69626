//! The gauges of a nanoPU: messages in reassembly, in the global receive queues, at harts and in the transmit
//! side, frames on the pins, what harts work at. A message is at a hart from its first word there until the
//! program is done with it: what JBSQ counts.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use pinion_nanopu::Cycle;
use pinion_nanopu::event::{Event, NanoPu, Retirements, Told};
use pinion_nanopu::waypoint::Waypoint;
use pinion_sim::node::flits;
use pinion_sim::probe::Hears;
use pinion_sim::{Clock, Time};

use super::occupancy::{Chart, Scale};
use super::{Gauge, Gauges, Id, Meter};
use crate::trace::Works;

/// The charts, by their numbers.
pub const CHARTS: [Chart; 9] = [
    Chart { column: "harts_busy", title: "harts that work at a message", scale: Scale::Mean },
    Chart {
        column: "messages_incomplete",
        title: "messages in the message table that lack packets",
        scale: Scale::Mean,
    },
    Chart {
        column: "reassembly_buffers",
        title: "reassembly buffers that are taken",
        scale: Scale::Mean,
    },
    Chart {
        column: "global_receive",
        title: "messages in the global receive queues",
        scale: Scale::Mean,
    },
    Chart {
        column: "local_receive",
        title: "messages at harts, waiting or at work",
        scale: Scale::Mean,
    },
    Chart {
        column: "transmit_words",
        title: "words in the global transmit queues",
        scale: Scale::Mean,
    },
    Chart {
        column: "transmit_buffers",
        title: "transmit buffers that are taken",
        scale: Scale::Mean,
    },
    Chart { column: "in_gbit_s", title: "frames in, Gbit/s", scale: Scale::GbitPerSecond },
    Chart { column: "out_gbit_s", title: "frames out, Gbit/s", scale: Scale::GbitPerSecond },
];
const BUSY: Option<usize> = Some(0);
const INCOMPLETE: Option<usize> = Some(1);
const REASSEMBLY: Option<usize> = Some(2);
const GLOBAL: Option<usize> = Some(3);
const LOCAL: Option<usize> = Some(4);
const WORDS: Option<usize> = Some(5);
const TRANSMIT: Option<usize> = Some(6);
const IN: Option<usize> = Some(7);
const OUT: Option<usize> = Some(8);

/// Hears a nanoPU.
pub struct NanoGauges {
    meter: Meter,
    clock: Clock,
    last: Cycle,
    pins: [OfPins; 2],
    incomplete: Id,
    buffers: Id,
    global: Id,
    transmit: Id,
    harts: Vec<OfHart>,
    /// What became of messages, until everything before it has been heard.
    heard: Vec<(Cycle, Waypoint)>,
    /// Messages whose first packet has come and that have not gone to the global receive queues.
    known: HashSet<u64>,
    /// Messages at a hart, of each context.
    given: HashMap<(u8, u16), i64>,
    works: Works,
}

/// The pins, in and out.
#[derive(Clone, Copy)]
struct OfPins {
    busy: Id,
    bytes: Id,
}

struct OfHart {
    busy: Id,
    message: Id,
    messages: Id,
    words: Id,
    /// Messages that it has begun, the latest last, with their contexts.
    begun: Vec<(u16, u64)>,
}

impl NanoGauges {
    /// Makes the gauges of a node with so many harts.
    pub fn new(clock: Clock, harts: u32) -> Self {
        let mut meter = Meter::default();
        let mut of_pins = |name: &str, chart| OfPins {
            busy: meter.flag(&format!("pins.{name}"), "busy", None),
            bytes: meter.count(&format!("pins.{name}"), "bytes", chart),
        };
        let pins = [of_pins("in", IN), of_pins("out", OUT)];
        let incomplete = meter.level("receive.message_table", "incomplete", INCOMPLETE);
        let buffers = meter.level("receive.reassembly", "buffers", REASSEMBLY);
        let global = meter.level("receive.global", "messages", GLOBAL);
        let transmit = meter.level("transmit", "messages", TRANSMIT);
        let harts = (0..harts).map(|hart| OfHart::new(&mut meter, hart)).collect();
        Self {
            clock,
            last: 0,
            pins,
            incomplete,
            buffers,
            global,
            transmit,
            harts,
            heard: Vec::new(),
            known: HashSet::default(),
            given: HashMap::default(),
            works: Works::default(),
            meter,
        }
    }

    /// Gives the time of a cycle.
    pub(super) fn time(&self, cycle: Cycle) -> Time {
        self.clock.time(cycle)
    }

    /// Gives the time of the last cycle in which something happened.
    pub(super) fn last(&self) -> Time {
        self.time(self.last)
    }

    fn by(&mut self, at: Cycle, id: Id, number: i64) {
        self.meter.by(self.clock.time(at), id, number);
    }

    /// Counts a frame that passes the pins.
    fn pass(&mut self, direction: usize, (first, last): (Cycle, Cycle), bytes: usize) {
        let OfPins { busy, bytes: sum } = self.pins[direction];
        self.by(first, busy, 1);
        self.by(last + 1, busy, -1);
        self.by(first, sum, bytes as i64);
    }

    fn event(&mut self, at: Cycle, event: Event) {
        self.last = self.last.max(at);
        match event {
            Event::ReassemblyOut { last: true } => self.by(at, self.buffers, -1),
            Event::GlobalReceiveOut { last: true, .. } => self.by(at, self.global, -1),
            Event::TransmitWord { hart } => self.by(at, self.harts[usize::from(hart)].words, 1),
            Event::PacketizeIn { hart } => self.by(at, self.harts[usize::from(hart)].words, -1),
            _ => {}
        }
    }

    fn waypoint(&mut self, at: Cycle, waypoint: &Waypoint) {
        match *waypoint {
            Waypoint::Packet { message, stored, complete, .. } => {
                if self.known.insert(message) {
                    self.by(at, self.buffers, 1);
                    self.by(at, self.incomplete, 1);
                }
                if complete {
                    self.by(stored, self.incomplete, -1);
                }
            }
            Waypoint::Queued { message, .. } => {
                self.known.remove(&message);
                self.by(at, self.global, 1);
            }
            Waypoint::Chosen { hart, context, enters, .. } => {
                self.works.hear(at, waypoint);
                *self.given.entry((hart, context)).or_default() += 1;
                self.by(enters, self.harts[usize::from(hart)].messages, 1);
            }
            Waypoint::Begun { hart, context, .. } => {
                let message = self.works.hear(at, waypoint);
                let begun = &mut self.harts[usize::from(hart)].begun;
                begun.extend(message.map(|message| (context, message)));
                begun.dedup();
                self.show_work(at, hart);
            }
            Waypoint::Ended { hart, context } => {
                self.works.hear(at, waypoint);
                self.end(at, (hart, context), 1);
            }
            Waypoint::Bound { hart, context } => {
                self.works.hear(at, waypoint);
                self.end(at, (hart, context), i64::MAX);
            }
            Waypoint::Sends { .. } => self.by(at, self.transmit, 1),
            Waypoint::Freed { .. } => self.by(at, self.transmit, -1),
            Waypoint::Leaves { .. } | Waypoint::Consumed { .. } | Waypoint::Dropped { .. } => {}
        }
    }

    /// Takes the oldest messages of a context from a hart, so many at most.
    fn end(&mut self, at: Cycle, (hart, context): (u8, u16), most: i64) {
        let given = self.given.entry((hart, context)).or_default();
        let number = most.min(*given);
        *given -= number;
        let OfHart { messages, begun, .. } = &mut self.harts[usize::from(hart)];
        let messages = *messages;
        for _ in 0..number {
            let oldest = begun.iter().position(|(of, _)| *of == context);
            oldest.map(|oldest| begun.remove(oldest));
        }
        self.by(at, messages, -number);
        self.show_work(at, hart);
    }

    fn show_work(&mut self, at: Cycle, hart: u8) {
        let OfHart { busy, message, begun, .. } = &self.harts[usize::from(hart)];
        let (at, last) = (self.clock.time(at), begun.last().map(|(_, message)| *message));
        self.meter.set(at, *busy, Some(u64::from(last.is_some())));
        self.meter.set(at, *message, last);
    }
}

impl OfHart {
    fn new(meter: &mut Meter, hart: u32) -> Self {
        let path = format!("hart.{hart}");
        Self {
            busy: meter.flag(&path, "busy", BUSY),
            message: meter.label(&path, "message"),
            messages: meter.level(&path, "messages", LOCAL),
            words: meter.level(&path, "transmit_words", WORDS),
            begun: Vec::new(),
        }
    }
}

impl Gauges for NanoGauges {
    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    fn gauges(&self) -> &[Gauge] {
        self.meter.gauges()
    }

    /// Follows messages, which come in order of time now.
    fn settle(&mut self, until: Time) {
        self.heard.sort_by_key(|(at, _)| *at);
        let count = self.heard.partition_point(|(at, _)| self.clock.time(*at) < until);
        let settled: Vec<(Cycle, Waypoint)> = self.heard.drain(..count).collect();
        settled.iter().for_each(|(at, waypoint)| self.waypoint(*at, waypoint));
    }
}

impl Hears<NanoPu> for NanoGauges {
    fn interest(&self) -> Retirements {
        Retirements { waypoints: true, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Event { at, event } => self.event(at, event),
            Told::Waypoint { at, waypoint } => self.heard.push((at, waypoint)),
            Told::Arrived { first_flit, frame } => {
                let last = first_flit + flits(frame.len()) - 1;
                self.pass(0, (first_flit, last), frame.len());
            }
            Told::Left { first_flit, last_flit, frame } => {
                self.pass(1, (first_flit, last_flit), frame.len());
            }
            Told::Retired { .. }
            | Told::Taken { .. }
            | Told::Stored { .. }
            | Told::Excepted { .. } => {}
        }
    }
}
