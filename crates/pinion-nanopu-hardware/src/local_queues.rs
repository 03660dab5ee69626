//! The ports of a hart's local receive queues. In: words that enter, the context of which one is read. Out: the word,
//! which contexts have some, and since when their messages have been there.

use std::collections::VecDeque;

use pinion_nanopu_machine::node::Machine;
use pinion_sim::block::{Block, Needs, Port, bits_for};

use crate::{Cycle, Placed, Seat, contexts};

const ENTER_VALID: usize = 0;
const ENTER_CONTEXT: usize = 1;
const ENTER_WORD: usize = 2;
const ENTER_BEGINS: usize = 3;
const READ_VALID: usize = 4;
const READ_CONTEXT: usize = 5;
const ENTER_READY: usize = 7;
const READ_WORD: usize = 8;
const HELD: usize = 9;
const STAMPS: usize = 10;

/// Bits of a word.
const WORD_BITS: u32 = 64;
/// Most bits of all stamps together, and of one.
const STAMPS_BITS: u32 = 64;
const MOST_STAMP_BITS: u32 = 16;
/// Words that a block's context has no room for, of those that it is made for.
const SPARE_WORDS: u32 = 3;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let section = &machine.hart_interface;
    let contexts = contexts(machine)?;
    let (context, stamp) = (bits_for(contexts), stamp_bits(contexts as u32));
    let ports = vec![
        Port::input("enter_valid", 1),
        Port::input("enter_context", context),
        Port::input("enter_word", WORD_BITS),
        Port::input("enter_begins", 1),
        Port::input("read_valid", 1),
        Port::input("read_context", context),
        Port::input("return_words", 2),
        Port::output("enter_ready", 1),
        Port::output("read_word", WORD_BITS),
        Port::output("held", contexts as u32),
        Port::output("stamps", contexts as u32 * stamp),
    ];
    // The machine's are all that may wait: the block's own bound lies behind them.
    let words = (section.context_words + SPARE_WORDS).next_power_of_two();
    let parameters = vec![
        ("CONTEXTS", contexts),
        ("WORDS", words.into()),
        ("WORD_BITS", WORD_BITS.into()),
        ("STAMP_BITS", stamp.into()),
    ];
    Ok(Needs { ports, parameters })
}

/// Gives the bits of a stamp.
const fn stamp_bits(contexts: u32) -> u32 {
    let each = STAMPS_BITS / contexts;
    if each < MOST_STAMP_BITS { each } else { MOST_STAMP_BITS }
}

/// Is a word that enters.
#[derive(Clone, Copy, Debug)]
struct Entering {
    at: Cycle,
    context: u16,
    value: u64,
    begins: bool,
}

/// Holds a hart's local queues' block at its place.
#[derive(Debug)]
pub struct QueuesSeat {
    seat: Seat,
    hart: u8,
    stamp_bits: u32,
    enters: VecDeque<Entering>,
    /// By context: when the message began that enters last.
    begun: Vec<Cycle>,
    /// Reads, by cycle: of which context, and the word, as the model has it.
    reads: VecDeque<(Cycle, u16, u64)>,
    /// By context: words not read, with the cycles in which each entered and its message began to.
    words: Vec<VecDeque<(Cycle, Cycle)>>,
}

impl QueuesSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine, hart: u8) -> Self {
        let contexts = usize::from(machine.hart_interface.contexts);
        Self {
            seat: Seat::new(block, compares, machine),
            hart,
            stamp_bits: stamp_bits(contexts as u32),
            enters: VecDeque::new(),
            begun: vec![0; contexts],
            reads: VecDeque::new(),
            words: vec![VecDeque::new(); contexts],
        }
    }

    /// Gives the cycle that the block is in.
    pub fn cycle(&self) -> Cycle {
        self.seat.cycle
    }

    /// Hears of a word that enters a context's queue in cycle `at`.
    pub fn enter(&mut self, context: u16, at: Cycle, begins: bool, value: u64) {
        self.enters.push_back(Entering { at, context, value, begins });
    }

    /// Hears that `words` words that nobody has read are thrown away in cycle `at`.
    pub fn forget(&mut self, context: u16, words: u64) {
        if words > 0 {
            self.seat.wrong = Some(format!(
                "{words} words of context {context} of hart {} are thrown away unread, which local_queues cannot \
                 do: read messages whole, or --set hart_interface.fixes.message_boundaries=false",
                self.hart
            ));
        }
    }

    /// Hears that a word of a context is read in cycle `at`, and which it is.
    pub fn follow(&mut self, at: Cycle, context: u16, word: u64) {
        self.reads.push_back((at, context, word));
    }

    /// Gives the word that the block has for a read in cycle `at`, of which all is known.
    pub fn read(&mut self, at: Cycle, context: u16) -> Option<u64> {
        self.clock(at);
        self.put_enters();
        let block = &mut self.seat.block;
        block.put(READ_CONTEXT, context.into());
        (block.get(HELD) >> context & 1 == 1).then(|| block.get(READ_WORD))
    }

    /// Says that the block gave a word that is not there.
    pub fn refuse(&mut self, word: u64) {
        self.seat.wrong = Some(format!(
            "local_queues does what no unit may: read_word is {word:#x} in a cycle in which no word is there"
        ));
    }

    /// Gives the block the word that enters in its cycle.
    fn put_enters(&mut self) {
        let cycle = self.seat.cycle;
        let word = self.enters.front().filter(|word| word.at <= cycle);
        let block = &mut self.seat.block;
        block.put(ENTER_VALID, word.is_some().into());
        if let Some(word) = word {
            block.put(ENTER_CONTEXT, word.context.into());
            block.put(ENTER_WORD, word.value);
            block.put(ENTER_BEGINS, word.begins.into());
        }
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        while self.seat.cycle < to && self.seat.failure.is_none() {
            self.put_enters();
            let cycle = self.seat.cycle;
            let read = self.reads.front().copied().filter(|(at, ..)| *at <= cycle);
            self.seat.block.put(READ_VALID, read.is_some().into());
            if let Some((_, context, _)) = read {
                self.seat.block.put(READ_CONTEXT, context.into());
            }
            let entered = self.enters.front().copied().filter(|word| word.at <= cycle);
            let mut accepts = entered.is_some();
            if self.seat.compares {
                if let Some((.., word)) = read {
                    self.seat.block.expect(READ_WORD, word);
                }
                if accepts {
                    self.seat.block.expect(ENTER_READY, 1);
                }
                self.expect_held();
            } else {
                accepts &= self.seat.block.get(ENTER_READY) == 1;
            }
            let (hart, waiting) = (self.hart, &self.words);
            self.seat.end_cycle(|| {
                let waiting: Vec<usize> = waiting.iter().map(VecDeque::len).collect();
                format!("of hart {hart}, whose contexts have {waiting:?} words")
            });
            if let Some((_, context, _)) = read {
                self.reads.pop_front();
                self.words[usize::from(context)].pop_front();
            }
            if let Some(word) = entered.filter(|_| accepts) {
                self.enters.pop_front();
                let context = usize::from(word.context);
                if word.begins {
                    self.begun[context] = cycle;
                }
                self.words[context].push_back((cycle, self.begun[context]));
            }
        }
    }

    /// Wants the block to say what the model's queues hold in its cycle.
    fn expect_held(&mut self) {
        let (mut held, mut known, mut stamps) = (0, 0, 0);
        let mask = u64::MAX >> (u64::BITS - self.stamp_bits);
        for (context, words) in (0u32..).zip(&self.words) {
            if let Some((_, stamp)) = words.front() {
                held |= 1 << context;
                known |= mask << (context * self.stamp_bits);
                stamps |= (stamp & mask) << (context * self.stamp_bits);
            }
        }
        let block = &mut self.seat.block;
        block.expect(HELD, held);
        // Without a word there is no stamp.
        let others = block.get(STAMPS) & !known;
        block.expect(STAMPS, others | stamps);
    }
}

impl Placed for QueuesSeat {
    fn seat(&self) -> &Seat {
        &self.seat
    }
}
