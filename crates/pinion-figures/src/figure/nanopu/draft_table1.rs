//! `nanopu-draft-table1`: how fast one core receives and sends small packets, with the register
//! interface and with a DMA NIC (nanoservices draft, table 1).

use std::sync::Arc;

use super::{Application, Bench, NODES, microseconds_at};
use crate::figure::{Column, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

/// Applications that only receive or only send, as fast as they can.
const DIRECTIONS: [&str; 2] = ["receive", "send"];
/// Bytes of the smallest packet: 64 of headers and a word (nanoPU artifact, `LNIC_headers.py`).
const PACKET_BYTES: f64 = 72.0;

pub(super) struct DraftTable1 {
    pub bench: Arc<dyn Bench>,
}

impl Figure for DraftTable1 {
    fn name(&self) -> &'static str {
        "nanopu-draft-table1"
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::text("direction"),
            Column::text("node"),
            Column::number("packets", "", 0),
            Column::number("cycles", "", 0),
            Column::number("packet", "cycles", 1),
            Column::number("rate", "Gbit/s", 1),
        ]
    }

    fn points(&self, _: &Parameters) -> Result<Vec<Point>> {
        let all = DIRECTIONS.iter().flat_map(|direction| NODES.iter().map(move |n| (direction, n)));
        let point = |(direction, node): (&&str, &&str)| Point {
            label: format!("{direction}, {node}"),
            curve: (*node).to_owned(),
            x: f64::from(u8::from(*direction == DIRECTIONS[1])),
            stream: 0,
        };
        Ok(all.map(point).collect())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let direction = DIRECTIONS[usize::from(point.x == 1.0)];
        let packets = setting.parameters.whole("packets")?;
        let dma_nic = point.curve == NODES[1];
        let run = Application { name: direction.to_owned(), size: packets, dma_nic };
        let cycles = self.bench.application(&run, setting)?;
        let us = microseconds_at(setting, cycles as f64)?;
        let rate = packets as f64 * PACKET_BYTES * 8.0 / (us * 1e3);
        let each = cycles as f64 / packets as f64;
        let node = point.curve.as_str();
        let numbers = [packets.into(), cycles.into(), each.into(), rate.into()];
        Ok(vec![[direction.into(), node.into()].into_iter().chain(numbers).collect()])
    }
}
