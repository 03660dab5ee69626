//! gdb's remote protocol on a run: what the crate `gdbstub` asks of a target.
//!
//! Harts are threads, numbered from 1. All of them stop together. Nothing can be written: a debugged
//! run is the run.
//!
//! | part | file |
//! |---|---|
//! | registers' numbers and bytes | `arch.rs` |
//! | registers and memory | `base.rs` |
//! | registers' names and numbers | `description.rs` |
//! | continue and step, forward and back | `resume.rs` |
//! | breakpoints and watchpoints | `breakpoints.rs` |
//! | `monitor` | `monitor.rs` |
//! | the connection | `wire.rs` |

mod arch;
mod base;
mod breakpoints;
mod description;
pub mod monitor;
mod resume;
pub mod wire;

use std::num::NonZeroUsize;

use gdbstub::common::{Signal, Tid};
use gdbstub::stub::MultiThreadStopReason;
use gdbstub::target::Target;
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::breakpoints::BreakpointsOps;
use gdbstub::target::ext::monitor_cmd::MonitorCmdOps;
use gdbstub::target::ext::target_description_xml_override::TargetDescriptionXmlOverrideOps;
use pinion_app::error::Error;

use crate::Arrival;
use crate::console::Console;
use arch::Riscv;
use resume::Order;

/// Why gdb is told that a run stopped.
pub type StopReason = MultiThreadStopReason<u64>;

/// A run as gdb sees it, with registers of so many bytes.
pub struct Debugged<const BYTES: usize> {
    /// The run.
    pub console: Console,
    /// What gdb orders next.
    order: Order,
    /// The breakpoint at which it stopped last, and the hart.
    stopped_at: Option<(u32, u64)>,
    /// The hart that gdb was told of when a unit wrote what is watched, until it goes on.
    spared: Option<u32>,
    /// What gdb is told beside the stop.
    said: String,
}

impl<const BYTES: usize> Debugged<BYTES> {
    /// Shows a run to gdb.
    pub fn new(console: Console) -> Self {
        let order = Order::default();
        Self { console, order, stopped_at: None, spared: None, said: String::new() }
    }

    /// Gives the hart of gdb's number, which may name none: gdb's library does not ask of each.
    fn hart(&self, tid: Tid) -> Option<u32> {
        let hart = u32::try_from(tid.get() - 1).ok()?;
        (hart < self.console.timeline.harts()).then_some(hart)
    }

    /// Takes what gdb is to be told beside the stop.
    pub fn take_said(&mut self) -> String {
        let printed = self.console.timeline.take_printed();
        printed + &std::mem::take(&mut self.said)
    }
}

/// Numbers a hart as gdb does.
fn tid(hart: u32) -> Tid {
    NonZeroUsize::MIN.saturating_add(hart as usize)
}

impl<const BYTES: usize> Target for Debugged<BYTES> {
    type Arch = Riscv<BYTES>;
    type Error = Error;

    fn base_ops(&mut self) -> BaseOps<'_, Riscv<BYTES>, Error> {
        BaseOps::MultiThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(
        &mut self,
    ) -> Option<TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }
}

impl<const BYTES: usize> Debugged<BYTES> {
    /// Turns an arrival into what gdb is told.
    pub fn report(&mut self, arrival: &Arrival) -> StopReason {
        resume::report(self, arrival)
    }

    /// Stops the run wherever it is.
    pub fn interrupt(&mut self, signal: Signal) -> StopReason {
        self.console.timeline.stop();
        self.console.forget_errand();
        StopReason::SignalWithThread { tid: tid(self.console.focus), signal }
    }
}
