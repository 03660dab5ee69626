//! `nanopu-table1`: how fast one core receives and sends (nanoPU paper, table 1).

use std::sync::Arc;

use super::{Bench, Throughput};
use crate::figure::{Column, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

/// Bytes of headers in a packet (nanoPU artifact, one word of the datapath).
const HEADER_BYTES: u64 = 64;
/// Bytes of a message in a packet (nanoPU artifact, MAX_SEG_LEN).
const PACKET_BYTES: u64 = 1024;

const LENGTHS: [&str; 2] = ["fixed", "variable"];
const DIRECTIONS: [&str; 2] = ["receive", "send"];

pub(super) struct Table1 {
    pub bench: Arc<dyn Bench>,
}

impl Figure for Table1 {
    fn name(&self) -> &'static str {
        "nanopu-table1"
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::text("length"),
            Column::text("direction"),
            Column::number("cycles", "", 0),
            Column::number("rate", "Gbit/s", 1),
            Column::number("goodput", "Gbit/s", 1),
        ]
    }

    fn points(&self, _: &Parameters) -> Result<Vec<Point>> {
        let all = LENGTHS.iter().flat_map(|length| DIRECTIONS.iter().map(move |d| (length, d)));
        let point = |(length, direction): (&&str, &&str)| Point {
            label: format!("{length} length, {direction}"),
            curve: (*length).to_owned(),
            x: f64::from(u8::from(*direction == DIRECTIONS[1])),
            stream: 0,
        };
        Ok(all.map(point).collect())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let run = Throughput {
            sends: point.x == 1.0,
            fixed_length: point.curve == LENGTHS[0],
            message_bytes: setting.parameters.whole("message_bytes")?,
            messages: setting.parameters.whole("messages")?,
        };
        let cycles = self.bench.throughput(&run, setting)?;
        let seconds = cycles as f64 / self.bench.clock(setting)?.hz();
        let packets = run.message_bytes.div_ceil(PACKET_BYTES).max(1);
        let wire_bytes = run.message_bytes + packets * HEADER_BYTES;
        let gbit_s = |bytes: u64| (bytes * run.messages * 8) as f64 / seconds / 1e9;
        let direction = DIRECTIONS[usize::from(run.sends)];
        let (rate, goodput) = (gbit_s(wire_bytes), gbit_s(run.message_bytes));
        let curve = point.curve.as_str();
        Ok(vec![vec![curve.into(), direction.into(), cycles.into(), rate.into(), goodput.into()]])
    }
}
