//! `pspin-fig6`: how long handlers may take at line rate, and what becomes of the rate when they take
//! longer (PsPIN paper, figure 6 and §III-B3): the paper's model, and handlers that were run.
//! Code, since the longest handler that keeps up is searched, each run choosing the next.

use std::sync::Arc;

use pinion_spin::{Machine, UnitEvent, UnitEventKind};

use super::load::{Load, Pace};
use super::nic;
use super::observed::{Observed, observe};
use super::programs::{Programs, Source};
use crate::figure::{Cell, Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::app::App;
use pinion_app::error::{Error, Result};

/// Begins the curves that are computed.
const MODEL: &str = "model";
/// Begins the curves of handlers that were run.
const RUN: &str = "run";
/// Begins the curves of throughput over handler time.
const SWEEP: &str = "throughput";
/// Additions tried beyond the model's budget.
const BEYOND: u32 = 16;
/// Additions below the model's budget where the search begins.
const NEAR: u32 = 48;

pub(super) struct Fig6 {
    pub programs: Arc<Programs>,
}

impl Figure for Fig6 {
    fn name(&self) -> &'static str {
        "pspin-fig6"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("curve"),
            Column::number("bytes", "", 0),
            Column::number("rate", "Gbit/s", 0),
            Column::number("handler", "ns", 1),
            Column::number("throughput", "Gbit/s", 1),
            Column::number("interval", "ns", 3),
            Column::number("cluster_interval", "ns", 3),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        for rate in parameters.list("rates_gbit_s")? {
            for bytes in parameters.list("bytes")? {
                let label = format!("budget at {rate} Gbit/s, {bytes} B");
                points.push(Point {
                    label,
                    curve: format!("{RUN}/{rate}"),
                    x: bytes,
                    stream: 0,
                    ..Point::default()
                });
            }
            for bytes in parameters.list("sweep_bytes")? {
                for share in parameters.list("budget_shares")? {
                    let label = format!("{bytes} B at {rate} Gbit/s, {share} of the budget");
                    let curve = format!("{SWEEP}/{rate}/{bytes}");
                    points.push(Point { label, curve, x: share, stream: 0, ..Point::default() });
                }
            }
        }
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let app = self.programs.app(Source::Figures, setting.machine, setting.build_dir)?;
        let parts: Vec<&str> = point.curve.split('/').collect();
        let number = |index: usize| parts.get(index).and_then(|text| text.parse::<f64>().ok());
        let rate = number(1).unwrap_or_default();
        let bench = Bench { app: &app, setting, rate };
        match number(2) {
            Some(bytes) => bench.throughput(bytes, point.x),
            None => bench.budget(point.x),
        }
    }
}

/// Runs handlers at a line rate.
struct Bench<'a> {
    app: &'a App,
    setting: &'a Setting<'a>,
    /// In Gbit/s.
    rate: f64,
}

impl Bench<'_> {
    /// Runs handlers of so many additions.
    fn observe(&self, bytes: f64, additions: u32) -> Result<Observed> {
        let parameters = self.setting.parameters;
        let load = Load {
            packets: parameters.whole("packets")?,
            bytes: bytes as u32,
            messages: parameters.whole("messages")? as u32,
            pace: Pace::Rate((self.rate * 1000.0) as u64),
            argument: additions,
        };
        observe(&mut nic(self.app, "sled", &[])?, &mut load.traffic(), true)
    }

    /// Finds the longest handler with which the line rate holds.
    fn budget(&self, bytes: f64) -> Result<Vec<Row>> {
        let holds = self.setting.parameters.number("holds")?;
        let keeps_up = |observed: &Observed| {
            observed.inbound_gbit_s().is_some_and(|ours| ours >= holds * self.rate)
        };
        let model = model_ns(&self.app.machine.value, bytes, self.rate);
        let mut best: Option<(u32, Observed)> = None;
        let (mut low, mut high) = ((model as u32).saturating_sub(NEAR), model as u32 + BEYOND);
        if low > 0 && !keeps_up(&self.observe(bytes, low)?) {
            (low, high) = (0, low);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            let observed = self.observe(bytes, middle)?;
            match keeps_up(&observed) {
                true => (low, best) = (middle + 1, Some((middle, observed))),
                false => high = middle,
            }
        }
        let Some((additions, observed)) = best else {
            let problem = "even the shortest handler does not keep up";
            return Err(Error::Usage(format!("{bytes} B at {} Gbit/s: {problem}", self.rate)));
        };
        if additions + 1 == model as u32 + BEYOND {
            return Err(Error::Usage(format!("{bytes} B: the budget is beyond what was tried")));
        }
        let name = |kind: &str| format!("{kind}, {} Gbit/s", self.rate);
        Ok(vec![
            vec![
                name(MODEL).into(),
                bytes.into(),
                self.rate.into(),
                model.into(),
                self.rate.into(),
                Cell::Missing,
                Cell::Missing,
            ],
            self.row(&name(RUN), bytes, &observed),
        ])
    }

    /// Runs a handler of a share of the budget and the model beside it.
    fn throughput(&self, bytes: f64, share: f64) -> Result<Vec<Row>> {
        let machine = &self.app.machine.value;
        let model = model_ns(machine, bytes, self.rate) * share;
        // The handler performs some instructions before and after its additions.
        let around = self.observe(bytes, 0)?.handler_ns().unwrap_or_default();
        let additions = (model - around).max(0.0).round() as u32;
        let observed = self.observe(bytes, additions)?;
        let name = format!("{bytes} B, {} Gbit/s", self.rate);
        let row = self.row(&name, bytes, &observed);
        let time = observed.handler_ns().unwrap_or(f64::NAN);
        let limit = self.rate.min(hpus(machine) * bytes * 8.0 / time);
        let model = vec![
            format!("{MODEL}, {name}").into(),
            bytes.into(),
            self.rate.into(),
            time.into(),
            limit.into(),
            Cell::Missing,
            Cell::Missing,
        ];
        Ok(vec![row, model])
    }

    fn row(&self, name: &str, bytes: f64, observed: &Observed) -> Row {
        let machine = &self.app.machine.value;
        let period_ns = 1000.0 / machine.clock.frequency_mhz as f64;
        let [hers, tasks] = intervals_ns(observed, machine.cluster.count, period_ns);
        vec![
            name.into(),
            bytes.into(),
            self.rate.into(),
            observed.handler_ns().into(),
            observed.inbound_gbit_s().into(),
            hers.into(),
            tasks.into(),
        ]
    }
}

fn hpus(machine: &Machine) -> f64 {
    f64::from(machine.cluster.count * machine.cluster.cores)
}

/// Gives the time that a handler may take at line rate (paper, §III-B3): as many packets' times as
/// there are HPUs.
fn model_ns(machine: &Machine, bytes: f64, rate_gbit_s: f64) -> f64 {
    hpus(machine) * bytes * 8.0 / rate_gbit_s
}

/// Gives the mean time between two HERs that reach the packet scheduler, and between two tasks that
/// reach the same cluster.
fn intervals_ns(observed: &Observed, clusters: u32, period_ns: f64) -> [Option<f64>; 2] {
    let mean = |kind: UnitEventKind, cluster: u32| {
        let is_it = |unit: &&UnitEvent| unit.kind == kind && unit.cluster == cluster;
        let cycles = observed.units.iter().filter(is_it).map(|unit| unit.cycle);
        let (first, last) = (cycles.clone().min()?, cycles.clone().max()?);
        let gaps = cycles.count().checked_sub(1).filter(|gaps| *gaps > 0)?;
        Some((last - first) as f64 * period_ns / gaps as f64)
    };
    let of_clusters: Option<Vec<f64>> =
        (0..clusters).map(|cluster| mean(UnitEventKind::ClusterTask, cluster)).collect();
    let of_clusters = of_clusters.map(|all| all.iter().sum::<f64>() / all.len() as f64);
    [mean(UnitEventKind::HerIn, 0), of_clusters]
}
