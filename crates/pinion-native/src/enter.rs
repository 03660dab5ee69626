//! Calling a handler on its worker's stack, and leaving one that will not return.
//!
//! `enter` keeps the engine's registers and stack pointer in the block and calls the handler on the
//! block's stack, whose addresses have 32 bits. A signal handler leaves by going on at
//! `pinion_native_leave` with the block in rbx: everything the handler did to registers is undone.
//! What it costs is a dozen instructions a handler, no system call.

use std::ffi::c_void;

std::arch::global_asm!(
    ".text",
    ".globl pinion_native_enter",
    "pinion_native_enter:", // rdi block, esi handler, rdx top of its stack
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov [rdi + 0x220], rsp",
    "mov rsp, rdx",
    "mov rbx, rdi",
    "mov eax, esi",
    "add rdi, 0x200", // handler_args_t
    "call rax",
    "xor eax, eax",
    ".globl pinion_native_leave",
    "pinion_native_leave:", // rbx block, eax what to return
    "mov rsp, [rbx + 0x220]",
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
);

unsafe extern "C" {
    /// Calls the handler at `function` with its stack growing down from `stack`; 0 when it returned,
    /// 1 when it was left.
    pub fn pinion_native_enter(block: *mut c_void, function: u32, stack: u64) -> u32;
    /// Is where a signal handler lets a crashed handler go on.
    pub fn pinion_native_leave();
    /// Leaves the running handler, from a service that it called.
    pub fn pinion_native_abandon(block: *mut c_void) -> !;
}
