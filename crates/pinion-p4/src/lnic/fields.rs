//! What fields of programs mean: those of headers that others look at, those of metadata, parameters.

use crate::flat::{Flat, Packet, Register, Said, SaidValue};
use crate::program::{Program, Slot};

/// Fields of a frame that others than the program look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Flags of the transport.
    Flags,
    /// Context that sent.
    SrcContext,
    /// Context that is to receive.
    DstContext,
    /// Bytes of the message.
    MsgLen,
    /// Number of the packet in its message.
    PktOffset,
    /// Packets that may be sent, of PULLs and grants.
    PullOffset,
    /// Priority that a grant gives.
    GrantPriority,
    /// The sender's number of the message.
    TxMsgId,
    /// The sender's buffer.
    BufPtr,
    /// Size class of that.
    BufSizeClass,
    /// Use of its number that the answered message has.
    Answers,
}

/// The names of these fields, without underscores and capitals.
pub(super) const SEEN: [(&str, Seen); 15] = [
    ("flags", Seen::Flags),
    ("srccontext", Seen::SrcContext),
    ("dstcontext", Seen::DstContext),
    ("msglen", Seen::MsgLen),
    ("pktoffset", Seen::PktOffset),
    ("pulloffset", Seen::PullOffset),
    ("grantoffset", Seen::PullOffset),
    ("credit", Seen::PullOffset),
    ("grantprio", Seen::GrantPriority),
    ("grantpriority", Seen::GrantPriority),
    ("txmsgid", Seen::TxMsgId),
    ("bufptr", Seen::BufPtr),
    ("bufsizeclass", Seen::BufSizeClass),
    ("answers", Seen::Answers),
    ("generation", Seen::Answers),
];

/// Bytes of the record that a program is given with a packet. That of the egress program has what the NIC says of
/// the packet, where a frame of the NIC's own transports would say it (`Header::write`), what else it says, and
/// bytes to spare.
pub const RECORD_BYTES: usize = 80;
/// Bytes of a frame's beginning that the control of the ingress program finds in its record; zeros are behind
/// them.
pub const HEAD_BYTES: usize = 64;
/// Where the record says how many packets the peer may send, in two bytes, and behind it which use of its
/// number the message has, how many bytes are behind the headers, and, in a byte each, whether the packet
/// begins a message and whether it was sent before.
pub const RECORD_CREDIT: usize = 64;
/// Where the record says which use of its number the message has.
pub const RECORD_GENERATION: usize = 66;
/// Where the record says how many bytes are behind the headers.
pub const RECORD_PAYLOAD: usize = 68;
/// Where the record says which priority a grant gives, if frames are laid out as NDP's.
pub const RECORD_RANK: usize = 72;

/// How the NIC's own transports lay out their headers (`Header::write`): Homa has the priority that a grant gives
/// behind the grant's offset, and what is behind it a byte later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// NDP's.
    #[default]
    Ndp,
    /// Homa's.
    Homa,
}

/// Where Homa's frames say which priority a grant gives.
const HOMA_PRIORITY: u32 = 44;
/// The first byte that Homa's frames have later than NDP's, and the first of those that are the same again.
const SHIFTED: std::ops::Range<u32> = 44..49;

impl Layout {
    /// Gives the bit of the egress program's record for one of [`EGRESS`].
    pub(super) fn bit(self, bit: u32) -> u32 {
        match self {
            Self::Homa if SHIFTED.contains(&(bit / 8)) => bit + 8,
            Self::Homa if bit == 8 * RECORD_RANK as u32 => 8 * HOMA_PRIORITY,
            _ => bit,
        }
    }
}

/// Names in `full_egress_metadata_t` and what they mean: the bit of the record, of NDP's frames.
pub(super) const EGRESS: [(&str, u32); 20] = [
    ("params.switch_mac_addr", 0),
    ("params.nic_mac_addr", 8 * 6),
    ("params.nic_ip_addr", 8 * 26),
    ("meta.dst_ip", 8 * 30),
    ("meta.flags", 8 * 34),
    ("meta.src_context", 8 * 35),
    ("meta.dst_context", 8 * 37),
    ("meta.msg_len", 8 * 39),
    ("meta.pkt_offset", 8 * 41),
    ("meta.tx_msg_id", 8 * 44),
    ("meta.buf_ptr", 8 * 46),
    ("meta.buf_size_class", 8 * 48),
    ("meta.credit", 8 * RECORD_CREDIT as u32),
    ("meta.grant_offset", 8 * RECORD_CREDIT as u32),
    ("meta.generation", 8 * RECORD_GENERATION as u32),
    ("meta.payload_len", 8 * RECORD_PAYLOAD as u32),
    ("meta.is_new_msg", 8 * 71 - 1),
    ("meta.is_rtx", 8 * 72 - 1),
    ("meta.grant_prio", 8 * RECORD_RANK as u32),
    ("meta.rank", 8 * RECORD_RANK as u32),
];

/// Bytes of a frame's headers from IPv4 on, where the NIC's own transports have them.
const IP_HEADERS_BYTES: u128 = 50;
/// The bit of [`RECORD_BYTES`] that is set for data.
const IS_DATA: u32 = 8 * 35 - 1;

/// Lists what the egress program's record says as frames of the NIC's own transports do (`Header::write`), beside
/// fields: what never changes, the length that IPv4 gives, and where NDP has what `credit` and
/// `generation` say. `protocol` is the program's own.
pub(super) fn said(protocol: u8, layout: Layout) -> Vec<Said> {
    let mut said = Vec::new();
    let mut say = |byte: u32, bytes: u32, value, when| {
        said.push(Said { bit: 8 * byte, width: 8 * bytes, value, when });
    };
    // Ethernet's type, version and type of service of IPv4.
    for (byte, value) in [(12, 0x08), (13, 0x00), (14, 0x45), (15, 0)] {
        say(byte, 1, SaidValue::Number(value), None);
    }
    say(16, 2, SaidValue::Sum(8 * RECORD_PAYLOAD as u32, IP_HEADERS_BYTES), None);
    // Identification, fragment, time to live, protocol, no checksum.
    for (byte, value) in (18..).zip([0, 1, 0, 0, 64, protocol, 0, 0]) {
        say(byte, 1, SaidValue::Number(value.into()), None);
    }
    for byte in layout.bit(8 * (SHIFTED.end - 1)) / 8 + 1..62 {
        say(byte, 1, SaidValue::Number(0), None);
    }
    let (credit, generation) = (8 * RECORD_CREDIT as u32, 8 * RECORD_GENERATION as u32);
    say(42, 2, SaidValue::Field(generation), Some((IS_DATA, true)));
    say(62, 2, SaidValue::Number(0), Some((IS_DATA, true)));
    say(42, 2, SaidValue::Field(credit), Some((IS_DATA, false)));
    say(62, 2, SaidValue::Field(generation), Some((IS_DATA, false)));
    said
}

/// Bytes of a frame at which fields stand that others look at; beyond its end for those it has not.
#[derive(Clone, Copy, Debug)]
pub struct SeenBytes([u16; Seen::Answers as usize + 1]);

impl Default for SeenBytes {
    fn default() -> Self {
        Self([u16::MAX; Seen::Answers as usize + 1])
    }
}

impl SeenBytes {
    /// Takes note of a field that is the same bytes of every frame; false if it cannot be.
    pub(super) fn note(&mut self, field: Seen, bit: Option<u32>, width: u32) -> bool {
        let is_byte = matches!(
            field,
            Seen::Flags | Seen::PktOffset | Seen::GrantPriority | Seen::BufSizeClass
        );
        let at = bit.filter(|bit| bit % 8 == 0 && width == if is_byte { 8 } else { 16 });
        let at = at.and_then(|bit| u16::try_from(bit / 8).ok()).filter(|at| *at < u16::MAX);
        self.0[field as usize] = at.unwrap_or(u16::MAX);
        at.is_some()
    }

    /// Tells as which of the NIC's own transports the program has its headers, if all fields stand as there.
    pub(super) fn layout(&self) -> Option<Layout> {
        const NDP: [u16; 11] = [34, 35, 37, 39, 41, 42, u16::MAX, 44, 46, 48, 62];
        const HOMA: [u16; 11] = [34, 35, 37, 39, 41, 42, HOMA_PRIORITY as u16, 45, 47, 49, 62];
        match self.0 {
            NDP => Some(Layout::Ndp),
            HOMA => Some(Layout::Homa),
            _ => None,
        }
    }

    /// Reads a field of one byte.
    #[inline]
    pub fn byte(&self, frame: &[u8], field: Seen) -> u8 {
        frame.get(usize::from(self.0[field as usize])).copied().unwrap_or(0)
    }

    /// Reads a field of two bytes.
    #[inline]
    pub fn half(&self, frame: &[u8], field: Seen) -> u16 {
        let rest = frame.get(usize::from(self.0[field as usize])..).unwrap_or(&[]);
        rest.first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes))
    }
}

/// Registers of `parameters_t`, of those that the program reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parameters {
    switch_mac_addr: Option<Register>,
    nic_mac_addr: Option<Register>,
    nic_ip_addr: Option<Register>,
    /// Packets that may be under way before any answer.
    pub rtt_pkts: Option<Register>,
    /// Packets that come again are acknowledged again.
    pub answer_duplicates: Option<Register>,
    /// Messages that may have grants at the same time.
    pub overcommitment: Option<Register>,
    /// Number of the first port.
    pub port_base: Option<Register>,
    /// Bytes of the packet at hand.
    pub packet_length: Option<Register>,
    /// Sum of the payload that is to go, in words of 16 bits.
    pub payload_sum: Option<Register>,
    /// The NIC's cycle.
    pub timestamp: Option<Register>,
}

/// What the NIC says of each packet itself, beside its parameters.
const OF_A_PACKET: [&str; 3] = ["smeta.packet_length", "meta.meta.payload_sum", "smeta.timestamp"];

/// Lists the places of the NIC's numbers.
pub(super) fn parameters(program: &Program) -> Vec<Slot> {
    let is_one = |slot: &usize| {
        let name = program.slots[*slot].name.as_str();
        name.starts_with("meta.params.") || OF_A_PACKET.contains(&name)
    };
    (0..program.slots.len()).filter(is_one).map(|slot| slot as Slot).collect()
}

impl Parameters {
    pub(super) fn of(program: &Program, flat: &Flat) -> Self {
        let place = |name: &str| flat.register(program.find(name)?);
        let find = |name: &str| place(&format!("meta.params.{name}"));
        Self {
            switch_mac_addr: find("switch_mac_addr"),
            nic_mac_addr: find("nic_mac_addr"),
            nic_ip_addr: find("nic_ip_addr"),
            rtt_pkts: find("rtt_pkts"),
            answer_duplicates: find("answer_duplicates"),
            overcommitment: find("overcommitment"),
            port_base: find("port_base"),
            packet_length: place(OF_A_PACKET[0]),
            payload_sum: place(OF_A_PACKET[1]),
            timestamp: place(OF_A_PACKET[2]),
        }
    }

    /// Tells whether any of them changes with packets.
    pub fn are_of_packets(&self) -> bool {
        let of_packets = [
            self.switch_mac_addr,
            self.nic_mac_addr,
            self.nic_ip_addr,
            self.packet_length,
            self.timestamp,
        ];
        of_packets.iter().any(Option::is_some)
    }

    /// Tells the program who it is.
    #[inline]
    pub fn address(&self, packet: &mut Packet, switch_mac: &[u8; 6], mac: &[u8; 6], ip: u32) {
        let number = |[a, b, c, d, e, f]: [u8; 6]| u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        if self.switch_mac_addr.is_some() || self.nic_mac_addr.is_some() {
            packet.set(self.switch_mac_addr, number(*switch_mac));
            packet.set(self.nic_mac_addr, number(*mac));
        }
        packet.set(self.nic_ip_addr, ip.into());
    }
}
