//! What there is of a lab. In: its record. Out: a report, from what the system says now.

use super::network::{ip_inside, tap_of};
use super::space::Space;
use super::state::Record;
use super::{End, LabName};

/// What there is of a lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The lab's name.
    pub name: String,
    /// Its namespaces, those that are recorded.
    pub spaces: Vec<SpaceReport>,
}

/// What there is of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceReport {
    /// Its name.
    pub name: String,
    /// Where it is found.
    pub path: String,
    /// Whether it is there.
    pub is_there: bool,
    /// Whether only a process holds it: `ip netns` does not know it.
    pub is_held: bool,
    /// Its device.
    pub device: &'static str,
    /// The device's address, when it is there and has one.
    pub address: Option<String>,
    /// Whether a NIC has the device open.
    pub has_nic: bool,
    /// The processes inside: process id and name.
    pub processes: Vec<(u32, String)>,
}

impl Report {
    /// Tells whether all is there.
    pub fn is_complete(&self) -> bool {
        self.spaces.len() == End::BOTH.len()
            && self.spaces.iter().all(|space| space.is_there && space.address.is_some())
    }

    /// Gives how the devices are named where they are opened from outside: client's, then host's.
    pub fn devices(&self) -> Vec<String> {
        let place = |space: &SpaceReport| match space.is_held {
            true => format!("{}@{}", space.device, space.path),
            false => format!("{}@{}", space.device, space.name),
        };
        self.spaces.iter().map(place).collect()
    }
}

/// Looks at what a record names.
pub fn of(name: &LabName, record: &Record) -> Report {
    let spaces = record.spaces.iter().zip(End::BOTH).map(|(space, end)| look(space, end)).collect();
    Report { name: name.as_str().to_owned(), spaces }
}

fn look(space: &Space, end: End) -> SpaceReport {
    let device = tap_of(end);
    let is_there = space.is_there();
    let ask = |arguments: &[&str]| match is_there {
        true => ip_inside(space, arguments, "").ok().and_then(Result::ok).unwrap_or_default(),
        false => String::new(),
    };
    let link = ask(&["-oneline", "link", "show", "dev", device]);
    let addresses = ask(&["-oneline", "-4", "address", "show", "dev", device]);
    let address = addresses.split_whitespace().skip_while(|word| *word != "inet").nth(1);
    SpaceReport {
        name: space.name.clone(),
        path: space.path().display().to_string(),
        is_there,
        is_held: space.holder.is_some(),
        device,
        address: address.map(str::to_owned),
        has_nic: link.contains("LOWER_UP"),
        processes: if is_there { space.processes() } else { Vec::new() },
    }
}
