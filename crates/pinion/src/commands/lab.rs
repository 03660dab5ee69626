//! `pinion lab`: two namespaces around a NIC.

use std::convert::Infallible;
use std::os::unix::process::CommandExt;
use std::process::Command;

use pinion::error::{Error, Result};
use pinion::lab::{self, CLIENT_ADDRESS, End, HOST_ADDRESS, LabName, Report, SpaceReport};

use super::Status;
use crate::cli::{LabArgs, LabEnd, LabVerb};
use crate::output;

pub fn run(args: &LabArgs) -> Result<Status> {
    if let LabVerb::Hold { record } = &args.command {
        lab::hold::hold(record).map_err(|error| Error::part("cannot hold a namespace", error))?;
        return Ok(Status::Success);
    }
    let name = LabName::new(&args.name)?;
    match &args.command {
        LabVerb::Up => {
            let is_new = lab::up(&name)?;
            output::print(&greeting(&lab::status(&name)?, is_new));
        }
        LabVerb::Down => {
            let done = lab::down(&name)?;
            match done.is_empty() {
                true => output::print(&format!("{}: there is no lab\n", args.name)),
                false => {
                    output::print(&done.iter().map(|line| format!("{line}\n")).collect::<String>())
                }
            }
        }
        LabVerb::Status => output::print(&text(&lab::status(&name)?)),
        LabVerb::Run { end, command } => {
            let end = match end {
                LabEnd::Host => End::Host,
                LabEnd::Client => End::Client,
            };
            become_inside(&name, end, command)?;
        }
        LabVerb::Hold { .. } => {}
    }
    Ok(Status::Success)
}

/// Becomes a program inside one end.
fn become_inside(name: &LabName, end: End, command: &[String]) -> Result<Infallible> {
    let [program, arguments @ ..] = command else {
        return Err(Error::Usage("lab run: which command?".to_owned()));
    };
    lab::enter(name, end)?;
    let error = Command::new(program).args(arguments).exec();
    Err(Error::part(format!("cannot run `{program}`"), error))
}

fn greeting(report: &Report, is_new: bool) -> String {
    let option = match report.name.as_str() {
        "pinion" => String::new(),
        name => format!(" --name {name}"),
    };
    let what = if is_new { "is up" } else { "was up already" };
    let mut text = format!(
        "{}: {what}; the client is {CLIENT_ADDRESS}, the host {HOST_ADDRESS}, the NIC between \
         them\n",
        report.name
    );
    if let [client, host] = &report.devices()[..] {
        text.push_str(&format!(
            "  NIC     pinion nic --machine fpspin --tap {client} --host-tap {host}\n"
        ));
    }
    text.push_str(&format!("  client  pinion lab{option} run client -- ping {HOST_ADDRESS}\n"));
    text.push_str(&format!("  end     pinion lab{option} down\n"));
    text
}

fn text(report: &Report) -> String {
    if report.spaces.is_empty() {
        return format!("{}: not up\n", report.name);
    }
    let state = if report.is_complete() { "up" } else { "incomplete: `up` makes it anew" };
    let rows: Vec<Vec<String>> = report.spaces.iter().map(row).collect();
    format!("{}: {state}\n{}", report.name, output::columns(&rows))
}

fn row(space: &SpaceReport) -> Vec<String> {
    let nic = if space.has_nic { "NIC attached" } else { "no NIC" };
    let inside: Vec<String> =
        space.processes.iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
    match space.is_there {
        false => vec![format!("  {}", space.name), "gone".to_owned()],
        true => vec![
            format!("  {}", space.name),
            space.path.clone(),
            space.device.to_owned(),
            space.address.clone().unwrap_or_else(|| "no address".to_owned()),
            nic.to_owned(),
            if inside.is_empty() { "nobody inside".to_owned() } else { inside.join(", ") },
        ],
    }
}
