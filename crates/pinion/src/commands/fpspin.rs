//! `pinion fpspin`: what host programs of an FPsPIN NIC need.

use std::fs;
use std::io::Write as _;

use pinion::error::{Error, Result};
use pinion::fpspin_project::{self, Compile};

use super::{Status, files, interrupt};
use crate::cli::{FpspinArgs, FpspinVerb};
use crate::output;

pub fn run(args: &FpspinArgs) -> Result<Status> {
    match &args.command {
        FpspinVerb::Tree { dir, library } => {
            fs::create_dir_all(dir).map_err(|error| Error::file("create", dir, error))?;
            let dir = dir.canonicalize().unwrap_or_else(|_| dir.clone());
            let tree = fpspin_project::lay_out(&dir, library.as_deref())?;
            output::print(&format!(
                "export PSPIN_HW={} PSPIN_RT={}\n\
                 export LD_LIBRARY_PATH=$PSPIN_HW/verilator_model/lib PINION_MACHINE=fpspin\n\
                 # applications: {}\n",
                tree.hardware.display(),
                tree.runtime.display(),
                tree.examples.display()
            ));
        }
        FpspinVerb::Compile(args) => {
            let sources = args.sources.iter().map(|file| ("the compiler", file.clone()));
            files::refuse_the_same(&sources.collect::<Vec<_>>(), &[("--out", args.out.clone())])?;
            // Interrupted, it ends when the compiler has ended, and takes its scratch folder away.
            interrupt::flag();
            let messages = fpspin_project::compile(&Compile {
                out: args.out.clone(),
                sources: args.sources.clone(),
                options: args.options.clone(),
                cc: args.cc.clone(),
            })?;
            let _ = std::io::stderr().lock().write_all(&messages);
            output::print(&format!("{}: built with {}\n", args.out.display(), args.cc));
        }
    }
    Ok(Status::Success)
}
