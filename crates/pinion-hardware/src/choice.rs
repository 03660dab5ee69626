//! `--hardware UNIT,UNIT=FILE`: reads it, makes the blocks, and puts them into a NIC.

use std::path::PathBuf;

use pinion_nanopu::machine::node::Machine as NanoPu;
use pinion_nanopu::node::Node;
use pinion_sim::block::{Block, Needs};
use pinion_spin::Units;
use pinion_spin::hardware::Blocks;

use crate::HardwareError;
use crate::bench::Bench;
use crate::library::Source;
use crate::units::{self, Unit};
use crate::verilator::{self, Verilator};

/// Says which units are hardware, and how.
#[derive(Clone, Debug)]
pub struct Choice {
    sources: Vec<Source>,
    compares: bool,
    folder: PathBuf,
}

/// How a message begins that tells of a difference from the model.
const DIFFERS: &str = "differs from the model";

/// Says whether what ended a run is a difference from the model.
pub fn is_difference(failure: &str) -> bool {
    failure.contains(DIFFERS)
}

impl Choice {
    /// Reads units, each with a file of one's own or without; waves of a block that goes wrong go to a folder.
    ///
    /// # Errors
    /// When hardware cannot stand for one of them, or one is named twice.
    pub fn read(texts: &[String], compares: bool, folder: PathBuf) -> Result<Self, HardwareError> {
        let mut sources: Vec<Source> = Vec::new();
        for text in texts {
            let (name, file) = match text.split_once('=') {
                Some((name, file)) => (name, Some(PathBuf::from(file))),
                None => (text.as_str(), None),
            };
            let unit = units::find(name.trim()).ok_or_else(|| HardwareError::UnknownUnit {
                given: text.clone(),
                unit: name.to_owned(),
                known: units::names(),
            })?;
            if sources.iter().any(|source| source.unit == unit) {
                return Err(HardwareError::Twice { unit: unit.name() });
            }
            sources.push(Source { unit, file });
        }
        Ok(Self { sources, compares, folder })
    }

    /// Gives the first file of somebody's own.
    pub fn own_file(&self) -> Option<&PathBuf> {
        self.sources.iter().find_map(|source| source.file.as_ref())
    }

    /// Names the units, for the summary.
    pub fn summary(&self) -> String {
        let name = |source: &Source| match &source.file {
            Some(file) => format!("{} ({})", source.unit, file.display()),
            None => source.unit.name().to_owned(),
        };
        let names: Vec<String> = self.sources.iter().map(name).collect();
        let names = names.join(", ");
        match self.compares {
            true => format!("{names} ran as hardware beside the model, the same in every cycle"),
            false => format!("{names} was hardware"),
        }
    }

    /// Makes the blocks and puts them into a NIC.
    ///
    /// # Errors
    /// When the machine has numbers that a block cannot have, Verilator is missing, or a block is refused.
    pub fn seat(&self, nic: &mut Units) -> Result<(), HardwareError> {
        let machine = nic.machine().clone();
        if machine.units.count > 1 {
            return Err(HardwareError::Usage(format!(
                "--hardware: a NIC of {} units has several of each; --set units.count=1",
                machine.units.count
            )));
        }
        let verilator = verilator::find()?;
        let mut blocks = Blocks::default();
        for source in &self.sources {
            let Unit::Spin(unit) = source.unit else {
                return Err(elsewhere(source.unit, "packet handlers run on a sPIN NIC"));
            };
            let needs = of_machine(source.unit, &machine.name, unit.needs(&machine))?;
            let made = self.make(source, &needs, unit.count(&machine), &verilator)?;
            blocks.seat(unit, made, self.compares, &machine);
        }
        nic.set_hardware(blocks);
        Ok(())
    }

    /// Makes the blocks and puts them into a nanoPU that has not begun.
    ///
    /// # Errors
    /// As [`Choice::seat`].
    pub fn seat_in_node(&self, node: &mut Node, machine: &NanoPu) -> Result<(), HardwareError> {
        let verilator = verilator::find()?;
        for source in &self.sources {
            let Unit::NanoPu(unit) = source.unit else {
                return Err(elsewhere(source.unit, "a nanoservice runs on a nanoPU"));
            };
            let needs = of_machine(source.unit, &machine.name, unit.needs(machine))?;
            let made = self.make(source, &needs, unit.count(machine), &verilator)?;
            node.set_hardware(unit, made, self.compares, machine);
        }
        Ok(())
    }

    fn make(
        &self,
        source: &Source,
        needs: &Needs,
        count: u32,
        verilator: &Verilator,
    ) -> Result<Vec<Box<dyn Block>>, HardwareError> {
        let unit = source.unit;
        let library = source.make(needs, verilator)?;
        (0..count)
            .map(|number| {
                let title = match count {
                    1 => unit.name().to_owned(),
                    _ => format!("{unit} {number}"),
                };
                let named = (title, source.path());
                let bench = Bench::new(&library, &needs.ports, named, &self.folder)?;
                Ok(Box::new(bench) as Box<dyn Block>)
            })
            .collect()
    }
}

/// Refuses a unit that the other machine has.
fn elsewhere(unit: Unit, why: &str) -> HardwareError {
    HardwareError::Usage(format!("--hardware {unit}: that is a unit of {}; {why}", unit.machine()))
}

/// Says of which machine's numbers a block can do nothing.
fn of_machine(
    unit: Unit,
    machine: &str,
    needs: Result<Needs, String>,
) -> Result<Needs, HardwareError> {
    needs.map_err(|problem| HardwareError::Machine {
        unit: unit.name(),
        machine: machine.to_owned(),
        problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Result<Choice, HardwareError> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Choice::read(&texts, false, PathBuf::from("."))
    }

    #[test]
    fn units_are_read_with_their_files() {
        let choice = read(&["mpq_engine", "dispatcher=a/mine.sv"]).expect("units");
        assert_eq!(choice.own_file(), Some(&PathBuf::from("a/mine.sv")));
        assert_eq!(choice.summary(), "mpq_engine, dispatcher (a/mine.sv) was hardware");
    }

    #[test]
    fn what_hardware_cannot_stand_for_is_refused_with_what_it_can() {
        let said = read(&["mpq"]).expect_err("no unit").to_string();
        assert!(said.contains("mpq_engine, dispatcher, cluster_scheduler"), "{said}");
        assert!(matches!(
            read(&["dispatcher", "dispatcher=x.sv"]),
            Err(HardwareError::Twice { .. })
        ));
    }
}
