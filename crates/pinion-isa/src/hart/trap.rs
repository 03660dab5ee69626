//! Traps: exceptions, interrupts, and the way back.

use super::csr_access::illegal;
use super::{Hart, Outcome};
use crate::csr::mstatus::{MIE, MPIE, MPP, MPP_SHIFT, MPRV, TW};
use crate::{Cause, Exception, Instruction, Privilege, Xlen};

impl<X: Xlen> Hart<X> {
    /// Enters the trap handler: saves where and why in `mepc`, `mcause`, `mtval` and `mstatus`,
    /// then goes to `mtvec` in machine mode.
    ///
    /// The instruction at the program counter does not retire. The caller ends a reservation if
    /// its core does so.
    pub fn take_trap(&mut self, exception: Exception<X>) {
        let c = &mut self.csr;
        c.mepc = self.pc;
        c.mcause = exception.cause.mcause();
        c.mtval = exception.value;
        let enabled = if c.mstatus & MIE != 0 { MPIE } else { 0 };
        c.mstatus =
            c.mstatus & !(MIE | MPIE | MPP) | enabled | (self.privilege as u32) << MPP_SHIFT;
        self.privilege = Privilege::Machine;
        let vectored = c.mtvec & X::from_u32(3) == X::ONE && exception.cause.is_interrupt();
        let offset = if vectored { 4 * u32::from(exception.cause.code()) } else { 0 };
        self.pc = (c.mtvec & !X::from_u32(3)).plus(X::from_u32(offset));
    }

    /// Gives the interrupt to take before the next instruction, if one is pending and enabled.
    #[inline]
    pub fn pending_interrupt(&self) -> Option<Exception<X>> {
        let pending = self.csr.mip & self.csr.mie;
        if pending == 0 {
            return None;
        }
        let enabled = self.privilege == Privilege::User || self.csr.mstatus & MIE != 0;
        let cause = match pending {
            _ if !enabled => return None,
            _ if pending & 1 << 11 != 0 => Cause::MachineExternalInterrupt,
            _ if pending & 1 << 3 != 0 => Cause::MachineSoftwareInterrupt,
            _ => Cause::MachineTimerInterrupt,
        };
        Some(Exception::new(cause, X::ZERO))
    }

    pub(super) fn return_from_trap(&mut self, _: &Instruction) -> Outcome<X> {
        if self.privilege != Privilege::Machine {
            return illegal(0x3020_0073);
        }
        let c = &mut self.csr;
        let previous = if c.mstatus & MPP == MPP { Privilege::Machine } else { Privilege::User };
        let enabled = if c.mstatus & MPIE != 0 { MIE } else { 0 };
        c.mstatus = c.mstatus & !MIE | enabled | MPIE;
        if previous == Privilege::User {
            c.mstatus &= !MPRV;
        }
        if self.extensions.has(crate::Extensions::USER_MODE) {
            c.mstatus &= !MPP;
        }
        self.privilege = previous;
        self.pc = c.mepc;
        self.instret += 1;
        Outcome::Returned
    }

    pub(super) fn wait_for_interrupt(&mut self, i: &Instruction) -> Outcome<X> {
        if self.privilege == Privilege::User && self.csr.mstatus & TW != 0 {
            return illegal(0x1050_0073);
        }
        self.retired(i, Outcome::WaitForInterrupt)
    }
}
