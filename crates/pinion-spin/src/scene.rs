//! The scene of a fault: what a machine held when a handler went wrong. Borrowed from the machine
//! while a listener hears of it, so that nobody who does not look pays for it.

use crate::HandlerKind;

/// Holds the registers of the processor that a handler ran on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registers {
    /// Of an HPU: x0 to x31.
    Rv32([u32; 32]),
    /// Of this computer, for handlers of the native engine, in the order of DWARF's numbers: rax,
    /// rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip.
    X86(X86Registers),
}

/// An x86-64 processor's integer registers and instruction pointer.
pub type X86Registers = [u64; 17];

/// Describes what a refused command was to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Address of the data in the NIC, where they come from or go to.
    pub nic_address: u32,
    /// The other end, if there is one: a host address, or where a DMA engine was to write.
    pub other_address: Option<u64>,
    /// Bytes.
    pub bytes: u32,
}

/// Shows what a machine held when a handler went wrong.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Kind of the handler.
    pub kind: HandlerKind,
    /// Address of the handler.
    pub handler: u32,
    /// Registers before the instruction that went wrong.
    pub registers: Registers,
    /// Bytes of that instruction, if there is memory at its address.
    pub instruction: &'a [u8],
    /// Lowest address of the HPU's stack, and its bytes.
    pub stack: (u32, &'a [u8]),
    /// The packet, as it lies in the packet buffer.
    pub packet: &'a [u8],
    /// Where the handler's copy of the packet lies in L1, and its bytes.
    pub l1_packet: (u32, u32),
    /// What a refused command was to move.
    pub refused: Option<Refused>,
    /// Addresses of the instructions that it executed last, where they are known: of handlers that
    /// the native engine's watchdog ended.
    pub trail: &'a [u32],
}
