//! `pinion hardware`: blocks of hardware to begin with.

use pinion::Error;
use pinion::error::Result;
use pinion::hardware::{skeleton, units};

use super::Status;
use super::new::{Made, write};
use crate::cli::{HardwareArgs, HardwareNewArgs, HardwareVerb};
use crate::output;

pub fn run(args: &HardwareArgs) -> Result<Status> {
    match &args.command {
        HardwareVerb::List => {
            output::print_columns(&units::list());
            Ok(Status::Success)
        }
        HardwareVerb::New(args) => new(args),
    }
}

fn new(args: &HardwareNewArgs) -> Result<Status> {
    let folder = &args.name;
    let unit = units::find(&args.like).ok_or_else(|| {
        let (like, names) = (&args.like, units::names());
        Error::Usage(format!("--like {like}: hardware can stand for {names}, not for `{like}`"))
    })?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || units::is_module(&name)
    {
        return Err(Error::Usage(format!(
            "`{name}` cannot name a module: start with a letter, go on with letters, digits or _, and \
             take no name that a unit or a part of one has"
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
    output::print(&format!(
        "{shown}: {name}.sv, its test bench and README.md are there. Next:\n  \
         pinion run APP --hardware {unit}={shown}/{name}.sv\n  \
         pinion run APP --hardware {unit}={shown}/{name}.sv --compare\n"
    ));
    Ok(Status::Success)
}
