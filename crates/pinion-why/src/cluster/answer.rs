//! The answer to why, of a request through a cluster or of a frame that was lost: text, JSON, a picture.

use std::fmt::Write as _;

use pinion_app::error::Result;
use pinion_observe::document::Document;
use pinion_observe::trace::handler_name;
use pinion_observe::words::{count, number, written};
use pinion_run::cluster::{Plan, Target};
use pinion_sim::Time;
use pinion_spin::HandlerRecord;
use serde_json::{Value, json};

use super::chain::{Chain, NicVisits, Visited};
use super::ends::End;
use super::heard::{Heard, Meant};
use super::lost::Lost;
use super::visits::Work;
use crate::handlers::{RUN, handler_json, write_handler};
use crate::nano::WORK;
use crate::way::{self, LineShare, Longest, Part, Way, longest};

/// Says why.
pub struct Answer<'a> {
    plan: &'a Plan,
    head: Head<'a>,
    sentence: String,
}

enum Head<'a> {
    Done(Box<Done<'a>>),
    Lost(Lost),
}

struct Done<'a> {
    meant: Meant,
    way: Way,
    until: &'static str,
    works: Vec<Work>,
    nics: Vec<NicWork<'a>>,
}

/// What handlers of a NIC did at a packet.
struct NicWork<'a> {
    node: &'a str,
    handlers: Vec<(String, HandlerRecord)>,
    lines: Vec<LineShare>,
}

impl<'a> Answer<'a> {
    /// Puts together what was found, and what was heard of the nodes that it came to.
    pub fn new(heard: &Heard<'a>, meant: Meant, (works, visited): (Vec<Work>, Visited)) -> Self {
        let plan = heard.plan;
        let way = Way { parts: Chain::parts(heard, &meant.journey, &visited) };
        let nics = nic_works(plan, &meant, visited.nics);
        let line = |place: Option<&str>| {
            let own = |node: &str| place == Some(node);
            let harts = works.iter().filter(|work| own(&plan.names[work.node]));
            let lines = harts.map(|work| &work.lines);
            let lines = lines.chain(nics.iter().filter(|nic| own(nic.node)).map(|nic| &nic.lines));
            let mut lines = lines;
            lines.next().and_then(|lines| longest(lines)).map(|line| format!("; of that {line}"))
        };
        let sentence = way.sentence(|part| {
            let is_work = part.step == WORK || part.step == RUN;
            is_work.then(|| line(part.place.as_deref())).flatten()
        });
        let until = until(heard, &meant);
        let head = Head::Done(Box::new(Done { meant, way, until, works, nics }));
        Self { plan, head, sentence }
    }

    /// Tells of a frame that was lost.
    pub fn of_lost(heard: &Heard<'a>, lost: Lost) -> Self {
        let behind = lost.behind.words();
        let behind = behind.map_or_else(String::new, |who| format!(" In front of it were {who}."));
        let sentence = format!("{}{behind}", lost.sentence);
        Self { plan: heard.plan, head: Head::Lost(lost), sentence }
    }

    /// Writes it for people.
    pub fn to_text(&self) -> String {
        match &self.head {
            Head::Done(done) => written(|text| done.write(text, self.plan, &self.sentence)),
            Head::Lost(lost) => {
                let who = lost.sender.map_or_else(
                    || "A frame".to_owned(),
                    |(node, frame)| format!("Frame {frame} of {}", self.plan.names[node]),
                );
                let verb = if lost.reason == "trimmed" { "trimmed" } else { "lost" };
                format!(
                    "{who} was {verb} {} {} at {} ns: {}. {} were lost or trimmed in all, {} for \
                     this reason.\n{}\n",
                    lost.preposition,
                    lost.place,
                    number(lost.time.ns()),
                    lost.reason,
                    count(lost.all),
                    count(lost.same),
                    self.sentence
                )
            }
        }
    }

    /// Writes it for programs.
    pub fn to_json(&self) -> Value {
        let mut document = json!({
            "document": Document::Why.head(),
            "app": self.plan.name,
            "machine": "cluster",
            "packet": null,
            "dropped": null,
            "cause": self.sentence,
        });
        match &self.head {
            Head::Done(done) => document["request"] = done.to_json(self.plan),
            Head::Lost(lost) => {
                document["lost"] = json!({
                    "node": lost.sender.map(|(node, _)| &self.plan.names[node]),
                    "frame": lost.sender.map(|(_, frame)| frame),
                    "time_ns": lost.time.ns(),
                    "place": lost.place,
                    "reason": lost.reason,
                    "behind": lost.behind.to_json(),
                    "behind_more": lost.behind.more,
                    "all": lost.all,
                    "for_this_reason": lost.same,
                });
            }
        }
        document
    }

    /// Gives the node with a program where it takes longest, or where it was dropped, and the longest part
    /// there; `None`: no such node has to do with it.
    pub fn longest(&self) -> Option<(usize, Longest)> {
        let runs = |node: &usize| {
            let target = self.plan.group_of(*node).map(|(group, _)| &group.target);
            matches!(target, Some(Target::Nanoservice { .. } | Target::Handlers { .. }))
        };
        let done = match &self.head {
            Head::Done(done) => done,
            Head::Lost(lost) => {
                return Some((lost.node.filter(runs)?, Longest::drop(lost.time)));
            }
        };
        let node = |part: &Part| {
            let names = &self.plan.names;
            names.iter().position(|name| part.place.as_deref() == Some(name)).filter(runs)
        };
        done.way.longest_at(node, |node, from| done.hart_at(self.plan, node, from))
    }

    /// Draws the way as a waterfall, in SVG, with a lane for each node; `None` of a frame that was lost.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn to_svg(&self) -> Result<Option<String>> {
        let Head::Done(done) = &self.head else { return Ok(None) };
        let title = format!("{}: request {}", self.plan.name, done.meant.number);
        done.way.draw(&title, &self.sentence).map(Some)
    }
}

/// Gives what handlers did at the request in NICs, in the order of its way.
fn nic_works<'a>(plan: &'a Plan, meant: &Meant, nics: NicVisits) -> Vec<NicWork<'a>> {
    let mut nics: Vec<_> = nics.into_iter().collect();
    nics.sort_by_key(|(number, _)| *number);
    let work = |(number, (witness, spent)): (usize, (crate::Witness, crate::Spent))| {
        let node = meant.journey.trips[number - 1].to.0;
        let Target::Handlers { app } = &plan.group_of(node)?.0.target else { return None };
        let named = |ran: &HandlerRecord| {
            (handler_name(app, ran.context, ran.kind).to_owned(), ran.clone())
        };
        let handlers = witness.handlers().map(named).collect();
        Some(NicWork { node: &plan.names[node], handlers, lines: spent.lines })
    };
    nics.into_iter().filter_map(work).collect()
}

/// Says until when a way is told, in words.
fn until(heard: &Heard<'_>, meant: &Meant) -> &'static str {
    let journey = &meant.journey;
    let last = journey.trips.last().map_or(0, |trip| trip.to.0);
    match (&heard.ends[last], journey.is_answered) {
        (End::Nano(_), true) => "until a hart reads its answer",
        (End::Nano(_), false) => "until its hart is done with it",
        (End::Nic(_), _) => "until its completion is back",
        (End::Load(_) | End::Frames, _) => "until its answer is there",
    }
}

impl Done<'_> {
    /// Gives the hart or HPU of a node that works at it at a time, if one does.
    fn hart_at(&self, plan: &Plan, node: usize, at: Time) -> Option<u32> {
        let hart = self.works.iter().find(|work| work.node == node);
        if let Some(work) = hart {
            return Some(work.hart.into());
        }
        let Target::Handlers { app } = &plan.group_of(node)?.0.target else { return None };
        let nics = self.nics.iter().filter(|nic| nic.node == plan.names[node]);
        let mut ran = nics.flat_map(|nic| &nic.handlers).map(|(_, ran)| ran);
        let ran = ran.find(|ran| (ran.start..ran.end).contains(&at))?;
        Some(ran.cluster * app.machine.value.cluster.cores + ran.hpu)
    }

    fn route(&self, plan: &Plan) -> Vec<String> {
        let journey = &self.meant.journey;
        let first = std::iter::once(journey.origin());
        let all = first.chain(journey.trips.iter().map(|trip| trip.to.0));
        all.map(|node| plan.names[node].clone()).collect()
    }

    fn write(&self, text: &mut String, plan: &Plan, sentence: &str) -> std::fmt::Result {
        writeln!(
            text,
            "request {}, {}: {} ns {}",
            self.meant.number,
            self.route(plan).join(" → "),
            number(self.way.ps() as f64 / 1e3),
            self.until
        )?;
        writeln!(text, "{}", way::standing_line(self.way.ps(), &self.meant.standing, "request"))?;
        writeln!(text, "{sentence}\n")?;
        self.way.write(text)?;
        for work in &self.works {
            let cycles: u64 = work.lines.iter().map(|line| line.cycles).sum();
            let instructions: u64 = work.lines.iter().map(|line| line.instructions).sum();
            let (node, hart) = (&plan.names[work.node], work.hart);
            writeln!(
                text,
                "\n{node}, hart {hart}: {instructions} instructions in {cycles} cycles"
            )?;
            way::write_lines(text, &work.lines)?;
        }
        for nic in &self.nics {
            for (name, ran) in &nic.handlers {
                write_handler(text, &format!("{}: {name}", nic.node), ran)?;
            }
            way::write_lines(text, &nic.lines)?;
        }
        Ok(())
    }

    fn to_json(&self, plan: &Plan) -> Value {
        let ns = |ps: u64| ps as f64 / 1e3;
        let lines =
            |lines: &[LineShare]| -> Value { lines.iter().map(LineShare::to_json).collect() };
        let hart = |work: &Work| json!({ "node": plan.names[work.node], "hart": work.hart, "lines": lines(&work.lines) });
        let nic = |nic: &NicWork<'_>| {
            let handlers = nic.handlers.iter();
            let handlers = handlers.map(|(name, ran)| handler_json(name, ran, self.way.begin()));
            json!({
                "node": nic.node,
                "handlers": handlers.collect::<Vec<_>>(),
                "lines": lines(&nic.lines),
            })
        };
        json!({
            "number": self.meant.number,
            "route": self.route(plan),
            "begin_ns": self.way.begin().ns(),
            "is_answered": self.meant.journey.is_answered,
            "ns": ns(self.way.ps()),
            "median_ns": ns(self.meant.standing.median_ps),
            "longer": self.meant.standing.longer,
            "requests": self.meant.standing.all,
            "spans": self.way.to_json(),
            "harts": self.works.iter().map(hart).collect::<Vec<_>>(),
            "nics": self.nics.iter().map(nic).collect::<Vec<_>>(),
        })
    }
}
