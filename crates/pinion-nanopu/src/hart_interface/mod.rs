//! What a hart has of the network: its local receive queues, the thread scheduler, the CSRs
//! (nanoPU paper, §3.4 and §3.5; RTL RC/LNICQueues.scala, RC/CSR.scala).
//!
//! In: words from the global receive queues; reads of x30, reads and writes of CSRs 0x052 to 0x061.
//! Out: words, CSR values, the interrupt line, and [`Command`]s for the NIC. A read of an empty
//! queue does not wait; it gives nothing.
//!
//! Words are handed over ahead of time with the cycle in which each enters the queue. A CSR
//! instruction counts in the cycle in which it retires, a read of x30 in the cycle in which it is
//! decoded.

mod hardware;
mod local_receive;
pub mod thread_scheduler;

use local_receive::ContextQueue;
pub use local_receive::LastMessage;
use thread_scheduler::ThreadScheduler;

use crate::Cycle;
use crate::event::{Event, Listener};
use crate::hardware::{Did, InLoop, QueuesSeat, RegistersSeat, SchedulerSeat};
use crate::machine::hart_interface::HartInterfaceSection;

/// Asks the node for something that a CSR write stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Nothing.
    Nothing,
    /// Tell the receive side that this hart serves a context from now on.
    Bind {
        /// The context.
        context: u16,
    },
    /// Tell the receive side that this hart is done with a message.
    MessageDone {
        /// The context whose message it was.
        context: u16,
    },
}

/// Counts what programs did wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Misuse {
    /// Reads of x30 that found nothing.
    pub empty_reads: u64,
    /// The context that ran in the first of them.
    pub first_empty_context: Option<u16>,
    /// Message-done commands when no message had been begun (not told to the NIC with the fix
    /// `message_boundaries`).
    pub unmatched_done: u64,
    /// Words thrown away because message-done came before they were read.
    pub unread_words: u64,
    /// Binds of contexts that a hart cannot run.
    pub bad_binds: u64,
}

/// Holds one hart's network interface.
#[derive(Clone, Debug)]
pub struct HartInterface {
    hart: u8,
    section: HartInterfaceSection,
    queues: Vec<ContextQueue>,
    /// The cycle behind that in which the last word enters, of those handed over.
    entered: Cycle,
    scheduler: ThreadScheduler,
    /// Priority that the next bind gives.
    priority: u8,
    /// The context that ran before the last switch, and when that was.
    before: (u16, Cycle),
    /// The context in front of whose full queue words wait.
    waiting: Option<u16>,
    /// Cycles in which its words were read while others waited.
    freed: std::collections::VecDeque<Cycle>,
    misuse: Misuse,
    /// The block in the thread scheduler's place, or beside it.
    hardware: InLoop<SchedulerSeat>,
    /// The block in the queues' place, or beside them.
    queues_block: InLoop<QueuesSeat>,
    /// The block in the registers' place, or beside them.
    registers_block: InLoop<RegistersSeat>,
}

impl HartInterface {
    /// Makes the interface of a hart; nothing is bound.
    pub fn new(hart: u8, section: &HartInterfaceSection) -> Self {
        let contexts = section.contexts;
        Self {
            hart,
            section: *section,
            queues: (0..contexts).map(|_| ContextQueue::default()).collect(),
            entered: 0,
            scheduler: ThreadScheduler::new(&section.thread_scheduler, section.fixes, contexts),
            priority: 0,
            before: (0, 0),
            waiting: None,
            freed: std::collections::VecDeque::new(),
            misuse: Misuse::default(),
            hardware: InLoop::default(),
            queues_block: InLoop::default(),
            registers_block: InLoop::default(),
        }
    }

    /// Gives the context that runs.
    pub fn context(&self) -> u16 {
        self.scheduler.running()
    }

    /// Tells whether the context that runs is the only one that is bound: nothing asks for another.
    pub fn has_one_thread(&self) -> bool {
        self.scheduler.lone()
    }

    /// Hears that the program has nothing to do, by an instruction that retires in `now`.
    pub fn idle(&mut self, now: Cycle) {
        self.scheduler.checkpoint(false, now, &self.queues);
    }

    /// Gives the cycle in which the NIC is out of reset.
    pub fn ready_at(&self) -> Cycle {
        self.section.ready_cycle
    }

    /// Tells whether words wait for the running context, as a CSR read that retires in `now` sees
    /// it: those that entered two cycles ago.
    pub fn words_ready(&self, now: Cycle) -> bool {
        let (before, switched) = self.before;
        let context = if now < switched + 2 { before } else { self.context() };
        let queue = self.queues.get(usize::from(context));
        queue.is_some_and(|queue| queue.count(now.saturating_sub(1)) > 0)
    }

    /// Gives the first cycle from `from` on in which a CSR read would see words for the running
    /// context, of those handed over.
    pub fn ready_from(&self, from: Cycle) -> Option<Cycle> {
        if self.words_ready(from) {
            return Some(from);
        }
        if self.entered < from {
            return None;
        }
        let queue = self.queues.get(usize::from(self.context()))?;
        queue.next_entry(from.saturating_sub(1)).map(|at| (at + 2).max(from))
    }

    /// Gives the first cycle from `from` on in which a word enters a queue of any context, of those
    /// handed over.
    pub fn next_arrival(&self, from: Cycle) -> Option<Cycle> {
        if self.entered <= from {
            return None;
        }
        self.queues.iter().filter_map(|queue| queue.next_entry(from)).min()
    }

    /// Reads a CSR in an instruction that retires in `now`; `None` if it is not one of these.
    fn register(&mut self, csr: u16, now: Cycle) -> Option<u64> {
        Some(match csr {
            0x052 => self.words_ready(now).into(),
            0x053 => self.context().into(),
            0x055 => self.priority.into(),
            0x054 | 0x056 => 0,
            0x057 => (now >= self.ready_at()).into(),
            0x058 => self.target(now).0.into(),
            0x059 => self.target(now).1.into(),
            0x060 => self.scheduler.message_cycles,
            0x061 => self.scheduler.idle_cycles,
            _ => return None,
        })
    }

    /// Writes a CSR in an instruction that retires in `now`; `None` if it is not one of these.
    /// Writes to those that can only be read do nothing.
    pub fn write_csr(&mut self, csr: u16, value: u64, now: Cycle) -> Option<Command> {
        let mut command = Command::Nothing;
        if let Some(seat) = self.registers_block.get_mut() {
            seat.write(now, csr, value);
        }
        match csr {
            0x052 | 0x057..=0x059 => {}
            0x053 => {
                self.did(now, Did::Switched(value as u16));
                self.before = (self.context(), now);
                self.scheduler.switch(value as u16, now, &self.queues);
            }
            0x054 => {
                if value & 1 != 0 {
                    command = self.bind(now);
                }
                if value & 4 != 0 {
                    self.did(now, Did::Started);
                    self.scheduler.start_timers(now, &self.queues);
                }
            }
            0x055 => self.priority = value as u8,
            0x056 => {
                if value & 1 != 0 {
                    command = self.message_done(now);
                }
                if value & 3 != 0 {
                    self.did(now, if value & 1 != 0 { Did::Done } else { Did::Idle });
                    self.scheduler.checkpoint(value & 1 != 0, now, &self.queues);
                }
            }
            0x060 | 0x061 => {
                // The new bound holds from the next cycle on.
                self.scheduler.settle(now + 2, &self.queues);
                if csr == 0x060 {
                    self.did(now, Did::MessageCycles(value));
                    self.scheduler.message_cycles = value;
                } else {
                    self.did(now, Did::IdleCycles(value));
                    self.scheduler.idle_cycles = value;
                }
            }
            _ => return None,
        }
        Some(command)
    }

    /// Reads x30 in an instruction that is decoded in `now`; `None` from an empty queue.
    pub fn pop(&mut self, now: Cycle) -> Option<u64> {
        let context = self.context();
        self.scheduler.settle_before_pop(now, &self.queues);
        let word = self.take_word(now);
        if word.is_some() {
            self.did(now, Did::Read(context));
        }
        if word.is_none() {
            self.misuse.empty_reads += 1;
            self.misuse.first_empty_context.get_or_insert(context);
        } else if self.waiting == Some(context) {
            self.freed.push_back(now);
        }
        word
    }

    /// Gives the word that a read of x30 in cycle `now` would take, without taking it.
    pub fn head_word(&self, now: Cycle) -> Option<u64> {
        self.queues.get(usize::from(self.context()))?.head_word(now)
    }

    /// Counts the messages that the running context has begun, if it has begun one with the word that it
    /// read last, in `now`.
    pub fn has_just_begun(&self, now: Cycle) -> Option<u64> {
        self.queues.get(usize::from(self.context()))?.has_just_begun(now)
    }

    /// Gives the last `words` words read (at most two) back: the pipeline was flushed.
    pub fn unread(&mut self, words: u32) {
        let context = self.context();
        if let Some(queue) = self.queues.get_mut(usize::from(context)) {
            queue.unread(words.into());
        }
        if let Some(seat) = self.registers_block.get_mut() {
            seat.come_back(context, words);
        }
        if self.waiting == Some(context) {
            let kept = self.freed.len().saturating_sub(words as usize);
            self.freed.truncate(kept);
        }
    }

    /// Gives the first cycle in a range in which the interrupt line is up, as far as is known.
    pub fn interrupt(&self, range: std::ops::Range<Cycle>) -> Option<Cycle> {
        match self.hardware.in_place() {
            Some(seat) => seat.was_up(range.start).filter(|at| range.contains(at)),
            None => self.scheduler.up(range, &self.queues),
        }
    }

    /// Gives the first cycle from `from` on in which the interrupt line is up, if nothing more
    /// comes in and the program does nothing.
    pub fn interrupt_at(&self, from: Cycle) -> Option<Cycle> {
        self.interrupt(from..Cycle::MAX)
    }

    /// Hears that the hart took the interrupt in cycle `now`.
    pub fn interrupt_taken(&mut self, now: Cycle) {
        // The line is down from `now` on.
        self.did(now - 1, Did::Taken);
        self.scheduler.taken(now, &self.queues);
    }

    /// Gives the cycle from which there is room for a word that waits; advance the receive side then.
    pub fn next_room(&self) -> Option<Cycle> {
        self.freed.front().map(|&at| at + 1)
    }

    /// Hears that the hart polls from cycle `from` on without saying so each time: every turn of
    /// the loop writes idle, so the message timer never runs out.
    pub fn hold_message_timer(&mut self, from: Cycle) {
        self.scheduler.hold_message_timer(from, &self.queues);
    }

    /// Hears that the hart polled for the last time in cycle `at`.
    pub fn release_message_timer(&mut self, at: Cycle) {
        self.scheduler.release_message_timer(at);
    }

    /// Tells the listener what happened before cycle `now`.
    // Some fifty times a message: a call would be most of it.
    #[inline(always)]
    pub fn advance(&mut self, now: Cycle, listener: &mut impl Listener) {
        self.scheduler.settle(now, &self.queues);
        if self.tell_rises(listener) {
            return;
        }
        while let Some(pulse) = self.scheduler.next_pulse() {
            let (hart, running, target) = (self.hart, pulse.running, pulse.target);
            for at in pulse.from..pulse.to {
                listener.event(at, Event::ThreadInterrupt { hart, running, target });
            }
        }
    }

    /// Gives what the program did wrong so far.
    pub fn misuse(&self) -> Misuse {
        self.misuse
    }

    /// Counts the words of a context that have been handed over and not read.
    pub fn unread_words(&self, context: u16) -> u32 {
        self.queues.get(usize::from(context)).map_or(0, ContextQueue::handed_over)
    }

    /// Counts the messages of a context that the program said it is done with, or forgot.
    pub fn ended_messages(&self, context: u16) -> u64 {
        self.queues.get(usize::from(context)).map_or(0, ContextQueue::ended)
    }

    /// Gives the message that the running context has begun to read last, with at most `words` of its
    /// words.
    pub fn last_message(&self, words: u64) -> Option<LastMessage> {
        self.queues.get(usize::from(self.context()))?.last_message(words)
    }

    /// Says how many of `wanted` words for a context may enter one after the other and when, at
    /// `at` at the earliest; with `None`, asks to be told of room.
    pub(crate) fn room_for(
        &mut self,
        context: u16,
        at: Cycle,
        wanted: u32,
    ) -> Option<(Cycle, u32)> {
        if self.waiting.is_some() {
            let freed = self.freed.pop_front()?;
            return Some((at.max(freed + 1), 1));
        }
        let used =
            self.queues.get(usize::from(context)).map_or(u32::MAX, ContextQueue::handed_over);
        match self.section.context_words.saturating_sub(used) {
            0 => {
                self.waiting = Some(context);
                self.freed.clear();
                None
            }
            room => Some((at, room.min(wanted))),
        }
    }

    /// Hears that no more words wait.
    pub(crate) fn stop_waiting(&mut self) {
        self.waiting = None;
        self.freed.clear();
    }

    /// Takes words of a message, the first of which enters in cycle `at`; returns how many.
    pub(crate) fn receive(
        &mut self,
        context: u16,
        at: Cycle,
        begins: bool,
        words: impl Iterator<Item = u64>,
    ) -> u32 {
        let Some(queue) = self.queues.get_mut(usize::from(context)) else { return 0 };
        let waiting = queue.handed_over();
        let n = match self.queues_block.get_mut() {
            None => queue.push(at, begins, words),
            Some(seat) => {
                let words: Vec<u64> = words.collect();
                for (place, &word) in (0..).zip(&words) {
                    seat.enter(context, at + place, begins && place == 0, word);
                }
                queue.push(at, begins, words.into_iter())
            }
        };
        if queue.handed_over() == waiting
            && let Some(seat) = self.queues_block.get_mut()
        {
            seat.forget(context, n.into());
        }
        if queue.handed_over() > waiting
            && let Some(seat) = self.registers_block.get_mut()
        {
            seat.enter(context, at, n);
        }
        if let Some(seat) = self.hardware.get_mut() {
            seat.enters(context, at, begins, n, queue.handed_over() > waiting);
        }
        self.entered = self.entered.max(at + Cycle::from(n));
        self.scheduler.entered(context, at, n);
        n
    }

    /// Marks the end of the message whose words were taken last.
    pub(crate) fn message_complete(&mut self, context: u16) {
        if let Some(queue) = self.queues.get_mut(usize::from(context)) {
            queue.complete();
        }
    }

    /// Binds the running context.
    fn bind(&mut self, now: Cycle) -> Command {
        let context = self.context();
        let Some(queue) = self.queues.get_mut(usize::from(context)) else {
            self.misuse.bad_binds += 1;
            return Command::Nothing;
        };
        queue.allocate(self.section.context_words);
        let unread = queue.handed_over();
        queue.clear();
        self.throw_away(context, unread.into());
        self.did(now, Did::Bound(context, self.priority));
        self.scheduler.bind(context, self.priority, now, &self.queues);
        Command::Bind { context }
    }

    /// Ends the running context's message.
    fn message_done(&mut self, now: Cycle) -> Command {
        let context = self.context();
        self.scheduler.settle_before_pop(now, &self.queues);
        let Some(queue) = self.queues.get_mut(usize::from(context)) else {
            self.misuse.unmatched_done += 1;
            return Command::Nothing;
        };
        if self.section.fixes.message_boundaries {
            let Some(left) = queue.end_message(now) else {
                self.misuse.unmatched_done += 1;
                return Command::Nothing;
            };
            self.misuse.unread_words += left;
            if left > 0 {
                self.did(now, Did::Left(context, left));
                self.throw_away(context, left);
            }
            if self.waiting == Some(context) {
                (0..left).for_each(|_| self.freed.push_back(now));
            }
        }
        Command::MessageDone { context }
    }
}

#[cfg(test)]
mod tests;
