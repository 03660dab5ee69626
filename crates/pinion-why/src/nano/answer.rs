//! The answer to why, of a message: text, JSON, a picture.

use std::fmt::Write as _;

use pinion_app::error::Result;
use pinion_nanopu::transport::DropReason;
use pinion_observe::document::Document;
use pinion_observe::words::{bytes, number, written};
use pinion_sim::Clock;
use serde_json::{Value, json};

use super::chain::{Chain, WORK};
use super::follower::{DroppedFrame, Follower, Found};
use super::life::{Arrival, Fate, Life};
use crate::find::Standing;
use crate::locks::{LockWait, Spent};
use crate::way::{self, Builder, LineShare, Longest, Way, longest};

/// Says why.
pub struct Answer {
    app: String,
    machine: String,
    clock: Clock,
    head: Head,
    sentence: String,
}

enum Head {
    Done(Box<Done>),
    Control(u64, Arrival),
    Dropped(DroppedFrame),
}

struct Done {
    life: Life,
    /// The frame that is asked about; `None`: the message is.
    frame: Option<u64>,
    standing: Standing,
    way: Way,
    lines: Vec<LineShare>,
}

impl Answer {
    /// Puts together what was found, followed and counted, of an application on a machine.
    pub fn new(
        [app, machine]: [&str; 2],
        found: &Found,
        follower: &Follower,
        spent: Spent,
    ) -> Self {
        let (clock, Spent { lines, locks }) = (follower.clock(), spent);
        let done = |life: &Life, frame, standing: &Standing| {
            let way = way(follower, life, frame, &locks);
            let work = || longest(&lines).map(|line| format!("; of that {line}"));
            let sentence = way.sentence(|part| (part.step == WORK).then(work).flatten());
            let (life, standing, lines) = (life.clone(), *standing, lines.clone());
            (Head::Done(Box::new(Done { life, frame, standing, way, lines })), sentence)
        };
        let (head, sentence) = match found {
            Found::Done(life, standing) => done(life, None, standing),
            Found::Frame(frame, life, standing) => done(life, Some(*frame), standing),
            Found::Control(frame) => {
                let nothing = Arrival { first_flit: 0, bytes: 0, found: None };
                let arrival = follower.arrival(*frame).copied().unwrap_or(nothing);
                let why =
                    "It carries no part of a message: it acknowledges packets or gives credit.";
                (Head::Control(*frame, arrival), why.to_owned())
            }
            Found::Dropped(dropped) => {
                (Head::Dropped(*dropped), why_dropped(dropped.fate).to_owned())
            }
        };
        let [app, machine] = [app, machine].map(str::to_owned);
        Self { app, machine, clock, head, sentence }
    }

    /// Gives the clock of its node.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Gives the longest part of the way, or the drop; `None` of what has neither.
    pub fn longest(&self) -> Option<Longest> {
        let done = match &self.head {
            Head::Done(done) => done,
            Head::Dropped(dropped) => return Some(Longest::drop(self.clock.time(dropped.at))),
            Head::Control(..) => return None,
        };
        done.way.longest(|from| {
            let (life, from) = (&done.life, self.clock.cycle_at(from));
            let (_, hart, _) = life.chosen?;
            let works = life.begun? <= from && life.ended.is_none_or(|ended| from < ended);
            works.then_some(hart.into())
        })
    }

    /// Writes it for people.
    pub fn to_text(&self) -> String {
        match &self.head {
            Head::Done(done) => written(|text| done.write(text, &self.sentence)),
            Head::Control(frame, arrival) => format!(
                "Frame {frame}, {}, is a control frame, and ends at the NIC {} ns after its first \
                 flit.\n{}\n",
                bytes(arrival.bytes as u64),
                number(looked_up_ns(self.clock, arrival)),
                self.sentence
            ),
            Head::Dropped(dropped) => format!(
                "Frame {}, {}, was dropped at {} ns: {}. {} were dropped in all, {} for this \
                 reason.\n{}\n",
                dropped.frame,
                bytes(dropped.bytes as u64),
                number(self.clock.time(dropped.at).ns()),
                dropped.fate.lost().unwrap_or_default(),
                dropped.all,
                dropped.same,
                self.sentence
            ),
        }
    }

    /// Writes it for programs.
    pub fn to_json(&self) -> Value {
        let mut document = json!({
            "document": Document::Why.head(),
            "app": self.app,
            "machine": self.machine,
            "packet": null,
            "dropped": null,
            "cause": self.sentence,
        });
        match &self.head {
            Head::Done(done) => document["message"] = done.to_json(),
            Head::Control(frame, arrival) => {
                document["control"] = json!({
                    "number": frame,
                    "arrival_ns": self.clock.time(arrival.first_flit).ns(),
                    "ns": looked_up_ns(self.clock, arrival),
                    "bytes": arrival.bytes,
                });
            }
            Head::Dropped(dropped) => {
                document["frame"] = json!({
                    "number": dropped.frame,
                    "time_ns": self.clock.time(dropped.at).ns(),
                    "reason": dropped.fate.lost(),
                    "bytes": dropped.bytes,
                    "all": dropped.all,
                    "for_this_reason": dropped.same,
                });
            }
        }
        document
    }

    /// Draws the way as a waterfall, in SVG; `None` of a frame that was dropped.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn to_svg(&self) -> Result<Option<String>> {
        let Head::Done(done) = &self.head else { return Ok(None) };
        let title = format!("{} on {}: message {}", self.app, self.machine, done.life.message);
        done.way.draw(&title, &self.sentence).map(Some)
    }
}

/// Follows a message from its first frame, or from another of its frames, to its answer.
fn way(follower: &Follower, life: &Life, frame: Option<u64>, locks: &[LockWait]) -> Way {
    let clock = follower.clock();
    let frame = frame.or(life.frames.first().copied()).unwrap_or(0);
    let begin = follower.arrival(frame).map_or(life.arrival, |arrival| arrival.first_flit);
    let end = follower.end(life).unwrap_or(begin);
    let mut builder = Builder::new(clock.time(begin), clock.time(end));
    let mut chain = Chain::new(follower, &mut builder);
    let reply = follower.reply(life);
    chain.receive(life, frame);
    chain.work(life, reply, locks);
    if let Some((reply, left)) = reply.and_then(|reply| Some((reply, reply.left()?))) {
        chain.write(reply, left, "answer");
        chain.depart(left, "answer");
    }
    Way { parts: builder.finish() }
}

fn looked_up_ns(clock: Clock, arrival: &Arrival) -> f64 {
    let at = arrival.found.map_or(arrival.first_flit, |(at, _)| at);
    clock.time(at).since(clock.time(arrival.first_flit)).ns()
}

impl Done {
    fn until(&self) -> &'static str {
        if self.life.reply.is_some() { "answer" } else { "done" }
    }

    fn write(&self, text: &mut String, sentence: &str) -> std::fmt::Result {
        let Life { message, context, frames, bytes: all, .. } = &self.life;
        let until = match self.until() {
            "answer" => "from wire to wire",
            _ => "from the wire until its hart is done with it",
        };
        let frames = match frames.len() {
            1 => "a frame".to_owned(),
            many => format!("{many} frames"),
        };
        if let Some(frame) = self.frame {
            write!(text, "frame {frame} of ")?;
        }
        writeln!(
            text,
            "message {message} of context {context}, {frames} of {}: {} ns {until}",
            bytes(*all),
            number(self.way.ps() as f64 / 1e3)
        )?;
        writeln!(text, "{}", way::standing_line(self.way.ps(), &self.standing, "message"))?;
        writeln!(text, "{sentence}\n")?;
        self.way.write(text)?;
        if let (Some((_, hart, _)), false) = (self.life.chosen, self.lines.is_empty()) {
            let cycles: u64 = self.lines.iter().map(|line| line.cycles).sum();
            let instructions: u64 = self.lines.iter().map(|line| line.instructions).sum();
            writeln!(text, "\nhart {hart}: {instructions} instructions in {cycles} cycles")?;
        }
        way::write_lines(text, &self.lines)
    }

    fn to_json(&self) -> Value {
        let ns = |ps: u64| ps as f64 / 1e3;
        json!({
            "number": self.life.message,
            "frame": self.frame,
            "context": self.life.context,
            "frames": self.life.frames.len(),
            "bytes": self.life.bytes,
            "hart": self.life.chosen.map(|(_, hart, _)| hart),
            "arrival_ns": self.way.begin().ns(),
            "until": self.until(),
            "ns": ns(self.way.ps()),
            "median_ns": ns(self.standing.median_ps),
            "longer": self.standing.longer,
            "messages": self.standing.all,
            "spans": self.way.to_json(),
            "lines": self.lines.iter().map(LineShare::to_json).collect::<Vec<_>>(),
        })
    }
}

/// Says in one sentence why a frame did not get through.
pub fn why_dropped(fate: Fate) -> &'static str {
    let reason = match fate {
        Fate::Dropped(reason) => reason,
        Fate::Packet(..) | Fate::Control => return "It was not dropped.",
        Fate::Trimmed => {
            return "A switch had cut its payload off, for too much waited there; the NIC asks its \
                    sender for it again.";
        }
    };
    match reason {
        DropReason::Malformed => "It is shorter than the headers that it must have.",
        DropReason::NotIp => "It is not IPv4 with a plain header.",
        DropReason::Protocol => "It is of another protocol than the machine's transport.",
        DropReason::NoPayload => "There is nothing behind its headers.",
        DropReason::HeaderLies => "Its header's lengths contradict each other or the frame.",
        DropReason::ZeroLength => "Its message has no bytes.",
        DropReason::Oversize => "Its message is larger than the largest reassembly buffer.",
        DropReason::Duplicate => "The same packet had arrived before.",
        DropReason::Redelivery => "Its message had been delivered before.",
        DropReason::NoBuffer => "No reassembly buffer was free for its message.",
        DropReason::Quota => "Its context's share of the reassembly buffers was used up.",
        DropReason::ContextOutOfRange => "The NIC has no queue for a context of that number.",
        DropReason::ContextUnbound => "No hart had bound its context.",
    }
}
