//! `pinion dap`: the run of `pinion debug` for editors, by the Debug Adapter Protocol.

use clap::Parser as _;
use pinion::Error;
use pinion::debug::dap::{self, Launch, Launched};
use pinion::debug::session::{self, Ended};
use pinion::error::Result;

use super::{Status, debug, interrupt, recorded};
use crate::cli::{Cli, DapArgs, Verb};
use crate::output;

pub fn run(args: &DapArgs) -> Result<Status> {
    // The editor ends the session; Ctrl-C in its terminal is for what it starts.
    let mut launcher = launch;
    let ended = match &args.listen {
        None => dap::serve(std::io::stdin(), std::io::stdout(), &mut launcher)?,
        Some(address) => {
            let listener = session::listen(address)?;
            let failed = |error| Error::part("cannot accept", error);
            let address = listener.local_addr().map_err(failed)?;
            output::print(&format!("waiting for an editor on {address}\n"));
            let (stream, _) = listener.accept().map_err(failed)?;
            interrupt::leave_alone();
            let out = stream.try_clone().map_err(failed)?;
            dap::serve(stream, out, &mut launcher)?
        }
    };
    match ended {
        Ended::ByUser => Ok(Status::Success),
        Ended::Lost { cycle } => Err(Error::Usage(format!(
            "the connection to the editor was lost in cycle {cycle}; nothing was written, start again \
             to go on"
        ))),
    }
}

/// Makes of a launch configuration what is debugged, as `pinion debug` does of its words.
fn launch(launch: &Launch) -> Result<Launched> {
    if let Some(folder) = &launch.cwd {
        std::env::set_current_dir(folder).map_err(|error| Error::file("use", folder, error))?;
    }
    let words = ["pinion", "debug", &launch.app].map(str::to_owned);
    let parsed = Cli::try_parse_from(words.into_iter().chain(launch.args.iter().cloned()));
    let mut verb = parsed.map(|cli| cli.command).map_err(|error| {
        // Its first paragraph; what follows tells how the command is used.
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        Error::Usage(first.trim_start_matches("error: ").replace('\n', " "))
    })?;
    let recording = recorded::open(&mut verb)?;
    let Verb::Debug(args) = &verb else {
        return Err(Error::Usage("the words are none of `pinion debug`".to_owned()));
    };
    let given = [
        ("--listen", args.listen.is_some()),
        ("--gdb", args.gdb.is_some()),
        ("--nic", args.nic.is_some()),
        ("--", !args.more.is_empty()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Error::Usage(format!("{option} is for gdb, which an editor has no use for")));
    }
    debug::prepare(args, recording)
}
