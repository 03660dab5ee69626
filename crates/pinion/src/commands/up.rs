//! `pinion up APP`: an application live on a TAP device.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pinion::Error;
use pinion::app::App;
use pinion::cluster::{OtherSide, Plan, RunOptions, Target};
use pinion::dashboard::Dashboard;
use pinion::debug::visit::nodes::Nodes;
use pinion::error::Result;
use pinion::live::guest::{Guest, NoGuest};
use pinion::live::{self, Options, WireName};
use pinion::manifest::Manifest;
use pinion::nanoservice;
use pinion::nic::{Known, Reception};
use pinion::record::Subject;
use pinion::report::{Outputs, Report, Sink, Summary};
use pinion::traffic::link_faults;
use pinion::watch::{Observer, Progress, Seen};
use pinion_net::tap::InterfaceAddress;
use pinion_sim::Time;
use pinion_sim::config;
use pinion_spin::PacketRecord;

use super::recorded::Keep;
use super::run::outputs;
use super::{Status, build, cluster, engine, files, interrupt, report, service};
use crate::cli::UpArgs;
use crate::output;

pub fn run(args: &UpArgs) -> Result<Status> {
    let mut files = files::reports(&args.report);
    files.extend(args.record.iter().map(|file| ("--record", file.clone())));
    files::keep_apart(&files::of_application(&args.app), &files)?;
    engine::refuse_hardware(&args.engine, "a live run has no time for it")?;
    engine::refuse_needless_core(&args.app, &args.app.set)?;
    if let Some(file) = pinion::cluster::locate(&args.app.app) {
        return run_cluster(args, &file);
    }
    let manifest = pinion::manifest::load(&args.app.app)?;
    if manifest.nanoservice().is_some() {
        return run_service(args, manifest);
    }
    let mut options = options(args)?;
    let mut load = build::options(&args.app);
    load.elf = args.elf.clone();
    if args.record.is_some() {
        engine::refuse(&args.engine, "--record keeps a run that is the same each time")?;
    }
    let workers = engine::choose(&args.engine, &manifest, &mut load)?;
    if workers.is_some() {
        engine::refuse_core(&args.app, "--engine native has none")?;
    }
    if workers.is_some() && args.bound.is_some() {
        return Err(Error::Usage(
            "--bound: frames do not wait for a simulation on the native engine".to_owned(),
        ));
    }
    let app = App::of(manifest, &load)?;
    build::show_messages(&app);
    let (mut keep, tape) = Keep::begin_live(args, Subject::Handlers(&app))?;
    options.tape = tape;
    let dashboard = dashboard(args, &app.manifest.app.name, &app.machine.value.name)?;
    let mut watch = Watch::new(greeting(args, &app), dashboard);
    let program = (app.manifest.app.name.as_str(), Some(app.built.elf.as_path()));
    let mut guest = reception(args, &[program], None);
    let outputs = outputs(&args.report);
    let summary = go(&app, &options, workers, &outputs, (&mut *guest, &mut watch))?;
    conclude(args, &summary, &mut keep)
}

/// Turns the arguments into the library's.
fn options(args: &UpArgs) -> Result<Options> {
    Ok(Options {
        wire: match &args.interface {
            Some(name) => WireName::Interface(name.clone()),
            None => WireName::Tap(args.tap.clone().unwrap_or_default()),
        },
        address: args.address.as_deref().map(str::parse::<InterfaceAddress>).transpose()?,
        host_tap: args.host_tap.clone(),
        bound: time("--bound", args.bound.as_deref().unwrap_or(DEFAULT_BOUND))?,
        duration: args.duration.as_deref().map(|text| time("--duration", text)).transpose()?,
        faults: link_faults(args.link.as_deref())?,
        tape: None,
    })
}

/// Opens the door for debuggers, under the wire's name; where that cannot be, the run goes on without. Of a
/// cluster there is a program for each group of nodes, one without a file if it runs none.
fn reception(
    args: &UpArgs,
    programs: &[(&str, Option<&Path>)],
    nodes: Option<Nodes>,
) -> Box<dyn Guest> {
    let name = args.tap.as_ref().or(args.interface.as_ref()).map_or("", String::as_str);
    let read = |(name, path): &(&str, Option<&Path>)| {
        let read =
            |path| pinion_input::bytes(path).map_err(|error| Error::file("read", path, error));
        let elf = path.map(read).transpose()?.unwrap_or_default();
        Ok(Known { name: format!("{name}.elf"), elf })
    };
    let programs: Result<Vec<Known>> = programs.iter().map(read).collect();
    match programs.and_then(|programs| Reception::open(name, programs, nodes)) {
        Ok(reception) => Box::new(reception),
        Err(error) => {
            output::notice(&format!("no debugger can attach: {error}"));
            Box::new(NoGuest)
        }
    }
}

/// Runs on the simulator, or on the native engine with so many workers.
fn go(
    app: &App,
    options: &Options,
    workers: Option<u32>,
    outputs: &Outputs,
    (guest, watch): (&mut dyn Guest, &mut Watch),
) -> Result<Summary> {
    #[cfg(target_arch = "x86_64")]
    if let Some(workers) = workers {
        return pinion::native::run_live(app, options, workers, outputs, guest, watch);
    }
    debug_assert!(workers.is_none(), "refused where there is no native engine");
    live::run(app, options, outputs, guest, watch)
}

/// Runs a cluster live.
fn run_cluster(args: &UpArgs, file: &Path) -> Result<Status> {
    refuse_for_nodes(args, "a cluster's node")?;
    cluster::refuse_reports(&args.report)?;
    cluster::refuse_program(args.elf.is_some(), &args.engine)?;
    let mut options = options(args)?;
    let Some(address) = options.address else {
        let why = "a cluster on a device needs --address, for example 10.0.0.1/8: it is where its \
                   nodes send what is for the host";
        return Err(Error::Usage(why.to_owned()));
    };
    // Faults are those of every cable, as in any other run of a cluster.
    let run = RunOptions { faults: options.faults.take(), ..RunOptions::default() };
    let kernel = OtherSide { address: address.address, prefix: address.prefix };
    let plan = Arc::new(Plan::load_live(file, &build::options(&args.app), kernel)?);
    plan.built().for_each(build::show);
    let nodes = plan.nodes() - 1;
    let [first, last] = [0, nodes - 1].map(|node| Ipv4Addr::from_bits(plan.address(node)));
    let greeting = format!(
        "{} on {}: the host is {address}, nodes {} to {} are {first} to {last}. Ctrl-C ends.\n",
        plan.name,
        args.tap.as_deref().unwrap_or_default(),
        plan.names[0],
        plan.names[nodes - 1]
    );
    let dashboard = args.dashboard.as_deref();
    let dashboard = dashboard.map(|address| Dashboard::open(address, &plan.name)).transpose()?;
    let mut watch = Watch::new(greeting, dashboard);
    let (mut keep, tape) = Keep::begin_live(args, Subject::Cluster(&plan, file))?;
    options.tape = tape;
    let programs = plan.groups.iter().map(|group| match &group.target {
        Target::Nanoservice { service, .. } => (&*group.name, Some(service.built.elf.as_path())),
        Target::Handlers { app } => (&*group.name, Some(app.built.elf.as_path())),
        Target::Load { .. } | Target::Frames { .. } => (&*group.name, None),
    });
    let programs: Vec<_> = programs.collect();
    let nodes = Nodes::Cluster(Arc::clone(&plan), Box::new(run.clone()));
    let mut guest = reception(args, &programs, Some(nodes));
    let summary = pinion::cluster::live::run(&plan, &options, &run, &mut *guest, &mut watch)?;
    conclude(args, &summary, &mut keep)
}

/// Prints and writes a summary, then what was recorded; gives the exit status.
fn conclude(args: &UpArgs, summary: &dyn Report, keep: &mut Keep) -> Result<Status> {
    let status = report::conclude(&args.report, summary)?;
    keep.end(summary)?;
    Ok(status)
}

/// Refuses what goes with a NIC that is in a host.
fn refuse_for_nodes(args: &UpArgs, who: &str) -> Result<()> {
    if args.interface.is_some() {
        return Err(Error::Usage(format!(
            "--interface goes with packet handlers; {who} has an address of its own, for which the \
             network behind an interface would have to know a way: use --tap NAME"
        )));
    }
    if args.host_tap.is_some() {
        return Err(Error::Usage(format!(
            "--host-tap goes with packet handlers; {who} has no host side"
        )));
    }
    Ok(())
}

/// Drops frames that waited longer, unless told otherwise.
pub const DEFAULT_BOUND: &str = "200ms";

/// Runs a nanoservice live.
fn run_service(args: &UpArgs, manifest: Manifest) -> Result<Status> {
    service::refuse_reports(&args.report)?;
    engine::refuse(&args.engine, "a nanoservice runs on its simulated node")?;
    refuse_for_nodes(args, "a nanoservice's node")?;
    let mut options = options(args)?;
    let mut load = build::options(&args.app);
    load.elf = args.elf.clone();
    let (service, setup) = service::load(manifest, &load)?;
    let ip = nanoservice::live::node_ip(&setup, options.address);
    let ports = match setup.port_base() {
        0 => String::new(),
        base => format!(", port {base} + n is context n"),
    };
    let greeting = format!(
        "{} on {}: the node is {ip}, it speaks {}{ports}. Ctrl-C ends.\n",
        service.manifest.app.name,
        args.tap.as_deref().unwrap_or_default(),
        setup.transport().name()
    );
    let (name, machine) = (&service.manifest.app.name, &setup.machine.value.name);
    let mut watch = Watch::new(greeting, dashboard(args, name, machine)?);
    let outputs = service::outputs(&args.report);
    let (mut keep, tape) = Keep::begin_live(args, Subject::Nanoservice(&service, &setup))?;
    options.tape = tape;
    let (service, own) = (Arc::new(service), setup.clone());
    let program = (service.manifest.app.name.as_str(), Some(service.built.elf.as_path()));
    let nodes = Nodes::Nanoservice(Arc::clone(&service), Box::new(own), options.address);
    let mut guest = reception(args, &[program], Some(nodes));
    let summary =
        nanoservice::live::run(&service, setup, &options, &outputs, &mut *guest, &mut watch)?;
    conclude(args, &summary, &mut keep)
}

/// Opens the dashboard, if it is wanted.
fn dashboard(args: &UpArgs, app: &str, machine: &str) -> Result<Option<Dashboard>> {
    let open = |address: &String| Dashboard::open(address, &format!("{app} on {machine}"));
    args.dashboard.as_ref().map(open).transpose()
}

fn greeting(args: &UpArgs, app: &App) -> String {
    let name = &app.manifest.app.name;
    let wire = args.tap.as_ref().or(args.interface.as_ref()).map_or("", String::as_str);
    match &args.address {
        Some(address) => format!(
            "{name} on {wire}: the host is {address}, every other address of that network is the \
             NIC's. Ctrl-C ends.\n",
        ),
        None => format!("{name} on {wire}. Ctrl-C ends.\n"),
    }
}

pub fn time(option: &str, text: &str) -> Result<Duration> {
    let time: config::Duration =
        text.parse().map_err(|error| Error::Usage(format!("{option}: {error}")))?;
    Ok(Duration::from_nanos(time.ps / 1000))
}

/// Prints what happens in a live run until Ctrl-C.
pub struct Watch {
    /// That Ctrl-C was pressed.
    interrupted: Arc<AtomicBool>,
    /// Printed when the devices are open.
    greeting: String,
    /// Shows the run to browsers.
    dashboard: Option<Dashboard>,
}

impl Watch {
    /// Says a greeting when the devices are open, and shows the run if that is wanted.
    pub fn new(greeting: String, dashboard: Option<Dashboard>) -> Self {
        Self { interrupted: interrupt::flag(), greeting, dashboard }
    }
}

impl Sink for Watch {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        output::print(&format!("[{time} cluster {cluster} HPU {hpu}] {text}\n"));
    }

    fn packet(&mut self, record: &PacketRecord) {
        if let Some(dashboard) = &mut self.dashboard {
            dashboard.packet(record);
        }
    }
}

impl Observer for Watch {
    fn started(&mut self) {
        output::print(&self.greeting);
        if let Some(dashboard) = &self.dashboard {
            output::print(&format!("It can be looked at: {}\n", dashboard.url()));
        }
    }

    fn goes_on(&mut self, _: &Progress) -> bool {
        !self.interrupted.load(Ordering::Relaxed)
    }

    fn sees(&mut self, seen: &mut dyn Seen) {
        if let Some(dashboard) = &mut self.dashboard {
            dashboard.sees(seen);
        }
    }

    fn console(&mut self, text: &str) {
        output::print(text);
    }

    fn notice(&mut self, text: &str) {
        output::notice(text);
    }
}
