//! One payload handler on packets that are made for it, each of which knows its message: nothing but
//! the NIC is measured. A figure's file asks for it with `run.kind = "handlers"`.

use std::sync::Arc;

use super::load::{Load, Pace};
use super::nic;
use super::observed::observe;
use super::programs::{Programs, Source};
use crate::figure::engine::{Asked, Kind, Record};
use crate::figure::{Cell, Setting};
use pinion_app::error::Result;

/// Runs handlers.
pub(in crate::figure) struct Handlers {
    pub programs: Arc<Programs>,
}

impl Kind for Handlers {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[
            ("handler", true),
            ("packets", true),
            ("bytes", true),
            ("messages", true),
            // At most one of the two; neither: as fast as the NIC takes them.
            ("rate_mbit_s", false),
            ("gap_ns", false),
            ("argument", false),
            // An example whose handlers these are; else they are those of `figures/pspin`.
            ("example", false),
            ("machine", false),
        ]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &[
            "inbound_gbit_s",
            "out_gbit_s",
            "packets_per_ns",
            "latency_ns",
            "handler_ns",
            "instructions",
            "l1_stalls",
            "command_stalls",
            "hpus",
            "mean_hpus",
            "hpus_ever",
        ]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let mut overrides = asked.texts("machine")?;
        overrides.extend_from_slice(setting.machine);
        let source = match asked.has("example") {
            true => Source::Example(asked.text("example")?),
            false => Source::Figures,
        };
        let app = self.programs.app(source, &overrides, setting.build_dir)?;
        let pace = match (asked.whole_if_any("rate_mbit_s")?, asked.whole_if_any("gap_ns")?) {
            (None, None) => Pace::BackToBack,
            (Some(rate), None) => Pace::Rate(rate),
            (None, Some(gap)) => Pace::Apart(gap),
            _ => return Err(asked.wrong("gap_ns", "given beside `with.rate_mbit_s`: choose one")),
        };
        let load = Load {
            packets: asked.whole("packets")?,
            bytes: asked.whole("bytes")? as u32,
            messages: asked.whole("messages")? as u32,
            pace,
            argument: asked.whole_if_any("argument")?.unwrap_or(0) as u32,
        };
        let mut nic = nic(&app, asked.text("handler")?, &[])?;
        let observed = observe(&mut nic, &mut load.traffic(), true)?;
        let out = match observed.departures.is_empty() {
            true => observed.host_gbit_s(),
            false => observed.outbound_gbit_s(),
        };
        let hpus = observed.hpus();
        Ok(vec![Record::from([
            ("inbound_gbit_s", observed.inbound_gbit_s().into()),
            ("out_gbit_s", out.into()),
            ("packets_per_ns", observed.packets_per_ns().into()),
            ("latency_ns", observed.latency_ns().into()),
            ("handler_ns", observed.handler_ns().into()),
            ("instructions", observed.handler_instructions().into()),
            ("l1_stalls", observed.mean_of_handlers(|record| record.stalls.l1 as f64).into()),
            (
                "command_stalls",
                observed.mean_of_handlers(|record| record.stalls.command as f64).into(),
            ),
            ("hpus", Cell::from(u64::from(hpus.most))),
            ("mean_hpus", hpus.mean.into()),
            ("hpus_ever", Cell::from(u64::from(hpus.most_ever))),
        ])])
    }
}
