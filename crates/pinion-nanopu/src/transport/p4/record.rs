//! What the NIC and its programs say to each other of a frame. In: frames, or what is to become of one. Out: the
//! header that the NIC goes by, and the record that the egress program goes by.

use pinion_net::frame::lnic::{Flags, Header};
use pinion_p4::flat::Packet;
use pinion_p4::lnic::Ingress;
use pinion_p4::lnic::fields::{RECORD_BYTES, Seen};

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

/// Writes what the NIC says of a packet that is to go, as [`RECORD_BYTES`] says; `more` is what no header has.
#[inline]
pub(super) fn egress_record(header: &Header, more: u64) -> [u8; RECORD_BYTES] {
    let mac = |[a, b, c, d, e, f]: [u8; 6]| u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    let (dst_mac, src_mac) = (mac(header.dst_mac), mac(header.src_mac));
    let (src_ip, dst_ip) = (u64::from(header.src_ip), u64::from(header.dst_ip));
    let (msg_len, flags) = (u64::from(header.msg_len), u64::from(header.flags.0));
    let contexts = u64::from(header.src_context) << 24 | u64::from(header.dst_context) << 8;
    let words: [u64; RECORD_BYTES / 8] = [
        dst_mac << 16 | src_mac >> 32,
        src_mac << 32,
        0,
        src_ip << 16 | dst_ip >> 16,
        dst_ip << 48 | flags << 40 | contexts | msg_len >> 8,
        msg_len << 56
            | u64::from(header.pkt_offset) << 48
            | u64::from(header.tx_msg_id) << 16
            | u64::from(header.buf_ptr),
        u64::from(header.buf_size_class) << 56,
        0,
        more,
        u64::from(header.grant_priority) << 56,
    ];
    let mut record = [0; RECORD_BYTES];
    for (bytes, word) in record.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_be_bytes();
    }
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
