//! `pinion new NAME`: a folder with a small application that builds and runs as it is.

use std::fs;
use std::path::Path;

use pinion::Error;
use pinion::error::Result;

use super::Status;
use crate::cli::NewArgs;
use crate::output;

const MANIFEST: &str = include_str!("../../templates/app.toml");
const SOURCE: &str = include_str!("../../templates/handlers.c");
const README: &str = include_str!("../../templates/README.md");

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
    write(&folder.join("app.toml"), &fill(MANIFEST))?;
    write(&folder.join(format!("{symbol}.c")), &fill(SOURCE))?;
    write(&folder.join("README.md"), &fill(README))?;
    write(&folder.join(".gitignore"), "build/\n")?;
    let shown = folder.display();
    output::print(&format!(
        "{shown}: app.toml, {symbol}.c and README.md are there. Next:\n  \
         pinion build {shown}\n  \
         pinion run {shown} --generate 'udp,size=512,count=10000,rate=400g'\n"
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
