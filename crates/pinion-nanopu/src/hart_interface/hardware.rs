//! The blocks of the thread scheduler and of the local queues beside a hart's interface: what they are told, when,
//! and what they say.

use super::HartInterface;
use super::thread_scheduler::NO_CONTEXT;
use crate::Cycle;
use crate::event::{Event, Listener};
use crate::hardware::{Did, InLoop, Placed, QueuesSeat, RegistersSeat, SchedulerSeat};

impl HartInterface {
    /// Puts a block into the thread scheduler's place, or beside it, before anything has happened.
    pub fn set_hardware(&mut self, seat: SchedulerSeat) {
        if seat.compares() {
            self.scheduler.tell();
        }
        self.hardware = InLoop::new(seat);
    }

    /// Puts a block into the local queues' place, or beside them, before anything has happened.
    pub fn set_queues(&mut self, seat: QueuesSeat) {
        self.queues_block = InLoop::new(seat);
    }

    /// Puts a block into the registers' place, or beside them, before anything has happened.
    pub fn set_registers(&mut self, seat: RegistersSeat) {
        self.registers_block = InLoop::new(seat);
    }

    /// Reads a CSR as the block in the registers' place says, if there is one.
    pub fn read_csr(&mut self, csr: u16, now: Cycle) -> Option<u64> {
        let value = self.register(csr, now)?;
        if self.registers_block.get().is_none() {
            return Some(value);
        }
        let target = matches!(csr, 0x058 | 0x059).then(|| self.target(now));
        let seat = self.registers_block.get_mut()?;
        Some(seat.read(now, csr, value, target))
    }

    /// Gives its blocks.
    pub fn blocks(&self) -> impl Iterator<Item = &dyn Placed> {
        let scheduler = self.hardware.get().map(|seat| seat as &dyn Placed);
        let queues = self.queues_block.get().map(|seat| seat as &dyn Placed);
        let registers = self.registers_block.get().map(|seat| seat as &dyn Placed);
        scheduler.into_iter().chain(queues).chain(registers)
    }

    /// Gives the cycle that its blocks are in, and whether none raises the line of itself; none without blocks.
    pub fn hardware_cycle(&self) -> Option<(Cycle, bool)> {
        let scheduler = self.hardware.get().map(|seat| (seat.cycle(), seat.compares()));
        let queues = || self.queues_block.get().map(|seat| (seat.cycle(), true));
        let registers = || self.registers_block.get().map(|seat| (seat.cycle(), true));
        scheduler.or_else(queues).or_else(registers)
    }

    /// Reads a word of the running context in cycle `now` as its queue gives it, in whose place a block may stand.
    pub(super) fn take_word(&mut self, now: Cycle) -> Option<u64> {
        let context = self.context();
        let queue = self.queues.get_mut(usize::from(context))?;
        let Some(seat) = self.queues_block.get_mut() else { return queue.pop(now) };
        if seat.compares() {
            let word = queue.pop(now)?;
            seat.follow(now, context, word);
            return Some(word);
        }
        let word = seat.read(now, context)?;
        match queue.pop(now) {
            Some(_) => seat.follow(now, context, word),
            None => seat.refuse(word),
        }
        Some(word)
    }

    /// Tells the queues' block that words of a context are thrown away unread.
    pub(super) fn throw_away(&mut self, context: u16, words: u64) {
        if let Some(seat) = self.queues_block.get_mut() {
            seat.forget(context, words);
        }
    }

    /// Gives the thread scheduler's block, if it has one.
    pub fn hardware(&self) -> Option<&SchedulerSeat> {
        self.hardware.get()
    }

    /// Tells the block what the program did in cycle `at`.
    #[inline]
    pub(super) fn did(&mut self, at: Cycle, did: Did) {
        if let Some(seat) = self.hardware.get_mut() {
            seat.hear(at, did);
        }
        if let Some(seat) = self.registers_block.get_mut() {
            seat.did(at, did);
        }
    }

    /// Gives the context that should run, as a read that retires in `now` sees it, and its priority.
    pub(super) fn target(&mut self, now: Cycle) -> (u16, u8) {
        if let Some(seat) = self.hardware.in_place_mut() {
            let (target, priority) = seat.target(now);
            return (target.unwrap_or(NO_CONTEXT), priority);
        }
        self.scheduler.settle(now, &self.queues);
        self.scheduler.target(now, &self.queues)
    }

    /// Lets the block take the cycles before `to`, of which everything is known.
    pub fn clock_hardware(&mut self, to: Cycle) {
        if let Some(seat) = self.queues_block.get_mut() {
            seat.clock(to);
        }
        if let Some(seat) = self.registers_block.get_mut() {
            seat.clock(to);
        }
        let Some(seat) = self.hardware.get_mut() else { return };
        if seat.compares() {
            self.scheduler.settle(to, &self.queues);
            while let Some(told) = self.scheduler.next_told(to) {
                seat.follow(told);
            }
        }
        seat.clock(to);
    }

    /// Gives the first cycle from `from` to `to` in which the line is up. A block knows nothing of what lies
    /// ahead of `known`: with one, the next cycle in which the line may be up stands for the end of time.
    pub fn pulse(&mut self, from: Cycle, to: Cycle, known: Cycle) -> Option<Cycle> {
        match self.hardware.in_place_mut() {
            None => self.interrupt(from..to.saturating_add(1)),
            Some(seat) if to == Cycle::MAX => {
                Some(seat.was_up(from).unwrap_or(seat.cycle().max(from)))
            }
            Some(seat) => seat.up(from, to.min(known)),
        }
    }

    /// Tells the listener when a block in the scheduler's place raised the line; says whether there is one.
    pub(super) fn tell_rises(&mut self, listener: &mut impl Listener) -> bool {
        let (hart, running) = (self.hart, self.context());
        let Some(seat) = self.hardware.in_place_mut() else { return false };
        while let Some((at, target)) = seat.next_rise() {
            let target = target.unwrap_or(NO_CONTEXT);
            listener.event(at, Event::ThreadInterrupt { hart, running, target });
        }
        true
    }
}
