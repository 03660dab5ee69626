//! What a sPIN machine is, without a run: its numbers, and what it takes of a chip ([`crate::area`]). A
//! figure's file asks with `run.kind = "machine"`, or `"area"` for a record of each component.

use pinion_spin::Machine;

use crate::area::{Component, Costs, Estimate};
use crate::figure::engine::{Asked, Kind, Record};
use crate::figure::{Cell, Setting};
use pinion_app::error::Result;

/// Names the machine.
const MACHINE: &str = "pspin";
/// A parameter by which a figure brings the components' costs itself.
const OWN_COSTS: &str = "whole_mm2";

/// Gives the numbers of the machine that runs on it are told beside.
pub(super) fn quantities(machine: &Machine) -> [(&'static str, Cell); 3] {
    let mhz = machine.clock.frequency_mhz as f64;
    [
        ("machine_hpus", f64::from(machine.cluster.count * machine.cluster.cores).into()),
        ("machine_mhz", mhz.into()),
        ("machine_port_bytes", f64::from(machine.dma.port_bytes).into()),
    ]
}

/// Loads the machine and estimates what it takes.
fn estimate(asked: &Asked<'_>, setting: &Setting<'_>) -> Result<(Machine, Estimate)> {
    let mut changes = asked.texts("machine")?;
    changes.extend_from_slice(setting.machine);
    let machine = pinion_app::machine::load::<Machine>(MACHINE, &changes, false)?.value;
    let costs = match setting.parameters.value(OWN_COSTS) {
        Some(_) => Costs::read(setting.parameters)?,
        None => Costs::published()?,
    };
    let estimate = costs.estimate(&machine);
    Ok((machine, estimate))
}

/// Tells a machine's numbers.
pub(in crate::figure) struct Machines;

impl Kind for Machines {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[("machine", false)]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &[
            "machine_hpus",
            "machine_mhz",
            "machine_port_bytes",
            "hpus",
            "memory_bytes",
            "area_mm2",
            "power_w",
            "core_mm2",
            "area_per_hpu_mm2",
        ]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let (machine, estimate) = estimate(asked, setting)?;
        let l1 = u64::from(machine.l1.bytes) * u64::from(machine.cluster.count);
        let l2 = u64::from(machine.l2_handler.bytes) + u64::from(machine.l2_packet.bytes);
        let total = estimate.total();
        let mut record = Record::from([
            ("hpus", f64::from(estimate.hpus).into()),
            ("memory_bytes", (u64::from(machine.units.count) * (l1 + l2)).into()),
            ("area_mm2", total.area_mm2.into()),
            ("power_w", total.power_w.into()),
            ("core_mm2", estimate.part(Component::Core).each.area_mm2.into()),
            ("area_per_hpu_mm2", estimate.area_per_hpu_mm2().into()),
        ]);
        record.extend(quantities(&machine));
        Ok(vec![record])
    }
}

/// Tells what a machine's components take.
pub(in crate::figure) struct Areas;

impl Kind for Areas {
    fn keys(&self) -> &'static [(&'static str, bool)] {
        &[("machine", false)]
    }

    fn quantities(&self) -> &'static [&'static str] {
        &["component", "part_of", "instances", "area_mm2", "power_w", "of_mm2", "of_w"]
    }

    fn run(&self, asked: &Asked<'_>, setting: &Setting<'_>) -> Result<Vec<Record>> {
        let (_, estimate) = estimate(asked, setting)?;
        let record = |component: &Component| -> Record {
            let part = estimate.part(*component);
            let of = component.whole().map_or(part.total(), |whole| estimate.part(whole).each);
            Record::from([
                ("component", component.name().into()),
                ("part_of", component.whole().map_or("", Component::name).into()),
                ("instances", u64::from(part.count).into()),
                ("area_mm2", part.each.area_mm2.into()),
                ("power_w", part.each.power_w.into()),
                ("of_mm2", of.area_mm2.into()),
                ("of_w", of.power_w.into()),
            ])
        };
        Ok(Component::ALL.iter().map(record).collect())
    }
}
