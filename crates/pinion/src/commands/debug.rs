//! `pinion debug APP`: gdb on a run that can be gone back in.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::time::Duration;

use pinion::Error;
use pinion::app::App;
use pinion::debug::session::{self, Ended};
use pinion::debug::{Timeline, gdb};
use pinion::error::Result;
use pinion::manifest::Manifest;

use super::run::packets;
use super::{Status, engine, interrupt, look, recorded};
use crate::cli::{DebugArgs, OUTPUTS};
use crate::output;

/// Where gdb finds the run that it is started on: any port that is free.
const OWN_GDB: &str = "127.0.0.1:0";

/// Time between two looks at whether gdb has connected.
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub fn run(args: &DebugArgs) -> Result<Status> {
    if pinion::cluster::locate(&args.run.app.app).is_some() {
        let why = "`pinion debug` stops one NIC; of a cluster's node, `pinion trace --node NAME` \
                   shows every instruction";
        return Err(Error::Usage(why.to_owned()));
    }
    let manifest = pinion::manifest::load(&args.run.app.app)?;
    let why = "a debugger shows the simulated machine; handlers of the native engine are this \
               computer's own code, for which its gdb serves";
    engine::refuse(&args.run.engine, why)?;
    refuse(args, &manifest)?;
    let but = "`pinion trace`, `why` and `profile` look into it";
    recorded::refuse_live(&args.run, "packet handlers", but)?;
    let packets = packets(&args.run, &manifest)?;
    let (listener, chosen) = match &args.listen {
        Some(address) => (session::listen(address)?, None),
        None => (session::listen(OWN_GDB)?, Some(gdb::choose(args.gdb.as_deref())?)),
    };
    let app = look::app(&args.run, manifest)?;
    tell_symbols(&app)?;
    let timeline = Timeline::new(&app, packets)?;
    let address = listener.local_addr().map_err(|error| Error::part("cannot listen", error))?;
    match chosen {
        None => {
            let stream = accept(&listener, address, &app)?;
            conclude(session::serve(timeline, stream)?)
        }
        Some(chosen) => {
            // Ctrl-C is for gdb, which has the terminal too.
            interrupt::leave_alone();
            let mut child = gdb::start(&chosen, &app.built.elf, address, &args.more)?;
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
fn accept(listener: &TcpListener, address: SocketAddr, app: &App) -> Result<TcpStream> {
    output::print(&format!(
        "waiting for gdb on {address}: gdb-multiarch {} -ex 'target remote {address}'\n",
        app.built.elf.display()
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
fn tell_symbols(app: &App) -> Result<()> {
    let elf = &app.built.elf;
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

/// Refuses what has nothing to do with packet handlers, or with a debugger.
fn refuse(args: &DebugArgs, manifest: &Manifest) -> Result<()> {
    let name = &manifest.app.name;
    if manifest.nanoservice().is_some() {
        return Err(Error::Usage(format!(
            "`pinion debug` stops packet handlers; {name} is a nanoservice, of which `pinion trace` \
             shows every instruction"
        )));
    }
    look::refuse_for_handlers(&args.run, manifest)?;
    let with = "with `pinion run`: a debugged run goes back and forth and has no end to sum up";
    look::refuse(&args.run, &OUTPUTS, with)?;
    look::refuse(&args.run, &["--json"], with)
}
