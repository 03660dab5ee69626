//! A worker's block: what its handlers see of it, its stack, and what the signal handlers need.
//!
//! Blocks are aligned to their size, because handlers find theirs by the stack pointer. The first
//! words are also written in the SDK's `native/worker.h`.

use std::sync::atomic::{AtomicU32, AtomicU64};

use pinion_spin::scene::X86Registers;

use crate::entry::Entry;
use crate::outbox::Ports;

/// Where the first worker's block lies: behind everything the NIC has.
pub const FIRST_BLOCK: u64 = 0x2000_0000;
/// The size and alignment of a block (`PINION_WORKER_SPAN`).
pub const SPAN_BYTES: u64 = 0x8_0000;
/// Ends the words; the page behind is never mapped, so that a stack that overruns faults.
pub const WORDS_BYTES: u64 = 0x1000;
/// Ends the unmapped part; the stack lies above.
pub const STACK_OFFSET: u64 = 0x1_0000;

/// Says that no handler runs.
pub const IDLE: u32 = 0;
/// Says that handler code runs: a fault is the handler's.
pub const HANDLER: u32 = 1;
/// Says that a service of the engine runs for a handler: it must not be torn away.
pub const SERVICE: u32 = 2;

/// Holds a worker's words.
#[repr(C)]
pub struct Block {
    /// The HPU driver's registers at their offsets.
    pub driver: [u32; 128],
    /// Holds C's `handler_args_t`.
    pub args: [u32; 4],
    /// The hart id: bits 10:5 cluster, 4:0 core.
    pub hart: u32,
    /// Belongs to load_reserved and store_conditional.
    pub reserved: [u32; 2],
    /// Number of polls of a lock.
    pub polls: u32,
    /// The engine's stack pointer while a handler runs.
    pub engine_stack: u64,
    /// [`IDLE`], [`HANDLER`] or [`SERVICE`].
    pub state: AtomicU32,
    /// Not 0 where tasks have more scratchpads than the published register file.
    pub is_wide: u32,
    /// Points at the handler that runs, or ran last, with its packet.
    pub entry: *const Entry,
    /// Points behind the last that is to run.
    pub behind: *const Entry,
    /// Number of handlers begun and ended: odd while one runs.
    pub sequence: AtomicU64,
    /// The sequence number of the handler that the watchdog has stopped.
    pub condemned: AtomicU64,
    /// The processor time a handler may take, in nanoseconds.
    pub limit_ns: AtomicU64,
    /// Points at what services need; valid while a handler runs.
    pub ports: *mut Ports,
    /// Bounds the program's code, to tell its addresses from others.
    pub code: (u64, u64),
    /// The handler's stack pointer when it last called a service: its return address lies there.
    pub call_stack: u64,
    /// Describes the last fault.
    pub fault: Crash,
    /// Where a handler went that the watchdog had condemned.
    pub trail: Trail,
}

/// Counts the instructions that a condemned handler is watched at: enough to see its loop.
pub const TRAIL_STEPS: usize = 512;

/// Holds the addresses of a condemned handler's last instructions.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Trail {
    /// Whether the handler is being watched.
    pub is_watched: bool,
    /// Number of addresses.
    pub count: usize,
    /// Holds them.
    pub steps: [u32; TRAIL_STEPS],
}

/// Describes a signal that ended a handler.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Crash {
    /// Its number.
    pub signal: i32,
    /// The processor's error code of a memory fault.
    pub code: u64,
    /// The instruction's address.
    pub pc: u64,
    /// The address it touched.
    pub address: u64,
    /// The registers, the true instruction pointer among them: `pc` is the caller's where the
    /// crash lies outside the program.
    pub registers: X86Registers,
}

const _: () = {
    assert!(std::mem::offset_of!(Block, args) == 0x200);
    assert!(std::mem::offset_of!(Block, hart) == 0x210);
    assert!(std::mem::offset_of!(Block, engine_stack) == 0x220);
    assert!(size_of::<Block>() <= WORDS_BYTES as usize);
};

/// Gives the address of a worker's block.
pub const fn address(worker: u32) -> u64 {
    FIRST_BLOCK + worker as u64 * SPAN_BYTES
}

/// Gives the first stack address of a block, 16-byte aligned.
pub const fn stack_top(block: u64) -> u64 {
    block + SPAN_BYTES - 64
}
