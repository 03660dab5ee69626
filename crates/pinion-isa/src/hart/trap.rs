//! Traps: exceptions, interrupts, and the way back.

use super::csr_access::illegal;
use super::{Hart, Outcome};
use crate::csr::PLATFORM_INTERRUPTS;
use crate::csr::mstatus::{MIE, MPIE, MPP, MPP_SHIFT, MPRV, TW};
use crate::{Cause, Exception, Instruction, Privilege, Xlen};

impl<X: Xlen> Hart<X> {
    /// Enters the trap handler: saves where and why in `mepc`, `mcause`, `mtval` and `mstatus`,
    /// then goes to `mtvec` in machine mode.
    ///
    /// The instruction at the program counter does not retire. The caller ends a reservation if
    /// its core does so.
    pub fn take_trap(&mut self, exception: Exception<X>) {
        self.half_done = None;
        self.xpulp.abandon();
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
            // As Rocket orders them (its CSRFile): the platform's own first, from the highest.
            _ if pending & PLATFORM_INTERRUPTS != 0 => {
                Cause::PLATFORM[15 - pending.leading_zeros() as usize]
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::number;
    use crate::{DecodedProgram, HartConfig};

    fn hart() -> Hart<u32> {
        let mut hart = Hart::new(&HartConfig { mtvec_mask: !2, ..HartConfig::default() }, 0x1000);
        hart.csr.mtvec = 0x2000;
        hart
    }

    #[test]
    fn a_trap_saves_where_and_why() {
        let mut hart = hart();
        hart.privilege = Privilege::User;
        hart.csr.mstatus = MIE;
        hart.take_trap(Exception::new(Cause::LoadAccessFault, 0xdead));
        assert_eq!((hart.csr.mepc, hart.csr.mcause, hart.csr.mtval), (0x1000, 5, 0xdead));
        assert_eq!((hart.pc, hart.privilege), (0x2000, Privilege::Machine));
        assert_eq!(hart.csr.mstatus, MPIE, "MPP is user, interrupts are off");
        assert_eq!(hart.instret, 0);
        hart.take_trap(Exception::new(Cause::Breakpoint, 0));
        assert_eq!(hart.csr.mstatus, MPP, "MPP is machine");
    }

    #[test]
    fn trap_and_return_restore_privilege_and_interrupts() {
        let mut hart = hart();
        hart.privilege = Privilege::User;
        hart.csr.mstatus = MIE;
        hart.take_trap(Exception::new(Cause::EnvironmentCallFromUser, 0));
        let mret = DecodedProgram::from_bytes(
            0x2000u32,
            &0x3020_0073u32.to_le_bytes(),
            crate::Extensions::PSPIN,
        );
        let outcome = hart.execute(mret.get(0x2000).expect("decoded"));
        assert_eq!(outcome, Outcome::Returned);
        assert_eq!((hart.pc, hart.privilege), (0x1000, Privilege::User));
        assert_eq!(hart.csr.mstatus, MIE | MPIE);
    }

    #[test]
    fn interrupts_wait_until_enabled_and_the_most_urgent_goes_first() {
        let mut hart = hart();
        hart.csr.mip = 1 << 7 | 1 << 3;
        assert_eq!(hart.pending_interrupt(), None, "not enabled one by one");
        hart.csr.mie = 1 << 7 | 1 << 3 | 1 << 11;
        assert_eq!(hart.pending_interrupt(), None, "not enabled in machine mode");
        let cause = |hart: &Hart<u32>| hart.pending_interrupt().map(|exception| exception.cause);
        hart.privilege = Privilege::User;
        assert_eq!(cause(&hart), Some(Cause::MachineSoftwareInterrupt));
        hart.privilege = Privilege::Machine;
        hart.csr.mstatus |= MIE;
        hart.csr.mip |= 1 << 11;
        assert_eq!(cause(&hart), Some(Cause::MachineExternalInterrupt));
        hart.csr.mip = 1 << 7;
        assert_eq!(cause(&hart), Some(Cause::MachineTimerInterrupt));
    }

    #[test]
    fn platform_interrupts_exist_where_configured_and_go_first() {
        let config = HartConfig { platform_interrupts: 1 << 16 | 1 << 18, ..HartConfig::default() };
        let mut hart = Hart::<u64>::new(&config, 0x1000);
        hart.write_csr(number::MIE, u64::MAX);
        assert_eq!(hart.read_csr(number::MIE), Some(1 << 16 | 1 << 18 | 1 << 11 | 1 << 7 | 1 << 3));
        hart.csr.mstatus |= MIE;
        hart.csr.mip = 1 << 16 | 1 << 11;
        let interrupt = hart.pending_interrupt().expect("it is enabled");
        assert_eq!(interrupt.cause, Cause::Platform16);
        assert_eq!(Cause::platform_interrupt(16), Some(Cause::Platform16));
        hart.csr.mip |= 1 << 18;
        assert_eq!(hart.pending_interrupt().map(|other| other.cause), Some(Cause::Platform18));
        hart.take_trap(interrupt);
        assert_eq!(hart.csr.mcause, 1 << 63 | 16);
        assert_eq!(Cause::from_mcause(hart.csr.mcause), Some(Cause::Platform16));
        // The default hart has none.
        let mut other = Hart::<u64>::new(&HartConfig::default(), 0x1000);
        other.write_csr(number::MIE, u64::MAX);
        assert_eq!(other.read_csr(number::MIE), Some(1 << 11 | 1 << 7 | 1 << 3));
    }

    #[test]
    fn vectored_interrupts_spread_and_exceptions_do_not() {
        let mut hart = hart();
        hart.write_csr(number::MTVEC, 0x2001);
        hart.take_trap(Exception::new(Cause::MachineTimerInterrupt, 0));
        assert_eq!((hart.pc, hart.csr.mcause), (0x2000 + 4 * 7, 0x8000_0007));
        hart.take_trap(Exception::new(Cause::LoadAccessFault, 0));
        assert_eq!(hart.pc, 0x2000);
    }

    #[test]
    fn jumps_must_be_aligned_without_compressed_instructions() {
        let extensions = crate::Extensions::RV32IMAC.without(crate::Extensions::C);
        let config = HartConfig { extensions, ..HartConfig::default() };
        let mut hart = Hart::<u32>::new(&config, 0x1000);
        hart.x[1] = 0x2002;
        let jalr = crate::decode(0x0000_80e7, extensions);
        let misaligned = Exception::new(Cause::InstructionMisaligned, 0x2002);
        assert_eq!(hart.execute(&jalr), Outcome::Trap(misaligned));
        assert_eq!((hart.x[1], hart.pc), (0x2002, 0x1000));
    }
}
