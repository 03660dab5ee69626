//! Between two tasks a core belongs to nobody. In: a core that asks for its next task, or says that it is done
//! with one. Out: whether it may, and a core as the runtime left it when it asked for the first time.
//!
//! The runtime's loop runs in user mode, in the handler's own registers and on its stack (RTL hpu_driver does
//! not tell them apart). So a handler could take the next task itself, ring for a task that is not its own, or
//! leave registers and arguments behind that the next tenant's handler works with. Where commands are checked
//! (`protection.check_commands`) the driver keeps tasks apart, which the paper promises (§III-B2) and the RTL
//! does not do: a task is taken where the runtime takes it and nowhere else, each begins with the registers and
//! the arguments of the first, and what has no task has no packet, no doorbell and no commands.

use pinion_isa::Privilege;

use crate::cluster::Clusters;
use crate::cluster::hpu::Waiting;
use crate::shared::Shared;

/// Bytes of what the runtime gives handlers, on top of the HPU's stack (`handler_args_t`).
const ARGUMENT_BYTES: u32 = 16;
const STACK_POINTER: usize = 2;
/// Who is so near is about to ask.
const NEAR_BYTES: u32 = 64;

/// Where the runtime asks for tasks, and what it has there.
#[derive(Clone, Debug)]
pub struct Door {
    pc: u32,
    registers: [u32; 32],
    arguments: Option<[u8; ARGUMENT_BYTES as usize]>,
}

impl Clusters {
    /// Tells whether a core that asks for a task may: the first who asks is the runtime.
    pub fn is_at_door(&mut self, shared: &Shared, id: usize) -> bool {
        if !shared.machine.protection.check_commands {
            return true;
        }
        let hart = &self.cores[id].model.hart;
        if let Some(door) = &self.drivers[id].door {
            return door.pc == hart.pc;
        }
        let arguments = shared.memories.read(hart.x[STACK_POINTER], ARGUMENT_BYTES);
        let arguments = arguments.and_then(|bytes| bytes.try_into().ok());
        self.drivers[id].door = Some(Door { pc: hart.pc, registers: hart.x, arguments });
        true
    }

    /// Gives a core that takes a task what it had when it asked for the first one.
    #[inline]
    pub fn come_in(&mut self, shared: &mut Shared, id: usize) {
        let Some(door) = &self.drivers[id].door else { return };
        let hart = &mut self.cores[id].model.hart;
        hart.x = door.registers;
        hart.end_hardware_loops();
        if let Some(arguments) = &door.arguments {
            // It was memory, and still is.
            let _ = shared.memories.write(door.registers[STACK_POINTER], arguments);
        }
    }

    /// Tells whether a core does something in the name of a task that it has not taken.
    #[inline]
    pub fn has_no_task(&self, shared: &Shared, id: usize) -> bool {
        let running = self.drivers[id].running;
        shared.machine.protection.check_commands
            && running.is_none_or(|running| running.started.is_none())
    }

    /// Calls a core back that has ended its task and does not come for the next: by the watchdog's
    /// interrupt, as a handler that has one.
    pub fn call_back(&mut self, shared: &mut Shared, now: u64, id: usize) {
        let Some(door) = self.drivers[id].door.as_ref().map(|door| door.pc) else { return };
        let core = &self.cores[id];
        let is_near = core.model.hart.pc.abs_diff(door) < NEAR_BYTES;
        let rests = matches!(core.waiting, Waiting::Task | Waiting::Ever);
        if rests {
            return;
        }
        if is_near || core.model.hart.privilege != Privilege::User {
            // It is on its way; if it only seems so, there is a next time.
            let again = now.saturating_add(shared.machine.protection.watchdog_cycles);
            return self.arm_watchdog(shared, id, again);
        }
        self.stop_core(shared, now, id);
        if let Some(seat) = shared.hardware.driver(id) {
            seat.withdraw();
        }
        self.interrupt(shared, now, id);
    }
}
