//! The register interface's ports. In: a hart's reads and writes of its network's registers, each in the cycle in which
//! the instruction retires; which contexts have words; the thread scheduler's target. Out: what is read, and what the
//! thread scheduler and the NIC are told.
//!
//! Words are taken out of a context's queue in the order of instructions: a register is read behind all reads of x30 in
//! front of it, and before those that the core has decoded behind it.

use std::collections::VecDeque;

use pinion_nanopu_machine::node::Machine;
use pinion_sim::block::{Block, Needs, Port, bits_for};

use crate::{Cycle, Did, Placed, Seat, contexts};

const CSR_VALID: usize = 0;
const CSR_WRITE: usize = 1;
const CSR_NUMBER: usize = 2;
const CSR_WRITTEN: usize = 3;
const NIC_READY: usize = 4;
const HELD: usize = 5;
const TARGET_NONE: usize = 6;
const TARGET: usize = 7;
const TARGET_PRIORITY: usize = 8;
const CSR_VALUE: usize = 9;
const CSR_KNOWN: usize = 10;
const RUNS: usize = 11;
const RUNNING: usize = 12;
const BIND_VALID: usize = 13;
const BIND_PRIORITY: usize = 14;
const SWITCH_VALID: usize = 15;
const SWITCH_NONE: usize = 16;
const SWITCH_CONTEXT: usize = 17;
const START_VALID: usize = 18;
const DONE_VALID: usize = 19;
const IDLE_VALID: usize = 20;
const MESSAGE_CYCLES: usize = 21;
const IDLE_CYCLES: usize = 22;

/// Bits of the bounds.
const TIMER_BITS: u32 = 63;
/// The longest bound; a longer one that is written stands for it.
const LONGEST: u64 = (1 << TIMER_BITS) - 1;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let contexts = contexts(machine)?;
    let context = bits_for(contexts);
    let section = &machine.hart_interface.thread_scheduler;
    let ports = vec![
        Port::input("csr_valid", 1),
        Port::input("csr_write", 1),
        Port::input("csr_number", 12),
        Port::input("csr_written", 64),
        Port::input("nic_ready", 1),
        Port::input("held", contexts as u32),
        Port::input("target_none", 1),
        Port::input("target", context),
        Port::input("target_priority", 8),
        Port::output("csr_value", 64),
        Port::output("csr_known", 1),
        Port::output("runs", 1),
        Port::output("running", context),
        Port::output("bind_valid", 1),
        Port::output("bind_priority", 8),
        Port::output("switch_valid", 1),
        Port::output("switch_none", 1),
        Port::output("switch_context", context),
        Port::output("start_valid", 1),
        Port::output("done_valid", 1),
        Port::output("idle_valid", 1),
        Port::output("message_cycles", TIMER_BITS),
        Port::output("idle_cycles", TIMER_BITS),
    ];
    let parameters = vec![
        ("CONTEXTS", contexts),
        ("TIMER_BITS", TIMER_BITS.into()),
        ("MESSAGE_CYCLES", section.message_cycles),
        ("IDLE_CYCLES", section.idle_cycles),
    ];
    Ok(Needs { ports, parameters })
}

/// Is what an instruction does to a register in the cycle in which it retires.
#[derive(Clone, Debug, Default)]
struct Access {
    at: Cycle,
    csr: u16,
    written: Option<u64>,
    /// What the model says of it to others.
    did: Vec<Did>,
}

/// Holds a hart's register interface's block at its place.
#[derive(Debug)]
pub struct RegistersSeat {
    seat: Seat,
    hart: u8,
    ready_cycle: Cycle,
    /// By context: cycles in which words entered that have not been read.
    words: Vec<VecDeque<Cycle>>,
    /// The context that runs, as the model has it, and the bounds.
    running: u16,
    bounds: [u64; 2],
    /// The access of the block's cycle.
    access: Option<Access>,
}

impl RegistersSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine, hart: u8) -> Self {
        let section = &machine.hart_interface;
        Self {
            seat: Seat::new(block, compares, machine),
            hart,
            ready_cycle: section.ready_cycle,
            words: vec![VecDeque::new(); usize::from(section.contexts)],
            running: 0,
            bounds: [section.thread_scheduler.message_cycles, section.thread_scheduler.idle_cycles],
            access: None,
        }
    }

    /// Gives the cycle that the block is in.
    pub fn cycle(&self) -> Cycle {
        self.seat.cycle
    }

    /// Hears of `words` words that enter a context's queue, the first in cycle `at`.
    pub fn enter(&mut self, context: u16, at: Cycle, words: u32) {
        if let Some(queue) = self.words.get_mut(usize::from(context)) {
            queue.extend((at..).take(words as usize));
        }
    }

    /// Hears that the words of a context that were read last are back; they had entered long before.
    pub fn come_back(&mut self, context: u16, words: u32) {
        if let Some(queue) = self.words.get_mut(usize::from(context)) {
            (0..words).for_each(|_| queue.push_front(0));
        }
    }

    /// Tells it of a read of a register in cycle `at`, of which the model says `value`, and which context should run, with
    /// its priority, if that is read; gives what the block says.
    pub fn read(&mut self, at: Cycle, csr: u16, value: u64, target: Option<(u16, u8)>) -> u64 {
        self.begin(at, csr);
        self.put_held();
        let (context, priority) = target.unwrap_or_default();
        let is_none = usize::from(context) >= self.words.len();
        let block = &mut self.seat.block;
        block.put(CSR_NUMBER, csr.into());
        block.put(CSR_VALID, 1);
        block.put(TARGET_NONE, is_none.into());
        block.put(TARGET, if is_none { 0 } else { context.into() });
        block.put(TARGET_PRIORITY, priority.into());
        block.expect(CSR_KNOWN, 1);
        if self.seat.compares {
            block.expect(CSR_VALUE, value);
            return value;
        }
        block.get(CSR_VALUE)
    }

    /// Tells it of a write of a CSR in cycle `at`; those that are not the network's are not its affair.
    pub fn write(&mut self, at: Cycle, csr: u16, written: u64) {
        if !matches!(csr, 0x052..=0x059 | 0x060 | 0x061) {
            return;
        }
        self.begin(at, csr);
        if let Some(access) = &mut self.access {
            access.written = Some(written);
        }
    }

    /// Hears what the program did in cycle `at`: what the model tells others of the write at hand, and words that leave.
    pub fn did(&mut self, at: Cycle, did: Did) {
        let (context, words) = match did {
            Did::Read(context) => (context, 1),
            Did::Left(context, words) => (context, words as usize),
            Did::Bound(context, _) => (context, usize::MAX),
            _ => (u16::MAX, 0),
        };
        if let Some(queue) = self.words.get_mut(usize::from(context)) {
            queue.drain(..queue.len().min(words));
        }
        if let Some(access) = self.access.as_mut().filter(|access| access.at == at) {
            access.did.push(did);
        }
    }

    /// Lets the block come to an access's cycle.
    fn begin(&mut self, at: Cycle, csr: u16) {
        if self.access.as_ref().is_some_and(|access| (access.at, access.csr) == (at, csr)) {
            return;
        }
        self.clock(at);
        self.access = Some(Access { at, csr, ..Access::default() });
    }

    /// Tells the block which contexts have words in its cycle, and whether the NIC is out of reset.
    fn put_held(&mut self) {
        let cycle = self.seat.cycle;
        let there = |queue: &VecDeque<Cycle>| queue.front().is_some_and(|at| *at < cycle);
        let held =
            self.words.iter().rev().fold(0, |held, queue| held << 1 | u64::from(there(queue)));
        self.seat.block.put(HELD, held);
        self.seat.block.put(NIC_READY, (cycle >= self.ready_cycle).into());
    }

    /// Lets the block take all cycles before one.
    pub fn clock(&mut self, to: Cycle) {
        while self.seat.cycle < to && self.seat.failure.is_none() {
            let cycle = self.seat.cycle;
            self.put_held();
            let access = self.access.take_if(|access| access.at <= cycle);
            let written = access.as_ref().and_then(|access| access.written);
            let block = &mut self.seat.block;
            block.put(CSR_VALID, access.is_some().into());
            block.put(CSR_WRITE, written.is_some().into());
            if let Some(access) = &access {
                block.put(CSR_NUMBER, access.csr.into());
                block.put(CSR_WRITTEN, written.unwrap_or(0));
            }
            self.expect_context();
            self.expect_told(access.as_ref().map_or(&[], |access| &access.did));
            let (hart, running) = (self.hart, self.running);
            self.seat.end_cycle(|| format!("of hart {hart}, whose context {running} runs"));
            for did in access.iter().flat_map(|access| &access.did) {
                match *did {
                    Did::Switched(context) => self.running = context,
                    Did::MessageCycles(bound) => self.bounds[0] = bound.min(LONGEST),
                    Did::IdleCycles(bound) => self.bounds[1] = bound.min(LONGEST),
                    _ => {}
                }
            }
        }
    }

    /// Wants the block to say which context runs, and the bounds.
    fn expect_context(&mut self) {
        let runs = usize::from(self.running) < self.words.len();
        let block = &mut self.seat.block;
        block.expect(RUNS, runs.into());
        if runs {
            block.expect(RUNNING, self.running.into());
        }
        block.expect(MESSAGE_CYCLES, self.bounds[0]);
        block.expect(IDLE_CYCLES, self.bounds[1]);
    }

    /// Wants the block to tell others what the model tells them.
    fn expect_told(&mut self, did: &[Did]) {
        let contexts = self.words.len();
        let block = &mut self.seat.block;
        let has = |wanted: &dyn Fn(&Did) -> bool| u64::from(did.iter().any(wanted));
        block.expect(BIND_VALID, has(&|did| matches!(did, Did::Bound(..))));
        block.expect(SWITCH_VALID, has(&|did| matches!(did, Did::Switched(_))));
        block.expect(START_VALID, has(&|did| *did == Did::Started));
        block.expect(DONE_VALID, has(&|did| *did == Did::Done));
        block.expect(IDLE_VALID, has(&|did| *did == Did::Idle));
        for did in did {
            match *did {
                Did::Bound(_, priority) => block.expect(BIND_PRIORITY, priority.into()),
                Did::Switched(context) => {
                    let is_none = usize::from(context) >= contexts;
                    block.expect(SWITCH_NONE, is_none.into());
                    block.expect(SWITCH_CONTEXT, if is_none { 0 } else { context.into() });
                }
                _ => {}
            }
        }
    }
}

impl Placed for RegistersSeat {
    fn seat(&self) -> &Seat {
        &self.seat
    }
}
