//! Why a frame was lost somewhere in a cluster: one cause, with the cable, queue or node.

use pinion_app::error::Result;
use pinion_nanopu::transport::DropReason as NanoReason;
use pinion_net::switch::DropCause;
use pinion_observe::trace::Loss;
use pinion_observe::words::{bytes, count};
use pinion_run::cluster::{drop_words, port_name};
use pinion_sim::Time;
use pinion_spin::DropReason;

use super::chain::{filled, wire_words};
use super::ends::End;
use super::heard::Heard;
use super::web::{Fate, How};
use crate::find;
use crate::nano;
use crate::way::Behind;

/// A frame that was lost.
#[derive(Clone, Debug)]
pub struct Lost {
    /// When.
    pub time: Time,
    /// The node that sent it and which of its frames it is, if that is known.
    pub sender: Option<(usize, u64)>,
    /// Where: a cable, a switch's queue, a node.
    pub place: String,
    /// The node, if it is one.
    pub node: Option<usize>,
    /// What stands in front of its place in a sentence.
    pub preposition: &'static str,
    /// Why, in a word.
    pub reason: &'static str,
    /// What happened, in a sentence.
    pub sentence: String,
    /// The frames that had filled the queue.
    pub behind: Behind,
    /// Number of frames lost in all.
    pub all: u64,
    /// Number lost for the same reason.
    pub same: u64,
}

/// What is known of a frame that was lost, before it is told.
enum Raw {
    Network((usize, u64), Fate),
    Nano(usize, u64, nano::Fate),
    Nic(usize, DropReason, usize),
}

impl Heard<'_> {
    /// Finds the n-th frame that was lost anywhere, in the order of time.
    ///
    /// # Errors
    /// When not so many were.
    pub fn find_lost(&self, index: u64) -> Result<Lost> {
        let all = self.all_lost();
        let (time, _, raw) = find::dropped(&all, index, "frame")?;
        let mut lost = self.tell(*time, raw);
        let is_same = |raw: &Raw| reason(raw) == lost.reason;
        lost.same = all.iter().filter(|(_, _, raw)| is_same(raw)).count() as u64;
        lost.all = all.len() as u64;
        Ok(lost)
    }

    /// Gives when frames were lost, in the order of time, and why, each in a word.
    pub fn losses(&self) -> Vec<(Time, &'static str)> {
        self.all_lost().iter().map(|(time, _, raw)| (*time, reason(raw))).collect()
    }

    /// Gives all that were lost, in the order of time.
    fn all_lost(&self) -> Vec<(Time, usize, Raw)> {
        let mut all: Vec<(Time, usize, Raw)> = Vec::new();
        let clock = self.plan.clock;
        for (first, fate) in self.steps.all_fates() {
            let sender = self.steps.sender(first);
            all.push((clock.time(fate.at), 0, Raw::Network(sender, fate)));
        }
        for (node, end) in self.ends.iter().enumerate() {
            match end {
                End::Nano(follower) => all.extend(follower.dropped().iter().filter_map(|frame| {
                    let (at, fate) = follower.arrival(*frame)?.found?;
                    // What a switch trimmed is told there.
                    let is_own = matches!(fate, nano::Fate::Dropped(_));
                    is_own.then(|| (clock.time(at), node + 1, Raw::Nano(node, *frame, fate)))
                })),
                End::Nic(nic) => all.extend(nic.dropped.iter().map(|(time, reason, bytes)| {
                    (*time, node + 1, Raw::Nic(node, *reason, *bytes))
                })),
                End::Load(_) | End::Frames => {}
            }
        }
        all.sort_by_key(|(time, place, _)| (*time, *place));
        all
    }

    fn tell(&self, time: Time, raw: &Raw) -> Lost {
        let (sender, place, sentence, behind) = match raw {
            Raw::Network(sender, fate) => {
                let (place, sentence, behind) = self.tell_network(fate);
                (Some(*sender), place, sentence, behind)
            }
            Raw::Nano(node, frame, fate) => {
                let last = self.steps.reached(*node, *frame);
                let sender = last.map(|last| self.steps.sender(last));
                let place = self.names[*node].to_string();
                (sender, place, nano::why_dropped(*fate).to_owned(), Behind::nobody())
            }
            Raw::Nic(node, why, size) => {
                let place = self.names[*node].to_string();
                let sentence = format!(
                    "The NIC dropped a frame of {}, {}: `pinion why --node {place} --dropped` tells \
                     what was full.",
                    bytes(*size as u64),
                    why.name()
                );
                (None, place, sentence, Behind::nobody())
            }
        };
        let preposition = match raw {
            Raw::Network(_, Fate { how: How::Lost(..), .. }) => "on",
            Raw::Network(..) => "in",
            Raw::Nano(..) | Raw::Nic(..) => "at",
        };
        let node = match raw {
            Raw::Network(..) => None,
            Raw::Nano(node, ..) | Raw::Nic(node, ..) => Some(*node),
        };
        let (reason, all, same) = (reason(raw), 0, 0);
        Lost { time, sender, place, node, preposition, reason, sentence, behind, all, same }
    }

    fn tell_network(&self, fate: &Fate) -> (String, String, Behind) {
        let spec = &self.plan.network.switch;
        match fate.how {
            How::Lost(wire, loss) => {
                let place = format!("the cable {}", wire_words(self, wire));
                let sentence = match loss {
                    Loss::Fault => "A fault of the cable lost it (--link loss).",
                    Loss::Damaged => {
                        "A fault of the cable damaged it, and the MAC at its end dropped it (--link \
                         corrupt)."
                    }
                    Loss::NoRoom => "Too many bytes waited for the cable.",
                };
                (place, sentence.to_owned(), Behind::nobody())
            }
            How::Dropped(at, _, waiting) | How::Trimmed(at, waiting) => {
                let to = port_name(self.plan, at.switch as usize, usize::from(at.port));
                let place = format!("switch {}'s queue to {to}", at.switch);
                let room = format!(
                    "{} B of data and {} B of control frames waited there, and there is room for {} \
                     and {} (data_queue_bytes, control_queue_bytes).",
                    count(waiting.0),
                    count(waiting.1),
                    count(spec.data_queue_bytes),
                    count(spec.control_queue_bytes)
                );
                let sentence = match fate.how {
                    How::Dropped(_, cause @ DropCause::Unroutable(_), _) => {
                        format!("It was dropped: {}.", cause_words(cause))
                    }
                    How::Dropped(_, cause, _) => {
                        format!("It was dropped, for {}: {room}", cause_words(cause))
                    }
                    _ => format!(
                        "Its payload was cut off, and its header went on, by which its receiver \
                         knows what to ask for again: {room}"
                    ),
                };
                (place, sentence, filled(self, at, fate.at))
            }
        }
    }
}

/// Says why a switch dropped a frame, without saying that it did.
fn cause_words(cause: DropCause) -> &'static str {
    drop_words(cause).trim_start_matches("frame is dropped: ")
}

/// Names why a frame was lost.
fn reason(raw: &Raw) -> &'static str {
    match raw {
        Raw::Network(_, fate) => match fate.how {
            How::Lost(_, Loss::Fault) => "lost",
            How::Lost(_, Loss::Damaged) => "damaged",
            How::Lost(_, Loss::NoRoom) => "no_room",
            How::Dropped(..) => "dropped",
            How::Trimmed(..) => "trimmed",
        },
        Raw::Nano(_, _, nano::Fate::Dropped(reason)) => NanoReason::name(*reason),
        Raw::Nano(..) => "trimmed",
        Raw::Nic(_, reason, _) => reason.name(),
    }
}
