//! A host program that holds contexts: what it has of the NIC.

use std::ops::Range;
use std::os::fd::OwnedFd;

use pinion_host::SharedRegion;
use pinion_spin::matching::{ContextMatch, EndOfMessage, MessageId, Mode, Rule, Ruleset};
use pinion_spin::{ExecutionContext, Machine};

use super::images::Loaded;
use super::message::Rules;
use pinion_app::app::HOST_MEMORY_BASE;

/// Separates contexts' host memory, as commands name it: 64 GiB.
const HOST_SHARE_BYTES: u64 = 1 << 36;
/// The scratchpad of a context in each cluster (FPsPIN's library).
const SCRATCHPAD_BYTES: u32 = 4096;
/// Where SLMP keeps a packet's message id, and FPsPIN's engine looks for it.
const MESSAGE_ID_BYTE: u32 = 44;
/// What handlers of every context reach at the start of L2 handler memory (RTL hpu_driver).
const STATIC_BYTES: u32 = 0x10000;
/// What a host program maps handler memory by.
pub const PAGE_BYTES: u32 = 4096;

/// A host program's part of the NIC.
#[derive(Debug)]
pub struct Holder {
    /// Its process.
    pub pid: i32,
    /// Its user.
    pub user: u32,
    /// Its name.
    pub program: String,
    /// The first of its contexts.
    pub first: u32,
    /// Holds each context's ruleset.
    pub rules: Vec<Rules>,
    /// The memory it shares with its handlers.
    pub region: SharedRegion,
    /// The part of it that handlers reach.
    pub window: Range<u64>,
    /// The image's place in the list, while one is loaded.
    pub image: Option<usize>,
    /// Name of the image.
    pub image_name: String,
    /// Its part of L2 handler memory.
    pub handler_memory: Range<u32>,
    /// That part as the program can map it, until it is given the file.
    pub handler_memory_file: Option<OwnedFd>,
}

impl Holder {
    /// Lists its contexts.
    pub fn contexts(&self) -> Range<u32> {
        self.first..self.first + (self.rules.len() as u32).max(1)
    }

    /// Gives the address of its host memory as commands name it.
    pub fn host_address(&self) -> u64 {
        host_address(self.first)
    }

    /// Tells whether it runs handlers for another user than some holder's: the cores keep handlers of
    /// one NIC apart no better than the hardware's do.
    pub fn is_foreign_to(&self, other: &Self) -> bool {
        self.image.is_some() && self.user != other.user
    }

    /// Names it in messages.
    pub fn describe(&self) -> String {
        format!("process {} ({}, user {})", self.pid, self.program, self.user)
    }

    /// Puts the execution context together that all of its contexts have.
    pub fn execution_context(&self, loaded: &Loaded, context: u32) -> ExecutionContext {
        let [header, payload, completion] = loaded.handlers.clone();
        ExecutionContext {
            name: format!("{context} ({})", self.program),
            header_handler: header,
            payload_handler: payload,
            completion_handler: completion,
            handler_memory_address: self.handler_memory.start,
            handler_memory_bytes: self.handler_memory.len() as u32,
            host_memory_address: self.host_address() + self.window.start,
            host_memory_bytes: (self.window.end - self.window.start) as u32,
            scratchpad_offset: self.first * SCRATCHPAD_BYTES,
            scratchpad_bytes: SCRATCHPAD_BYTES,
            ..ExecutionContext::default()
        }
    }

    /// Tells what the matching engine is to do for one of its contexts.
    pub fn matching(&self, context: u32) -> ContextMatch {
        let rules = self.rules.get((context - self.first) as usize);
        ContextMatch {
            ruleset: rules.map_or_else(Ruleset::none, ruleset),
            message: MESSAGE,
            enabled: true,
        }
    }

    /// Lists the NIC memory that is its alone, its image aside.
    pub fn ranges(&self, machine: &Machine) -> Vec<(Range<u32>, &'static str)> {
        let mut ranges = vec![(self.handler_memory.clone(), "handler memory")];
        for cluster in 0..machine.cluster.count {
            let l1 = machine.l1.base + cluster * machine.l1.stride;
            let start = l1 + machine.scratchpad_offset() + self.first * SCRATCHPAD_BYTES;
            ranges.push((start..start + SCRATCHPAD_BYTES, "scratchpad"));
        }
        ranges
    }
}

/// How FPsPIN tells messages apart.
pub const MESSAGE: MessageId =
    MessageId::Field { offset_bytes: MESSAGE_ID_BYTE, mask: u32::MAX, shift: 0 };

/// Turns a message's ruleset into the engine's: three rules, and one that tells the end.
pub fn ruleset(rules: &Rules) -> Ruleset {
    let rule = |[index, mask, start, end]: [u32; 4]| Rule { index, mask, start, end };
    let [choosing @ .., last] = &rules.rules;
    Ruleset {
        mode: if rules.is_or { Mode::Or } else { Mode::And },
        rules: choosing.iter().copied().map(rule).collect(),
        end_of_message: EndOfMessage::Rule(rule(*last)),
    }
}

/// Gives the address of a context's host memory as commands name it.
pub fn host_address(first: u32) -> u64 {
    HOST_MEMORY_BASE + u64::from(first) * HOST_SHARE_BYTES
}

/// Gives L2 handler memory.
pub fn l2(machine: &Machine) -> Range<u32> {
    machine.l2_handler.base..machine.l2_handler.base + machine.l2_handler.bytes
}

/// Gives what handlers of every context reach at the start of L2 handler memory.
pub fn statics(machine: &Machine) -> Range<u32> {
    let all = l2(machine);
    all.start..all.start + STATIC_BYTES.min(machine.l2_handler.bytes)
}

/// Gives a context's part of L2 handler memory, whole pages: what programs have at its start aside, all contexts
/// have equal parts.
pub fn share(machine: &Machine, context: u32, contexts: u32) -> Range<u32> {
    let all = l2(machine);
    let start = statics(machine).end;
    let each = (all.end - start) / contexts.max(1) / PAGE_BYTES * PAGE_BYTES;
    start + context * each..start + (context + 1) * each
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_lie_behind_each_other() {
        let machine =
            pinion_app::machine::load::<pinion_spin::Machine>("fpspin", &[], false).unwrap().value;
        assert_eq!(share(&machine, 0, 4), 0x1c01_0000..0x1c04_c000);
        assert_eq!(share(&machine, 3, 4).end, 0x1c10_0000);
        assert_eq!(share(&machine, 0, 1), 0x1c01_0000..0x1c10_0000);
        assert_eq!(host_address(1) - host_address(0), HOST_SHARE_BYTES);
    }

    #[test]
    fn the_fourth_rule_tells_the_end() {
        let rules = [[1, 2, 3, 4], [0, 0, 0, 0], [0, 0, 1, 0], [10, 0x8000, 0x8000, 0x8000]];
        let set = ruleset(&Rules { is_or: true, rules });
        assert_eq!((set.mode, set.rules.len()), (Mode::Or, 3));
        let end = EndOfMessage::Rule(Rule { index: 10, mask: 0x8000, start: 0x8000, end: 0x8000 });
        assert_eq!(set.end_of_message, end);
    }
}
