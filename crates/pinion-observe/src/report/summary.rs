//! What a run amounts to: counters and distributions come in, the numbers people compare go out.

use std::time::Duration;

use pinion_sim::{Clock, Time};
use pinion_spin::listener::DropReason;
use pinion_spin::{ExecutionContext, HandlerKind, Machine, Totals};

use crate::fault::{self, Explained, Fault};
use pinion_app::app::App;

use super::collector::Stats;
use super::ending::Ending;
use super::handlers::HandlerRow;
use super::histogram::Quantiles;
use crate::words::kind_name;

/// Describes a run by the native engine: its times are this computer's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Native {
    /// Number of workers.
    pub workers: u32,
    /// The time the engine had packets, without that of reading or making them.
    pub engine: Duration,
}

/// Holds everything a summary shows.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Name of the application.
    pub app: String,
    /// Name of the machine.
    pub machine: String,
    /// Name of the contexts.
    pub contexts: Vec<String>,
    /// How the run ended.
    pub ending: Ending,
    /// The NIC's counters.
    pub totals: Totals,
    /// Number of bytes of processed packets.
    pub processed_bytes: u64,
    /// The distribution of times from HER to completion.
    pub latency: Option<Quantiles>,
    /// The distribution of times from arrival to departure.
    pub transit: Option<Quantiles>,
    /// The time from the first arrival to the last thing that happened.
    pub active: Time,
    /// The simulated time of the whole run.
    pub simulated: Time,
    /// The time the host took.
    pub host: Duration,
    /// The simulated time that was worked on and the host time it took: of a live run only the
    /// time with packets inside.
    pub working: (Time, Duration),
    /// Number of HPUs.
    pub hpus: u32,
    /// The frequency of the machine's clock, in megahertz.
    pub frequency_mhz: u64,
    /// Number of the machine's cycles in the simulated time.
    pub cycles: u64,
    /// Number of the machine's cycles from the first arrival to the last thing that happened.
    pub active_cycles: u64,
    /// The faults, each once, explained.
    pub faults: Vec<Explained>,
    /// A row per handler, if asked for.
    pub handlers: Vec<HandlerRow>,
    /// What does not add up, if something does not.
    pub imbalance: Option<String>,
    /// Describes the native engine, of a run by it.
    pub native: Option<Native>,
    /// Number of frames that the kernel dropped before a live run read them.
    pub kernel_dropped: Option<u64>,
    /// Name of what else must be said (frames dropped by a live run, the slowdown).
    pub remarks: Vec<String>,
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

impl Summary {
    /// Turns a summary into one of the native engine: its times are those of this computer.
    #[must_use]
    pub fn by_native(mut self, workers: u32, engine: Duration) -> Self {
        let spent = Time::from_ns(u64::try_from(engine.as_nanos()).unwrap_or(u64::MAX));
        self.native = Some(Native { workers, engine });
        self.active = spent;
        self.simulated = Time::ZERO;
        self.working = (Time::ZERO, engine);
        self.hpus = workers;
        self.cycles = 0;
        self.active_cycles =
            u64::try_from(u128::from(spent.ps()) * u128::from(self.frequency_mhz) / 1_000_000)
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
        Self {
            app: name.to_owned(),
            machine: machine.name.clone(),
            contexts: contexts.iter().map(|context| context.name.clone()).collect(),
            ending,
            imbalance: imbalance(&totals),
            processed_bytes: stats.processed_bytes,
            latency: stats.latency.quantiles(),
            transit: stats.transit.quantiles(),
            active: end.since(start),
            simulated,
            host,
            working: (simulated, host),
            hpus: machine.hpus_of_all_units(),
            frequency_mhz: machine.clock.frequency_mhz,
            cycles: cycles(machine, simulated),
            active_cycles: cycles(machine, end.since(start)),
            faults: fault::merged(explain(stats.faults.into_faults())),
            handlers: handlers.collect(),
            totals,
            native: None,
            kernel_dropped: None,
            remarks: Vec::new(),
        }
    }

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

    /// Gives how much slower than the hardware the run was.
    pub fn slowdown(&self) -> f64 {
        ratio(self.working.1.as_secs_f64(), self.working.0.ps() as f64 / 1e12)
    }

    /// Gives millions of simulated instructions per second of the host.
    pub fn simulated_mips(&self) -> f64 {
        ratio(self.totals.instructions as f64 / 1e6, self.working.1.as_secs_f64())
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
}

/// Tells which packets are unaccounted for, if any are.
fn imbalance(totals: &Totals) -> Option<String> {
    let problem = totals.conserved().err()?;
    Some(format!("packets do not add up: {problem}; this is a defect of pinion, please report it"))
}

/// Names a context's handler of a kind.
fn symbol(context: &ExecutionContext, kind: HandlerKind) -> &str {
    let handler = match kind {
        HandlerKind::Header => &context.header_handler,
        HandlerKind::Payload => &context.payload_handler,
        HandlerKind::Completion => &context.completion_handler,
    };
    handler.as_ref().map_or("", |handler| &handler.name)
}

fn cycles(machine: &Machine, time: Time) -> u64 {
    Clock::from_hz(machine.clock.frequency_mhz.max(1) * 1_000_000).cycle_at(time)
}

fn gbit_s(bytes: u64, time: Time) -> f64 {
    ratio(bytes as f64 * 8.0, time.ns())
}

fn ratio(over: f64, under: f64) -> f64 {
    if under > 0.0 { over / under } else { 0.0 }
}
