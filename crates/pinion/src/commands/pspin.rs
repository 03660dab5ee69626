//! `pinion pspin`: what PsPIN projects need to run as they are.

use pinion::error::Result;
use pinion::manifest::PacketStart;
use pinion::pspin_project::{self, Compile};

use super::{Status, build, files};
use crate::cli::{PspinArgs, PspinCompileArgs, PspinVerb};
use crate::output;

pub fn run(args: &PspinArgs) -> Result<Status> {
    match &args.command {
        PspinVerb::Tree { dir, library } => {
            pspin_project::lay_out(dir, library.as_deref())?;
            let dir = dir.canonicalize().unwrap_or_else(|_| dir.clone());
            output::print(&format!(
                "export PSPIN_HW={0}/hw PSPIN_RT={0}/sw\n\
                 export LD_LIBRARY_PATH=$PSPIN_HW/verilator_model/lib\n",
                dir.display()
            ));
        }
        PspinVerb::Compile(args) => compile(args)?,
    }
    Ok(Status::Success)
}

fn compile(args: &PspinCompileArgs) -> Result<()> {
    let sources: Vec<_> = args.sources.iter().map(|file| ("the compiler", file.clone())).collect();
    files::refuse_the_same(&sources, &[("--out", args.out.clone())])?;
    let built = pspin_project::compile(&Compile {
        out: args.out.clone(),
        sources: args.sources.clone(),
        cflags: args.cflags.clone(),
        cc: args.cc.clone(),
        packet: if args.ethernet { PacketStart::Ethernet } else { PacketStart::Ip },
        machine: args.machine.clone(),
        overrides: args.set.clone(),
    })?;
    build::show(&built);
    let how = match &built.compiler {
        Some(compiler) => format!("built with {compiler}"),
        None => "up to date".to_owned(),
    };
    output::print(&format!("{}: {how}\n", built.elf.display()));
    Ok(())
}
