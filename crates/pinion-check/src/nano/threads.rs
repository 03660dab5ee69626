//! Threads of a hart, one for each context and the hart's own: the NIC's thread scheduler, or the timer,
//! lets one interrupt another between any two instructions, so each knows by itself what came before.
//!
//! What orders them, beside what orders harts:
//! - a thread begins after what the hart did when it bound the thread's context;
//! - interrupts kept off (`mstatus.MIE`, the sources in `mie`): no other thread of the hart runs
//!   meanwhile. One of a more urgent priority need not keep them off itself: the others do not run
//!   before it has given the hart back;
//! - threads of one priority take turns where they give the hart back (`lmsgdone`, `lidle`), unless the
//!   timer switches them.
//!
//! A trap's handler runs as the hart's own thread does.

use std::collections::BTreeMap;

use pinion_isa::Op;
use pinion_isa::csr::mstatus;
use pinion_nanopu::core::network::INTERRUPT;

use super::NanoChecker;
use super::program::THREADS;
use crate::clocks::{Clocks, Knowledge, join};
use crate::registers::Dependencies;
use crate::shared::Changed;

/// Bit of `mie` of the timer's interrupt.
const TIMER: u32 = 7;

/// What a thread has left in its hart while another one runs there.
#[derive(Default)]
struct Left {
    has_run: bool,
    /// It has given the hart back, and begun no message since.
    has_given: bool,
    caller: u32,
    changed: Changed,
    dependencies: Option<Box<Dependencies>>,
}

/// What those of a priority knew.
struct Known {
    /// Who let interrupts come again.
    held: Knowledge,
    /// Who gave the hart back.
    given: Knowledge,
}

/// Holds the threads of a hart.
pub struct Threads {
    /// The hart's own number among those that share memory; its threads' are behind it.
    own: usize,
    /// Its own first, then by context. A hart whose program starts no threads has its own alone.
    left: Vec<Left>,
    running: usize,
    priority: u8,
    /// Bits of `mie` of those that may switch them.
    sources: u64,
    known: BTreeMap<u8, Known>,
}

impl Threads {
    /// Makes those of a hart of so many for each of them, its own included.
    pub fn new(hart: usize, each: usize) -> Self {
        let left = (0..each).map(|_| Left::default()).collect();
        let known = BTreeMap::new();
        Self { own: hart * each, left, running: 0, priority: 0, sources: 0, known }
    }

    /// Counts a hart's threads that share memory, where a program starts some or not.
    pub fn each(starts_threads: bool, contexts: u16) -> usize {
        if starts_threads { 1 + usize::from(contexts).min(THREADS as usize) } else { 1 }
    }

    /// Gives the running one's number among those that share memory.
    #[inline]
    pub const fn who(&self) -> usize {
        self.own + self.running
    }

    /// Tells whether the timer may switch them.
    const fn are_timed(&self) -> bool {
        self.sources >> TIMER & 1 != 0
    }

    const fn are_some(&self) -> bool {
        self.left.len() > 1
    }

    /// Notes that the running one begins a message.
    pub fn begin(&mut self) {
        self.left[self.running].has_given = false;
    }

    /// Notes the priority of the one that runs.
    pub const fn has_priority(&mut self, priority: u64) {
        self.priority = priority as u8;
    }

    fn known(&mut self, clocks: &Clocks) -> &mut Known {
        let nothing = || Known { held: clocks.nothing(), given: clocks.nothing() };
        self.known.entry(self.priority).or_insert_with(nothing)
    }

    /// Begins or goes on with the running one: it comes after those that cannot come in between.
    fn starts(&mut self, clocks: &mut Clocks) {
        let who = self.who();
        let left = &mut self.left[self.running];
        if !std::mem::replace(&mut left.has_run, true) {
            left.has_given = true;
            let knowledge = clocks.of(self.own).to_vec();
            clocks.tick(self.own);
            clocks.learn(who, &knowledge);
        }
        if !left.has_given || self.are_timed() {
            return;
        }
        for (_, known) in self.known.range(self.priority..) {
            clocks.learn(who, &known.held);
        }
        if let Some(known) = self.known.get(&self.priority) {
            clocks.learn(who, &known.given);
        }
    }

    /// Notes that the running one gives the hart back.
    fn gives(&mut self, clocks: &mut Clocks) {
        if self.running == 0 || self.are_timed() {
            return;
        }
        self.left[self.running].has_given = true;
        let who = self.who();
        join(&mut self.known(clocks).given, clocks.of(who));
        clocks.tick(who);
    }

    /// Notes that the running one keeps interrupts off.
    fn holds(&self, clocks: &mut Clocks) {
        let who = self.who();
        for (priority, known) in &self.known {
            clocks.learn(who, &known.held);
            if *priority < self.priority {
                clocks.learn(who, &known.given);
            }
        }
    }

    /// Notes that it lets them come again.
    fn lets(&mut self, clocks: &mut Clocks) {
        let who = self.who();
        join(&mut self.known(clocks).held, clocks.of(who));
        clocks.tick(who);
    }
}

impl NanoChecker {
    /// Follows a trap: its handler runs as the hart's own thread.
    pub(super) fn stops(&mut self, id: usize) {
        let hart = &mut self.harts[id];
        if !hart.threads.are_some() {
            return;
        }
        let left = &mut hart.threads.left[hart.threads.running];
        left.caller = std::mem::take(&mut hart.caller);
        left.changed = std::mem::take(&mut hart.changed);
        left.dependencies = Some(Box::new(*hart.registers.dependencies()));
        hart.threads.running = 0;
    }

    /// Follows the end of a trap: the thread runs whose stack the hart is on.
    pub(super) fn resumes(&mut self, id: usize) {
        let hart = &mut self.harts[id];
        if !hart.threads.are_some() {
            return;
        }
        let thread = hart.stack.map_or(Some(hart.context), |stack| stack.thread);
        let threads = &mut hart.threads;
        let running = thread.map_or(0, |thread| 1 + usize::from(thread));
        threads.running = if running < threads.left.len() { running } else { 0 };
        let left = &mut threads.left[threads.running];
        hart.caller = left.caller;
        hart.changed = left.changed;
        if let Some(dependencies) = left.dependencies.take() {
            hart.registers.depend(&dependencies);
        }
        if threads.running > 0 {
            threads.starts(&mut self.shared.clocks);
        }
    }

    /// Lets the handler of a trap know what the thread knew that it interrupts.
    pub(super) fn hands_over(&mut self, id: usize) {
        let threads = &self.harts[id].threads;
        if threads.running > 0 {
            let (own, who) = (threads.own, threads.who());
            let knowledge = self.shared.clocks.of(who).to_vec();
            self.shared.clocks.learn(own, &knowledge);
            self.shared.clocks.tick(who);
        }
    }

    /// Looks at a hart that gives itself back to its threads.
    pub(super) fn gives_back(&mut self, id: usize) {
        let threads = &mut self.harts[id].threads;
        if threads.are_some() {
            threads.gives(&mut self.shared.clocks);
        }
    }

    /// Looks at bits of `mstatus` or `mie` that are set and cleared: whether interrupts may come.
    pub(super) fn interrupts(&mut self, id: usize, op: Op, value: u64, is_status: bool) {
        let threads = &mut self.harts[id].threads;
        if !threads.are_some() {
            return;
        }
        let (set, cleared) = match op {
            Op::Csrrs | Op::Csrrsi => (value, 0),
            Op::Csrrc | Op::Csrrci => (0, value),
            _ => (value, !value),
        };
        let mut enables = u64::from(mstatus::MIE);
        if !is_status {
            enables = 1 << TIMER | 1 << INTERRUPT;
            threads.sources = (threads.sources & !cleared | set) & enables;
        }
        let clocks = &mut self.shared.clocks;
        if set & enables != 0 {
            threads.lets(clocks);
        } else if cleared & enables != 0 && (is_status || threads.sources == 0) {
            threads.holds(clocks);
        }
    }
}
