//! `nanopu-fig7`: a key-value store on four cores, its requests by JBSQ or by the key (nanoPU paper,
//! figure 7).

use std::sync::Arc;

use pinion_net::load::{Contexts, Distribution, Matching, StoreRequests};

use super::sweep::Sweep;
use super::{Bench, Store};
use crate::figure::{Cell, Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

const JBSQ: &str = "JBSQ";
const STATIC: &str = "static";
const CORES: u16 = 4;

pub(super) struct Fig7 {
    pub bench: Arc<dyn Bench>,
}

impl Figure for Fig7 {
    fn name(&self) -> &'static str {
        "nanopu-fig7"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("curve"),
            Column::number("gap", "cycles", 0),
            Column::number("offered", "M/s", 3),
            Column::number("answered", "M/s", 3),
            Column::number("p99", "ns", 0),
            Column::number("p50", "ns", 0),
            Column::number("mean", "ns", 0),
            Column::number("requests", "", 0),
            Column::number("missing", "", 0),
            Column::number("wrong", "", 0),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let low = parameters.number("low_gap_cycles")?;
        let mut points = Vec::new();
        for curve in [JBSQ, STATIC] {
            let gaps = std::iter::once(low).chain(parameters.list("gaps_cycles")?);
            points.extend(gaps.map(|gap| Point {
                label: format!("{curve}, gap {gap}"),
                curve: curve.to_owned(),
                x: gap,
                stream: gap as u64,
                ..Point::default()
            }));
        }
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let parameters = setting.parameters;
        let is_shared = point.curve == JBSQ;
        let keys = parameters.whole("pairs")?;
        let store = Store { is_shared, pairs: keys, link_cycles: parameters.whole("link_cycles")? };
        // What a request takes is only used to bound how long the last ones are waited for.
        let service = Distribution::Fixed { cycles: parameters.number("service_cycles")? };
        let gap = point.x / f64::from(CORES);
        let mut load = Sweep::of(parameters, gap)?.load(setting, service);
        load.contexts = if is_shared { Contexts::Fixed(0) } else { Contexts::Uniform(CORES) };
        load.matching = Matching::SentTime;
        let value_bytes = parameters.whole("value_bytes")? as u16;
        load.store = Some(StoreRequests { keys, value_bytes });
        let report = self.bench.store(&store, load, setting)?;
        let clock = self.bench.clock(setting)?;
        let core = |rate: Option<f64>| Cell::from(rate.map(|rate| rate / 1e6 / f64::from(CORES)));
        let ns = |cycles: Option<f64>| Cell::from(cycles.map(|c| c * clock.period_ps() / 1e3));
        let latencies = &report.all;
        Ok(vec![vec![
            point.curve.as_str().into(),
            point.x.into(),
            core(report.offered_per_s(clock)),
            core(report.answered_per_s(clock)),
            ns(latencies.quantile_with_missing(0.99)),
            ns(latencies.quantile_with_missing(0.5)),
            ns(latencies.mean_cycles()),
            Cell::from(latencies.count() + latencies.missing()),
            Cell::from(latencies.missing()),
            Cell::from(report.wrong),
        ]])
    }
}
