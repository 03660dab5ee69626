//! The sending half of NDP at a load's end: requests are kept until the node has acknowledged them.
//! In: messages, the node's control frames, the time. Out: frames, first or again. Holds messages
//! that are not acknowledged, and those that wait for one of 128 ids (as many as a nanoPU has).
//!
//! As in a node (nanoPU paper, §3.1; RTL LNIC/Packetize.scala): a NACK marks a packet to be sent
//! again, a PULL lets marked and new packets within its credit go, and when nothing was heard for the
//! time-out, what was sent and not acknowledged goes again. A PULL that never came is made up for
//! then too.

use std::collections::{BTreeSet, VecDeque};

use crate::frame::lnic::{Flags, Header};

use super::wire::{Label, PACKET_BYTES};

/// Ids for messages that are not acknowledged (artifact, transmit side of a node).
const IDS: u16 = 128;

/// Counts what was sent more than once, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resent {
    /// Packets that were sent again.
    pub packets: u64,
    /// Packets that the node wanted again, having got the header alone.
    pub nacks: u64,
    /// Time-outs of messages.
    pub timeouts: u64,
}

/// Keeps messages until they are acknowledged.
#[derive(Debug, Clone)]
pub(super) struct Resend {
    timeout_cycles: u64,
    window_packets: u16,
    slots: Vec<Slot>,
    free: VecDeque<u16>,
    waiting: VecDeque<(Label, Vec<u8>)>,
    timers: BTreeSet<(u64, u16)>,
    counts: Resent,
}

/// An id, and the message that has it.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// Which use of the id this is, from 1 without 0: nodes tell late packets by it.
    generation: u16,
    message: Option<Message>,
}

#[derive(Clone, Debug)]
struct Message {
    to: Label,
    bytes: Vec<u8>,
    /// Packets that are acknowledged, that went once at least, and that are to go with the next
    /// credit, as bits.
    delivered: u64,
    sent: u64,
    marked: u64,
    due: u64,
}

/// A packet to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// Whom it goes to.
    pub to: Label,
    /// The message's id and which use of it this is.
    pub id: u16,
    pub generation: u16,
    /// Its number in the message, and its part.
    pub number: u8,
    pub payload: Vec<u8>,
    /// The bytes of the whole message.
    pub message_bytes: u16,
}

impl Message {
    fn packets(&self) -> u32 {
        self.bytes.len().div_ceil(PACKET_BYTES).clamp(1, 64) as u32
    }

    fn all(&self) -> u64 {
        u64::MAX >> (64 - self.packets())
    }
}

impl Resend {
    pub(super) fn new(timeout_cycles: u64, window_packets: u16) -> Self {
        Self {
            timeout_cycles,
            window_packets,
            slots: vec![Slot::default(); usize::from(IDS)],
            free: (0..IDS).collect(),
            waiting: VecDeque::new(),
            timers: BTreeSet::new(),
            counts: Resent::default(),
        }
    }

    pub(super) fn counts(&self) -> Resent {
        self.counts
    }

    /// Tells whether every message is acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.free.len() == usize::from(IDS) && self.waiting.is_empty()
    }

    /// Gives the cycle of the next time-out.
    pub(super) fn next_cycle(&self) -> Option<u64> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Takes a message; gives the packets that go now.
    pub(super) fn send(&mut self, to: Label, message: &[u8], now: u64) -> Vec<Packet> {
        self.waiting.push_back((to, message.to_vec()));
        self.begin(now)
    }

    /// Gives waiting messages the free ids.
    fn begin(&mut self, now: u64) -> Vec<Packet> {
        let mut packets = Vec::new();
        while !self.waiting.is_empty() {
            let Some(id) = self.free.pop_front() else { break };
            let Some((to, bytes)) = self.waiting.pop_front() else { break };
            let due = now.saturating_add(self.timeout_cycles);
            self.timers.insert((due, id));
            let slot = &mut self.slots[usize::from(id)];
            slot.generation = slot.generation.checked_add(1).unwrap_or(1);
            let message = Message { to, bytes, delivered: 0, sent: 0, marked: 0, due };
            let first = message.all() & within(self.window_packets.max(1));
            slot.message = Some(Message { marked: message.all() & !first, ..message });
            packets.extend(self.packets(id, first));
        }
        packets
    }

    /// Builds the packets of a message that are set in `which`.
    fn packets(&mut self, id: u16, which: u64) -> Vec<Packet> {
        let slot = &mut self.slots[usize::from(id)];
        let Some(message) = &mut slot.message else { return Vec::new() };
        self.counts.packets += u64::from((which & message.sent).count_ones());
        message.sent |= which;
        message.marked &= !which;
        let parts = message.bytes.chunks(PACKET_BYTES).enumerate();
        let wanted = parts.filter(|(number, _)| which >> number & 1 == 1);
        wanted
            .map(|(number, part)| Packet {
                to: message.to,
                id,
                generation: slot.generation,
                number: number as u8,
                payload: part.to_vec(),
                message_bytes: message.bytes.len() as u16,
            })
            .collect()
    }

    /// Hears a control frame of node `node`; gives the packets that go now.
    pub(super) fn hear(&mut self, header: &Header, node: Option<u32>, now: u64) -> Vec<Packet> {
        let id = header.tx_msg_id;
        let slot = self.slots.get_mut(usize::from(id));
        let Some(message) = slot.and_then(|slot| slot.message.as_mut()) else { return Vec::new() };
        // Another node's answer to an earlier message with this id is none to this one.
        if Some(message.to.node) != node {
            return Vec::new();
        }
        let bit = message.all() & 1u64.checked_shl(u32::from(header.pkt_offset)).unwrap_or(0);
        if header.flags.has(Flags::ACK) {
            message.delivered |= bit;
            message.marked &= !bit;
            if message.delivered == message.all() {
                self.timers.remove(&(message.due, id));
                self.slots[usize::from(id)].message = None;
                self.free.push_back(id);
                return self.begin(now);
            }
        }
        if header.flags.has(Flags::NACK) && message.delivered & bit == 0 {
            message.marked |= bit;
            self.counts.nacks += 1;
        }
        if !header.flags.has(Flags::PULL) {
            return Vec::new();
        }
        let which = message.marked & within(header.pull_offset) & !message.delivered;
        self.restart(id, now);
        self.packets(id, which)
    }

    /// Begins a message's time-out anew.
    fn restart(&mut self, id: u16, now: u64) {
        let Some(message) = &mut self.slots[usize::from(id)].message else { return };
        self.timers.remove(&(message.due, id));
        message.due = now.saturating_add(self.timeout_cycles);
        self.timers.insert((message.due, id));
    }

    /// Gives the packets that go because nothing was heard of their message until `now`.
    pub(super) fn time_out(&mut self, now: u64) -> Vec<Packet> {
        let mut packets = Vec::new();
        while let Some(&(due, id)) = self.timers.first().filter(|(due, _)| *due <= now) {
            let Some(message) = &self.slots[usize::from(id)].message else {
                self.timers.remove(&(due, id));
                continue;
            };
            let lost = message.sent & !message.delivered;
            let unsent = message.all() & !message.sent;
            let which = if lost != 0 { lost } else { unsent & unsent.wrapping_neg() };
            self.counts.timeouts += 1;
            self.restart(id, due);
            packets.extend(self.packets(id, which));
        }
        packets
    }
}

/// Gives the bits of the first packets.
fn within(packets: u16) -> u64 {
    1u64.checked_shl(u32::from(packets)).map_or(u64::MAX, |end| end - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO: Label = Label { number: 7, node: 2, context: 1 };

    fn numbers(packets: &[Packet]) -> Vec<u8> {
        packets.iter().map(|packet| packet.number).collect()
    }

    fn control(flags: Flags, id: u16, packet: u8, pull: u16) -> Header {
        Header { flags, tx_msg_id: id, pkt_offset: packet, pull_offset: pull, ..Header::default() }
    }

    #[test]
    fn a_trimmed_packet_goes_again_when_it_is_pulled() {
        let mut resend = Resend::new(1000, 2);
        let first = resend.send(TO, &[9; 3000], 0);
        assert_eq!(numbers(&first), [0, 1]);
        assert_eq!((first[0].id, first[0].generation, first[0].message_bytes), (0, 1, 3000));
        let nack = control(Flags::NACK, 0, 0, 0);
        assert_eq!(resend.hear(&nack, Some(2), 100), []);
        assert_eq!(resend.hear(&control(Flags::PULL, 0, 0, 9), Some(1), 100), [], "another node");
        let ack = control(Flags::ACK.with(Flags::PULL), 0, 1, 3);
        assert_eq!(numbers(&resend.hear(&ack, Some(2), 110)), [0, 2]);
        for packet in [0, 2] {
            assert!(!resend.is_idle());
            resend.hear(&control(Flags::ACK, 0, packet, 0), Some(2), 200);
        }
        assert!(resend.is_idle());
        assert_eq!(resend.next_cycle(), None);
        assert_eq!(resend.counts(), Resent { packets: 1, nacks: 1, timeouts: 0 });
        assert_eq!(resend.hear(&ack, Some(2), 300), [], "a late copy");
    }

    #[test]
    fn what_is_not_heard_of_goes_again_until_it_is() {
        let mut resend = Resend::new(1000, 2);
        resend.send(TO, &[0; 16], 5);
        for round in 1..4 {
            assert_eq!(resend.next_cycle(), Some(5 + 1000 * round));
            assert_eq!(resend.time_out(4 + 1000 * round), []);
            assert_eq!(numbers(&resend.time_out(5 + 1000 * round)), [0]);
        }
        resend.hear(&control(Flags::ACK, 0, 0, 0), Some(2), 4000);
        assert!(resend.is_idle() && resend.next_cycle().is_none());
        assert_eq!(resend.counts(), Resent { packets: 3, nacks: 0, timeouts: 3 });
    }

    #[test]
    fn a_lost_pull_is_made_up_for() {
        let mut resend = Resend::new(1000, 1);
        assert_eq!(numbers(&resend.send(TO, &[0; 2048], 0)), [0]);
        assert_eq!(resend.hear(&control(Flags::ACK, 0, 0, 0), Some(2), 50), []);
        assert_eq!(numbers(&resend.time_out(1000)), [1]);
        assert_eq!(resend.counts().packets, 0, "it went for the first time");
    }

    #[test]
    fn messages_wait_for_ids_and_each_use_has_its_number() {
        let mut resend = Resend::new(1000, 2);
        let mut went = 0;
        for _ in 0..IDS + 2 {
            went += resend.send(TO, &[0; 8], 0).len();
        }
        assert_eq!((went, resend.is_idle()), (usize::from(IDS), false));
        let next = resend.hear(&control(Flags::ACK, 3, 0, 0), Some(2), 10);
        assert_eq!((next.len(), next[0].id, next[0].generation), (1, 3, 2));
        let next = resend.hear(&control(Flags::ACK, 3, 0, 0), Some(2), 20);
        assert_eq!((next.len(), next[0].generation), (1, 3));
        assert_eq!(resend.hear(&control(Flags::ACK, 500, 0, 0), Some(2), 20), []);
    }
}
