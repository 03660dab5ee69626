//! What only a run of packet handlers tells: counters and distributions come in, the numbers people
//! compare go out.

use std::time::Duration;

use pinion_sim::{Clock, Time};
use pinion_spin::listener::DropReason;
use pinion_spin::{ExecutionContext, HandlerKind, Machine, Totals};
use serde_json::{Map, Value, json};

use crate::document::Document;
use crate::fault::{self, Explained, Fault};
use pinion_app::app::App;

use super::collector::Stats;
use super::ending::Ending;
use super::handlers::HandlerRow;
use super::histogram::Quantiles;
use super::summary::{Section, Summary, as_keys, ratio};
use crate::words::kind_name;

/// Describes a run by the native engine: its times are this computer's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Native {
    /// Number of workers.
    pub workers: u32,
    /// The time the engine had packets, without that of reading or making them.
    pub engine: Duration,
}

/// Holds what only a run of packet handlers tells.
#[derive(Debug, Clone)]
pub struct Handlers {
    /// Name of the contexts.
    pub contexts: Vec<String>,
    /// The NIC's counters.
    pub totals: Totals,
    /// Number of bytes of processed packets.
    pub processed_bytes: u64,
    /// The distribution of times from arrival to departure.
    pub transit: Option<Quantiles>,
    /// The time from the first arrival to the last thing that happened.
    pub active: Time,
    /// Number of the machine's cycles in it.
    pub active_cycles: u64,
    /// Number of HPUs.
    pub hpus: u32,
    /// The frequency of the machine's clock, in megahertz.
    pub frequency_mhz: u64,
    /// A row per handler, if asked for.
    pub handlers: Vec<HandlerRow>,
    /// Describes the native engine, of a run by it.
    pub native: Option<Native>,
}

/// Names what a summary is about.
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// The machine.
    pub machine: &'a Machine,
    /// The contexts.
    pub contexts: &'a [ExecutionContext],
    /// Explains faults.
    pub explain: &'a dyn Fn(Vec<Fault>) -> Vec<Explained>,
}

impl Summary<Handlers> {
    /// Turns a summary into one of the native engine: its times are those of this computer.
    #[must_use]
    pub fn by_native(mut self, workers: u32, engine: Duration) -> Self {
        let spent = Time::from_ns(u64::try_from(engine.as_nanos()).unwrap_or(u64::MAX));
        self.simulated = Time::ZERO;
        self.working = Some((Time::ZERO, engine));
        self.cycles = 0;
        let section = &mut self.section;
        section.native = Some(Native { workers, engine });
        section.active = spent;
        section.hpus = workers;
        section.active_cycles =
            u64::try_from(u128::from(spent.ps()) * u128::from(section.frequency_mhz) / 1_000_000)
                .unwrap_or(u64::MAX);
        self
    }

    /// Puts a summary together: how the run ended, at which simulated time, after how much time
    /// of the host.
    pub fn new(app: &App, totals: Totals, stats: Stats, ended: (Ending, Time, Duration)) -> Self {
        let explain = |faults| fault::explain_all(app, faults);
        let subject = Subject {
            name: &app.manifest.app.name,
            machine: &app.machine.value,
            contexts: &app.contexts,
            explain: &explain,
        };
        Self::of(&subject, totals, stats, ended)
    }

    /// Does the same for what is no application of a manifest.
    pub fn of(
        subject: &Subject<'_>,
        totals: Totals,
        stats: Stats,
        (ending, now, host): (Ending, Time, Duration),
    ) -> Self {
        let Subject { name, machine, contexts, explain } = *subject;
        let start = stats.first_arrival.unwrap_or_default();
        let end = stats.last_completion.max(stats.last_departure).max(stats.last_arrival);
        // A timer that runs out behind the last packet is not part of the run.
        let simulated = if ending == Ending::Finished { end } else { now };
        let handlers = stats.handlers.into_iter().map(|((context, kind), mut row)| {
            if let Some(context) = contexts.get(context.0 as usize) {
                row.context.clone_from(&context.name);
                row.symbol = symbol(context, kind).to_owned();
            }
            row.kind = kind_name(kind);
            row
        });
        let (instructions, problem) = (totals.instructions, totals.conserved().err());
        let section = Handlers {
            contexts: contexts.iter().map(|context| context.name.clone()).collect(),
            processed_bytes: stats.processed_bytes,
            transit: stats.transit.quantiles(),
            active: end.since(start),
            active_cycles: cycles(machine, end.since(start)),
            hpus: machine.hpus_of_all_units(),
            frequency_mhz: machine.clock.frequency_mhz,
            handlers: handlers.collect(),
            totals,
            native: None,
        };
        let spent = (simulated, cycles(machine, simulated));
        let mut summary = Self {
            machine: Some(machine.name.clone()),
            instructions,
            host,
            latency: stats.latency.quantiles(),
            faults: fault::merged(explain(stats.faults.into_faults())),
            ..Self::begin(name, ending, spent, section)
        };
        if let Some(problem) = problem {
            summary.unbalanced(&problem);
        }
        summary
    }
}

impl Handlers {
    /// Gives the rate of processed packets in Gbit/s, from the first arrival to the last event.
    pub fn throughput_gbit_s(&self) -> f64 {
        gbit_s(self.processed_bytes, self.active)
    }

    /// Gives the rate of packets sent in Gbit/s over the same time.
    pub fn out_gbit_s(&self) -> f64 {
        gbit_s(self.totals.bytes_out, self.active)
    }

    /// Gives the part of HPU cycles with a task, from the first arrival to the last event.
    pub fn hpu_utilisation(&self) -> f64 {
        let cycles = self.active_cycles as f64 * f64::from(self.hpus);
        ratio(self.totals.busy_cycles as f64, cycles)
    }

    /// Gives instructions per cycle of a busy HPU.
    pub fn ipc(&self) -> f64 {
        ratio(self.totals.instructions as f64, self.totals.busy_cycles as f64)
    }

    /// Gives the packets a second that a run by the native engine took.
    pub fn packets_per_second(&self) -> f64 {
        let seconds = self.native.map_or(0.0, |native| native.engine.as_secs_f64());
        ratio(self.totals.packets_in as f64, seconds)
    }

    /// Counts dropped packets.
    pub fn dropped(&self) -> u64 {
        self.totals.dropped_total()
    }

    /// Counts the packets dropped for a reason.
    pub fn dropped_for(&self, reason: DropReason) -> u64 {
        let of_reason = self.totals.dropped.iter().filter(|(other, _)| *other == reason);
        of_reason.map(|(_, count)| count).sum()
    }

    fn handlers_json(&self) -> Vec<Value> {
        let row = |row: &HandlerRow| {
            json!({
                "context": row.context,
                "handler": row.symbol,
                "kind": row.kind,
                "runs": row.runs,
                "failed": row.failed,
                "instructions": row.instructions,
                "stall_cycles": row.stalls.total(),
                "duration_ns": row.quantiles(),
            })
        };
        self.handlers.iter().map(row).collect()
    }
}

impl Section for Handlers {
    const DOCUMENT: Document = Document::PacketHandlers;

    fn write_counts(run: &Summary<Self>, out: &mut String) -> std::fmt::Result {
        run.section.write_text(run, out)
    }

    fn faults(run: &Summary<Self>) -> (&'static str, u64) {
        ("handler errors", run.section.totals.faults)
    }

    fn has_failures(run: &Summary<Self>) -> bool {
        run.section.totals.faults > 0
    }

    fn keys(run: &Summary<Self>) -> Map<String, Value> {
        let (section, totals) = (&run.section, &run.section.totals);
        let dropped =
            |reason: DropReason| (reason.name().to_owned(), json!(section.dropped_for(reason)));
        let dropped: Map<String, Value> = DropReason::ALL.into_iter().map(dropped).collect();
        let mut keys = json!({
            "engine": if section.native.is_some() { "native" } else { "simulator" },
            "active_ns": section.active.ns(),
            "ipc": section.ipc(),
            "packets": {
                "in": totals.packets_in,
                "matched": totals.matched,
                "processed": totals.processed,
                "out": totals.packets_out,
                "to_host": totals.unmatched,
                "dropped": dropped,
                "resident": totals.resident,
                "handler_errors": totals.faults,
            },
            "bytes": {
                "in": totals.bytes_in,
                "processed": section.processed_bytes,
                "out": totals.bytes_out,
                "to_host_memory": totals.host_bytes,
            },
            "host_writes": totals.host_writes,
            "arrival_to_departure_ns": section.transit,
            "throughput_gbit_s": section.throughput_gbit_s(),
            "out_gbit_s": section.out_gbit_s(),
            "hpus": section.hpus,
            "hpu_utilisation": section.hpu_utilisation(),
            "handlers": section.handlers_json(),
        });
        if let Some(native) = &section.native {
            keys["workers"] = json!(native.workers);
            keys["engine_seconds"] = json!(native.engine.as_secs_f64());
            keys["packets_per_second"] = json!(section.packets_per_second());
        }
        as_keys(keys)
    }
}

/// Names a context's handler of a kind.
fn symbol(context: &ExecutionContext, kind: HandlerKind) -> &str {
    context.handler(kind).map_or("", |handler| &handler.name)
}

fn cycles(machine: &Machine, time: Time) -> u64 {
    Clock::from_hz(machine.clock.frequency_mhz.max(1) * 1_000_000).cycle_at(time)
}

fn gbit_s(bytes: u64, time: Time) -> f64 {
    ratio(bytes as f64 * 8.0, time.ns())
}
