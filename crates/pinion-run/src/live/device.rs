//! What a live run has around it: the wire, a second device for the host side, and who answers ARP where
//! no network stack does.

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use pinion_net::tap::{Tap, TapError};

use super::Options;
use super::arp::{ARP_FRAME_BYTES, NIC_MAC, Responder};
use super::wire::Wire;
use pinion_app::error::{Error, Result};

/// Reads at most this many frames at a time.
const BATCH: usize = 256;
/// The Ethernet type of ARP.
const ARP: [u8; 2] = [0x08, 0x06];

/// The wire, and the host side.
pub struct Device {
    wire: Wire,
    host_tap: Option<Tap>,
    responder: Option<Responder>,
    strips_ethernet: bool,
    buffer: Vec<u8>,
    error: Option<Error>,
    /// Number of frames the kernel did not take.
    refused: u64,
    /// Number of ARP requests answered.
    answered: u64,
    /// ARP is answered here before anything else sees it: there are nodes with addresses of their own.
    takes_arp: bool,
}

impl Device {
    /// Opens the devices.
    pub fn open(options: &Options, strips_ethernet: bool) -> Result<Self> {
        let wire = Wire::open(&options.wire, options.address, options.faults.as_ref())?;
        let host_tap = options.host_tap.as_deref().map(|name| Tap::open(name, None)).transpose()?;
        let host_bytes = host_tap.as_ref().map_or(0, Tap::max_frame_bytes);
        // Behind an interface the kernel answers ARP itself.
        let answers_arp = wire.is_tap();
        Ok(Self {
            responder: answers_arp.then_some(Responder { kernel: options.address, only: None }),
            strips_ethernet,
            buffer: vec![0; wire.max_frame_bytes().max(host_bytes)],
            wire,
            host_tap,
            error: None,
            refused: 0,
            answered: 0,
            takes_arp: false,
        })
    }

    /// Answers ARP for nodes' addresses, from the first to the last, and keeps it from them: a nanoPU
    /// speaks none.
    #[must_use]
    pub fn for_nodes(mut self, addresses: [Ipv4Addr; 2]) -> Self {
        self.responder = Some(Responder { kernel: None, only: Some(addresses) });
        self.takes_arp = true;
        self
    }

    /// Gives the hardware address of the kernel's side.
    pub fn mac(&self) -> [u8; 6] {
        self.wire.mac()
    }

    /// Gives the wire's name.
    pub fn name(&self) -> &str {
        self.wire.name()
    }

    /// Counts the frames that the kernel dropped before they were read from the devices.
    pub fn dropped_by_kernel(&self) -> u64 {
        let host = self.host_tap.as_ref().map_or(0, Tap::dropped_by_kernel);
        self.wire.dropped_by_kernel() + host
    }

    /// Says what else happened to frames.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let unread = [
            (self.wire.dropped_by_kernel(), self.name()),
            self.host_tap.as_ref().map_or((0, ""), |tap| (tap.dropped_by_kernel(), tap.name())),
        ];
        for (frames, name) in unread.into_iter().filter(|(frames, _)| *frames > 0) {
            remarks.push(format!(
                "dropped by the kernel on {name}, whose queue was full: {frames} frames"
            ));
        }
        remarks.extend(self.wire.remarks());
        if self.answered > 0 {
            remarks.push(format!("ARP requests answered: {}", self.answered));
        }
        if self.refused > 0 {
            remarks.push(format!("frames the kernel did not take: {}", self.refused));
        }
        remarks
    }

    /// Waits for a frame, a while at most.
    pub fn wait(&self, longest: Duration) -> Result<()> {
        self.wait_too(longest, &[])
    }

    /// Waits for a frame or something else, a while at most.
    pub fn wait_too(&self, longest: Duration, others: &[BorrowedFd<'_>]) -> Result<()> {
        let all = self.fds().chain(others.iter().copied());
        let mut waited: Vec<PollFd<'_>> =
            all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let limit = self.patience(longest);
        let limit = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
        match poll(&mut waited, limit) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(Error::part("cannot wait for frames", errno)),
        }
    }

    /// Shortens a wait to when a frame goes on that the wire's faults hold back.
    pub fn patience(&self, limit: Duration) -> Duration {
        self.wire.patience(limit)
    }

    /// Lists what tells that a frame is there.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.wire.as_fd()).chain(self.host_tap.as_ref().map(AsFd::as_fd))
    }

    /// Reads what is there: frames from the wire for the NIC, frames from the host for the wire.
    pub fn read_each(&mut self, mut take: impl FnMut(&[u8])) -> Result<()> {
        for _ in 0..BATCH {
            let Some(bytes) = self.wire.read(&mut self.buffer)? else { break };
            if self.takes_arp && self.buffer[..bytes].get(12..14) == Some(&ARP) {
                let answer = self.responder.and_then(|arp| arp.answer(&self.buffer[..bytes]));
                self.answer(answer);
                self.take_error()?;
            } else {
                take(&self.buffer[..bytes]);
            }
        }
        let Some(host) = &mut self.host_tap else { return Ok(()) };
        for _ in 0..BATCH {
            let Some(bytes) = host.read(&mut self.buffer)? else { break };
            let taken = self.wire.write(&self.buffer[..bytes])?;
            self.refused += u64::from(!taken);
        }
        Ok(())
    }

    /// Sends the answer to an ARP request, if there is one.
    fn answer(&mut self, answer: Option<[u8; ARP_FRAME_BYTES]>) {
        if let Some(answer) = answer {
            self.answered += 1;
            let written = self.wire.write(&answer);
            self.note(written);
        }
    }

    /// Puts a frame on the wire.
    pub fn send(&mut self, frame: &[u8]) {
        let written = match self.strips_ethernet {
            false => self.wire.write(frame),
            true => {
                let framed = with_header(frame, self.wire.mac());
                self.wire.write(&framed)
            }
        };
        self.note(written);
    }

    /// Takes a frame that no context matches.
    pub fn take_unmatched(&mut self, frame: &[u8]) {
        if let Some(host) = &mut self.host_tap {
            let written = host.write(frame).map_err(Error::from);
            self.note(written);
        } else {
            self.answer(self.responder.and_then(|arp| arp.answer(frame)));
        }
    }

    fn note(&mut self, written: Result<bool>) {
        match written {
            Ok(taken) => self.refused += u64::from(!taken),
            // A handler may send anything; what is no frame does not reach the wire.
            Err(Error::Tap(TapError::NotAFrame { .. })) => self.refused += 1,
            Err(error) => self.error = Some(error),
        }
    }

    /// Gives the first error of a write, once.
    ///
    /// # Errors
    /// That one.
    pub fn take_error(&mut self) -> Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Puts an Ethernet header before a packet that starts at the IP header.
fn with_header(packet: &[u8], kernel: [u8; 6]) -> Vec<u8> {
    let kind: [u8; 2] = match packet.first().map(|byte| byte >> 4) {
        Some(6) => [0x86, 0xdd],
        _ => [0x08, 0x00],
    };
    [&kernel[..], &NIC_MAC, &kind, packet].concat()
}
