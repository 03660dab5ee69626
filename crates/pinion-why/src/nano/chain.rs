//! The parts of a message's way through a node, from the first flit of a frame to the first flit of its
//! answer.

use pinion_nanopu::Cycle;
use pinion_nanopu::waypoint::Cause;

use super::follower::Follower;
use super::life::{Arrival, Departure, Life, Outgoing};
use crate::locks::{Holder, LOCK_WAIT, LockWait};
use crate::way::{Behind, Blocker, Builder, Seat, Step, Who};

/// A hart works at it.
pub const WORK: Step = Step::other("work");

/// Adds a message's way through its node to a way.
pub struct Chain<'a> {
    follower: &'a Follower,
    builder: &'a mut Builder,
}

impl<'a> Chain<'a> {
    /// Follows messages of a node.
    pub fn new(follower: &'a Follower, builder: &'a mut Builder) -> Self {
        Self { follower, builder }
    }

    fn step(&mut self, to: Cycle, step: Step, what: impl Into<String>) {
        self.step_behind(to, step, what, Behind::nobody);
    }

    fn step_behind(
        &mut self,
        to: Cycle,
        step: Step,
        what: impl Into<String>,
        behind: impl FnOnce() -> Behind,
    ) {
        self.builder.step(self.follower.clock().time(to), step, what, behind);
    }

    /// Names the others to which something happened between now and a moment, the last one first.
    fn others(&self, own: &Life, to: Cycle, when: impl Fn(&'a Life) -> Option<Cycle>) -> Behind {
        let at = self.follower.clock().cycle_at(self.builder.at());
        let others = self.follower.lives().filter(|life| life.message != own.message);
        let moment = |life| Some((when(life)?, life));
        let mut others: Vec<(Cycle, &Life)> =
            others.filter_map(moment).filter(|(then, _)| *then >= at && *then <= to).collect();
        others.sort_by_key(|(at, life)| (std::cmp::Reverse(*at), life.message));
        Behind::of(others.iter().map(|(_, life)| named(life)))
    }

    /// Follows a frame until it is looked up.
    pub fn arrive(&mut self, arrival: &Arrival, what: &str) {
        if let Some((at, _)) = arrival.found {
            self.step(at, Step::own("ingress"), what);
        }
    }

    /// Follows a message from one of its frames until a hart has read its first word.
    pub fn receive(&mut self, own: &'a Life, frame: u64) {
        if let Some(arrival) = self.follower.arrival(frame) {
            self.arrive(arrival, "comes in, and is looked up");
        }
        let Some((complete, _)) = own.complete else { return };
        let what = format!("waits for the last of its {} packets", own.frames.len());
        self.step(complete, Step::wait("packets"), what);
        let what = "its payload goes to the reassembly buffer";
        self.step(own.stored, Step::other("reassembly"), what);
        let Some(queued) = own.queued else { return };
        let behind = self.others(own, queued, |life| life.queued);
        let step = Step { is_wait: !behind.is_empty(), ..Step::own("delivery") };
        self.step_behind(queued, step, "leaves the reassembly buffer", || behind);
        let Some((chosen, hart, enters)) = own.chosen else { return };
        // Whoever ended a message of the context made room at its hart.
        let behind = self.others(own, chosen, |life| {
            life.ended.filter(|_| life.context == own.context && life.queued < own.queued)
        });
        let (step, what) = match behind.is_empty() {
            true => (Step::other("selection"), "core selection takes it".to_owned()),
            false => {
                let what = format!("waits in the global receive queue of context {}", own.context);
                (Step::wait("selection"), what)
            }
        };
        self.step_behind(chosen, step, what, || behind);
        self.step(enters, Step::other("transfer"), format!("its first word goes to hart {hart}"));
        let Some(begun) = own.begun else { return };
        let behind = self.others(own, begun, |life| {
            life.ended.filter(|_| life.chosen.is_some_and(|(_, other, _)| other == hart))
        });
        let (step, what) = match behind.is_empty() {
            true => (Step::other("receive_queue"), format!("hart {hart} gets to read it")),
            false => {
                (Step::wait("receive_queue"), format!("waits in the receive queue of hart {hart}"))
            }
        };
        self.step_behind(begun, step, what, || behind);
    }

    /// Follows the hart that works at a message until it begins what it writes, or is done; `locks` are those
    /// that it waits for meanwhile.
    pub fn work(&mut self, own: &Life, reply: Option<&Outgoing>, locks: &[LockWait]) {
        let (Some((_, hart, _)), Some(_)) = (own.chosen, own.begun) else { return };
        let (to, what) = match reply {
            Some(reply) => (reply.written, "works at it until it begins to answer"),
            None => (own.ended.unwrap_or(0), "works at it, and does not answer"),
        };
        let what = format!("hart {hart} {what}");
        let (from, end) = (self.builder.at(), self.follower.clock().time(to));
        for lock in locks.iter().filter(|lock| lock.from >= from && lock.to <= end) {
            self.builder.step(lock.from, WORK, what.as_str(), Behind::nobody);
            let follower = self.follower;
            let behind = || lock.behind(|holder| holds(follower, holder));
            self.builder.step(lock.to, LOCK_WAIT, lock.words(), behind);
        }
        self.step(to, WORK, what);
    }

    /// Follows a message that goes out until one of its packets can go for the first time; `noun` is what
    /// it is called.
    pub fn write(&mut self, outgoing: &Outgoing, first: &Departure, noun: &str) {
        let what = format!("its {noun}'s header goes to packetization");
        self.step(outgoing.sends, Step::other("packetization"), what);
        let packet = first.packet;
        let (step, what) = match first.cause {
            Cause::First => {
                (Step::other("answer"), format!("its {noun}'s {} packet is written", nth(packet)))
            }
            Cause::Credit => (Step::other_waits("credit"), said(packet, noun, "credit")),
            Cause::Timeout => (Step::other_waits("timer"), said(packet, noun, "its timer")),
        };
        self.step(first.ready, step, what);
    }

    /// Follows a packet that can go until its first flit is on the pins.
    pub fn depart(&mut self, departure: &Departure, noun: &str) {
        let what = format!("its {noun}'s packet goes to the arbiter");
        self.step(departure.offered, Step::other("offer"), what);
        let behind = self.chosen_before(departure);
        let (step, what) = match behind.is_empty() {
            true => (Step::other("arbiter"), "the arbiter chooses it".to_owned()),
            false => (Step::other_waits("arbiter"), format!("its {noun} waits for the arbiter")),
        };
        self.step_behind(departure.chosen, step, what, || behind);
        let unhindered = departure.chosen + self.follower.egress_cycles();
        let first_flit = departure.first_flit;
        let what = "it goes out through the egress pipeline";
        self.step(first_flit.min(unhindered), Step::other("egress"), what);
        let behind = self.in_front(departure.frame, unhindered);
        let what = "it waits for the pins";
        self.step_behind(first_flit, Step::other_waits("pins"), what, || behind);
    }

    /// Names frames that the arbiter chose while a packet waited for it, the last one first.
    fn chosen_before(&self, departure: &Departure) -> Behind {
        let from = self.follower.clock().cycle_at(self.builder.at());
        let before = self.before(departure.frame);
        let waited = before.take_while(|(_, left)| left.chosen >= from);
        self.name(waited.map(|(frame, _)| frame))
    }

    /// Names frames that were on the pins, or had yet to be, in a cycle, the last one first.
    fn in_front(&self, frame: u64, from: Cycle) -> Behind {
        let before = self.before(frame).take_while(|(_, left)| left.last_flit >= from);
        self.name(before.map(|(frame, _)| frame))
    }

    /// Gives the frames that left before one, the last one first.
    fn before(&self, frame: u64) -> impl Iterator<Item = (u64, &'a super::life::Left)> + use<'a> {
        let left = self.follower.left();
        let before = &left[..left.len().min(frame as usize)];
        before.iter().enumerate().rev().map(|(frame, left)| (frame as u64, left))
    }

    /// Names frames that left: by the message whose answer they carry, if they carry any.
    fn name(&self, frames: impl Iterator<Item = u64>) -> Behind {
        Behind::of(frames.map(|frame| {
            let message = self.follower.left()[frame as usize].message;
            let outgoing = message.and_then(|message| self.follower.outgoing(message));
            let life = outgoing.and_then(|out| self.follower.life(out.work?));
            life.map_or(Blocker { who: Who::Frame(frame), at: None, held_ps: None }, named)
        }))
    }
}

/// Names the message at which a hart worked when it had a lock.
fn holds(follower: &Follower, holder: &Holder) -> Option<Blocker> {
    let has_worked = |life: &&Life| {
        life.chosen.is_some_and(|(_, hart, _)| u32::from(hart) == holder.seat.1)
            && life.begun.is_some_and(|begun| begun <= holder.cycle)
            && life.ended.is_none_or(|ended| ended >= holder.cycle)
    };
    let last = follower.lives().filter(has_worked).max_by_key(|life| life.begun);
    last.map(named)
}

fn named(life: &Life) -> Blocker {
    let at = life.chosen.map(|(_, hart, _)| Seat::Hart(hart));
    Blocker { who: Who::Message(life.message), at, held_ps: None }
}

fn said(packet: u8, noun: &str, what: &str) -> String {
    format!("packet {packet} of its {noun} waits for {what}")
}

fn nth(packet: u8) -> String {
    match packet {
        0 => "first".to_owned(),
        1 => "second".to_owned(),
        2 => "third".to_owned(),
        more => format!("{}th", more + 1),
    }
}
