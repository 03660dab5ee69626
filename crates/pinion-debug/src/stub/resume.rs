//! Continue and step, forward and back; and what gdb is told when the run has stopped.

use gdbstub::common::{Signal, Tid};
use gdbstub::target::ext::base::multithread::{
    MultiThreadRangeStepping, MultiThreadRangeSteppingOps, MultiThreadResume,
    MultiThreadSchedulerLocking, MultiThreadSchedulerLockingOps, MultiThreadSingleStep,
    MultiThreadSingleStepOps,
};
use gdbstub::target::ext::base::reverse_exec::{
    ReplayLogPosition, ReverseCont, ReverseContOps, ReverseStep, ReverseStepOps,
};
use gdbstub::target::ext::breakpoints::WatchKind;
use pinion_app::error::Error;
use pinion_spin::Fault;

use super::{Debugged, StopReason, tid};
use crate::conditions::Access;
use crate::hunt::Reason;
use crate::words::Wrong;
use crate::{Arrival, Goal};

/// What gdb orders: which thread steps, and whether others' stops count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    step: Option<(u32, (u64, u64))>,
    /// A thread that was named to go on.
    named: Option<u32>,
    is_locked: bool,
    /// Backwards: begun once it is known which thread gdb has named.
    back: Option<Back>,
}

/// What gdb orders backwards.
#[derive(Clone, Copy, Debug)]
enum Back {
    Step,
    Continue,
}

impl<const BYTES: usize> Debugged<BYTES> {
    /// Begins to go back, if that is the order; gdb has named a thread, or none.
    pub fn turn_back(&mut self, named: Option<usize>) {
        let named = named.and_then(Tid::new).and_then(|tid| self.hart(tid));
        let step = match self.order.back {
            None => return,
            Some(Back::Step) => Some((named.unwrap_or(self.console.focus), (0, 0))),
            Some(Back::Continue) => None,
        };
        let is_locked = named.is_some() || step.is_some();
        self.order = Order { step, named, is_locked, back: None };
        self.set_out(false);
    }

    /// Begins to go.
    fn set_out(&mut self, forward: bool) {
        let Order { step, named, is_locked, .. } = std::mem::take(&mut self.order);
        let (stopped_at, spared) = (self.stopped_at.take(), self.spared.take());
        // gdb steps past its own breakpoint before it goes on.
        if step.is_none() && self.console.run_errand() {
            return;
        }
        let stepping = step.map(|(hart, _)| hart);
        if stepping.is_some() && stepping == spared {
            // gdb has a hart perform the access at which it stopped; a unit has done it already.
            let here = self.console.timeline.position();
            self.console.timeline.begin(true, Goal::Position(here), None, None);
            return;
        }
        self.console.focus = stepping.or(named).unwrap_or(self.console.focus);
        let only = if is_locked { stepping.or(named) } else { None };
        // gdb takes the breakpoint out under a thread that it moves past it; others stop there.
        let breakpoints = &self.console.timeline.conditions.breakpoints;
        let past =
            stopped_at.filter(|(hart, pc)| stepping == Some(*hart) && !breakpoints.contains(pc));
        let goal = step.map_or(Goal::Condition, |(hart, range)| Goal::Step { hart, range });
        self.console.timeline.begin(forward, goal, only, past);
    }
}

impl<const BYTES: usize> MultiThreadResume for Debugged<BYTES> {
    fn resume(&mut self) -> Result<(), Error> {
        self.set_out(true);
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), Error> {
        self.order = Order::default();
        Ok(())
    }

    fn set_resume_action_continue(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Error> {
        self.order.named = self.hart(tid);
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_range_step(&mut self) -> Option<MultiThreadRangeSteppingOps<'_, Self>> {
        Some(self)
    }

    fn support_reverse_step(&mut self) -> Option<ReverseStepOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_reverse_cont(&mut self) -> Option<ReverseContOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }
}

impl<const BYTES: usize> MultiThreadSingleStep for Debugged<BYTES> {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Error> {
        self.set_resume_action_range_step(tid, 0, 0)
    }
}

impl<const BYTES: usize> MultiThreadRangeStepping for Debugged<BYTES> {
    fn set_resume_action_range_step(
        &mut self,
        tid: Tid,
        start: u64,
        end: u64,
    ) -> Result<(), Error> {
        // Of a thread that is not there: whoever is looked at steps, as going back does it.
        let hart = self.hart(tid).unwrap_or(self.console.focus);
        self.order.step = Some((hart, (start, end)));
        Ok(())
    }
}

impl<const BYTES: usize> MultiThreadSchedulerLocking for Debugged<BYTES> {
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), Error> {
        self.order.is_locked = true;
        Ok(())
    }
}

impl<const BYTES: usize> ReverseCont<Tid> for Debugged<BYTES> {
    fn reverse_cont(&mut self) -> Result<(), Error> {
        self.order = Order { back: Some(Back::Continue), ..Order::default() };
        Ok(())
    }
}

impl<const BYTES: usize> ReverseStep<Tid> for Debugged<BYTES> {
    fn reverse_step(&mut self, _: Tid) -> Result<(), Error> {
        self.order = Order { back: Some(Back::Step), ..Order::default() };
        Ok(())
    }
}

/// Turns an arrival into what gdb is told; what gdb has no words for is said beside it.
pub fn report<const BYTES: usize>(debugged: &mut Debugged<BYTES>, arrival: &Arrival) -> StopReason {
    debugged.said += &debugged.console.words_of(arrival);
    let focus = debugged.console.focus;
    let thread = tid(focus);
    let signal = |signal| StopReason::SignalWithThread { tid: thread, signal };
    match &arrival.reason {
        Reason::Stepped => signal(Signal::SIGTRAP),
        Reason::Breakpoint => {
            debugged.stopped_at = Some((focus, debugged.console.timeline.pc(focus)));
            StopReason::SwBreak(thread)
        }
        Reason::Watchpoint { address, access, by_unit } => {
            debugged.spared = by_unit.then_some(focus);
            StopReason::Watch { tid: thread, kind: kind(*access), addr: *address }
        }
        Reason::Entered(_)
        | Reason::Command(_)
        | Reason::Dropped(_)
        | Reason::HostChanged { .. } => signal(Signal::SIGINT),
        Reason::Fault(wrong) => signal(signal_of(wrong)),
        Reason::Begin | Reason::NoWayBack(_) => {
            StopReason::ReplayLog { tid: Some(thread), pos: ReplayLogPosition::Begin }
        }
        Reason::End => StopReason::ReplayLog { tid: Some(thread), pos: ReplayLogPosition::End },
    }
}

/// Names accesses as gdb does.
fn kind(access: Access) -> WatchKind {
    match access {
        Access::Write => WatchKind::Write,
        Access::Read => WatchKind::Read,
        Access::Any => WatchKind::ReadWrite,
    }
}

/// Gives the signal that a program on a computer would get.
fn signal_of(wrong: &Wrong) -> Signal {
    match wrong {
        Wrong::Exception { mcause, .. } | Wrong::Other(Fault::Exception { cause: mcause }) => {
            match mcause {
                2 => Signal::SIGILL,
                3 => Signal::SIGABRT,
                4 | 6 => Signal::SIGBUS,
                8 => Signal::SIGSYS,
                _ => Signal::SIGSEGV,
            }
        }
        Wrong::Other(Fault::Watchdog { .. }) => Signal::SIGXCPU,
        Wrong::Other(Fault::BadCommand { .. }) => Signal::SIGSYS,
        Wrong::Other(Fault::Released) => Signal::SIGTERM,
        Wrong::Other(Fault::HpuLost) => Signal::SIGSEGV,
    }
}
