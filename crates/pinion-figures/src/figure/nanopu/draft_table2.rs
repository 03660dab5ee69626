//! `nanopu-draft-table2`: the gravity on 80,000 bodies, extrapolated from an N-body node that takes
//! fewer (nanoservices draft, table 2).

use std::sync::Arc;

use super::{Application, Bench, NODES, microseconds_at};
use crate::figure::{Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::{Error, Result};

/// The draft's other row, which nobody runs here.
const PUBLISHED: &str = "ChaNGa, published";
const MEASURED: &str = "measured";
const EXTRAPOLATED: &str = "extrapolated";

pub(super) struct DraftTable2 {
    pub bench: Arc<dyn Bench>,
}

impl DraftTable2 {
    /// Measures a node with two numbers of bodies and goes on along the line through them.
    fn extrapolate(&self, node: &str, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let row = |basis: &str, bodies: f64, cycles: f64| -> Result<Row> {
            let ms = microseconds_at(setting, cycles)? / 1e3;
            Ok(vec![node.into(), basis.into(), bodies.into(), cycles.into(), ms.into()])
        };
        let sizes = setting.parameters.list("bodies")?;
        let &[few, more] = sizes.as_slice() else {
            return Err(Error::Usage("parameters.bodies: give two numbers of bodies".to_owned()));
        };
        let cycles = |bodies: f64| {
            let (name, size) = ("nbody".to_owned(), bodies as u64);
            self.bench.application(&Application { name, size, dma_nic: node == NODES[1] }, setting)
        };
        let (at_few, at_more) = (cycles(few)? as f64, cycles(more)? as f64);
        let each = (at_more - at_few) / (more - few);
        let all = setting.parameters.number("all_bodies")?;
        let total = at_more + (all - more) * each;
        let measured = [row(MEASURED, few, at_few)?, row(MEASURED, more, at_more)?];
        Ok(measured.into_iter().chain([row(EXTRAPOLATED, all, total)?]).collect())
    }
}

impl Figure for DraftTable2 {
    fn name(&self) -> &'static str {
        "nanopu-draft-table2"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("node"),
            Column::text("basis"),
            Column::number("bodies", "", 0),
            Column::number("cycles", "", 0),
            Column::number("time", "ms", 4),
        ]
    }

    fn points(&self, _: &Definition, _: &Parameters) -> Result<Vec<Point>> {
        let point = |node: &str| {
            let (label, curve) = (node.to_owned(), node.to_owned());
            Point { label, curve, x: 0.0, stream: 0, ..Point::default() }
        };
        Ok(NODES.iter().chain([&PUBLISHED]).map(|node| point(node)).collect())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        if point.curve != PUBLISHED {
            return self.extrapolate(&point.curve, setting);
        }
        let all = setting.parameters.number("all_bodies")?;
        let ms = setting.parameters.number("changa_s")? * 1e3;
        let cycles = crate::figure::Cell::Missing;
        Ok(vec![vec![PUBLISHED.into(), "published".into(), all.into(), cycles, ms.into()]])
    }
}
