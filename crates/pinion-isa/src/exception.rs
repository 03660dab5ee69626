//! What a trap reports: the cause and its value.

use crate::Xlen;

/// Names the cause of a trap, with the number `mcause` gets (RISC-V privileged, table 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A jump to an address that is not aligned to an instruction.
    InstructionMisaligned,
    /// A fetch from where nothing may be executed.
    InstructionAccessFault,
    /// An encoding, CSR or privileged instruction that is not allowed here.
    IllegalInstruction,
    /// `ebreak`.
    Breakpoint,
    /// A misaligned load or load-reserved, on a core that does not split it.
    LoadMisaligned,
    /// A load from where nothing may be read.
    LoadAccessFault,
    /// A misaligned store, store-conditional or atomic, on a core that does not split it.
    StoreMisaligned,
    /// A store or atomic to where nothing may be written.
    StoreAccessFault,
    /// `ecall` from user mode.
    EnvironmentCallFromUser,
    /// `ecall` from machine mode.
    EnvironmentCallFromMachine,
    /// A machine software interrupt (bit 3 of `mip`).
    MachineSoftwareInterrupt,
    /// A machine timer interrupt (bit 7 of `mip`).
    MachineTimerInterrupt,
    /// A machine external interrupt (bit 11 of `mip`).
    MachineExternalInterrupt,
    /// An interrupt that the platform defines: its bit of `mip`, 16 to 31.
    PlatformInterrupt(u8),
}

impl Cause {
    /// Says whether this is an interrupt rather than an exception.
    pub const fn is_interrupt(self) -> bool {
        matches!(
            self,
            Self::MachineSoftwareInterrupt
                | Self::MachineTimerInterrupt
                | Self::MachineExternalInterrupt
                | Self::PlatformInterrupt(_)
        )
    }

    /// Gives the exception or interrupt code without the interrupt bit.
    pub const fn code(self) -> u8 {
        match self {
            Self::InstructionMisaligned => 0,
            Self::InstructionAccessFault => 1,
            Self::IllegalInstruction => 2,
            Self::Breakpoint => 3,
            Self::LoadMisaligned => 4,
            Self::LoadAccessFault => 5,
            Self::StoreMisaligned => 6,
            Self::StoreAccessFault => 7,
            Self::EnvironmentCallFromUser => 8,
            Self::EnvironmentCallFromMachine => 11,
            Self::MachineSoftwareInterrupt => 3,
            Self::MachineTimerInterrupt => 7,
            Self::MachineExternalInterrupt => 11,
            Self::PlatformInterrupt(bit) => bit,
        }
    }

    /// Gives the value of `mcause`.
    pub fn mcause<X: Xlen>(self) -> X {
        let interrupt = X::from_bool(self.is_interrupt()).shift_left(X::BITS - 1);
        X::from_u32(u32::from(self.code())) | interrupt
    }

    /// Finds the cause that a value of `mcause` names.
    pub fn from_mcause<X: Xlen>(mcause: X) -> Option<Self> {
        let platform = (16..32).map(Self::PlatformInterrupt);
        Self::ALL.into_iter().chain(platform).find(|cause| cause.mcause::<X>() == mcause)
    }

    /// Describes the cause in a few words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::InstructionMisaligned => "instruction address misaligned",
            Self::InstructionAccessFault => "instruction access fault",
            Self::IllegalInstruction => "illegal instruction",
            Self::Breakpoint => "breakpoint",
            Self::LoadMisaligned => "load address misaligned",
            Self::LoadAccessFault => "load access fault",
            Self::StoreMisaligned => "store or atomic address misaligned",
            Self::StoreAccessFault => "store or atomic access fault",
            Self::EnvironmentCallFromUser => "environment call from user mode",
            Self::EnvironmentCallFromMachine => "environment call from machine mode",
            Self::MachineSoftwareInterrupt => "machine software interrupt",
            Self::MachineTimerInterrupt => "machine timer interrupt",
            Self::MachineExternalInterrupt => "machine external interrupt",
            Self::PlatformInterrupt(_) => "platform interrupt",
        }
    }

    /// All causes but the platform's interrupts.
    pub const ALL: [Self; 13] = [
        Self::InstructionMisaligned,
        Self::InstructionAccessFault,
        Self::IllegalInstruction,
        Self::Breakpoint,
        Self::LoadMisaligned,
        Self::LoadAccessFault,
        Self::StoreMisaligned,
        Self::StoreAccessFault,
        Self::EnvironmentCallFromUser,
        Self::EnvironmentCallFromMachine,
        Self::MachineSoftwareInterrupt,
        Self::MachineTimerInterrupt,
        Self::MachineExternalInterrupt,
    ];
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.describe())
    }
}

/// Describes a trap to be taken: its cause and the value for `mtval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception<X> {
    /// Why the hart traps.
    pub cause: Cause,
    /// The faulting address or instruction; 0 when there is none.
    pub value: X,
}

impl<X: Xlen> Exception<X> {
    /// Makes an exception.
    #[inline]
    pub const fn new(cause: Cause, value: X) -> Self {
        Self { cause, value }
    }
}
