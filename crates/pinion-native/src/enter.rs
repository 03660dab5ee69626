//! Calling handlers on their worker's stack, one after the other, and leaving one that will not return.
//!
//! `enter` keeps the engine's registers and stack pointer in the block once for many packets; for each it
//! writes the task into the driver's registers and calls its handler on the block's stack, whose addresses
//! have 32 bits. A signal handler leaves by going on at `pinion_native_leave` with the block in rbx:
//! everything the handler did to registers is undone, and `Block::entry` says whose it was. What it costs
//! is two dozen instructions a handler, no system call.

use std::ffi::c_void;
use std::mem::offset_of;

use crate::block::Block;
use crate::entry::Entry;
use crate::layout::{self, ContextLayout};

/// Places of a task with four scratchpads in the driver's registers.
const TASK: usize = layout::TASK * size_of::<u32>();
const L1_PACKET: usize = TASK + 2 * size_of::<u32>();
const L2_PACKET: usize = TASK + (layout::PUBLISHED_WORDS - 3) * size_of::<u32>();
const QUEUE: usize = L2_PACKET + 2 * size_of::<u32>();

std::arch::global_asm!(
    ".text",
    ".globl pinion_native_enter",
    "pinion_native_enter:", // rdi block, rsi first entry, rdx behind the last, rcx top of the stack
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov [rdi + {engine_stack}], rsp",
    "mov rsp, rcx",
    "mov rbx, rdi",
    "mov r12, rsi",
    "mov [rbx + {behind}], rdx",
    "2:",
    "mov rax, [r12 + {context}]",
    "mov [rbx + {entry}], r12",
    "mov rcx, [rax + {limit}]",
    "mov [rbx + {limit_ns}], rcx",
    "cmp dword ptr [rbx + {is_wide}], 0",
    "jne 3f", // its task is there: `Worker::add`
    "movups xmm0, [rax + {task}]",
    "movups xmm1, [rax + {task} + 16]",
    "movups xmm2, [rax + {task} + 32]",
    "movups xmm3, [rax + {task} + 48]",
    "mov rcx, [r12 + {l1_packet}]",
    "mov rdx, [r12 + {l2_packet}]",
    "mov esi, [r12 + {queue}]",
    "movups [rbx + {start}], xmm0",
    "movups [rbx + {start} + 16], xmm1",
    "movups [rbx + {start} + 32], xmm2",
    "movups [rbx + {start} + 48], xmm3",
    "mov [rbx + {l1_words}], rcx",
    "mov [rbx + {l2_words}], rdx",
    "mov [rbx + {queue_word}], esi",
    "3:",
    "mov eax, [r12 + {handler}]",
    "inc qword ptr [rbx + {sequence}]",
    "lea rdi, [rbx + {args}]",
    "call rax",
    "inc qword ptr [rbx + {sequence}]",
    "mov r12, [rbx + {entry}]",
    "add r12, {bytes}",
    "cmp r12, [rbx + {behind}]",
    "jne 2b",
    "xor eax, eax",
    ".globl pinion_native_leave",
    "pinion_native_leave:", // rbx block, eax what to return
    "mov rsp, [rbx + {engine_stack}]",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    ".globl pinion_native_abandon",
    "pinion_native_abandon:", // rdi block
    "mov rbx, rdi",
    "mov eax, 1",
    "jmp pinion_native_leave",
    engine_stack = const offset_of!(Block, engine_stack),
    entry = const offset_of!(Block, entry),
    behind = const offset_of!(Block, behind),
    limit_ns = const offset_of!(Block, limit_ns),
    is_wide = const offset_of!(Block, is_wide),
    sequence = const offset_of!(Block, sequence),
    args = const offset_of!(Block, args),
    context = const offset_of!(Entry, context),
    handler = const offset_of!(Entry, handler),
    l1_packet = const offset_of!(Entry, l1_packet),
    l2_packet = const offset_of!(Entry, l2_packet),
    queue = const offset_of!(Entry, queue),
    bytes = const size_of::<Entry>(),
    task = const offset_of!(ContextLayout, task),
    limit = const offset_of!(ContextLayout, limit_ns),
    start = const TASK,
    l1_words = const L1_PACKET,
    l2_words = const L2_PACKET,
    queue_word = const QUEUE,
);

unsafe extern "C" {
    /// Calls the handlers of entries from `first` to `behind` with their stack growing down from `stack`; 0
    /// when all returned, 1 when that of `Block::entry` was left.
    pub fn pinion_native_enter(
        block: *mut c_void,
        first: *const c_void,
        behind: *const c_void,
        stack: u64,
    ) -> u32;
    /// Is where a signal handler lets a crashed handler go on.
    pub fn pinion_native_leave();
    /// Leaves the running handler, from a service that it called.
    pub fn pinion_native_abandon(block: *mut c_void) -> !;
}
