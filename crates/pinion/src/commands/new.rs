//! `pinion new NAME`: a folder with a small application that builds and runs as it is.

use std::fs;
use std::path::Path;

use pinion::Error;
use pinion::error::Result;

use super::Status;
use crate::cli::NewArgs;
use crate::output;

/// The files of a new application, and what its user may do next.
struct Template {
    manifest: &'static str,
    source: &'static str,
    readme: &'static str,
    next: &'static [&'static str],
}

const HANDLERS: Template = Template {
    manifest: include_str!("../../templates/app.toml"),
    source: include_str!("../../templates/handlers.c"),
    readme: include_str!("../../templates/README.md"),
    next: &[
        "pinion build @FOLDER@",
        "pinion run @FOLDER@ --generate 'udp,size=512,count=10000,rate=400g'",
    ],
};

const NANOSERVICE: Template = Template {
    manifest: include_str!("../../templates/nanoservice/app.toml"),
    source: include_str!("../../templates/nanoservice/service.c"),
    readme: include_str!("../../templates/nanoservice/README.md"),
    next: &[
        "pinion build @FOLDER@",
        "pinion run @FOLDER@ --load requests=1000,gap=exp:2000,match=oldest",
    ],
};

pub fn run(args: &NewArgs) -> Result<Status> {
    let folder = &args.name;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    if !is_name(&name) {
        return Err(Error::Usage(format!(
            "`{name}` cannot name an application: start with a letter, go on with letters, \
             digits, _ or -"
        )));
    }
    if folder.exists() {
        return Err(Error::Usage(format!(
            "{} exists already; choose another name or remove it first",
            folder.display()
        )));
    }
    fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
    let symbol = name.replace('-', "_");
    let fill = |template: &str| template.replace("@NAME@", &name).replace("@SYMBOL@", &symbol);
    let template = if args.nanoservice { &NANOSERVICE } else { &HANDLERS };
    write(&folder.join("app.toml"), &fill(template.manifest))?;
    write(&folder.join(format!("{symbol}.c")), &fill(template.source))?;
    write(&folder.join("README.md"), &fill(template.readme))?;
    write(&folder.join(".gitignore"), "build/\n")?;
    let shown = folder.display().to_string();
    let next = template.next.iter().map(|line| format!("\n  {}", line.replace("@FOLDER@", &shown)));
    output::print(&format!(
        "{shown}: app.toml, {symbol}.c and README.md are there. Next:{}\n",
        next.collect::<String>()
    ));
    Ok(Status::Success)
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Error::file("write", path, error))
}
