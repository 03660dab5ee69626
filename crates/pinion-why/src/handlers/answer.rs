//! The answer to why: text, JSON, and what a picture shows.

use std::fmt::Write as _;

use pinion_sim::{Clock, Time};
use pinion_spin::{HandlerRecord, PacketRecord};
use serde_json::{Value, json};

use super::cause;
use super::census::{DroppedTarget, Found, Target};
use super::chain::{self, RUN};
use super::drop::{self, Inside};
use super::life::Life;
use super::subject::Subject;
use super::witness::Witness;
use crate::locks::Spent;
use crate::way::{self, Builder, LineShare, Longest, Way};
use pinion_app::error::Result;
use pinion_observe::document::Document;
use pinion_observe::words::{bytes, count, kind_name, number, written};

/// Says why.
pub struct Answer {
    app: String,
    machine: String,
    clock: Clock,
    /// HPUs in a cluster.
    cores: u32,
    head: Head,
    sentence: String,
}

enum Head {
    Done(Box<Done>),
    Dropped(DroppedTarget, Inside),
}

struct Done {
    target: Target,
    record: PacketRecord,
    context: String,
    way: Way,
    /// The handlers and their functions.
    handlers: Vec<(String, HandlerRecord)>,
    lines: Vec<LineShare>,
}

impl Answer {
    /// Puts together what was found, seen and counted.
    pub fn new<'s>(
        subject: impl Into<Subject<'s>>,
        found: &Found,
        witness: &Witness,
        spent: Spent,
    ) -> Self {
        let subject = subject.into();
        let (name, machine) = (subject.name.to_owned(), subject.machine);
        let (head, sentence) = match found {
            Found::Dropped(dropped) => {
                let inside = drop::inside(witness);
                let sentence = drop::sentence(machine, dropped, &inside);
                (Head::Dropped(*dropped, inside), sentence)
            }
            Found::Done(target) => {
                let life = witness.life();
                let record = life.map(|life| life.record.clone()).unwrap_or_default();
                let mut builder = Builder::new(target.arrival, target.end);
                let until = (target.departed.then_some(0), target.end);
                chain::follow(&mut builder, subject, witness, &spent.locks, until);
                let way = Way { parts: builder.finish() };
                let handlers: Vec<HandlerRecord> =
                    life.into_iter().flat_map(Life::handlers).cloned().collect();
                let lines = spent.lines;
                let running = || cause::running(&handlers, &lines);
                let sentence = way.sentence(|part| (part.step == RUN).then(running));
                let named = |ran: HandlerRecord| {
                    (subject.handler_name(ran.context, ran.kind).to_owned(), ran)
                };
                let done = Done {
                    target: *target,
                    context: subject.context_name(record.context).to_owned(),
                    record,
                    way,
                    handlers: handlers.into_iter().map(named).collect(),
                    lines,
                };
                (Head::Done(Box::new(done)), sentence)
            }
        };
        let clock = Clock::from_hz(machine.clock.frequency_mhz.max(1) * 1_000_000);
        let (cores, machine) = (machine.cluster.cores, machine.name.clone());
        Self { app: name, machine, clock, cores, head, sentence }
    }

    /// Gives the clock of the NIC.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Writes it for people.
    pub fn to_text(&self) -> String {
        match &self.head {
            Head::Done(done) => written(|text| done.write(text, &self.sentence)),
            Head::Dropped(dropped, _) => format!(
                "A packet of {} was dropped at {} ns: {}. {} were dropped in all, {} for this \
                 reason.\n{}\n",
                bytes(dropped.bytes as u64),
                number(dropped.time.ns()),
                dropped.reason.name(),
                dropped.all,
                dropped.same,
                self.sentence
            ),
        }
    }

    /// Writes it for programs.
    pub fn to_json(&self) -> Value {
        let (packet, dropped) = match &self.head {
            Head::Done(done) => (done.to_json(), Value::Null),
            Head::Dropped(dropped, inside) => (Value::Null, dropped_json(dropped, inside)),
        };
        json!({
            "document": Document::Why.head(),
            "app": self.app,
            "machine": self.machine,
            "packet": packet,
            "dropped": dropped,
            "cause": self.sentence,
        })
    }

    /// Gives the longest part of the way, or the drop.
    pub fn longest(&self) -> Option<Longest> {
        let done = match &self.head {
            Head::Done(done) => done,
            Head::Dropped(dropped, _) => return Some(Longest::drop(dropped.time)),
        };
        done.way.longest(|from| {
            let runs = |ran: &&(String, HandlerRecord)| (ran.1.start..ran.1.end).contains(&from);
            let ran = done.handlers.iter().find(runs).map(|(_, ran)| ran);
            ran.map(|ran| ran.cluster * self.cores + ran.hpu)
        })
    }

    /// Draws the way as a waterfall, in SVG; `None` of a packet that was dropped.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn to_svg(&self) -> Result<Option<String>> {
        let Head::Done(done) = &self.head else { return Ok(None) };
        let target = &done.target;
        let title = format!("{} on {}: packet {}", self.app, self.machine, target.packet);
        done.way.draw(&title, &self.sentence).map(Some)
    }
}

impl Done {
    fn write(&self, text: &mut String, sentence: &str) -> std::fmt::Result {
        let Target { packet, departed, .. } = self.target;
        let took = self.way.ps();
        let (message, size) = (self.record.message, self.record.bytes);
        writeln!(
            text,
            "packet {packet}, message {message} of {}, {}: {} ns from arrival to {}",
            self.context,
            bytes(u64::from(size)),
            number(took as f64 / 1e3),
            if departed { "departure" } else { "completion" }
        )?;
        writeln!(text, "{}", way::standing_line(took, &self.target.standing, "packet"))?;
        writeln!(text, "{sentence}\n")?;
        self.way.write(text)?;
        for (name, ran) in &self.handlers {
            write_handler(text, name, ran)?;
        }
        way::write_lines(text, &self.lines)
    }

    fn to_json(&self) -> Value {
        let target = &self.target;
        let ns = |ps: u64| ps as f64 / 1e3;
        let handler =
            |(name, ran): &(String, HandlerRecord)| handler_json(name, ran, target.arrival);
        json!({
            "number": target.packet,
            "message": self.record.message,
            "context": self.context,
            "bytes": self.record.bytes,
            "arrival_ns": target.arrival.ns(),
            "until": if target.departed { "departure" } else { "completion" },
            "ns": ns(self.way.ps()),
            "median_ns": ns(target.standing.median_ps),
            "longer": target.standing.longer,
            "packets": target.standing.all,
            "spans": self.way.to_json(),
            "handlers": self.handlers.iter().map(handler).collect::<Vec<_>>(),
            "lines": self.lines.iter().map(LineShare::to_json).collect::<Vec<_>>(),
        })
    }
}

/// Writes what a handler did.
///
/// # Errors
/// Those of `text`.
pub fn write_handler(text: &mut String, name: &str, ran: &HandlerRecord) -> std::fmt::Result {
    let ns = number(ran.end.since(ran.start).ps() as f64 / 1e3);
    write!(
        text,
        "\n{name} on HPU {}.{}, {ns} ns: {} instructions",
        ran.cluster,
        ran.hpu,
        count(ran.instructions)
    )?;
    for (reason, lost) in ran.stalls.reasons() {
        if lost > 0 {
            write!(text, ", {} cycles {reason}", count(lost))?;
        }
    }
    writeln!(text, "{}", if ran.failed { "; it failed" } else { "" })
}

/// Tells what a handler did for programs; `begin` is when its packet's way began.
pub fn handler_json(name: &str, ran: &HandlerRecord, begin: Time) -> Value {
    let ns = |ps: u64| ps as f64 / 1e3;
    let stalls: serde_json::Map<String, Value> =
        ran.stalls.reasons().into_iter().map(|(name, n)| (name.to_owned(), n.into())).collect();
    json!({
        "name": name,
        "kind": kind_name(ran.kind),
        "hpu": format!("{}.{}", ran.cluster, ran.hpu),
        "at_ns": ns(ran.start.since(begin).ps()),
        "ns": ns(ran.end.since(ran.start).ps()),
        "instructions": ran.instructions,
        "stalls": stalls,
        "failed": ran.failed,
    })
}

fn dropped_json(dropped: &DroppedTarget, inside: &Inside) -> Value {
    json!({
        "time_ns": dropped.time.ns(),
        "reason": dropped.reason.name(),
        "bytes": dropped.bytes,
        "all": dropped.all,
        "for_this_reason": dropped.same,
        "inside": {
            "packets": inside.packets,
            "bytes": inside.bytes,
            "messages": inside.messages,
            "handled": inside.handled,
        },
    })
}
