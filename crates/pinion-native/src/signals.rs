//! Signals: a handler's crash comes in, its worker goes on behind the call.
//!
//! A signal handler changes where its thread goes on: to `pinion_native_leave`, with the worker's
//! block in a register. Signals that no handler caused go to whoever had them before. This state is
//! the process's, like signals themselves.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use libc::{c_int, c_void, sigaction, siginfo_t, ucontext_t};

use crate::block::{Block, Crash, HANDLER, IDLE, TRAIL_STEPS};
use crate::enter::pinion_native_leave;

/// The watchdog's signal: one that programs ignore unless they ask for it.
pub const STOP: c_int = libc::SIGURG;
/// Lists the signals that a crash raises.
const CRASHES: [c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];
/// Bytes of the instruction that calls the kernel.
const CALL_BYTES: u64 = 2;
/// Lists the registers that are kept, in the order of DWARF's numbers.
const DWARF_ORDER: [c_int; 17] = [
    libc::REG_RAX,
    libc::REG_RDX,
    libc::REG_RCX,
    libc::REG_RBX,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_RBP,
    libc::REG_RSP,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
    libc::REG_RIP,
];
/// The flag that makes the processor trap after each instruction.
const TRAP_FLAG: i64 = 0x100;
/// The direction flag, which functions expect to be clear.
const DIRECTION_FLAG: i64 = 0x400;
/// The size of a thread's signal stack.
const STACK_BYTES: usize = 64 << 10;

thread_local! {
    /// The block of the worker that this thread runs. Constant and without destructor: signal
    /// handlers may read it.
    static BLOCK: Cell<*mut Block> = const { Cell::new(ptr::null_mut()) };
}

static PREVIOUS: OnceLock<Vec<(c_int, sigaction)>> = OnceLock::new();

/// Takes the signals, once per process.
pub fn install() {
    PREVIOUS.get_or_init(|| CRASHES.iter().chain([&STOP]).map(|&signal| take(signal)).collect());
}

fn take(signal: c_int) -> (c_int, sigaction) {
    let mut previous = MaybeUninit::<sigaction>::zeroed();
    // SAFETY: `on_signal` has the signature of SA_SIGINFO and is safe to run at any time.
    unsafe {
        let mut action: sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART | libc::SA_NODEFER;
        libc::sigaction(signal, &action, previous.as_mut_ptr());
        (signal, previous.assume_init())
    }
}

/// Says which worker this thread runs, and gives it a stack for signals unless it has one.
pub fn adopt(block: *mut Block) {
    BLOCK.set(block);
    // SAFETY: the new stack is leaked on purpose: the thread may use it until its end.
    unsafe {
        let mut current: libc::stack_t = MaybeUninit::zeroed().assume_init();
        libc::sigaltstack(ptr::null(), &mut current);
        if current.ss_flags & libc::SS_DISABLE != 0 {
            let stack = Vec::leak(vec![0u8; STACK_BYTES]);
            let new = libc::stack_t {
                ss_sp: stack.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: STACK_BYTES,
            };
            libc::sigaltstack(&new, ptr::null_mut());
        }
    }
}

/// Says that this thread runs no worker any more.
pub fn release() {
    BLOCK.set(ptr::null_mut());
}

extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let block = BLOCK.get();
    // SAFETY: the block is mapped as long as its worker's thread has it; only atomics are read
    // unless this thread's handler runs, whose own words they then are.
    unsafe {
        if signal == STOP {
            if !block.is_null()
                && is_condemned(block)
                && (*block).state.load(Relaxed) == HANDLER
                && !(*block).trail.is_watched
            {
                // Its loop is seen first: from here on it traps at every instruction.
                (*block).trail.is_watched = true;
                (*block).trail.count = 0;
                registers(context)[libc::REG_EFL as usize] |= TRAP_FLAG;
            }
            return;
        }
        if signal == libc::SIGTRAP && !block.is_null() && (*block).trail.is_watched {
            return watch(block, info, context);
        }
        if block.is_null() || (*block).state.load(Relaxed) != HANDLER {
            return pass_on(signal, info, context);
        }
        leave(block, describe(block, signal, info, context), context);
    }
}

/// Takes a step of a condemned handler; behind the last it is left.
unsafe fn watch(block: *mut Block, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments; the block is the thread's own.
    unsafe {
        let state = (*block).state.load(Relaxed);
        let registers = registers(context);
        let pc = registers[libc::REG_RIP as usize] as u64;
        let (start, end) = (*block).code;
        // It may have returned in the meantime, and another one runs.
        let is_it = state == HANDLER && is_condemned(block);
        if is_it && (start..end).contains(&pc) {
            let trail = &mut (*block).trail;
            trail.steps[trail.count] = pc as u32;
            trail.count += 1;
            if trail.count < TRAIL_STEPS {
                return;
            }
        } else if state != IDLE && is_condemned(block) {
            return; // within a service, a function of the C library, or on the way out
        }
        (*block).trail.is_watched = false;
        registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
        if is_it {
            leave(block, describe(block, STOP, info, context), context);
        }
    }
}

unsafe fn is_condemned(block: *mut Block) -> bool {
    // SAFETY: the caller's.
    unsafe { (*block).condemned.load(Relaxed) == (*block).sequence.load(Relaxed) }
}

unsafe fn registers<'a>(context: *mut c_void) -> &'a mut [i64; 23] {
    // SAFETY: the kernel passes the interrupted thread's context, which lives as long as the handler.
    unsafe { &mut (*context.cast::<ucontext_t>()).uc_mcontext.gregs }
}

unsafe fn describe(
    block: *mut Block,
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
) -> Crash {
    // SAFETY: the kernel's arguments; the return address is read from the worker's own stack.
    unsafe {
        let registers = registers(context);
        let (start, end) = (*block).code;
        let mut pc = registers[libc::REG_RIP as usize] as u64;
        let stack = registers[libc::REG_RSP as usize] as u64;
        let base = block as u64;
        let on_stack = base + crate::block::STACK_OFFSET..base + crate::block::SPAN_BYTES - 8;
        if !(start..end).contains(&pc) && on_stack.contains(&stack) {
            // In memcpy and the like, which keep their return address on top.
            let caller = (stack as *const u64).read_unaligned();
            if (start..end).contains(&caller) {
                pc = caller;
            }
        }
        if signal == libc::SIGSYS {
            // A refused call: the kernel points behind it, and gives the call's number back.
            if pc == registers[libc::REG_RIP as usize] as u64 {
                pc -= CALL_BYTES;
            }
            let (code, address) = (0, registers[libc::REG_RAX as usize] as u64);
            let registers = DWARF_ORDER.map(|register| registers[register as usize] as u64);
            return Crash { signal, code, pc, address, registers };
        }
        let address = if signal == STOP { 0 } else { (*info).si_addr() as u64 };
        let code = registers[libc::REG_ERR as usize] as u64;
        let registers = DWARF_ORDER.map(|register| registers[register as usize] as u64);
        Crash { signal, code, pc, address, registers }
    }
}

unsafe fn leave(block: *mut Block, crash: Crash, context: *mut c_void) {
    // SAFETY: `pinion_native_leave` restores everything from the block that `enter` keeps there.
    unsafe {
        (*block).fault = crash;
        let registers = registers(context);
        registers[libc::REG_RIP as usize] = pinion_native_leave as *const () as i64;
        registers[libc::REG_RBX as usize] = block as i64;
        registers[libc::REG_RAX as usize] = 1;
        registers[libc::REG_EFL as usize] &= !DIRECTION_FLAG;
    }
}

/// Gives a signal to whoever had it before; the default ends the process, as it should.
unsafe fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let previous = PREVIOUS.get().and_then(|all| all.iter().find(|(other, _)| *other == signal));
    // SAFETY: what another part of the process has installed is called as it asked to be.
    unsafe {
        match previous {
            Some((_, action)) if action.sa_sigaction > libc::SIG_IGN => {
                if action.sa_flags & libc::SA_SIGINFO != 0 {
                    let call: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                        std::mem::transmute(action.sa_sigaction);
                    call(signal, info, context);
                } else {
                    let call: extern "C" fn(c_int) = std::mem::transmute(action.sa_sigaction);
                    call(signal);
                }
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
                if signal == libc::SIGSYS {
                    // A refused call does not come again by itself.
                    libc::raise(signal);
                }
            }
        }
    }
}
