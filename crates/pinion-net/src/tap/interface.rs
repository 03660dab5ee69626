//! A network interface's settings by ioctl (netdevice(7)). In: a name. Out: its address, flags,
//! hardware address, MTU. Holds the request that the kernel reads and writes.

use super::{InterfaceAddress, TapError};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

/// The kernel's `struct ifreq`: a name and 24 bytes whose meaning the request says.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: [u8; 24],
}

const _: () = assert!(size_of::<Request>() >= size_of::<libc::ifreq>());

/// One network interface.
pub(super) struct Interface {
    request: Request,
}

impl Interface {
    pub(super) fn new(name: &str) -> Result<Self, TapError> {
        let good = |c: char| !c.is_whitespace() && !c.is_control() && !"/:%".contains(c);
        let too_long = name.len() >= libc::IFNAMSIZ;
        if name.is_empty() || too_long || !name.chars().all(good) || name == "." || name == ".." {
            return Err(TapError::BadName { name: name.to_string() });
        }
        let mut request = Request { name: [0; libc::IFNAMSIZ], data: [0; 24] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Self { request })
    }

    /// Makes an open file of `/dev/net/tun` the other end of this TAP device.
    pub(super) fn attach(&self, file: &File) -> io::Result<()> {
        let flags = (libc::IFF_TAP | libc::IFF_NO_PI) as u16;
        let mut request = self.request;
        request.data[..2].copy_from_slice(&flags.to_ne_bytes());
        call(file.as_raw_fd(), libc::TUNSETIFF, &mut request)
    }

    pub(super) fn address(&self) -> io::Result<Option<InterfaceAddress>> {
        match self.ask(libc::SIOCGIFADDR) {
            Err(e) if e.raw_os_error() == Some(libc::EADDRNOTAVAIL) => Ok(None),
            Err(e) => Err(e),
            Ok(data) => {
                let mask = u32::from(ipv4_of(&self.ask(libc::SIOCGIFNETMASK)?));
                let prefix = mask.leading_ones() as u8;
                Ok(Some(InterfaceAddress { address: ipv4_of(&data), prefix }))
            }
        }
    }

    pub(super) fn set_address(&self, wanted: InterfaceAddress) -> io::Result<()> {
        self.tell(libc::SIOCSIFADDR, sockaddr_of(wanted.address))?;
        let mask = u32::MAX.checked_shl(32 - u32::from(wanted.prefix)).unwrap_or(0);
        self.tell(libc::SIOCSIFNETMASK, sockaddr_of(Ipv4Addr::from(mask)))
    }

    pub(super) fn bring_up(&self) -> io::Result<()> {
        let mut data = self.ask(libc::SIOCGIFFLAGS)?;
        let flags = u16::from_ne_bytes([data[0], data[1]]);
        let up = libc::IFF_UP as u16;
        if flags & up != 0 {
            return Ok(());
        }
        data[..2].copy_from_slice(&(flags | up).to_ne_bytes());
        self.tell(libc::SIOCSIFFLAGS, data)
    }

    pub(super) fn mac(&self) -> io::Result<[u8; 6]> {
        let data = self.ask(libc::SIOCGIFHWADDR)?;
        Ok([data[2], data[3], data[4], data[5], data[6], data[7]])
    }

    fn ask(&self, code: libc::c_ulong) -> io::Result<[u8; 24]> {
        let mut request = self.request;
        // Interfaces are asked about through any socket.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        call(socket.as_raw_fd(), code as libc::Ioctl, &mut request)?;
        Ok(request.data)
    }

    fn tell(&self, code: libc::c_ulong, data: [u8; 24]) -> io::Result<()> {
        let mut request = Request { data, ..self.request };
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        call(socket.as_raw_fd(), code as libc::Ioctl, &mut request)
    }
}

/// Writes a `struct sockaddr_in`: family in the machine's order, port, address.
fn sockaddr_of(address: Ipv4Addr) -> [u8; 24] {
    let mut data = [0; 24];
    data[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    data[4..8].copy_from_slice(&address.octets());
    data
}

fn ipv4_of(data: &[u8; 24]) -> Ipv4Addr {
    Ipv4Addr::new(data[4], data[5], data[6], data[7])
}

fn call(fd: RawFd, code: libc::Ioctl, request: &mut Request) -> io::Result<()> {
    // SAFETY: `fd` is open for the call's duration, and every code used here makes the kernel read
    // and write at most one `struct ifreq` at the pointer, which `Request` is at least as large as
    // and aligned like; all its bit patterns are valid.
    let result = unsafe { libc::ioctl(fd, code, std::ptr::from_mut(request)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
