//! Keeps a command's files apart: options that name files come in, an error goes out when an output
//! would overwrite an input or another output.

use std::fs;
use std::path::{Path, PathBuf};

use pinion::error::Result;
use pinion::nanoservice::SCRIPT_NAME;
use pinion::report::Partial;
use pinion::{Error, cluster, expect, manifest, ranks};

use crate::cli::{AppArgs, ReportArgs};
use crate::output;

/// An option and the file it names.
type Named = (&'static str, PathBuf);

/// Lists the outputs that every run may have.
pub fn reports(args: &ReportArgs) -> Vec<Named> {
    [
        ("--pcap-out", &args.pcap_out),
        ("--unmatched-out", &args.unmatched_out),
        ("--json", &args.json),
        ("--packets", &args.packets),
    ]
    .into_iter()
    .filter_map(|(option, path)| Some((option, path.clone()?)))
    .filter(|(option, path)| *option != "--json" || !output::is_stdout(path))
    .collect()
}

/// Lists the files of an option that is written NAME=FILE; what has none is complained about when it is used.
pub fn named(option: &'static str, texts: &[String]) -> impl Iterator<Item = Named> {
    let files = texts.iter().filter_map(|text| Some(text.split_once('=')?.1));
    files.filter(|file| !file.is_empty()).map(move |file| (option, PathBuf::from(file)))
}

/// Lists what an application is read from: its manifest, or a cluster's file, what the manifest names, what lies
/// beside, and the machine.
pub fn of_application(args: &AppArgs) -> Vec<Named> {
    let machine = args.machine.as_ref().map(|name| ("--machine", PathBuf::from(name)));
    let manifest = manifest::locate(&args.app);
    let mut files: Vec<Named> = machine.into_iter().collect();
    let beside = [expect::FILE_NAME, SCRIPT_NAME].map(|name| manifest.with_file_name(name));
    files.extend(beside.into_iter().filter(|file| file.is_file()).map(|file| ("APP", file)));
    if let Some(file) = cluster::locate(&args.app) {
        files.push(("APP", file));
        return files;
    }
    files.push(("APP", manifest));
    // One that is wrong is complained about when it is used.
    if let Ok(manifest) = manifest::load(&args.app) {
        files.extend(manifest.files().iter().map(|(_, path)| ("APP", path.to_path_buf())));
    }
    files
}

/// Checks that no output is an input, that no two outputs are the same file, and that each can be written.
///
/// # Errors
/// When they are, or cannot. Devices such as `/dev/null` may be named as often as one likes.
pub fn keep_apart(inputs: &[Named], outputs: &[Named]) -> Result<()> {
    refuse_the_same(inputs, outputs)?;
    outputs.iter().try_for_each(|(_, path)| try_to_write(path))
}

/// Checks that a file can be written, before there is anything to write; what is there stays.
///
/// # Errors
/// When it cannot.
pub fn try_to_write(path: &Path) -> Result<()> {
    // A pipe's reader would take it for the end; of several ranks one alone writes, perhaps elsewhere.
    let is_special = fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    if !is_special && !output::is_stdout(path) && ranks::started() == 1 {
        Partial::create(path)?;
    }
    Ok(())
}

/// Checks that no output is an input, and that no two outputs are the same file.
///
/// # Errors
/// When they are.
pub fn refuse_the_same(inputs: &[Named], outputs: &[Named]) -> Result<()> {
    for (index, (option, path)) in outputs.iter().enumerate() {
        let Some(place) = place(path) else { continue };
        let is_same = |other: &&Named| self::place(&other.1).as_ref() == Some(&place);
        if let Some((input, _)) = inputs.iter().find(is_same) {
            return Err(Error::Usage(format!(
                "{option} {} would overwrite what {input} reads; write to another file",
                path.display()
            )));
        }
        if let Some((other, _)) = outputs[..index].iter().find(is_same) {
            return Err(Error::Usage(format!(
                "{other} and {option} both write to {}; give each a file of its own",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Gives a file's one absolute name, whether it exists yet or not; `None` for devices and for what
/// cannot be written anyway.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(found) = fs::canonicalize(path) {
        return found.is_file().then_some(found);
    }
    let folder = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
    Some(folder.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_kept_apart() {
        let named = |option, path: &str| vec![(option, PathBuf::from(path))];
        let twice = |path: &str| [named("--pcap-out", path), named("--json", path)].concat();
        assert!(keep_apart(&[], &twice("out.x")).is_err());
        assert!(keep_apart(&[], &twice("/dev/null")).is_ok());
        let input = named("--pcap-in", "Cargo.toml");
        assert!(keep_apart(&input, &named("--pcap-out", "src/../Cargo.toml")).is_err());
        assert!(keep_apart(&input, &named("--pcap-out", "src/Cargo.toml")).is_ok());
    }
}
