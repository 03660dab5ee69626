//! The engine. In: packets, one at a time, in the order they arrive. Out: a [`Verdict`] each.
//! Holds a ruleset for each context and a bounded table of flows; allocates nothing per packet.

use super::comparisons::Comparisons;
use super::flow::{FlowKey, flow_key};
use super::rule::word_at;
use super::{
    Compare, EndOfMessage, Layout, Limits, MatchError, MessageId, NearMiss, Ruleset, near_miss,
};
use std::collections::HashMap;

use rustc_hash::{FxBuildHasher, FxHashMap};

/// Flows that are found without the index, at best; a power of two.
const RECENT_FLOWS: usize = 1024;

/// Most flows looked at to make room for a new one.
const MOST_PROBES: usize = 64;

/// Says what an execution context wants of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextMatch {
    /// Its packets, and where messages end.
    pub ruleset: Ruleset,
    /// What a message is.
    pub message: MessageId,
    /// Whether packets may go to it.
    pub enabled: bool,
}

/// Says what becomes of a packet whose context is not enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DisabledContext {
    /// It goes to context 0 if that one is enabled, as FPsPIN's hardware does.
    #[default]
    GoesToContext0,
    /// It takes the ordinary way.
    IsPassed,
}

/// Names a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Message {
    /// The whole id, unique in its context among live messages: the field's value, or a number
    /// that each new message takes from a counter. Hardware uses its lowest bits.
    pub id: u32,
    /// The flow it is part of: the same number for the flow's later messages. 0 where messages are
    /// not told apart by flow.
    pub flow: u32,
}

/// Says where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// To a context's handlers.
    Matched {
        /// The execution context.
        context: u32,
        /// The message.
        message: Message,
        /// Whether it is the message's last packet.
        end_of_message: bool,
    },
    /// The ordinary way: no ruleset matches.
    Unmatched,
    /// The ordinary way: the context that matches is not enabled.
    Disabled {
        /// The context.
        context: u32,
    },
    /// The ordinary way: it begins a flow, and the table is full of unfinished messages.
    FlowsFull {
        /// The context that matches.
        context: u32,
    },
}

impl Verdict {
    /// Is that of a packet which is a message of its own.
    #[inline]
    pub fn alone(context: u32, id: u32) -> Self {
        Self::Matched { context, message: Message { id, flow: 0 }, end_of_message: true }
    }
}

/// Holds what a block of hardware in the engine's place says of a packet that a context takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The execution context.
    pub context: u32,
    /// The word at [`MatchingEngine::ID_BYTE`].
    pub id_word: u32,
    /// Whether it is the message's last packet.
    pub end_of_message: bool,
}

#[derive(Debug, Clone)]
struct Flow {
    key: FlowKey,
    flow: u32,
    message: u32,
    /// Packets seen of the current message; 0 between messages.
    seen: u32,
    /// Whether the NIC gave the current message up: its further packets get another id.
    given_up: bool,
}

impl Flow {
    fn begins_message(&self) -> bool {
        self.seen == 0 || self.given_up
    }
}

/// Matches packets to contexts and messages.
#[derive(Clone, Debug)]
pub struct MatchingEngine {
    contexts: Vec<ContextMatch>,
    /// By context: its rules, as packets meet them.
    comparisons: Vec<Comparisons>,
    limits: Limits,
    layout: Layout,
    compare: Compare,
    swapped_id: bool,
    disabled: DisabledContext,
    /// By flow. Keys come from packets: its hashes cannot be foreseen.
    index: HashMap<FlowKey, u32>,
    flows: Vec<Flow>,
    /// Slots where flows were found last, by a few bits of their keys: looked at before the index is.
    recent: Vec<u32>,
    /// Which flow each unfinished message with a number of ours belongs to.
    live: FxHashMap<u32, u32>,
    /// Where the search for a flow to forget goes on.
    hand: usize,
    next_flow: u32,
    next_message: u32,
}

impl MatchingEngine {
    /// Where the word lies that hardware takes for a message's id (SLMP's).
    pub const ID_BYTE: u32 = 44;

    /// Makes an engine with a ruleset for each context, in the contexts' order.
    ///
    /// # Errors
    /// When the rulesets do not fit the engine's limits.
    pub fn new(contexts: Vec<ContextMatch>, limits: Limits) -> Result<Self, MatchError> {
        if contexts.len() > limits.rulesets as usize {
            let needed = contexts.len();
            return Err(MatchError::TooManyRulesets { needed, available: limits.rulesets });
        }
        for context in &contexts {
            context.ruleset.check(&context.message, &limits)?;
        }
        let needs_table = contexts.iter().any(ContextMatch::needs_table);
        let room = if needs_table { limits.flows as usize } else { 0 };
        Ok(Self {
            comparisons: contexts.iter().map(|entry| Comparisons::of(&entry.ruleset)).collect(),
            contexts,
            limits,
            layout: Layout::default(),
            compare: Compare::default(),
            swapped_id: false,
            disabled: DisabledContext::default(),
            index: HashMap::with_capacity(room),
            flows: Vec::with_capacity(room),
            recent: vec![0; RECENT_FLOWS],
            live: FxHashMap::with_capacity_and_hasher(room, FxBuildHasher),
            hand: 0,
            next_flow: 0,
            next_message: 0,
        })
    }

    /// Sets what packets begin with.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Sets how words are compared.
    pub fn compare(mut self, compare: Compare) -> Self {
        self.compare = compare;
        self
    }

    /// Sets whether fields that hold a message's id begin with their lowest byte.
    pub fn swapped_id(mut self, swapped: bool) -> Self {
        self.swapped_id = swapped;
        self
    }

    /// Sets what becomes of packets whose context is not enabled.
    pub fn disabled_context(mut self, disabled: DisabledContext) -> Self {
        self.disabled = disabled;
        self
    }

    /// Enables or disables a context; a context without ruleset stays as it is.
    pub fn set_enabled(&mut self, context: u32, enabled: bool) {
        if let Some(entry) = self.contexts.get_mut(context as usize) {
            entry.enabled = enabled;
        }
    }

    /// Replaces a context's ruleset; flows seen so far are kept.
    ///
    /// # Errors
    /// When it does not fit the engine's limits.
    pub fn set_context(&mut self, context: u32, entry: ContextMatch) -> Result<(), MatchError> {
        entry.ruleset.check(&entry.message, &self.limits)?;
        let (needed, available) = (context as usize + 1, self.limits.rulesets);
        if needed > available as usize {
            return Err(MatchError::TooManyRulesets { needed, available });
        }
        if self.contexts.len() < needed {
            self.contexts.resize_with(needed, ContextMatch::none);
            self.comparisons.resize_with(needed, || Comparisons::of(&Ruleset::none()));
        }
        if entry.needs_table() {
            let room = self.limits.flows as usize - self.flows.len();
            self.index.reserve(room);
            self.flows.reserve(room);
            self.live.reserve(self.limits.flows as usize - self.live.len());
        }
        self.comparisons[context as usize] = Comparisons::of(&entry.ruleset);
        self.contexts[context as usize] = entry;
        Ok(())
    }

    /// Gives what each context wants, in the contexts' order.
    pub fn contexts(&self) -> &[ContextMatch] {
        &self.contexts
    }

    /// Reads a packet's word as rules do: big-endian, with zeros past the packet's end.
    pub fn word_at(packet: &[u8], at: usize) -> u32 {
        word_at(packet, at)
    }

    /// Returns the number of flows in the table.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Says where a packet goes.
    #[inline]
    pub fn classify(&mut self, packet: &[u8]) -> Verdict {
        let matched = self.matched(packet);
        match matched.filter(|matched| self.is_alone(*matched)) {
            Some(context) => Verdict::alone(context, self.take_message_number()),
            None => self.classify_matched(packet, matched),
        }
    }

    /// Finds the first context whose rules a packet matches, enabled or not.
    #[inline]
    pub fn matched(&self, packet: &[u8]) -> Option<u32> {
        let matches = |entry: &Comparisons| entry.match_packet(packet, self.compare);
        self.comparisons.iter().position(matches).map(|context| context as u32)
    }

    /// Does the rest of [`Self::classify`] for a packet whose context is found.
    pub fn classify_matched(&mut self, packet: &[u8], matched: Option<u32>) -> Verdict {
        let Some(matched) = matched else { return Verdict::Unmatched };
        let Some(context) = self.enabled_context(matched) else {
            return Verdict::Disabled { context: matched };
        };
        self.message(packet, matched as usize, context, None)
    }

    /// Tells whether each packet that a context's rules match is a message of its own, and the context enabled.
    #[inline]
    pub fn is_alone(&self, matched: u32) -> bool {
        let entry = self.contexts.get(matched as usize);
        entry.is_some_and(|entry| entry.enabled && entry.message == MessageId::PerPacket)
    }

    /// Gives the id of such a packet's message.
    #[inline]
    pub fn take_message_number(&mut self) -> u32 {
        let number = self.next_message;
        self.next_message = number.wrapping_add(1);
        number
    }

    /// Says where a packet goes of which a block of hardware has found the context, which there is: what the
    /// block does not know, flows and messages that are counted, is this engine's.
    pub fn classify_found(&mut self, packet: &[u8], found: Found) -> Verdict {
        self.message(packet, found.context as usize, found.context, Some(found))
    }

    /// Finds the message of a packet that a context takes whose ruleset is that of `matched`.
    fn message(
        &mut self,
        packet: &[u8],
        matched: usize,
        context: u32,
        found: Option<Found>,
    ) -> Verdict {
        let ContextMatch { ruleset, message, .. } = &self.contexts[matched];
        let (end, message) = (ruleset.end_of_message, *message);
        let key = match message {
            MessageId::PerPacket => return Verdict::alone(context, self.take_message_number()),
            MessageId::Field { offset_bytes, mask, shift } => {
                let word = found
                    .filter(|_| offset_bytes == Self::ID_BYTE)
                    .map_or_else(|| word_at(packet, offset_bytes as usize), |found| found.id_word);
                let word = if self.swapped_id { word.swap_bytes() } else { word };
                let id = (word & mask).checked_shr(shift).unwrap_or(0);
                if !matches!(end, EndOfMessage::Packets(_)) {
                    let end_of_message = self.ends(end, packet, 0, found);
                    let message = Message { id, flow: 0 };
                    return Verdict::Matched { context, message, end_of_message };
                }
                FlowKey::of_field(matched as u32, id)
            }
            MessageId::Flow(fields) => flow_key(matched as u32, packet, fields, self.layout),
        };
        let Some(slot) = self.find_or_add(key) else {
            return Verdict::FlowsFull { context };
        };
        let end_of_message = self.ends(end, packet, self.flows[slot].seen, found);
        let message = match message {
            MessageId::Flow(_) => self.message_of_flow(slot, end_of_message),
            _ => Message { id: key.field, flow: 0 },
        };
        let flow = &mut self.flows[slot];
        flow.seen = if end_of_message { 0 } else { flow.seen.saturating_add(1) };
        Verdict::Matched { context, message, end_of_message }
    }

    /// Says which context a packet missed by the fewest rules, and what the first of those wanted;
    /// `None` where a context takes it, or none has rules that a packet can match.
    pub fn nearest(&self, packet: &[u8]) -> Option<NearMiss> {
        let rulesets = self.contexts.iter().zip(0..).map(|(entry, at)| (at, &entry.ruleset));
        near_miss::nearest(rulesets, packet, (self.compare, self.layout))
    }

    /// Notes that the NIC gave up an unfinished message: the next packet of its flow gets a new
    /// id. What counts packets goes on counting, so that the flow's later messages end where they
    /// should. Needs no call for messages that ended by themselves, and does nothing for ids that
    /// packets carry.
    pub fn end_message(&mut self, _context: u32, id: u32) {
        if let Some(slot) = self.live.remove(&id) {
            self.flows[slot as usize].given_up = true;
        }
    }

    fn enabled_context(&self, matched: u32) -> Option<u32> {
        let enabled = |context: u32| self.contexts[context as usize].enabled;
        match self.disabled {
            _ if enabled(matched) => Some(matched),
            DisabledContext::GoesToContext0 if enabled(0) => Some(0),
            _ => None,
        }
    }

    fn ends(&self, end: EndOfMessage, packet: &[u8], seen: u32, found: Option<Found>) -> bool {
        if let Some(found) = found.filter(|_| !matches!(end, EndOfMessage::Packets(_))) {
            return found.end_of_message;
        }
        match end {
            EndOfMessage::Always => true,
            EndOfMessage::Never => false,
            EndOfMessage::Rule(rule) => rule.matches(packet, self.compare),
            EndOfMessage::Packets(count) => seen.saturating_add(1) >= count,
        }
    }

    fn message_of_flow(&mut self, slot: usize, end_of_message: bool) -> Message {
        let begins = self.flows[slot].begins_message();
        if begins {
            self.flows[slot].message = self.take_message_number();
            self.flows[slot].given_up = false;
        }
        let Flow { message: id, flow, .. } = self.flows[slot];
        if end_of_message {
            self.live.remove(&id);
        } else if begins {
            self.live.insert(id, slot as u32);
        }
        Message { id, flow }
    }

    fn find_or_add(&mut self, key: FlowKey) -> Option<usize> {
        let recent = key.scattered() as usize % RECENT_FLOWS;
        let slot = self.recent[recent] as usize;
        if self.flows.get(slot).is_some_and(|flow| flow.key == key) {
            return Some(slot);
        }
        if let Some(&slot) = self.index.get(&key) {
            self.recent[recent] = slot;
            return Some(slot as usize);
        }
        let (flow, message) = (self.next_flow, 0);
        let flow = Flow { key, flow, message, seen: 0, given_up: false };
        let slot = if self.flows.len() < self.limits.flows as usize {
            self.flows.push(flow);
            self.flows.len() - 1
        } else {
            let slot = self.find_idle()?;
            self.index.remove(&self.flows[slot].key);
            self.flows[slot] = flow;
            slot
        };
        self.next_flow = self.next_flow.wrapping_add(1);
        self.index.insert(key, slot as u32);
        self.recent[recent] = slot as u32;
        Some(slot)
    }

    /// Finds a flow without a message in progress, going round the table from the last one found.
    fn find_idle(&mut self) -> Option<usize> {
        for _ in 0..self.flows.len().min(MOST_PROBES) {
            let slot = self.hand;
            self.hand = (self.hand + 1) % self.flows.len();
            if self.flows[slot].begins_message() {
                return Some(slot);
            }
        }
        None
    }
}

impl ContextMatch {
    /// Makes the entry of a context that is not programmed.
    pub fn none() -> Self {
        Self { ruleset: Ruleset::none(), message: MessageId::PerPacket, enabled: false }
    }

    /// Says whether its messages end by the number of their packets.
    pub fn counts(&self) -> bool {
        let is_packet = matches!(self.message, MessageId::PerPacket);
        !is_packet && matches!(self.ruleset.end_of_message, EndOfMessage::Packets(_))
    }

    fn needs_table(&self) -> bool {
        match self.message {
            MessageId::PerPacket => false,
            MessageId::Flow(_) => true,
            MessageId::Field { .. } => self.counts(),
        }
    }
}
