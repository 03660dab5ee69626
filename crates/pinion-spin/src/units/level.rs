//! The scheduling level. In: frames from the wire. Out: each to the queue of a unit, those that no
//! context matches to the host. Holds the matching engine, one frame, and a bounded queue per unit.
//! Waits when the queue of a frame's unit is full: frames behind it wait too, as on the wire.
//!
//! A message stays in one unit, which holds its queue, its scratchpads and its handlers' memory. Its
//! first packet goes to the unit that has the fewest packets (ties: the one after the last chosen).

use std::collections::{HashMap, VecDeque};

use pinion_sim::{Clock, Time};

use super::outward::News;
use crate::listener::{Event, Listener};
use crate::matching::{MatchingEngine, Verdict};
use crate::{Classification, ContextId, Frame, Machine, Offer, Totals, Traffic};

/// Holds the level.
#[derive(Clone, Debug)]
pub struct Level {
    latency_cycles: u64,
    queue_packets: usize,
    matching: MatchingEngine,
    /// By context: bytes of a packet that go to L1.
    l1_bytes: Vec<Option<u32>>,
    queues: Vec<Queue>,
    /// The unit of each message under way.
    homes: HashMap<(u32, u32), usize>,
    last_chosen: usize,
    /// The frame that comes next, its unit if that is known, and the cycle from which it may go on.
    waiting: Option<Waiting>,
    /// First cycle in which the next frame can go on: one that nobody wants takes a cycle, too.
    free_from: u64,
    /// Whether the source had nothing.
    paused: bool,
    ended: bool,
    totals: Totals,
}

#[derive(Clone, Debug)]
struct Waiting {
    frame: Frame,
    known: Option<(Classification, usize)>,
    /// `None`: until its unit's queue has room.
    from: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    frames: VecDeque<Frame>,
    /// Packets dealt to the unit that are not done.
    inside: u64,
}

impl Level {
    /// Makes an idle level.
    pub fn new(machine: &Machine, l1_bytes: Vec<Option<u32>>, matching: MatchingEngine) -> Self {
        let units = &machine.units;
        let queues = (0..units.count).map(|_| Queue::default()).collect();
        Self {
            latency_cycles: machine.matching.latency_cycles + units.latency_cycles,
            queue_packets: units.queue_packets as usize,
            matching,
            l1_bytes,
            queues,
            homes: HashMap::new(),
            last_chosen: units.count.saturating_sub(1) as usize,
            waiting: None,
            free_from: 0,
            paused: false,
            ended: false,
            totals: Totals::default(),
        }
    }

    /// Lets the source be asked again.
    pub fn ask_again(&mut self) {
        self.paused = false;
    }

    /// Says whether the source has ended and everything was dealt out.
    pub fn has_ended(&self) -> bool {
        self.ended && self.waiting.is_none()
    }

    /// Gives the cycle at which the next frame can be dealt; `None`: there is none, or it waits for
    /// room.
    pub fn next_cycle(&mut self, clock: Clock, traffic: &mut dyn Traffic) -> Option<u64> {
        if self.waiting.is_none() && !self.paused && !self.ended {
            match traffic.next() {
                Offer::Frame(frame) => {
                    self.totals.packets_in += 1;
                    self.totals.bytes_in += frame.bytes.len() as u64;
                    let from = clock.cycle_at(frame.arrival) + self.latency_cycles;
                    let from = Some(from.max(self.free_from));
                    self.waiting = Some(Waiting { frame, known: None, from });
                }
                Offer::Nothing => self.paused = true,
                Offer::End => self.ended = true,
            }
        }
        self.waiting.as_ref()?.from
    }

    /// Deals out the frame that is due at `time`; gives its unit, if it went to one.
    pub fn deal(&mut self, time: Time, listener: &mut dyn Listener) -> Option<usize> {
        let mut waiting = self.waiting.take()?;
        let known = waiting.known.or_else(|| self.choose(&waiting.frame));
        let Some((classification, unit)) = known else {
            self.totals.unmatched += 1;
            self.free_from = waiting.from.map_or(self.free_from, |from| from + 1);
            listener.hear(&Event::Unmatched { time, frame: &waiting.frame.bytes });
            return None;
        };
        let queue = &mut self.queues[unit];
        if queue.frames.len() >= self.queue_packets {
            waiting.known = Some((classification, unit));
            waiting.from = None;
            self.waiting = Some(waiting);
            return None;
        }
        let message = (classification.context.0, classification.message);
        if classification.end_of_message {
            self.homes.remove(&message);
        }
        queue.inside += 1;
        let mut frame = waiting.frame;
        frame.classification = Some(classification);
        queue.frames.push_back(frame);
        Some(unit)
    }

    /// Finds a frame's message and unit; `None`: no context wants it.
    fn choose(&mut self, frame: &Frame) -> Option<(Classification, usize)> {
        let classification = match frame.classification {
            Some(known) if (known.context.0 as usize) < self.l1_bytes.len() => known,
            _ => self.classify(frame)?,
        };
        let message = (classification.context.0, classification.message);
        if let Some(&unit) = self.homes.get(&message) {
            return Some((classification, unit));
        }
        let count = self.queues.len();
        let after = |unit: &usize| (unit + count - self.last_chosen - 1) % count;
        let unit = (0..count).min_by_key(|unit| (self.queues[*unit].inside, after(unit)))?;
        self.last_chosen = unit;
        self.homes.insert(message, unit);
        Some((classification, unit))
    }

    fn classify(&mut self, frame: &Frame) -> Option<Classification> {
        let verdict = self.matching.classify(&frame.bytes);
        let Verdict::Matched { context, message, end_of_message } = verdict else { return None };
        let bytes = (frame.bytes.len() as u32).saturating_sub(frame.skip);
        let wanted = self.l1_bytes.get(context as usize).copied().flatten();
        Some(Classification {
            context: ContextId(context),
            message: message.id,
            end_of_message,
            l1_bytes: wanted.map_or(bytes, |wanted| wanted.min(bytes)),
        })
    }

    /// Says whether the next frame waits for room in a unit's queue.
    pub fn waits_for(&self, unit: usize) -> bool {
        let waits = |waiting: &Waiting| {
            waiting.from.is_none() && waiting.known.is_some_and(|(_, wanted)| wanted == unit)
        };
        self.waiting.as_ref().is_some_and(waits)
    }

    /// Lets the waiting frame go on at `now` if it waits for a unit whose queue has room now.
    pub fn retry(&mut self, unit: usize, now: u64) {
        let has_room = self.queues[unit].frames.len() < self.queue_packets;
        if self.waits_for(unit)
            && has_room
            && let Some(waiting) = &mut self.waiting
        {
            waiting.from = Some(now);
        }
    }

    /// Takes note of what a unit did.
    pub fn learn(&mut self, unit: usize, news: News) {
        self.queues[unit].inside -= news.gone;
        for (context, message) in news.evicted {
            self.homes.remove(&(context.0, message));
            self.matching.end_message(context.0, message);
        }
    }

    /// Gives the traffic of one unit.
    pub fn port(&mut self, unit: usize) -> Port<'_> {
        Port(&mut self.queues[unit].frames)
    }

    /// Gives what the level counts itself: what came in, what no context wanted, what it holds.
    pub fn totals(&self) -> Totals {
        let queued: usize = self.queues.iter().map(|queue| queue.frames.len()).sum();
        let resident = queued as u64 + u64::from(self.waiting.is_some());
        Totals { resident, ..self.totals.clone() }
    }
}

/// Supplies a unit with the frames of its queue.
pub struct Port<'a>(&'a mut VecDeque<Frame>);

impl Traffic for Port<'_> {
    fn next(&mut self) -> Offer {
        self.0.pop_front().map_or(Offer::Nothing, Offer::Frame)
    }
}
