//! `pinion debug APP`: gdb on a run that can be gone back in: of handlers, a nanoservice, or a node of a
//! cluster.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use pinion::Error;
use pinion::app::App;
use pinion::build::Built;
use pinion::cluster::Target;
use pinion::debug::console::{Console, Why};
use pinion::debug::dap::Launched;
use pinion::debug::session::{self, Ended};
use pinion::debug::{Target as Place, Timeline, Width, gdb, runs};
use pinion::error::Result;
use pinion::fault::program::Code;
use pinion::manifest::Manifest;
use pinion::record::Recording;
use pinion::why::{Longest, Which};
use pinion_isa::elf::Image;

use super::run::packets;
use super::{Status, attach, build, cluster, engine, interrupt, look, service};
use crate::cli::{DEBUG_REFUSES, DebugArgs, RunArgs};
use crate::output;

/// Where gdb finds the run that it is started on: any port that is free.
pub const OWN_GDB: &str = "127.0.0.1:0";

/// Time between two looks at whether gdb has connected.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What is debugged: a run that has not begun, and its program.
struct Subject {
    timeline: Timeline,
    elf: PathBuf,
    /// Addresses at which handlers begin.
    entries: Vec<u64>,
    /// What there is to say of how it was built, if nobody has said it.
    built: Option<Built>,
    why: Why,
}

impl Subject {
    /// Takes a run whose program was built and told of already; `why` tells of it.
    fn new(timeline: Timeline, elf: PathBuf, why: Why) -> Self {
        Self { timeline, elf, entries: Vec::new(), built: None, why }
    }
}

pub fn run(args: &DebugArgs) -> Result<Status> {
    if let Some(device) = &args.nic {
        return attach::run(args, device);
    }
    let begin = choose(args)?;
    let (listener, chosen) = match &args.listen {
        Some(address) => (session::listen(address)?, None),
        None => (session::listen(OWN_GDB)?, Some(gdb::choose(args.gdb.as_deref())?)),
    };
    let Subject { timeline, elf, built, why, .. } = begin()?;
    if let Some(built) = built {
        build::show(&built);
    }
    if let Some(text) = lack_of_symbols(&elf, "gdb")? {
        output::notice(&text);
    }
    let console = Console::new(timeline, why);
    let address = listener.local_addr().map_err(|error| Error::part("cannot listen", error))?;
    match chosen {
        None => {
            let stream = accept(&listener, address, Some(&elf))?;
            conclude(session::serve(console, stream)?)
        }
        Some(chosen) => {
            // Ctrl-C is for gdb, which has the terminal too.
            interrupt::leave_alone();
            let mut child = gdb::start(&chosen, Some(&elf), address, &args.more)?;
            let served = match meet(&listener, &mut child)? {
                Some(stream) => session::serve(console, stream),
                None => Ok(Ended::ByUser),
            };
            let _ = child.wait();
            // Whether it took leave or was ended, it is gone and was to be.
            served.map(|_| Status::Success)
        }
    }
}

/// Opens gdb where the longest part of a way begins, in a cycle of the node, on the hart that works at it then.
pub fn go_to(run: &RunArgs, node: Option<String>, cycle: u64, longest: &Longest) -> Result<Status> {
    let place = node.as_ref().map_or_else(String::new, |node| format!(" at {node}"));
    output::notice(&format!("gdb opens{place} in cycle {cycle}, {}", longest.words()));
    let commands = [format!("monitor goto cycle {cycle}"), "continue".to_owned()];
    let thread = longest.hart.map(|hart| format!("thread {}", hart + 1));
    let more = commands.into_iter().chain(thread);
    let more = more.flat_map(|command| ["-ex".to_owned(), command]).collect();
    let run = run.clone();
    self::run(&DebugArgs { listen: None, gdb: None, nic: None, node, run, more })
}

/// Makes what an editor debugs, of the words of `pinion debug`. The recording that stands in the
/// application's place is there as long as it is.
pub fn prepare(args: &DebugArgs, recording: Option<Recording>) -> Result<Launched> {
    let Subject { timeline, elf, entries, built, mut why } = choose(args)?()?;
    let mut notices: Vec<String> = built.iter().flat_map(build::said).collect();
    notices.extend(lack_of_symbols(&elf, "the editor")?);
    let bytes = pinion_input::bytes(&elf).map_err(|error| Error::file("read", &elf, error))?;
    let name = elf.display().to_string();
    let (image, code) = match timeline.machine().width() {
        Width::Rv32 => (Image::parse(&bytes, &name)?, Code::HPU),
        Width::Rv64 => (Image::parse_for::<u64>(&bytes, &name)?, Code::NANOPU),
    };
    let why: Why = Box::new(move |place| {
        let _ = &recording;
        why(place)
    });
    Ok(Launched { timeline, elf, image, code, entries, why, notices })
}

/// Refuses what cannot be debugged; gives what begins the run.
fn choose(args: &DebugArgs) -> Result<Box<dyn FnOnce() -> Result<Subject> + '_>> {
    let with = "with `pinion run`: a debugged run goes back and forth and has no end to sum up";
    DEBUG_REFUSES[1..].iter().try_for_each(|options| look::refuse(&args.run, options, with))?;
    engine::refuse_core(&args.run.app, engine::INTERPRETED)?;
    if let Some(file) = pinion::cluster::locate(&args.run.app.app) {
        return Ok(Box::new(move || of_cluster(args, &file)));
    }
    let manifest = pinion::manifest::load(&args.run.app.app)?;
    look::refuse_node(args.node.as_deref(), &manifest)?;
    look::refuse_for_one(&args.run, &manifest)?;
    let why = "a debugger shows the simulated machine; handlers of the native engine are this \
               computer's own code, for which its gdb serves";
    engine::refuse(&args.run.engine, why)?;
    if manifest.nanoservice().is_some() {
        return Ok(Box::new(move || of_service(args, manifest)));
    }
    look::refuse_for_handlers(&args.run, &manifest)?;
    Ok(Box::new(move || of_handlers(args, manifest)))
}

/// Begins the run of packet handlers.
fn of_handlers(args: &DebugArgs, manifest: Manifest) -> Result<Subject> {
    let packets = packets(&args.run, &manifest)?;
    let app = App::of(manifest, &look::options(&args.run))?;
    let timeline = Timeline::new(&app, packets)?;
    let handlers = app.contexts.iter().flat_map(|context| {
        let (header, payload) = (&context.header_handler, &context.payload_handler);
        [header, payload, &context.completion_handler].into_iter().flatten()
    });
    let entries = handlers.map(|handler| handler.address.into()).collect();
    let elf = app.built.elf.clone();
    let why = why(args.run.clone(), None);
    Ok(Subject { timeline, elf, entries, built: Some(app.built), why })
}

/// Tells why a packet or message of the run took so long, in one of its nodes if it is a cluster's, whenever
/// somebody asks.
fn why(run: RunArgs, node: Option<String>) -> Why {
    Box::new(move |place| {
        let which = match place {
            Place::Packet(packet) => Which::Packet(packet),
            Place::Message(message) => {
                Which::Message(message.try_into().map_err(|_| "messages have 32 bits".to_owned())?)
            }
        };
        super::why::tell(&run, node.as_deref(), which).map_err(|error| error.to_string())
    })
}

/// Begins the run of a nanoservice.
fn of_service(args: &DebugArgs, manifest: Manifest) -> Result<Subject> {
    let (service, setup) = service::prepare(&args.run, manifest)?;
    let options = service::run_options(&args.run, &service, &setup)?;
    let elf = service.built.elf.clone();
    let timeline = Timeline::of(pinion::debug::service(service, &setup, options)?)?;
    Ok(Subject::new(timeline, elf, why(args.run.clone(), None)))
}

/// Begins the run of a cluster, one node of which is debugged.
fn of_cluster(args: &DebugArgs, file: &Path) -> Result<Subject> {
    let plan = cluster::plan_for_a_node(&args.run, file)?;
    let node = cluster::find_node(&plan, args.node.as_deref(), "debugged")?;
    let target = plan.group_of(node).map(|(group, _)| &group.target);
    let elf = match target {
        Some(Target::Nanoservice { service, .. }) => service.built.elf.clone(),
        Some(Target::Handlers { app }) => app.built.elf.clone(),
        _ => PathBuf::new(),
    };
    let options = cluster::run_options(&args.run, Vec::new())?;
    let Some(debuggee) = runs::node(&plan, &options, node)? else {
        return Err(Error::Usage(format!(
            "--node {}: it runs no program; debug a node that its packets are for",
            plan.names[node]
        )));
    };
    let why = why(args.run.clone(), args.node.clone());
    Ok(Subject::new(Timeline::of(debuggee)?, elf, why))
}

/// Waits for a debugger, and says how one connects.
pub fn accept(
    listener: &TcpListener,
    address: SocketAddr,
    elf: Option<&Path>,
) -> Result<TcpStream> {
    let elf = elf.map(|elf| format!("{} ", elf.display())).unwrap_or_default();
    output::print(&format!(
        "waiting for gdb on {address}: gdb-multiarch {elf}-ex 'target remote {address}'\n",
    ));
    let (stream, _) = listener.accept().map_err(|error| Error::part("cannot accept", error))?;
    interrupt::leave_alone();
    Ok(stream)
}

/// Waits until gdb has connected; `None`: it ended before.
pub fn meet(listener: &TcpListener, gdb: &mut Child) -> Result<Option<TcpStream>> {
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
        Ended::ByUser => Ok(Status::Success),
        Ended::Lost { cycle } => Err(Error::Usage(format!(
            "the connection to gdb was lost in cycle {cycle}; nothing was written, start again to \
             go on"
        ))),
    }
}

/// Says what a debugger will not find in the program.
pub fn lack_of_symbols(elf: &Path, whom: &str) -> Result<Option<String>> {
    let bytes = pinion_input::bytes(elf).map_err(|error| Error::file("read", elf, error))?;
    let is_missing =
        pinion_isa::elf::section_data(&bytes, ".debug_info").is_none_or(<[u8]>::is_empty);
    Ok(is_missing.then(|| {
        format!(
            "{} has no debug information (it was stripped, or compiled without -g): {whom} knows \
             functions and addresses, but no lines and variables",
            elf.display()
        )
    }))
}
