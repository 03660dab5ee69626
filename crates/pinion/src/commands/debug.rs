//! `pinion debug APP`: gdb on a run that can be gone back in: of handlers, a nanoservice, or a node of a
//! cluster.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use pinion::Error;
use pinion::cluster::Target;
use pinion::debug::session::{self, Ended};
use pinion::debug::{Nano, Timeline, among, gdb};
use pinion::error::Result;
use pinion::manifest::Manifest;

use super::run::packets;
use super::{Status, cluster, engine, interrupt, look, recorded, service};
use crate::cli::{DEBUG_REFUSES, DebugArgs};
use crate::output;

/// Where gdb finds the run that it is started on: any port that is free.
const OWN_GDB: &str = "127.0.0.1:0";

/// Time between two looks at whether gdb has connected.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What looks into live runs of nodes, which the debugger does not.
const LIVE_LOOKS: &str = "`pinion trace`, `why` and `profile` look into it";

/// What is debugged: a run that has not begun, and its program.
type Subject = (Timeline, PathBuf);

pub fn run(args: &DebugArgs) -> Result<Status> {
    let with = "with `pinion run`: a debugged run goes back and forth and has no end to sum up";
    DEBUG_REFUSES[1..].iter().try_for_each(|options| look::refuse(&args.run, options, with))?;
    if let Some(file) = pinion::cluster::locate(&args.run.app.app) {
        return debug(args, || of_cluster(args, &file));
    }
    let manifest = pinion::manifest::load(&args.run.app.app)?;
    look::refuse_node(args.node.as_ref(), &manifest)?;
    look::refuse_for_one(&args.run, &manifest)?;
    let why = "a debugger shows the simulated machine; handlers of the native engine are this \
               computer's own code, for which its gdb serves";
    engine::refuse(&args.run.engine, why)?;
    if manifest.nanoservice().is_some() {
        return debug(args, || of_service(args, manifest));
    }
    look::refuse_for_handlers(&args.run, &manifest)?;
    debug(args, || of_handlers(args, manifest))
}

/// Begins the run of packet handlers.
fn of_handlers(args: &DebugArgs, manifest: Manifest) -> Result<Subject> {
    let packets = packets(&args.run, &manifest)?;
    let app = look::app(&args.run, manifest)?;
    Ok((Timeline::new(&app, packets)?, app.built.elf))
}

/// Begins the run of a nanoservice.
fn of_service(args: &DebugArgs, manifest: Manifest) -> Result<Subject> {
    recorded::refuse_live(&args.run, "a nanoservice", LIVE_LOOKS)?;
    let (service, setup) = service::prepare(&args.run, manifest)?;
    let options = service::run_options(&args.run, &service, &setup)?;
    let elf = service.built.elf.clone();
    Ok((Timeline::of(Box::new(Nano::alone(service, &setup, options)?))?, elf))
}

/// Begins the run of a cluster, one node of which is debugged.
fn of_cluster(args: &DebugArgs, file: &Path) -> Result<Subject> {
    recorded::refuse_live(&args.run, "a cluster", LIVE_LOOKS)?;
    let plan = cluster::plan_for_a_node(&args.run, file)?;
    let node = cluster::find_node(&plan, args.node.as_deref(), "debugged")?;
    let target = plan.group_of(node).map(|(group, _)| &group.target);
    let elf = match target {
        Some(Target::Nanoservice { service, .. }) => service.built.elf.clone(),
        Some(Target::Handlers { app }) => app.built.elf.clone(),
        _ => PathBuf::new(),
    };
    let options = cluster::run_options(&args.run, Vec::new())?;
    let Some(debuggee) = among::node(&plan, &options, node)? else {
        return Err(Error::Usage(format!(
            "--node {}: it runs no program; debug a node that its packets are for",
            plan.names[node]
        )));
    };
    Ok((Timeline::of(debuggee)?, elf))
}

/// Has gdb, or whoever connects, debug a run.
fn debug(args: &DebugArgs, begin: impl FnOnce() -> Result<Subject>) -> Result<Status> {
    let (listener, chosen) = match &args.listen {
        Some(address) => (session::listen(address)?, None),
        None => (session::listen(OWN_GDB)?, Some(gdb::choose(args.gdb.as_deref())?)),
    };
    let (timeline, elf) = begin()?;
    tell_symbols(&elf)?;
    let address = listener.local_addr().map_err(|error| Error::part("cannot listen", error))?;
    match chosen {
        None => {
            let stream = accept(&listener, address, &elf)?;
            conclude(session::serve(timeline, stream)?)
        }
        Some(chosen) => {
            // Ctrl-C is for gdb, which has the terminal too.
            interrupt::leave_alone();
            let mut child = gdb::start(&chosen, &elf, address, &args.more)?;
            let served = match meet(&listener, &mut child)? {
                Some(stream) => session::serve(timeline, stream),
                None => Ok(Ended::ByGdb),
            };
            let _ = child.wait();
            // Whether it took leave or was ended, it is gone and was to be.
            served.map(|_| Status::Success)
        }
    }
}

/// Waits for a debugger, and says how one connects.
fn accept(listener: &TcpListener, address: SocketAddr, elf: &Path) -> Result<TcpStream> {
    output::print(&format!(
        "waiting for gdb on {address}: gdb-multiarch {} -ex 'target remote {address}'\n",
        elf.display()
    ));
    let (stream, _) = listener.accept().map_err(|error| Error::part("cannot accept", error))?;
    interrupt::leave_alone();
    Ok(stream)
}

/// Waits until gdb has connected; `None`: it ended before.
fn meet(listener: &TcpListener, gdb: &mut Child) -> Result<Option<TcpStream>> {
    let failed = |error| Error::part("cannot wait for gdb", error);
    listener.set_nonblocking(true).map_err(failed)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(failed)?;
                return Ok(Some(stream));
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(failed(error)),
        }
        if gdb.try_wait().map_err(failed)?.is_some() {
            return Ok(None);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn conclude(ended: Ended) -> Result<Status> {
    match ended {
        Ended::ByGdb => Ok(Status::Success),
        Ended::Lost { cycle } => Err(Error::Usage(format!(
            "the connection to gdb was lost in cycle {cycle}; nothing was written, start again to \
             go on"
        ))),
    }
}

/// Says what gdb will not find in the program.
fn tell_symbols(elf: &Path) -> Result<()> {
    let bytes = std::fs::read(elf).map_err(|error| Error::file("read", elf, error))?;
    if pinion_isa::elf::section_data(&bytes, ".debug_info").is_none_or(<[u8]>::is_empty) {
        output::notice(&format!(
            "{} has no debug information (it was stripped, or compiled without -g): gdb knows \
             functions and addresses, but no lines and variables",
            elf.display()
        ));
    }
    Ok(())
}
