//! Packets put together into messages.

use super::super::observation::{HEADER_BYTES, Record};

/// Counts the bytes of payload of a full packet.
pub const PACKET_BYTES: usize = 1024;

/// Holds the packets of one message, in order of their first flits.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The packets; at least one.
    pub packets: Vec<&'a Record>,
}

impl Message<'_> {
    /// Gives the packet that came first.
    pub fn first(&self) -> &Record {
        self.packets[0]
    }

    /// Gives the packet that came last.
    pub fn last(&self) -> &Record {
        self.packets[self.packets.len() - 1]
    }

    fn belongs(&self, packet: &Record) -> bool {
        let key = |record: &Record| {
            let fields = record.fields;
            let from = (fields.src_ip, fields.src_context);
            (from, fields.dst_ip, fields.dst_context, fields.tx_msg_id, fields.msg_len)
        };
        let is_new = |had: &&Record| had.fields.pkt_offset != packet.fields.pkt_offset;
        key(self.first()) == key(packet) && self.packets.iter().all(is_new)
    }
}

/// Puts packets of data together; a packet that its message already has begins another message.
pub fn messages<'a>(packets: impl Iterator<Item = &'a Record>) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'a>> = Vec::new();
    for packet in packets {
        match messages.iter_mut().rev().find(|message| message.belongs(packet)) {
            Some(message) => message.packets.push(packet),
            None => messages.push(Message { packets: vec![packet] }),
        }
    }
    messages
}

/// Puts the payload of a message's frames together, in order of their packet numbers.
pub fn payload<'a>(frames: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut frames: Vec<&[u8]> = frames.filter(|frame| frame.len() >= HEADER_BYTES).collect();
    frames.sort_by_key(|frame| frame[41]);
    frames.into_iter().flat_map(|frame| &frame[HEADER_BYTES..]).copied().collect()
}
