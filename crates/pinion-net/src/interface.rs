//! Network interfaces that exist (Linux, AF_PACKET): live Ethernet frames from and to a wire. In:
//! frames the interface receives. Out: frames it sends. Holds one socket; reading and writing never
//! wait, [`Interface::wait`] does.
//!
//! The kernel's own stack sees received frames too and may answer them. Opening one needs the right
//! CAP_NET_RAW (root has it).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use thiserror::Error;

/// Bytes of the largest frame that the kernel gives: what receive offloading may put together, and what any MTU of a
/// TAP device allows, which may change while it is open.
pub(crate) const LARGEST_FRAME_BYTES: usize = (64 << 10) + 18;
/// Makes the kernel keep the socket's own frames from it (linux/if_packet.h).
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Says what is in the way of an interface and what to do.
#[derive(Debug, Error)]
pub enum InterfaceError {
    /// There is none of that name.
    #[error("there is no network interface `{name}` (`ip link` lists them): {source}")]
    Missing {
        /// The name.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The user may not open it.
    #[error(
        "no permission to read frames from `{name}`: that needs root or the right CAP_NET_RAW; run \
         the command with `sudo`, or once `sudo setcap cap_net_raw+ep $(command -v pinion)`"
    )]
    Permission {
        /// The interface.
        name: String,
    },
    /// The system refused for another reason.
    #[error("cannot open the network interface `{name}`: {source}")]
    Setup {
        /// The interface.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The interface stopped working.
    #[error("lost the network interface `{name}` (was it taken down?): {source}")]
    Lost {
        /// The interface.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// An open interface.
#[derive(Debug)]
pub struct Interface {
    socket: OwnedFd,
    name: String,
    mac: [u8; 6],
}

impl Interface {
    /// Opens the interface of this name.
    ///
    /// # Errors
    /// When there is none, or the user may not.
    pub fn open(name: &str) -> Result<Self, InterfaceError> {
        let setup = |source| InterfaceError::Setup { name: name.to_owned(), source };
        let index = index_of(name)?;
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call; the descriptor is owned below.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(protocol)) };
        if socket < 0 {
            let source = io::Error::last_os_error();
            return Err(match source.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => {
                    InterfaceError::Permission { name: name.to_owned() }
                }
                _ => setup(source),
            });
        }
        // SAFETY: just opened, and nobody else has it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        // SAFETY: all zeros are a valid address, filled below.
        let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index;
        // SAFETY: the address has the length given; the option is an int.
        let bound = unsafe {
            let yes: libc::c_int = 1;
            // Older kernels do not know it; `read` leaves own frames out as well.
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_IGNORE_OUTGOING,
                (&raw const yes).cast(),
                size_of_val(&yes) as u32,
            );
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as u32,
            )
        };
        if bound < 0 {
            return Err(setup(io::Error::last_os_error()));
        }
        let mac = mac_of(name).unwrap_or_default();
        Ok(Self { socket, name: name.to_owned(), mac })
    }

    /// Returns the interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its hardware address.
    pub fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// Returns the size a buffer must have so that no frame is cut.
    pub fn max_frame_bytes(&self) -> usize {
        LARGEST_FRAME_BYTES
    }

    /// Reads one received frame, if there is one; never waits.
    ///
    /// # Errors
    /// [`InterfaceError::Lost`] when the interface is gone or down.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, InterfaceError> {
        loop {
            // SAFETY: all zeros are a valid address.
            let mut from: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
            let mut length = size_of_val(&from) as u32;
            // SAFETY: buffer and address have the lengths given.
            let bytes = unsafe {
                libc::recvfrom(
                    self.socket.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    0,
                    (&raw mut from).cast(),
                    &mut length,
                )
            };
            if bytes >= 0 && from.sll_pkttype == libc::PACKET_OUTGOING {
                continue;
            }
            match usize::try_from(bytes) {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(_) => match self.refused()? {
                    Refusal::Later => return Ok(None),
                    Refusal::Again => {}
                },
            }
        }
    }

    /// Sends one frame; never waits. Tells whether the kernel took it.
    ///
    /// # Errors
    /// [`InterfaceError::Lost`] when the interface is gone or down.
    pub fn write(&mut self, frame: &[u8]) -> Result<bool, InterfaceError> {
        loop {
            // SAFETY: the frame has the length given.
            let sent = unsafe {
                libc::send(self.socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0)
            };
            if sent >= 0 {
                return Ok(true);
            }
            match self.refused()? {
                Refusal::Later => return Ok(false),
                Refusal::Again => {}
            }
        }
    }

    /// Waits until a frame can be read, the time is over (`None`: no limit), or a signal comes;
    /// tells whether a frame is there.
    ///
    /// # Errors
    /// [`InterfaceError::Lost`] when the system refuses to wait.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<bool, InterfaceError> {
        let timeout = match timeout {
            None => PollTimeout::NONE,
            Some(time) => {
                let ms = time.as_micros().div_ceil(1000).min(i32::MAX as u128);
                PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)
            }
        };
        let mut waited = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waited, timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => {
                Err(InterfaceError::Lost { name: self.name.clone(), source: errno.into() })
            }
        }
    }

    /// Tells what the last refused call means.
    fn refused(&self) -> Result<Refusal, InterfaceError> {
        let source = io::Error::last_os_error();
        match source.raw_os_error() {
            Some(libc::EINTR) => Ok(Refusal::Again),
            // Too large for the interface, or its queue is full: this frame only.
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EMSGSIZE | libc::EINVAL) => {
                Ok(Refusal::Later)
            }
            _ => Err(InterfaceError::Lost { name: self.name.clone(), source }),
        }
    }
}

enum Refusal {
    Again,
    Later,
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn index_of(name: &str) -> Result<i32, InterfaceError> {
    let missing = |source| InterfaceError::Missing { name: name.to_owned(), source };
    let text = std::ffi::CString::new(name).map_err(|_| missing(io::ErrorKind::NotFound.into()))?;
    // SAFETY: the name ends with a zero.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(missing(io::Error::last_os_error())),
        index => i32::try_from(index).map_err(|_| missing(io::ErrorKind::NotFound.into())),
    }
}

/// Reads the hardware address that the kernel shows.
fn mac_of(name: &str) -> Option<[u8; 6]> {
    let text = std::fs::read_to_string(format!("/sys/class/net/{name}/address")).ok()?;
    let bytes: Vec<u8> =
        text.trim().split(':').filter_map(|part| u8::from_str_radix(part, 16).ok()).collect();
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = Interface::open("pinion-none").unwrap_err().to_string();
        assert!(error.contains("`pinion-none`") && error.contains("ip link"), "{error}");
    }

    /// Sends to itself over the loopback interface, where the right is there.
    #[test]
    fn frames_go_through_the_loopback_interface() {
        let (Ok(mut one), Ok(mut other)) = (Interface::open("lo"), Interface::open("lo")) else {
            return;
        };
        let mut frame = [0u8; 60];
        frame[12..14].copy_from_slice(&[0x88, 0xb5]); // for experiments (IEEE 802)
        frame[20..26].copy_from_slice(b"pinion");
        assert!(one.write(&frame).unwrap());
        let mut buffer = vec![0; other.max_frame_bytes()];
        for _ in 0..100 {
            other.wait(Some(Duration::from_millis(100))).unwrap();
            while let Some(bytes) = other.read(&mut buffer).unwrap() {
                if buffer[..bytes] == frame {
                    return;
                }
            }
        }
        panic!("the frame did not come back");
    }
}
