//! An echoed message's way, a record for each stage. A figure's file asks for it with
//! `run.kind = "echo"`.

use std::sync::Arc;

use super::{Bench, Loopback};
use crate::figure::Setting;
use crate::figure::engine::{Asked, Kind, Record};
use pinion_app::error::Result;

/// The record of what the prototype does not have and the paper adds.
const MAC: &str = "MAC, serial";
/// The record of the sum without it.
const LOOPBACK: &str = "loopback";
/// The record of the sum with it.
const WIRE_TO_WIRE: &str = "wire to wire";

/// Runs echoes.
pub(in crate::figure) struct Echoes {
    pub bench: Arc<dyn Bench>,
}

impl Kind for Echoes {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            ("message_bytes", true),
            ("messages", true),
            ("gap_cycles", true),
            // 1: the program is compiled for the length.
            ("fixed_length", true),
            ("mac_ns", true),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["stage", "from", "cycles", "period_ns"]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let run = Loopback {
            message_bytes: asked.whole("message_bytes")?,
            messages: asked.whole("messages")?,
            gap_cycles: asked.whole("gap_cycles")?,
            fixed_length: asked.whole("fixed_length")? != 0,
        };
        let stages = self.bench.loopback(&run, setting)?;
        let period_ns = self.bench.clock(setting)?.period_ps() / 1000.0;
        let mac = asked.number("mac_ns")? / period_ns;
        let record = |stage: &str, from: f64, cycles: f64| -> Record {
            Record::from([
                ("stage", stage.into()),
                ("from", from.into()),
                ("cycles", cycles.into()),
                ("period_ns", period_ns.into()),
            ])
        };
        let mut records = Vec::new();
        let mut from = 0;
        for stage in &stages {
            let cycles = stage.cycle.saturating_sub(from);
            records.push(record(&stage.name, from as f64, cycles as f64));
            from = stage.cycle;
        }
        let loopback = from as f64;
        records.push(record(LOOPBACK, 0.0, loopback));
        records.push(record(MAC, 0.0, mac));
        records.push(record(WIRE_TO_WIRE, 0.0, loopback + mac));
        Ok(records)
    }
}
