//! The answer to why, of a message: text, JSON, a picture.

use std::fmt::Write as _;

use pinion_app::error::Result;
use pinion_nanopu::transport::DropReason;
use pinion_observe::document::Document;
use pinion_observe::words::{bytes, number, written};
use pinion_sim::{Clock, Time};
use serde_json::{Value, json};

use super::chain;
use super::follower::{DroppedFrame, Follower, Found, Life};
use crate::way::{self, LineShare, Part, Standing};

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
    Dropped(DroppedFrame),
}

struct Done {
    life: Life,
    /// In ps.
    standing: Standing,
    parts: Vec<Part>,
    lines: Vec<LineShare>,
}

impl Answer {
    /// Puts together what was found, followed and counted, of an application on a machine.
    pub fn new(
        [app, machine]: [&str; 2],
        clock: Clock,
        found: &Found,
        follower: &Follower,
        lines: Vec<LineShare>,
    ) -> Self {
        let (head, sentence) = match found {
            Found::Dropped(dropped) => (Head::Dropped(*dropped), why_dropped(dropped)),
            Found::Done(life, standing) => {
                let parts = chain::parts(clock, follower, life);
                let sentence = sentence(&parts, &lines);
                let median_ps = clock.time(standing.median_ps).ps();
                let standing = Standing { median_ps, ..*standing };
                let done = Done { life: (**life).clone(), standing, parts, lines };
                (Head::Done(Box::new(done)), sentence)
            }
        };
        let [app, machine] = [app, machine].map(str::to_owned);
        Self { app, machine, clock, head, sentence }
    }

    /// Writes it for people.
    pub fn to_text(&self) -> String {
        match &self.head {
            Head::Done(done) => written(|text| done.write(text, self.clock, &self.sentence)),
            Head::Dropped(dropped) => format!(
                "Frame {}, {}, was dropped at {} ns: {}. {} were dropped in all, {} for this \
                 reason.\n{}\n",
                dropped.frame,
                bytes(dropped.bytes as u64),
                number(self.clock.time(dropped.at).ns()),
                name_of(dropped),
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
            Head::Done(done) => document["message"] = done.to_json(self.clock),
            Head::Dropped(dropped) => {
                document["frame"] = json!({
                    "number": dropped.frame,
                    "time_ns": self.clock.time(dropped.at).ns(),
                    "reason": name_of(dropped),
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
        way::draw(&title, &self.sentence, &done.parts, done.begin(self.clock)).map(Some)
    }
}

impl Done {
    fn begin(&self, clock: Clock) -> Time {
        clock.time(self.life.arrival)
    }

    fn ps(&self) -> u64 {
        self.parts.iter().map(Part::ps).sum()
    }

    fn until(&self) -> &'static str {
        if self.life.reply.is_some() { "answer" } else { "done" }
    }

    fn write(&self, text: &mut String, clock: Clock, sentence: &str) -> std::fmt::Result {
        let Life { message, context, frames, bytes: all, .. } = self.life;
        let until = match self.until() {
            "answer" => "from wire to wire",
            _ => "from the wire until its hart is done with it",
        };
        let frames = if frames == 1 { "a frame".to_owned() } else { format!("{frames} frames") };
        writeln!(
            text,
            "message {message} of context {context}, {frames} of {}: {} ns {until}",
            bytes(all),
            number(self.ps() as f64 / 1e3)
        )?;
        writeln!(text, "{}", way::standing_line(self.ps(), &self.standing, "message"))?;
        writeln!(text, "{sentence}\n")?;
        way::write_parts(text, &self.parts, self.begin(clock))?;
        if let (Some((_, hart, _)), false) = (self.life.chosen, self.lines.is_empty()) {
            let cycles: u64 = self.lines.iter().map(|line| line.cycles).sum();
            let instructions: u64 = self.lines.iter().map(|line| line.instructions).sum();
            writeln!(text, "\nhart {hart}: {instructions} instructions in {cycles} cycles")?;
        }
        way::write_lines(text, &self.lines)
    }

    fn to_json(&self, clock: Clock) -> Value {
        let ns = |ps: u64| ps as f64 / 1e3;
        let part = |part: &Part| {
            json!({
                "step": part.name,
                "is_wait": part.is_wait,
                "at_ns": ns(part.from.since(self.begin(clock)).ps()),
                "ns": ns(part.ps()),
                "what": part.what,
                "behind": part.behind,
            })
        };
        let line = |line: &LineShare| {
            let LineShare { place, cycles, instructions } = line;
            json!({ "place": place, "cycles": cycles, "instructions": instructions })
        };
        json!({
            "number": self.life.message,
            "context": self.life.context,
            "frames": self.life.frames,
            "bytes": self.life.bytes,
            "hart": self.life.chosen.map(|(_, hart, _)| hart),
            "arrival_ns": self.begin(clock).ns(),
            "until": self.until(),
            "ns": ns(self.ps()),
            "median_ns": ns(self.standing.median_ps),
            "longer": self.standing.longer,
            "messages": self.standing.all,
            "spans": self.parts.iter().map(part).collect::<Vec<_>>(),
            "lines": self.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }
}

/// Says what a way's longest part is, and why.
fn sentence(parts: &[Part], lines: &[LineShare]) -> String {
    let total: u64 = parts.iter().map(Part::ps).sum();
    let Some(longest) = parts.iter().max_by_key(|part| part.ps()) else {
        return "It took no time.".to_owned();
    };
    let share = longest.ps() as f64 * 100.0 / total.max(1) as f64;
    let mut why = longest.behind.as_ref().map_or_else(String::new, |who| format!(", behind {who}"));
    let all: u64 = lines.iter().map(|line| line.cycles).sum();
    if let Some(line) = lines.first().filter(|line| longest.name == "work" && line.cycles > 0) {
        let share = line.cycles as f64 * 100.0 / all.max(1) as f64;
        why = format!("; {share:.0} % of that in {}", line.place);
    }
    let ns = number(longest.ps() as f64 / 1e3);
    let is_said_of_it =
        ["waits", "comes", "leaves"].iter().any(|word| longest.what.starts_with(word));
    let it = if is_said_of_it { "it " } else { "" };
    format!("{share:.0} % of it, {ns} ns: {it}{}{why}.", longest.what)
}

/// Names a reason.
fn name_of(dropped: &DroppedFrame) -> &'static str {
    dropped.reason.map_or("trimmed", DropReason::name)
}

/// Says in one sentence why a frame was dropped.
fn why_dropped(dropped: &DroppedFrame) -> String {
    let Some(reason) = dropped.reason else {
        let why = "A switch had cut its payload off, for too much waited there; the NIC asks its sender \
                   for it again.";
        return why.to_owned();
    };
    let why = match reason {
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
    };
    why.to_owned()
}
