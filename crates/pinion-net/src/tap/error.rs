//! What can be in the way of a TAP device.

use super::InterfaceAddress;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Says what is in the way of a TAP device and what to do.
#[derive(Debug, Error)]
pub enum TapError {
    /// The name cannot be an interface's.
    #[error(
        "`{name}` cannot be a network interface's name: it has 1 to 15 characters, none of them a \
         space, `/`, `:` or `%`"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// The address is of the wrong form.
    #[error("`{text}` is not an interface address: write it with its prefix, as 10.11.0.1/24")]
    BadAddress {
        /// The text.
        text: String,
    },
    /// The user may not open or make the device.
    #[error(
        "no permission for the TAP device `{name}`: run the command with `sudo`, or prepare the \
         device once with `{prepare}` and run without; with no root at all, `pinion run \
         --pcap-in FILE` takes recorded packets"
    )]
    Permission {
        /// The device.
        name: String,
        /// Commands that prepare the device.
        prepare: String,
    },
    /// The user may not open the kernel's door to TAP devices, prepared ones included.
    #[error(
        "no permission for the TAP device `{name}`: /dev/net/tun, through which every TAP device is \
         opened, has the mode {mode:04o}: run the command with `sudo`, or once `{prepare}` and run \
         without; with no root at all, `pinion run --pcap-in FILE` takes recorded packets"
    )]
    DoorPermission {
        /// The device.
        name: String,
        /// The mode of the door.
        mode: u32,
        /// Commands that open the door and prepare the device.
        prepare: String,
    },
    /// The device could be opened but not set up.
    #[error(
        "the TAP device `{name}` is there, but it lacks its address or is down, and changing that \
         needs root: run `{prepare}` once, or the command with `sudo`"
    )]
    ConfigurePermission {
        /// The device.
        name: String,
        /// Commands that set it up.
        prepare: String,
    },
    /// The kernel has no TAP devices.
    #[error(
        "this system offers no TAP devices (/dev/net/tun is missing): load the driver with `sudo \
         modprobe tun`; a container needs `--device /dev/net/tun --cap-add NET_ADMIN`; without, \
         `pinion run --pcap-in FILE` takes recorded packets"
    )]
    NoDriver,
    /// Another process has the device.
    #[error("the TAP device `{name}` is in use by another process; end it or take another name")]
    Busy {
        /// The device.
        name: String,
    },
    /// An interface of the name exists and is no TAP device.
    #[error(
        "`{name}` exists and is no TAP device (see `ip -d link show {name}`); take another name"
    )]
    NotATap {
        /// The interface.
        name: String,
    },
    /// The device has another address.
    #[error(
        "the TAP device `{name}` has the address {existing} already, not {wanted}: leave the \
         address out, or remove it with `sudo ip address flush dev {name}`"
    )]
    OtherAddress {
        /// The device.
        name: String,
        /// The address it has.
        existing: InterfaceAddress,
        /// The address asked for.
        wanted: InterfaceAddress,
    },
    /// The namespace that the name gives cannot be entered.
    #[error(
        "the TAP device `{name}` is looked for in the network namespace {}, which cannot be \
         entered: {source}; see `ip netns list`, or `pinion lab status`",
        path.display()
    )]
    Namespace {
        /// The device.
        name: String,
        /// The namespace.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The system refused for another reason.
    #[error("cannot set up the TAP device `{name}`: {source}")]
    Setup {
        /// The device.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The device stopped working.
    #[error("lost the TAP device `{name}` (was it taken down?): {source}")]
    Lost {
        /// The device.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The bytes are too few for an Ethernet frame.
    #[error("{bytes} bytes are no Ethernet frame: its header alone has 14")]
    NotAFrame {
        /// Bytes there.
        bytes: usize,
    },
}

impl TapError {
    /// Makes the error of a door, of this mode, that did not open.
    pub(super) fn at_door(
        name: &str,
        address: Option<InterfaceAddress>,
        mode: Option<u32>,
        source: io::Error,
    ) -> Self {
        match (source.raw_os_error(), mode) {
            (Some(libc::EPERM | libc::EACCES), Some(mode)) => {
                let prepare = format!("sudo chmod 0666 /dev/net/tun && {}", make(name, address));
                Self::DoorPermission { name: name.to_string(), mode, prepare }
            }
            _ => Self::at_opening(name, address, source),
        }
    }

    pub(super) fn at_opening(
        name: &str,
        address: Option<InterfaceAddress>,
        source: io::Error,
    ) -> Self {
        let device = name.to_string();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                Self::Permission { name: device, prepare: make(name, address) }
            }
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => Self::NoDriver,
            Some(libc::EBUSY) => Self::Busy { name: device },
            Some(libc::EINVAL) => Self::NotATap { name: device },
            _ => Self::Setup { name: device, source },
        }
    }

    pub(super) fn at_configuring(
        name: &str,
        address: Option<InterfaceAddress>,
        source: io::Error,
    ) -> Self {
        let device = name.to_string();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                Self::ConfigurePermission { name: device, prepare: set_up(name, address) }
            }
            _ => Self::Setup { name: device, source },
        }
    }
}

fn make(name: &str, address: Option<InterfaceAddress>) -> String {
    let add = format!("sudo ip tuntap add dev {name} mode tap user $USER");
    format!("{add} && {}", set_up(name, address))
}

fn set_up(name: &str, address: Option<InterfaceAddress>) -> String {
    let up = format!("sudo ip link set {name} up");
    match address {
        Some(address) => format!("sudo ip address add {address} dev {name} && {up}"),
        None => up,
    }
}
