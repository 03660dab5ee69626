//! Breakpoints and watchpoints, as gdb sets them. None of them is put into memory.

use gdbstub::target::TargetResult;
use gdbstub::target::ext::breakpoints::{
    Breakpoints, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps, SwBreakpoint,
    SwBreakpointOps, WatchKind,
};

use super::Debugged;
use crate::conditions::{Access, Watchpoint};

/// Watchpoints there may be.
const WATCHPOINTS: usize = 64;
/// Bytes that one may watch: they are compared cycle by cycle.
const WATCHED_BYTES: u64 = 1 << 16;

impl<const BYTES: usize> Breakpoints for Debugged<BYTES> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl<const BYTES: usize> Debugged<BYTES> {
    fn add_breakpoint(&mut self, address: u64) {
        self.console.timeline.conditions.breakpoints.push(address);
    }

    fn remove_breakpoint(&mut self, address: u64) -> bool {
        let breakpoints = &mut self.console.timeline.conditions.breakpoints;
        let found = breakpoints.iter().position(|known| *known == address);
        found.map(|index| breakpoints.swap_remove(index)).is_some()
    }

    /// Describes a watchpoint; one that is larger than memory watches as much as there can be.
    fn watchpoint(&self, given: u64, bytes: u64, kind: WatchKind) -> Watchpoint {
        let access = access(kind);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Watchpoint { given, bytes, access, places: self.console.timeline.machine().places(given) }
    }
}

/// Names accesses as we do.
fn access(kind: WatchKind) -> Access {
    match kind {
        WatchKind::Write => Access::Write,
        WatchKind::Read => Access::Read,
        WatchKind::ReadWrite => Access::Any,
    }
}

impl<const BYTES: usize> SwBreakpoint for Debugged<BYTES> {
    fn add_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.add_breakpoint(address);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.remove_breakpoint(address))
    }
}

impl<const BYTES: usize> HwBreakpoint for Debugged<BYTES> {
    fn add_hw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.add_breakpoint(address);
        Ok(true)
    }

    fn remove_hw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.remove_breakpoint(address))
    }
}

impl<const BYTES: usize> HwWatchpoint for Debugged<BYTES> {
    fn add_hw_watchpoint(
        &mut self,
        address: u64,
        bytes: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watchpoint = self.watchpoint(address, bytes, kind);
        let watchpoints = &mut self.console.timeline.conditions.watchpoints;
        let has_room = watchpoints.len() < WATCHPOINTS && bytes <= WATCHED_BYTES;
        if has_room {
            watchpoints.push(watchpoint);
        }
        Ok(has_room)
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u64,
        bytes: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watchpoint = self.watchpoint(address, bytes, kind);
        let watchpoints = &mut self.console.timeline.conditions.watchpoints;
        let found = watchpoints.iter().position(|known| *known == watchpoint);
        Ok(found.map(|index| watchpoints.swap_remove(index)).is_some())
    }
}
