//! A worker: what an HPU is on the NIC. Takes a job (a handler and its packet), copies the packet to
//! its place in L1, fills the task, calls the handler, and says how it went.

use std::ops::Range;
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
use crate::row::{self, BLOCK_BYTES, Given, Row, place};
use crate::scene::{self, Stop};
use crate::signals::{self, STOP};

/// The cause given to an integer division by zero or an overflowing one, which this computer
/// traps and RISC-V does not: a number left to the implementation.
pub const ARITHMETIC_CAUSE: u32 = 26;

/// The cause given to a call of the kernel, which handlers behind walls may not make.
pub const SYSTEM_CALL_CAUSE: u32 = 27;

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
    /// The jobs that wait: where their packets lie, and what their handlers are to be called with.
    row: Row,
    entries: Box<[Entry]>,
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
        let clusters = machine.cluster.count;
        let (cluster, hpu) = (index / machine.cluster.cores, index % machine.cluster.cores);
        let block = block::address(index) as *mut Block;
        let stack = block as u32 + block::STACK_OFFSET as u32;
        let stack_bytes = (block::SPAN_BYTES - block::STACK_OFFSET) as u32;
        let code = shared.memory.code();
        let ports = Box::into_raw(Box::new(Ports {
            outbox: Outbox::default(),
            entry: Entry::NONE,
            common: [(machine.l2_handler.base, L2_STATIC_BYTES), (stack, stack_bytes)],
            clusters: (machine.l1.stride, clusters),
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
        let l1_end = l1 + machine.packet_buffer_offset() + (hpu + 1) * slot;
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
            row: Row::new((l1_end, slot), clusters),
            entries: row::entries(words.is_wide()),
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
        self.row.clear();
        // SAFETY: the handler is over.
        let sent_ns = unsafe { (*self.ports).first_sent_ns };
        Ran { failed: failed.is_some(), start_ns, end_ns, sent_ns, instructions }
    }

    /// Gives it a part of the packet buffer in L2, for packets that nobody else puts there.
    pub fn reserve(&mut self, slots: Range<u32>) {
        self.row.reserve(slots);
    }

    /// Lends where packets wait; [`Self::keep`] takes it back. None where a task has more words than the
    /// published one, for then none can wait with others, or where a message's home cluster is not among its
    /// queue's bits.
    #[inline]
    pub fn row(&self) -> Option<Row> {
        (!self.words.is_wide() && self.row.has_home_bits()).then_some(self.row)
    }

    /// Lends what the row's handlers are to be called with.
    #[inline]
    pub fn entries(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    /// Keeps what has come to the row.
    #[inline]
    pub fn keep(&mut self, row: Row) {
        self.row = row;
    }

    /// Gives where the next packet is to lie in L2 that nobody else puts there.
    pub fn next_in_l2(&self) -> u32 {
        self.row.next_in_l2()
    }

    /// Counts the packets that wait.
    #[inline]
    pub fn waiting(&self) -> u64 {
        self.row.waiting() as u64
    }

    /// Puts a job behind those that wait, for which there must be room, with its packet, which lies in L2, in L1.
    #[inline]
    fn add(&mut self, context: &ContextLayout, job: Given) {
        let bytes = job.bytes.min(context.l1_bytes);
        if bytes > 0 {
            // SAFETY: the packet's places are this worker's alone until the handler has returned; no handler runs.
            unsafe {
                let l2 = job.l2_address as *const u8;
                let packet = std::slice::from_raw_parts(l2, bytes as usize);
                place(packet, [self.row.next_in_l1()]);
            }
        }
        let home = self.row.home(job.queue);
        self.row.note(&mut self.entries, context, job, (bytes, home));
        if self.words.is_wide() {
            self.write_wide_task(&context.task);
        }
    }

    /// Writes the only task that waits where it has more words than the published one.
    #[cold]
    fn write_wide_task(&mut self, task: &[u32]) {
        let Some(entry) = self.entries.first() else { return };
        // SAFETY: no handler runs.
        let driver = unsafe { &mut (*self.block).driver };
        let words = self.words.count();
        driver[self.words.start..][..words].copy_from_slice(&task[..words]);
        driver[self.words.packet()..][..2].copy_from_slice(&entry.l1_packet);
        let l2_words = &mut driver[self.words.l2_packet()..][..3];
        l2_words[..2].copy_from_slice(&entry.l2_packet);
        l2_words[2] = entry.queue;
    }

    /// Runs what waits; handlers' ends are in the outbox.
    pub fn run_waiting(&mut self) {
        let mut first = 0;
        while let Some(failed) = self.enter(first) {
            self.report();
            first = failed + 1;
        }
        self.row.clear();
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
        let entries = self.entries.get(first..self.row.waiting())?;
        if entries.is_empty() {
            return None;
        }
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

/// Gives the bytes that a worker has for a packet in L1: the packet buffer, divided among the cores.
pub fn l1_slot_bytes(machine: &Machine) -> u32 {
    let share = machine.l1.packet_buffer_bytes / machine.cluster.cores;
    share / BLOCK_BYTES as u32 * BLOCK_BYTES as u32
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
