//! `nanopu-latency`: where the nanoseconds of an echoed message go (nanoPU paper, figure 2).

use std::sync::Arc;

use super::{Bench, Loopback};
use crate::figure::{Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

/// The row of what the prototype does not have and the paper adds.
const MAC: &str = "MAC, serial";
/// The row of the sum without it.
const LOOPBACK: &str = "loopback";
/// The row of the sum with it.
const WIRE_TO_WIRE: &str = "wire to wire";

pub(super) struct Latency {
    pub bench: Arc<dyn Bench>,
}

impl Figure for Latency {
    fn name(&self) -> &'static str {
        "nanopu-latency"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("node"),
            Column::text("stage"),
            Column::number("from", "cycle", 0),
            Column::number("cycles", "", 1),
            Column::number("time", "ns", 2),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let bytes = parameters.number("message_bytes")?;
        let label = format!("echo of {bytes} B");
        Ok(vec![Point {
            label,
            curve: "nanoPU".to_owned(),
            x: bytes,
            stream: 0,
            ..Point::default()
        }])
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let parameters = setting.parameters;
        let run = Loopback {
            message_bytes: point.x as u64,
            messages: parameters.whole("messages")?,
            gap_cycles: parameters.whole("gap_cycles")?,
            fixed_length: parameters.whole("fixed_length")? != 0,
        };
        let stages = self.bench.loopback(&run, setting)?;
        let period_ns = self.bench.clock(setting)?.period_ps() / 1000.0;
        let mac_ns = parameters.number("mac_ns")?;
        let row = |stage: &str, from: f64, cycles: f64| -> Row {
            let ns = cycles * period_ns;
            vec!["nanoPU".into(), stage.into(), from.into(), cycles.into(), ns.into()]
        };
        let mut rows = Vec::new();
        let mut from = 0;
        for stage in &stages {
            rows.push(row(&stage.name, from as f64, stage.cycle.saturating_sub(from) as f64));
            from = stage.cycle;
        }
        let (loopback, mac) = (from as f64, mac_ns / period_ns);
        rows.push(row(LOOPBACK, 0.0, loopback));
        rows.push(row(MAC, 0.0, mac));
        rows.push(row(WIRE_TO_WIRE, 0.0, loopback + mac));
        Ok(rows)
    }
}
