//! What the checker says in the end: findings of the same lines of source as one, with functions and
//! lines, as text and as JSON.

use std::fmt::Write as _;

use pinion_sim::Time;
use serde_json::{Value, json};

use super::finding::{Kind, Seen};
use crate::words::{count, kind_name, written};

/// Holds what was found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The findings, in the order in which they were made.
    pub findings: Vec<Told>,
    /// How often something was found that a line of source says is meant so.
    pub intended: u64,
}

/// Holds a finding, in words.
#[derive(Clone, Debug)]
pub struct Told {
    /// What is wrong.
    pub kind: Kind,
    /// How often.
    pub count: u64,
    /// Where: an address, bytes, and what lies there.
    pub memory: Option<(u32, u32, String)>,
    /// What more there is to say.
    pub note: Option<String>,
    /// The accesses.
    pub accesses: Vec<Access>,
}

/// Holds one access of a finding, in words.
#[derive(Clone, Debug)]
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
            Some(one) if told.kind == one.kind => one.count += told.count,
            Some(one) if told.kind == Kind::LostUpdate => *one = told,
            Some(_) => {}
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
        let races = |told: &Self| matches!(told.kind, Kind::DataRace | Kind::LostUpdate);
        (self.kind == other.kind || races(self) && races(other)) && lines(self) == lines(other)
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let times = match self.count {
            1 => String::new(),
            times => format!(", {} times", count(times)),
        };
        writeln!(out, "    {}{times}", self.kind.words())?;
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
        writeln!(out, "      {}", self.kind.advice())
    }

    fn to_json(&self) -> Value {
        let memory = self.memory.as_ref().map(
            |(address, bytes, what)| json!({ "address": address, "bytes": bytes, "what": what }),
        );
        json!({
            "kind": self.kind.name(),
            "count": self.count,
            "what": self.kind.words(),
            "advice": self.kind.advice(),
            "note": self.note,
            "memory": memory,
            "accesses": self.accesses.iter().map(Access::to_json).collect::<Vec<_>>(),
        })
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
        json!({
            "deed": seen.deed.name(),
            "function": self.function,
            "source": self.source,
            "pc": seen.pc,
            "cycle": seen.cycle,
            "time_ns": self.time.ns(),
            "cluster": seen.cluster,
            "hpu": seen.hpu,
            "packet": seen.task.map(|task| task.packet),
            "message": seen.task.map(|task| task.message),
            "context": self.context,
            "handler": seen.task.map(|task| kind_name(task.kind)),
        })
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
        if let (Some(task), Some(context)) = (seen.task, &self.context) {
            let (packet, kind) = (task.packet, kind_name(task.kind));
            write!(f, ", {kind} handler of packet {packet}, context {context}")?;
        }
        let (cluster, hpu, cycle) = (seen.cluster, seen.hpu, count(seen.cycle));
        write!(f, ", cluster {cluster} HPU {hpu}, cycle {cycle}")
    }
}
