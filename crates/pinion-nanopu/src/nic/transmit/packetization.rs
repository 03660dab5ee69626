//! The packetization buffer: words of messages in, packets out (nanoPU paper, §2.1 and §3.1; RTL
//! LNIC/Packetize).
//!
//! In: 64-bit words, each message's header word first; acknowledgements, credit and timeouts.
//! Out: which packets go, in which order. Holds each message in a buffer, with the packets
//! delivered, the packets that wait for credit, and the credit, until all are delivered.
//!
//! A packet that is written goes if it is within the credit, else waits for some. Three queues of
//! descriptors hold what goes: first transmissions before what credit released before what timed
//! out. A descriptor names packets of one message; they go lowest first. A NACK alone sends
//! nothing: it marks the packet, and the next PULL sends what is marked.

mod credit;
mod hardware;
mod schedule;

use std::collections::VecDeque;

use super::buffers::{Buffer, Buffers};
use super::counters::{Counters, Resident};
use super::global_transmit::{Gate, MOST, Stream};
use crate::Cycle;
use crate::hardware::{InLoop, PacketizationSeat};
use crate::machine::transmit::{TransmitFixes, TransmitSection};
use crate::transport::{Outgoing, Packets, SendRules};
use crate::waypoint::{Cause, Departing};

/// Holds what is written of a stream's current message.
#[derive(Clone, Copy, Debug, Default)]
enum Writing {
    /// A header word comes next.
    #[default]
    Nothing,
    /// A message.
    Message { id: u16, words_left: u16, bytes: u16 },
    /// The words of a message that was refused.
    Refused { words_left: u16 },
}

/// Holds a message under way.
#[derive(Clone, Copy, Debug, Default)]
struct Message {
    /// Number of it, for those who follow it.
    number: u64,
    /// It has been taken and not been freed.
    live: bool,
    /// Number of the messages that had this id, from 1 and without 0.
    generation: u16,
    hart: u8,
    outgoing: Outgoing,
    buffer: Buffer,
    packets: u8,
    /// Words not written yet.
    words_missing: u16,
    delivered: Packets,
    /// Packets that wait for credit.
    waiting: Packets,
    /// Packets that have been sent at least once.
    sent: Packets,
    credit: u16,
    /// The highest packet sent.
    highest_sent: u8,
    /// The highest packet that the next timeout sends again.
    highest_timed: u8,
}

/// Names packets of a message that are to go.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    cause: Cause,
    id: u16,
    generation: u16,
    packets: Packets,
    from: Cycle,
}

/// Says what the next packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The message.
    pub outgoing: Outgoing,
    /// Its number in the message.
    pub number: u8,
    /// It was sent before.
    pub again: bool,
    /// Where its payload starts in the message's buffer.
    offset: usize,
    /// How it came to go.
    pub departing: Departing,
    /// Bytes of payload.
    pub bytes: usize,
    buffer: Buffer,
}

/// Says what a word led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// A message with this id began.
    Began(u16),
    /// It is inside a packet.
    Inside,
    /// A packet is complete.
    Packet,
    /// A packet is complete, but the queue of descriptors is full.
    Overflow,
}

/// Says what an acknowledgement led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// The message is delivered and freed.
    Complete,
    /// Packets are missing still, or it meant nothing.
    Nothing,
    /// The message had been freed already: its buffer would be freed twice.
    Twice,
}

/// Writes words of a message into its buffer, in network byte order.
#[derive(Debug)]
pub struct Writer<'b>(std::slice::ChunksExactMut<'b, u8>);

impl Writer<'_> {
    /// Counts the words there is room for.
    pub fn room(&self) -> usize {
        self.0.len()
    }

    /// Writes the next word.
    pub fn put(&mut self, word: u64) {
        if let Some(place) = self.0.next() {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }
}

/// Holds all messages under way.
#[derive(Clone, Debug)]
pub struct Packetization {
    packet_bytes: u16,
    longest: u16,
    quota: Option<u16>,
    queue_limit: usize,
    buffer_cycles: u64,
    fixes: TransmitFixes,
    rules: SendRules,
    window: u16,
    streams: Vec<Writing>,
    message_ids: u16,
    /// By id, as far as ids have been in use: most nodes use few.
    messages: Vec<Message>,
    free_ids: VecDeque<u16>,
    buffers: Buffers,
    /// By context: buffers held.
    held: Vec<u16>,
    queues: [VecDeque<Descriptor>; 3],
    /// What is being sent.
    job: Option<Descriptor>,
    /// When the next packet of it is there.
    job_from: Cycle,
    /// When the next descriptor may be taken.
    idle_from: Cycle,
    /// The block in its place, or beside it.
    hardware: InLoop<PacketizationSeat>,
}

impl Packetization {
    /// Makes packetization without messages; `rtt_packets` is the initial credit unless `rules`
    /// say otherwise.
    pub fn new(
        section: &TransmitSection,
        harts: usize,
        rtt_packets: u16,
        rules: SendRules,
    ) -> Self {
        let by_packets = rules
            .max_packets
            .map_or(u32::MAX, |packets| u32::from(packets) * u32::from(section.packet_bytes));
        let longest = u32::from(section.longest_message_bytes()).min(by_packets) as u16;
        Self {
            packet_bytes: section.packet_bytes,
            longest,
            quota: section.context_buffers,
            queue_limit: section.scheduled_descriptors,
            buffer_cycles: section.latency.buffer_cycles,
            fixes: section.fixes,
            rules,
            window: rules.initial_credit.unwrap_or(rtt_packets),
            streams: vec![Writing::Nothing; harts * MOST],
            message_ids: section.message_ids,
            messages: Vec::new(),
            free_ids: (0..section.message_ids).collect(),
            buffers: Buffers::new(&section.buffers),
            held: vec![0; MOST],
            queues: Default::default(),
            job: None,
            job_from: 0,
            idle_from: 0,
            hardware: InLoop::default(),
        }
    }

    /// Says what a stream's first word, `value`, meets.
    pub fn gate(&self, stream: Stream, value: u64) -> Gate {
        if !matches!(self.streams[stream.index()], Writing::Nothing) {
            return Gate::Data;
        }
        let bytes = value as u16;
        let refused = self.is_refused(bytes);
        let room = !self.over_quota(stream) && !self.free_ids.is_empty() && self.buffers.has(bytes);
        if refused || room { Gate::Header } else { Gate::Wait }
    }

    /// Tells whether messages of so many bytes are refused.
    fn is_refused(&self, bytes: u16) -> bool {
        self.fixes.bad_headers && (bytes == 0 || bytes > self.longest)
    }

    /// Tells whether a stream's context holds all the buffers it may.
    pub fn over_quota(&self, stream: Stream) -> bool {
        let context = stream.context();
        self.quota.is_some_and(|quota| self.held[context] >= quota)
    }

    /// Tells how many words of a stream, whose first word is `value`, end its packet.
    pub fn words_to_packet_end(&self, stream: Stream, value: u64) -> usize {
        let words = |bytes: u16| usize::from(bytes.min(self.packet_bytes).div_ceil(8));
        match self.streams[stream.index()] {
            Writing::Nothing => 1 + words(value as u16),
            Writing::Refused { words_left } => usize::from(words_left),
            Writing::Message { words_left, bytes, .. } => {
                let to_end = (self.packet_bytes - bytes % self.packet_bytes) / 8;
                usize::from(words_left.min(to_end))
            }
        }
    }

    /// Takes a word that [`gate`](Self::gate) let in, in cycle `at`.
    pub fn write(
        &mut self,
        stream: Stream,
        value: u64,
        at: Cycle,
        counters: &mut Counters,
    ) -> Written {
        match &mut self.streams[stream.index()] {
            Writing::Nothing => self.begin(stream, value, at, counters),
            Writing::Refused { words_left } => {
                counters.words_refused += 1;
                *words_left -= 1;
                if *words_left == 0 {
                    self.streams[stream.index()] = Writing::Nothing;
                }
                Written::Inside
            }
            Writing::Message { id, words_left, bytes } => {
                let (id, offset) = (*id, *bytes);
                *bytes += 8;
                *words_left -= 1;
                let last = *words_left == 0;
                let ends = last || (*bytes).is_multiple_of(self.packet_bytes);
                let message = &mut self.messages[usize::from(id)];
                message.words_missing = message.words_missing.saturating_sub(1);
                self.buffers.write(message.buffer, offset.into(), value);
                if last {
                    self.streams[stream.index()] = Writing::Nothing;
                }
                self.tell_word(stream, (value, at), None, last);
                if !ends {
                    return Written::Inside;
                }
                self.packet_written(id, offset / self.packet_bytes, at)
            }
        }
    }

    /// Makes room for the words of a stream's packet but the last.
    pub fn writer(&mut self, stream: Stream) -> Writer<'_> {
        let Writing::Message { id, words_left, bytes } = self.streams[stream.index()] else {
            return Writer([].chunks_exact_mut(8));
        };
        let to_end = (self.packet_bytes - bytes % self.packet_bytes) / 8;
        let words = words_left.min(to_end) - 1;
        let buffer = self.messages[usize::from(id)].buffer;
        Writer(self.buffers.words(buffer, bytes.into(), words.into()))
    }

    /// Notes that `words` words were written with the [`writer`](Self::writer) of a stream.
    pub fn written(&mut self, stream: Stream, words: u16) {
        if let Writing::Message { id, words_left, bytes } = &mut self.streams[stream.index()] {
            *words_left -= words;
            *bytes += 8 * words;
            let message = &mut self.messages[usize::from(*id)];
            message.words_missing = message.words_missing.saturating_sub(words);
        }
    }

    /// Takes the header word of a message.
    fn begin(&mut self, stream: Stream, value: u64, at: Cycle, counters: &mut Counters) -> Written {
        let bytes = value as u16;
        counters.messages += 1;
        let words = bytes.div_ceil(8);
        if self.is_refused(bytes) {
            let kind = if bytes == 0 {
                &mut counters.refused_empty
            } else {
                &mut counters.refused_oversize
            };
            *kind += 1;
            if words > 0 {
                self.streams[stream.index()] = Writing::Refused { words_left: words };
            }
            return Written::Inside;
        }
        let context = stream.context();
        let (id, buffer) = (self.take_id(at, stream, value), self.buffers.take(bytes));
        let (Some(id), Some(buffer)) = (id, buffer) else {
            unreachable!("the gate lets a header word in only if a buffer and an id are free")
        };
        self.held[context] += 1;
        self.grow_to(id);
        let message = &mut self.messages[usize::from(id)];
        let generation = message.generation.checked_add(1).unwrap_or(1);
        *message = Message {
            number: counters.messages - 1,
            live: true,
            generation,
            hart: stream.hart() as u8,
            outgoing: Outgoing {
                tx_msg_id: id,
                dst_ip: (value >> 32) as u32,
                src_context: context as u16,
                dst_context: (value >> 16) as u16,
                msg_len: bytes,
                buf_ptr: buffer.pointer,
                buf_size_class: buffer.class,
                generation: if self.fixes.message_generation { generation } else { 0 },
                granted_priority: None,
            },
            buffer,
            packets: bytes.div_ceil(self.packet_bytes).max(1) as u8,
            words_missing: words,
            credit: self.window,
            ..Message::default()
        };
        // Without the fix a message of no bytes still takes a word.
        let words_left = words.max(1);
        self.streams[stream.index()] = Writing::Message { id, words_left, bytes: 0 };
        self.tell_word(stream, (value, at), Some(id), false);
        Written::Began(id)
    }

    /// Makes the table of messages reach as far as `id`.
    fn grow_to(&mut self, id: u16) {
        let length = self.messages.len().max(usize::from(id) + 1);
        self.messages.resize_with(length, Message::default);
    }

    /// Gives what is known of an id that a peer names, unless there is no such id.
    fn message(&mut self, id: u16) -> Option<&mut Message> {
        (id < self.message_ids).then(|| self.grow_to(id))?;
        self.messages.get_mut(usize::from(id))
    }

    /// Sends a packet whose last word was written in cycle `at`, or lets it wait for credit.
    fn packet_written(&mut self, id: u16, packet: u16, at: Cycle) -> Written {
        let window = self.window;
        let message = &mut self.messages[usize::from(id)];
        let bit = 1 << packet;
        if packet >= message.credit && packet >= window {
            message.waiting |= bit;
            return Written::Packet;
        }
        if self.schedule(Cause::First, id, bit, at + 1) {
            Written::Packet
        } else {
            Written::Overflow
        }
    }

    /// Lists the messages that are not delivered, in order of their ids.
    pub fn resident(&self) -> impl Iterator<Item = Resident> + '_ {
        self.messages.iter().filter(|message| message.live).map(|message| Resident {
            hart: message.hart,
            context: message.outgoing.src_context,
            tx_msg_id: message.outgoing.tx_msg_id,
            dst_ip: message.outgoing.dst_ip,
            msg_len: message.outgoing.msg_len,
            words_missing: message.words_missing,
            packets_delivered: (message.delivered & all_packets(message.packets)).count_ones(),
            packets: message.packets,
        })
    }

    /// Gives the number of the message that has an id, or had it last.
    pub fn number(&self, id: u16) -> u64 {
        self.messages[usize::from(id)].number
    }

    /// Counts free message ids and buffers.
    pub fn free_places(&self) -> (usize, usize) {
        (self.free_ids.len(), self.buffers.free())
    }

    /// Checks that every id is either free or under way, and every buffer free or held.
    pub fn conserves(&self) -> bool {
        let live = self.messages.iter().filter(|message| message.live).count();
        let mut ids = vec![false; self.message_ids.into()];
        let unique =
            self.free_ids.iter().all(|&id| !std::mem::replace(&mut ids[usize::from(id)], true));
        let held: u16 = self.held.iter().sum();
        unique && live + self.free_ids.len() == ids.len() && usize::from(held) == live
    }
}

/// Gives the set of a message's packets.
fn all_packets(packets: u8) -> Packets {
    1u64.checked_shl(packets.into()).map_or(u64::MAX, |bit| bit - 1)
}
