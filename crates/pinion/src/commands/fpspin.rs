//! `pinion fpspin`: what host programs of an FPsPIN NIC need.

use std::io::Write as _;

use pinion::error::Result;
use pinion::fpspin_project::{self, Compile};

use super::Status;
use crate::cli::{FpspinArgs, FpspinVerb};
use crate::output;

pub fn run(args: &FpspinArgs) -> Result<Status> {
    match &args.command {
        FpspinVerb::Tree { dir } => {
            fpspin_project::lay_out(dir)?;
            let dir = dir.canonicalize().unwrap_or_else(|_| dir.clone());
            output::print(&format!(
                "make -C {0}\ncc -I{0}/include PROGRAM.c {0}/libpinion_fpspin.a -pthread -lm\n",
                dir.display()
            ));
        }
        FpspinVerb::Compile(args) => {
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
