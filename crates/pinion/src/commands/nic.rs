//! `pinion nic`: a NIC that host programs use, what its handlers print, and how it is.

use pinion::Error;
use pinion::dashboard::Dashboard;
use pinion::error::Result;
use pinion::live::{Options as LiveOptions, WireName};
use pinion::machine;
use pinion::nic::{self, Allowed, Lines};
use pinion::record::Recording;
use pinion::traffic::link_faults;
use pinion_net::tap::InterfaceAddress;
use pinion_sim::Time;

use super::recorded::{self, Keep};
use super::run::{self, outputs};
use super::up::{DEFAULT_BOUND, Watch, time};
use super::{Status, files, look, report};
use crate::cli::{CLUSTER, NicArgs, NicLogArgs, NicStatusArgs, NicVerb, RunArgs};
use crate::output;

pub fn run(args: &NicArgs) -> Result<Status> {
    match &args.command {
        Some(NicVerb::Log(args)) => log(args),
        Some(NicVerb::Status(args)) => status(args),
        None => serve(args),
    }
}

fn serve(args: &NicArgs) -> Result<Status> {
    let mut files = files::reports(&args.report);
    files.extend(args.record.iter().map(|file| ("--record", file.clone())));
    files::keep_apart(&[], &files)?;
    let machine = machine::load::<pinion_spin::Machine>(&args.machine, &args.set, args.faithful)?;
    let wire = match (&args.tap, &args.interface) {
        (Some(name), _) => WireName::Tap(name.clone()),
        (None, Some(name)) => WireName::Interface(name.clone()),
        (None, None) => {
            return Err(Error::Usage(
                "a NIC needs a wire: --tap NAME, or --interface NAME for one that exists"
                    .to_owned(),
            ));
        }
    };
    let mut options = options(args, wire, machine.value.clone())?;
    let (mut keep, tape) = Keep::begin_nic(args, &machine)?;
    options.live.tape = tape;
    let title = format!("{} on {}", args.device, machine.value.name);
    let open = |address: &String| Dashboard::open(address, &title);
    let mut watch = Watch::new(greeting(args), args.dashboard.as_ref().map(open).transpose()?);
    let summary = nic::run(&options, &outputs(&args.report), &mut watch)?;
    let status = report::conclude(&args.report, &summary)?;
    keep.end(&summary)?;
    Ok(status)
}

/// Repeats a recorded run, without device and programs.
pub fn replay(args: &RunArgs, recording: &Recording, keep: &mut Keep) -> Result<Status> {
    let with = "with the recording of an application; this one is of a NIC with host programs";
    look::refuse(args, &CLUSTER, with)?;
    look::refuse(args, &["--host-dump", "--check"], with)?;
    let own = recorded::of_nic(recording)?;
    let machine = machine::load::<pinion_spin::Machine>(&own.machine, &own.set, own.faithful)?;
    let options = options(&own, WireName::Nowhere, machine.value)?;
    let watch = &mut look::Quiet(run::Watch::new(!args.quiet));
    let outputs = outputs(&args.report);
    let summary = nic::replay(&options, recording.folder(), &outputs, watch)?;
    watch.0.clear();
    let status = report::conclude(&args.report, &summary)?;
    keep.end(&summary)?;
    Ok(status)
}

/// Turns the arguments into the library's.
fn options(args: &NicArgs, wire: WireName, machine: pinion_spin::Machine) -> Result<nic::Options> {
    Ok(nic::Options {
        live: LiveOptions {
            wire,
            address: args.address.as_deref().map(str::parse::<InterfaceAddress>).transpose()?,
            host_tap: args.host_tap.clone(),
            bound: time("--bound", args.bound.as_deref().unwrap_or(DEFAULT_BOUND))?,
            duration: args.duration.as_deref().map(|text| time("--duration", text)).transpose()?,
            faults: link_faults(args.link.as_deref())?,
            tape: None,
        },
        machine,
        engine_core: args.core.choice(false),
        device: args.device.clone(),
        contexts: args.contexts,
        allowed: Allowed::new(&args.allow_user, &args.allow_group)?,
        log_lines: args.log_lines,
    })
}

fn greeting(args: &NicArgs) -> String {
    let wire = args.tap.as_ref().or(args.interface.as_ref()).map_or("", String::as_str);
    let host = match &args.address {
        Some(address) => format!("; the host is {address}"),
        None => String::new(),
    };
    format!("NIC {} ({}) on {wire}{host}. Ctrl-C ends.\n", args.device, args.machine)
}

fn status(args: &NicStatusArgs) -> Result<Status> {
    let status = nic::status(&args.device)?;
    output::print(&match args.json {
        true => format!("{status}\n"),
        false => nic::status_text(&status),
    });
    Ok(Status::Success)
}

fn log(args: &NicLogArgs) -> Result<Status> {
    let mut printer = Printer { is_json: args.json };
    nic::log_lines(&args.device, args.follow, &mut printer)?;
    Ok(Status::Success)
}

struct Printer {
    is_json: bool,
}

impl Lines for Printer {
    fn line(&mut self, time_ps: u64, (cluster, hpu): (u32, u32), text: &str, lost: u64) -> bool {
        let line = if self.is_json {
            nic::log_line_json(time_ps, (cluster, hpu), text, lost).to_string()
        } else {
            let lost = if lost > 0 { format!("[{lost} lines lost]\n") } else { String::new() };
            format!("{lost}[{} cluster {cluster} HPU {hpu}] {text}", Time::from_ps(time_ps))
        };
        // Whoever reads may have seen enough.
        output::write(&format!("{line}\n"))
    }
}
