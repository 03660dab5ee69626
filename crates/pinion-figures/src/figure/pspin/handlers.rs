//! One payload handler on packets that are made for it, each of which knows its message: nothing but
//! the NIC is measured. A figure's file asks for it with `run.kind = "handlers"`.

use std::sync::Arc;

use pinion_spin::Nic;

use super::load::{Load, Pace};
use super::machine::quantities;
use super::nic;
use super::observed::{Observed, observe};
use super::programs::{Programs, Source};
use crate::figure::engine::{Asked, Kind, Record};
use crate::figure::{Cell, Setting};
use pinion_app::app::App;
use pinion_app::error::Result;

/// Words at the start of the handler memory whose contents are quantities.
const WORDS: [&str; 4] = ["word_0", "word_1", "word_2", "word_3"];

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
            // The word at the start of the handler memory.
            ("memory", false),
            // An example whose handlers these are; else they are those of `figures/pspin`.
            ("example", false),
            ("machine", false),
            // The share of the throughput that must stay as cores are taken from all clusters; what is
            // measured is the machine with the fewest.
            ("fewest_cores", false),
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
            "word_0",
            "word_1",
            "word_2",
            "word_3",
            "machine_hpus",
            "machine_mhz",
            "machine_port_bytes",
        ]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let mut machine = asked.texts("machine")?;
        machine.extend_from_slice(setting.machine);
        let (app, nic, observed) = match asked.number_if_any("fewest_cores")? {
            None => self.observe(asked, &machine, setting)?,
            Some(holds) => self.fewest(asked, holds, &machine, setting)?,
        };
        let out = match observed.departures.is_empty() {
            true => observed.host_gbit_s(),
            false => observed.outbound_gbit_s(),
        };
        let hpus = observed.hpus();
        let mut record = Record::from([
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
        ]);
        record.extend(quantities(nic.machine()));
        record.extend(words(&app, &nic));
        Ok(vec![record])
    }
}

impl Handlers {
    /// Runs the handler on a machine with changes.
    fn observe(
        &self,
        asked: &Asked<'_>,
        machine: &[String],
        setting: &Setting<'_>,
    ) -> Result<(Arc<App>, Nic, Observed)> {
        let source = match asked.has("example") {
            true => Source::Example(asked.text("example")?),
            false => Source::Figures,
        };
        let app = self.programs.app(source, machine, setting.build_dir)?;
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
        let memory = asked.whole_if_any("memory")?.map(|word| (word as u32).to_le_bytes());
        let memory = memory.as_ref().map_or(&[][..], |bytes| bytes);
        let mut nic = nic(&app, asked.text("handler")?, memory)?;
        let observed = observe(&mut nic, &mut load.traffic(), true)?;
        Ok((app, nic, observed))
    }

    /// Takes cores away from every cluster, as long as the throughput stays what it is.
    fn fewest(
        &self,
        asked: &Asked<'_>,
        holds: f64,
        machine: &[String],
        setting: &Setting<'_>,
    ) -> Result<(Arc<App>, Nic, Observed)> {
        let mut best = self.observe(asked, machine, setting)?;
        let full = best.2.inbound_gbit_s().unwrap_or_default();
        for cores in (1..best.1.machine().cluster.cores).rev() {
            let mut machine = machine.to_vec();
            machine.push(format!("cluster.cores={cores}"));
            let fewer = self.observe(asked, &machine, setting)?;
            if fewer.2.inbound_gbit_s().is_none_or(|ours| ours < holds * full) {
                break;
            }
            best = fewer;
        }
        Ok(best)
    }
}

/// Gives the words at the start of the handler memory.
fn words(app: &App, nic: &Nic) -> impl Iterator<Item = (&'static str, Cell)> {
    let mut memory = [0; 4 * WORDS.len()];
    let is_there = nic.read_memory(app.contexts[0].handler_memory_address, &mut memory);
    WORDS.into_iter().enumerate().map(move |(index, name)| {
        let bytes = memory[4 * index..4 * index + 4].try_into().unwrap_or_default();
        (name, is_there.then(|| f64::from(u32::from_le_bytes(bytes))).into())
    })
}
