//! The thread scheduler's block beside a hart's interface: what it is told, when, and what it says.

use super::HartInterface;
use super::thread_scheduler::NO_CONTEXT;
use crate::Cycle;
use crate::event::{Event, Listener};
use crate::hardware::{Did, InLoop, Placed as _, SchedulerSeat};

impl HartInterface {
    /// Puts a block into the thread scheduler's place, or beside it, before anything has happened.
    pub fn set_hardware(&mut self, seat: SchedulerSeat) {
        if seat.compares() {
            self.scheduler.tell();
        }
        self.hardware = InLoop::new(seat);
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
