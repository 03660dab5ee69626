//! Hears a nanoPU and keeps when each message came where: what becomes of frames and messages comes in,
//! a life for each message goes out.

use std::collections::{BTreeMap, HashMap};

use pinion_app::error::{Error, Result};
use pinion_nanopu::Cycle;
use pinion_nanopu::event::{NanoPu, Retirements, Told};
use pinion_nanopu::transport::DropReason;
use pinion_nanopu::waypoint::{Cause, Waypoint};
use pinion_run::nanoservice::Works;
use pinion_run::nanoservice::run::Settling;
use pinion_sim::probe::Hears;

use crate::{Standing, Which};

/// What is known of a message; moments are cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// Its number, from 0: messages are counted as they begin.
    pub message: u64,
    /// Its context, once it has left reassembly.
    pub context: u16,
    /// Number of its frames.
    pub frames: u64,
    /// Bytes of its frames.
    pub bytes: u64,
    /// When the first flit of its first frame was on the pins.
    pub arrival: Cycle,
    /// When that frame was looked up.
    pub looked_up: Cycle,
    /// When the last of its frames was looked up.
    pub complete: Cycle,
    /// When its payload was whole in the reassembly buffer.
    pub stored: Option<Cycle>,
    /// When its first word went to the global receive queues.
    pub queued: Option<Cycle>,
    /// When core selection named a hart, which, and when its first word entered that hart's queue.
    pub chosen: Option<(Cycle, u8, Cycle)>,
    /// When the hart read its first word.
    pub begun: Option<Cycle>,
    /// When the hart said that it was done with it.
    pub ended: Option<Cycle>,
    /// The first message that the hart wrote while it worked at it.
    pub reply: Option<Reply>,
}

/// What is known of the message that answers another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// When its header word was written to x31.
    pub written: Cycle,
    /// When that word entered packetization.
    pub sends: Cycle,
    /// Its first packet, once that has left.
    pub left: Option<Left>,
}

/// What is known of a packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// When it could go, for all its message knew.
    pub ready: Cycle,
    /// When the arbiter could choose it.
    pub offered: Cycle,
    /// When the arbiter chose it.
    pub chosen: Cycle,
    /// When its first flit was on the pins.
    pub first_flit: Cycle,
    /// Why it went.
    pub cause: Cause,
}

impl Life {
    /// Gives when it is over: the first flit of its answer was on the pins or, where it has none, the hart
    /// was done with it.
    pub fn end(&self) -> Option<Cycle> {
        match self.reply {
            Some(reply) => reply.left.map(|left| left.first_flit),
            None => self.ended,
        }
    }

    fn took(&self) -> Option<Cycle> {
        Some(self.end()?.saturating_sub(self.arrival))
    }
}

/// A frame that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedFrame {
    /// Its number, from 0.
    pub frame: u64,
    /// When.
    pub at: Cycle,
    /// Why; `None`: a switch had cut its payload off.
    pub reason: Option<DropReason>,
    /// Its bytes.
    pub bytes: usize,
    /// Number of frames dropped.
    pub all: u64,
    /// Number dropped for the same reason.
    pub same: u64,
}

/// What was found; standings are in cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A message that got through.
    Done(Box<Life>, Standing),
    /// A frame that was dropped.
    Dropped(DroppedFrame),
}

/// Hears a run, and follows all of its messages.
#[derive(Default)]
pub struct Follower {
    /// What was heard and may be followed by something earlier.
    heard: Vec<(Cycle, Waypoint)>,
    /// Frames that have not been looked up: their first flits and bytes.
    frames: HashMap<u64, (Cycle, usize)>,
    came: u64,
    works: Works,
    lives: BTreeMap<u64, Life>,
    /// Messages that go out: whose answers they are.
    answers: HashMap<u64, u64>,
    dropped: Vec<DroppedFrame>,
}

impl Hears<NanoPu> for Follower {
    fn interest(&self) -> Retirements {
        Retirements { waypoints: true, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Arrived { first_flit, frame } => {
                self.frames.insert(self.came, (first_flit, frame.len()));
                self.came += 1;
            }
            Told::Waypoint { at, waypoint } => self.heard.push((at, waypoint)),
            _ => {}
        }
    }
}

impl Settling for Follower {
    fn settle(&mut self, cycle: Cycle) -> Result<()> {
        self.heard.sort_by_key(|(at, _)| *at);
        let settled = self.heard.partition_point(|(at, _)| *at < cycle);
        let heard: Vec<_> = self.heard.drain(..settled).collect();
        heard.iter().for_each(|(at, waypoint)| self.follow(*at, waypoint));
        Ok(())
    }
}

impl Follower {
    fn follow(&mut self, at: Cycle, waypoint: &Waypoint) {
        match *waypoint {
            Waypoint::Packet { frame, message, stored, complete, .. } => {
                let (first, bytes) = self.frames.remove(&frame).unwrap_or((at, 0));
                let life = self.lives.entry(message).or_insert_with(|| Life {
                    message,
                    arrival: first,
                    looked_up: at,
                    ..Life::default()
                });
                life.frames += 1;
                life.bytes += bytes as u64;
                life.complete = at;
                life.stored = complete.then_some(stored).or(life.stored);
            }
            Waypoint::Consumed { frame, trimmed } => {
                let (_, bytes) = self.frames.remove(&frame).unwrap_or((at, 0));
                if trimmed {
                    self.drop_frame((frame, at), None, bytes);
                }
            }
            Waypoint::Dropped { frame, reason } => {
                let (_, bytes) = self.frames.remove(&frame).unwrap_or((at, 0));
                self.drop_frame((frame, at), Some(reason), bytes);
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
                let begun = self.works.hear(at, waypoint);
                if let Some(life) = begun.and_then(|message| self.lives.get_mut(&message)) {
                    life.begun = Some(at);
                }
            }
            Waypoint::Ended { .. } => {
                let ended = self.works.hear(at, waypoint);
                if let Some(life) = ended.and_then(|message| self.lives.get_mut(&message)) {
                    life.ended = Some(at);
                }
            }
            Waypoint::Bound { .. } => drop(self.works.hear(at, waypoint)),
            Waypoint::Sends { message, hart, written, .. } => {
                let Some(work) = self.works.at(hart, written) else { return };
                let Some(life) = self.lives.get_mut(&work) else { return };
                if life.reply.is_none() {
                    life.reply = Some(Reply { written, sends: at, left: None });
                    self.answers.insert(message, work);
                }
            }
            Waypoint::Leaves { packet: Some(packet), first_flit, .. } if packet.packet == 0 => {
                let answered = self.answers.remove(&packet.message);
                let life = answered.and_then(|message| self.lives.get_mut(&message));
                let Some(reply) = life.and_then(|life| life.reply.as_mut()) else { return };
                let (ready, offered, cause) = (packet.ready, packet.offered, packet.cause);
                reply.left = Some(Left { ready, offered, chosen: at, first_flit, cause });
            }
            Waypoint::Leaves { .. } | Waypoint::Freed { .. } => {}
        }
    }

    fn drop_frame(&mut self, (frame, at): (u64, Cycle), reason: Option<DropReason>, bytes: usize) {
        let (all, same) = (0, 0);
        self.dropped.push(DroppedFrame { frame, at, reason, bytes, all, same });
    }

    /// Gives all messages, by their numbers.
    pub fn lives(&self) -> impl Iterator<Item = &Life> {
        self.lives.values()
    }

    /// Finds the message or frame that is meant.
    ///
    /// # Errors
    /// When there is none such.
    pub fn find(&self, which: Which) -> Result<Found> {
        if let Which::Dropped(index) = which {
            return self.find_dropped(index);
        }
        let mut order: Vec<(Cycle, &Life)> =
            self.lives().filter_map(|life| Some((life.took()?, life))).collect();
        order.sort_by_key(|(took, life)| (*took, life.message));
        let rank = |share: f64| (order.len() as f64 * share).ceil().max(1.0) as usize - 1;
        let found = match which {
            Which::Message(message) => {
                order.iter().find(|(_, life)| life.message == u64::from(message))
            }
            Which::Percentile99 => order.get(rank(0.99)),
            _ => order.last(),
        };
        let (took, life) = found.ok_or_else(|| self.nothing(which))?;
        // Those with an answer are among those with one.
        let alike: Vec<Cycle> = order
            .iter()
            .filter(|(_, other)| other.reply.is_some() == life.reply.is_some())
            .map(|(took, _)| *took)
            .collect();
        let standing = Standing {
            median_ps: alike[(alike.len() - 1) / 2],
            longer: order.iter().filter(|(other, _)| other > took).count() as u64,
            all: order.len() as u64,
        };
        Ok(Found::Done(Box::new((*life).clone()), standing))
    }

    fn find_dropped(&self, index: u64) -> Result<Found> {
        let all = self.dropped.len() as u64;
        let Some(dropped) = self.dropped.get(index as usize) else {
            return Err(Error::Usage(match all {
                0 => "--dropped: no frame was dropped in this run".to_owned(),
                _ => format!("--dropped {index}: {all} were dropped, 0 to {}", all - 1),
            }));
        };
        let same =
            self.dropped.iter().filter(|other| other.reason == dropped.reason).count() as u64;
        Ok(Found::Dropped(DroppedFrame { all, same, ..*dropped }))
    }

    fn nothing(&self, which: Which) -> Error {
        let Some(last) = self.lives.keys().next_back() else {
            let why = "no message came in this run: `pinion run` says what became of frames";
            return Error::Usage(why.to_owned());
        };
        Error::Usage(match which {
            Which::Message(message) if u64::from(message) <= *last => {
                let life = &self.lives[&u64::from(message)];
                format!("--message {message} did not get through: {}", stands(life))
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
        Life { stored: None, frames, .. } => {
            format!("{frames} of its frames came, and others did not")
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
