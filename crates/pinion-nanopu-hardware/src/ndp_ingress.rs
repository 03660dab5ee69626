//! The ports of ingress with NDP fixed in it. In: frames' flits; what reassembly answers about each packet, in the cycle
//! of its look-up. Out: what reassembly is asked, payload on its way to its buffer, what the packet generator and
//! packetization are told. It runs beside the model only: what it tells lies ahead when the model decides about a frame.

use std::collections::VecDeque;

use pinion_nanopu_machine::node::Machine;
use pinion_nanopu_machine::transport::TransportKind;
use pinion_net::frame::lnic::Header;
use pinion_sim::block::{Block, Needs, Port, bits_for};

use crate::reassembly::{DUPLICATE, NO_ROOM, TAKEN};
use crate::{Cycle, FIELDS_BITS, Fields, Placed, Seat, take_first_due, words_of};

const IN_VALID: usize = 0;
const IN_DATA: usize = 1;
const IN_KEEP: usize = 2;
const IN_LAST: usize = 3;
const SERVED: usize = 4;
const VERDICT: usize = 5;
const PACKET_BEGINS: usize = 6;
const PACKET_ID: usize = 7;
const PACKET_WORD: usize = 8;
const PACKET_VALID: usize = 9;
const PACKET_KEY: usize = 10;
const PACKET_MESSAGE_BYTES: usize = 11;
const PACKET_NUMBER: usize = 12;
const PACKET_TRIMMED: usize = 13;
const PACKET_CONTEXT: usize = 14;
const PACKET_SOURCE: usize = 15;
const WRITE_VALID: usize = 16;
const WRITE_WORD: usize = 17;
const WRITE_DATA: usize = 18;
const WRITTEN_VALID: usize = 19;
const WRITTEN_ID: usize = 20;
const CONTROL_VALID: usize = 21;
const CONTROL_ACK: usize = 22;
const CONTROL_NACK: usize = 23;
const CONTROL_DATA: usize = 24;
const DELIVERED_VALID: usize = 25;
const CREDIT_VALID: usize = 26;
const CREDIT_NACK: usize = 27;
const CREDIT_PULL: usize = 28;
const NOTICE_ID: usize = 29;
const NOTICE_PACKET: usize = 30;
const NOTICE_CREDIT: usize = 31;

const FLIT_BYTES: usize = 8;
/// Bytes of a word of the packet memory.
const WORD_BYTES: u64 = 64;
/// Bits of the sender's address and of its number that tell messages apart.
const KEY_PART_BITS: u32 = 16;
/// Cycles from the decision to what packetization is told.
const NOTICE_CYCLES: u64 = 2;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let transport = &machine.transport;
    if transport.kind != TransportKind::Ndp {
        return Err("the block decides as NDP does: --set transport.kind=ndp".into());
    }
    if transport.lost_reack {
        return Err(
            "the block does not answer packets that come again: --faithful, or --set transport.lost_reack=false".into()
        );
    }
    let section = &machine.receive;
    let timing = &section.ingress;
    let cycles = [
        timing.pin_bytes,
        timing.arrival_cycles,
        timing.lookup_cycles,
        timing.decide_cycles,
        timing.header_cycles,
        timing.payload_cycles,
        timing.first_word_cycles,
        machine.transmit.latency.notice_cycles,
    ];
    if cycles != [FLIT_BYTES as u64, 2, 2, 6, 8, 2, 1, NOTICE_CYCLES] {
        return Err("receive.ingress and transmit.latency.notice_cycles: the block has the published hardware's cycles".into());
    }
    let (messages, words) = (messages(machine), words_of_message(machine));
    let (id, word) = (bits_for(messages), bits_for(messages * words));
    let ports = vec![
        Port::input("in_valid", 1),
        Port::input("in_data", 64),
        Port::input("in_keep", 8),
        Port::input("in_last", 1),
        Port::input("served", 1),
        Port::input("verdict", 2),
        Port::input("packet_begins", 1),
        Port::input("packet_id", id),
        Port::input("packet_word", word),
        Port::output("packet_valid", 1),
        Port::output("packet_key", 2 * KEY_PART_BITS),
        Port::output("packet_message_bytes", 16),
        Port::output("packet_number", 8),
        Port::output("packet_trimmed", 1),
        Port::output("packet_context", 16),
        Port::output("packet_source", 48),
        Port::output("write_valid", 1),
        Port::output("write_word", word),
        Port::output("write_data", 8 * WORD_BYTES as u32),
        Port::output("written_valid", 1),
        Port::output("written_id", id),
        Port::output("control_valid", 1),
        Port::output("control_ack", 1),
        Port::output("control_nack", 1),
        Port::output("control_data", FIELDS_BITS),
        Port::output("delivered_valid", 1),
        Port::output("credit_valid", 1),
        Port::output("credit_nack", 1),
        Port::output("credit_pull", 1),
        Port::output("notice_id", 16),
        Port::output("notice_packet", 8),
        Port::output("notice_credit", 16),
    ];
    let parameters = vec![
        ("WINDOW", transport.rtt_packets.into()),
        ("HOST_BITS", KEY_PART_BITS.into()),
        ("NUMBER_BITS", KEY_PART_BITS.into()),
        ("MESSAGES", messages),
        ("WORD_BITS", word.into()),
        ("PACKET_WORDS", u64::from(section.reassembly.packet_bytes) / WORD_BYTES),
    ];
    Ok(Needs { ports, parameters })
}

/// Counts the messages that reassembly has room for.
fn messages(machine: &Machine) -> u64 {
    machine.receive.reassembly.buffers.iter().map(|class| u64::from(class.count)).sum()
}

/// Counts the words of the largest message.
fn words_of_message(machine: &Machine) -> u64 {
    let buffers = machine.receive.reassembly.buffers.iter();
    buffers.map(|class| u64::from(class.bytes).div_ceil(WORD_BYTES)).max().unwrap_or(1)
}

/// Says what reassembly answers about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It takes it for this message, which the packet begins or not.
    Taken {
        /// The message's id.
        id: u16,
        /// Whether the packet begins it.
        begins: bool,
    },
    /// It came before.
    Duplicate,
    /// It is not taken.
    NoRoom,
}

/// Says what is in a header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Named {
    /// The sender's address and context.
    pub source: (u32, u16),
    /// The context that is meant.
    pub context: u16,
    /// Bytes of the message.
    pub bytes: u16,
    /// The packet's number.
    pub packet: u8,
    /// The sender's number for the message.
    pub number: u16,
    /// Where its buffer begins, and its class.
    pub buffer: (u16, u8),
}

impl Named {
    /// Gives what a header says.
    pub fn of(header: &Header) -> Self {
        Self {
            source: (header.src_ip, header.src_context),
            context: header.dst_context,
            bytes: header.msg_len,
            packet: header.pkt_offset,
            number: header.tx_msg_id,
            buffer: (header.buf_ptr, header.buf_size_class),
        }
    }
}

/// Is a data packet's look-up.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Its cycle.
    pub at: Cycle,
    /// What the header says.
    pub named: Named,
    /// Whether its payload was trimmed away.
    pub is_trimmed: bool,
    /// What reassembly answers, if somebody serves the context.
    pub verdict: Option<Verdict>,
}

/// Is what the packet generator is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Its cycle.
    pub at: Cycle,
    /// What the header says.
    pub named: Named,
    /// Whether it acknowledges.
    pub acknowledges: bool,
    /// Packets that may be sent.
    pub credit: u16,
}

/// Is what packetization is told.
#[derive(Clone, Copy, Debug)]
pub struct Notice {
    /// Its cycle.
    pub at: Cycle,
    /// The message.
    pub id: u16,
    /// The packet that has arrived.
    pub delivered: Option<u8>,
    /// The packet that is wanted again.
    pub again: Option<u8>,
    /// Packets that may be sent.
    pub credit: Option<u16>,
}

/// Is a word of payload on its way to its buffer.
#[derive(Clone, Debug)]
struct Write {
    at: Cycle,
    id: u16,
    place: u64,
    words: [u32; 16],
    is_last: bool,
}

/// Holds ingress's block beside the model.
#[derive(Debug)]
pub struct IngressSeat {
    seat: Seat,
    words_of_message: u64,
    words_of_packet: u64,
    /// Frames on the pins: the first flit's cycle, the bytes.
    frames: VecDeque<(Cycle, Vec<u8>)>,
    looks: VecDeque<Look>,
    controls: VecDeque<Control>,
    notices: VecDeque<Notice>,
    writes: VecDeque<Write>,
    last: Option<Look>,
}

impl IngressSeat {
    /// Puts a block beside the model.
    pub fn new(block: Box<dyn Block>, machine: &Machine) -> Self {
        let (frames, looks, controls, notices, writes) = Default::default();
        Self {
            seat: Seat::new(block, true, machine),
            words_of_message: words_of_message(machine),
            words_of_packet: u64::from(machine.receive.reassembly.packet_bytes) / WORD_BYTES,
            frames,
            looks,
            controls,
            notices,
            writes,
            last: None,
        }
    }

    /// Hears of a frame whose first flit is on the pins in cycle `at`.
    pub fn frame(&mut self, at: Cycle, bytes: &[u8]) {
        self.frames.push_back((at, bytes.to_vec()));
    }

    /// Hears of a data packet's look-up.
    pub fn look(&mut self, look: Look) {
        self.looks.push_back(look);
    }

    /// Hears what the packet generator is asked for.
    pub fn control(&mut self, control: Control) {
        self.controls.push_back(control);
    }

    /// Hears what packetization is told, when that is decided.
    pub fn notice(&mut self, mut notice: Notice) {
        notice.at += NOTICE_CYCLES;
        match self.notices.back_mut().filter(|last| (last.at, last.id) == (notice.at, notice.id)) {
            Some(last) => (last.again, last.credit) = (notice.again, notice.credit),
            None => self.notices.push_back(notice),
        }
    }

    /// Hears that a word of a packet's payload goes to its message's buffer in cycle `at`.
    pub fn write(&mut self, at: Cycle, (id, packet): (u16, u8), word: usize, payload: &[u8]) {
        let place = self.place(id, packet) + word as u64;
        let bytes = WORD_BYTES as usize;
        let is_last = (word + 1) * bytes >= payload.len();
        let part = payload.chunks(bytes).nth(word).unwrap_or(&[]);
        self.writes.push_back(Write { at, id, place, words: words_of(part), is_last });
    }

    /// Gives the place of a packet: messages lie behind each other by their ids.
    fn place(&self, id: u16, packet: u8) -> u64 {
        u64::from(id) * self.words_of_message + u64::from(packet) * self.words_of_packet
    }

    /// Lets the block take all cycles before one, from which on frames may be looked up that have not been.
    pub fn clock(&mut self, to: Cycle) {
        while self.seat.cycle < to && self.seat.failure.is_none() {
            self.put_flit();
            self.put_look();
            self.expect_control();
            self.expect_notice();
            self.expect_write();
            let last = &self.last;
            self.seat.end_cycle(|| match last {
                Some(last) => format!("the last packet was {last:x?}"),
                None => "no packet has come yet".to_owned(),
            });
        }
    }

    /// Gives the block the flit of its cycle.
    fn put_flit(&mut self) {
        let Self { seat, frames, .. } = self;
        let cycle = seat.cycle;
        let here = frames.front().and_then(|(first, bytes)| {
            let place = cycle.checked_sub(*first)? as usize;
            Some((bytes.chunks(FLIT_BYTES).nth(place)?, (place + 1) * FLIT_BYTES >= bytes.len()))
        });
        let block = &mut seat.block;
        block.put(IN_VALID, here.is_some().into());
        let Some((flit, is_last)) = here else { return };
        let mut bytes = [0; FLIT_BYTES];
        bytes[..flit.len()].copy_from_slice(flit);
        block.put(IN_DATA, u64::from_le_bytes(bytes));
        block.put(IN_KEEP, (1 << flit.len()) - 1);
        block.put(IN_LAST, is_last.into());
        if is_last {
            frames.pop_front();
        }
    }

    /// Answers the look-up of the block's cycle, and wants it to be about what the model's is about.
    fn put_look(&mut self) {
        let look = take_first_due(&mut self.looks, self.seat.cycle, |look| look.at);
        let place = look.map_or(0, |look| match look.verdict {
            Some(Verdict::Taken { id, .. }) => self.place(id, look.named.packet),
            _ => 0,
        });
        let block = &mut self.seat.block;
        let verdict = look.and_then(|look| look.verdict);
        block.put(SERVED, verdict.is_some().into());
        block.expect(PACKET_VALID, verdict.is_some().into());
        let (code, id, begins) = match verdict {
            Some(Verdict::Taken { id, begins }) => (TAKEN, id, begins),
            Some(Verdict::Duplicate) => (DUPLICATE, 0, false),
            Some(Verdict::NoRoom) | None => (NO_ROOM, 0, false),
        };
        block.put(VERDICT, code);
        block.put(PACKET_ID, id.into());
        block.put(PACKET_BEGINS, begins.into());
        block.put(PACKET_WORD, place);
        let Some(look) = look else { return };
        self.last = Some(look);
        let Named { source, context, bytes, packet, number, .. } = look.named;
        if verdict.is_some() {
            let key = u64::from(source.0 & 0xffff) << KEY_PART_BITS | u64::from(number);
            block.expect(PACKET_KEY, key);
            block.expect(PACKET_MESSAGE_BYTES, bytes.into());
            block.expect(PACKET_NUMBER, packet.into());
            block.expect(PACKET_TRIMMED, look.is_trimmed.into());
            block.expect(PACKET_CONTEXT, context.into());
            block.expect(PACKET_SOURCE, u64::from(source.0) << 16 | u64::from(source.1));
        }
    }

    /// Wants the packet generator to be asked for what the model asks it for.
    fn expect_control(&mut self) {
        let control = take_first_due(&mut self.controls, self.seat.cycle, |control| control.at);
        let block = &mut self.seat.block;
        block.expect(CONTROL_VALID, control.is_some().into());
        let Some(control) = control else { return };
        block.expect(CONTROL_ACK, control.acknowledges.into());
        block.expect(CONTROL_NACK, (!control.acknowledges).into());
        block.expect_words(CONTROL_DATA, &fields(&control.named, control.credit));
    }

    /// Wants packetization to be told what the model tells it.
    fn expect_notice(&mut self) {
        let notice = take_first_due(&mut self.notices, self.seat.cycle, |notice| notice.at);
        let block = &mut self.seat.block;
        let credits = notice.is_some_and(|one| one.again.is_some() || one.credit.is_some());
        let delivers = notice.is_some_and(|one| one.delivered.is_some());
        block.expect(DELIVERED_VALID, delivers.into());
        block.expect(CREDIT_VALID, credits.into());
        let Some(notice) = notice else { return };
        block.expect(NOTICE_ID, notice.id.into());
        if let Some(packet) = notice.delivered.or(notice.again) {
            block.expect(NOTICE_PACKET, packet.into());
        }
        if credits {
            block.expect(CREDIT_NACK, notice.again.is_some().into());
            block.expect(CREDIT_PULL, notice.credit.is_some().into());
        }
        if let Some(credit) = notice.credit {
            block.expect(NOTICE_CREDIT, credit.into());
        }
    }

    /// Wants the word of payload to be written that the model writes in the block's cycle.
    fn expect_write(&mut self) {
        let write = take_first_due(&mut self.writes, self.seat.cycle, |write| write.at);
        let block = &mut self.seat.block;
        block.expect(WRITE_VALID, write.is_some().into());
        block.expect(WRITTEN_VALID, write.as_ref().is_some_and(|write| write.is_last).into());
        let Some(write) = write else { return };
        block.expect(WRITE_WORD, write.place);
        block.expect_words(WRITE_DATA, &write.words);
        if write.is_last {
            block.expect(WRITTEN_ID, write.id.into());
        }
    }
}

/// Gives what headers say as packetization, packet generator and egress carry it: words of 32 bits, the lowest first.
pub fn fields(named: &Named, credit: u16) -> Fields {
    let (ip, context) = named.source;
    let low = u128::from(named.buffer.1)
        | u128::from(named.buffer.0) << 8
        | u128::from(named.number) << 24
        | u128::from(credit) << 40
        | u128::from(named.packet) << 56
        | u128::from(named.bytes) << 64
        | u128::from(named.context) << 80
        | u128::from(context) << 96
        | u128::from(ip) << 112;
    let word = |at: u32| (low >> (32 * at)) as u32;
    [word(0), word(1), word(2), word(3), ip >> 16]
}

impl Placed for IngressSeat {
    fn seat(&self) -> &Seat {
        &self.seat
    }
}
