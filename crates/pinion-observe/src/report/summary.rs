//! What a run amounts to, whatever ran: what every machine tells stands here once, and a [`Section`]
//! holds what only one kind of run has.

use std::fmt::Write as _;
use std::time::Duration;

use pinion_sim::Time;
use serde_json::{Map, Value, json};

use super::ending::{Ending, Report};
use super::histogram::Quantiles;
use super::packet_handlers::Handlers;
use crate::check::Verdict;
use crate::document::Document;
use crate::fault::Explained;
use crate::words::{count, seconds, written};

/// Holds everything that is shown of a run.
#[derive(Debug, Clone)]
pub struct Summary<S = Handlers> {
    /// Name of the application, or of the cluster.
    pub name: String,
    /// Name of the machine; a cluster has one by node.
    pub machine: Option<String>,
    /// How the run ended.
    pub ending: Ending,
    /// The simulated time of the whole run.
    pub simulated: Time,
    /// Number of the machine's cycles in it.
    pub cycles: u64,
    /// Number of instructions, those of polling loops included.
    pub instructions: u64,
    /// The time the host took.
    pub host: Duration,
    /// The simulated time that was worked on and the host time it took, where that is not all: of a
    /// live run the time with packets inside.
    pub working: Option<(Time, Duration)>,
    /// The distribution of times from HER to completion, or from wire to wire.
    pub latency: Option<Quantiles>,
    /// Number of frames that the kernel dropped before a live run read them.
    pub kernel_dropped: Option<u64>,
    /// The faults, each once, explained.
    pub faults: Vec<Explained>,
    /// What the program did wrong.
    pub warnings: Vec<String>,
    /// What the checker found, of a run that it heard.
    pub check: Option<Verdict>,
    /// What was answered otherwise than expected.
    pub differences: Vec<String>,
    /// What does not add up: a defect of the simulator.
    pub imbalances: Vec<String>,
    /// What else must be said: why nothing came, frames dropped by a live run, the slowdown.
    pub remarks: Vec<String>,
    /// What only a run of this kind tells.
    pub section: S,
}

/// What a kind of run tells beside what all tell.
pub trait Section: Sized {
    /// The JSON document's kind.
    const DOCUMENT: Document;

    /// Writes what was counted, from the line with the run's name on.
    ///
    /// # Errors
    /// Those of `out`.
    fn write_counts(run: &Summary<Self>, out: &mut String) -> std::fmt::Result;

    /// Gives the JSON keys that only this kind has.
    fn keys(run: &Summary<Self>) -> Map<String, Value>;

    /// Names the faults, and counts them all, those that are not explained included.
    fn faults(run: &Summary<Self>) -> (&'static str, u64) {
        ("exceptions", run.faults.len() as u64)
    }

    /// Writes what troubles its parts.
    ///
    /// # Errors
    /// Those of `out`.
    fn write_trouble(_run: &Summary<Self>, _out: &mut String) -> std::fmt::Result {
        Ok(())
    }

    /// Tells whether something failed that ending, faults and books do not show.
    fn has_failures(_run: &Summary<Self>) -> bool {
        false
    }
}

impl<S: Section> Summary<S> {
    /// Begins a summary of what ran for `cycles`: nothing is wrong yet, nothing said.
    pub fn begin(name: &str, ending: Ending, (simulated, cycles): (Time, u64), section: S) -> Self {
        Self {
            name: name.to_owned(),
            machine: None,
            ending,
            simulated,
            cycles,
            instructions: 0,
            host: Duration::ZERO,
            working: None,
            latency: None,
            kernel_dropped: None,
            faults: Vec::new(),
            warnings: Vec::new(),
            check: None,
            differences: Vec::new(),
            imbalances: Vec::new(),
            remarks: Vec::new(),
            section,
        }
    }

    /// Names what ran, and on what.
    pub fn title(&self) -> String {
        match &self.machine {
            Some(machine) => format!("{} on {machine}", self.name),
            None => self.name.clone(),
        }
    }

    fn working(&self) -> (Time, Duration) {
        self.working.unwrap_or((self.simulated, self.host))
    }

    /// Gives how much slower than the hardware the run was.
    pub fn slowdown(&self) -> f64 {
        let (simulated, host) = self.working();
        ratio(host.as_secs_f64(), simulated.ps() as f64 / 1e12)
    }

    /// Gives millions of simulated instructions per second of the host.
    pub fn simulated_mips(&self) -> f64 {
        ratio(self.instructions as f64 / 1e6, self.working().1.as_secs_f64())
    }

    /// Notes that packets do not add up.
    pub fn unbalanced(&mut self, problem: &str) {
        self.imbalances.push(format!(
            "packets do not add up: {problem}; this is a defect of pinion, please report it"
        ));
    }

    /// Writes how long the simulation took; `cycles` says of how many, if that is of interest.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_time(&self, out: &mut String, cycles: &str) -> std::fmt::Result {
        write!(
            out,
            "  time          {:>12}  {cycles}simulated; host {}, slowdown {}, {:.1} MIPS",
            self.simulated.to_string(),
            seconds(self.host.as_secs_f64()),
            count(self.slowdown().round() as u64),
            self.simulated_mips()
        )
    }

    fn write_trouble(&self, out: &mut String) -> std::fmt::Result {
        self.check.iter().for_each(|check| out.push_str(&check.to_text()));
        S::write_trouble(self, out)?;
        let lists =
            [("the program did wrong:", &self.warnings), ("not as expected:", &self.differences)];
        for (head, lines) in lists.iter().filter(|(_, lines)| !lines.is_empty()) {
            writeln!(out, "  {head}")?;
            lines.iter().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        self.write_faults(out)?;
        if let Ending::Stuck(report) = &self.ending
            && !report.is_empty()
        {
            writeln!(out, "  nothing moves any more:")?;
            report.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        let rest = self.imbalances.iter().chain(&self.remarks);
        rest.into_iter().try_for_each(|line| writeln!(out, "  {line}"))
    }

    fn write_faults(&self, out: &mut String) -> std::fmt::Result {
        let (name, all) = S::faults(self);
        if all == 0 {
            return Ok(());
        }
        writeln!(out, "  {name:<14}{:>12}", count(all))?;
        self.faults.iter().for_each(|fault| out.push_str(&fault.to_text("    ")));
        let told: u64 = self.faults.iter().map(|fault| fault.fault.count).sum();
        let more = all.saturating_sub(told);
        if more > 0 && !self.faults.is_empty() {
            writeln!(out, "    and {} more", count(more))?;
        }
        Ok(())
    }
}

impl<S: Section> Report for Summary<S> {
    fn texts(&self) -> [String; 2] {
        [written(|out| S::write_counts(self, out)), written(|out| self.write_trouble(out))]
    }

    fn has_failures(&self) -> bool {
        let found = self.check.as_ref().is_some_and(|check| !check.findings.is_empty());
        self.ending.is_failure() || !self.imbalances.is_empty() || found || S::has_failures(self)
    }

    fn has_differences(&self) -> bool {
        !self.differences.is_empty()
    }

    /// Gives the summary as JSON: the keys are a promise, new ones may be added. A cluster's has no
    /// times of the host, so that it is the same at every number of threads and ranks.
    fn to_json(&self) -> Value {
        let mut all = json!({
            "document": S::DOCUMENT.head(),
            "ending": self.ending.name(),
            "simulated_ns": self.simulated.ns(),
            "cycles": self.cycles,
            "instructions": self.instructions,
            "remarks": self.remarks,
        });
        let Some(keys) = all.as_object_mut() else { return all };
        if let Some(machine) = &self.machine {
            let of_one = [
                ("app", json!(self.name)),
                ("machine", json!(machine)),
                ("host_seconds", json!(self.host.as_secs_f64())),
                ("slowdown", json!(self.slowdown())),
                ("simulated_mips", json!(self.simulated_mips())),
                ("latency_ns", json!(self.latency)),
                ("faults", self.faults.iter().map(Explained::to_json).collect()),
            ];
            keys.extend(of_one.map(|(key, value)| (key.to_owned(), value)));
        }
        keys.extend(S::keys(self));
        if let Some(check) = &self.check {
            all["check"] = check.to_json();
        }
        if let Some(frames) = self.kernel_dropped {
            all["packets"]["dropped_by_kernel"] = json!(frames);
        }
        all
    }
}

/// Divides, where there is something to divide by.
pub fn ratio(over: f64, under: f64) -> f64 {
    if under > 0.0 { over / under } else { 0.0 }
}

/// Takes the keys of a JSON object.
pub fn as_keys(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(keys) => keys,
        _ => Map::new(),
    }
}
