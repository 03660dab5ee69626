//! A worker: what an HPU is on the NIC. Takes a job (a handler and its packet), copies the packet to
//! its place in L1, fills the task, calls the handler, and says how it went.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::compiler_fence;
use std::time::Instant;

use pinion_spin::{Fault, HandlerKind, Machine};

use crate::block::{self, Block, Crash, HANDLER, IDLE};
use crate::enter::pinion_native_enter;
use crate::entry::Entry;
use crate::instructions::Counter;
use crate::layout::{ContextLayout, L2_STATIC_BYTES, TaskWords};
use crate::memory::Memory;
use crate::outbox::{Outbox, Ports};
use crate::scene::{self, Stop};
use crate::signals::{self, STOP};

/// The cause given to an integer division by zero or an overflowing one, which this computer
/// traps and RISC-V does not: a number left to the implementation.
pub const ARITHMETIC_CAUSE: u32 = 26;

/// The cause given to a call of the kernel, which handlers behind walls may not make.
pub const SYSTEM_CALL_CAUSE: u32 = 27;

/// Jobs that may wait to be run one after the other.
const MOST_WAITING: usize = 64;

/// What a handler is given.
#[derive(Clone, Copy, Debug, Default)]
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
    /// Its part of the packet buffer in L1, the bytes of it, and those that packets which wait have.
    l1_packet: u32,
    l1_bytes: u32,
    l1_taken: u32,
    /// The jobs that wait.
    entries: Vec<Entry>,
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
            entry: Entry::NONE,
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
            (*block).is_wide = words.is_wide().into();
        }
        Self {
            shared: Arc::clone(shared),
            block,
            ports,
            index,
            l1_packet: l1 + machine.packet_buffer_offset() + hpu * slot,
            l1_bytes: slot,
            l1_taken: 0,
            entries: Vec::with_capacity(MOST_WAITING),
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

    /// Runs a handler of this context at once; none waits.
    #[inline]
    pub fn execute(&mut self, context: &ContextLayout, job: Given) -> Ran {
        self.add(context, job);
        // SAFETY: no handler runs.
        unsafe { (*self.ports).first_sent_ns = None };
        let start_ns = self.now_ns();
        let before = self.counter.as_mut().map_or(0, Counter::read);
        let failed = self.enter(0);
        let instructions = self.counter.as_mut().map_or(0, |counter| counter.since(before));
        let end_ns = self.now_ns().saturating_sub(self.clock_ns).max(start_ns);
        if failed.is_some() {
            self.report();
        }
        self.empty();
        // SAFETY: the handler is over.
        let sent_ns = unsafe { (*self.ports).first_sent_ns };
        Ran { failed: failed.is_some(), start_ns, end_ns, sent_ns, instructions }
    }

    /// Tells whether there is room for another packet beside those that wait.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        let room = self.l1_bytes - self.l1_taken;
        let most = if self.words.is_wide() { 1 } else { MOST_WAITING };
        self.entries.len() < most && bytes <= room as usize
    }

    /// Puts a job behind those that wait, for which there must be room, with its packet in L1.
    #[inline]
    pub fn add(&mut self, context: &ContextLayout, job: Given) {
        self.add_with(context, job, None);
    }

    /// Does the same with a packet that is not in L2 yet either: both places are written at once.
    #[inline]
    pub fn add_new(&mut self, context: &ContextLayout, job: Given, packet: &[u8]) {
        self.add_with(context, job, Some(packet));
    }

    #[inline(always)]
    fn add_with(&mut self, context: &ContextLayout, job: Given, new: Option<&[u8]>) {
        let bytes = job.bytes.min(context.l1_bytes);
        let at = self.l1_packet + self.l1_taken;
        let home = match self.clusters.is_power_of_two() {
            true => job.queue & (self.clusters - 1),
            false => job.queue % self.clusters,
        };
        let entry = Entry {
            context,
            handler: job.handler,
            queue: job.queue,
            l1_packet: [at, bytes],
            l2_packet: [job.l2_address, home],
            bytes: job.bytes,
            context_id: job.context,
            packet: job.packet,
            message: job.message,
        };
        self.l1_taken += bytes.next_multiple_of(BLOCK_BYTES as u32);
        // SAFETY: the packet's places are this worker's alone until the handler has returned, and are
        // rounded up to blocks; no handler runs.
        unsafe {
            if let Some(packet) = new {
                place(packet, job.l2_address);
                place(packet.get(..bytes as usize).unwrap_or(packet), at);
            } else {
                copy_blocks(job.l2_address as *const u8, at as *mut u8, bytes as usize);
            }
            if self.words.is_wide() {
                let driver = &mut (*self.block).driver;
                let words = self.words.count();
                driver[self.words.start..][..words].copy_from_slice(&context.task[..words]);
                driver[self.words.packet()..][..2].copy_from_slice(&entry.l1_packet);
                let l2_words = &mut driver[self.words.l2_packet()..][..3];
                l2_words[..2].copy_from_slice(&entry.l2_packet);
                l2_words[2] = entry.queue;
            }
        }
        self.entries.push(entry);
    }

    /// Runs what waits; handlers' ends are in the outbox.
    pub fn run_waiting(&mut self) {
        let mut first = 0;
        while let Some(failed) = self.enter(first) {
            self.report();
            first = failed + 1;
        }
        self.empty();
    }

    fn empty(&mut self) {
        self.entries.clear();
        self.l1_taken = 0;
    }

    /// Runs the application's own initialisation.
    pub fn run_init(&mut self, start: u32, context: &ContextLayout) {
        self.add(context, Given { handler: start, ..Given::default() });
        self.run_waiting();
    }

    /// Calls the handlers that wait from the `first` on; gives the first of them that crashed or was stopped,
    /// behind which none has been called.
    #[inline]
    fn enter(&mut self, first: usize) -> Option<usize> {
        let entries = self.entries.get(first..).filter(|entries| !entries.is_empty())?;
        let range = entries.as_ptr_range();
        // SAFETY: the handlers are code of the program, the stack is this worker's, and whatever a handler
        // does ends here: by returning, or by a signal that leaves it.
        unsafe {
            let block = self.block;
            (*block).state.store(HANDLER, Relaxed);
            compiler_fence(SeqCst);
            let stack = block::stack_top(block as u64);
            let (from, behind) = (range.start.cast(), range.end.cast());
            let left = pinion_native_enter(block.cast(), from, behind, stack);
            compiler_fence(SeqCst);
            (*block).state.store(IDLE, Relaxed);
            if left == 0 {
                return None;
            }
            let running = (*block).sequence.load(Relaxed) | 1;
            (*block).sequence.store(running + 1, Relaxed);
            Some(first + (*block).entry.offset_from_unsigned(range.start))
        }
    }

    fn now_ns(&self) -> u64 {
        match self.timed {
            true => self.shared.start.elapsed().as_nanos() as u64,
            false => 0,
        }
    }

    /// Notes how the handler ended that was left.
    #[cold]
    fn report(&mut self) {
        // SAFETY: the handler is over; the signal handler has described its end.
        unsafe {
            let block = &mut *self.block;
            (*self.ports).entry = *block.entry;
            let limit_cycles = (*(*block.entry).context).limit_cycles;
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

/// Puts a packet into its place in L2 or L1.
///
/// # Safety
/// The place has room for it and nobody else touches it.
#[inline]
pub unsafe fn place(packet: &[u8], slot: u32) {
    type Block = [u8; BLOCK_BYTES];
    let (from, to, bytes) = (packet.as_ptr(), slot as *mut u8, packet.len());
    // SAFETY: the caller's promise; blocks lie within the packet, the last one ends with it.
    unsafe {
        if bytes < BLOCK_BYTES {
            return std::ptr::copy_nonoverlapping(from, to, bytes);
        }
        let last = bytes - BLOCK_BYTES;
        let copy = |at: usize| {
            to.add(at).cast::<Block>().write(from.add(at).cast::<Block>().read());
        };
        (0..last).step_by(BLOCK_BYTES).for_each(copy);
        copy(last);
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
