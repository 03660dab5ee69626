//! What handlers call of the engine. They run on the handler's stack and never unwind; while one
//! runs, the watchdog waits, so that nothing of the engine is left half done.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::compiler_fence;

use pinion_isa::elf::Image;

use crate::block::{Block, HANDLER, SERVICE};
use crate::command;
use crate::enter::{
    pinion_native_abandon, pinion_native_from_cycles, pinion_native_from_give_way,
    pinion_native_from_issue, pinion_native_from_print,
};
use crate::error::NativeError;
use crate::memory::Memory;
use crate::scene;

/// The runtime's table (`services.S`).
const TABLE: &str = "pinion_native_services";

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
pub extern "C" fn issue(block: *mut Block) -> u32 {
    // SAFETY: the program passes its worker's block, and calls from a handler.
    unsafe {
        serve(block, |block| {
            let driver = &(*block).driver;
            let info = driver[0x8c / 4];
            let words: [u32; 7] = std::array::from_fn(|index| driver[0x90 / 4 + index]);
            let from = scene::of_call((*block).call_stack);
            command::perform(&mut *(*block).ports, info, &words, from);
        });
    }
    0
}

/// Prints text.
pub extern "C" fn print(block: *mut Block, text: u32, bytes: u32) {
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
pub extern "C" fn cycles(block: *mut Block) -> u32 {
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
pub extern "C" fn give_way(block: *mut Block) {
    // SAFETY: as `issue`.
    unsafe { serve(block, |_| std::thread::yield_now()) }
}
