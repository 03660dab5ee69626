//! The scene of a fault: copied when a handler has gone wrong, for its stack and packet are used
//! again before the engine tells of it.

use pinion_spin::scene::X86Registers;
use pinion_spin::{HandlerKind, Refused, Registers, Scene};

use crate::outbox::Ports;

/// Bytes of the longest instruction.
const INSTRUCTION_BYTES: u32 = 15;
/// Bounds the bytes of a stack that are kept: the newest.
const STACK_BYTES: u64 = 16 << 10;
/// Places in [`X86Registers`].
const STACK_POINTER: usize = 7;
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
    kind: HandlerKind,
    handler: u32,
    registers: X86Registers,
    instruction: Vec<u8>,
    stack: (u32, Vec<u8>),
    packet: Vec<u8>,
    l1_packet: (u32, u32),
    refused: Option<Refused>,
    trail: Vec<u32>,
}

impl Kept {
    /// Copies what the worker holds whose handler has just stopped, or waits for a service.
    ///
    /// # Safety
    /// The handler's context, packet and stack are mapped.
    #[cold]
    pub unsafe fn new(ports: &Ports, stop: &Stop) -> Self {
        let (stack, stack_bytes) = ports.common[1];
        let end = u64::from(stack) + u64::from(stack_bytes);
        let pointer = stop.registers[STACK_POINTER].clamp(u64::from(stack), end);
        let (packet, packet_bytes) = ports.l2_packet;
        let (code, code_bytes) = ports.code;
        let offset = stop.pc.wrapping_sub(code);
        let in_code = code_bytes.saturating_sub(offset);
        let copy = |address: u64, bytes: u64| {
            if bytes == 0 {
                return Vec::new();
            }
            // SAFETY: the range is mapped, as the caller promises; nobody else writes it.
            unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize).to_vec() }
        };
        // SAFETY: the worker points at its context before a handler runs.
        let handlers = unsafe { (*ports.context).handlers };
        let kind = match handlers.iter().position(|handler| *handler == ports.handler) {
            Some(0) => HandlerKind::Header,
            Some(2) => HandlerKind::Completion,
            _ => HandlerKind::Payload,
        };
        Self {
            kind,
            handler: ports.handler,
            registers: stop.registers,
            instruction: copy(u64::from(stop.pc), u64::from(in_code.min(INSTRUCTION_BYTES))),
            stack: (pointer as u32, copy(pointer, (end - pointer).min(STACK_BYTES))),
            packet: copy(u64::from(packet), u64::from(packet_bytes)),
            l1_packet: ports.l1_packet,
            refused: stop.refused,
            trail: ports.trail.clone(),
        }
    }

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
