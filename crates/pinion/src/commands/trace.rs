//! `pinion trace APP`: a nanoservice's instructions and events, as text.

use std::fs::File;
use std::io::{BufWriter, Write};

use pinion::Error;
use pinion::error::Result;
use pinion::nanoservice::run::{self, Observer, Progress};
use pinion::nanoservice::{Filter, Trace};

use super::run::{Watch, keep_files_apart};
use super::{Status, service};
use crate::cli::TraceArgs;

pub fn run(args: &TraceArgs) -> Result<Status> {
    keep_files_apart(&args.run, args.out.as_ref())?;
    let manifest = pinion::manifest::load(&args.run.app.app)?;
    super::engine::refuse(&args.run.engine, "a trace shows the simulated machine")?;
    if manifest.nanoservice().is_none() {
        return Err(Error::Usage(format!(
            "{} has packet handlers; pinion trace shows nanoservices. `pinion run --packets FILE \
             --handlers` tells where handlers' time goes",
            manifest.app.name
        )));
    }
    if args.to.is_some_and(|to| to <= args.from) {
        let why = "--to is the cycle behind the last one: it must be greater than --from";
        return Err(Error::Usage(why.to_owned()));
    }
    let (service, setup) = service::prepare(&args.run, manifest)?;
    let harts = setup.machine.value.core.count;
    if let Some(hart) = args.hart.iter().find(|hart| u32::from(**hart) >= harts) {
        return Err(Error::Usage(format!(
            "--hart {hart}: the machine has harts 0 to {}",
            harts - 1
        )));
    }
    let mut options = service::run_options(&args.run, &service, &setup)?;
    options.cycles = [options.cycles, args.to].into_iter().flatten().min();
    let filter = Filter {
        harts: args.hart.clone(),
        from: args.from,
        to: args.to,
        no_instructions: args.no_instructions,
        no_events: args.no_events,
    };
    let out: Box<dyn Write> = match &args.out {
        Some(path) => {
            Box::new(File::create(path).map_err(|error| Error::file("write", path, error))?)
        }
        None => Box::new(std::io::stdout()),
    };
    let trace = Trace::new(&service.image, setup.clock, filter, BufWriter::new(out));
    let outputs = service::outputs(&args.run.report);
    let mut watch = Quiet(Watch::new(!args.run.quiet && args.out.is_some()));
    let summary = run::run(&service, &setup, options, &outputs, &mut watch, trace)?;
    watch.0.clear();
    service::write_json(&args.run.report, &summary)?;
    Ok(service::status(&summary))
}

/// Passes nothing on that would stand between the trace's lines.
struct Quiet(Watch);

impl Observer for Quiet {
    fn goes_on(&mut self, progress: &Progress) -> bool {
        Observer::goes_on(&mut self.0, progress)
    }

    fn warning(&mut self, text: &str) {
        self.0.notice(text);
    }
}
