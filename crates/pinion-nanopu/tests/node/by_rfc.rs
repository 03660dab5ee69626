//! What of a frame is a message, read as RFC 791, 768 and 1071 say and as NDP's layout does, without a program.

use pinion_nanopu::transport::DropReason;
use pinion_net::frame::internet_checksum;
use pinion_net::frame::lnic::{Header, NotLnic};

/// The protocol number of raw messages (RFC 3692).
const RAW: u8 = 0xfd;
/// A message's flags.
const DATA: u8 = 1;
/// That of UDP.
const UDP: u8 = 17;

/// What a NIC takes of a frame.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    pub src_ip: u32,
    pub contexts: (u16, u16),
    pub msg_len: u16,
    pub payload: Vec<u8>,
}

/// Reads a raw message. What calls itself anything but a message is not looked into: its program lets it fall, empty or not.
pub fn raw(frame: &[u8]) -> Result<Taken, DropReason> {
    let longer = [frame, &[0]].concat();
    let (header, payload) = match Header::parse(frame, RAW) {
        Err(NotLnic::NoPayload) if frame[34] != DATA => (Header::parse(&longer, RAW)?.0, &[][..]),
        read => read?,
    };
    Ok(Taken {
        src_ip: header.src_ip,
        contexts: (header.src_context, header.dst_context),
        msg_len: header.msg_len,
        payload: payload.to_vec(),
    })
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Reads a datagram for contexts from this port on.
pub fn udp(frame: &[u8], port_base: u16) -> Result<Taken, DropReason> {
    if frame.len() < 42 {
        return Err(DropReason::Malformed);
    }
    let ip = &frame[14..];
    let header_bytes = usize::from(ip[0] & 0xf) * 4;
    if half(frame, 12) != 0x0800 || ip[0] >> 4 != 4 || header_bytes < 20 {
        return Err(DropReason::NotIp);
    }
    if ip.len() < header_bytes + 8 {
        return Err(DropReason::Malformed);
    }
    if ip[9] != UDP {
        return Err(DropReason::Protocol);
    }
    let whole = ip.get(header_bytes..usize::from(half(ip, 2))).filter(|rest| rest.len() >= 8);
    let whole = whole.ok_or(DropReason::HeaderLies)?;
    let is_fragment = half(ip, 6) & 0x3fff != 0;
    let datagram = whole.get(..usize::from(half(whole, 4))).filter(|bytes| bytes.len() >= 8);
    let datagram = datagram.ok_or(DropReason::HeaderLies)?;
    // The datagram's sum covers its addresses, protocol and length.
    let mut summed = ip[12..20].to_vec();
    summed.extend([0, UDP]);
    summed.extend((datagram.len() as u16).to_be_bytes());
    summed.extend(datagram);
    let is_sum_wrong = half(datagram, 6) != 0 && internet_checksum(&summed) != 0;
    if is_fragment || internet_checksum(&ip[..header_bytes]) != 0 || is_sum_wrong {
        return Err(DropReason::HeaderLies);
    }
    let context = half(datagram, 2).checked_sub(port_base);
    let context = context.ok_or(DropReason::ContextOutOfRange)?;
    let payload = &datagram[8..];
    if payload.is_empty() {
        return Err(DropReason::ZeroLength);
    }
    Ok(Taken {
        src_ip: u32::from_be_bytes([ip[12], ip[13], ip[14], ip[15]]),
        contexts: (half(datagram, 0), context),
        msg_len: payload.len() as u16,
        payload: payload.to_vec(),
    })
}
