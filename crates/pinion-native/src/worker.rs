//! A worker: what an HPU is on the NIC. Takes a job (a handler and its packet), copies the packet to
//! its place in L1, fills the task, calls the handler, and says how it went.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::compiler_fence;
use std::time::Instant;

use pinion_spin::{Fault, HandlerKind, Machine};

use crate::block::{self, Block, Crash, HANDLER, IDLE};
use crate::enter::pinion_native_enter;
use crate::layout::{ContextLayout, L2_STATIC_BYTES, TaskWords};
use crate::memory::Memory;
use crate::outbox::{Outbox, Ports};
use crate::signals::STOP;

/// Is the cause given to an integer division by zero or an overflowing one, which this computer
/// traps and RISC-V does not: a number left to the implementation.
pub const ARITHMETIC_CAUSE: u32 = 26;

/// Describes a handler to run.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Is the handler's address.
    pub handler: u32,
    /// Is its kind.
    pub kind: HandlerKind,
    /// Is its context.
    pub context: u32,
    /// Is its message.
    pub message: u32,
    /// Numbers its packet.
    pub packet: u64,
    /// Is the packet's slot.
    pub slot: u32,
    /// Is the packet's place in L2.
    pub l2_address: u32,
    /// Counts the packet's bytes.
    pub bytes: u32,
    /// Is its message's queue, for the engine.
    pub queue: u32,
    /// Tells whether the packet is done with this job.
    pub frees: bool,
}

/// Says how a job went.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Is the job.
    pub job: Job,
    /// Numbers the worker.
    pub worker: u32,
    /// Tells whether the handler failed.
    pub failed: bool,
    /// Is when it began, in nanoseconds since the engine began.
    pub start_ns: u64,
    /// Is when it ended.
    pub end_ns: u64,
    /// Is when it sent its first packet.
    pub sent_ns: Option<u64>,
}

/// Holds what workers share and nobody changes.
pub struct Shared {
    /// Is the memory.
    pub memory: Memory,
    /// Lays the contexts out.
    pub contexts: Vec<ContextLayout>,
    /// Is the machine.
    pub machine: Machine,
    /// Is when the engine began.
    pub start: Instant,
    /// Tells whether times are taken.
    pub timed: bool,
}

/// Runs handlers.
pub struct Worker {
    shared: Arc<Shared>,
    block: *mut Block,
    /// Belongs to services while a handler runs: reached through this pointer alone.
    ports: *mut Ports,
    index: u32,
    l1_packet: u32,
    words: TaskWords,
}

// SAFETY: a worker owns its block and ports, whichever thread it is on.
unsafe impl Send for Worker {}

impl Worker {
    /// Makes a worker: the HPU `index`, counted through the clusters.
    pub fn new(shared: &Arc<Shared>, index: u32) -> Self {
        let machine = &shared.machine;
        let (cluster, hpu) = (index / machine.cluster.cores, index % machine.cluster.cores);
        let block = block::address(index) as *mut Block;
        let stack = block as u32 + block::STACK_OFFSET as u32;
        let stack_bytes = (block::SPAN_BYTES - block::STACK_OFFSET) as u32;
        let ports = Box::into_raw(Box::new(Ports {
            outbox: Outbox::default(),
            context: ptr::null(),
            context_id: 0,
            message: 0,
            packet: 0,
            l1_packet: (0, 0),
            l2_packet: (0, 0),
            common: [(machine.l2_handler.base, L2_STATIC_BYTES), (stack, stack_bytes)],
            clusters: (machine.l1.stride, machine.cluster.count),
            max_packet_bytes: machine.inbound.max_packet_bytes,
            host_offset: shared.memory.host_offset(),
            frequency_mhz: machine.clock.frequency_mhz,
            start: shared.start,
            timed: shared.timed,
            first_sent_ns: None,
        }));
        let words = TaskWords::of(machine);
        let slot = machine.l1.packet_buffer_bytes / machine.cluster.cores / 64 * 64;
        let l1 = machine.l1.base + cluster * machine.l1.stride;
        // SAFETY: the block is mapped, zeroed, and this worker's alone.
        unsafe {
            (*block).hart = cluster << 5 | hpu;
            (*block).args = [(block as usize + words.start * 4) as u32, index, cluster, hpu];
            (*block).ports = ports;
            (*block).code = shared.memory.code();
        }
        Self {
            shared: Arc::clone(shared),
            block,
            ports,
            index,
            l1_packet: l1 + machine.packet_buffer_offset() + hpu * slot,
            words,
        }
    }

    /// Gives its block.
    pub fn block(&self) -> *mut Block {
        self.block
    }

    /// Gives what came out of its handlers.
    pub fn outbox(&mut self) -> &mut Outbox {
        // SAFETY: no handler runs, or this worker would be borrowed.
        unsafe { &mut (*self.ports).outbox }
    }

    /// Runs a job.
    #[inline]
    pub fn run(&mut self, job: Job) -> Done {
        let shared = &*self.shared;
        let context = &shared.contexts[job.context as usize];
        let (l1_bytes, limit_cycles) = (job.bytes.min(context.l1_bytes), context.limit_cycles);
        // SAFETY: block, ports and the packet's places are this worker's alone until the handler
        // returns; the packet's slot in L2 and in L1 are as large as the largest packet.
        unsafe {
            let source = job.l2_address as *const u8;
            ptr::copy_nonoverlapping(source, self.l1_packet as *mut u8, l1_bytes as usize);
            let driver = &mut (*self.block).driver;
            let task = &mut driver[self.words.start..][..context.task.len()];
            task.copy_from_slice(&context.task);
            let at = self.words.packet();
            driver[at] = self.l1_packet;
            driver[at + 1] = l1_bytes;
            let at = self.words.l2_packet();
            driver[at] = job.l2_address;
            driver[at + 1] = job.message % shared.machine.cluster.count;
            driver[at + 2] = job.message;
            let ports = &mut *self.ports;
            ports.context = context;
            ports.context_id = job.context;
            ports.message = job.message;
            ports.packet = job.packet;
            ports.l1_packet = (self.l1_packet, l1_bytes);
            ports.l2_packet = (job.l2_address, job.bytes);
            ports.first_sent_ns = None;
            (*self.block).limit_ns.store(context.limit_ns, Relaxed);
        }
        let start_ns = self.now_ns();
        let failed = self.call(job.handler);
        let end_ns = self.now_ns();
        if failed {
            self.report(limit_cycles);
        }
        // SAFETY: the handler is over.
        let sent_ns = unsafe { (*self.ports).first_sent_ns };
        Done { job, worker: self.index, failed, start_ns, end_ns, sent_ns }
    }

    /// Runs the application's own initialisation.
    pub fn run_init(&mut self, start: u32, context: &ContextLayout) -> bool {
        // SAFETY: no handler runs.
        unsafe {
            let driver = &mut (*self.block).driver;
            let task = &mut driver[self.words.start..][..context.task.len()];
            task.copy_from_slice(&context.task);
            (*self.ports).context = context;
            (*self.block).limit_ns.store(context.limit_ns, Relaxed);
        }
        let failed = self.call(start);
        if failed {
            self.report(context.limit_cycles);
        }
        !failed
    }

    /// Calls a handler; tells whether it crashed or was stopped.
    #[inline]
    fn call(&mut self, handler: u32) -> bool {
        // SAFETY: the handler is code of the program, the stack is this worker's, and whatever the
        // handler does ends here: by returning, or by a signal that leaves it.
        unsafe {
            let block = self.block;
            let sequence = (*block).sequence.load(Relaxed) + 1;
            (*block).sequence.store(sequence, Relaxed);
            (*block).state.store(HANDLER, Relaxed);
            compiler_fence(SeqCst);
            let left = pinion_native_enter(block.cast(), handler, block::stack_top(block as u64));
            compiler_fence(SeqCst);
            (*block).state.store(IDLE, Relaxed);
            (*block).sequence.store(sequence + 1, Relaxed);
            left != 0
        }
    }

    fn now_ns(&self) -> u64 {
        match self.shared.timed {
            true => self.shared.start.elapsed().as_nanos() as u64,
            false => 0,
        }
    }

    #[cold]
    fn report(&mut self, limit_cycles: u64) {
        // SAFETY: the handler is over; the signal handler has described its end.
        unsafe {
            let block = &mut *self.block;
            let stopped = block.condemned.load(Relaxed) + 1 == block.sequence.load(Relaxed);
            let crash = std::mem::take(&mut block.fault);
            let fault = match stopped {
                true => Fault::Watchdog { limit_cycles },
                false => Fault::Exception { cause: cause(&crash) },
            };
            let pc = if crash.signal == libc::SIGTRAP { crash.pc - 1 } else { crash.pc };
            let address = if crash.signal == STOP { 0 } else { crash.address };
            (*self.ports).fail(fault, pc as u32, address as u32);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`, and no handler will run any more.
        drop(unsafe { Box::from_raw(self.ports) });
    }
}

/// Gives the RISC-V exception code that says the same (privileged architecture, `mcause`).
fn cause(crash: &Crash) -> u32 {
    /// Bits of the processor's page-fault error code: a write, an instruction fetch.
    const WRITE: u64 = 1 << 1;
    const FETCH: u64 = 1 << 4;
    match crash.signal {
        libc::SIGILL => 2,
        libc::SIGTRAP => 3,
        libc::SIGFPE => ARITHMETIC_CAUSE,
        _ if crash.code & FETCH != 0 => 1,
        _ if crash.code & WRITE != 0 => 7,
        _ => 5,
    }
}
