//! The scene of a fault: copied when a handler has gone wrong, for its stack and packet are used
//! again before the engine tells of it.

use pinion_spin::scene::X86Registers;
use pinion_spin::{HandlerKind, Refused, Registers, Scene};

/// Places in [`X86Registers`].
pub const STACK_POINTER: usize = 7;
const INSTRUCTION_POINTER: usize = 16;

/// Tells where a handler stopped, or issued a command.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Points at the instruction to blame.
    pub pc: u32,
    /// The registers.
    pub registers: X86Registers,
    /// Describes a command that was refused.
    pub refused: Option<Refused>,
}

/// Tells where a call came from whose return address lies at `stack`; other registers than the
/// stack pointer and the instruction pointer are not known.
///
/// # Safety
/// There must be a return address.
pub unsafe fn of_call(stack: u64) -> Stop {
    // SAFETY: the caller's promise.
    let caller = unsafe { (stack as *const u64).read_unaligned() };
    let mut registers = [0; 17];
    registers[STACK_POINTER] = stack + size_of::<u64>() as u64;
    registers[INSTRUCTION_POINTER] = caller;
    Stop { pc: caller as u32, registers, refused: None }
}

/// Holds what a worker held when its handler went wrong.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Kind of the handler.
    pub kind: HandlerKind,
    /// Its address.
    pub handler: u32,
    /// The registers.
    pub registers: X86Registers,
    /// Bytes of the instruction to blame, and those behind it.
    pub instruction: Vec<u8>,
    /// The newest bytes of the stack, and where they begin.
    pub stack: (u32, Vec<u8>),
    /// The packet.
    pub packet: Vec<u8>,
    /// Where the packet lies in L1, and its bytes.
    pub l1_packet: (u32, u32),
    /// Describes a command that was refused.
    pub refused: Option<Refused>,
    /// Where the handler has been.
    pub trail: Vec<u32>,
}

impl Kept {
    /// Shows it.
    pub fn scene(&self) -> Scene<'_> {
        Scene {
            kind: self.kind,
            handler: self.handler,
            registers: Registers::X86(self.registers),
            instruction: &self.instruction,
            stack: (self.stack.0, &self.stack.1),
            packet: &self.packet,
            l1_packet: self.l1_packet,
            refused: self.refused,
            trail: &self.trail,
        }
    }
}
