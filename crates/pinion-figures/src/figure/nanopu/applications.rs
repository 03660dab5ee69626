//! `nanopu-fig8`: small applications on the register interface and on a DMA NIC (nanoservices draft,
//! figure 8).

use std::sync::Arc;

use super::{Application, Bench, NODES};
use crate::figure::{Column, Figure, Parameters, Point, Row, Setting};
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
}
