//! The frames between nanoPUs: Ethernet, IPv4 and a 30-byte transport header, together the 64 bytes
//! of one word of the NIC's datapath; then the payload.
//!
//! Layout of the transport header, big-endian (RTL `Headers` of LNIC/Ingress.scala): flags 1, source
//! context 2, destination context 2, message length 2, packet offset 1, pull offset 2, message id of
//! the sender 2, buffer pointer 2, buffer size class 1, zeros 15. Homa's variant has the
//! priority a grant gives behind the grant offset and one zero fewer.

mod contradiction;

pub use contradiction::Contradiction;

use super::{ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES};

/// Bytes of all headers of a frame.
pub const LNIC_HEADER_BYTES: usize = 64;
/// IPv4 protocol number of NDP frames between nanoPUs.
pub const NDP_PROTOCOL: u8 = 0x99;
/// IPv4 protocol number of Homa frames between nanoPUs.
pub const HOMA_PROTOCOL: u8 = 0x9a;
/// Zero bytes that a control frame carries: one word of the datapath.
pub const CONTROL_PAYLOAD_BYTES: usize = 64;

/// Holds the flags of a transport header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// A packet of a message.
    pub const DATA: Self = Self(1);
    /// The packet arrived.
    pub const ACK: Self = Self(2);
    /// The packet arrived without its payload, or found no room.
    pub const NACK: Self = Self(4);
    /// The sender may send on (NDP's PULL, Homa's GRANT).
    pub const PULL: Self = Self(8);
    /// A switch cut the payload off.
    pub const CHOP: Self = Self(16);

    /// Tells whether all flags of `other` are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds flags.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::fmt::Display for Flags {
    /// Writes the names joined by `+`, as `ACK+PULL`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = [(1, "DATA"), (2, "ACK"), (4, "NACK"), (8, "PULL"), (16, "CHOP")];
        let set: Vec<_> = names.iter().filter(|(bit, _)| self.0 & bit != 0).collect();
        if set.is_empty() {
            return f.write_str("none");
        }
        for (i, (_, name)) in set.iter().enumerate() {
            write!(f, "{}{name}", if i == 0 { "" } else { "+" })?;
        }
        Ok(())
    }
}

/// Holds the fields of a frame's headers that carry information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// MAC address the frame goes to.
    pub dst_mac: [u8; 6],
    /// MAC address the frame comes from.
    pub src_mac: [u8; 6],
    /// IPv4 protocol number: [`NDP_PROTOCOL`] or [`HOMA_PROTOCOL`].
    pub protocol: u8,
    /// IPv4 type of service; Homa's packet priority.
    pub tos: u8,
    /// IPv4 address it comes from.
    pub src_ip: u32,
    /// IPv4 address it goes to.
    pub dst_ip: u32,
    /// What the frame is.
    pub flags: Flags,
    /// Context (port) that sends.
    pub src_context: u16,
    /// Context (port) that is to receive.
    pub dst_context: u16,
    /// Bytes of the whole message.
    pub msg_len: u16,
    /// Number of the packet in its message.
    pub pkt_offset: u8,
    /// NDP's pull offset, Homa's grant offset, in packets.
    pub pull_offset: u16,
    /// Priority that a Homa grant gives.
    pub grant_priority: u8,
    /// Id the sender gave the message.
    pub tx_msg_id: u16,
    /// Where the sender's buffer starts, in words of 64 B.
    pub buf_ptr: u16,
    /// Which size class the sender's buffer has.
    pub buf_size_class: u8,
    /// In a control frame, which use of its id the message has that it answers (ours, in the last bytes
    /// of the padding); 0: it does not say.
    pub answers: u16,
}

/// Says why a frame is not one between nanoPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NotLnic {
    /// Shorter than its headers.
    Short,
    /// Not IPv4 with a 20-byte header.
    NotIpv4,
    /// Another IPv4 protocol.
    Protocol,
    /// Nothing behind the headers.
    NoPayload,
}

impl Header {
    /// Takes a frame apart into its header and payload, which ends where the frame does. As on the
    /// published hardware nothing is compared with anything; see [`Header::contradiction`] for that.
    ///
    /// # Errors
    /// [`NotLnic`] says what keeps it from being a frame of `protocol`.
    #[inline]
    pub fn parse(frame: &[u8], protocol: u8) -> Result<(Self, &[u8]), NotLnic> {
        let Some((head, payload)) = frame.split_first_chunk::<LNIC_HEADER_BYTES>() else {
            return Err(NotLnic::Short);
        };
        if head[12..14] != [0x08, 0x00] || head[14] != 0x45 {
            return Err(NotLnic::NotIpv4);
        }
        if head[23] != protocol {
            return Err(NotLnic::Protocol);
        }
        if payload.is_empty() {
            return Err(NotLnic::NoPayload);
        }
        Ok((Self::read(head), payload))
    }

    /// Reads the fields of a frame of this layout, whose protocol says whether it is Homa's.
    #[inline]
    pub fn read(head: &[u8; LNIC_HEADER_BYTES]) -> Self {
        let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let protocol = head[23];
        let homa = usize::from(protocol == HOMA_PROTOCOL);
        let mut header = Self {
            protocol,
            tos: head[15],
            src_ip: word(26),
            dst_ip: word(30),
            flags: Flags(head[34]),
            src_context: half(35),
            dst_context: half(37),
            msg_len: half(39),
            pkt_offset: head[41],
            pull_offset: half(42),
            grant_priority: if homa == 1 { head[44] } else { 0 },
            tx_msg_id: half(44 + homa),
            buf_ptr: half(46 + homa),
            buf_size_class: head[48 + homa],
            answers: half(LNIC_HEADER_BYTES - 2),
            ..Self::default()
        };
        header.dst_mac.copy_from_slice(&head[..6]);
        header.src_mac.copy_from_slice(&head[6..12]);
        header
    }

    /// Writes the headers of a frame with `payload_bytes` of payload. Beyond 65,485 bytes, more than
    /// any frame has, the IPv4 header's length field ends at its largest value.
    pub fn write(&self, payload_bytes: usize) -> [u8; LNIC_HEADER_BYTES] {
        let ip_bytes = LNIC_HEADER_BYTES - ETHERNET_HEADER_BYTES + payload_bytes;
        let ip_bytes = u16::try_from(ip_bytes).unwrap_or(u16::MAX);
        let (protocol, tos, answers) = (self.protocol, self.tos, self.answers);
        match protocol == HOMA_PROTOCOL {
            false => self.lay_out::<false>(ip_bytes, protocol, tos, answers),
            true => self.lay_out::<true>(ip_bytes, protocol, tos, answers),
        }
    }

    /// Writes the headers of a frame as NDP has them, or as Homa has, with a protocol, a type of service and an
    /// answered use of its id that need not be its own; `ip_bytes` is the length that IPv4's header gives.
    #[inline]
    pub fn lay_out<const IS_HOMA: bool>(
        &self,
        ip_bytes: u16,
        protocol: u8,
        tos: u8,
        answers: u16,
    ) -> [u8; LNIC_HEADER_BYTES] {
        let homa = usize::from(IS_HOMA);
        let mut head = [0; LNIC_HEADER_BYTES];
        let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.dst_mac);
        put(6, &self.src_mac);
        put(12, &[0x08, 0x00, 0x45, tos]);
        put(16, &ip_bytes.to_be_bytes());
        put(18, &[0, 1, 0, 0, 64, protocol, 0, 0]);
        put(26, &self.src_ip.to_be_bytes());
        put(30, &self.dst_ip.to_be_bytes());
        put(ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES, &[self.flags.0]);
        put(35, &self.src_context.to_be_bytes());
        put(37, &self.dst_context.to_be_bytes());
        put(39, &self.msg_len.to_be_bytes());
        put(41, &[self.pkt_offset]);
        put(42, &self.pull_offset.to_be_bytes());
        if IS_HOMA {
            put(44, &[self.grant_priority]);
        }
        put(44 + homa, &self.tx_msg_id.to_be_bytes());
        put(46 + homa, &self.buf_ptr.to_be_bytes());
        put(48 + homa, &[self.buf_size_class]);
        put(LNIC_HEADER_BYTES - 2, &answers.to_be_bytes());
        head
    }

    /// Builds a whole frame.
    pub fn frame(&self, payload: &[u8]) -> Vec<u8> {
        let mut frame = self.write(payload.len()).to_vec();
        frame.extend_from_slice(payload);
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_is_laid_out_as_the_rtl_does() {
        // The acknowledgement of an announcement, from the calibration set's documentation.
        let header = Header {
            dst_mac: [0x08, 0x11, 0x22, 0x33, 0x44, 0x08],
            src_mac: [0x08, 0x55, 0x66, 0x77, 0x88, 0x08],
            protocol: NDP_PROTOCOL,
            src_ip: 0x0a00_0001,
            dst_ip: 0x0a00_0002,
            flags: Flags::ACK.with(Flags::PULL),
            src_context: 0x7000,
            msg_len: 8,
            pull_offset: 3,
            ..Header::default()
        };
        let frame = header.frame(&[0; CONTROL_PAYLOAD_BYTES]);
        let start = [
            8, 0x11, 0x22, 0x33, 0x44, 8, 8, 0x55, 0x66, 0x77, 0x88, 8, 8, 0, 0x45, 0, 0, 0x72, 0,
            1, 0, 0, 0x40, 0x99, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x0a, 0x70, 0, 0, 0, 0, 8, 0, 0,
            3,
        ];
        assert_eq!(frame[..44], start);
        assert!(frame[44..].iter().all(|&byte| byte == 0));
        assert_eq!(frame.len(), 128);
        assert_eq!(Header::parse(&frame, NDP_PROTOCOL), Ok((header, &[0; 64][..])));
        assert_eq!(header.flags.to_string(), "ACK+PULL");
    }

    #[test]
    fn fields_survive_a_round_trip_in_both_layouts() {
        for protocol in [NDP_PROTOCOL, HOMA_PROTOCOL] {
            let header = Header {
                protocol,
                tos: 3,
                flags: Flags::DATA,
                src_context: 1,
                dst_context: 0x0203,
                msg_len: 2048,
                pkt_offset: 1,
                pull_offset: 500,
                grant_priority: if protocol == HOMA_PROTOCOL { 2 } else { 0 },
                tx_msg_id: 127,
                buf_ptr: 1024,
                buf_size_class: 1,
                answers: 0x0304,
                ..Header::default()
            };
            assert_eq!(Header::parse(&header.frame(b"x"), protocol), Ok((header, &b"x"[..])));
        }
    }

    #[test]
    fn foreign_frames_say_what_they_lack() {
        let frame = Header { protocol: NDP_PROTOCOL, ..Header::default() }.frame(b"x");
        assert_eq!(Header::parse(&frame[..63], NDP_PROTOCOL), Err(NotLnic::Short));
        assert_eq!(Header::parse(&frame[..64], NDP_PROTOCOL), Err(NotLnic::NoPayload));
        assert_eq!(Header::parse(&frame, HOMA_PROTOCOL), Err(NotLnic::Protocol));
        let mut other = frame;
        other[12] = 0x86;
        assert_eq!(Header::parse(&other, NDP_PROTOCOL), Err(NotLnic::NotIpv4));
    }
}
