//! Which message a hart works at, and which of those that go out answers it: what harts were given, began
//! and ended comes in, in order of time.

use std::collections::{HashMap, VecDeque};

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
}

impl Works {
    /// Hears what a hart was given, began, ended or bound; gives the message that it began or ended.
    pub fn hear(&mut self, at: Cycle, waypoint: &Waypoint) -> Option<u64> {
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
