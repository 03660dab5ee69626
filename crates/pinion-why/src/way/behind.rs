//! Who was in the way: others by name, and how many besides.

use std::sync::Arc;

use pinion_observe::words;
use serde_json::{Value, json};

/// Others that are named at most.
const MOST_NAMED: usize = 3;

/// Another that was in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// What it is.
    pub who: Who,
    /// Where it was worked at, or whose it is, if that is known.
    pub at: Option<Seat>,
    /// What it had the thing for that was waited for, in ps, if that is known.
    pub held_ps: Option<u64>,
}

/// Says what was in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// A packet of handlers, by its number.
    Packet(u64),
    /// A message that came to a nanoservice, by its number.
    Message(u64),
    /// A frame, by its number among those that left its node.
    Frame(u64),
}

/// Says where another was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seat {
    /// On an HPU of a cluster.
    Hpu(u32, u32),
    /// On a hart.
    Hart(u8),
    /// Sent by a node.
    Node(Arc<str>),
}

impl Who {
    const fn noun(self) -> &'static str {
        match self {
            Self::Packet(_) => "packet",
            Self::Message(_) => "message",
            Self::Frame(_) => "frame",
        }
    }

    const fn number(self) -> u64 {
        match self {
            Self::Packet(number) | Self::Message(number) | Self::Frame(number) => number,
        }
    }
}

impl Blocker {
    fn name(&self) -> String {
        let seat = self.at.as_ref().map(|seat| match seat {
            Seat::Hpu(cluster, hpu) => format!("HPU {cluster}.{hpu}"),
            Seat::Hart(hart) => format!("hart {hart}"),
            Seat::Node(node) => node.to_string(),
        });
        let held = self.held_ps.map(|ps| format!("for {} ns", words::number(ps as f64 / 1e3)));
        let notes: Vec<String> = seat.into_iter().chain(held).collect();
        match &notes[..] {
            [] => self.who.number().to_string(),
            _ => format!("{} ({})", self.who.number(), notes.join(", ")),
        }
    }

    fn to_json(&self) -> Value {
        let mut one = json!({ self.who.noun(): self.who.number() });
        match &self.at {
            None if matches!(self.who, Who::Packet(_)) => one["hpu"] = Value::Null,
            None => {}
            Some(Seat::Hpu(cluster, hpu)) => one["hpu"] = format!("{cluster}.{hpu}").into(),
            Some(Seat::Hart(hart)) => one["hart"] = (*hart).into(),
            Some(Seat::Node(node)) => one["node"] = (&**node).into(),
        }
        if let Some(ps) = self.held_ps {
            one["held_ns"] = (ps as f64 / 1e3).into();
        }
        one
    }
}

/// Those who were in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// Some of them, the last one first.
    pub named: Vec<Blocker>,
    /// Number of the others.
    pub more: usize,
}

impl Behind {
    /// Names nobody.
    pub fn nobody() -> Self {
        Self::default()
    }

    /// Names the first of them, each once.
    pub fn of(all: impl IntoIterator<Item = Blocker>) -> Self {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut named: Vec<Blocker> =
            all.into_iter().filter(|one| seen.insert((one.who, one.node()))).collect();
        let more = named.len().saturating_sub(MOST_NAMED);
        named.truncate(MOST_NAMED);
        Self { named, more }
    }

    /// Tells whether nobody was in the way.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Names them in words, if anybody was in the way.
    pub fn words(&self) -> Option<String> {
        let noun = self.named.first()?.who.noun();
        let is_alike = self.named.iter().all(|one| one.who.noun() == noun);
        let mut names: Vec<String> = match is_alike {
            true => self.named.iter().map(Blocker::name).collect(),
            false => {
                self.named.iter().map(|one| format!("{} {}", one.who.noun(), one.name())).collect()
            }
        };
        if self.more > 0 {
            names.push(format!("{} more", self.more));
        }
        Some(listed(if is_alike { noun } else { "" }, names))
    }

    /// Names them for programs.
    pub fn to_json(&self) -> Value {
        self.named.iter().map(Blocker::to_json).collect()
    }
}

impl Blocker {
    fn node(&self) -> Option<Arc<str>> {
        match &self.at {
            Some(Seat::Node(node)) => Some(Arc::clone(node)),
            _ => None,
        }
    }
}

/// Lists names behind a noun.
fn listed(noun: &str, mut names: Vec<String>) -> String {
    let Some(last) = names.pop() else { return String::new() };
    let listed = match &names[..] {
        [] => last,
        before => format!("{} and {last}", before.join(", ")),
    };
    let plural = if names.is_empty() { "" } else { "s" };
    match noun {
        "" => listed,
        noun => format!("{noun}{plural} {listed}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_named_once_and_the_others_counted() {
        let packet = |number, hpu| Blocker {
            who: Who::Packet(number),
            at: Some(Seat::Hpu(0, hpu)),
            held_ps: None,
        };
        assert_eq!(Behind::nobody().words(), None);
        assert_eq!(Behind::of([packet(4, 1)]).words().unwrap(), "packet 4 (HPU 0.1)");
        let behind = Behind::of([4, 4, 3, 2, 1, 0].map(|number| packet(number, 1)));
        assert_eq!((behind.named.len(), behind.more), (3, 2));
        let words = "packets 4 (HPU 0.1), 3 (HPU 0.1), 2 (HPU 0.1) and 2 more";
        assert_eq!(behind.words().unwrap(), words);
        let frame =
            Blocker { who: Who::Frame(7), at: Some(Seat::Node("client.3".into())), held_ps: None };
        let mixed =
            Behind::of([frame, Blocker { who: Who::Message(1), at: None, held_ps: Some(1500) }]);
        assert_eq!(mixed.words().unwrap(), "frame 7 (client.3) and message 1 (for 1.5 ns)");
        let first = &mixed.to_json()[0];
        assert_eq!(*first, serde_json::json!({ "frame": 7, "node": "client.3" }));
    }
}
