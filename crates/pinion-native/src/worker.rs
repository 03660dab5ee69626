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
use crate::instructions::Counter;
use crate::layout::{ContextLayout, L2_STATIC_BYTES, PUBLISHED_WORDS, TaskWords};
use crate::memory::Memory;
use crate::outbox::{Outbox, Ports};
use crate::scene::{self, Stop};
use crate::signals::{self, STOP};

/// The cause given to an integer division by zero or an overflowing one, which this computer
/// traps and RISC-V does not: a number left to the implementation.
pub const ARITHMETIC_CAUSE: u32 = 26;

/// The cause given to a call of the kernel, which handlers behind walls may not make.
pub const SYSTEM_CALL_CAUSE: u32 = 27;

/// What a handler is given.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// The handler's address.
    pub handler: u32,
    /// Its context.
    pub context: u32,
    /// Its message.
    pub message: u32,
    /// Its message's queue, by which handlers know the message.
    pub queue: u32,
    /// Numbers its packet.
    pub packet: u64,
    /// The packet's place in L2.
    pub l2_address: u32,
    /// Number of the packet's bytes.
    pub bytes: u32,
}

/// Describes a handler to run, and what comes after it.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// What the handler is given.
    pub given: Given,
    /// Its kind.
    pub kind: HandlerKind,
    /// The packet's slot.
    pub slot: u32,
    /// Whether the packet is done with this job.
    pub frees: bool,
}

/// Says how a job went.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// The job.
    pub job: Job,
    /// Numbers the worker.
    pub worker: u32,
    /// How it went.
    pub ran: Ran,
}

/// Says how a handler went.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// Whether the handler failed.
    pub failed: bool,
    /// When it began, in nanoseconds since the engine began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// When it sent its first packet.
    pub sent_ns: Option<u64>,
    /// Number of the instructions it retired, where they are counted.
    pub instructions: u64,
}

/// Holds what workers share and nobody changes.
pub struct Shared {
    /// The memory.
    pub memory: Memory,
    /// Lays the contexts out.
    pub contexts: Vec<ContextLayout>,
    /// The machine.
    pub machine: Machine,
    /// When the engine began.
    pub start: Instant,
    /// Whether times are taken.
    pub timed: bool,
    /// Whether instructions are counted.
    pub counted: bool,
}

/// Runs handlers.
pub struct Worker {
    shared: Arc<Shared>,
    block: *mut Block,
    /// Belongs to services while a handler runs: reached through this pointer alone.
    ports: *mut Ports,
    index: u32,
    l1_packet: u32,
    clusters: u32,
    timed: bool,
    /// What it takes to ask for the time, which a handler's time would have on top.
    clock_ns: u64,
    counter: Option<Counter>,
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
        let code = shared.memory.code();
        let ports = Box::into_raw(Box::new(Ports {
            outbox: Outbox::default(),
            context: ptr::null(),
            handler: 0,
            context_id: 0,
            message: 0,
            packet: 0,
            l1_packet: (0, 0),
            l2_packet: (0, 0),
            common: [(machine.l2_handler.base, L2_STATIC_BYTES), (stack, stack_bytes)],
            clusters: (machine.l1.stride, machine.cluster.count),
            code: (code.0 as u32, (code.1 - code.0) as u32),
            max_packet_bytes: machine.inbound.max_packet_bytes,
            host_offset: shared.memory.host_offset(),
            frequency_mhz: machine.clock.frequency_mhz,
            start: shared.start,
            timed: shared.timed,
            first_sent_ns: None,
            trail: Vec::new(),
        }));
        let words = TaskWords::of(machine);
        let slot = l1_slot_bytes(machine);
        let l1 = machine.l1.base + cluster * machine.l1.stride;
        // SAFETY: the block is mapped, zeroed, and this worker's alone.
        unsafe {
            (*block).hart = cluster << 5 | hpu;
            (*block).args = [(block as usize + words.start * 4) as u32, index, cluster, hpu];
            (*block).ports = ports;
            (*block).code = code;
        }
        Self {
            shared: Arc::clone(shared),
            block,
            ports,
            index,
            l1_packet: l1 + machine.packet_buffer_offset() + hpu * slot,
            clusters: machine.cluster.count,
            timed: shared.timed,
            clock_ns: if shared.timed { clock_ns() } else { 0 },
            counter: None,
            words,
        }
    }

    /// Takes the calling thread as its own: signals, and the counter of instructions if asked for.
    pub fn settle_down(&mut self) {
        signals::adopt(self.block);
        if self.shared.counted {
            self.counter = Counter::open();
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
    pub fn run(&mut self, job: Job) -> Done {
        let shared = Arc::clone(&self.shared);
        let context = &shared.contexts[job.given.context as usize];
        let ran = self.execute(context, job.given);
        Done { job, worker: self.index, ran }
    }

    /// Runs a handler of this context.
    #[inline]
    pub fn execute(&mut self, context: &ContextLayout, job: Given) -> Ran {
        let l1_bytes = job.bytes.min(context.l1_bytes);
        // SAFETY: block, ports and the packet's places are this worker's alone until the handler
        // returns; the packet's slots in L2 and in L1 are as large as the largest packet, rounded up
        // to blocks.
        unsafe {
            copy_blocks(job.l2_address as *const u8, self.l1_packet as *mut u8, l1_bytes as usize);
            let driver = &mut (*self.block).driver;
            self.fill_task(driver, context);
            let at = self.words.packet();
            driver[at] = self.l1_packet;
            driver[at + 1] = l1_bytes;
            let at = self.words.l2_packet();
            driver[at] = job.l2_address;
            driver[at + 1] = job.queue % self.clusters;
            driver[at + 2] = job.queue;
            let ports = &mut *self.ports;
            ports.context = context;
            ports.handler = job.handler;
            ports.context_id = job.context;
            ports.message = job.message;
            ports.packet = job.packet;
            ports.l1_packet = (self.l1_packet, l1_bytes);
            ports.l2_packet = (job.l2_address, job.bytes);
            ports.first_sent_ns = None;
            (*self.block).limit_ns.store(context.limit_ns, Relaxed);
        }
        let start_ns = self.now_ns();
        let before = self.counter.as_mut().map_or(0, Counter::read);
        let failed = self.call(job.handler);
        let instructions = self.counter.as_mut().map_or(0, |counter| counter.since(before));
        let end_ns = self.now_ns().saturating_sub(self.clock_ns).max(start_ns);
        if failed {
            self.report(context.limit_cycles);
        }
        // SAFETY: the handler is over.
        let sent_ns = unsafe { (*self.ports).first_sent_ns };
        Ran { failed, start_ns, end_ns, sent_ns, instructions }
    }

    /// Writes what tasks of a context have in common.
    #[inline]
    fn fill_task(&self, driver: &mut [u32; 128], context: &ContextLayout) {
        let start = self.words.start;
        match self.words.count() {
            PUBLISHED_WORDS => {
                let (from, to) = (&context.task[..PUBLISHED_WORDS], &mut driver[start..]);
                to[..PUBLISHED_WORDS].copy_from_slice(from);
            }
            words => driver[start..start + words].copy_from_slice(&context.task[..words]),
        }
    }

    /// Runs the application's own initialisation.
    pub fn run_init(&mut self, start: u32, context: &ContextLayout) -> bool {
        // SAFETY: no handler runs.
        unsafe {
            let driver = &mut (*self.block).driver;
            self.fill_task(driver, context);
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
        match self.timed {
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
            let stop = match crash.signal {
                0 => scene::of_call(block.call_stack), // stopped when a service was done
                _ => Stop { pc: pc as u32, registers: crash.registers, refused: None },
            };
            let trail = &mut block.trail;
            let steps =
                if stopped { &trail.steps[..std::mem::take(&mut trail.count)] } else { &[] };
            (*self.ports).trail = steps.to_vec();
            (*self.ports).fail(fault, address as u32, stop);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`, and no handler will run any more.
        drop(unsafe { Box::from_raw(self.ports) });
    }
}

/// Finds out what asking for the time takes.
fn clock_ns() -> u64 {
    let start = Instant::now();
    let between = || {
        let before = start.elapsed();
        (start.elapsed() - before).as_nanos() as u64
    };
    (0..256).map(|_| between()).min().unwrap_or(0)
}

/// Copies packets in blocks of so many bytes.
pub const BLOCK_BYTES: usize = 64;

/// Gives the bytes that a worker has for a packet in L1: the packet buffer, divided among the cores.
pub fn l1_slot_bytes(machine: &Machine) -> u32 {
    let share = machine.l1.packet_buffer_bytes / machine.cluster.cores;
    share / BLOCK_BYTES as u32 * BLOCK_BYTES as u32
}

/// Copies whole blocks: fewer decisions than a copy to the byte.
///
/// # Safety
/// Both places have room for `bytes` rounded up to blocks, and do not overlap.
#[inline]
unsafe fn copy_blocks(from: *const u8, to: *mut u8, bytes: usize) {
    let (from, to) = (from.cast::<[u8; BLOCK_BYTES]>(), to.cast::<[u8; BLOCK_BYTES]>());
    for block in 0..bytes.div_ceil(BLOCK_BYTES) {
        // SAFETY: the caller's promise; arrays of bytes need no alignment.
        unsafe { to.add(block).write(from.add(block).read()) };
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
        libc::SIGSYS => SYSTEM_CALL_CAUSE,
        _ if crash.code & FETCH != 0 => 1,
        _ if crash.code & WRITE != 0 => 7,
        _ => 5,
    }
}
