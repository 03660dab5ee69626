//! The parts of a way: each begins where the one before it ends, so that they add up.

use std::sync::Arc;

use pinion_sim::Time;
use serde_json::{Value, json};

use super::behind::Behind;

/// Says what a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is called in documents.
    pub name: &'static str,
    /// Whether nothing is done meanwhile.
    pub is_wait: bool,
    /// Whether its words are said of the packet, and not of something else that is under way.
    pub is_of_it: bool,
}

impl Step {
    /// Makes a part in which something is done for a packet, said of somebody else.
    pub const fn other(name: &'static str) -> Self {
        Self { name, is_wait: false, is_of_it: false }
    }

    /// Makes a part in which something is done, said of the packet.
    pub const fn own(name: &'static str) -> Self {
        Self { name, is_wait: false, is_of_it: true }
    }

    /// Makes a part in which the packet waits.
    pub const fn wait(name: &'static str) -> Self {
        Self { name, is_wait: true, is_of_it: true }
    }

    /// Makes a part in which something else waits.
    pub const fn other_waits(name: &'static str) -> Self {
        Self { name, is_wait: true, is_of_it: false }
    }
}

/// A part of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub step: Step,
    /// Where it is spent, where there are several places.
    pub place: Option<Arc<str>>,
    /// From when.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// What happens, in words.
    pub what: String,
    /// Who was in the way.
    pub behind: Behind,
}

impl Part {
    /// Gives what it takes, in ps.
    pub fn ps(&self) -> u64 {
        self.to.since(self.from).ps()
    }

    /// Gives its place and what happens there, in words.
    pub fn title(&self) -> String {
        match &self.place {
            None => self.what.clone(),
            Some(place) => format!("{place}: {}", self.what),
        }
    }

    /// Tells of it for programs; `begin` is when its way began.
    pub fn to_json(&self, begin: Time) -> Value {
        let ns = |ps: u64| ps as f64 / 1e3;
        let mut part = json!({
            "step": self.step.name,
            "is_wait": self.step.is_wait,
            "at_ns": ns(self.from.since(begin).ps()),
            "ns": ns(self.ps()),
            "what": self.what,
            "behind": self.behind.to_json(),
            "behind_more": self.behind.more,
        });
        if let Some(place) = &self.place {
            part["place"] = (&**place).into();
        }
        part
    }
}

/// Puts parts one behind the other.
#[derive(Debug)]
pub struct Builder {
    at: Time,
    end: Time,
    place: Option<Arc<str>>,
    parts: Vec<Part>,
}

impl Builder {
    /// Begins a way that goes from one moment to another.
    pub const fn new(begin: Time, end: Time) -> Self {
        Self { at: begin, end, place: None, parts: Vec::new() }
    }

    /// Gives the moment until which the way is known.
    pub const fn at(&self) -> Time {
        self.at
    }

    /// Says where the following parts are spent.
    pub fn place(&mut self, place: &Arc<str>) {
        self.place = Some(Arc::clone(place));
    }

    /// Adds a part until `to`, if there is any time to it.
    pub fn step(
        &mut self,
        to: Time,
        step: Step,
        what: impl Into<String>,
        behind: impl FnOnce() -> Behind,
    ) {
        let to = to.min(self.end);
        if to > self.at {
            let (from, what, behind) = (self.at, what.into(), behind());
            let place = self.place.clone();
            self.parts.push(Part { step, place, from, to, what, behind });
            self.at = to;
        }
    }

    /// Gives the parts.
    pub fn finish(self) -> Vec<Part> {
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_end_where_the_way_does() {
        let mut builder = Builder::new(Time::from_ps(10), Time::from_ps(100));
        let ps = Time::from_ps;
        builder.step(ps(30), Step::own("a"), "goes", Behind::nobody);
        builder.step(ps(20), Step::own("b"), "is over already", Behind::nobody);
        builder.place(&"server".into());
        builder.step(ps(500), Step::wait("c"), "waits", Behind::nobody);
        let parts = builder.finish();
        let spans: Vec<(u64, u64)> = parts.iter().map(|p| (p.from.ps(), p.to.ps())).collect();
        assert_eq!(spans, [(10, 30), (30, 100)]);
        assert_eq!((&*parts[0].title(), &*parts[1].title()), ("goes", "server: waits"));
        let document = parts[1].to_json(ps(10));
        assert_eq!((&document["at_ns"], &document["place"]), (&0.02.into(), &"server".into()));
    }
}
