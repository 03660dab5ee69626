//! `nanopu-fig8`: small applications on the register interface and on a DMA NIC (nanoservices draft,
//! figure 8).

use std::sync::Arc;

use super::{Application, Bench, NODES};
use crate::figure::{Column, Figure, Measure, Parameters, Point, Row, Setting, Table};
use pinion_app::error::{Error, Result};

pub(super) struct Fig8 {
    pub bench: Arc<dyn Bench>,
}

impl Figure for Fig8 {
    fn name(&self) -> &'static str {
        "nanopu-fig8"
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::text("run"),
            Column::text("application"),
            Column::number("size", "", 0),
            Column::text("node"),
            Column::number("cycles", "", 0),
            Column::number("time", "µs", 3),
        ]
    }

    fn points(&self, parameters: &Parameters) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        for name in parameters.words("applications")? {
            for size in parameters.list(&format!("{name}_sizes"))? {
                for node in NODES {
                    let label = format!("{name} {size}, {node}");
                    let curve = format!("{name}/{node}");
                    points.push(Point { label, curve, x: size, stream: size as u64 });
                }
            }
        }
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let Some((name, node)) = point.curve.split_once('/') else {
            return Err(Error::Usage(format!("`{}` is no application on a node", point.curve)));
        };
        let run =
            Application { name: name.to_owned(), size: point.x as u64, dma_nic: node == NODES[1] };
        let cycles = self.bench.application(&run, setting)?;
        let us = cycles as f64 * self.bench.clock(setting)?.period_ps() / 1e6;
        let label = format!("{name} {}", point.x);
        Ok(vec![vec![
            label.into(),
            name.into(),
            point.x.into(),
            node.into(),
            cycles.into(),
            us.into(),
        ]])
    }

    fn measures(&self, table: &Table) -> Vec<Measure> {
        let ratio = |run: &str| {
            let time = |node: &str| table.lookup(&[("run", run), ("node", node)], "time");
            Some(time(NODES[1])? / time(NODES[0])?)
        };
        let mut measures = Vec::new();
        for name in table.names("application") {
            let mut runs: Vec<String> = Vec::new();
            for row in table.rows_with("application", &name) {
                let size = table.number(row, "size").unwrap_or_default();
                let run = format!("{name} {size}");
                if !runs.contains(&run) {
                    runs.push(run);
                }
            }
            let ratios: Vec<f64> = runs.iter().filter_map(|run| ratio(run)).collect();
            let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
            measures.push(Measure::new(format!("{name} mean"), Some(mean)));
            measures.push(Measure::new(format!("{name} smallest"), ratios.first().copied()));
        }
        measures
    }
}
