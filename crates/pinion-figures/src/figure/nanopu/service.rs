//! Threads of a nanoservice under a load. A figure's file asks for it with `run.kind = "service"`: the
//! threads, how requests find them, how long each takes, and how far they are apart.

use std::collections::BTreeSet;
use std::sync::Arc;

use pinion_net::load::{Contexts, Distribution, Latencies, LoadReport, Normal, Overrun};
use pinion_sim::Clock;

use super::sweep::Sweep;
use super::{Bench, Scheduling, Service, Thread};
use crate::figure::engine::{Asked, Kind, Record};
use crate::figure::{Cell, Setting};
use pinion_app::error::Result;

/// Runs services.
pub(in crate::figure) struct Services {
    pub bench: Arc<dyn Bench>,
}

impl Kind for Services {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            // Threads: context, priority and cores of each, as `0 0 0,1,2,3`.
            ("threads", true),
            // Of requests: `all to 0`, `uniform`, or `by mode` of their time.
            ("contexts", true),
            // Names of the contexts: a row for each; none: a row for all requests.
            ("parts", false),
            ("timer_cycles", false),
            ("bound_cycles", false),
            ("lowered", false),
            ("link_cycles", true),
            ("gap_cycles", true),
            ("requests", true),
            ("window_cycles", true),
            // All take as long, or some short and some long.
            ("service_cycles", false),
            ("short_cycles", false),
            ("long_cycles", false),
            ("long_probability", false),
            ("deviation_cycles", false),
            ("min_cycles", false),
            ("max_cycles", false),
            ("overrun_context", false),
            ("overrun_every", false),
            ("overrun_factor", false),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &[
            "part", "load", "offered", "answered", "p99", "p50", "mean", "missing", "p99_low",
            "p99_high", "requests", "p99_ns", "p50_ns", "mean_ns",
        ]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let threads = threads(asked)?;
        let cores: BTreeSet<u32> = threads.iter().flat_map(|thread| thread.cores.clone()).collect();
        let count: BTreeSet<u16> = threads.iter().map(|thread| thread.context).collect();
        let time = service_time(asked)?;
        let overrun = overrun(asked)?;
        // Requests that overrun are those of one context.
        let longer = overrun.as_ref().map_or(0.0, |overrun| {
            (overrun.factor as f64 - 1.0) / overrun.every as f64 / count.len() as f64
        });
        let clock = self.bench.clock(setting)?;
        let capacity = cores.len() as f64 * clock.hz() / (time.mean_cycles() * (1.0 + longer));
        let scheduling = match asked.whole_if_any("timer_cycles")? {
            Some(cycles) => Scheduling::Timer { cycles },
            None => Scheduling::Hardware,
        };
        let service = Service {
            threads,
            scheduling,
            bound_cycles: asked.whole_if_any("bound_cycles")?,
            lowered_for_good: asked.has("lowered") && asked.text("lowered")? == "for good",
            link_cycles: asked.whole("link_cycles")?,
        };
        let sweep = Sweep {
            requests: asked.whole("requests")?,
            window_cycles: asked.whole("window_cycles")?,
            gap_cycles: asked.number("gap_cycles")?,
        };
        let mut load = sweep.load(setting, time);
        load.contexts = contexts(asked, count.len() as u16)?;
        load.overrun = overrun;
        let report = self.bench.serve(&service, load, setting)?;
        let parts = asked.texts("parts")?;
        if parts.is_empty() {
            return Ok(vec![record("", &report, &report.all, clock, capacity)]);
        }
        let records = parts.iter().enumerate().filter_map(|(context, part)| {
            let latencies = report.by_context.get(&(context as u16))?;
            Some(record(part, &report, latencies, clock, capacity))
        });
        Ok(records.collect())
    }
}

/// Reads threads: `0 1 2,3` is one of context 0 and priority 1 on each of the cores 2 and 3.
fn threads(asked: &Asked<'_>) -> Result<Vec<Thread>> {
    let wrong = || asked.wrong("threads", "texts of context, priority and cores, as `0 0 0,1,2,3`");
    let thread = |text: &String| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let &[context, priority, cores] = words.as_slice() else { return Err(wrong()) };
        let cores = cores.split(',').map(|core| core.parse().map_err(|_| wrong()));
        Ok(Thread {
            context: context.parse().map_err(|_| wrong())?,
            priority: priority.parse().map_err(|_| wrong())?,
            cores: cores.collect::<Result<_>>()?,
        })
    };
    asked.texts("threads")?.iter().map(thread).collect()
}

fn contexts(asked: &Asked<'_>, count: u16) -> Result<Contexts> {
    match asked.text("contexts")? {
        "all to 0" => Ok(Contexts::Fixed(0)),
        "uniform" => Ok(Contexts::Uniform(count)),
        "by mode" => Ok(Contexts::ByMode),
        _ => Err(asked.wrong("contexts", "`all to 0`, `uniform` or `by mode`")),
    }
}

fn service_time(asked: &Asked<'_>) -> Result<Distribution> {
    if asked.has("service_cycles") {
        return Ok(Distribution::Fixed { cycles: asked.number("service_cycles")? });
    }
    let normal = |mean: &str| -> Result<Normal> {
        Ok(Normal {
            mean_cycles: asked.number(mean)?,
            deviation_cycles: asked.number("deviation_cycles")?,
        })
    };
    Ok(Distribution::Bimodal {
        low: normal("short_cycles")?,
        high: normal("long_cycles")?,
        high_probability: asked.number("long_probability")?,
        min_cycles: asked.number("min_cycles")?,
        max_cycles: asked.number("max_cycles")?,
    })
}

fn overrun(asked: &Asked<'_>) -> Result<Option<Overrun>> {
    let Some(context) = asked.whole_if_any("overrun_context")? else { return Ok(None) };
    Ok(Some(Overrun {
        context: context as u16,
        every: asked.whole("overrun_every")?,
        factor: asked.whole("overrun_factor")?,
    }))
}

/// Tells what became of requests, and the load, which is that of the gaps that really were, as the
/// published evaluation computes it.
fn record(
    part: &str,
    report: &LoadReport,
    latencies: &Latencies,
    clock: Clock,
    capacity_per_s: f64,
) -> Record {
    let offered = report.offered_per_s(clock);
    let mut record = answers(report, latencies, clock);
    record.insert("part", part.into());
    record.insert("load", offered.map(|offered| offered / capacity_per_s * 100.0).into());
    record
}

/// Tells what became of requests: the response times are those in `latencies`, the rates those of the
/// whole run.
pub(super) fn answers(report: &LoadReport, latencies: &Latencies, clock: Clock) -> Record {
    let us = |cycles: Option<f64>| -> Cell {
        cycles.map(|cycles| cycles * clock.period_ps() / 1e6).into()
    };
    let ns = |cycles: Option<f64>| -> Cell {
        cycles.map(|cycles| cycles * clock.period_ps() / 1e3).into()
    };
    let million = |rate: Option<f64>| -> Cell { rate.map(|rate| rate / 1e6).into() };
    let (p99, p50) = (latencies.quantile_with_missing(0.99), latencies.quantile_with_missing(0.5));
    let mean = latencies.mean_cycles();
    // The interval in which the 99th percentile lies, as sure as `CONFIDENCE` says.
    let interval = latencies.quantile_interval(0.99, pinion_observe::load::CONFIDENCE);
    Record::from([
        ("offered", million(report.offered_per_s(clock))),
        ("answered", million(report.answered_per_s(clock))),
        ("p99", us(p99)),
        ("p50", us(p50)),
        ("mean", us(mean)),
        ("p99_ns", ns(p99)),
        ("p50_ns", ns(p50)),
        ("mean_ns", ns(mean)),
        ("requests", Cell::from(latencies.count() + latencies.missing())),
        ("missing", Cell::from(latencies.missing())),
        ("p99_low", us(interval.low)),
        ("p99_high", us(interval.high)),
    ])
}
