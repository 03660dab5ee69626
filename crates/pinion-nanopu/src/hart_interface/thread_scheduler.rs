//! The thread scheduler: which of a hart's threads should run (nanoPU paper, §2.4 and
//! §3.3; RTL
//! RC/LNICQueues.scala).
//!
//! In: messages that enter the local receive queues, message-done, idle and start-timer commands,
//! switches of context. Out: the context that should run, and the cycles in which the interrupt
//! line is up. Holds each context's priority and whether it has work, and two timers. Nothing makes
//! it wait.
//!
//! A context is active from the first word that enters its queue until message-done or idle finds
//! the queue empty. The target is the active context with the highest priority (0), among equals
//! the one whose next message entered first, then the one with the higher number. It follows its
//! causes by two cycles. The line goes up when
//!
//! - a word entered two cycles ago and the target has a higher priority than what runs,
//! - message-done or idle came two cycles ago and the target is not what runs,
//! - the running message overran its bound, which lowers its context's priority to 1,
//! - what runs has been idle for long: the next context of the hart becomes the target.
//!
//! No cycle is simulated for itself. `walk` visits the windows of cycles in
//! which the line may be up and the points at which a timer runs out.

mod told;

use std::collections::VecDeque;
use std::ops::Range;

use super::local_receive::ContextQueue;
use crate::Cycle;
use crate::hardware::Expected;
use crate::machine::hart_interface::{HartInterfaceFixes, ThreadSchedulerSection};

/// The context number that stands for "no thread".
pub const NO_CONTEXT: u16 = 0xffff;

/// Priority of a context whose message overran its bound.
const LOWERED: u8 = 1;

/// What the scheduler knows of a context.
#[derive(Clone, Copy, Debug)]
struct Thread {
    bound: bool,
    /// Priority it was bound with.
    given: u8,
    priority: u8,
    /// Cycle in which the word entered that made it active.
    active_since: Option<Cycle>,
}

/// What makes the line go up within a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Entered,
    Done,
}

/// Cycles in which the line is up if its cause holds.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Cycle,
    to: Cycle,
    cause: Cause,
}

/// Cycles in which the line was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// The first of them.
    pub from: Cycle,
    /// The cycle behind the last.
    pub to: Cycle,
    /// The context that ran.
    pub running: u16,
    /// The context that should.
    pub target: u16,
}

/// What only timers and the program change; a copy looks ahead.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    /// Cycle in which the message timer was zero.
    message_zero: Cycle,
    /// Cycle in which the idle timer was zero.
    idle_zero: Cycle,
    /// The running context's priority has been lowered.
    lowered: bool,
    /// Place in the list of bound contexts that idle rotation takes next.
    turn: usize,
    /// The context that idle rotation chose, until there is work or a switch.
    rotated: Option<u16>,
}

/// Holds one hart's scheduler.
#[derive(Clone, Debug)]
pub struct ThreadScheduler {
    threads: Vec<Thread>,
    /// Bound contexts in the order in which they were bound.
    bound: Vec<u16>,
    running: u16,
    /// First cycle in which its timers are compared.
    running_from: Cycle,
    bounded: bool,
    /// Bound of a message's time.
    pub message_cycles: u64,
    /// Idle time after which a context is rotated out.
    pub idle_cycles: u64,
    fixes: HartInterfaceFixes,
    clocks: Clocks,
    windows: VecDeque<Window>,
    /// First cycle that has not been looked at.
    settled: Cycle,
    pulses: VecDeque<Pulse>,
    /// Number of pulses at the front that have been announced.
    announced: usize,
    /// An interrupt was asked for and not taken yet, since this cycle (sticky).
    wanted: Option<Cycle>,
    /// First cycle whose pulse asks for one that was not taken yet.
    asks_from: Cycle,
    /// The outputs in each cycle that is settled, if somebody wants them.
    told: Option<VecDeque<Expected>>,
}

/// Pulses kept for a core that lags behind.
const KEPT_PULSES: usize = 8;

impl ThreadScheduler {
    /// Makes a scheduler for `contexts` contexts, none of which is bound.
    pub fn new(section: &ThreadSchedulerSection, fixes: HartInterfaceFixes, contexts: u16) -> Self {
        let thread = Thread { bound: false, given: 0, priority: 0, active_since: None };
        Self {
            threads: vec![thread; usize::from(contexts)],
            bound: Vec::new(),
            running: 0,
            running_from: 0,
            bounded: section.bounded,
            message_cycles: section.message_cycles,
            idle_cycles: section.idle_cycles,
            fixes,
            clocks: Clocks {
                message_zero: 0,
                idle_zero: 0,
                lowered: false,
                turn: 0,
                rotated: None,
            },
            windows: VecDeque::new(),
            settled: 0,
            pulses: VecDeque::new(),
            announced: 0,
            wanted: None,
            asks_from: 0,
            told: None,
        }
    }

    /// Gives the context that runs.
    pub fn running(&self) -> u16 {
        self.running
    }

    /// Hears that words of a context enter its queue, the first in cycle `at`.
    pub fn entered(&mut self, context: u16, at: Cycle, words: u32) {
        let Some(thread) = self.threads.get_mut(usize::from(context)) else { return };
        let since = thread.active_since.get_or_insert(at);
        *since = (*since).min(at);
        self.clocks.rotated = None;
        if self.lone() {
            return;
        }
        let (from, to) = (at + 2, at + 2 + Cycle::from(words));
        match self.windows.back_mut() {
            Some(window) if window.cause == Cause::Entered && window.to == from => window.to = to,
            _ => self.windows.push_back(Window { from, to, cause: Cause::Entered }),
        }
    }

    /// Binds a context with a priority in cycle `at`.
    pub fn bind(&mut self, context: u16, priority: u8, at: Cycle, queues: &[ContextQueue]) {
        self.settle(at + 1, queues);
        let Some(thread) = self.threads.get_mut(usize::from(context)) else { return };
        if !thread.bound {
            self.bound.push(context);
        }
        *thread = Thread { bound: true, given: priority, priority, ..*thread };
        if context == self.running {
            self.clocks.lowered = false;
        }
    }

    /// Switches to a context in cycle `at`.
    pub fn switch(&mut self, context: u16, at: Cycle, queues: &[ContextQueue]) {
        self.settle(at + 1, queues);
        // What ran is still compared in this cycle; what follows, in the next.
        if self.overrun(&self.clocks, at + 1) == at + 1 {
            self.clocks.lowered = true;
            self.windows.push_back(Window { from: at + 1, to: at + 2, cause: Cause::Done });
        }
        self.keep_lowered();
        (self.running, self.running_from) = (context, at + 1);
        self.clocks.lowered = false;
        self.clocks.rotated = None;
        if self.target(at + 2, queues).0 == context {
            (self.wanted, self.asks_from) = (None, at + 3);
        }
    }

    /// Restarts both timers in cycle `at`.
    pub fn start_timers(&mut self, at: Cycle, queues: &[ContextQueue]) {
        // In this cycle they are compared as they are.
        self.settle(at + 2, queues);
        self.clocks.message_zero = at + 1;
        self.clocks.idle_zero = at + 1;
    }

    /// Hears message-done (`done`) or idle in cycle `at`.
    pub fn checkpoint(&mut self, done: bool, at: Cycle, queues: &[ContextQueue]) {
        self.settle(at + 2, queues);
        self.clocks.message_zero = at + 1;
        let running = usize::from(self.running);
        if done && self.fixes.restore_priority {
            self.clocks.lowered = false;
            if let Some(thread) = self.threads.get_mut(running) {
                thread.priority = thread.given;
            }
        }
        if let Some(thread) = self.threads.get_mut(running)
            && thread.active_since.is_some_and(|since| since < at)
            && queues[running].count(at) == 0
        {
            thread.active_since = queues[running].next_entry(at);
            if thread.active_since != Some(at) {
                self.clocks.idle_zero = at + 1;
            }
        }
        if !self.lone() {
            self.windows.push_back(Window { from: at + 2, to: at + 3, cause: Cause::Done });
        }
    }

    /// Stops the message timer from cycle `at` on.
    pub fn hold_message_timer(&mut self, at: Cycle, queues: &[ContextQueue]) {
        self.settle(at, queues);
        self.clocks.message_zero = Cycle::MAX / 2;
    }

    /// Lets the message timer run from cycle `at` on.
    pub fn release_message_timer(&mut self, at: Cycle) {
        self.clocks.message_zero = at;
    }

    /// Hears that the hart took the interrupt.
    pub fn taken(&mut self, at: Cycle, queues: &[ContextQueue]) {
        self.settle(at, queues);
        (self.wanted, self.asks_from) = (None, at);
        // What was told ahead did not know of it.
        let mut told = self.told.take();
        for expected in told.iter_mut().flatten().filter(|expected| expected.cycle >= at) {
            expected.is_up = self.up(expected.cycle..expected.cycle + 1, queues).is_some();
        }
        self.told = told;
    }

    /// Looks at the cycles that still see a queue as it is before a read of x30 in cycle `at`.
    pub fn settle_before_pop(&mut self, at: Cycle, queues: &[ContextQueue]) {
        if !self.windows.is_empty() || self.told.is_some() {
            self.settle(at + 2, queues);
        }
    }

    /// Looks at all cycles before `to`.
    #[inline]
    pub fn settle(&mut self, to: Cycle, queues: &[ContextQueue]) {
        if self.told.is_some() {
            self.tell_until(to, queues);
        } else if self.rests() {
            self.settled = self.settled.max(to);
        } else {
            self.look(to, queues);
        }
    }

    /// Tells whether cycles pass without anything to look at: there was no pulse, nothing that came is to be
    /// looked at, and no timer runs, as long as the only thread has no work.
    #[inline]
    fn rests(&self) -> bool {
        let works = |thread: &Thread| thread.active_since.is_some();
        self.windows.is_empty()
            && self.pulses.is_empty()
            && self.fixes.restore_priority
            && self.bound.len() <= 1
            && !self.threads.get(usize::from(self.running)).is_some_and(works)
    }

    /// Looks at all cycles before `to` for pulses.
    fn look(&mut self, to: Cycle, queues: &[ContextQueue]) {
        if to <= self.settled {
            return;
        }
        let timers = |from| self.overrun(&self.clocks, from).min(self.rotation(&self.clocks, from));
        if !self.windows.is_empty() || timers(self.settled) < to {
            let mut clocks = self.clocks;
            let mut pulses = std::mem::take(&mut self.pulses);
            self.walk(&mut clocks, self.settled..to, queues, |pulse| {
                let alike =
                    |last: &Pulse| (last.running, last.target) == (pulse.running, pulse.target);
                match pulses.back_mut().filter(|last| last.to >= pulse.from && alike(last)) {
                    Some(last) => last.to = last.to.max(pulse.to),
                    _ => pulses.push_back(pulse),
                }
                false
            });
            (self.pulses, self.clocks) = (pulses, clocks);
        }
        if self.wanted.is_none() && !self.pulses.is_empty() {
            let from = self.settled.max(self.asks_from);
            let asks = self.pulses.iter().find(|pulse| pulse.to > from);
            self.wanted = asks.map(|pulse| pulse.from.max(from));
        }
        while self.announced > KEPT_PULSES {
            self.pulses.pop_front();
            self.announced -= 1;
        }
        self.settled = to;
        while self.windows.front().is_some_and(|window| window.to <= to) {
            self.windows.pop_front();
        }
    }

    /// Gives a pulse that has ended and not been announced.
    pub fn next_pulse(&mut self) -> Option<Pulse> {
        let pulse = *self.pulses.get(self.announced)?;
        if pulse.to >= self.settled {
            return None;
        }
        self.announced += 1;
        Some(pulse)
    }

    /// Gives the first cycle in a range in which the line is up.
    pub fn up(&self, range: Range<Cycle>, queues: &[ContextQueue]) -> Option<Cycle> {
        if self.fixes.sticky_interrupt
            && let Some(since) = self.wanted
            && since < range.end
            && self.target(range.start.max(since), queues).0 != self.running
        {
            return Some(since.max(range.start));
        }
        let recorded = self.pulses.iter().find(|p| p.to > range.start && p.from < range.end);
        if let Some(pulse) = recorded {
            return Some(pulse.from.max(range.start));
        }
        // A pulse before the range that nobody has looked at yet asks for as long as one that was seen.
        let asks = self.fixes.sticky_interrupt
            && self.wanted.is_none()
            && self.target(range.start, queues).0 != self.running;
        let from = if asks { self.settled } else { range.start.max(self.settled) };
        let mut first = None;
        self.walk(&mut self.clocks.clone(), from..range.end, queues, |pulse| {
            let counts = pulse.to > range.start || pulse.to > self.asks_from;
            first = counts.then_some(pulse.from.max(range.start));
            counts
        });
        first
    }

    /// Gives the context that should run, as its registers say in cycle `at`, and its priority.
    pub fn target(&self, at: Cycle, queues: &[ContextQueue]) -> (u16, u8) {
        self.target_under(&self.clocks, at, queues)
    }

    /// Tells whether interrupts are out of the question: the only thread runs.
    pub fn lone(&self) -> bool {
        self.bound.len() == 1 && self.bound[0] == self.running
    }

    /// Writes the running context's lowered priority down, unless it is to come back.
    fn keep_lowered(&mut self) {
        if let Some(thread) = self.threads.get_mut(usize::from(self.running))
            && self.clocks.lowered
        {
            thread.priority = LOWERED;
        }
    }

    fn priority(&self, clocks: &Clocks, context: u16) -> u8 {
        match self.threads.get(usize::from(context)) {
            Some(_) if clocks.lowered && context == self.running => LOWERED,
            Some(thread) => thread.priority,
            None => u8::MAX,
        }
    }

    fn target_under(&self, clocks: &Clocks, at: Cycle, queues: &[ContextQueue]) -> (u16, u8) {
        let active = self.bound.iter().filter(|&&context| {
            let since = self.threads[usize::from(context)].active_since;
            since.is_some_and(|since| since + 2 <= at)
        });
        let rank = |context: u16| {
            let stamp = queues[usize::from(context)].head_stamp(at.saturating_sub(1));
            let oldest = stamp.unwrap_or(Cycle::MAX);
            (self.priority(clocks, context), oldest, std::cmp::Reverse(context))
        };
        let best = active.map(|&context| (rank(context), context)).min();
        let context = best.map_or(clocks.rotated.unwrap_or(self.running), |(_, context)| context);
        (context, self.priority(clocks, context))
    }

    /// Gives the cycle behind that in which the message timer runs out on what runs.
    fn overrun(&self, clocks: &Clocks, from: Cycle) -> Cycle {
        let thread = self.threads.get(usize::from(self.running));
        // The RTL times what runs whether or not there is a message.
        let always = Some(0).filter(|_| !self.fixes.restore_priority);
        let since = thread.and_then(|thread| thread.active_since.or(always));
        let from = from.max(self.running_from + 1);
        match since.filter(|_| self.bounded && self.priority(clocks, self.running) == 0) {
            Some(since) if self.fixes.restore_priority => {
                (clocks.message_zero.max(since) + self.message_cycles + 1).max(from)
            }
            Some(_) => (clocks.message_zero + self.message_cycles + 1).max(from),
            None => Cycle::MAX,
        }
    }

    /// Gives the cycle behind that in which the idle timer runs out on what runs.
    fn rotation(&self, clocks: &Clocks, from: Cycle) -> Cycle {
        let from = from.max(self.running_from + 1);
        let at = (clocks.idle_zero + self.idle_cycles + 1).max(from);
        let thread = self.threads.get(usize::from(self.running));
        let active = thread.and_then(|thread| thread.active_since);
        match self.bound.len() > 1 && active.is_none_or(|since| since + 1 >= at) {
            true => at,
            false => Cycle::MAX,
        }
    }

    /// Visits all pulses in a range, in order, until `visit` returns true.
    fn walk(
        &self,
        clocks: &mut Clocks,
        range: Range<Cycle>,
        queues: &[ContextQueue],
        mut visit: impl FnMut(Pulse) -> bool,
    ) {
        let running = self.running;
        let mut at = range.start;
        while at < range.end {
            let overrun = self.overrun(clocks, at);
            let rotation = self.rotation(clocks, at);
            let timer = overrun.min(rotation);
            let end = timer.min(range.end);
            for window in &self.windows {
                let (from, to) = (window.from.max(at), window.to.min(end));
                if from >= to {
                    continue;
                }
                let (target, priority) = self.target_under(clocks, from, queues);
                let up = target != running
                    && (window.cause == Cause::Done
                        || running == NO_CONTEXT
                        || priority < self.priority(clocks, running));
                if up && visit(Pulse { from, to, running, target }) {
                    return;
                }
            }
            if timer >= range.end {
                return;
            }
            let target = if overrun == timer {
                // The target still follows the old priority in this cycle.
                let (target, _) = self.target_under(clocks, timer, queues);
                clocks.lowered = true;
                target
            } else {
                let target = self.bound[clocks.turn % self.bound.len()];
                clocks.turn = (clocks.turn + 1) % self.bound.len();
                clocks.idle_zero = timer;
                clocks.rotated = Some(target);
                target
            };
            let pulse = Pulse { from: timer, to: timer + 1, running, target };
            if target != running && visit(pulse) {
                return;
            }
            at = timer;
        }
    }
}
