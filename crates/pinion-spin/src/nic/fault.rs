//! Faults: what a handler did wrong comes in from whoever noticed; listeners hear of it with the
//! scene. Registers are kept when a core traps, for the trap handler reports later and needs some
//! of them itself.

use super::Nic;
use crate::listener::{Event, Fault, Listener};
use crate::scene::{Refused, Registers, Scene};

/// Holds a core's registers as its last trap found them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trapped {
    registers: [u32; 32],
    pc: u32,
}

/// Bytes of the longest instruction.
const INSTRUCTION_BYTES: u32 = 4;

impl Nic {
    /// Keeps a core's registers: it traps.
    #[cold]
    pub(super) fn keep_registers(&mut self, id: usize) {
        let hart = &self.cores[id].hart;
        let trapped = Trapped { registers: hart.x, pc: hart.pc };
        if self.trapped.len() <= id {
            self.trapped.resize(self.cores.len(), Trapped::default());
        }
        self.trapped[id] = trapped;
    }

    /// Reports the exception that a core's trap handler tells of.
    pub(super) fn report_exception(
        &mut self,
        now: u64,
        id: usize,
        cause: u32,
        listener: &mut dyn Listener,
    ) {
        let csr = &self.cores[id].hart.csr;
        let (mepc, mtval, mcause) = (csr.mepc, csr.mtval, csr.mcause);
        let fault = Fault::Exception { cause };
        if mcause == cause
            && let Some(trapped) = self.trapped.get(id).filter(|trapped| trapped.pc == mepc)
        {
            let registers = trapped.registers;
            return self.tell_fault(now, id, fault, (mepc, mtval), (registers, None), listener);
        }
        // Software noticed it, as the loop that calls handlers does with stacks: no trap says where.
        let handler = self.drivers[id].running.map_or(mepc, |running| running.task.handler);
        self.report_fault(now, id, fault, (handler, 0), listener);
    }

    /// Reports a fault of the running handler of a core.
    pub(super) fn report_fault(
        &mut self,
        now: u64,
        core: usize,
        fault: Fault,
        place: (u32, u32),
        listener: &mut dyn Listener,
    ) {
        let registers = self.cores[core].hart.x;
        self.tell_fault(now, core, fault, place, (registers, None), listener);
    }

    /// Reports that a command of the running handler of a core was refused.
    pub(super) fn report_refusal(
        &mut self,
        now: u64,
        core: usize,
        what: &'static str,
        refused: Refused,
        listener: &mut dyn Listener,
    ) {
        let hart = &self.cores[core].hart;
        let (registers, place) = (hart.x, (hart.pc, refused.nic_address));
        let fault = Fault::BadCommand { what };
        self.tell_fault(now, core, fault, place, (registers, Some(refused)), listener);
    }

    fn tell_fault(
        &mut self,
        now: u64,
        core: usize,
        fault: Fault,
        (pc, address): (u32, u32),
        (registers, refused): ([u32; 32], Option<Refused>),
        listener: &mut dyn Listener,
    ) {
        let Some(running) = self.drivers[core].running.as_mut() else { return };
        running.failed = true;
        let task = running.task;
        self.totals.faults += 1;
        let time = self.time(now);
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        let packet = &self.packets[task.packet];
        let record = &packet.record;
        let l1 = &self.machine.l1;
        let stack = self.cores[core].l1_base + l1.reserved_bytes + hpu * l1.stack_bytes;
        let bytes = |address, bytes| self.memories.read(address, bytes).unwrap_or(&[]);
        let instruction = match bytes(pc, INSTRUCTION_BYTES) {
            [] => bytes(pc, INSTRUCTION_BYTES / 2),
            whole => whole,
        };
        let scene = Scene {
            kind: task.kind,
            handler: task.handler,
            registers: Registers::Rv32(registers),
            instruction,
            stack: (stack, bytes(stack, l1.stack_bytes)),
            packet: bytes(packet.address, record.bytes),
            l1_packet: (task.l1_address, packet.l1_bytes),
            refused,
            trail: &[],
        };
        listener.hear(&Event::HandlerFault {
            time,
            context: record.context,
            message: record.message,
            packet: record.packet,
            cluster,
            hpu,
            fault,
            pc,
            address,
            scene: &scene,
        });
    }
}
