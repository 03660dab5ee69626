//! What handlers call of the engine. They run on the handler's stack and never unwind; while one
//! runs, the watchdog waits, so that nothing of the engine is left half done.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::compiler_fence;

use pinion_isa::elf::Image;

use crate::block::{Block, HANDLER, SERVICE};
use crate::command;
use crate::enter::pinion_native_abandon;
use crate::error::NativeError;
use crate::memory::Memory;
use crate::scene;

/// The runtime's table (`services.S`).
const TABLE: &str = "pinion_native_services";

/// Makes the place where handlers' calls of a service arrive: rdi block, the return address on top.
macro_rules! from_service {
    ($service:literal) => {
        concat!(
            ".globl pinion_native_from_",
            $service,
            "\npinion_native_from_",
            $service,
            ":\nmov [rdi + {call_stack}], rsp\njmp {",
            $service,
            "}",
        )
    };
}

std::arch::global_asm!(
    ".text",
    from_service!("issue"),
    from_service!("print"),
    from_service!("cycles"),
    from_service!("give_way"),
    call_stack = const std::mem::offset_of!(Block, call_stack),
    issue = sym issue,
    print = sym print,
    cycles = sym cycles,
    give_way = sym give_way,
);

unsafe extern "C" {
    /// Are where handlers' calls of services arrive: each keeps where it came from.
    fn pinion_native_from_issue();
    fn pinion_native_from_print();
    fn pinion_native_from_cycles();
    fn pinion_native_from_give_way();
}

/// Fills the program's table of services.
pub fn connect(memory: &Memory, image: &Image) -> Result<(), NativeError> {
    let table = image.symbol(TABLE).ok_or(NativeError::NoRuntime(TABLE))?;
    let services: [u64; 8] = [
        pinion_native_from_issue as *const () as u64,
        pinion_native_from_print as *const () as u64,
        pinion_native_from_cycles as *const () as u64,
        pinion_native_from_give_way as *const () as u64,
        libc::memcpy as *const () as u64,
        libc::memmove as *const () as u64,
        libc::memset as *const () as u64,
        libc::memcmp as *const () as u64,
    ];
    let bytes: Vec<u8> = services.iter().flat_map(|address| address.to_le_bytes()).collect();
    let written = u32::try_from(table.address).is_ok_and(|address| memory.write(address, &bytes));
    match written {
        true => Ok(()),
        false => Err(NativeError::Misplaced { address: table.address, bytes: bytes.len() as u64 }),
    }
}

/// Runs a service: the watchdog's signal waits until it is done.
///
/// # Safety
/// `block` is the calling worker's, and its handler runs.
unsafe fn serve<T>(block: *mut Block, service: impl FnOnce(*mut Block) -> T) -> T {
    // SAFETY: the caller's promise; only atomics are shared with the watchdog.
    unsafe {
        (*block).state.store(SERVICE, Relaxed);
        compiler_fence(SeqCst);
        let result = service(block);
        compiler_fence(SeqCst);
        (*block).state.store(HANDLER, Relaxed);
        if (*block).condemned.load(Relaxed) == (*block).sequence.load(Relaxed) {
            pinion_native_abandon(block.cast());
        }
        result
    }
}

/// Performs the command in the worker's registers.
extern "C" fn issue(block: *mut Block) -> u32 {
    // SAFETY: the program passes its worker's block, and calls from a handler.
    unsafe {
        serve(block, |block| {
            let driver = &(*block).driver;
            let info = driver[0x8c / 4];
            let words: [u32; 7] = std::array::from_fn(|index| driver[0x90 / 4 + index]);
            let from = scene::of_call((*block).call_stack);
            let ports = &mut *(*block).ports;
            ports.entry = *(*block).entry;
            command::perform(ports, info, &words, from);
        });
    }
    0
}

/// Prints text.
extern "C" fn print(block: *mut Block, text: u32, bytes: u32) {
    // SAFETY: as `issue`; the runtime's text lies in a buffer on its own stack.
    unsafe {
        serve(block, |block| {
            let ports = &mut *(*block).ports;
            let text = std::slice::from_raw_parts(text as *const u8, bytes as usize);
            ports.outbox.printed.extend_from_slice(text);
            ports.outbox.printed_ns = ports.now_ns();
        });
    }
}

/// Gives the time in cycles.
extern "C" fn cycles(block: *mut Block) -> u32 {
    // SAFETY: as `issue`.
    unsafe {
        serve(block, |block| {
            let ports = &*(*block).ports;
            let ns = ports.start.elapsed().as_nanos();
            (ns * u128::from(ports.frequency_mhz) / 1000) as u32
        })
    }
}

/// Lets another thread have the processor.
extern "C" fn give_way(block: *mut Block) {
    // SAFETY: as `issue`.
    unsafe { serve(block, |_| std::thread::yield_now()) }
}
