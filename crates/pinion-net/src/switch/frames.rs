//! What a switch sees in a frame, and what it changes in one. Holds nothing.

use crate::frame::internet_checksum;
use crate::frame::lnic::{Flags, HOMA_PROTOCOL, LNIC_HEADER_BYTES, NDP_PROTOCOL};
use crate::frame::{ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES};

/// Bytes of a trimmed frame: its headers and one word of zeros (artifact, switch.cc).
pub(super) const TRIMMED_BYTES: usize = LNIC_HEADER_BYTES + 8;

const TYPE_OF_SERVICE: usize = ETHERNET_HEADER_BYTES + 1;
const FRAGMENT: usize = ETHERNET_HEADER_BYTES + 6;
const PROTOCOL: usize = ETHERNET_HEADER_BYTES + 9;
const CHECKSUM: usize = ETHERNET_HEADER_BYTES + 10;
const ADDRESSES: usize = ETHERNET_HEADER_BYTES + 12;
const BEHIND_IPV4: usize = ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES;

/// Explicit congestion notification (RFC 3168): the field's bits, and "congestion experienced".
const ECN: u8 = 3;
/// Protocols with ports in their first four bytes: TCP and UDP.
const WITH_PORTS: [u8; 2] = [6, 17];

/// Says how a switch treats a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A packet of a message between nanoPUs, whole: data that can be trimmed.
    Message,
    /// Acknowledgements, PULLs, grants and trimmed packets between nanoPUs.
    Control,
    /// Everything else: data that cannot be trimmed.
    Other,
}

impl Kind {
    pub(super) fn of(frame: &[u8]) -> Self {
        if !is_lnic(frame) {
            return Self::Other;
        }
        let flags = Flags(frame[BEHIND_IPV4]);
        let is_whole = flags.has(Flags::DATA) && !flags.has(Flags::CHOP);
        if is_whole { Self::Message } else { Self::Control }
    }
}

/// Tells whether a frame has the headers of one between nanoPUs.
fn is_lnic(frame: &[u8]) -> bool {
    frame.len() > LNIC_HEADER_BYTES
        && frame[12..15] == [0x08, 0x00, 0x45]
        && matches!(frame[PROTOCOL], NDP_PROTOCOL | HOMA_PROTOCOL)
}

/// Cuts the payload of a packet between nanoPUs off. The headers stay as they were but for the flag,
/// also the IPv4 header's length: it tells how long the frame was.
pub(super) fn trim(frame: &mut Vec<u8>) {
    frame.truncate(LNIC_HEADER_BYTES);
    frame.resize(TRIMMED_BYTES, 0);
    frame[BEHIND_IPV4] |= Flags::CHOP.0;
}

/// Gives a frame's priority, 0 first: Homa's have one, as type of service (RTL Egress_Homa); no others.
pub(super) fn priority(frame: &[u8]) -> u8 {
    match is_lnic(frame) && frame[PROTOCOL] == HOMA_PROTOCOL {
        true => frame[TYPE_OF_SERVICE],
        false => 0,
    }
}

/// Marks an IPv4 frame that can be marked; tells whether it did. The header's checksum is kept right;
/// 0, which frames between nanoPUs have, is none.
pub(super) fn mark(frame: &mut [u8]) -> bool {
    let header_bytes = usize::from(frame[ETHERNET_HEADER_BYTES] & 15) * 4;
    let end = ETHERNET_HEADER_BYTES + header_bytes;
    let ecn = frame[TYPE_OF_SERVICE] & ECN;
    if is_lnic(frame) || ecn == 0 || ecn == ECN || header_bytes < 20 || frame.len() < end {
        return false;
    }
    frame[TYPE_OF_SERVICE] |= ECN;
    if frame[CHECKSUM..CHECKSUM + 2] != [0, 0] {
        frame[CHECKSUM..CHECKSUM + 2].fill(0);
        let sum = internet_checksum(&frame[ETHERNET_HEADER_BYTES..end]);
        frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    }
    true
}

/// Lists the bytes that are the same in all frames of a flow: addresses, protocol, and ports or
/// contexts where there are some (zeros otherwise). The frame is IPv4.
pub(super) fn flow(frame: &[u8]) -> [u8; 13] {
    let mut flow = [0; 13];
    flow[..8].copy_from_slice(&frame[ADDRESSES..ADDRESSES + 8]);
    flow[8] = frame[PROTOCOL];
    let is_plain = frame[ETHERNET_HEADER_BYTES] == 0x45;
    let is_fragment = frame[FRAGMENT] & 0x3f != 0 || frame[FRAGMENT + 1] != 0;
    let ports = if is_lnic(frame) {
        Some(BEHIND_IPV4 + 1)
    } else if is_plain && !is_fragment && WITH_PORTS.contains(&frame[PROTOCOL]) {
        Some(BEHIND_IPV4)
    } else {
        None
    };
    if let Some(ports) = ports.and_then(|at| frame.get(at..at + 4)) {
        flow[9..].copy_from_slice(ports);
    }
    flow
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::lnic::Header;
    use crate::frame::{Endpoints, build_udp_frame, verify_checksums};

    fn lnic(protocol: u8, flags: Flags) -> Vec<u8> {
        Header { protocol, flags, msg_len: 1024, ..Header::default() }.frame(&[0xee; 1024])
    }

    #[test]
    fn control_frames_and_trimmed_ones_go_first() {
        for protocol in [NDP_PROTOCOL, HOMA_PROTOCOL] {
            let kind = |flags| Kind::of(&lnic(protocol, flags));
            assert_eq!(kind(Flags::DATA), Kind::Message);
            for flags in [Flags::ACK, Flags::NACK, Flags::PULL, Flags::DATA.with(Flags::CHOP)] {
                assert_eq!(kind(flags), Kind::Control, "{flags}");
            }
        }
        assert_eq!(Kind::of(&lnic(17, Flags::DATA)), Kind::Other);
        assert_eq!(Kind::of(&lnic(NDP_PROTOCOL, Flags::DATA)[..64]), Kind::Other);
    }

    #[test]
    fn a_trimmed_frame_keeps_its_headers() {
        let whole = lnic(NDP_PROTOCOL, Flags::DATA);
        let mut frame = whole.clone();
        trim(&mut frame);
        assert_eq!(frame.len(), 72);
        let (was, _) = Header::parse(&whole, NDP_PROTOCOL).unwrap();
        let (now, payload) = Header::parse(&frame, NDP_PROTOCOL).unwrap();
        assert_eq!(now, Header { flags: Flags::DATA.with(Flags::CHOP), ..was });
        assert_eq!(payload, [0; 8]);
        assert_eq!(Kind::of(&frame), Kind::Control);
        assert_eq!(now.contradiction(&frame, 1024, 2), None);
    }

    #[test]
    fn homa_says_the_priority_of_a_frame() {
        let frame = |protocol| Header { protocol, tos: 5, ..Header::default() }.frame(&[0; 8]);
        assert_eq!(priority(&frame(HOMA_PROTOCOL)), 5);
        assert_eq!(priority(&frame(NDP_PROTOCOL)), 0);
        assert_eq!(priority(&frame(HOMA_PROTOCOL)[..64]), 0, "no such frame");
    }

    #[test]
    fn marking_keeps_the_checksum_right() {
        let mut frame = build_udp_frame(&Endpoints::default(), 1, 2, &[7; 80]).unwrap();
        assert!(!mark(&mut frame), "it cannot be marked");
        for ecn in [1, 2] {
            let mut frame = frame.clone();
            frame[TYPE_OF_SERVICE] = 0xb8 | ecn;
            frame[CHECKSUM..CHECKSUM + 2].fill(0);
            let sum = internet_checksum(&frame[14..34]);
            frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
            assert!(mark(&mut frame));
            assert_eq!(frame[TYPE_OF_SERVICE], 0xbb);
            assert!(verify_checksums(&frame).unwrap().ipv4_good);
            assert!(!mark(&mut frame), "it is marked already");
        }
        let mut homa = Header { protocol: HOMA_PROTOCOL, tos: 1, ..Header::default() }.frame(&[0]);
        assert!(!mark(&mut homa), "that is its priority");
    }

    #[test]
    fn a_flow_is_addresses_protocol_and_ports() {
        let udp = build_udp_frame(&Endpoints::default(), 0x1234, 0x5678, &[7; 80]).unwrap();
        assert_eq!(flow(&udp)[8..], [17, 0x12, 0x34, 0x56, 0x78]);
        let mut fragment = udp;
        fragment[FRAGMENT] = 0x20;
        assert_eq!(flow(&fragment)[8..], [17, 0, 0, 0, 0]);
        let header = Header {
            protocol: NDP_PROTOCOL,
            src_ip: 1,
            dst_ip: 2,
            src_context: 3,
            dst_context: 4,
            ..Header::default()
        };
        assert_eq!(flow(&header.frame(&[0])), [0, 0, 0, 1, 0, 0, 0, 2, 0x99, 0, 3, 0, 4]);
    }
}
