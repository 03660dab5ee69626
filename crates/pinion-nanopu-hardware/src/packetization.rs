//! Packetization's ports. In: messages' words, what peers say of packets, whose time is over, words that the arbiter
//! takes. Out: ids for messages, packets word by word, messages that are delivered.

use std::collections::VecDeque;

use pinion_nanopu_machine::node::Machine;
use pinion_nanopu_machine::transport::TransportKind;
use pinion_sim::block::{Block, Needs, PATIENCE_CYCLES, Port, bits_for, power_of_two};

use crate::{Cycle, Due, FIELDS_BITS, Fields, Placed, Seat, take_first_due, two_classes};

const WORD_VALID: usize = 0;
const WORD_BEGINS: usize = 1;
const WORD_ENDS: usize = 2;
const WORD_HART: usize = 3;
const WORD_CONTEXT: usize = 4;
const WORD_DATA: usize = 5;
const DELIVERED_VALID: usize = 6;
const DELIVERED_ID: usize = 7;
const DELIVERED_PACKET: usize = 8;
const CREDIT_VALID: usize = 9;
const CREDIT_ID: usize = 10;
const CREDIT_NACK: usize = 11;
const CREDIT_PACKET: usize = 12;
const CREDIT_PULL: usize = 13;
const CREDIT_PACKETS: usize = 14;
const TIMEOUT_VALID: usize = 15;
const TIMEOUT_ID: usize = 16;
const PACKET_READY: usize = 17;
const WORD_READY: usize = 18;
const PACKET_VALID: usize = 19;
const PACKET_FIRST: usize = 20;
const PACKET_LAST: usize = 21;
const PACKET_WORD: usize = 22;
const PACKET_DATA: usize = 23;
const PACKET_BYTES: usize = 24;
const BEGINS_VALID: usize = 25;
const BEGINS_ID: usize = 26;
const FREED_VALID: usize = 27;
const FREED_ID: usize = 28;

/// Bytes of a word of a buffer.
const WORD_BYTES: u16 = 64;
/// Where the message's id and the packet's number lie in what a packet's headers say.
const ID_BIT: u32 = 24;
const NUMBER_BIT: u32 = 56;
/// Most messages: each has its state in registers.
const MOST_MESSAGES: u64 = 64;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    if machine.transport.kind != TransportKind::Ndp {
        return Err("the block does what NDP wants: --set transport.kind=ndp".into());
    }
    let section = &machine.transmit;
    let harts = power_of_two("core.count", machine.core.count, 2)?;
    let contexts =
        power_of_two("hart_interface.contexts", machine.hart_interface.contexts.into(), 2)?;
    let (small, large) = two_classes("transmit.buffers", &section.buffers)?;
    let messages = u64::from(small.count) + u64::from(large.count);
    if messages > MOST_MESSAGES || u64::from(section.message_ids) != messages {
        return Err(format!(
            "transmit.message_ids is {} and transmit.buffers has {messages}; the block takes an id for each buffer, \
             and up to {MOST_MESSAGES}: --set transmit.message_ids=16 --set 'transmit.buffers=[{{ bytes = {}, count \
             = 8 }}, {{ bytes = {}, count = 8 }}]'",
            section.message_ids, small.bytes, large.bytes
        ));
    }
    let packet = section.packet_bytes;
    power_of_two("transmit.packet_bytes", packet.into(), WORD_BYTES.into())?;
    if large.bytes <= packet || small.bytes % WORD_BYTES != 0 || large.bytes % WORD_BYTES != 0 {
        return Err(format!(
            "transmit.buffers: the block takes buffers of whole words of {WORD_BYTES} bytes, of which the larger hold \
             two packets at least"
        ));
    }
    let (id, context) = (bits_for(messages), bits_for(contexts));
    let ports = vec![
        Port::input("word_valid", 1),
        Port::input("word_begins", 1),
        Port::input("word_ends", 1),
        Port::input("word_hart", bits_for(harts)),
        Port::input("word_context", context),
        Port::input("word_data", 64),
        Port::input("delivered_valid", 1),
        Port::input("delivered_id", id),
        Port::input("delivered_packet", 8),
        Port::input("credit_valid", 1),
        Port::input("credit_id", id),
        Port::input("credit_nack", 1),
        Port::input("credit_packet", 8),
        Port::input("credit_pull", 1),
        Port::input("credit_packets", 16),
        Port::input("timeout_valid", 1),
        Port::input("timeout_id", id),
        Port::input("packet_ready", 1),
        Port::output("word_ready", 1),
        Port::output("packet_valid", 1),
        Port::output("packet_first", 1),
        Port::output("packet_last", 1),
        Port::output("packet_word", 8 * u32::from(WORD_BYTES)),
        Port::output("packet_data", FIELDS_BITS),
        Port::output("packet_bytes", 16),
        Port::output("begins_valid", 1),
        Port::output("begins_id", id),
        Port::output("freed_valid", 1),
        Port::output("freed_id", id),
        // NDP says nothing of these.
        Port::input("open_valid", 1),
        Port::input("open_id", id),
        Port::input("open_packets", 16),
    ];
    let parameters = vec![
        ("CONTEXTS", contexts),
        ("HARTS", harts),
        ("WINDOW", machine.transport.rtt_packets.into()),
        ("SMALL_COUNT", small.count.into()),
        ("SMALL_BYTES", small.bytes.into()),
        ("LARGE_COUNT", large.count.into()),
        ("LARGE_BYTES", large.bytes.into()),
        ("PACKET_BYTES", packet.into()),
        ("WORD_BYTES", WORD_BYTES.into()),
    ];
    Ok(Needs { ports, parameters })
}

/// Is a word on its way into packetization.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The cycle in which it enters.
    pub at: Cycle,
    /// The hart that wrote it, and its context.
    pub hart: u8,
    /// The context.
    pub context: u16,
    /// The word.
    pub value: u64,
    /// The id of the message that it begins.
    pub begins: Option<u16>,
    /// Whether it is the message's last.
    pub ends: bool,
}

/// Says that so many packets may go, or one is wanted again.
#[derive(Clone, Copy, Debug)]
pub struct CreditTold {
    /// The cycle in which it takes effect.
    pub at: Cycle,
    /// The message.
    pub id: u16,
    /// The packet that is wanted again.
    pub nack: Option<u8>,
    /// Packets from the first on that may go.
    pub pull: Option<u16>,
}

/// Is a packet on its way to the arbiter.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The message.
    pub id: u16,
    /// The packet's number in it.
    pub number: u8,
    /// What its headers say, by words of 32 bits, the lowest first.
    pub data: Fields,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// Holds packetization's block at its place.
#[derive(Debug)]
pub struct PacketizationSeat {
    seat: Seat,
    words: VecDeque<Word>,
    /// Packets that have arrived, with whether that completes the message.
    delivered: VecDeque<(Cycle, u16, u8, bool)>,
    credits: VecDeque<CreditTold>,
    timeouts: Due,
    /// Packets that the model offers, from which cycle on, and what of them is known once they go.
    offers: VecDeque<(Cycle, Option<Offer>)>,
    /// By packet that goes: the cycles of its words.
    passes: VecDeque<VecDeque<Cycle>>,
    /// Words of the first offer that have gone.
    gone: usize,
    /// First cycle in which nobody has looked for a packet, as the block in the model's place has it.
    looks_from: Cycle,
    /// Last cycle in which what was chosen of a message that is gone may be offered.
    lingers: Cycle,
    /// Since when it has offered none, and for how long it may.
    silent: Option<Cycle>,
    patience: Cycle,
}

impl PacketizationSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        Self {
            seat: Seat::new(block, compares, machine),
            words: VecDeque::new(),
            delivered: VecDeque::new(),
            credits: VecDeque::new(),
            timeouts: Due::new(),
            offers: VecDeque::new(),
            passes: VecDeque::new(),
            gone: 0,
            looks_from: 0,
            lingers: 0,
            silent: None,
            patience: PATIENCE_CYCLES.max(4 * machine.transmit.timer.timeout_cycles),
        }
    }

    /// Gives the next cycle in which somebody has to look whether there is a packet.
    pub fn next(&self) -> Cycle {
        self.seat.cycle.max(self.looks_from)
    }

    /// Says whether it may offer a packet although no message waits.
    pub fn may_linger(&self) -> bool {
        self.next() <= self.lingers
    }

    /// Says whether the block takes a message's first word in cycle `at`, and the id that it gives the message.
    pub fn would_begin(&mut self, at: Cycle, hart: u8, context: u16, value: u64) -> Option<u16> {
        self.clock(at);
        let block = &mut self.seat.block;
        block.put(WORD_VALID, 1);
        block.put(WORD_BEGINS, 1);
        block.put(WORD_ENDS, 0);
        block.put(WORD_HART, hart.into());
        block.put(WORD_CONTEXT, context.into());
        block.put(WORD_DATA, value);
        (block.get(WORD_READY) == 1).then(|| block.get(BEGINS_ID) as u16)
    }

    /// Gives the packet that the block offers in cycle `at`, of which all is known but what the arbiter does: its
    /// message and its number.
    pub fn offered(&mut self, at: Cycle) -> Option<(u16, u8)> {
        self.clock(at);
        self.looks_from = at + 1;
        if self.seat.failure.is_some() {
            return None;
        }
        let block = &mut self.seat.block;
        if block.get(PACKET_VALID) == 0 {
            let since = *self.silent.get_or_insert(at);
            if at - since > self.patience {
                self.refuse(&format!(
                    "messages wait for it, and packet_valid has not come for {} cycles",
                    self.patience
                ));
            }
            return None;
        }
        self.silent = None;
        let data = block.get(PACKET_DATA);
        if block.get(PACKET_FIRST) == 0 {
            self.refuse("packet_first is 0 at a packet's first word");
            return None;
        }
        Some(((data >> ID_BIT) as u16, (data >> NUMBER_BIT) as u8))
    }

    /// Says that the block did what no unit may.
    pub fn refuse(&mut self, what: &str) {
        self.seat.wrong = Some(format!("packetization does what no unit may: {what}"));
    }

    /// Tells it of a word; words come in order of time.
    pub fn word(&mut self, word: Word) {
        self.silent = None;
        self.words.push_back(word);
    }

    /// Tells it that a packet of a message has arrived, which with `completes` is the message's last.
    pub fn delivered(&mut self, at: Cycle, id: u16, packet: u8, completes: bool) {
        self.silent = None;
        self.delivered.push_back((at, id, packet, completes));
        if completes {
            self.lingers = at + 2;
        }
    }

    /// Tells it of credit.
    pub fn credit(&mut self, credit: CreditTold) {
        self.credits.push_back(credit);
    }

    /// Tells it that a message's time is over in cycle `at`.
    pub fn timeout(&mut self, at: Cycle, id: u16) {
        self.timeouts.push_back((at, id));
    }

    /// Hears that the model offers a packet from cycle `from` on.
    pub fn offer(&mut self, from: Cycle) {
        self.offers.push_back((from, None));
    }

    /// Hears that the packet offered goes, its words in these cycles.
    pub fn pass(&mut self, offer: Offer, cycles: VecDeque<Cycle>) {
        if let Some(last) = self.offers.back_mut() {
            last.1 = Some(offer);
            self.passes.push_back(cycles);
        }
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        while self.seat.cycle < to && self.seat.failure.is_none() {
            let cycle = self.seat.cycle;
            let word = take_first_due(&mut self.words, cycle, |word| word.at);
            self.put_word(word);
            let delivered = take_first_due(&mut self.delivered, cycle, |(at, ..)| *at);
            self.put_delivered(delivered);
            self.put_credit();
            self.seat.put_due(&mut self.timeouts, TIMEOUT_VALID, TIMEOUT_ID);
            let passes = self.passes.front().and_then(|words| words.front());
            let takes = passes.is_some_and(|at| *at <= cycle);
            self.seat.block.put(PACKET_READY, takes.into());
            self.expect_packet(takes);
            let offers = &self.offers;
            self.seat.end_cycle(|| match offers.front() {
                Some((from, Some(offer))) => format!(
                    "packet {} of message {}, {} bytes, is offered from cycle {from} on",
                    offer.number,
                    offer.id,
                    offer.payload.len()
                ),
                Some((from, None)) => format!("a packet is offered from cycle {from} on"),
                None => "no packet is offered".to_owned(),
            });
            if takes {
                self.note_pass();
            }
        }
    }

    /// Notes that a word of the first offer has gone.
    fn note_pass(&mut self) {
        self.gone += 1;
        let Some(words) = self.passes.front_mut() else { return };
        words.pop_front();
        if words.is_empty() {
            self.gone = 0;
            self.passes.pop_front();
            self.offers.pop_front();
        }
    }

    /// Wants the block to offer what the model does.
    fn expect_packet(&mut self, takes: bool) {
        let cycle = self.seat.cycle;
        let first = self.offers.front().filter(|(from, _)| *from <= cycle);
        let (block, compares) = (&mut self.seat.block, self.seat.compares);
        if compares {
            block.expect(PACKET_VALID, first.is_some().into());
        }
        let Some((_, offer)) = first else { return };
        if compares || takes {
            block.expect(PACKET_FIRST, (self.gone == 0).into());
        }
        let Some(offer) = offer.as_ref().filter(|_| takes) else { return };
        block.expect(PACKET_VALID, 1);
        let word_bytes = usize::from(WORD_BYTES);
        let words = offer.payload.len().div_ceil(word_bytes).max(1);
        block.expect(PACKET_LAST, (self.gone + 1 == words).into());
        block.expect(PACKET_BYTES, offer.payload.len() as u64);
        // In the model's place it may have buffers of its own.
        if compares {
            block.expect_words(PACKET_DATA, &offer.data);
        }
        // What lies behind a packet's end is nobody's.
        let bytes = offer.payload.chunks(word_bytes).nth(self.gone).unwrap_or(&[]);
        for (at, word) in bytes.as_chunks().0.iter().enumerate() {
            block.expect_word(PACKET_WORD, at, u32::from_le_bytes(*word));
        }
    }

    fn put_word(&mut self, word: Option<Word>) {
        let block = &mut self.seat.block;
        block.put(WORD_VALID, word.is_some().into());
        let begins = word.and_then(|word| word.begins);
        if self.seat.compares {
            block.expect(BEGINS_VALID, begins.is_some().into());
        }
        let Some(word) = word else { return };
        block.put(WORD_BEGINS, begins.is_some().into());
        block.put(WORD_ENDS, word.ends.into());
        block.put(WORD_HART, word.hart.into());
        block.put(WORD_CONTEXT, word.context.into());
        block.put(WORD_DATA, word.value);
        if let Some(id) = begins {
            block.expect(WORD_READY, 1);
            block.expect(BEGINS_ID, id.into());
        }
    }

    fn put_delivered(&mut self, delivered: Option<(Cycle, u16, u8, bool)>) {
        let block = &mut self.seat.block;
        block.put(DELIVERED_VALID, delivered.is_some().into());
        let completes = delivered.is_some_and(|(.., completes)| completes);
        block.expect(FREED_VALID, completes.into());
        let Some((_, id, packet, _)) = delivered else { return };
        block.put(DELIVERED_ID, id.into());
        block.put(DELIVERED_PACKET, packet.into());
        if completes {
            block.expect(FREED_ID, id.into());
        }
    }

    fn put_credit(&mut self) {
        let credit = take_first_due(&mut self.credits, self.seat.cycle, |credit| credit.at);
        let block = &mut self.seat.block;
        block.put(CREDIT_VALID, credit.is_some().into());
        let Some(credit) = credit else { return };
        block.put(CREDIT_ID, credit.id.into());
        block.put(CREDIT_NACK, credit.nack.is_some().into());
        block.put(CREDIT_PACKET, credit.nack.unwrap_or(0).into());
        block.put(CREDIT_PULL, credit.pull.is_some().into());
        block.put(CREDIT_PACKETS, credit.pull.unwrap_or(0).into());
    }
}

impl Placed for PacketizationSeat {
    fn seat(&self) -> &Seat {
        &self.seat
    }
}
