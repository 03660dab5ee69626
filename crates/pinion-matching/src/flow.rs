//! Flows: the addresses, protocol and ports of a packet. In: bytes that begin with an Ethernet or
//! IP header. Out: a key. Fields that a packet lacks (no IPv4, no ports, a later fragment) are 0.

use super::Layout;
use super::rule::word_at;

/// Selects the fields whose values tell flows apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowFields {
    /// The IPv4 source address counts.
    pub src: bool,
    /// The IPv4 destination address counts.
    pub dst: bool,
    /// The IP protocol counts.
    pub proto: bool,
    /// The UDP or TCP source port, or the ICMP identifier, counts.
    pub sport: bool,
    /// The UDP or TCP destination port counts.
    pub dport: bool,
}

impl FlowFields {
    /// All five.
    pub const ALL: Self = Self { src: true, dst: true, proto: true, sport: true, dport: true };
    /// None: all packets are one flow.
    pub const NONE: Self =
        Self { src: false, dst: false, proto: false, sport: false, dport: false };
}

/// Names a flow or a counted message of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct FlowKey {
    pub(super) context: u32,
    /// The message id, where a field of the packet gives it.
    pub(super) field: u32,
    src: u32,
    dst: u32,
    sport: u16,
    dport: u16,
    proto: u8,
}

impl FlowKey {
    /// Names a message whose id a field of the packet gives.
    pub(super) fn of_field(context: u32, field: u32) -> Self {
        Self { context, field, ..Self::default() }
    }

    /// Gives bits by which to guess a flow's place: who foresees them makes wrong guesses, no more.
    #[inline]
    pub(super) fn scattered(&self) -> u32 {
        let ports = u32::from(self.sport) << 16 | u32::from(self.dport);
        let words = [self.field, self.src, self.dst, ports];
        let mixed = words.iter().fold(self.context, |all, word| {
            all.rotate_left(5).wrapping_add(*word).wrapping_mul(GOLDEN)
        });
        mixed >> 16
    }
}

/// The odd number next to 2³² divided by the golden ratio: spreads neighbours.
const GOLDEN: u32 = 0x9e37_79b1;

/// EtherType of IPv4.
const IPV4: u32 = 0x0800;

/// Reads the fields that count.
pub(super) fn flow_key(context: u32, packet: &[u8], fields: FlowFields, layout: Layout) -> FlowKey {
    let mut key = FlowKey { context, ..FlowKey::default() };
    let ip = match layout {
        Layout::Ip => 0,
        Layout::Ethernet if word_at(packet, 12) >> 16 == IPV4 => 14,
        Layout::Ethernet => return key,
    };
    let proto = (word_at(packet, ip + 8) >> 16) as u8;
    if fields.src {
        key.src = word_at(packet, ip + 12);
    }
    if fields.dst {
        key.dst = word_at(packet, ip + 16);
    }
    if fields.proto {
        key.proto = proto;
    }
    let is_later_fragment = word_at(packet, ip + 4) & 0x1fff != 0;
    if !is_later_fragment {
        let (sport, dport) = ports(packet, ip + header_bytes(packet, ip), proto);
        key.sport = if fields.sport { sport } else { 0 };
        key.dport = if fields.dport { dport } else { 0 };
    }
    key
}

/// Returns the IPv4 header's length. PsPIN's own `ip_hdr_t` has version and length in swapped
/// halves of the first byte; both orders are understood.
fn header_bytes(packet: &[u8], ip: usize) -> usize {
    let first = word_at(packet, ip) >> 24;
    let words = if first >> 4 == 4 { first & 15 } else { first >> 4 };
    words as usize * 4
}

fn ports(packet: &[u8], at: usize, proto: u8) -> (u16, u16) {
    let first = word_at(packet, at);
    match proto {
        6 | 17 => ((first >> 16) as u16, first as u16),
        1 => ((word_at(packet, at + 4) >> 16) as u16, 0),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(proto: u8, first: u8, fragment: u16) -> Vec<u8> {
        let mut packet = vec![0; 60];
        packet[0] = first;
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[9] = proto;
        packet[12..16].copy_from_slice(&[10, 0, 0, 1]);
        packet[16..20].copy_from_slice(&[10, 0, 0, 2]);
        let options = (usize::from(first & 15) - 5) * 4;
        packet[20 + options..26 + options].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        packet
    }

    fn ports_of(packet: &[u8]) -> (u16, u16) {
        let key = flow_key(0, packet, FlowFields::ALL, Layout::Ip);
        (key.sport, key.dport)
    }

    #[test]
    fn ports_lie_behind_options_and_not_in_later_fragments() {
        assert_eq!(ports_of(&packet(17, 0x45, 0)), (0x0102, 0x0304));
        assert_eq!(ports_of(&packet(6, 0x47, 0x4000)), (0x0102, 0x0304));
        assert_eq!(ports_of(&packet(1, 0x45, 0)), (0x0506, 0));
        assert_eq!(ports_of(&packet(17, 0x45, 0x2001)), (0, 0));
        assert_eq!(ports_of(&packet(89, 0x45, 0)), (0, 0));
    }

    #[test]
    fn fields_that_do_not_count_are_zero() {
        let udp = packet(17, 0x45, 0);
        assert_eq!(flow_key(3, &udp, FlowFields::NONE, Layout::Ip).context, 3);
        let only = FlowFields { dst: true, ..FlowFields::NONE };
        let key = flow_key(0, &udp, only, Layout::Ip);
        assert_eq!(key, FlowKey { dst: 0x0a00_0002, ..FlowKey::default() });
    }

    #[test]
    fn the_same_packet_has_the_same_key_with_and_without_ethernet() {
        let ip = packet(17, 0x45, 0);
        let mut frame = vec![0; 14];
        frame[12] = 8;
        frame.extend(&ip);
        let inner = flow_key(0, &ip, FlowFields::ALL, Layout::Ip);
        assert_eq!(flow_key(0, &frame, FlowFields::ALL, Layout::Ethernet), inner);
        frame[12] = 9;
        assert_eq!(flow_key(0, &frame, FlowFields::ALL, Layout::Ethernet), FlowKey::default());
    }
}
