//! Replies to echo requests, as host programs and the kernel make them.

use pinion_host::HostModel;
use pinion_net::frame::internet_checksum;

use super::poll::{Answer, Service};

/// The IP protocol number of ICMP.
const ICMP: u8 = 1;
/// The IP protocol number of UDP.
const UDP: u8 = 17;
/// Bytes of the Ethernet header.
const ETHERNET_BYTES: usize = 14;
/// Bytes of an IPv4 header without options.
const IP_BYTES: usize = 20;
/// Hops that a reply may take.
const TIME_TO_LIVE: u8 = 64;

/// Tells what an echo request was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// An ICMP echo request of so many bytes, ICMP's header included.
    Icmp(usize),
    /// A datagram.
    Udp,
}

/// Turns an echo request into its reply, in place; `None`, and nothing changed: it is none.
pub(super) fn reply(frame: &mut [u8]) -> Option<Request> {
    let protocol = *frame.get(23).filter(|_| frame.len() >= 42 && frame[12..14] == [8, 0])?;
    let ip_bytes = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let end = ETHERNET_BYTES + ip_bytes;
    if end > frame.len() || ip_bytes < IP_BYTES + 8 || frame[14] != 0x45 {
        return None;
    }
    let request = match protocol {
        ICMP if frame[34] == 8 => Request::Icmp(ip_bytes - IP_BYTES),
        UDP => Request::Udp,
        _ => return None,
    };
    swap(frame, 0, 6, 6);
    swap(frame, 26, 30, 4);
    frame[22] = TIME_TO_LIVE;
    put_sum(frame, 24, 14..34);
    match request {
        Request::Icmp(_) => {
            frame[34] = 0;
            put_sum(frame, 36, 34..end);
        }
        Request::Udp => swap(frame, 34, 36, 2),
    }
    Some(request)
}

/// Exchanges two fields of a frame.
fn swap(frame: &mut [u8], a: usize, b: usize, bytes: usize) {
    for index in 0..bytes {
        frame.swap(a + index, b + index);
    }
}

/// Computes a checksum over bytes that include its own place.
fn put_sum(frame: &mut [u8], at: usize, over: std::ops::Range<usize>) {
    frame[at..at + 2].fill(0);
    let sum = internet_checksum(&frame[over]);
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The host program of the mode Host+FPsPIN: it makes the reply in the HPU's page, with the
/// portable checksum that the handler of the mode FPsPIN has too.
#[derive(Clone, Debug)]
pub struct Echo {
    model: HostModel,
}

impl Echo {
    /// Makes the program.
    pub fn new(model: &HostModel) -> Self {
        Self { model: model.clone() }
    }
}

impl Service for Echo {
    fn serve(&mut self, _: u32, payload: &mut Vec<u8>) -> Option<Answer> {
        let request = reply(payload);
        let summed = match request {
            Some(Request::Icmp(bytes)) => IP_BYTES + bytes,
            Some(Request::Udp) => IP_BYTES,
            None => 0,
        };
        // Without a reply the handler is told so: it must not wait.
        let bytes = if request.is_some() { payload.len() as u32 } else { 0 };
        Some(Answer { bytes, work_ps: self.model.program.checksum_ps(summed) })
    }
}
