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

impl Breakpoints for Debugged<'_> {
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

impl Debugged<'_> {
    fn add_breakpoint(&mut self, address: u32) {
        self.timeline.conditions.breakpoints.push(address);
    }

    fn remove_breakpoint(&mut self, address: u32) -> bool {
        let breakpoints = &mut self.timeline.conditions.breakpoints;
        let found = breakpoints.iter().position(|known| *known == address);
        found.map(|index| breakpoints.swap_remove(index)).is_some()
    }

    fn watchpoint(&self, given: u32, bytes: u32, kind: WatchKind) -> Watchpoint {
        let access = access(kind);
        Watchpoint { given, bytes, access, places: self.timeline.places(given) }
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

impl SwBreakpoint for Debugged<'_> {
    fn add_sw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        self.add_breakpoint(address);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        Ok(self.remove_breakpoint(address))
    }
}

impl HwBreakpoint for Debugged<'_> {
    fn add_hw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        self.add_breakpoint(address);
        Ok(true)
    }

    fn remove_hw_breakpoint(&mut self, address: u32, _: usize) -> TargetResult<bool, Self> {
        Ok(self.remove_breakpoint(address))
    }
}

impl HwWatchpoint for Debugged<'_> {
    fn add_hw_watchpoint(
        &mut self,
        address: u32,
        bytes: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watchpoint = self.watchpoint(address, bytes, kind);
        let watchpoints = &mut self.timeline.conditions.watchpoints;
        let has_room = watchpoints.len() < WATCHPOINTS;
        if has_room {
            watchpoints.push(watchpoint);
        }
        Ok(has_room)
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u32,
        bytes: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watchpoint = self.watchpoint(address, bytes, kind);
        let watchpoints = &mut self.timeline.conditions.watchpoints;
        let found = watchpoints.iter().position(|known| *known == watchpoint);
        Ok(found.map(|index| watchpoints.swap_remove(index)).is_some())
    }
}
