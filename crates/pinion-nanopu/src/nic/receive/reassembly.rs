//! The reassembly buffer: packets become messages (nanoPU paper, §2.1 and §3.1; RTL
//! LNIC/Assemble.scala).
//!
//! In: headers to look up, payload to put in its place. Out: messages whose packets are all there,
//! word by word as 64-bit numbers (network order), with the word an application reads first. Holds
//! the payload in buffers of size classes, which and ids are taken and returned in FIFO order. A
//! message finds no room when no buffer that is large enough is free, or its context has its share.

use std::collections::VecDeque;

use pinion_net::frame::lnic::Header;

use super::message_table::{Fingerprint, Key, MessageTable};
use crate::Cycle;
use crate::hardware::{Answer, Asked, InLoop, Placed as _, ReassemblySeat};
use crate::machine::receive::{DATAPATH_BYTES, ReceiveSection};
use crate::nic::grow;
use crate::transport::{DropReason, MAX_PACKETS, MessageInfo, Packets, Refusal};

/// 64-bit words in a word of the datapath.
pub const WORDS: usize = DATAPATH_BYTES / 8;

/// A message that is incomplete or waits for delivery.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Number of the message, for those who follow it.
    number: u64,
    /// Its key; transports that do not reassemble have none.
    key: Option<Key>,
    header: Header,
    /// Number of its buffer.
    buffer: u16,
    class: u8,
    packets: u8,
    received: Packets,
    /// Packets that arrived, for the books: those with payload.
    arrived: u8,
    fingerprint: Fingerprint,
}

/// Buffers of one size.
#[derive(Clone, Debug)]
struct Class {
    bytes: u16,
    free: VecDeque<u16>,
}

/// Holds messages while they are put together.
#[derive(Clone, Debug)]
pub struct Reassembly {
    /// Number of messages that have begun.
    begun: u64,
    /// By id, of those that were ever taken.
    slots: Vec<Slot>,
    free_ids: VecDeque<u16>,
    classes: Vec<Class>,
    /// By buffer: its words as far as messages have used it; those behind are zero.
    buffers: Vec<Vec<u64>>,
    table: MessageTable,
    /// By context: buffers that its messages hold.
    held: Vec<u16>,
    quota: u16,
    packet_bytes: u16,
    header_checks: bool,
    /// The block in its place, or beside it.
    hardware: InLoop<ReassemblySeat>,
}

impl Reassembly {
    /// Makes empty buffers.
    pub fn new(section: &ReceiveSection) -> Self {
        let reassembly = &section.reassembly;
        let mut first = 0;
        let class = |class: &crate::machine::transmit::BufferClass| {
            let free = (first..first + class.count).collect();
            first += class.count;
            Class { bytes: class.bytes, free }
        };
        let classes = reassembly.buffers.iter().map(class).collect();
        Self {
            begun: 0,
            slots: Vec::new(),
            free_ids: (0..reassembly.messages() as u16).collect(),
            classes,
            buffers: vec![Vec::new(); usize::from(first)],
            table: MessageTable::new(section),
            held: vec![0; usize::from(section.global.contexts)],
            quota: reassembly.context_buffers.unwrap_or(u16::MAX),
            packet_bytes: reassembly.packet_bytes,
            header_checks: section.fixes.header_checks,
            hardware: InLoop::default(),
        }
    }

    /// Puts a block into its place, or beside it.
    pub fn set_hardware(&mut self, seat: ReassemblySeat) {
        self.hardware = InLoop::new(seat);
    }

    /// Gives its block, if it has one.
    pub fn hardware(&self) -> Option<&ReassemblySeat> {
        self.hardware.get()
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        if let Some(seat) = self.hardware.get_mut() {
            seat.clock(to);
        }
    }

    /// Gives the block, if it hears of a message: one that is put together.
    fn block_of(&mut self, rx_id: u16) -> Option<&mut ReassemblySeat> {
        let is_known = self.slots[usize::from(rx_id)].key.is_some();
        self.hardware.get_mut().filter(|_| is_known)
    }

    /// Finds a data packet's message or begins one; the packet counts as received unless it was
    /// `trimmed`.
    ///
    /// # Errors
    /// [`Refusal`] says why the packet cannot be taken.
    pub fn message(
        &mut self,
        header: &Header,
        payload: &[u8],
        trimmed: bool,
        now: Cycle,
    ) -> Result<MessageInfo, Refusal> {
        let packets = self.check(header, payload, trimmed)?;
        let bit: Packets = if trimmed { 0 } else { 1 << header.pkt_offset };
        let key = self.table.key(header);
        let known = self.table.get(key, header);
        if known.is_none() && self.table.was_delivered(key, header, payload, now) {
            return Err(Refusal::Finished);
        }
        if known.is_none() && !self.has_share(header.dst_context) {
            return Err(Refusal::Quota);
        }
        let given = self.ask(key, header, trimmed, known, now)?;
        let found = self.enter(header, (key, known), (packets, bit), given);
        if let Some(seat) = self.hardware.get_mut().filter(|seat| seat.compares()) {
            let message = |message: &MessageInfo, is_duplicate| Answer::Message {
                id: message.rx_id,
                begins: message.new.then(|| self.slots[usize::from(message.rx_id)].buffer),
                is_duplicate,
            };
            seat.follow(match &found {
                Ok(found) => message(found, false),
                Err(Refusal::Duplicate { message: found }) => message(found, true),
                Err(_) => Answer::NoRoom,
            });
        }
        found
    }

    /// Asks the block about a packet of a message that is `known` or begins; gives the id and buffer that the
    /// one in the unit's place gives a new message.
    fn ask(
        &mut self,
        key: Key,
        header: &Header,
        is_trimmed: bool,
        known: Option<u16>,
        now: Cycle,
    ) -> Result<Option<(u16, u16)>, Refusal> {
        let Some(seat) = self.hardware.get_mut() else { return Ok(None) };
        let generation = self.table.generation(header.pull_offset);
        let (bytes, number) = (header.msg_len, header.pkt_offset);
        seat.ask(now, Asked { key, generation, bytes, number, is_trimmed });
        if seat.compares() {
            return Ok(None);
        }
        match seat.answer(known) {
            Some(Answer::Message { id, begins, .. }) => Ok(begins.map(|buffer| (id, buffer))),
            Some(Answer::NoRoom) | None => Err(Refusal::NoBuffer),
        }
    }

    /// Enters a packet into its message, which it begins unless it is known.
    fn enter(
        &mut self,
        header: &Header,
        (key, known): (Key, Option<u16>),
        (packets, bit): (u8, Packets),
        given: Option<(u16, u16)>,
    ) -> Result<MessageInfo, Refusal> {
        let rx_id = match known {
            Some(rx_id) => rx_id,
            None => self.begin(header, Some(key), packets, given)?,
        };
        let slot = &mut self.slots[usize::from(rx_id)];
        let message = MessageInfo {
            rx_id,
            new: known.is_none(),
            packets: slot.packets,
            received: slot.received | bit,
        };
        if slot.received & bit != 0 {
            return Err(Refusal::Duplicate { message });
        }
        slot.received |= bit;
        Ok(message)
    }

    /// Takes a packet that is a whole message.
    ///
    /// # Errors
    /// [`Refusal`] says why it cannot be taken.
    pub fn whole(&mut self, header: &Header, payload: &[u8]) -> Result<u16, Refusal> {
        let packets = self.check(header, payload, false)?;
        if packets > 1 || header.pkt_offset > 0 {
            return Err(Refusal::Bad(DropReason::Oversize));
        }
        if !self.has_share(header.dst_context) {
            return Err(Refusal::Quota);
        }
        let rx_id = self.begin(header, None, packets, None)?;
        self.slots[usize::from(rx_id)].received = 1;
        Ok(rx_id)
    }

    /// Puts a packet's payload in its place. Returns whether the message is now complete.
    pub fn write(&mut self, rx_id: u16, header: &Header, payload: &[u8]) -> bool {
        let slot = &mut self.slots[usize::from(rx_id)];
        slot.arrived += 1;
        if self.table.remembers() {
            slot.fingerprint.add(header.pkt_offset, payload);
        }
        let buffer_words = usize::from(self.classes[usize::from(slot.class)].bytes) / 8;
        let start = usize::from(header.pkt_offset) * usize::from(self.packet_bytes) / 8;
        let buffer = &mut self.buffers[usize::from(slot.buffer)];
        let end = start + payload.len().div_ceil(DATAPATH_BYTES) * WORDS;
        grow(buffer, end.min(buffer_words));
        let place = buffer.get_mut(start..).unwrap_or_default();
        let (words, rest) = payload.as_chunks::<8>();
        for (to, from) in place.iter_mut().zip(words) {
            *to = u64::from_be_bytes(*from);
        }
        // The rest of the packet's last word of the datapath is zeros.
        let end = payload.len().div_ceil(DATAPATH_BYTES) * WORDS;
        let tail = place.len().min(words.len())..place.len().min(end);
        place[tail.clone()].fill(0);
        if !rest.is_empty() && !tail.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            place[tail.start] = u64::from_be_bytes(last);
        }
        slot.received.count_ones() == u32::from(slot.packets)
    }

    /// Tells the block that a packet's payload is in its buffer in cycle `at`, and `completes` its message.
    pub fn written(&mut self, rx_id: u16, at: Cycle, completes: bool) {
        if let Some(seat) = self.block_of(rx_id) {
            seat.write(at, rx_id, completes);
        }
    }

    /// Takes a message that is complete in cycle `at`; false while the block in the unit's place does not offer it.
    pub fn take(&mut self, rx_id: u16, at: Cycle) -> bool {
        self.block_of(rx_id).is_none_or(|seat| seat.take(at, rx_id))
    }

    /// Gives a message's number: messages are counted from 0 as they begin.
    pub fn number(&self, rx_id: u16) -> u64 {
        self.slots[usize::from(rx_id)].number
    }

    /// Gives the header of a message's first packet.
    pub fn header(&self, rx_id: u16) -> &Header {
        &self.slots[usize::from(rx_id)].header
    }

    /// Gives the word that an application reads before a message: who sent it, and its length.
    pub fn application_header(&self, rx_id: u16) -> u64 {
        let header = self.header(rx_id);
        u64::from(header.src_ip) << 32
            | u64::from(header.src_context) << 16
            | u64::from(header.msg_len)
    }

    /// Gives a message's payload.
    pub fn words(&self, rx_id: u16) -> &[u64] {
        let slot = &self.slots[usize::from(rx_id)];
        let words = usize::from(slot.header.msg_len).div_ceil(8);
        &self.buffers[usize::from(slot.buffer)][..words]
    }

    /// Counts a message's packets that are in its buffer.
    pub fn arrived(&self, rx_id: u16) -> u8 {
        self.slots[usize::from(rx_id)].arrived
    }

    /// Takes the buffer and the id of a delivered message back.
    pub fn free(&mut self, rx_id: u16, now: Cycle) {
        if let Some(seat) = self.block_of(rx_id) {
            seat.free(now, rx_id);
        }
        let slot = self.slots[usize::from(rx_id)];
        if let Some(key) = slot.key {
            self.table.remove(key, slot.fingerprint, now);
        }
        if let Some(held) = self.held.get_mut(usize::from(slot.header.dst_context)) {
            *held -= 1;
        }
        self.classes[usize::from(slot.class)].free.push_back(slot.buffer);
        self.free_ids.push_back(rx_id);
    }

    /// Counts buffers that are taken.
    #[cfg(test)]
    pub fn taken(&self) -> usize {
        self.buffers.len() - self.free_ids.len()
    }

    /// Checks that a packet's lengths make sense; returns how many packets its message has.
    fn check(&self, header: &Header, payload: &[u8], trimmed: bool) -> Result<u8, Refusal> {
        let (length, packet) = (u32::from(header.msg_len), u32::from(header.pkt_offset));
        let packet_bytes = u32::from(self.packet_bytes);
        let packets = length.div_ceil(packet_bytes);
        if length > self.classes.last().map_or(0, |class| class.bytes.into()) {
            return Err(Refusal::Bad(DropReason::Oversize));
        }
        if length == 0 && self.header_checks {
            return Err(Refusal::Bad(DropReason::ZeroLength));
        }
        if packet >= packets.max(1) || packets as usize > MAX_PACKETS {
            return Err(Refusal::Bad(DropReason::HeaderLies));
        }
        let expected = (length - (packet * packet_bytes).min(length)).min(packet_bytes);
        if self.header_checks && !trimmed && (payload.len() as u32) < expected {
            return Err(Refusal::Bad(DropReason::HeaderLies));
        }
        Ok(packets as u8)
    }

    /// Says whether a context may hold another buffer.
    fn has_share(&self, context: u16) -> bool {
        self.held.get(usize::from(context)).is_none_or(|held| *held < self.quota)
    }

    /// Finds the id and the buffer of a new message, with its class; those `given`, if there are.
    fn room(
        &mut self,
        header: &Header,
        given: Option<(u16, u16)>,
    ) -> Result<(u16, u16, usize), Refusal> {
        if let Some((rx_id, buffer)) = given {
            self.free_ids.retain(|other| *other != rx_id);
            let is_here = |class: &mut Class| {
                let place = class.free.iter().position(|other| *other == buffer);
                place.and_then(|place| class.free.remove(place)).is_some()
            };
            let class = self.classes.iter_mut().position(is_here).ok_or(Refusal::NoBuffer)?;
            return Ok((rx_id, buffer, class));
        }
        let fits = |class: &Class| class.bytes >= header.msg_len && !class.free.is_empty();
        let class = self.classes.iter().position(fits).ok_or(Refusal::NoBuffer)?;
        let buffer = self.classes[class].free.pop_front().ok_or(Refusal::NoBuffer)?;
        let rx_id = self.free_ids.pop_front().ok_or(Refusal::NoBuffer)?;
        Ok((rx_id, buffer, class))
    }

    /// Gives a new message an id and a buffer.
    fn begin(
        &mut self,
        header: &Header,
        key: Option<Key>,
        packets: u8,
        given: Option<(u16, u16)>,
    ) -> Result<u16, Refusal> {
        let (rx_id, buffer, class) = self.room(header, given)?;
        let held = self.held.get_mut(usize::from(header.dst_context));
        held.into_iter().for_each(|held| *held += 1);
        key.into_iter().for_each(|key| self.table.insert(key, header, rx_id));
        grow(&mut self.buffers[usize::from(buffer)], usize::from(header.msg_len).div_ceil(8));
        if self.slots.len() <= usize::from(rx_id) {
            self.slots.resize(usize::from(rx_id) + 1, Slot::default());
        }
        self.begun += 1;
        self.slots[usize::from(rx_id)] = Slot {
            number: self.begun - 1,
            key,
            header: *header,
            buffer,
            class: class as u8,
            packets,
            fingerprint: Fingerprint::new(header),
            ..Slot::default()
        };
        Ok(rx_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::receive::ReceiveFixes;

    fn reassembly(fixes: ReceiveFixes) -> Reassembly {
        Reassembly::new(&ReceiveSection::artifact(fixes))
    }

    fn header(id: u16, msg_len: u16, pkt_offset: u8) -> Header {
        Header {
            src_ip: 0x0a00_0001,
            src_context: 0x5000,
            tx_msg_id: id,
            msg_len,
            pkt_offset,
            ..Header::default()
        }
    }

    #[test]
    fn packets_find_their_place_in_any_order() {
        let mut unit = reassembly(ReceiveFixes::ALL);
        let payload: Vec<u8> = (0..1036u32).map(|n| n as u8).collect();
        let last = header(1, 1036, 1);
        let message = unit.message(&last, &payload[1024..], false, 0).unwrap();
        assert!(message.new && message.packets == 2 && message.received == 0b10);
        assert!(!unit.write(message.rx_id, &last, &payload[1024..]));
        let first = header(1, 1036, 0);
        let again = unit.message(&first, &payload[..1024], false, 9).unwrap();
        assert!(!again.new && again.complete() && again.in_order() == 2);
        assert!(unit.write(again.rx_id, &first, &payload[..1024]));
        let words = unit.words(again.rx_id);
        assert_eq!(words.len(), 130);
        assert_eq!(words[1], 0x0809_0a0b_0c0d_0e0f);
        assert_eq!(words[129], 0x0809_0a0b_0000_0000);
        assert_eq!(unit.application_header(again.rx_id), 0x0a00_0001_5000_040c);
        unit.free(again.rx_id, 20);
        assert_eq!(unit.taken(), 0);
        let dup = unit.message(&first, &payload[..1024], false, 30);
        assert_eq!(dup, Err(Refusal::Finished));
    }

    #[test]
    fn small_messages_overflow_into_large_buffers_and_then_find_none() {
        let mut unit = reassembly(ReceiveFixes::ALL);
        for id in 0..128 {
            let message = unit.message(&header(id, 8, 0), &[0; 8], false, 0).unwrap();
            assert_eq!(message.rx_id, id);
        }
        let refused = unit.message(&header(128, 8, 0), &[0; 8], false, 0);
        assert_eq!(refused, Err(Refusal::NoBuffer));
        unit.free(5, 0);
        let message = unit.message(&header(128, 8, 0), &[0; 8], false, 0).unwrap();
        assert_eq!(message.rx_id, 5);
    }

    #[test]
    fn a_context_gets_no_more_than_its_share() {
        let mut section = ReceiveSection::artifact(ReceiveFixes::ALL);
        section.reassembly.context_buffers = Some(2);
        let mut unit = Reassembly::new(&section);
        let take = |unit: &mut Reassembly, id, dst_context| {
            let header = Header { dst_context, ..header(id, 8, 0) };
            unit.message(&header, &[0; 8], false, 0).map(|message| message.rx_id)
        };
        assert!(take(&mut unit, 0, 0).is_ok() && take(&mut unit, 1, 0).is_ok());
        assert_eq!(take(&mut unit, 2, 0), Err(Refusal::Quota));
        assert!(take(&mut unit, 3, 1).is_ok());
        unit.free(0, 0);
        assert!(take(&mut unit, 2, 0).is_ok());
    }

    #[test]
    fn duplicates_are_told_and_trimmed_packets_are_none() {
        let mut unit = reassembly(ReceiveFixes::NONE);
        let first = header(1, 2048, 0);
        assert!(unit.message(&first, &[0; 8], true, 0).unwrap().new);
        let message = unit.message(&first, &[0; 1024], false, 0).unwrap();
        assert!(!message.new && message.received == 1);
        assert_eq!(unit.message(&first, &[0; 1024], false, 0), Err(Refusal::Duplicate { message }));
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let bad = |unit: &mut Reassembly, header: Header, bytes: usize| {
            let payload = vec![0; bytes];
            match unit.message(&header, &payload, false, 0) {
                Err(Refusal::Bad(why)) => Some(why),
                _ => None,
            }
        };
        let mut unit = reassembly(ReceiveFixes::ALL);
        assert_eq!(bad(&mut unit, header(0, 0, 0), 8), Some(DropReason::ZeroLength));
        assert_eq!(bad(&mut unit, header(0, 2049, 0), 1024), Some(DropReason::Oversize));
        assert_eq!(bad(&mut unit, header(0, 1024, 1), 8), Some(DropReason::HeaderLies));
        assert_eq!(bad(&mut unit, header(0, 64, 0), 63), Some(DropReason::HeaderLies));
        assert_eq!(bad(&mut unit, header(0, 64, 0), 64), None);
        assert_eq!(unit.taken(), 1);
        let mut unit = reassembly(ReceiveFixes::NONE);
        assert_eq!(bad(&mut unit, header(0, 0, 0), 8), None, "the RTL takes it");
        assert_eq!(bad(&mut unit, header(1, 64, 0), 8), None, "and fills it up");
    }
}
