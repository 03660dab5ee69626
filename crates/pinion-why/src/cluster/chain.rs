//! The parts of a request's way through the nodes and the network, one behind the other.

use std::sync::Arc;

use pinion_nanopu::waypoint::Cause;
use pinion_observe::trace::Loss;
use pinion_run::cluster::{Target, place_name, port_name};
use pinion_sim::Time;
use rustc_hash::FxHashMap as HashMap;

use super::ends::{End, LoadEnd};
use super::heard::{Heard, Journey, Trip};
use super::web::{At, How, What};
use crate::handlers::{self, Witness};
use crate::locks::{LockWait, Spent};
use crate::nano::{self, Departure, Fate, Follower};
use crate::way::{Behind, Blocker, Builder, Part, Seat, Step, Who};

/// Names the place of cables.
const CABLES: &str = "cable";

/// What is known of a visit to a sPIN NIC: its number among the trips, who kept the packet's way, and what
/// its handlers spent their time with.
pub type NicVisits = HashMap<usize, (Witness, Spent)>;

/// What is known of a request's visits to nodes, beside when it came and went.
#[derive(Default)]
pub struct Visited {
    /// Those to sPIN NICs.
    pub nics: NicVisits,
    /// By number among the trips: the locks that a hart waited for while it worked at it.
    pub locks: HashMap<usize, Vec<LockWait>>,
}

impl Visited {
    fn locks_at(&self, number: usize) -> &[LockWait] {
        self.locks.get(&number).map_or(&[], Vec::as_slice)
    }
}

/// Follows a request.
pub struct Chain<'a> {
    heard: &'a Heard<'a>,
    journey: &'a Journey,
    visited: &'a Visited,
    builder: Builder,
}

impl<'a> Chain<'a> {
    /// Gives the parts of a request's way.
    pub fn parts(heard: &'a Heard<'a>, journey: &'a Journey, visited: &'a Visited) -> Vec<Part> {
        let builder = Builder::new(journey.begin, journey.end);
        let mut chain = Self { heard, journey, visited, builder };
        for number in 0..journey.trips.len() {
            chain.send(number);
            chain.cross(&journey.trips[number]);
        }
        chain.arrive();
        chain.builder.finish()
    }

    fn place(&mut self, node: usize) {
        self.builder.place(&self.heard.names[node]);
    }

    /// Names what a trip carries.
    fn noun(&self, number: usize) -> &'static str {
        let trips = &self.journey.trips;
        match number {
            0 if self.journey.is_answered => "request",
            0 => "message",
            _ if number + 1 == trips.len() && self.journey.is_answered => "answer",
            _ => "message",
        }
    }

    /// Follows what is sent on a trip from what led to it until its first flit is on the pins.
    fn send(&mut self, number: usize) {
        let trip = self.journey.trips[number];
        let (node, frame) = trip.from;
        let came = number.checked_sub(1).map(|before| self.journey.trips[before].to.1);
        self.place(node);
        match &self.heard.ends[node] {
            End::Nano(follower) => self.send_message(follower, (node, frame), came, number),
            End::Nic(nic) => {
                if let Some(departed) = came.and(nic.departed(frame)) {
                    self.handle(node, number, (Some(departed.nth), departed.time));
                    let first = self.heard.first_flit(trip.from).unwrap_or(departed.time);
                    let what = "it waits for the NIC's pins";
                    self.builder.step(first, Step::other_waits("pins"), what, Behind::nobody);
                }
            }
            End::Load(load) => self.generate(load, (node, frame)),
            End::Frames => {}
        }
    }

    fn send_message(
        &mut self,
        follower: &'a Follower,
        (node, frame): (usize, u64),
        came: Option<u64>,
        number: usize,
    ) {
        let noun = self.noun(number);
        let Some(outgoing) = self.heard.outgoing((node, frame)) else { return };
        let mut chain = nano::Chain::new(follower, &mut self.builder);
        if let Some((life, came)) =
            came.and_then(|came| Some((self.heard.life_of(node, came)?, came)))
        {
            chain.receive(life, came);
            chain.work(life, Some(outgoing), self.visited.locks_at(number));
        }
        let own = outgoing.departures.iter().find(|departure| departure.frame == frame);
        let Some(own) = own else { return };
        let copies = outgoing.departures.iter().filter(|copy| copy.packet == own.packet);
        let copies: Vec<&Departure> = copies.take_while(|copy| copy.frame <= frame).collect();
        for (nth, copy) in copies.iter().enumerate() {
            match nth {
                0 => nano::Chain::new(follower, &mut self.builder).write(outgoing, copy, noun),
                _ => self.again((node, copies[nth - 1].frame), copy),
            }
            nano::Chain::new(follower, &mut self.builder).depart(copy, noun);
        }
    }

    /// Follows a packet that a nanoPU sends again from when it went before to when it can go.
    fn again(&mut self, before: (usize, u64), copy: &Departure) {
        let became = self.became(before);
        let (step, what) = match copy.cause {
            Cause::Timeout => (Step::wait("timer"), format!("waits for its timer: {became}")),
            _ => (Step::wait("credit"), format!("waits for PULL credit: {became}")),
        };
        let behind = self.filled_queue(before);
        self.builder.step(self.heard.plan.clock.time(copy.ready), step, what, || behind);
    }

    /// Follows a request of a generator from when it was due until the frame goes that came through.
    fn generate(&mut self, load: &LoadEnd, (node, frame): (usize, u64)) {
        let Some(Some(carried)) = load.sent.get(frame as usize).copied() else { return };
        let copies = load.copies(carried, frame);
        for (nth, copy) in copies.iter().enumerate() {
            let Some(first) = self.heard.first_flit((node, *copy)) else { continue };
            if nth > 0 {
                let before = (node, copies[nth - 1]);
                let is_trimmed = self.fates(before).any(|how| matches!(how, How::Trimmed(..)));
                let (name, what) = match is_trimmed {
                    true => ("credit", "waits for PULL credit"),
                    false => ("timer", "waits for its timer"),
                };
                let what = format!("{what}: {}", self.became(before));
                let behind = self.filled_queue(before);
                self.builder.step(first, Step::wait(name), what, || behind);
                continue;
            }
            let before = copy.checked_sub(1);
            let whole = before.and_then(|before| {
                let step = self.heard.steps.step(self.heard.steps.left(node, before)?);
                Some(self.heard.plan.clock.time(step.to))
            });
            match (before, whole) {
                (Some(before), Some(whole)) if whole >= first => {
                    let behind = Behind::of([self.frame((node, before))]);
                    let what = "waits for its generator's pins";
                    self.builder.step(first, Step::wait("pins"), what, || behind);
                }
                _ if carried.1 > 0 => {
                    let what = format!("packet {} of it waits for credit", carried.1);
                    let step = Step::other_waits("credit");
                    self.builder.step(first, step, what, Behind::nobody);
                }
                _ => {
                    let what = "waits for a message id: too many are not acknowledged";
                    self.builder.step(first, Step::wait("message_id"), what, Behind::nobody);
                }
            }
        }
    }

    /// Follows a packet through a NIC until a frame that its handlers sent has left or it is done.
    fn handle(&mut self, node: usize, number: usize, (nth, end): (Option<usize>, Time)) {
        let Some((witness, spent)) = self.visited.nics.get(&number) else {
            let what = "a handler's packet is in the NIC";
            return self.builder.step(end, Step::other("nic"), what, Behind::nobody);
        };
        let Some((group, _)) = self.heard.plan.group_of(node) else { return };
        let Target::Handlers { app } = &group.target else { return };
        if let Some(arrival) = witness.arrival() {
            self.builder.step(arrival, Step::own("arrival"), "comes in whole", Behind::nobody);
        }
        handlers::follow(&mut self.builder, &**app, witness, &spent.locks, (nth, end));
    }

    /// Follows the last trip's frame at the node that it reached.
    fn arrive(&mut self) {
        let last = self.journey.trips.len() - 1;
        let (node, frame) = self.journey.trips[last].to;
        self.place(node);
        match &self.heard.ends[node] {
            End::Nano(follower) => {
                let Some(life) = self.heard.life_of(node, frame) else { return };
                let mut chain = nano::Chain::new(follower, &mut self.builder);
                chain.receive(life, frame);
                if !self.journey.is_answered {
                    chain.work(life, None, self.visited.locks_at(last + 1));
                }
            }
            End::Nic(_) => {
                let end = self.journey.end;
                self.handle(node, last + 1, (None, end));
            }
            End::Load(_) | End::Frames => {
                let what = "comes in whole";
                self.builder.step(self.journey.end, Step::own("arrival"), what, Behind::nobody);
            }
        }
    }

    /// Follows a frame from its sender's pins to the receiver's.
    fn cross(&mut self, trip: &Trip) {
        let Some(last) = self.heard.steps.reached(trip.to.0, trip.to.1) else { return };
        let clock = self.heard.plan.clock;
        for step in self.heard.steps.until(last) {
            match step.what {
                What::Left { .. } => {}
                What::Crossed { wire } => {
                    self.builder.place(&Arc::from(CABLES));
                    let what = format!("crosses the cable {}", self.wire(wire));
                    let to = clock.time(step.to);
                    self.builder.step(to, Step::own("cable"), what, Behind::nobody);
                }
                What::Waited(at) => {
                    self.builder.place(&Arc::from(format!("switch {}", at.switch)));
                    let (from, to) = (clock.time(step.from), clock.time(step.to));
                    self.builder.step(from, Step::own("switch"), "comes in whole", Behind::nobody);
                    let what = format!("waits in the queue to {}", self.queue(at));
                    let waits = step.to > step.from;
                    let behind = waits.then(|| self.in_front(at, (step.from, step.to), trip.from));
                    let behind = || behind.unwrap_or_default();
                    self.builder.step(to, Step::wait("switch_queue"), what, behind);
                }
            }
        }
    }

    fn wire(&self, wire: u32) -> String {
        wire_words(self.heard, wire)
    }

    fn queue(&self, at: At) -> String {
        port_name(self.heard.plan, at.switch as usize, usize::from(at.port))
    }

    fn frame(&self, sender: (usize, u64)) -> Blocker {
        frame(self.heard, sender)
    }

    /// Names the frames that left a port while another waited there, the last one first.
    fn in_front(&self, at: At, span: (u64, u64), own: (usize, u64)) -> Behind {
        let passed = self.heard.steps.passed_port(at, span, own);
        Behind::of(passed.into_iter().map(|sender| self.frame(sender)))
    }

    fn fates(&self, (node, frame): (usize, u64)) -> impl Iterator<Item = How> + '_ {
        let first = self.heard.steps.left(node, frame);
        let fates = first.map_or(&[][..], |first| self.heard.steps.fates(first));
        fates.iter().map(|fate| fate.how)
    }

    /// Says what became of a frame that did not do.
    fn became(&self, (node, frame): (usize, u64)) -> String {
        let Some(first) = self.heard.steps.left(node, frame) else { return String::new() };
        if let Some(fate) = self.heard.steps.fates(first).first() {
            return format!("frame {frame} {}", fate_words(self.heard, fate.how));
        }
        for (other, end) in self.heard.ends.iter().enumerate() {
            let End::Nano(follower) = end else { continue };
            for (number, last) in self.heard.steps.all_reached(other) {
                if self.heard.steps.sender(last) != (node, frame) {
                    continue;
                }
                let name = &self.heard.names[other];
                let found = follower.arrival(number).and_then(|arrival| arrival.found);
                return match found {
                    Some((_, Fate::Dropped(reason))) => {
                        format!("{name} dropped frame {frame}, {}", reason.name())
                    }
                    _ => {
                        format!("frame {frame} reached {name}, and nothing was heard of it in time")
                    }
                };
            }
        }
        format!("nothing was heard of frame {frame} in time")
    }

    /// Names the frames that filled the queue in which another found no room.
    fn filled_queue(&self, (node, frame): (usize, u64)) -> Behind {
        let Some(first) = self.heard.steps.left(node, frame) else { return Behind::nobody() };
        let full = self.heard.steps.fates(first).iter().find_map(|fate| match fate.how {
            How::Trimmed(at, _) | How::Dropped(at, _, _) => Some((at, fate.at)),
            How::Lost(..) => None,
        });
        full.map_or_else(Behind::nobody, |(at, cycle)| filled(self.heard, at, cycle))
    }
}

/// Names the frames of data that waited in a switch in front of a port in a cycle, the last one first.
pub fn filled(heard: &Heard<'_>, at: At, cycle: u64) -> Behind {
    let data = At { control: false, ..at };
    let waited = heard.steps.waited_in(data, cycle);
    Behind::of(waited.into_iter().map(|sender| frame(heard, sender)))
}

/// Names a frame by its sender.
pub fn frame(heard: &Heard<'_>, (node, frame): (usize, u64)) -> Blocker {
    let at = Some(Seat::Node(Arc::clone(&heard.names[node])));
    Blocker { who: Who::Frame(frame), at, held_ps: None }
}

/// Says where a wire leads.
pub fn wire_words(heard: &Heard<'_>, wire: u32) -> String {
    let mut ends = heard.plan.network.topology.cables[wire as usize / 2].ends;
    if wire % 2 == 1 {
        ends.reverse();
    }
    let [from, to] = ends.map(|jack| place_name(heard.plan, jack.place));
    format!("from {from} to {to}")
}

/// Says how a frame did not get through whole.
pub fn fate_words(heard: &Heard<'_>, how: How) -> String {
    let queue = |at: At| {
        let to = port_name(heard.plan, at.switch as usize, usize::from(at.port));
        format!("switch {}'s queue to {to}", at.switch)
    };
    match how {
        How::Lost(wire, Loss::Fault) => {
            format!("was lost on the cable {}", wire_words(heard, wire))
        }
        How::Lost(wire, Loss::Damaged) => {
            format!("was damaged on the cable {}", wire_words(heard, wire))
        }
        How::Lost(wire, Loss::NoRoom) => {
            format!("found no room in front of the cable {}", wire_words(heard, wire))
        }
        How::Dropped(at, ..) => format!("was dropped in {}", queue(at)),
        How::Trimmed(at, _) => format!("was trimmed in {}", queue(at)),
    }
}
