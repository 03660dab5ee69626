//! What a trap reports: the cause and its value.

use crate::Xlen;

/// Names the cause of a trap, with the number `mcause` gets (RISC-V privileged, table 3.6).
///
/// It takes one byte: how large it is decides how outcomes are laid out (measured: with
/// two bytes PsPIN's cores execute 3 % more host instructions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// A jump to an address that is not aligned to an instruction.
    InstructionMisaligned = 0,
    /// A fetch from where nothing may be executed.
    InstructionAccessFault = 1,
    /// An encoding, CSR or privileged instruction that is not allowed here.
    IllegalInstruction = 2,
    /// `ebreak`.
    Breakpoint = 3,
    /// A misaligned load or load-reserved, on a core that does not split it.
    LoadMisaligned = 4,
    /// A load from where nothing may be read.
    LoadAccessFault = 5,
    /// A misaligned store, store-conditional or atomic, on a core that does not split it.
    StoreMisaligned = 6,
    /// A store or atomic to where nothing may be written.
    StoreAccessFault = 7,
    /// `ecall` from user mode.
    EnvironmentCallFromUser = 8,
    /// `ecall` from machine mode.
    EnvironmentCallFromMachine = 11,
    /// A machine software interrupt (bit 3 of `mip`).
    MachineSoftwareInterrupt = 0x83,
    /// A machine timer interrupt (bit 7 of `mip`).
    MachineTimerInterrupt = 0x87,
    /// A machine external interrupt (bit 11 of `mip`).
    MachineExternalInterrupt = 0x8b,
    /// The platform's interrupt of bit 16 of `mip`.
    Platform16 = 0x90,
    /// The platform's interrupt of bit 17 of `mip`.
    Platform17 = 0x91,
    /// The platform's interrupt of bit 18 of `mip`.
    Platform18 = 0x92,
    /// The platform's interrupt of bit 19 of `mip`.
    Platform19 = 0x93,
    /// The platform's interrupt of bit 20 of `mip`.
    Platform20 = 0x94,
    /// The platform's interrupt of bit 21 of `mip`.
    Platform21 = 0x95,
    /// The platform's interrupt of bit 22 of `mip`.
    Platform22 = 0x96,
    /// The platform's interrupt of bit 23 of `mip`.
    Platform23 = 0x97,
    /// The platform's interrupt of bit 24 of `mip`.
    Platform24 = 0x98,
    /// The platform's interrupt of bit 25 of `mip`.
    Platform25 = 0x99,
    /// The platform's interrupt of bit 26 of `mip`.
    Platform26 = 0x9a,
    /// The platform's interrupt of bit 27 of `mip`.
    Platform27 = 0x9b,
    /// The platform's interrupt of bit 28 of `mip`.
    Platform28 = 0x9c,
    /// The platform's interrupt of bit 29 of `mip`.
    Platform29 = 0x9d,
    /// The platform's interrupt of bit 30 of `mip`.
    Platform30 = 0x9e,
    /// The platform's interrupt of bit 31 of `mip`.
    Platform31 = 0x9f,
}

/// Names an exception by its `mcause`, for messages; `None` for numbers without a name.
pub const fn exception_name(cause: u32) -> Option<&'static str> {
    Some(match cause {
        0 => "instruction address misaligned",
        1 => "instruction fetch not allowed",
        2 => "illegal instruction",
        3 => "breakpoint",
        4 => "load address misaligned",
        5 => "load not allowed",
        6 => "store address misaligned",
        7 => "store not allowed",
        8 | 11 => "environment call",
        // Of the SDK's runtime, with PINION_STACK_CHECK.
        24 => "stack overrun",
        _ => return None,
    })
}

impl Cause {
    /// Gives the interrupt that the platform defines as a bit of `mip`, `None` for bits below 16 and
    /// above 31.
    pub fn platform_interrupt(bit: u8) -> Option<Self> {
        Self::PLATFORM.get(usize::from(bit.checked_sub(16)?)).copied()
    }

    /// Says whether this is an interrupt rather than an exception.
    pub const fn is_interrupt(self) -> bool {
        self as u8 & 0x80 != 0
    }

    /// Gives the exception or interrupt code without the interrupt bit.
    pub const fn code(self) -> u8 {
        self as u8 & 0x7f
    }

    /// Gives the value of `mcause`.
    pub fn mcause<X: Xlen>(self) -> X {
        let interrupt = X::from_bool(self.is_interrupt()).shift_left(X::BITS - 1);
        X::from_u32(u32::from(self.code())) | interrupt
    }

    /// Finds the cause that a value of `mcause` names.
    pub fn from_mcause<X: Xlen>(mcause: X) -> Option<Self> {
        Self::ALL.into_iter().chain(Self::PLATFORM).find(|cause| cause.mcause::<X>() == mcause)
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
            _ => "platform interrupt",
        }
    }

    /// The platform's interrupts, from bit 16 of `mip` to bit 31.
    pub const PLATFORM: [Self; 16] = [
        Self::Platform16,
        Self::Platform17,
        Self::Platform18,
        Self::Platform19,
        Self::Platform20,
        Self::Platform21,
        Self::Platform22,
        Self::Platform23,
        Self::Platform24,
        Self::Platform25,
        Self::Platform26,
        Self::Platform27,
        Self::Platform28,
        Self::Platform29,
        Self::Platform30,
        Self::Platform31,
    ];

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
