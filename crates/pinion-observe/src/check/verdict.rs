//! What the checker says in the end: findings of the same lines of source as one, with functions and
//! lines, as text and as JSON.

use std::fmt::Write as _;

use pinion_sim::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::finding::{Finding, Kind, Seen, Who};
use crate::fault::program::{Debug, describe};
use crate::words::{count, kind_name, written};

/// Holds what was found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// The findings, in the order in which they were made.
    pub findings: Vec<Told>,
    /// How often something was found that a line of source says is meant so.
    pub intended: u64,
}

/// Holds a finding, in words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Told {
    /// What is wrong.
    pub kind: Kind,
    /// How often.
    pub count: u64,
    /// The node of a cluster in which it was seen first.
    pub node: Option<String>,
    /// Number of nodes in which it was seen.
    pub nodes: u64,
    /// Where: an address, bytes, and what lies there.
    pub memory: Option<(u64, u32, String)>,
    /// What more there is to say.
    pub note: Option<String>,
    /// The accesses.
    pub accesses: Vec<Access>,
}

/// Holds one access of a finding, in words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Access {
    /// The access as it was seen.
    pub seen: Seen,
    /// The function, the user's where the SDK's was compiled into it.
    pub function: Option<String>,
    /// File and line.
    pub source: Option<String>,
    /// Name of the context.
    pub context: Option<String>,
    /// When.
    pub time: Time,
}

impl Verdict {
    /// Adds a finding, to one of the same kind and lines if there is one. A lost update takes up the
    /// races of its lines.
    pub fn add(&mut self, told: Told) {
        let same = |one: &&mut Told| one.is_like(&told);
        match self.findings.iter_mut().find(same) {
            None => self.findings.push(told),
            Some(one) if told.kind == one.kind => {
                one.count += told.count;
                one.nodes += u64::from(told.node != one.node);
            }
            Some(one) if told.kind == Kind::LostUpdate => *one = told,
            Some(_) => {}
        }
    }

    /// Adds what was found in a node of a cluster; nodes come one after the other.
    pub fn add_node(&mut self, name: &str, found: Self) {
        self.intended += found.intended;
        for told in found.findings {
            self.add(Told { node: Some(name.to_owned()), nodes: 1, ..told });
        }
    }

    /// Writes it below a run's summary.
    pub fn to_text(&self) -> String {
        written(|out| {
            let found = if self.findings.len() == 1 { "finding" } else { "findings" };
            write!(out, "  check         {:>12}  {found}", self.findings.len())?;
            match self.intended {
                0 => writeln!(out)?,
                times => writeln!(out, "; {} times what is meant so", count(times))?,
            }
            self.findings.iter().try_for_each(|told| told.write(out))
        })
    }

    /// Gives it as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "intended": self.intended,
            "findings": self.findings.iter().map(Told::to_json).collect::<Vec<_>>(),
        })
    }
}

impl Told {
    /// Tells whether another one is about the same lines.
    fn is_like(&self, other: &Self) -> bool {
        let lines = |told: &Self| {
            let mut lines: Vec<_> = told.accesses.iter().map(Access::line).collect();
            lines.sort();
            lines
        };
        let same_kind = self.kind == other.kind || self.kind.is_race() && other.kind.is_race();
        same_kind && lines(self) == lines(other)
    }

    /// Says what a finding is about: functions and lines by the program's debug information, the time of
    /// a cycle, the name of a context, and what lies at an address.
    pub fn of(
        finding: &Finding,
        debug: &Debug<'_>,
        time: impl Fn(u64) -> Time,
        context: impl Fn(&Who) -> Option<String>,
        lies_at: impl Fn(u64) -> String,
    ) -> Self {
        let access = |seen: &Seen| {
            let places = debug.places(seen.pc);
            let own = places.iter().find(|place| !place.is_of_sdk());
            let place = own.or(places.first());
            let function = place.and_then(|place| place.function.clone());
            Access {
                seen: *seen,
                function: function.or_else(|| describe(debug.image(), seen.pc)),
                source: place.and_then(|place| place.source()),
                context: context(&seen.who),
                time: time(seen.cycle),
            }
        };
        Self {
            kind: finding.kind,
            count: finding.count,
            node: None,
            nodes: 0,
            memory: finding.memory.map(|(at, bytes)| (at, bytes, lies_at(at))),
            note: finding.note.clone(),
            accesses: finding.seen.iter().map(access).collect(),
        }
    }

    fn advice(&self) -> &'static str {
        let nobody = Who::Hpu { cluster: 0, hpu: 0, task: None };
        let hart = |access: &Access| match access.seen.who {
            Who::Hart { hart, .. } => Some(hart),
            Who::Hpu { .. } => None,
        };
        if let [one, other] = self.accesses.as_slice()
            && hart(one).is_some()
            && hart(one) == hart(other)
            && let Some(advice) = self.kind.advice_to_threads()
        {
            return advice;
        }
        self.kind.advice(self.accesses.first().map_or(&nobody, |access| &access.seen.who))
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let times = match self.count {
            1 => String::new(),
            times => format!(", {} times", count(times)),
        };
        let place = match (&self.node, self.nodes) {
            (None, _) => String::new(),
            (Some(node), 0 | 1) => format!("{node}: "),
            (Some(node), 2) => format!("{node} and another node: "),
            (Some(node), nodes) => format!("{node} and {} other nodes: ", count(nodes - 1)),
        };
        writeln!(out, "    {place}{}{times}", self.kind.words())?;
        for access in &self.accesses {
            writeln!(out, "      {access}")?;
        }
        if let Some((address, bytes, what)) = &self.memory {
            let bytes =
                if *bytes > 0 { format!("{} B ", count(u64::from(*bytes))) } else { String::new() };
            writeln!(out, "      {bytes}at {address:#010x}: {what}")?;
        }
        if let Some(note) = &self.note {
            writeln!(out, "      {note}")?;
        }
        writeln!(out, "      {}", self.advice())
    }

    fn to_json(&self) -> Value {
        let memory = self.memory.as_ref().map(
            |(address, bytes, what)| json!({ "address": address, "bytes": bytes, "what": what }),
        );
        let mut finding = json!({
            "kind": self.kind.name(),
            "count": self.count,
            "what": self.kind.words(),
            "advice": self.advice(),
            "note": self.note,
            "memory": memory,
            "accesses": self.accesses.iter().map(Access::to_json).collect::<Vec<_>>(),
        });
        if let Some(node) = &self.node {
            finding["node"] = json!(node);
            finding["nodes"] = json!(self.nodes);
        }
        finding
    }
}

impl Access {
    /// Names the line, or what comes nearest to it.
    fn line(&self) -> (String, String) {
        let function = self.function.clone().unwrap_or_default();
        (self.source.clone().unwrap_or_else(|| format!("{:#010x}", self.seen.pc)), function)
    }

    fn to_json(&self) -> Value {
        let seen = &self.seen;
        let mut access = json!({
            "deed": seen.deed.name(),
            "function": self.function,
            "source": self.source,
            "pc": seen.pc,
            "cycle": seen.cycle,
            "time_ns": self.time.ns(),
        });
        if let (Some(keys), Value::Object(who)) = (access.as_object_mut(), self.who_json()) {
            keys.extend(who);
        }
        access
    }

    fn who_json(&self) -> Value {
        match self.seen.who {
            Who::Hpu { cluster, hpu, task } => json!({
                "cluster": cluster,
                "hpu": hpu,
                "packet": task.map(|task| task.packet),
                "message": task.map(|task| task.message),
                "context": self.context,
                "handler": task.map(|task| kind_name(task.kind)),
            }),
            Who::Hart { hart, context, message } => json!({
                "hart": hart,
                "message": message,
                "context": context,
            }),
        }
    }
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seen = &self.seen;
        write!(f, "{} ", seen.deed.words())?;
        match (&self.function, &self.source) {
            (Some(function), Some(source)) => write!(f, "{function} ({source})")?,
            (Some(function), None) => write!(f, "{function} (pc {:#010x})", seen.pc)?,
            (None, _) => write!(f, "pc {:#010x}", seen.pc)?,
        }
        let cycle = count(seen.cycle);
        match seen.who {
            Who::Hpu { cluster, hpu, task } => {
                if let (Some(task), Some(context)) = (task, &self.context) {
                    let (packet, kind) = (task.packet, kind_name(task.kind));
                    write!(f, ", {kind} handler of packet {packet}, context {context}")?;
                }
                write!(f, ", cluster {cluster} HPU {hpu}, cycle {cycle}")
            }
            Who::Hart { hart, context, message } => {
                match message {
                    Some(message) => write!(f, ", message {message}, context {context}")?,
                    None => write!(f, ", before a message")?,
                }
                write!(f, ", hart {hart}, cycle {cycle}")
            }
        }
    }
}
