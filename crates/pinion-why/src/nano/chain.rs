//! The parts of a message's way, from the first flit of its first frame to the first flit of its answer.

use pinion_nanopu::Cycle;
use pinion_nanopu::waypoint::Cause;
use pinion_sim::Clock;

use super::follower::{Follower, Life};
use crate::way::{Part, named};

/// Follows a message.
pub fn parts(clock: Clock, follower: &Follower, own: &Life) -> Vec<Part> {
    let mut builder = Builder { clock, follower, own, at: own.arrival, parts: Vec::new() };
    builder.receive();
    builder.send();
    builder.parts
}

/// Builds parts, one behind the other.
struct Builder<'a> {
    clock: Clock,
    follower: &'a Follower,
    own: &'a Life,
    /// Until when the message was followed.
    at: Cycle,
    parts: Vec<Part>,
}

impl<'a> Builder<'a> {
    /// Adds a part until `to`, if there is any time to it.
    fn step(&mut self, to: Cycle, name: &'static str, what: &str, behind: Option<String>) {
        if to > self.at {
            let (from, until) = (self.clock.time(self.at), self.clock.time(to));
            let is_wait = behind.is_some() || name == "packets";
            let what = what.to_owned();
            self.parts.push(Part { name, is_wait, from, to: until, what, behind });
            self.at = to;
        }
    }

    /// Names the others to which something happened between now and a moment, the last one first.
    fn others(&self, to: Cycle, when: impl Fn(&'a Life) -> Option<Cycle>) -> Option<String> {
        let others = self.follower.lives().filter(|life| life.message != self.own.message);
        let moment = |life| Some((when(life)?, life));
        let mut others: Vec<(Cycle, &Life)> =
            others.filter_map(moment).filter(|(at, _)| *at >= self.at && *at <= to).collect();
        others.sort_by_key(|(at, life)| (std::cmp::Reverse(*at), life.message));
        let name = |(_, life): &(Cycle, &Life)| match life.chosen {
            Some((_, hart, _)) => format!("{} (hart {hart})", life.message),
            None => life.message.to_string(),
        };
        named("message", others.iter().map(name).collect())
    }

    /// Follows the message until a hart has read its first word.
    fn receive(&mut self) {
        let own = self.own;
        self.step(own.looked_up, "ingress", "comes in, and is looked up", None);
        let what = format!("waits for the last of its {} packets", own.frames);
        self.step(own.complete, "packets", &what, None);
        let what = "its payload goes to the reassembly buffer";
        self.step(own.stored.unwrap_or(self.at), "reassembly", what, None);
        let Some(queued) = own.queued else { return };
        let behind = self.others(queued, |life| life.queued);
        self.step(queued, "delivery", "leaves the reassembly buffer", behind);
        let Some((chosen, hart, enters)) = own.chosen else { return };
        // Whoever ended a message of the context made room at its hart.
        let behind = self.others(chosen, |life| {
            life.ended.filter(|_| life.context == own.context && life.queued < own.queued)
        });
        let what = match behind {
            None => "core selection takes it".to_owned(),
            Some(_) => format!("waits in the global receive queue of context {}", own.context),
        };
        self.step(chosen, "selection", &what, behind);
        self.step(enters, "transfer", &format!("its first word goes to hart {hart}"), None);
        let Some(begun) = own.begun else { return };
        let behind = self.others(begun, |life| {
            life.ended.filter(|_| life.chosen.is_some_and(|(_, other, _)| other == hart))
        });
        let what = match behind {
            None => format!("hart {hart} gets to read it"),
            Some(_) => format!("waits in the receive queue of hart {hart}"),
        };
        self.step(begun, "receive_queue", &what, behind);
    }

    /// Follows what answers it until that is on the pins.
    fn send(&mut self) {
        let own = self.own;
        let (Some((_, hart, _)), Some(_)) = (own.chosen, own.begun) else { return };
        let Some(reply) = own.reply else {
            let what = format!("hart {hart} works at it, and does not answer");
            return self.step(own.ended.unwrap_or(self.at), "work", &what, None);
        };
        let what = format!("hart {hart} works at it until it begins to answer");
        self.step(reply.written, "work", &what, None);
        self.step(reply.sends, "packetization", "its answer's header goes to packetization", None);
        let Some(left) = reply.left else { return };
        let what = match left.cause {
            Cause::First => "its answer's first packet is written",
            Cause::Credit => "its answer waits for credit",
            Cause::Timeout => "its answer waits for its timer",
        };
        self.step(left.ready, "answer", what, None);
        let what = "its answer's packet goes to the arbiter";
        self.step(left.offered, "offer", what, None);
        let behind = self.others(left.chosen, |life| Some(life.reply?.left?.chosen));
        let what = match behind {
            None => "the arbiter chooses it",
            Some(_) => "its answer waits for the arbiter",
        };
        self.step(left.chosen, "arbiter", what, behind);
        self.step(left.first_flit, "egress", "it goes out through the egress pipeline", None);
    }
}
