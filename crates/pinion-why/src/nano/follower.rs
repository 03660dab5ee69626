//! Hears a run, and keeps when each frame and message came where. Waypoints come in; lives go out.

use std::collections::{BTreeMap, HashMap};

use pinion_app::error::{Error, Result};
use pinion_nanopu::Cycle;
use pinion_nanopu::event::{NanoPu, Retirements, Told};
use pinion_nanopu::waypoint::{Met, Waypoint};
use pinion_run::nanoservice::run::Settling;
use pinion_run::nanoservice::{Setup, Works};
use pinion_sim::Clock;
use pinion_sim::probe::Hears;

use super::life::{Arrival, Departure, Fate, Left, Life, Outgoing};
use crate::find::{self, Pick, Standing, Through, Which};

/// A frame that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedFrame {
    /// Its number, from 0.
    pub frame: u64,
    /// When.
    pub at: Cycle,
    /// Why.
    pub fate: Fate,
    /// Its bytes.
    pub bytes: usize,
    /// Number of frames dropped.
    pub all: u64,
    /// Number dropped for the same reason.
    pub same: u64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A message that got through.
    Done(Box<Life>, Standing),
    /// A frame whose message got through.
    Frame(u64, Box<Life>, Standing),
    /// A control frame.
    Control(u64),
    /// A frame that was dropped.
    Dropped(DroppedFrame),
}

impl Found {
    /// Gives the message whose way is told.
    pub fn life(&self) -> Option<&Life> {
        match self {
            Self::Done(life, _) | Self::Frame(_, life, _) => Some(life),
            Self::Control(_) | Self::Dropped(_) => None,
        }
    }
}

/// Hears a run, and follows all of its messages.
pub struct Follower {
    clock: Clock,
    /// Cycles from the arbiter's choice to the first flit where nobody is in front.
    egress_cycles: Cycle,
    /// What was heard and may be followed by something earlier.
    heard: Vec<(Cycle, Waypoint)>,
    /// Numbers of the first frames that it hears of, that come and that leave.
    first: (u64, u64),
    frames: Vec<Arrival>,
    works: Works,
    lives: BTreeMap<u64, Life>,
    outgoing: HashMap<u64, Outgoing>,
    left: Vec<Left>,
    /// Last flits of the frames that left, in their order.
    last_flits: Vec<Cycle>,
    /// Frames that were dropped, in that order.
    dropped: Vec<u64>,
}

impl Hears<NanoPu> for Follower {
    fn interest(&self) -> Retirements {
        Retirements { waypoints: true, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Arrived { first_flit, frame } => {
                self.frames.push(Arrival { first_flit, bytes: frame.len(), found: None });
            }
            Told::Left { last_flit, .. } => self.last_flits.push(last_flit),
            Told::Waypoint { at, waypoint } => self.heard.push((at, waypoint)),
            _ => {}
        }
    }
}

impl Settling for Follower {
    fn settle(&mut self, cycle: Cycle) -> Result<()> {
        self.heard.sort_by_key(|(at, _)| *at);
        let settled = self.heard.partition_point(|(at, _)| *at < cycle);
        let mut heard = std::mem::take(&mut self.heard);
        heard.drain(..settled).for_each(|(at, waypoint)| self.follow(at, &waypoint));
        self.heard = heard;
        Ok(())
    }
}

impl Follower {
    /// Makes a listener for a node.
    pub fn new(setup: &Setup) -> Self {
        let latency = &setup.machine.value.transmit.latency;
        Self {
            clock: setup.clock,
            egress_cycles: latency.arbiter_cycles + latency.pipeline_cycles,
            heard: Vec::new(),
            first: (0, 0),
            frames: Vec::new(),
            works: Works::default(),
            lives: BTreeMap::new(),
            outgoing: HashMap::new(),
            left: Vec::new(),
            last_flits: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// Makes a listener for a node that has run already.
    pub fn since(setup: &Setup, met: &Met) -> Self {
        let mut follower = Self::new(setup);
        follower.first = (met.frames_come, met.frames_left);
        met.unknown.iter().for_each(|(hart, context)| follower.works.doubt(*hart, *context));
        met.known.iter().for_each(|(hart, context, ended)| {
            follower.works.know(*hart, *context, *ended);
        });
        follower
    }

    fn follow(&mut self, at: Cycle, waypoint: &Waypoint) {
        match *waypoint {
            Waypoint::Packet { frame, message, packet, stored, complete } => {
                let (first_flit, bytes) = self.look_up(frame, at, Fate::Packet(message, packet));
                let life = self.lives.entry(message).or_insert_with(|| Life {
                    message,
                    arrival: first_flit,
                    looked_up: at,
                    ..Life::default()
                });
                life.frames.push(frame);
                life.bytes += bytes as u64;
                if complete {
                    (life.complete, life.stored) = (Some((at, frame)), stored);
                }
            }
            Waypoint::Consumed { frame, trimmed: false } => {
                self.look_up(frame, at, Fate::Control);
            }
            Waypoint::Consumed { frame, trimmed: true } => {
                self.drop_frame(frame, at, Fate::Trimmed)
            }
            Waypoint::Dropped { frame, reason } => {
                self.drop_frame(frame, at, Fate::Dropped(reason));
            }
            Waypoint::Queued { message, context } => {
                if let Some(life) = self.lives.get_mut(&message) {
                    (life.queued, life.context) = (Some(at), context);
                }
            }
            Waypoint::Chosen { message, hart, enters, .. } => {
                self.works.hear(at, waypoint);
                if let Some(life) = self.lives.get_mut(&message) {
                    life.chosen = Some((at, hart, enters));
                }
            }
            Waypoint::Begun { .. } => {
                if let Some(life) = self.heard_work(at, waypoint) {
                    life.begun = Some(at);
                }
            }
            Waypoint::Ended { .. } => {
                if let Some(life) = self.heard_work(at, waypoint) {
                    life.ended = Some(at);
                }
            }
            Waypoint::Bound { .. } => drop(self.works.hear(at, waypoint)),
            Waypoint::Freed { .. } => {}
            Waypoint::Sends { message, hart, written, .. } => {
                let work = self.works.at(hart, written);
                if let Some(life) = work.and_then(|work| self.lives.get_mut(&work)) {
                    life.reply.get_or_insert(message);
                }
                let (sends, departures) = (at, Vec::new());
                self.outgoing.insert(message, Outgoing { hart, written, sends, work, departures });
            }
            Waypoint::Leaves { frame, packet, first_flit } => {
                let message = packet.map(|packet| packet.message);
                let place = frame.checked_sub(self.first.1).map(|place| place as usize);
                let last_flit = place.and_then(|place| self.last_flits.get(place).copied());
                let last_flit = last_flit.unwrap_or(first_flit);
                self.left.push(Left { message, chosen: at, last_flit });
                let Some(packet) = packet else { return };
                let departure = Departure {
                    frame,
                    packet: packet.packet,
                    cause: packet.cause,
                    ready: packet.ready,
                    offered: packet.offered,
                    chosen: at,
                    first_flit,
                };
                if let Some(outgoing) = self.outgoing.get_mut(&packet.message) {
                    outgoing.departures.push(departure);
                }
            }
        }
    }

    /// Hears what a hart began or ended; gives the message.
    fn heard_work(&mut self, at: Cycle, waypoint: &Waypoint) -> Option<&mut Life> {
        let message = self.works.hear(at, waypoint)?;
        self.lives.get_mut(&message)
    }

    fn look_up(&mut self, frame: u64, at: Cycle, fate: Fate) -> (Cycle, usize) {
        let place = frame.checked_sub(self.first.0).map(|place| place as usize);
        let arrival = place.and_then(|place| self.frames.get_mut(place));
        let Some(arrival) = arrival else { return (at, 0) };
        arrival.found = Some((at, fate));
        (arrival.first_flit, arrival.bytes)
    }

    fn drop_frame(&mut self, frame: u64, at: Cycle, fate: Fate) {
        self.look_up(frame, at, fate);
        self.dropped.push(frame);
    }

    /// Gives the node's clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Gives the cycles from the arbiter's choice to the first flit where nobody is in front.
    pub(super) fn egress_cycles(&self) -> Cycle {
        self.egress_cycles
    }

    /// Gives all messages that came, by their numbers.
    pub fn lives(&self) -> impl Iterator<Item = &Life> {
        self.lives.values()
    }

    /// Gives a message that came.
    pub fn life(&self, message: u64) -> Option<&Life> {
        self.lives.get(&message)
    }

    /// Gives a message that went out.
    pub fn outgoing(&self, message: u64) -> Option<&Outgoing> {
        self.outgoing.get(&message)
    }

    /// Gives the numbers of all messages that went out.
    pub fn sent(&self) -> impl Iterator<Item = u64> {
        self.outgoing.keys().copied()
    }

    /// Gives a frame that came.
    pub fn arrival(&self, frame: u64) -> Option<&Arrival> {
        self.frames.get(usize::try_from(frame.checked_sub(self.first.0)?).ok()?)
    }

    /// Gives the frames that left, in order.
    pub fn left(&self) -> &[Left] {
        &self.left
    }

    /// Gives the frames that were dropped, in order.
    pub fn dropped(&self) -> &[u64] {
        &self.dropped
    }

    /// Gives what answers a message, if that has left.
    pub fn reply(&self, life: &Life) -> Option<&Outgoing> {
        self.outgoing(life.reply?)
    }

    /// Gives when a message is over: the first flit of its answer was on the pins or, where it has none,
    /// the hart was done with it.
    pub fn end(&self, life: &Life) -> Option<Cycle> {
        match life.reply {
            Some(_) => Some(self.reply(life)?.left()?.first_flit),
            None => life.ended,
        }
    }

    /// Finds the message or frame that is meant.
    ///
    /// # Errors
    /// When there is none such.
    pub fn find(&self, which: Which) -> Result<Found> {
        let pick = match which {
            Which::Dropped(index) => return self.find_dropped(index),
            Which::Packet(frame) => return self.find_frame(frame),
            Which::Message(message) => Pick::Number(u64::from(message)),
            Which::Percentile99 => Pick::Percentile99,
            Which::Slowest => Pick::Slowest,
        };
        let (life, standing) = self.pick(pick).ok_or_else(|| self.nothing(which))?;
        Ok(Found::Done(Box::new(life.clone()), standing))
    }

    fn pick(&self, pick: Pick) -> Option<(&Life, Standing)> {
        let through = |life: &Life| {
            let (from, to) = (self.clock.time(life.arrival), self.clock.time(self.end(life)?));
            let took_ps = to.ps().saturating_sub(from.ps());
            Some(Through { number: life.message, took_ps, is_answered: life.reply.is_some() })
        };
        let (found, standing) = find::pick(self.lives().filter_map(through).collect(), pick)?;
        Some((self.lives.get(&found.number)?, standing))
    }

    fn find_frame(&self, frame: u64) -> Result<Found> {
        let inside = || {
            let why = "it was still coming in when the run ended";
            Error::Usage(format!("--packet {frame} did not get through: {why}"))
        };
        let Some(arrival) = self.arrival(frame) else {
            return Err(Error::Usage(match self.frames.len() {
                0 => "--packet: no frame came in this run".to_owned(),
                count => {
                    let (first, last) = (self.first.0, self.first.0 + count as u64 - 1);
                    format!("--packet {frame}: frames {first} to {last} came")
                }
            }));
        };
        match arrival.found.ok_or_else(inside)? {
            (_, Fate::Packet(message, _)) => {
                let picked = self.pick(Pick::Number(message));
                let (life, standing) = picked.ok_or_else(|| {
                    let stands = self.lives.get(&message).map_or_else(String::new, stands);
                    Error::Usage(format!(
                        "--packet {frame} is of message {message}, which did not get through: \
                         {stands}"
                    ))
                })?;
                Ok(Found::Frame(frame, Box::new(life.clone()), standing))
            }
            (_, Fate::Control) => Ok(Found::Control(frame)),
            (_, Fate::Trimmed | Fate::Dropped(_)) => Ok(Found::Dropped(self.dropped_frame(frame))),
        }
    }

    fn find_dropped(&self, index: u64) -> Result<Found> {
        let frame = *find::dropped(&self.dropped, index, "frame")?;
        Ok(Found::Dropped(self.dropped_frame(frame)))
    }

    fn dropped_frame(&self, frame: u64) -> DroppedFrame {
        let fate = |frame: u64| self.arrival(frame).and_then(|arrival| arrival.found);
        let (at, own) = fate(frame).unwrap_or((0, Fate::Trimmed));
        let is_same = |other: &&u64| fate(**other).is_some_and(|(_, fate)| fate == own);
        let same = self.dropped.iter().filter(is_same).count() as u64;
        let bytes = self.arrival(frame).map_or(0, |arrival| arrival.bytes);
        DroppedFrame { frame, at, fate: own, bytes, all: self.dropped.len() as u64, same }
    }

    /// Tells whether a message came before the first one that it has heard of.
    fn came_before(&self, message: u32) -> bool {
        self.lives.keys().next().is_some_and(|first| u64::from(message) < *first)
    }

    fn nothing(&self, which: Which) -> Error {
        let Some(last) = self.lives.keys().next_back() else {
            let why = "no message came in this run: `pinion run` says what became of frames";
            return Error::Usage(why.to_owned());
        };
        Error::Usage(match which {
            Which::Message(message) if self.came_before(message) => {
                format!("--message {message} came before anybody listened")
            }
            Which::Message(message) if u64::from(message) <= *last => {
                let stands = self.lives.get(&u64::from(message)).map_or_else(String::new, stands);
                format!("--message {message} did not get through: {stands}")
            }
            Which::Message(message) => {
                format!("--message {message}: the run has messages 0 to {last}")
            }
            _ => "no message got through".to_owned(),
        })
    }
}

/// Says how far a message came that did not get through.
fn stands(life: &Life) -> String {
    match life {
        Life { complete: None, frames, .. } => {
            format!("{} of its frames came, and others did not", frames.len())
        }
        Life { queued: None, .. } => "it is in the reassembly buffer".to_owned(),
        Life { chosen: None, context, .. } => {
            format!("it waits in the global receive queue of context {context}")
        }
        Life { chosen: Some((_, hart, _)), begun: None, .. } => {
            format!("it waits in the receive queue of hart {hart}")
        }
        Life { reply: Some(_), .. } => "its answer has not left".to_owned(),
        _ => "its hart has not said that it is done with it".to_owned(),
    }
}
