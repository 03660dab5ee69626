//! Headers as all transports begin them.

use pinion_net::frame::lnic::{Flags, Header};

use super::{Address, ControlRequest, Outgoing};

/// Fills the fields of a data packet's header that all transports have; the protocol is left zero.
/// The pull offset, of no use in a data packet, carries the [generation](Outgoing::generation).
pub fn data_header(message: &Outgoing, packet: u8, own: &Address) -> Header {
    Header {
        dst_mac: own.next_hop_mac,
        src_mac: own.mac,
        src_ip: own.ip,
        dst_ip: message.dst_ip,
        flags: Flags::DATA,
        src_context: message.src_context,
        dst_context: message.dst_context,
        msg_len: message.msg_len,
        pkt_offset: packet,
        pull_offset: message.generation,
        tx_msg_id: message.tx_msg_id,
        buf_ptr: message.buf_ptr,
        buf_size_class: message.buf_size_class,
        ..Header::default()
    }
}

/// Fills a control frame's header as all transports do: the fields of the frame it answers, with
/// contexts and addresses swapped.
pub fn control_header(request: &ControlRequest, flags: Flags, own: &Address) -> Header {
    let answers = &request.answers;
    Header {
        dst_mac: own.next_hop_mac,
        src_mac: own.mac,
        tos: 0,
        src_ip: own.ip,
        dst_ip: answers.src_ip,
        flags,
        src_context: answers.dst_context,
        dst_context: answers.src_context,
        pull_offset: request.pull_offset,
        grant_priority: request.grant_priority,
        // A data packet's pull offset is its message's generation.
        answers: answers.pull_offset,
        ..*answers
    }
}
