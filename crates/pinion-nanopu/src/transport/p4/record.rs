//! What the NIC and its programs say to each other of a frame. In: frames, or what is to become of one. Out: the
//! header that the NIC goes by, and the record that the egress program goes by.

use pinion_net::frame::ETHERNET_HEADER_BYTES;
use pinion_net::frame::lnic::{Flags, Header, LNIC_HEADER_BYTES};
use pinion_p4::flat::Packet;
use pinion_p4::lnic::Ingress;
use pinion_p4::lnic::fields::{
    Layout, RECORD_BYTES, RECORD_CREDIT, RECORD_GENERATION, RECORD_PAYLOAD, RECORD_RANK, Seen,
};

/// Reads what stands in the same place of every frame that goes over IPv4.
pub(super) fn addresses(frame: &[u8]) -> Header {
    let mut header = Header::default();
    if let Some((head, _)) = frame.split_first_chunk::<34>() {
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        header.dst_mac.copy_from_slice(&head[..6]);
        header.src_mac.copy_from_slice(&head[6..12]);
        (header.tos, header.protocol) = (head[15], head[23]);
        (header.src_ip, header.dst_ip) = (word(26), word(30));
    }
    header
}

/// Writes what the NIC says of a packet that is to go where frames of its own transports say it: the beginning of
/// the egress program's record.
#[inline(always)]
pub(super) fn egress_headers(
    header: &Header,
    (protocol, layout): (u8, Layout),
    payload_bytes: u16,
) -> [u8; LNIC_HEADER_BYTES] {
    let ip_bytes = (LNIC_HEADER_BYTES - ETHERNET_HEADER_BYTES) as u16;
    let ip_bytes = ip_bytes.wrapping_add(payload_bytes);
    let answers = if header.flags.has(Flags::DATA) { 0 } else { header.answers };
    match layout {
        Layout::Ndp => header.lay_out::<false>(ip_bytes, protocol, 0, answers),
        Layout::Homa => header.lay_out::<true>(ip_bytes, protocol, 0, answers),
    }
}

/// Writes all that the NIC says of a packet that is to go, as [`RECORD_BYTES`] says, of which the headers are the
/// beginning; `begins` and `again` tell whether it begins its message, and whether it was sent before.
pub(super) fn egress_record(
    header: &Header,
    headers: &[u8; LNIC_HEADER_BYTES],
    payload_bytes: u16,
    [begins, again]: [bool; 2],
) -> [u8; RECORD_BYTES] {
    let (credit, generation) = match header.flags.has(Flags::DATA) {
        true => (0, header.pull_offset),
        false => (header.pull_offset, header.answers),
    };
    let mut record = [0; RECORD_BYTES];
    let mut put = |at: usize, bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, headers);
    put(RECORD_CREDIT, &credit.to_be_bytes());
    put(RECORD_GENERATION, &generation.to_be_bytes());
    put(RECORD_PAYLOAD, &payload_bytes.to_be_bytes());
    put(RECORD_PAYLOAD + 2, &[begins.into(), again.into()]);
    put(RECORD_RANK, &[header.grant_priority]);
    record
}

/// Adds to what is known of a frame what stands in it by the names of the program's fields.
pub(super) fn read_fields(program: &Ingress, packet: &Packet, frame: &[u8], header: &mut Header) {
    let bytes = &program.bytes;
    header.flags = Flags(bytes.byte(frame, Seen::Flags));
    header.src_context = bytes.half(frame, Seen::SrcContext);
    header.dst_context = bytes.half(frame, Seen::DstContext);
    header.msg_len = bytes.half(frame, Seen::MsgLen);
    header.pkt_offset = bytes.byte(frame, Seen::PktOffset);
    header.pull_offset = bytes.half(frame, Seen::PullOffset);
    header.grant_priority = bytes.byte(frame, Seen::GrantPriority);
    header.tx_msg_id = bytes.half(frame, Seen::TxMsgId);
    header.buf_ptr = bytes.half(frame, Seen::BufPtr);
    header.buf_size_class = bytes.byte(frame, Seen::BufSizeClass);
    header.answers = bytes.half(frame, Seen::Answers);
    for (field, register) in &program.seen {
        put(*field, packet.get(*register), header);
    }
}

/// Puts a field of a frame where the NIC looks for it.
#[inline]
fn put(field: Seen, value: u64, header: &mut Header) {
    match field {
        Seen::Flags => header.flags = Flags(value as u8),
        Seen::SrcContext => header.src_context = value as u16,
        Seen::DstContext => header.dst_context = value as u16,
        Seen::MsgLen => header.msg_len = value as u16,
        Seen::PktOffset => header.pkt_offset = value as u8,
        Seen::PullOffset => header.pull_offset = value as u16,
        Seen::GrantPriority => header.grant_priority = value as u8,
        Seen::TxMsgId => header.tx_msg_id = value as u16,
        Seen::BufPtr => header.buf_ptr = value as u16,
        Seen::BufSizeClass => header.buf_size_class = value as u8,
        Seen::Answers => header.answers = value as u16,
    }
}
