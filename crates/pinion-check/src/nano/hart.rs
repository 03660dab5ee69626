//! A hart as the checker sees it: what its registers hold, where its stack lies, what it has read and
//! written of messages.

use std::collections::VecDeque;

use pinion_nanopu::Cycle;

use super::messages::Context;
use super::program::Stack;
use super::threads::Threads;
use crate::defined::Width;
use crate::registers::Registers;
use crate::shared::Changed;

/// Moments that are remembered, so that an earlier access can be named.
const MOMENTS: usize = 1 << 12;

/// A read of x30.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The context that ran.
    pub context: u16,
    /// The word.
    pub word: Option<u64>,
    /// It begins a message: its number, where known.
    pub begins: Option<Option<u64>>,
}

/// Holds a hart.
pub struct Hart {
    /// What its registers hold.
    pub values: [u64; 32],
    /// What is known of its registers.
    pub registers: Registers,
    /// The last call of a function from the user's code; 0: none.
    pub caller: u32,
    /// Words that it changed by its last atomics.
    pub changed: Changed,
    /// The stack that it is on.
    pub stack: Option<Stack>,
    /// It has switched between threads.
    pub has_threads: bool,
    /// Its threads, which share memory.
    pub threads: Threads,
    /// The context that runs.
    pub context: u16,
    /// What the instruction that retires next has read of x30.
    pub taken: Option<Taken>,
    /// By context: its messages.
    pub contexts: Vec<Context>,
    /// From which cycle on it ran which context, with which message.
    log: VecDeque<(Cycle, u16, Option<u64>)>,
}

impl Hart {
    /// Makes a hart in reset, which may run so many contexts.
    pub fn new(contexts: u16, threads: Threads) -> Self {
        Self {
            values: [0; 32],
            registers: Registers::new(Width::Rv64),
            caller: 0,
            changed: Changed::default(),
            stack: None,
            has_threads: false,
            threads,
            context: 0,
            taken: None,
            contexts: (0..contexts).map(|_| Context::default()).collect(),
            log: VecDeque::new(),
        }
    }

    /// Gives the value of a source register; those of the floating-point unit are not followed.
    #[inline]
    pub fn value(&self, register: u8) -> u64 {
        self.values.get(usize::from(register)).copied().unwrap_or(0)
    }

    /// Notes which context runs from a cycle on, with which message.
    pub fn runs(&mut self, at: Cycle, context: u16, message: Option<u64>) {
        self.context = context;
        if self.log.len() == MOMENTS {
            self.log.pop_front();
        }
        self.log.push_back((at, context, message));
    }

    /// Finds context and message of a cycle.
    pub fn at(&self, cycle: Cycle) -> (u16, Option<u64>) {
        let after = self.log.partition_point(|(from, ..)| *from <= cycle);
        let found = after.checked_sub(1).and_then(|last| self.log.get(last));
        found.map_or((self.context, None), |(_, context, message)| (*context, *message))
    }

    /// Begins a function that may count on its first arguments alone.
    pub fn enter(&mut self, pc: u32, arguments: u8) {
        const A0: u8 = 10;
        const OTHERS: [std::ops::RangeInclusive<u8>; 3] = [5..=9, 18..=27, 28..=29];
        let not_given = A0 + arguments..=17;
        for register in OTHERS.into_iter().chain([not_given]).flatten() {
            self.registers.forget(register, pc);
        }
    }
}
