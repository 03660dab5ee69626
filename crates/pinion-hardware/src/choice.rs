//! `--hardware UNIT,UNIT=FILE` and `--ports UNIT=FILE`: reads them, makes the blocks, and puts them into a NIC.

use std::path::{Path, PathBuf};

use pinion_nanopu::machine::node::Machine as NanoPu;
use pinion_nanopu::node::Node;
use pinion_sim::block::{Block, Needs};
use pinion_spin::Units;
use pinion_spin::hardware::Blocks;

use crate::HardwareError;
use crate::bench::Bench;
use crate::library::Source;
use crate::ports::Recorder;
use crate::units::{self, Unit};
use crate::verilator::{self, Verilator};

/// Says which units are hardware, and how.
#[derive(Clone, Debug)]
pub struct Choice {
    sources: Vec<Source>,
    compares: bool,
    folder: PathBuf,
    /// Units whose ports are written, and where.
    recorded: Vec<(Unit, PathBuf)>,
}

/// A unit, its blocks, and whether they run beside the model.
type Made<U> = (U, Vec<Box<dyn Block>>, bool);

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
            let unit = find("--hardware", text, name)?;
            if sources.iter().any(|source| source.unit == unit) {
                return Err(HardwareError::Twice { unit: unit.name() });
            }
            sources.push(Source { unit, file });
        }
        Ok(Self { sources, compares, folder, recorded: Vec::new() })
    }

    /// Reads units whose ports are to be written, each with a file: the model's, so that they may not be
    /// hardware beside.
    ///
    /// # Errors
    /// When hardware cannot stand for one of them, one is named twice, or a file is missing.
    pub fn and_ports(mut self, texts: &[String]) -> Result<Self, HardwareError> {
        for text in texts {
            let named = text.split_once('=').filter(|(_, file)| !file.is_empty());
            let (name, file) = named.ok_or_else(|| {
                let unit = text.trim_end_matches('=');
                HardwareError::Usage(format!("--ports {text}: give a file, too: {unit}=ports.csv"))
            })?;
            let unit = find("--ports", text, name)?;
            let mut others = self.sources.iter().map(|source| source.unit);
            if others.any(|other| other == unit)
                || self.recorded.iter().any(|(other, _)| *other == unit)
            {
                return Err(HardwareError::Twice { unit: unit.name() });
            }
            self.recorded.push((unit, file.into()));
        }
        Ok(self)
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
        let mut said = Vec::new();
        match self.compares {
            _ if self.sources.is_empty() => {}
            true => {
                said.push(format!(
                    "{names} ran as hardware beside the model, the same in every cycle"
                ));
            }
            false => said.push(format!("{names} was hardware")),
        }
        let file =
            |(unit, file): &(Unit, PathBuf)| format!("{} has the ports of {unit}", file.display());
        said.extend(self.recorded.iter().map(file));
        said.join("; ")
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
        let mut blocks = Blocks::default();
        let needs = |unit| match unit {
            Unit::Spin(unit) => Ok((unit, unit.needs(&machine), unit.count(&machine))),
            Unit::NanoPu(_) => Err("packet handlers run on a sPIN NIC"),
        };
        for (unit, made, compares) in self.make(&machine.name, needs)? {
            blocks.seat(unit, made, compares, &machine);
        }
        nic.set_hardware(blocks);
        Ok(())
    }

    /// Makes the blocks and puts them into a nanoPU that has not begun.
    ///
    /// # Errors
    /// As [`Choice::seat`].
    pub fn seat_in_node(&self, node: &mut Node, machine: &NanoPu) -> Result<(), HardwareError> {
        let needs = |unit| match unit {
            Unit::NanoPu(unit) => Ok((unit, unit.needs(machine), unit.count(machine))),
            Unit::Spin(_) => Err("a nanoservice runs on a nanoPU"),
        };
        for (unit, made, compares) in self.make(&machine.name, needs)? {
            node.set_hardware(unit, made, compares, machine);
        }
        Ok(())
    }

    /// Makes the blocks of all units. `needs` gives a unit of the machine, what it needs and how many there are, or
    /// why the machine has no such unit.
    fn make<U>(
        &self,
        machine: &str,
        needs: impl Fn(Unit) -> Result<(U, Result<Needs, String>, u32), &'static str>,
    ) -> Result<Vec<Made<U>>, HardwareError> {
        let needs = |option, unit| {
            let (own, needs, count) = needs(unit).map_err(|why| elsewhere(option, unit, why))?;
            let needs = needs.map_err(|problem| HardwareError::Machine {
                unit: unit.name(),
                machine: machine.to_owned(),
                problem,
            })?;
            Ok::<_, HardwareError>((own, needs, count))
        };
        let mut all = Vec::new();
        for (unit, file) in &self.recorded {
            let (own, needs, count) = needs("--ports", *unit)?;
            all.push((own, recorders(*unit, file, &needs, count)?, true));
        }
        if self.sources.is_empty() {
            return Ok(all);
        }
        if let Some(source) =
            self.sources.iter().find(|source| source.unit.only_compares() && !self.compares)
        {
            return Err(HardwareError::Usage(format!(
                "--hardware {}: its block runs beside the model only; add --compare",
                source.unit
            )));
        }
        let verilator = verilator::find()?;
        for source in &self.sources {
            let (own, needs, count) = needs("--hardware", source.unit)?;
            all.push((own, self.benches(source, &needs, count, &verilator)?, self.compares));
        }
        Ok(all)
    }

    fn benches(
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

/// Finds the unit that an option names.
fn find(option: &'static str, given: &str, name: &str) -> Result<Unit, HardwareError> {
    units::find(name.trim()).ok_or_else(|| HardwareError::UnknownUnit {
        option,
        given: given.to_owned(),
        unit: name.to_owned(),
        known: units::names(),
    })
}

/// Makes what writes the ports of a unit, one file each where there are several: `ports.csv`, `ports-1.csv`.
fn recorders(
    unit: Unit,
    file: &Path,
    needs: &Needs,
    count: u32,
) -> Result<Vec<Box<dyn Block>>, HardwareError> {
    (0..count)
        .map(|number| {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let end = file.extension().map(|end| format!(".{}", end.to_string_lossy()));
            let path = match number {
                0 => file.to_owned(),
                _ => file.with_file_name(format!("{stem}-{number}{}", end.unwrap_or_default())),
            };
            let recorder = Recorder::new(unit.name().to_owned(), needs, &path)?;
            Ok(Box::new(recorder) as Box<dyn Block>)
        })
        .collect()
}

/// Refuses a unit that the other machine has.
fn elsewhere(option: &str, unit: Unit, why: &str) -> HardwareError {
    HardwareError::Usage(format!("{option} {unit}: that is a unit of {}; {why}", unit.machine()))
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
