//! `pinion debug --nic NAME`: gdb on a NIC that runs, which it stops, and leaves running.

use std::fs;
use std::path::{Path, PathBuf};

use pinion::Error;
use pinion::debug::{gdb, session};
use pinion::error::Result;
use pinion::nic::{self, Known};
use tempfile::TempDir;

use super::debug::{OWN_GDB, accept, lack_of_symbols, meet};
use super::{Status, interrupt, look};
use crate::cli::{ATTACHED_REFUSES, DEBUG_REFUSES, DebugArgs};
use crate::output;

pub fn run(args: &DebugArgs, device: &str) -> Result<Status> {
    let with = "with an application; what runs live has its own program, machine and frames";
    let lists = ATTACHED_REFUSES.iter().chain(&DEBUG_REFUSES);
    lists.copied().try_for_each(|options| look::refuse(&args.run, options, with))?;
    let (listener, chosen) = match &args.listen {
        Some(address) => (session::listen(address)?, None),
        None => (session::listen(OWN_GDB)?, Some(gdb::choose(args.gdb.as_deref())?)),
    };
    let node = args.node.as_deref();
    let attachment = nic::attach(device, node)?;
    let programs = Programs::write(&attachment.programs)?;
    match programs.files.first() {
        Some(elf) => lack_of_symbols(elf, "gdb")?.iter().for_each(|text| output::notice(text)),
        None => output::notice(
            "no program is on the NIC: gdb will know addresses, but no functions and lines",
        ),
    }
    let address = listener.local_addr().map_err(|error| Error::part("cannot listen", error))?;
    let Some(chosen) = chosen else {
        let stream = accept(&listener, address, programs.files.first().map(PathBuf::as_path))?;
        attachment.begin(&stream, node)?;
        drop(stream);
        attachment.wait()?;
        return Ok(Status::Success);
    };
    // Ctrl-C is for gdb, which has the terminal too.
    interrupt::leave_alone();
    let (first, others) = programs.split();
    let beside = others
        .iter()
        .flat_map(|elf| ["-ex".to_owned(), format!("add-symbol-file {}", elf.display())]);
    let more: Vec<String> = beside.chain(args.more.iter().cloned()).collect();
    let mut child = gdb::start(&chosen, first, address, &more)?;
    let begun = match meet(&listener, &mut child)? {
        Some(stream) => attachment.begin(&stream, node).map(|()| true),
        None => Ok(false),
    };
    if begun.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    if begun? {
        attachment.wait()?;
    }
    Ok(Status::Success)
}

/// The programs of a NIC, in files as long as gdb reads them.
struct Programs {
    files: Vec<PathBuf>,
    _folder: TempDir,
}

impl Programs {
    fn write(all: &[Known]) -> Result<Self> {
        let folder = TempDir::with_prefix("pinion-debug-");
        let folder =
            folder.map_err(|error| Error::part("cannot keep the NIC's programs", error))?;
        let mut files = Vec::new();
        for (number, Known { name, elf }) in all.iter().enumerate() {
            let name = name.rsplit('/').next().unwrap_or_default();
            let path = folder.path().join(format!("{number}-{name}"));
            fs::write(&path, elf).map_err(|error| Error::file("write", &path, error))?;
            files.push(path);
        }
        Ok(Self { files, _folder: folder })
    }

    /// Gives the program that the cores were booted with, and the others.
    fn split(&self) -> (Option<&Path>, &[PathBuf]) {
        match &self.files[..] {
            [] => (None, &[]),
            [first, others @ ..] => (Some(first), others),
        }
    }
}
