//! An example's handlers on its standard traffic, in frames of a size, at a rate. A figure's file asks
//! for it with `run.kind = "example"`.

use std::sync::Arc;

use super::machine::quantities;
use super::programs::Programs;
use super::use_cases::{Box5, Run, mean, steady_payload, time_ns};
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
            // 1: accesses outside the own L1 are counted, which takes longer.
            ("accesses", false),
            ("machine", false),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &[
            "inbound_gbit_s",
            "packets_per_ns",
            "latency_ns",
            "handler_ns",
            "instructions",
            "lower_whisker_ns",
            "lower_quartile_ns",
            "median_ns",
            "upper_quartile_ns",
            "upper_whisker_ns",
            "l1_misses",
            "fetch_stalls",
            "remote_stalls",
            "machine_hpus",
            "machine_mhz",
            "machine_port_bytes",
        ]
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
        let accesses = asked.whole_if_any("accesses")?.is_some_and(|asked| asked != 0);
        let (app, observed) =
            run.observe(&self.programs, &overrides, setting.build_dir, accesses)?;
        let handlers = steady_payload(&observed.handlers);
        let mut times: Vec<f64> = handlers.iter().map(|record| time_ns(record)).collect();
        times.sort_by(f64::total_cmp);
        let box_ns = Box5::of(&times);
        let mut record = Record::from([
            ("inbound_gbit_s", observed.inbound_gbit_s().into()),
            ("packets_per_ns", observed.packets_per_ns().into()),
            ("latency_ns", observed.latency_ns().into()),
            ("handler_ns", mean(&handlers, time_ns).into()),
            ("instructions", mean(&handlers, |record| record.instructions as f64).into()),
            ("lower_whisker_ns", box_ns.low.into()),
            ("lower_quartile_ns", box_ns.lower.into()),
            ("median_ns", box_ns.median.into()),
            ("upper_quartile_ns", box_ns.upper.into()),
            ("upper_whisker_ns", box_ns.high.into()),
            ("l1_misses", observed.misses_per_handler().into()),
            ("fetch_stalls", mean(&handlers, |record| record.stalls.fetch as f64).into()),
            ("remote_stalls", mean(&handlers, |record| record.stalls.remote as f64).into()),
        ]);
        record.extend(quantities(&app.machine.value));
        Ok(vec![record])
    }
}
