//! Registers, memory and threads, as gdb asks for them. Writing is refused.

use gdbstub::common::Tid;
use gdbstub::target::ext::base::multithread::{MultiThreadBase, MultiThreadResumeOps};
use gdbstub::target::ext::base::single_register_access::{
    SingleRegisterAccess, SingleRegisterAccessOps,
};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{TargetError, TargetResult};
use pinion_app::error::Error;

use super::arch::{Bank, NETWORK, Register};
use super::{Debugged, tid};
use crate::terms::Width;

impl<const BYTES: usize> MultiThreadBase for Debugged<BYTES> {
    fn read_registers(&mut self, registers: &mut Bank<BYTES>, tid: Tid) -> TargetResult<(), Self> {
        *registers = self.bank(self.hart(tid).ok_or(TargetError::NonFatal)?);
        Ok(())
    }

    fn write_registers(&mut self, _: &Bank<BYTES>, _: Tid) -> TargetResult<(), Self> {
        Err(TargetError::NonFatal)
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, Tid, Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, address: u64, data: &mut [u8], tid: Tid) -> TargetResult<usize, Self> {
        let hart = self.hart(tid).ok_or(TargetError::NonFatal)?;
        match self.console.timeline.read(hart, address, data) {
            0 => Err(TargetError::NonFatal),
            count => Ok(count),
        }
    }

    fn write_addrs(&mut self, _: u64, _: &[u8], _: Tid) -> TargetResult<(), Self> {
        Err(TargetError::NonFatal)
    }

    fn list_active_threads(&mut self, is_active: &mut dyn FnMut(Tid)) -> Result<(), Error> {
        (0..self.console.timeline.harts()).for_each(|hart| is_active(tid(hart)));
        Ok(())
    }

    fn is_thread_alive(&mut self, tid: Tid) -> Result<bool, Error> {
        Ok(self.hart(tid).is_some())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl<const BYTES: usize> Debugged<BYTES> {
    /// Gives a hart's integer registers and program counter.
    fn bank(&self, hart: u32) -> Bank<BYTES> {
        let registers = self.console.timeline.registers(hart);
        let mut bank = Bank { pc: self.console.timeline.pc(hart), ..Bank::default() };
        bank.x.iter_mut().zip(registers).for_each(|(x, value)| *x = Some(value));
        if self.console.timeline.machine().width() == Width::Rv64 {
            // Looking takes no word out of the queue, and what was written has left.
            let [head, sent] = NETWORK;
            (bank.x[head], bank.x[sent]) = (self.console.timeline.head_word(hart), None);
        }
        bank
    }

    /// Gives a register's value; `Some(None)`: the register is there, but what it has cannot be told.
    fn value(&self, hart: u32, register: Register<BYTES>) -> Option<Option<u64>> {
        match register {
            Register::Integer(number) => Some(self.bank(hart).x[number]),
            Register::Float(number) => {
                let has_it = self.console.timeline.machine().width() == Width::Rv64;
                has_it.then(|| self.console.timeline.float(hart, number))
            }
            Register::Pc => Some(Some(self.console.timeline.pc(hart))),
            Register::Csr(number) => {
                let mut known = self.console.timeline.machine().csrs().iter();
                let is_known = known.any(|(_, known)| *known == number);
                is_known.then(|| self.console.timeline.csr(hart, number))
            }
            Register::Privilege => Some(self.console.timeline.privilege(hart).map(u64::from)),
        }
    }
}

impl<const BYTES: usize> SingleRegisterAccess<Tid> for Debugged<BYTES> {
    fn read_register(
        &mut self,
        tid: Tid,
        register: Register<BYTES>,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let hart = self.hart(tid).ok_or(TargetError::NonFatal)?;
        let value = self.value(hart, register).ok_or(TargetError::NonFatal)?;
        // Nothing: the register is there, but what it has cannot be told.
        let Some(value) = value else { return Ok(0) };
        let bytes = value.to_le_bytes();
        // The buffer is as long as the register.
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn write_register(&mut self, _: Tid, _: Register<BYTES>, _: &[u8]) -> TargetResult<(), Self> {
        Err(TargetError::NonFatal)
    }
}

impl<const BYTES: usize> ThreadExtraInfo for Debugged<BYTES> {
    fn thread_extra_info(&self, tid: Tid, buffer: &mut [u8]) -> Result<usize, Error> {
        let hart = self.hart(tid);
        let text = hart.map_or_else(String::new, |hart| self.console.timeline.describe(hart));
        let count = text.len().min(buffer.len());
        buffer[..count].copy_from_slice(&text.as_bytes()[..count]);
        Ok(count)
    }
}
