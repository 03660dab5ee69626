//! An example's handlers on its standard traffic, in frames of a size, at a rate. A figure's file asks
//! for it with `run.kind = "example"`.

use std::sync::Arc;

use super::programs::Programs;
use super::use_cases::{Run, mean, steady_payload, time_ns};
use crate::figure::Setting;
use crate::figure::engine::{Asked, Kind, Record};
use pinion_app::error::Result;

/// Runs examples.
pub(in crate::figure) struct Examples {
    pub programs: Arc<Programs>,
}

impl Kind for Examples {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            ("example", true),
            ("bytes", true),
            ("most_packets", true),
            // As fast as the NIC takes them, or as `200g`.
            ("rate", false),
            ("machine", false),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["inbound_gbit_s", "packets_per_ns", "latency_ns", "handler_ns", "instructions"]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let mut overrides = asked.texts("machine")?;
        overrides.extend_from_slice(setting.machine);
        let run = Run {
            case: asked.text("example")?,
            bytes: asked.whole("bytes")? as u32,
            rate: if asked.has("rate") { asked.text("rate")? } else { "max" },
            most_packets: asked.whole("most_packets")?,
            seed: setting.seed,
        };
        let observed = run.observe(&self.programs, &overrides, setting.build_dir)?;
        let handlers = steady_payload(&observed.handlers);
        Ok(vec![Record::from([
            ("inbound_gbit_s", observed.inbound_gbit_s().into()),
            ("packets_per_ns", observed.packets_per_ns().into()),
            ("latency_ns", observed.latency_ns().into()),
            ("handler_ns", mean(&handlers, time_ns).into()),
            ("instructions", mean(&handlers, |record| record.instructions as f64).into()),
        ])])
    }
}
