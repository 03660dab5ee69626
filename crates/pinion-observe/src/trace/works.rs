//! Which message a hart works at, and which of those that go out answers it: what harts were given, began
//! and ended comes in, in order of time.

use std::collections::{HashMap, HashSet, VecDeque};

use pinion_nanopu::Cycle;
use pinion_nanopu::waypoint::Waypoint;

/// Works of a hart that are remembered: what they wrote may enter packetization after they ended.
const MOST_WORKS: usize = 16;

/// Follows harts from message to message.
#[derive(Clone, Debug, Default)]
pub struct Works {
    /// Messages that harts were given and have not ended, by hart and context; the number of those that
    /// have ended.
    given: HashMap<(u8, u16), (VecDeque<u64>, u64)>,
    /// By hart: messages that it began, and when.
    begun: HashMap<u8, VecDeque<(Cycle, u64)>>,
    /// Harts and contexts that had messages already when somebody began to listen.
    unknown: HashSet<(u8, u16)>,
}

impl Works {
    /// Knows nothing of a hart and a context, for it had messages before anybody listened.
    pub fn doubt(&mut self, hart: u8, context: u16) {
        self.unknown.insert((hart, context));
    }

    /// Lists the harts and contexts of which nothing is known.
    pub fn unknown(&self) -> impl Iterator<Item = (u8, u16)> + '_ {
        self.unknown.iter().copied()
    }

    /// Knows from now on that a hart has no message of a context, and has ended so many.
    pub fn know(&mut self, hart: u8, context: u16, ended: u64) {
        self.unknown.remove(&(hart, context));
        self.given.insert((hart, context), (VecDeque::new(), ended));
    }

    /// Tells whether a waypoint is about a hart and a context of which nothing is known.
    fn is_unknown(&self, waypoint: &Waypoint) -> bool {
        match *waypoint {
            _ if self.unknown.is_empty() => false,
            Waypoint::Chosen { hart, context, .. }
            | Waypoint::Begun { hart, context, .. }
            | Waypoint::Ended { hart, context }
            | Waypoint::Bound { hart, context } => self.unknown.contains(&(hart, context)),
            _ => false,
        }
    }

    /// Hears what a hart was given, began, ended or bound; gives the message that it began or ended.
    pub fn hear(&mut self, at: Cycle, waypoint: &Waypoint) -> Option<u64> {
        if self.is_unknown(waypoint) {
            return None;
        }
        match *waypoint {
            Waypoint::Chosen { message, hart, context, .. } => {
                self.given.entry((hart, context)).or_default().0.push_back(message);
                None
            }
            Waypoint::Begun { hart, context, count } => {
                let (given, ended) = self.given.get(&(hart, context))?;
                let place = usize::try_from(count.checked_sub(ended + 1)?).ok()?;
                let message = given.get(place).copied();
                let works = self.begun.entry(hart).or_default();
                // Its first word was given back, and is read again.
                works.retain(|(_, other)| Some(*other) != message);
                works.extend(message.map(|message| (at, message)));
                if works.len() > MOST_WORKS {
                    works.pop_front();
                }
                message
            }
            Waypoint::Ended { hart, context } => {
                let (given, ended) = self.given.get_mut(&(hart, context))?;
                *ended += 1;
                given.pop_front()
            }
            Waypoint::Bound { hart, context } => {
                let (given, ended) = self.given.get_mut(&(hart, context))?;
                *ended += given.len() as u64;
                given.clear();
                None
            }
            _ => None,
        }
    }

    /// Gives the message that a hart worked at in a cycle.
    pub fn at(&self, hart: u8, cycle: Cycle) -> Option<u64> {
        let works = self.begun.get(&hart)?;
        works.iter().rev().find(|(at, _)| *at <= cycle).map(|(_, message)| *message)
    }
}
