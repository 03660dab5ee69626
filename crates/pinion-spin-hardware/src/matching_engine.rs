//! The matching engine's ports. In: rules, packets' heads. Out: which packets go to which context, and which end
//! a message. Flows, and messages that are counted, are the model's alone.

use std::collections::VecDeque;

use pinion_matching::{
    ContextMatch, EndOfMessage, Found, MatchingEngine, MessageId, Mode, Rule, Verdict,
};
use pinion_sim::block::{Block, Port, bits_for};
use pinion_spin_machine::Machine;

use super::{Ended, Needs, Seat, power_of_two};

const RULE_VALID: usize = 0;
const RULE_RULESET: usize = 1;
const RULE_NUMBER: usize = 2;
const RULE_WORD: usize = 3;
const RULE_MASK: usize = 4;
const RULE_START: usize = 5;
const RULE_END: usize = 6;
const RULESET_VALID: usize = 7;
const RULESET_NUMBER: usize = 8;
const RULESET_ANY: usize = 9;
const RULESET_ENABLED: usize = 10;
const PACKET_VALID: usize = 11;
const PACKET_HEAD: usize = 12;
const PACKET_BYTES: usize = 13;
const RESULT_READY: usize = 14;
const PACKET_READY: usize = 15;
const RESULT_VALID: usize = 16;
const RESULT_MATCHED: usize = 17;
const RESULT_CONTEXT: usize = 18;
const RESULT_ID: usize = 19;
const RESULT_END: usize = 20;

/// Bytes of a word.
const WORD_BYTES: u32 = 4;
/// Bits of a packet's length.
const LENGTH_BITS: u32 = 16;
/// The word that has a message's id.
const ID_WORD: u32 = MatchingEngine::ID_BYTE / WORD_BYTES;
/// Cycles from a packet's head to its answer.
pub const CYCLES: u64 = 2;
/// Packets that are asked about at a time.
pub const AHEAD: usize = 4;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let matching = &machine.matching;
    let rulesets = power_of_two("matching.rulesets", matching.rulesets, 2)?;
    if matching.rules == 0 {
        return Err(
            "matching.rules is 0; the block takes one at least: --set matching.rules=1".into()
        );
    }
    let words = matching.reach_bytes.div_ceil(WORD_BYTES);
    if words <= ID_WORD {
        return Err(format!(
            "matching.reach_bytes is {}; the block reads messages' ids up to byte {}: --set \
             matching.reach_bytes={}",
            matching.reach_bytes,
            (ID_WORD + 1) * WORD_BYTES - 1,
            (ID_WORD + 1) * WORD_BYTES
        ));
    }
    // One more tells the end of a message.
    let rules = u64::from(matching.rules) + 1;
    let (ruleset, word) = (bits_for(rulesets), 8 * WORD_BYTES);
    let ports = vec![
        Port::input("rule_valid", 1),
        Port::input("rule_ruleset", ruleset),
        Port::input("rule_number", bits_for(rules)),
        Port::input("rule_word", bits_for(words.into())),
        Port::input("rule_mask", word),
        Port::input("rule_start", word),
        Port::input("rule_end", word),
        Port::input("ruleset_valid", 1),
        Port::input("ruleset_number", ruleset),
        Port::input("ruleset_any", 1),
        Port::input("ruleset_enabled", 1),
        Port::input("packet_valid", 1),
        Port::input("packet_head", word * words),
        Port::input("packet_bytes", LENGTH_BITS),
        Port::input("result_ready", 1),
        Port::output("packet_ready", 1),
        Port::output("result_valid", 1),
        Port::output("result_matched", 1),
        Port::output("result_context", ruleset),
        Port::output("result_id", word),
        Port::output("result_end", 1),
    ];
    let parameters = vec![
        ("RULESETS", rulesets),
        ("RULES", rules),
        ("WORDS", u64::from(words)),
        ("WORD_BYTES", u64::from(WORD_BYTES)),
        ("ID_WORD", u64::from(ID_WORD)),
        ("LENGTH_BITS", u64::from(LENGTH_BITS)),
        ("SWAPPED", u64::from(matching.swapped_compare)),
    ];
    Ok(Needs { ports, parameters })
}

/// Is the matching engine's block at its place.
pub type MatchingSeat = Seat<Heads>;

/// Remembers the heads that the block is asked about.
#[derive(Debug)]
pub struct Heads {
    /// The cycle that the block is in.
    cycle: u64,
    words: usize,
    rules: u32,
    /// Those that it has not taken, each with the cycle from which it is there.
    waiting: VecDeque<(u64, Head)>,
    /// Those that it has taken, and not answered.
    inside: VecDeque<Head>,
    /// It has answered in this cycle.
    has_answered: bool,
    /// What the model says, by the cycle in which the block should.
    expected: VecDeque<(u64, Expected)>,
    /// The packet that its answer was about last.
    subject: Option<Head>,
}

/// Holds what a block sees of a packet.
#[derive(Debug)]
struct Head {
    words: Vec<u32>,
    bytes: u32,
}

/// Holds what the model says of a packet.
#[derive(Debug)]
struct Expected {
    /// The context, if one takes it.
    context: Option<u32>,
    /// Whether it ends its message, if the block can know.
    ends: Option<bool>,
    /// The packet.
    head: Head,
}

impl MatchingSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let own = Heads {
            cycle: 0,
            words: machine.matching.reach_bytes.div_ceil(WORD_BYTES) as usize,
            rules: machine.matching.rules,
            waiting: VecDeque::new(),
            inside: VecDeque::new(),
            has_answered: false,
            expected: VecDeque::new(),
            subject: None,
        };
        Self::at(block, compares, own)
    }

    /// Writes the rules of an engine into the block, one in a cycle.
    pub fn program(&mut self, engine: &MatchingEngine) {
        for (number, context) in (0..).zip(engine.contexts()) {
            self.write_ruleset(number, context);
        }
    }

    fn write_ruleset(&mut self, number: u64, context: &ContextMatch) {
        let ruleset = &context.ruleset;
        let (any, other) = match ruleset.mode {
            Mode::And => (0, Rule::ALWAYS),
            Mode::Or => (1, Rule::NEVER),
        };
        let end = match (context.message, ruleset.end_of_message) {
            (MessageId::PerPacket, _) | (_, EndOfMessage::Always) => Rule::ALWAYS,
            (_, EndOfMessage::Rule(rule)) => rule,
            (_, EndOfMessage::Never | EndOfMessage::Packets(_)) => Rule::NEVER,
        };
        let mut rules = ruleset.rules.clone();
        rules.resize(self.own.rules as usize, other);
        rules.push(end);
        for (at, rule) in (0..).zip(rules) {
            self.block.put(RULE_VALID, 1);
            self.block.put(RULE_RULESET, number);
            self.block.put(RULE_NUMBER, at);
            // What nothing of counts may lie anywhere.
            self.block.put(RULE_WORD, if rule.mask == 0 { 0 } else { rule.index.into() });
            self.block.put(RULE_MASK, rule.mask.into());
            self.block.put(RULE_START, rule.start.into());
            self.block.put(RULE_END, rule.end.into());
            self.tick();
        }
        self.block.put(RULE_VALID, 0);
        self.block.put(RULESET_VALID, 1);
        self.block.put(RULESET_NUMBER, number);
        self.block.put(RULESET_ANY, any);
        self.block.put(RULESET_ENABLED, context.enabled.into());
        self.tick();
        self.block.put(RULESET_VALID, 0);
    }

    /// Ends a cycle before the first packet.
    fn tick(&mut self) {
        if self.wrong.is_none() {
            self.wrong = self.block.end_cycle().err();
        }
    }

    /// Begins a cycle.
    pub fn begin(&mut self, cycle: u64) {
        self.own.cycle = cycle;
        self.own.has_answered = false;
        self.block.put(PACKET_VALID, 0);
        if self.compares {
            self.block.put(RESULT_READY, 1);
            return self.expect_answer();
        }
        self.block.put(RESULT_READY, 0);
        self.offer();
    }

    /// Wants the answer of this cycle to be the model's.
    fn expect_answer(&mut self) {
        let cycle = self.own.cycle;
        let is_due = self.own.expected.front().is_some_and(|(at, _)| *at <= cycle);
        let due = if is_due { self.own.expected.pop_front() } else { None };
        self.block.expect(RESULT_VALID, due.is_some().into());
        let Some((_, expected)) = due else { return };
        self.block.expect(RESULT_MATCHED, expected.context.is_some().into());
        if let Some(context) = expected.context {
            self.block.expect(RESULT_CONTEXT, context.into());
            self.block.expect(RESULT_ID, expected.head.words[ID_WORD as usize].into());
            if let Some(ends) = expected.ends {
                self.block.expect(RESULT_END, ends.into());
            }
        }
        self.own.subject = Some(expected.head);
    }

    /// Offers the first head if it is there in this cycle.
    fn offer(&mut self) {
        let Self { block, own, .. } = self;
        if let Some((_, head)) = own.waiting.front().filter(|(from, _)| *from <= own.cycle) {
            head.put(block.as_mut());
        }
    }

    /// Asks about a packet, whose head is there from cycle `from` on.
    pub fn ask(&mut self, from: u64, packet: &[u8]) {
        let head = self.head(packet);
        self.own.waiting.push_back((from, head));
        if self.own.waiting.len() == 1 {
            self.offer();
        }
    }

    fn head(&self, packet: &[u8]) -> Head {
        let word = |at: usize| MatchingEngine::word_at(packet, at * WORD_BYTES as usize);
        Head { words: (0..self.own.words).map(word).collect(), bytes: packet.len() as u32 }
    }

    /// Counts the packets that were asked about and whose answers nobody has taken.
    pub fn asked(&self) -> usize {
        self.own.waiting.len() + self.own.inside.len()
    }

    /// Takes the answer about the first packet, if it is there: the context that takes it, or none.
    pub fn answer(&mut self) -> Option<Option<Found>> {
        if self.own.has_answered || self.block.get(RESULT_VALID) == 0 {
            return None;
        }
        self.own.has_answered = true;
        let Some(head) = self.own.inside.pop_front() else {
            self.wrong = Some("result_valid is up, and it has taken no packet".to_owned());
            return None;
        };
        self.own.subject = Some(head);
        self.block.put(RESULT_READY, 1);
        if self.block.get(RESULT_MATCHED) == 0 {
            return Some(None);
        }
        Some(Some(Found {
            context: self.block.get(RESULT_CONTEXT) as u32,
            id_word: self.block.get(RESULT_ID) as u32,
            end_of_message: self.block.get(RESULT_END) == 1,
        }))
    }

    /// Says that the block gave a packet to a context that is not there.
    pub fn refuse(&mut self, context: u32, contexts: usize) {
        self.wrong = Some(format!("result_context is {context}: there are {contexts} contexts"));
    }

    /// Looks at the end of a cycle whether it has taken a head.
    fn end(&mut self) {
        if self.compares || self.wrong.is_some() {
            return;
        }
        let is_there = self.own.waiting.front().is_some_and(|(from, _)| *from <= self.own.cycle);
        if is_there && self.block.get(PACKET_READY) == 1 {
            self.own.inside.extend(self.own.waiting.pop_front().map(|(_, head)| head));
        }
    }

    /// Shows it a packet, and what the model said of it; its answer is due [`CYCLES`] later.
    pub fn follow(&mut self, packet: &[u8], verdict: Verdict, engine: &MatchingEngine) {
        let head = self.head(packet);
        head.put(self.block.as_mut());
        self.block.expect(PACKET_READY, 1);
        let (context, end) = match verdict {
            Verdict::Matched { context, end_of_message, .. } => {
                (Some(context), Some(end_of_message))
            }
            Verdict::FlowsFull { context } => (Some(context), None),
            Verdict::Unmatched | Verdict::Disabled { .. } => (None, None),
        };
        let entry = context.and_then(|context| engine.contexts().get(context as usize));
        let ends = end.filter(|_| !entry.is_some_and(ContextMatch::counts));
        self.own.expected.push_back((self.own.cycle + CYCLES, Expected { context, ends, head }));
    }

    /// Ends the block's cycle; says what was wrong in it, with the packet that it was about.
    pub fn finish(&mut self, state: impl FnOnce() -> String) -> Option<Ended> {
        self.end();
        let (what, packet, state) = self.end_cycle(state)?;
        let Some(head) = &self.own.subject else { return Some((what, packet, state)) };
        let words: Vec<String> = head.words.iter().map(|word| format!("{word:08x}")).collect();
        let about = format!("the packet has {} bytes and begins {}", head.bytes, words.join(" "));
        Some((format!("{what}\n  {about}"), packet, state))
    }
}

impl Head {
    /// Offers it to a block.
    fn put(&self, block: &mut dyn Block) {
        block.put(PACKET_VALID, 1);
        block.put(PACKET_BYTES, self.bytes.into());
        block.put_words(PACKET_HEAD, &self.words);
    }
}
