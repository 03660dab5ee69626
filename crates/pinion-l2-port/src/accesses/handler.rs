//! The loads from handler memory: in a cycle, one goes there, or the answer of one comes. So while loads wait they are
//! served every other cycle, and the last of them in a row, as many as may be on their way. (RTL:
//! axi_riscv_atomics; rows ld_word, ld_words, ld_banks, table1, table2, table4.)

use std::collections::VecDeque;

use pinion_spin_machine::CorePorts;

use super::holds::Holds;
use super::{Asked, NEVER};

/// Holds the loads from handler memory.
#[derive(Clone, Debug)]
pub struct HandlerLoads {
    waiting: VecDeque<Asked>,
    /// Those on their way, and when their answers are there.
    on_way: VecDeque<(u64, Asked)>,
    most_on_way: usize,
    answer_cycles: u64,
    /// First cycle in which something may happen.
    free_from: u64,
    /// When atomics to come keep loads waiting.
    atomics: Holds,
}

impl HandlerLoads {
    /// Makes an idle port.
    pub fn new(ports: &CorePorts) -> Self {
        Self {
            waiting: VecDeque::with_capacity(ports.loads as usize),
            on_way: VecDeque::with_capacity(ports.handler_loads as usize),
            most_on_way: ports.handler_loads as usize,
            answer_cycles: ports.handler_answer_cycles,
            free_from: 0,
            atomics: Holds::default(),
        }
    }

    /// Takes a load in a cycle.
    #[inline]
    pub fn take(&mut self, cycle: u64, asked: Asked) {
        self.free_from = self.free_from.max(cycle);
        self.waiting.push_back(asked);
    }

    /// Keeps loads waiting for so many cycles from one on, not before those noted earlier.
    pub fn keep_waiting(&mut self, from: u64, cycles: u64) {
        self.atomics.note(from, from + cycles);
    }

    /// Goes through a cycle, before which nothing changes; gives the load whose answer comes in it.
    #[inline]
    pub fn step(&mut self, cycle: u64) -> Option<Asked> {
        self.atomics.forget(cycle);
        if self.on_way.len() < self.most_on_way
            && let Some(asked) = self.waiting.pop_front()
        {
            self.free_from = cycle + gone_cycles(&asked);
            self.on_way.push_back((cycle + self.answer_cycles, asked));
            return None;
        }
        let &(_, asked) = self.on_way.front().filter(|(at, _)| *at <= cycle)?;
        self.on_way.pop_front();
        self.free_from = cycle + asked.port_cycles / 2;
        Some(asked)
    }

    /// Forgets atomics that keep nobody waiting after a cycle, if no load is there now. All that come must come later.
    #[inline]
    pub fn forget_atomics(&mut self, cycle: u64) {
        if self.waiting.is_empty() && self.on_way.is_empty() {
            self.atomics.forget(cycle);
        }
    }

    #[inline]
    fn one_may_go(&self) -> bool {
        self.on_way.len() < self.most_on_way && !self.waiting.is_empty()
    }

    /// Gives the next cycle in which something may change, or [`NEVER`]: not before a load comes.
    #[inline]
    pub fn next_change(&self) -> u64 {
        match self.one_may_go() {
            true => self.atomics.opens(self.free_from),
            false => self.next_on_way(),
        }
    }

    /// Gives a cycle before which no answer comes, or [`NEVER`]: there is no load.
    #[inline]
    pub fn next_answer(&self) -> u64 {
        if self.on_way.is_empty() {
            return self.next_change().saturating_add(self.answer_cycles);
        }
        // Whoever waits goes first.
        let goes = self.waiting.front().filter(|_| self.one_may_go());
        let behind =
            goes.map_or(0, |asked| self.atomics.opens(self.free_from) + gone_cycles(asked));
        self.next_on_way().max(behind)
    }

    /// Gives the cycle in which the first answer may come, or [`NEVER`].
    #[inline]
    fn next_on_way(&self) -> u64 {
        self.on_way.front().map_or(NEVER, |&(at, _)| self.atomics.opens(at.max(self.free_from)))
    }

    /// Counts the atomics that are remembered.
    #[cfg(test)]
    pub fn atomics_held(&self) -> usize {
        self.atomics.len()
    }
}

/// Gives the cycles for which a load that goes to handler memory takes the port.
#[inline]
const fn gone_cycles(asked: &Asked) -> u64 {
    asked.port_cycles.div_ceil(2)
}
