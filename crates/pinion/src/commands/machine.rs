//! `pinion machine show NAME`: every number of a machine, its unit and where it comes from.

use pinion::error::{Error, Result};
use pinion::machine::{self, Kind};
use pinion::words::machine_table;
use pinion::{area, assets};
use pinion_nanopu::machine::node::Machine as NanoPu;
use pinion_spin::Machine;

use super::Status;
use crate::cli::{MachineArgs, MachineVerb};
use crate::output;

pub fn run(args: &MachineArgs) -> Result<Status> {
    match &args.command {
        MachineVerb::List => {
            let names = assets::machines();
            output::print(&names.iter().map(|name| format!("{name}\n")).collect::<String>());
        }
        MachineVerb::Show { machine, set, area: true } => output::print(&area(machine, set)?),
        MachineVerb::Show { machine, set, area: false } => {
            let entries = match machine::kind(machine)? {
                Kind::Nanopu => machine::load::<NanoPu>(machine, set, false)?.entries,
                Kind::Spin => machine::load::<Machine>(machine, set, false)?.entries,
            };
            output::print(&machine_table(&entries));
        }
    }
    Ok(Status::Success)
}

/// Writes area and power of a machine's components.
fn area(name: &str, set: &[String]) -> Result<String> {
    if machine::kind(name)? == Kind::Nanopu {
        return Err(Error::Usage(format!(
            "{name} is a nanoPU: nobody published what its components take of a chip; --area knows \
             PsPIN-like machines"
        )));
    }
    let estimate = area::estimate(&machine::load::<Machine>(name, set, false)?.value)?;
    let before = match set.is_empty() {
        true => None,
        false => Some(area::estimate(&machine::load::<Machine>(name, &[], false)?.value)?),
    };
    let mut text = output::columns(&area::rows(&estimate, before.as_ref()));
    let (total, hpus) = (estimate.total(), f64::from(estimate.hpus.max(1)));
    text.push_str(&format!(
        "\n{} HPUs: {:.3} mm² and {:.0} mW each. 22 nm FDSOI, power at most (PsPIN paper, table III, \
         scaled).\n",
        estimate.hpus,
        estimate.area_per_hpu_mm2(),
        total.power_w / hpus * 1000.0
    ));
    text.extend(estimate.remarks.iter().map(|remark| format!("Note: {remark}.\n")));
    Ok(text)
}
