//! `nanopu-chain`: how long a write takes that three replicas in a chain have (nanoPU paper, §4.3 b).

use std::sync::Arc;

use pinion_net::load::Latencies;

use super::{Bench, Chain};
use crate::figure::{Cell, Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

pub(super) struct ChainReplication {
    pub bench: Arc<dyn Bench>,
}

impl Figure for ChainReplication {
    fn name(&self) -> &'static str {
        "nanopu-chain"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("replicas"),
            Column::number("gap", "cycles", 0),
            Column::number("load", "M/s", 3),
            Column::number("mean", "µs", 3),
            Column::number("p50", "µs", 3),
            Column::number("p99", "µs", 3),
            Column::number("client", "ns", 1),
            Column::number("writes", "", 0),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        for replicas in parameters.list("replicas")? {
            for gap in parameters.list("gaps_cycles")? {
                points.push(Point {
                    label: format!("{replicas} replicas, gap {gap}"),
                    curve: format!("{replicas}"),
                    x: gap,
                    stream: gap as u64,
                    ..Point::default()
                });
            }
        }
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let parameters = setting.parameters;
        let gap_cycles = point.x as u64;
        let writes = parameters.whole("writes")?;
        let run = Chain {
            replicas: point.curve.parse().unwrap_or(0),
            pairs: parameters.whole("pairs")?,
            writes,
            gap_cycles,
            link_cycles: parameters.whole("link_cycles")?,
        };
        let report = self.bench.chain(&run, setting)?;
        let clock = self.bench.clock(setting)?;
        let mut latencies = Latencies::new(true);
        for cycles in &report.latencies_cycles {
            latencies.record(*cycles);
        }
        let us = |cycles: Option<f64>| Cell::from(cycles.map(|c| c * clock.period_ps() / 1e6));
        let load = (gap_cycles > 0).then(|| clock.hz() / point.x / 1e6);
        Ok(vec![vec![
            point.curve.as_str().into(),
            point.x.into(),
            load.unwrap_or(0.0).into(),
            us(latencies.mean_cycles()),
            us(latencies.quantile(0.5)),
            us(latencies.quantile(0.99)),
            (report.client_cycles * clock.period_ps() / 1e3).into(),
            Cell::from(latencies.count()),
        ]])
    }
}
