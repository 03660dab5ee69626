//! Reassembly's ports, with its message table. In: headers of data packets, payload that is in its buffer, messages
//! that have gone. Out: each packet's message and place, or that there is no room; messages that are complete.

use pinion_nanopu_machine::node::Machine;
use pinion_sim::block::{Block, Needs, PATIENCE_CYCLES, Port, bits_for};

use crate::{Cycle, Due, Placed, Seat, two_classes};

const PACKET_VALID: usize = 0;
const PACKET_KEY: usize = 1;
const PACKET_MESSAGE_BYTES: usize = 2;
const PACKET_NUMBER: usize = 3;
const PACKET_TRIMMED: usize = 4;
const WRITTEN_VALID: usize = 5;
const WRITTEN_ID: usize = 6;
const MESSAGE_READY: usize = 7;
const FREED_VALID: usize = 8;
const FREED_ID: usize = 9;
const VERDICT: usize = 10;
const PACKET_BEGINS: usize = 11;
const PACKET_ID: usize = 12;
const PACKET_WORD: usize = 13;
const MESSAGE_VALID: usize = 14;
const MESSAGE_ID: usize = 15;

/// A sender's address, context and number of a message, and which use of the number.
const KEY_BITS: u32 = 80;
const LENGTH_BITS: u32 = 16;
const NUMBER_BITS: u32 = 8;
/// Bytes of a word of the buffers.
const WORD_BYTES: u32 = 64;
/// Most messages: keys are compared all at once.
const MOST_MESSAGES: u64 = 256;

/// What the block says of a packet that it takes, of one that came before, and of one without room.
pub const TAKEN: u64 = 0;
pub const DUPLICATE: u64 = 1;
pub const NO_ROOM: u64 = 2;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let section = &machine.receive.reassembly;
    let (small, large) = two_classes("receive.reassembly.buffers", &section.buffers)?;
    let messages = u64::from(small.count) + u64::from(large.count);
    let packet = u32::from(section.packet_bytes);
    let is_whole = |bytes: u16| u32::from(bytes).is_multiple_of(WORD_BYTES);
    let is_well = is_whole(small.bytes) && is_whole(large.bytes) && is_whole(section.packet_bytes);
    if !is_well || u32::from(large.bytes) <= packet || messages > MOST_MESSAGES {
        return Err(format!(
            "receive.reassembly: the block takes up to {MOST_MESSAGES} messages, buffers and packets of whole \
             words of {WORD_BYTES} bytes, and messages of two packets at least"
        ));
    }
    let words = u64::from(Shape::new(machine).words());
    let (id, word) = (bits_for(messages), bits_for(words));
    let ports = vec![
        Port::input("packet_valid", 1),
        Port::input("packet_key", KEY_BITS),
        Port::input("packet_message_bytes", LENGTH_BITS),
        Port::input("packet_number", NUMBER_BITS),
        Port::input("packet_trimmed", 1),
        Port::input("written_valid", 1),
        Port::input("written_id", id),
        Port::input("message_ready", 1),
        Port::input("freed_valid", 1),
        Port::input("freed_id", id),
        Port::output("verdict", 2),
        Port::output("packet_begins", 1),
        Port::output("packet_id", id),
        Port::output("packet_word", word),
        Port::output("message_valid", 1),
        Port::output("message_id", id),
        Port::output("message_word", word),
        Port::output("message_bytes", LENGTH_BITS),
        // For pipelines of P4; its proof says what it is.
        Port::output("packet_completes", 1),
    ];
    let parameters = vec![
        ("SMALL_COUNT", small.count.into()),
        ("SMALL_BYTES", small.bytes.into()),
        ("LARGE_COUNT", large.count.into()),
        ("LARGE_BYTES", large.bytes.into()),
        ("PACKET_BYTES", packet.into()),
        ("WORD_BYTES", WORD_BYTES.into()),
        ("KEY_BITS", KEY_BITS.into()),
        ("LENGTH_BITS", LENGTH_BITS.into()),
        ("NUMBER_BITS", NUMBER_BITS.into()),
    ];
    Ok(Needs { ports, parameters })
}

/// Says where buffers lie among the block's words.
#[derive(Clone, Copy, Debug)]
struct Shape {
    small_count: u32,
    small_words: u32,
    large_count: u32,
    large_words: u32,
    packet_words: u32,
}

impl Shape {
    fn new(machine: &Machine) -> Self {
        let section = &machine.receive.reassembly;
        let class = |number: usize| section.buffers.get(number).copied();
        let words = |number| class(number).map_or(0, |class| u32::from(class.bytes) / WORD_BYTES);
        let count = |number| class(number).map_or(0, |class| u32::from(class.count));
        Self {
            small_count: count(0),
            small_words: words(0),
            large_count: count(1),
            large_words: words(1),
            packet_words: u32::from(section.packet_bytes) / WORD_BYTES,
        }
    }

    fn words(&self) -> u32 {
        self.small_count * self.small_words + self.large_count * self.large_words
    }

    /// Gives the word where a packet of a buffer begins.
    fn word(&self, buffer: u16, packet: u8) -> u32 {
        let (buffer, packet) = (u32::from(buffer), u32::from(packet));
        let base = match buffer.checked_sub(self.small_count) {
            None => buffer * self.small_words,
            Some(large) => self.small_count * self.small_words + large * self.large_words,
        };
        base + packet * self.packet_words
    }

    /// Gives the buffer that begins at a word.
    fn buffer(&self, word: u32) -> Option<u16> {
        let small = self.small_count * self.small_words;
        let (place, words, first) = match word.checked_sub(small) {
            None => (word, self.small_words, 0),
            Some(place) => (place, self.large_words, self.small_count),
        };
        place.is_multiple_of(words).then(|| (first + place / words) as u16)
    }
}

/// Says what a packet asks.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The sender's address, context and number of the message.
    pub key: u64,
    /// Which use of the number.
    pub generation: u16,
    /// The message's bytes.
    pub bytes: u16,
    /// The packet's number in it.
    pub number: u8,
    /// Whether its payload was trimmed away.
    pub is_trimmed: bool,
}

/// Says what becomes of a packet that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It belongs to this message, which it may begin, in this buffer; or it came before.
    Message {
        /// The message's id.
        id: u16,
        /// Its buffer, if the packet begins it.
        begins: Option<u16>,
        /// Whether the packet came before.
        is_duplicate: bool,
    },
    /// There is no room.
    NoRoom,
}

/// Holds reassembly's block at its place.
#[derive(Debug)]
pub struct ReassemblySeat {
    seat: Seat,
    shape: Shape,
    asked: Option<Asked>,
    /// An input of the packet is up.
    told: bool,
    /// Packets whose payload is there, by the cycle in which it is; messages that have gone.
    written: Due,
    freed: Due,
    /// The cycle in which a message is taken.
    taken: Option<Cycle>,
    /// Messages that the model says are offered, from which cycle on.
    offered: Due,
    /// By id: the buffer that it holds, as the block said.
    held: Vec<Option<u16>>,
    /// Since when it has not offered a message that is complete.
    refused: Option<Cycle>,
}

impl ReassemblySeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let shape = Shape::new(machine);
        Self {
            seat: Seat::new(block, compares, machine),
            shape,
            asked: None,
            told: false,
            written: Due::new(),
            freed: Due::new(),
            taken: None,
            offered: Due::new(),
            held: vec![None; (shape.small_count + shape.large_count) as usize],
            refused: None,
        }
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        while self.seat.cycle < to && self.seat.failure.is_none() {
            self.put_inputs();
            let Self { seat, offered, taken, asked, told, .. } = self;
            let cycle = seat.cycle;
            if seat.compares {
                let first = offered.front().filter(|(from, _)| *from <= cycle);
                seat.block.expect(MESSAGE_VALID, first.is_some().into());
                if let Some((_, id)) = first {
                    seat.block.expect(MESSAGE_ID, (*id).into());
                }
            }
            seat.end_cycle(|| match asked {
                Some(asked) => format!("the last packet was {asked:x?}"),
                None => "no packet has come yet".to_owned(),
            });
            if taken.take_if(|at| *at <= cycle).is_some() {
                offered.pop_front();
                seat.block.put(MESSAGE_READY, 0);
            }
            if std::mem::take(told) {
                seat.block.put(PACKET_VALID, 0);
            }
        }
    }

    /// Gives the block what comes in its cycle, but for a packet.
    fn put_inputs(&mut self) {
        let Self { seat, written, freed, taken, .. } = self;
        seat.put_due(written, WRITTEN_VALID, WRITTEN_ID);
        seat.put_due(freed, FREED_VALID, FREED_ID);
        if taken.is_some_and(|at| at <= seat.cycle) {
            seat.block.put(MESSAGE_READY, 1);
        }
    }

    /// Asks about a packet that is looked up in cycle `at`.
    pub fn ask(&mut self, at: Cycle, asked: Asked) {
        self.clock(at);
        let block = &mut self.seat.block;
        block.put(PACKET_VALID, 1);
        block.put_word(PACKET_KEY, 0, asked.key as u32);
        block.put_word(PACKET_KEY, 1, (asked.key >> 32) as u32);
        block.put_word(PACKET_KEY, 2, asked.generation.into());
        block.put(PACKET_MESSAGE_BYTES, asked.bytes.into());
        block.put(PACKET_NUMBER, asked.number.into());
        block.put(PACKET_TRIMMED, asked.is_trimmed.into());
        self.told = true;
        self.asked = Some(asked);
    }

    /// Wants it to answer as the model does.
    pub fn follow(&mut self, answer: Answer) {
        let Some(asked) = self.asked else { return };
        let block = &mut self.seat.block;
        match answer {
            Answer::NoRoom => block.expect(VERDICT, NO_ROOM),
            Answer::Message { id, begins, is_duplicate } => {
                block.expect(VERDICT, if is_duplicate { DUPLICATE } else { TAKEN });
                block.expect(PACKET_ID, id.into());
                block.expect(PACKET_BEGINS, begins.is_some().into());
                if let Some(buffer) = begins {
                    self.held[usize::from(id)] = Some(buffer);
                }
                if let Some(buffer) = self.held[usize::from(id)] {
                    let word = self.shape.word(buffer, asked.number);
                    block.expect(PACKET_WORD, word.into());
                }
            }
        }
    }

    /// Gives what it answers about the packet, whose message is the one of id `known`, or begins.
    pub fn answer(&mut self, known: Option<u16>) -> Option<Answer> {
        let asked = self.asked?;
        let block = &mut self.seat.block;
        let (verdict, id, word) =
            (block.get(VERDICT), block.get(PACKET_ID) as u16, block.get(PACKET_WORD) as u32);
        let begins = block.get(PACKET_BEGINS) == 1;
        let is_duplicate = verdict == DUPLICATE;
        let wrong = match (verdict, known) {
            (NO_ROOM, None) => return Some(Answer::NoRoom),
            (TAKEN | DUPLICATE, Some(known)) if known == id && !begins => {
                return Some(Answer::Message { id, begins: None, is_duplicate });
            }
            (TAKEN, None) if begins => match self.begin(id, word, asked) {
                Ok(buffer) => {
                    return Some(Answer::Message { id, begins: Some(buffer), is_duplicate });
                }
                Err(wrong) => wrong,
            },
            (_, Some(known)) => format!(
                "verdict is {verdict} with packet_id {id}, and the packet is one of message {known}"
            ),
            (_, None) => {
                format!(
                    "verdict is {verdict} with packet_begins {begins:?}, and the packet begins a message"
                )
            }
        };
        self.seat.wrong = Some(format!("reassembly does what no unit may: {wrong}"));
        None
    }

    /// Takes the buffer that begins a message.
    fn begin(&mut self, id: u16, word: u32, asked: Asked) -> Result<u16, String> {
        let first = word.wrapping_sub(u32::from(asked.number) * self.shape.packet_words);
        let buffer = self.shape.buffer(first).ok_or_else(|| {
            format!(
                "packet_word is {word:#x}, which is in no buffer the place of packet {}",
                asked.number
            )
        })?;
        let words = match u32::from(buffer) < self.shape.small_count {
            true => self.shape.small_words,
            false => self.shape.large_words,
        };
        if words * WORD_BYTES < asked.bytes.into() {
            return Err(format!("buffer {buffer} is too small for {} bytes", asked.bytes));
        }
        if self.held.contains(&Some(buffer)) {
            return Err(format!("buffer {buffer} is another message's"));
        }
        match self.held.get_mut(usize::from(id)) {
            Some(held @ None) => *held = Some(buffer),
            _ => return Err(format!("packet_id is {id}, which is another message's")),
        }
        Ok(buffer)
    }

    /// Tells it that a packet's payload is in the buffer as a whole in cycle `at`; with `completes` the model
    /// offers the message from the next one on.
    pub fn write(&mut self, at: Cycle, id: u16, completes: bool) {
        self.written.push_back((at, id));
        if completes {
            self.offered.push_back((at + 1, id));
        }
    }

    /// Takes a message in cycle `at`, the model's being `id`; false while the block in its place offers none.
    pub fn take(&mut self, at: Cycle, id: u16) -> bool {
        self.clock(at);
        if self.seat.compares {
            self.taken = Some(at);
            return true;
        }
        if self.seat.block.get(MESSAGE_VALID) == 0 {
            let since = *self.refused.get_or_insert(at);
            if at - since > PATIENCE_CYCLES {
                self.seat.wrong = Some(format!(
                    "message {id} is complete and waits for reassembly, whose message_valid has not come for \
                     {PATIENCE_CYCLES} cycles"
                ));
            }
            return false;
        }
        self.refused = None;
        let found = self.seat.block.get(MESSAGE_ID) as u16;
        if found != id {
            self.seat.wrong = Some(format!(
                "reassembly does what no unit may: message_id is {found}, and message {id} was complete first"
            ));
        }
        self.taken = Some(at);
        true
    }

    /// Tells it that a message has gone in cycle `at`.
    pub fn free(&mut self, at: Cycle, id: u16) {
        self.freed.push_back((at, id));
        if let Some(held) = self.held.get_mut(usize::from(id)) {
            *held = None;
        }
    }
}

impl Placed for ReassemblySeat {
    fn seat(&self) -> &Seat {
        &self.seat
    }
}
