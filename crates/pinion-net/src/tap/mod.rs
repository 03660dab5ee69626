//! TAP devices (Linux): live Ethernet frames from and to the kernel. In: frames the kernel sends
//! out of the device. Out: frames that the kernel then receives on it. Holds one file; reading and
//! writing never wait, [`Tap::wait`] does.
//!
//! A device that does not exist is made and goes away with the [`Tap`]; making it needs the right
//! CAP_NET_ADMIN (root has it). A device made beforehand with `ip tuntap add … user …` needs no
//! right, if it has its address and is up.

mod drops;
mod error;
mod interface;

#[cfg(test)]
mod tests;

pub use error::TapError;

use crate::interface::LARGEST_FRAME_BYTES;
use crate::namespace;
use drops::Drops;
use interface::Interface;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt as _};
use std::str::FromStr;
use std::time::Duration;

/// The kernel's door to TAP devices.
const DOOR: &str = "/dev/net/tun";

/// Holds the kernel's own address on a device and the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// Bits that all addresses of the network share.
    pub prefix: u8,
}

impl FromStr for InterfaceAddress {
    type Err = TapError;

    /// Reads `10.11.0.1/24`; without prefix it is 24.
    fn from_str(text: &str) -> Result<Self, TapError> {
        let wrong = || TapError::BadAddress { text: text.to_string() };
        let (address, prefix) = text.split_once('/').unwrap_or((text, "24"));
        let address = address.parse().map_err(|_| wrong())?;
        let prefix =
            prefix.parse().ok().filter(|bits| (1..=32).contains(bits)).ok_or_else(wrong)?;
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for InterfaceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Gives the permission bits of the kernel's door.
fn door_mode() -> Option<u32> {
    let metadata = std::fs::metadata(DOOR).ok()?;
    Some(metadata.permissions().mode() & 0o7777)
}

/// An open TAP device.
#[derive(Debug)]
pub struct Tap {
    file: File,
    name: String,
    mac: [u8; 6],
    drops: Option<Drops>,
}

impl Tap {
    /// Opens the device of this name or makes it, gives it the address if one is wanted, and
    /// brings it up. An address that it has already stays. `NAME@NAMESPACE` is a device in another
    /// network namespace: a name that `ip netns` has, or a path.
    ///
    /// # Errors
    /// Says what to run instead where a right is missing, and what else is in the way.
    pub fn open(name: &str, address: Option<InterfaceAddress>) -> Result<Self, TapError> {
        let Some((device, namespace)) = name.split_once('@') else {
            return Self::open_here(name, address);
        };
        let path = namespace::path_of(namespace);
        let opened = namespace::inside(&path, || Self::open_here(device, address));
        let tap = opened.map_err(|source| TapError::Namespace {
            name: device.to_string(),
            path,
            source,
        })??;
        Ok(Self { name: name.to_string(), ..tap })
    }

    fn open_here(name: &str, address: Option<InterfaceAddress>) -> Result<Self, TapError> {
        let refused = |source: io::Error| TapError::at_opening(name, address, source);
        let interface = Interface::new(name)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(DOOR)
            .map_err(|source| TapError::at_door(name, address, door_mode(), source))?;
        interface.attach(&file).map_err(refused)?;
        let configured = |source| TapError::at_configuring(name, address, source);
        if let Some(wanted) = address {
            match interface.address().map_err(configured)? {
                Some(existing) if existing == wanted => {}
                Some(existing) => {
                    let name = name.to_string();
                    return Err(TapError::OtherAddress { name, existing, wanted });
                }
                None => interface.set_address(wanted).map_err(configured)?,
            }
        }
        interface.bring_up().map_err(configured)?;
        let mac = interface.mac().map_err(configured)?;
        Ok(Self { file, name: name.to_string(), mac, drops: Drops::of(name) })
    }

    /// Returns the device's name, as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the hardware address that the kernel uses on the device.
    pub fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// Returns the size a buffer must have so that no frame is cut.
    pub fn max_frame_bytes(&self) -> usize {
        LARGEST_FRAME_BYTES
    }

    /// Returns how many frames the kernel has dropped since the device was opened because nobody read
    /// them in time.
    pub fn dropped_by_kernel(&self) -> u64 {
        self.drops.as_ref().map_or(0, Drops::count)
    }

    /// Reads one frame that the kernel sent, if there is one; never waits.
    ///
    /// A buffer smaller than [`Tap::max_frame_bytes`] may get a cut frame.
    ///
    /// # Errors
    /// [`TapError::Lost`] when the device is gone or down.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, TapError> {
        loop {
            match self.file.read(buffer) {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(TapError::Lost { name: self.name.clone(), source }),
            }
        }
    }

    /// Gives one frame to the kernel; never waits. Tells whether the kernel took it.
    ///
    /// # Errors
    /// [`TapError::NotAFrame`] when it has less than an Ethernet header, [`TapError::Lost`] when
    /// the device is gone or down.
    pub fn write(&mut self, frame: &[u8]) -> Result<bool, TapError> {
        if frame.len() < crate::frame::ETHERNET_HEADER_BYTES {
            return Err(TapError::NotAFrame { bytes: frame.len() });
        }
        loop {
            match self.file.write(frame) {
                Ok(_) => return Ok(true),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => return Ok(false),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(TapError::Lost { name: self.name.clone(), source }),
            }
        }
    }

    /// Waits until a frame can be read, the time is over (`None`: no limit), or a signal comes;
    /// tells whether a frame is there. The kernel counts the time in whole milliseconds.
    ///
    /// # Errors
    /// [`TapError::Lost`] when the system refuses to wait.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<bool, TapError> {
        let timeout = match timeout {
            None => PollTimeout::NONE,
            Some(time) => {
                let ms = time.as_micros().div_ceil(1000).min(i32::MAX as u128);
                PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)
            }
        };
        let mut waited = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waited, timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => {
                Err(TapError::Lost { name: self.name.clone(), source: io::Error::from(errno) })
            }
        }
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
