//! `pinion hardware`: blocks of hardware to begin with.

use pinion::Error;
use pinion::error::Result;
use pinion::hardware::units::Unit;
use pinion::hardware::{skeleton, units};
use pinion::machine;

use super::Status;
use super::new::{Made, write};
use crate::cli::{HardwareArgs, HardwareNewArgs, HardwarePortsArgs, HardwareVerb};
use crate::output;

pub fn run(args: &HardwareArgs) -> Result<Status> {
    match &args.command {
        HardwareVerb::List => {
            output::print_columns(&units::list());
            Ok(Status::Success)
        }
        HardwareVerb::Ports(args) => ports(args),
        HardwareVerb::New(args) => new(args),
    }
}

/// Finds the unit that an option or argument names.
fn find(given: &str, name: &str) -> Result<Unit> {
    units::find(name).ok_or_else(|| {
        let names = units::names();
        Error::Usage(format!("{given}: hardware can stand for {names}, not for `{name}`"))
    })
}

/// Lists a unit's ports.
fn ports(args: &HardwarePortsArgs) -> Result<Status> {
    let unit = find(&args.unit, &args.unit)?;
    let (name, set) = (args.machine.as_deref(), &args.set);
    let needs = match unit {
        Unit::Spin(unit) => unit.needs(&machine::load(name.unwrap_or("pspin"), set, false)?.value),
        Unit::NanoPu(unit) => {
            unit.needs(&machine::load(name.unwrap_or("nanopu"), set, false)?.value)
        }
    };
    let needs = needs.map_err(|problem| Error::Usage(format!("{unit}: {problem}")))?;
    let parameter = |(name, value): &(&str, u64)| {
        vec!["parameter".to_owned(), (*name).to_owned(), value.to_string()]
    };
    let clocks = ["clock", "reset"].map(|name| ("input", name, 1));
    let ports = needs
        .ports
        .iter()
        .map(|port| (if port.is_input { "input" } else { "output" }, port.name, port.bits));
    let ports = clocks.into_iter().chain(ports).map(|(way, name, bits)| {
        vec![
            way.to_owned(),
            name.to_owned(),
            format!("{bits} bit{}", if bits == 1 { "" } else { "s" }),
        ]
    });
    let rows: Vec<Vec<String>> = needs.parameters.iter().map(parameter).chain(ports).collect();
    output::print_columns(&rows);
    Ok(Status::Success)
}

fn new(args: &HardwareNewArgs) -> Result<Status> {
    let folder = &args.name;
    let unit = find(&format!("--like {}", args.like), &args.like)?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_taken = units::is_module(&name) || units::is_reserved(&name);
    if !is_plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || is_taken {
        return Err(Error::Usage(format!(
            "`{name}` cannot name a module: start with a letter, go on with letters, digits or _, and \
             take no name that a unit or a part of one has, and no word of SystemVerilog"
        )));
    }
    if folder.exists() {
        return Err(Error::Usage(format!(
            "{} exists already; choose another name or remove it first",
            folder.display()
        )));
    }
    let made = Made::create(folder)?;
    let files = skeleton::files(&name, unit);
    for (file, text) in &files {
        write(&folder.join(file), text)?;
    }
    made.keep();
    let shown = folder.display();
    let run = format!("  pinion run APP --hardware {unit}={shown}/{name}.sv");
    let alone = if unit.only_compares() { String::new() } else { format!("{run}\n") };
    output::print(&format!(
        "{shown}: {name}.sv, its test bench and README.md are there. Next:\n{alone}{run} --compare\n"
    ));
    Ok(Status::Success)
}
