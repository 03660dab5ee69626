//! Which message a packet belongs to: the table of incoming messages (nanoPU paper, §2.1).
//!
//! In: a packet's header. Out: the id that reassembly gave its message, if it knows it. Holds the
//! messages that are incomplete or wait for delivery and, with the fix `duplicate_redelivery`,
//! what was delivered not long ago (RTL LNIC/Assemble.scala, `rx_msg_id_table`).

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use pinion_net::frame::lnic::Header;

use crate::Cycle;
use crate::machine::receive::ReceiveSection;

/// Names a message among all senders'.
pub type Key = u64;

/// Packets of a finished message whose payload is remembered.
pub const REMEMBERED_PACKETS: usize = 4;

/// Spreads keys by one multiplication; they are no secrets and nobody gains by collisions, which
/// cost time only.
#[derive(Clone, Copy, Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        let product = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// Uses of an id that one may come before another; farther apart they count as a later one, whose
/// sender has had the id for other peers since, and whose numbers may have gone round.
const USES_BEFORE: u16 = 1 << 10;

/// Tells whether one use of an id came before another.
fn is_before(one: u16, other: u16) -> bool {
    (1..USES_BEFORE).contains(&other.wrapping_sub(one))
}

/// Describes a message well enough to know its packets again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// The header's fields, but for the packet's number.
    header: u64,
    /// Which use of its id the sender says this is; 0 if it does not say.
    generation: u16,
    /// Sums of the first packets' payloads.
    payload: [u32; REMEMBERED_PACKETS],
}

impl Fingerprint {
    /// Begins the description of the message that a packet with `header` belongs to.
    pub fn new(header: &Header) -> Self {
        let fields = [
            u64::from(header.src_ip) << 32 | u64::from(header.dst_ip),
            u64::from(header.src_context) << 32 | u64::from(header.dst_context),
            u64::from(header.msg_len) << 32 | u64::from(header.tx_msg_id),
            u64::from(header.buf_ptr) << 32 | u64::from(header.buf_size_class),
        ];
        let mut hasher = KeyHasher::default();
        fields.iter().for_each(|&field| hasher.write_u64(field));
        Self { header: hasher.finish(), generation: header.pull_offset, payload: [0; 4] }
    }

    /// Adds a packet's payload.
    pub fn add(&mut self, packet: u8, payload: &[u8]) {
        if let Some(sum) = self.payload.get_mut(usize::from(packet)) {
            *sum = sum_of(payload);
        }
    }

    /// Tells whether a packet of the message that `other` begins to describe is one of ours.
    fn covers(&self, other: &Self, packet: u8, payload: &[u8]) -> bool {
        self.header == other.header
            && self.payload.get(usize::from(packet)).is_none_or(|&sum| sum == sum_of(payload))
    }
}

/// Sums a payload, eight bytes at a time.
fn sum_of(payload: &[u8]) -> u32 {
    let (words, rest) = payload.as_chunks::<8>();
    let mut sum = payload.len() as u64;
    let mut add = |word: u64| sum = (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    words.iter().for_each(|word| add(u64::from_be_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    add(u64::from_be_bytes(last));
    (sum >> 32) as u32
}

/// Holds which messages are known.
#[derive(Clone, Debug)]
pub struct MessageTable {
    /// By key and, with the fix, generation: a sender uses an id again when all packets have arrived,
    /// which may be before its message is delivered.
    messages: KeyMap<(Key, u16), u16>,
    whole_key: bool,
    host_mask: u32,
    id_mask: u16,
    finished: KeyMap<Key, (Fingerprint, Cycle)>,
    order: VecDeque<Key>,
    remembered: usize,
    remembered_cycles: Cycle,
}

impl MessageTable {
    /// Makes an empty table.
    pub fn new(section: &ReceiveSection) -> Self {
        let reassembly = &section.reassembly;
        let remembered = match section.fixes.duplicate_redelivery {
            true => reassembly.remembered_messages,
            false => 0,
        };
        let low = |bits: u32| 1u64.checked_shl(bits).map_or(u64::MAX, |end| end - 1);
        Self {
            messages: KeyMap::default(),
            whole_key: section.fixes.message_key,
            host_mask: low(reassembly.host_bits) as u32,
            id_mask: low(reassembly.id_bits) as u16,
            // They grow with what there is to remember: most nodes of a large network hear little.
            finished: KeyMap::default(),
            order: VecDeque::new(),
            remembered,
            remembered_cycles: reassembly.remembered_cycles,
        }
    }

    /// Tells whether finished messages are remembered.
    pub fn remembers(&self) -> bool {
        self.remembered > 0
    }

    /// Gives the key of a packet's message.
    pub fn key(&self, header: &Header) -> Key {
        let (host, id) = (header.src_ip, header.tx_msg_id);
        if self.whole_key {
            u64::from(host) << 32 | u64::from(header.src_context) << 16 | u64::from(id)
        } else {
            u64::from(host & self.host_mask) << 32 | u64::from(id & self.id_mask)
        }
    }

    /// Gives which use of its id a message with this number has; the RTL does not tell.
    pub fn generation(&self, number: u16) -> u16 {
        if self.remembers() { number } else { 0 }
    }

    /// Looks up the message of a packet.
    pub fn get(&self, key: Key, header: &Header) -> Option<u16> {
        self.messages.get(&(key, self.generation(header.pull_offset))).copied()
    }

    /// Enters the message of a packet.
    pub fn insert(&mut self, key: Key, header: &Header, rx_id: u16) {
        self.messages.insert((key, self.generation(header.pull_offset)), rx_id);
    }

    /// Takes a delivered message out, and remembers it if that is wanted.
    pub fn remove(&mut self, key: Key, fingerprint: Fingerprint, now: Cycle) {
        self.messages.remove(&(key, self.generation(fingerprint.generation)));
        let later = |(kept, _): &(Fingerprint, Cycle)| {
            fingerprint.generation != 0 && is_before(fingerprint.generation, kept.generation)
        };
        if self.remembered == 0 || self.finished.get(&key).is_some_and(later) {
            return;
        }
        if self.finished.insert(key, (fingerprint, now)).is_none() {
            if self.order.len() == self.remembered {
                let oldest = self.order.pop_front();
                oldest.and_then(|key| self.finished.remove(&key));
            }
            self.order.push_back(key);
        }
    }

    /// Tells whether a packet that belongs to no known message is one of a message delivered not
    /// long ago.
    pub fn was_delivered(&self, key: Key, header: &Header, payload: &[u8], now: Cycle) -> bool {
        let Some((finished, at)) = self.finished.get(&key) else { return false };
        let packet = Fingerprint::new(header);
        if finished.generation != 0 && packet.generation != 0 {
            // An id is used again only when all packets of the use before have arrived.
            let is_same = finished.generation == packet.generation;
            return is_same && finished.header == packet.header
                || is_before(packet.generation, finished.generation);
        }
        if finished.generation != packet.generation {
            return false;
        }
        now <= at + self.remembered_cycles && finished.covers(&packet, header.pkt_offset, payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::receive::{ReceiveFixes, ReceiveSection};

    fn header(src_ip: u32, tx_msg_id: u16) -> Header {
        Header { src_ip, tx_msg_id, msg_len: 8, ..Header::default() }
    }

    #[test]
    fn the_rtl_tells_messages_apart_by_seven_bits_of_address_and_id() {
        let table = MessageTable::new(&ReceiveSection::artifact(ReceiveFixes::NONE));
        assert_eq!(table.key(&header(0x0a00_0001, 3)), table.key(&header(0x0a00_0081, 131)));
        assert_ne!(table.key(&header(0x0a00_0001, 3)), table.key(&header(0x0a00_0002, 3)));
        let table = MessageTable::new(&ReceiveSection::artifact(ReceiveFixes::ALL));
        assert_ne!(table.key(&header(0x0a00_0001, 3)), table.key(&header(0x0a00_0081, 3)));
        assert_ne!(table.key(&header(0x0a00_0001, 3)), table.key(&header(0x0a00_0001, 131)));
    }

    #[test]
    fn a_delivered_message_is_known_again_by_number_or_by_content() {
        let mut table = MessageTable::new(&ReceiveSection::artifact(ReceiveFixes::ALL));
        let first = header(0x0a00_0001, 3);
        let key = table.key(&first);
        let mut fingerprint = Fingerprint::new(&first);
        fingerprint.add(0, b"12345678");
        table.insert(key, &first, 0);
        table.remove(key, fingerprint, 100);
        assert_eq!(table.get(key, &first), None);
        assert!(table.was_delivered(key, &first, b"12345678", 200));
        assert!(!table.was_delivered(key, &first, b"12345679", 200), "another payload");
        assert!(!table.was_delivered(key, &first, b"12345678", 200_000), "long ago");
        let numbered = Header { pull_offset: 7, ..first };
        assert!(!table.was_delivered(key, &numbered, b"12345678", 200), "another use of the id");
        table.remove(key, Fingerprint::new(&numbered), 300);
        assert!(table.was_delivered(key, &numbered, b"", 900_000), "numbers do not age");
        let next = Header { pull_offset: 8, ..first };
        assert!(!table.was_delivered(key, &next, b"12345678", 301));
        table.remove(key, Fingerprint::new(&next), 400);
        assert!(table.was_delivered(key, &numbered, b"", 401), "the use before is over, too");
        table.remove(key, Fingerprint::new(&numbered), 402);
        assert!(table.was_delivered(key, &next, b"", 403), "delivered out of order");
        let last = Header { pull_offset: u16::MAX, ..header(0x0a00_0001, 4) };
        let first = Header { pull_offset: 1, ..last };
        let key = table.key(&last);
        table.remove(key, Fingerprint::new(&last), 500);
        assert!(!table.was_delivered(key, &first, b"", 501), "numbers go round");
        table.remove(key, Fingerprint::new(&first), 502);
        assert!(table.was_delivered(key, &last, b"", 503), "the use before");
    }

    #[test]
    fn an_id_in_use_again_is_another_message_though_the_first_waits_for_delivery() {
        let mut table = MessageTable::new(&ReceiveSection::artifact(ReceiveFixes::ALL));
        let (one, two) = (header(1, 3), Header { pull_offset: 2, ..header(1, 3) });
        let one = Header { pull_offset: 1, ..one };
        let key = table.key(&one);
        table.insert(key, &one, 10);
        assert_eq!(table.get(key, &two), None);
        table.insert(key, &two, 11);
        assert_eq!((table.get(key, &one), table.get(key, &two)), (Some(10), Some(11)));
        table.remove(key, Fingerprint::new(&one), 50);
        assert_eq!((table.get(key, &one), table.get(key, &two)), (None, Some(11)));
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut section = ReceiveSection::artifact(ReceiveFixes::ALL);
        section.reassembly.remembered_messages = 2;
        let mut table = MessageTable::new(&section);
        for id in 0..3 {
            let header = header(1, id);
            let mut fingerprint = Fingerprint::new(&header);
            fingerprint.add(0, b"x");
            table.remove(table.key(&header), fingerprint, 0);
        }
        let known = |id| {
            let header = header(1, id);
            table.was_delivered(table.key(&header), &header, b"x", 1)
        };
        assert_eq!([known(0), known(1), known(2)], [false, true, true]);
    }
}
