//! Faults: what a handler did wrong comes in from whoever noticed; listeners hear of it with the
//! scene. Registers are kept when a core traps, for the trap handler reports later and needs some
//! of them itself.

use crate::cluster::Clusters;
use crate::listener::{Event, Fault, Listener};
use crate::scene::{Refused, Registers, Scene};
use crate::shared::Shared;

/// Holds a core's registers as its last trap found them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trapped {
    registers: [u32; 32],
    pc: u32,
}

/// Says where a handler went wrong and with what in its registers.
#[derive(Clone, Copy, Debug)]
struct Found {
    pc: u32,
    address: u32,
    registers: [u32; 32],
    refused: Option<Refused>,
}

/// Bytes of the longest instruction.
const INSTRUCTION_BYTES: u32 = 4;

impl Clusters {
    /// Keeps a core's registers: it traps.
    #[cold]
    pub fn keep_registers(&mut self, id: usize) {
        let hart = &self.cores[id].model.hart;
        let trapped = Trapped { registers: hart.x, pc: hart.pc };
        if self.trapped.len() <= id {
            self.trapped.resize(self.cores.len(), Trapped::default());
        }
        self.trapped[id] = trapped;
    }

    /// Reports the exception that a core's trap handler tells of.
    pub fn report_exception(
        &mut self,
        shared: &mut Shared,
        now: u64,
        id: usize,
        cause: u32,
        listener: &mut dyn Listener,
    ) {
        let csr = &self.cores[id].model.hart.csr;
        let (mepc, mtval, mcause) = (csr.mepc, csr.mtval, csr.mcause);
        let fault = Fault::Exception { cause };
        if mcause == cause
            && let Some(trapped) = self.trapped.get(id).filter(|trapped| trapped.pc == mepc)
        {
            let registers = trapped.registers;
            let at = Found { pc: mepc, address: mtval, registers, refused: None };
            return self.tell_fault(shared, now, id, fault, at, listener);
        }
        // Software noticed it, as the loop that calls handlers does with stacks: no trap says where.
        let handler = self.drivers[id].running.map_or(mepc, |running| running.task.handler);
        self.report_fault(shared, now, id, fault, (handler, 0), listener);
    }

    /// Reports a fault of the running handler of a core.
    pub fn report_fault(
        &mut self,
        shared: &mut Shared,
        now: u64,
        core: usize,
        fault: Fault,
        (pc, address): (u32, u32),
        listener: &mut dyn Listener,
    ) {
        let registers = self.cores[core].model.hart.x;
        let at = Found { pc, address, registers, refused: None };
        self.tell_fault(shared, now, core, fault, at, listener);
    }

    /// Reports that a command of the running handler of a core was refused.
    pub fn report_refusal(
        &mut self,
        shared: &mut Shared,
        now: u64,
        core: usize,
        what: &'static str,
        refused: Refused,
        listener: &mut dyn Listener,
    ) {
        let hart = &self.cores[core].model.hart;
        let address = refused.nic_address;
        let at = Found { pc: hart.pc, address, registers: hart.x, refused: Some(refused) };
        let fault = Fault::BadCommand { what };
        self.tell_fault(shared, now, core, fault, at, listener);
    }

    fn tell_fault(
        &mut self,
        shared: &mut Shared,
        now: u64,
        core: usize,
        fault: Fault,
        at: Found,
        listener: &mut dyn Listener,
    ) {
        if self.has_no_task(shared, core) {
            return; // the task that it has not taken is not to blame
        }
        let Found { pc, address, registers, refused } = at;
        let Some(running) = self.drivers[core].running.as_mut() else { return };
        running.failed = true;
        let task = running.task;
        shared.totals.faults += 1;
        let time = shared.time(now);
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        let packet = &shared.packets[task.packet];
        let record = &packet.record;
        let l1 = &shared.machine.l1;
        let stack = self.cores[core].l1_base + l1.reserved_bytes + hpu * l1.stack_bytes;
        let bytes = |address, bytes| shared.memories.read(address, bytes).unwrap_or(&[]);
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
