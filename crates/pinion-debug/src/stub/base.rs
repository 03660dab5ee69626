//! Registers, memory and threads, as gdb asks for them. Writing is refused.

use gdbstub::common::Tid;
use gdbstub::target::ext::base::multithread::{MultiThreadBase, MultiThreadResumeOps};
use gdbstub::target::ext::base::single_register_access::{
    SingleRegisterAccess, SingleRegisterAccessOps,
};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{TargetError, TargetResult};
use gdbstub_arch::riscv::reg::RiscvCoreRegs;
use gdbstub_arch::riscv::reg::id::RiscvRegId;
use pinion_app::error::Error;

use super::{Debugged, hart, tid};
use crate::view::CSRS;

impl MultiThreadBase for Debugged<'_> {
    fn read_registers(
        &mut self,
        registers: &mut RiscvCoreRegs<u32>,
        tid: Tid,
    ) -> TargetResult<(), Self> {
        registers.x = self.timeline.registers(hart(tid));
        registers.pc = self.timeline.pc(hart(tid));
        Ok(())
    }

    fn write_registers(&mut self, _: &RiscvCoreRegs<u32>, _: Tid) -> TargetResult<(), Self> {
        Err(TargetError::NonFatal)
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, Tid, Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, address: u32, data: &mut [u8], tid: Tid) -> TargetResult<usize, Self> {
        match self.timeline.read(hart(tid), address, data) {
            0 => Err(TargetError::NonFatal),
            count => Ok(count),
        }
    }

    fn write_addrs(&mut self, _: u32, _: &[u8], _: Tid) -> TargetResult<(), Self> {
        Err(TargetError::NonFatal)
    }

    fn list_active_threads(&mut self, is_active: &mut dyn FnMut(Tid)) -> Result<(), Error> {
        (0..self.timeline.harts()).for_each(|hart| is_active(tid(hart)));
        Ok(())
    }

    fn is_thread_alive(&mut self, tid: Tid) -> Result<bool, Error> {
        Ok(tid.get() <= self.timeline.harts() as usize)
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl SingleRegisterAccess<Tid> for Debugged<'_> {
    fn read_register(
        &mut self,
        tid: Tid,
        register: RiscvRegId<u32>,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let hart = hart(tid);
        let value = match register {
            RiscvRegId::Gpr(number) => {
                self.timeline.registers(hart).get(usize::from(number)).copied()
            }
            RiscvRegId::Pc => Some(self.timeline.pc(hart)),
            RiscvRegId::Csr(number) if CSRS.iter().any(|(_, known)| *known == number) => {
                // Nothing: the register is there, but what it has cannot be told.
                let Some(value) = self.timeline.csr(hart, number) else { return Ok(0) };
                Some(value)
            }
            RiscvRegId::Priv => {
                let Some(privilege) = self.timeline.privilege(hart) else { return Ok(0) };
                buffer[0] = privilege;
                return Ok(1);
            }
            _ => None,
        };
        let bytes = value.ok_or(TargetError::NonFatal)?.to_le_bytes();
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn write_register(&mut self, _: Tid, _: RiscvRegId<u32>, _: &[u8]) -> TargetResult<(), Self> {
        Err(TargetError::NonFatal)
    }
}

impl ThreadExtraInfo for Debugged<'_> {
    fn thread_extra_info(&self, tid: Tid, buffer: &mut [u8]) -> Result<usize, Error> {
        let text = self.describe(hart(tid));
        let count = text.len().min(buffer.len());
        buffer[..count].copy_from_slice(&text.as_bytes()[..count]);
        Ok(count)
    }
}
