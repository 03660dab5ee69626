//! Blocks of hardware beside the HPUs' drivers. In: what the model's drivers do. Out: what blocks see of it, and
//! when a driver takes or gives something that in a block is there only from the next cycle on.

use pinion_isa::Access;

use super::register;
use crate::cluster::Clusters;
use crate::cluster::hpu::Waiting;
use crate::cluster::pe_interconnect::{DRIVER, Performed};
use crate::hardware::DriverSeat;
use crate::hardware::hpu_driver::{Answer, Held, Register, TASK_REGISTERS};
use crate::listener::Listener;
use crate::memory::Place;
use crate::shared::Shared;
use crate::task::Task;

/// Gives the register that an access goes to as a block sees it: the task's half looks at whole addresses, the
/// commands' half at words. Of the wide task it knows nothing.
fn register_of(access: &Access<u32>, offset: u32) -> Option<Register> {
    let offset = offset % register::SPAN;
    let is_seen = match offset {
        ..register::ISSUE => offset.is_multiple_of(4),
        offset => offset < register::WIDE_TASK,
    };
    let written = access.kind.writes().then_some(access.data);
    is_seen.then_some(Register { offset: offset & !3, written })
}

impl Clusters {
    /// Accesses a register of a core's driver, and shows it to the block beside that.
    pub fn access_beside(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let issued = self.drivers[id].queue.len();
        let performed = self.access_register(shared, id, access, offset, now, listener);
        let Some(seen) = register_of(access, offset) else { return performed };
        let issues = seen.offset == register::ISSUE && seen.written.is_none();
        let answer = match performed {
            // Commands that are refused, or nobody's, do not come to the block.
            Performed::Done { .. } if issues && self.drivers[id].queue.len() == issued => {
                return performed;
            }
            Performed::Done { value, next } if next > now + 1 => Answer::Next(value),
            Performed::Done { value, .. } => Answer::Done(value),
            Performed::Wait(_) => Answer::Waits,
            Performed::Fault(_) if issues => Answer::Refused,
            Performed::Fault(_) => return performed,
        };
        let (running, deadline) = (self.drivers[id].running, self.drivers[id].deadline);
        let Some(seat) = shared.hardware.driver(id) else { return performed };
        seat.access(seen, answer);
        let is_done = matches!(performed, Performed::Done { .. });
        if is_done && seen.written.is_none() && seen.offset == register::HANDLER {
            let started = running.and_then(|running| running.started).unwrap_or(now);
            let has_limit = shared.machine.protection.watchdog;
            seat.limit(if has_limit { deadline.saturating_sub(started) } else { 0 });
        }
        if seen.offset == register::ERROR
            && let Some(cause) = seen.written
        {
            seat.error(cause);
        }
        performed
    }

    /// Shows the block beside a core's driver the task that it is given.
    pub fn show_task(&self, shared: &mut Shared, core: usize, task: &Task) {
        let Some(seat) = shared.hardware.driver(core) else { return };
        let mut registers = [0; TASK_REGISTERS];
        registers.copy_from_slice(&self.drivers[core].registers[..TASK_REGISTERS]);
        registers[0] = task.handler;
        seat.give(task.packet, &registers);
    }

    /// Says whether the block beside a core's driver had a completion when the cycle began: its place is free
    /// from the next one on.
    #[inline]
    pub fn had_completion(&self, shared: &mut Shared, core: usize) -> bool {
        shared.hardware.driver(core).is_some_and(|seat| seat.has_completion())
    }

    /// Says whether a command's place was taken there when the cycle began.
    pub fn was_busy(&self, shared: &mut Shared, core: usize, id: u32) -> bool {
        let place = id as usize % self.drivers[core].slots.len().next_power_of_two();
        shared.hardware.driver(core).is_some_and(|seat| seat.was_busy(place))
    }

    /// Finds a free place for a core's command.
    #[inline]
    pub fn free_slot(&self, shared: &mut Shared, core: usize) -> Option<u32> {
        let seat = shared.hardware.driver(core);
        let was_busy = |place| seat.as_ref().is_some_and(|seat| seat.was_busy(place));
        let slots = &self.drivers[core].slots;
        (0..slots.len()).find(|&place| !slots[place].busy && !was_busy(place)).map(|id| id as u32)
    }

    /// Says whether the model's driver has a place for a command: who waits nevertheless waits for the block's.
    pub fn goes_on(&self, core: usize) -> bool {
        let driver = &self.drivers[core];
        driver.completion.is_none() && driver.slots.iter().any(|slot| !slot.busy)
    }

    /// Begins a cycle of the blocks beside the drivers.
    pub fn begin_drivers(&self, seats: &mut [DriverSeat], cycle: u64) {
        for (core, (seat, driver)) in seats.iter_mut().zip(&self.drivers).enumerate() {
            let busy =
                driver.slots.iter().rev().fold(0, |all, slot| all << 1 | u64::from(slot.busy));
            let completion = driver.completion.filter(|_| driver.can_complete(cycle));
            seat.begin(Held {
                is_idle: self.is_idle(core, cycle),
                completion: driver.completion.is_some(),
                leaves: completion.map(|task| task.packet),
                has_command: !driver.queue.is_empty(),
                busy,
                transfers: driver.dma.launched != driver.dma.done,
            });
        }
    }

    /// Shows new blocks the accesses with which cores wait.
    pub fn show_waiting(&self, shared: &mut Shared) {
        for (id, core) in self.cores.iter().enumerate() {
            let waits = matches!(
                core.waiting,
                Waiting::Task | Waiting::Completion | Waiting::Issue | Waiting::Command(_)
            );
            let Some(access) = core.pending.as_ref().filter(|_| waits) else { continue };
            let place = shared.memories.place(access.address, core.cluster);
            let Some(Place::Peripheral(offset)) = place else { continue };
            let register = offset.checked_sub(DRIVER).and_then(|at| register_of(access, at));
            if let (Some(seat), Some(register)) = (shared.hardware.driver(id), register) {
                seat.waits(register);
            }
        }
    }

    /// Describes what a core's driver holds.
    pub fn describe_driver(&self, core: usize) -> String {
        let driver = &self.drivers[core];
        let task = match driver.running {
            Some(running) if running.started.is_some() => "runs a task",
            Some(_) => "has a task",
            None => "has no task",
        };
        format!(
            "the core {task} and waits for {:?}; completion: {:?}, commands under way: {}, to leave: {:?}, \
             transfers: {}",
            self.cores[core].waiting,
            driver.completion.map(|task| task.packet),
            driver.commands_pending(),
            driver.queue,
            driver.dma.launched - driver.dma.done,
        )
    }
}
