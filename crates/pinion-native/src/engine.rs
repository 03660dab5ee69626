//! The engine: a frame's way from matching to its message's handlers.
//!
//! With one worker everything runs on the caller's thread, packets that are messages of their own some at
//! a time, others one by one; with more, this thread matches, keeps messages in order and hands jobs out,
//! and the workers' threads run handlers.

mod alone;
mod start;
mod tell;

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use pinion_isa::elf::Image;
use pinion_sim::Time;
use pinion_spin::listener::DropReason;
use pinion_spin::matching::{MatchingEngine, Verdict};
use pinion_spin::{ContextId, Event, ExecutionContext, Listener, Machine, Totals};

use crate::crew::{Crew, Results};
use crate::error::NativeError;
use crate::layout::ContextLayout;
use crate::memory::Memory;
use crate::mpq::{Mpq, Task};
use crate::outbox::Outbox;
use crate::packets::{Packet, Packets};
use crate::row::{Given, place};
use crate::watchdog::{FLOOR_NS, Watchdog};
use crate::worker::{Done, Job, Ran, Shared, Worker, l1_slot_bytes};
use crate::{services, signals};
use alone::Filled;
use start::{check_cluster_data, initialise, man};
use tell::{tell_handler, tell_packet};

/// Looks for results after so many frames.
const FRAMES_PER_LOOK: u64 = 64;

/// Says what to run.
pub struct Setup<'a> {
    /// The machine, for its memories and limits.
    pub machine: &'a Machine,
    /// The program, linked with the SDK's native runtime.
    pub image: &'a Image,
    /// The contexts.
    pub contexts: &'a [ExecutionContext],
    /// Matches packets to contexts.
    pub matching: MatchingEngine,
    /// Number of workers.
    pub workers: u32,
    /// Whether to take times and report each packet.
    pub observed: bool,
    /// Whether to report each handler too; needs times.
    pub handlers: bool,
    /// Whether to count handlers' instructions, where the system lets: two system calls a
    /// handler.
    pub counted: bool,
}

/// A frame that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Its bytes from the first header on.
    pub bytes: &'a [u8],
    /// Number of bytes in front that handlers do not see.
    pub skip: u32,
    /// Whatever the source wants to see again.
    pub tag: u64,
}

enum Workers {
    Inline(Box<Worker>),
    Threads(Crew),
}

/// Runs packet handlers on this computer.
pub struct Engine {
    matching: MatchingEngine,
    mpq: Mpq,
    packets: Packets,
    watchdog: Option<Watchdog>,
    workers: Workers,
    spare: Outbox,
    totals: Totals,
    busy_ns: u64,
    /// The number of the first packet that waits to be run, or of the next one.
    next_number: u64,
    is_inline: bool,
    /// Whether packets that are messages of their own may wait for each other.
    may_wait: bool,
    /// Bytes of the largest packet.
    most_bytes: usize,
    handlers: bool,
    shared: Arc<Shared>,
    /// The inline worker's signals belong to the thread that made the engine.
    not_send: PhantomData<*mut ()>,
}

impl Engine {
    /// Maps memories, loads the program, starts the workers and runs `init_handlers`.
    ///
    /// # Errors
    /// When another engine runs in this process, or program, contexts and workers do not fit.
    pub fn new(setup: Setup<'_>) -> Result<Self, NativeError> {
        let machine = setup.machine;
        let workers = setup.workers.max(1);
        if workers > machine.hpus() {
            return Err(NativeError::TooManyWorkers { workers, hpus: machine.hpus() });
        }
        let (bytes, slot) = (machine.inbound.max_packet_bytes, l1_slot_bytes(machine));
        if bytes > slot {
            return Err(NativeError::PacketTooLarge { bytes, slot });
        }
        check_cluster_data(setup.image, machine, workers)?;
        let memory = Memory::new(machine, setup.contexts, workers)?;
        services::connect(&memory, setup.image)?;
        memory.load(setup.image)?;
        services::connect(&memory, setup.image)?;
        for context in setup.contexts {
            if !memory.write(context.handler_memory_address, &context.handler_memory_image) {
                return Err(NativeError::BadContext(context.name.clone()));
            }
        }
        let layout = |context| ContextLayout::new(machine, context, FLOOR_NS);
        let contexts = (0..).zip(setup.contexts).map(layout).collect();
        let shared = Arc::new(Shared {
            memory,
            contexts,
            machine: machine.clone(),
            start: Instant::now(),
            timed: setup.observed,
            counted: setup.counted,
        });
        signals::install();
        let mut crew: Vec<Worker> = (0..workers).map(|index| Worker::new(&shared, index)).collect();
        let outbox = initialise(&mut crew[0], setup.image, machine)?;
        let mut packets = Packets::new(machine);
        crew[0].reserve(packets.reserve(alone::SLOTS));
        let (workers, watched) = man(crew)?;
        Ok(Self {
            matching: setup.matching,
            mpq: Mpq::new(machine.mpq.count),
            packets,
            watchdog: Some(Watchdog::start(watched)?),
            workers,
            spare: outbox,
            totals: Totals::default(),
            busy_ns: 0,
            next_number: 0,
            is_inline: setup.workers <= 1,
            may_wait: setup.workers <= 1 && !setup.observed,
            most_bytes: bytes as usize,
            handlers: setup.handlers,
            shared,
            not_send: PhantomData,
        })
    }

    /// Takes a frame; what becomes of it is told now or later.
    pub fn offer(&mut self, frame: Incoming<'_>, listener: &mut dyn Listener) {
        self.offer_all([frame], listener);
    }

    /// Takes frames as if they were offered one after the other: what short handlers cost is least where there
    /// are many.
    #[inline]
    pub fn offer_all<'a>(
        &mut self,
        frames: impl IntoIterator<Item = Incoming<'a>>,
        listener: &mut dyn Listener,
    ) {
        let mut frames = frames.into_iter();
        loop {
            match self.fill(&mut frames) {
                Filled::End => return,
                Filled::Look => {}
                Filled::Other(frame, matched, id) => self.take(frame, matched, id, listener),
            }
            if self.totals.packets_in.is_multiple_of(FRAMES_PER_LOOK) {
                self.collect(false, listener);
            }
        }
    }

    /// Takes a frame that goes none of the shortest ways, of a context whose rules it matches, and with its
    /// message's id if it has one already.
    #[inline(never)]
    fn take(
        &mut self,
        Incoming { bytes: frame, skip, tag }: Incoming<'_>,
        matched: Option<u32>,
        id: Option<u32>,
        listener: &mut dyn Listener,
    ) {
        let verdict = match (matched, id) {
            (Some(context), Some(id)) => Verdict::alone(context, id),
            _ => self.matching.classify_matched(frame, matched),
        };
        let Verdict::Matched { context, message, end_of_message } = verdict else {
            self.totals.unmatched += 1;
            let time = self.time();
            return listener.hear(&Event::Unmatched { time, frame });
        };
        self.run_waiting();
        self.totals.matched += 1;
        let seen = frame.get(skip as usize..).unwrap_or(&[]);
        if seen.len() > self.most_bytes {
            return self.drop_frame(frame, DropReason::TooLarge, listener);
        }
        let number = self.next_number;
        self.next_number += 1;
        let alone = match end_of_message && self.is_inline {
            true => self.mpq.queue_of_alone((context, message.id)),
            false => None,
        };
        let packet = Packet {
            number,
            tag,
            context,
            message: message.id,
            bytes: seen.len() as u32,
            end_of_message,
            arrival_ns: self.now_ns(),
            ..Packet::default()
        };
        match alone {
            Some(queue) => self.run_alone(packet, queue, seen, listener),
            None => self.enqueue(packet, seen, frame, listener),
        }
    }

    /// Puts a packet into the packet buffer and into its message's queue.
    fn enqueue(&mut self, packet: Packet, seen: &[u8], frame: &[u8], listener: &mut dyn Listener) {
        while self.packets.is_full() {
            self.collect(true, listener);
        }
        let Some(slot) = self.packets.take(packet) else { return };
        // SAFETY: the slot is this packet's, is as large as the largest packet, and no handler has it.
        unsafe { place(seen, [self.packets.address(slot)]) };
        if self.join_message(slot, packet.context, listener) {
            self.run_ready(listener);
        } else {
            self.packets.free(slot);
            self.next_number -= 1;
            self.drop_frame(frame, DropReason::NoQueue, listener);
        }
    }

    /// Lets workers get on with what they have; tells what came out so far.
    pub fn poll(&mut self, listener: &mut dyn Listener) {
        self.collect(false, listener);
    }

    /// Waits until no packet is inside.
    pub fn settle(&mut self, listener: &mut dyn Listener) {
        self.collect(false, listener);
        while self.packets.inside() > 0 && self.mpq.running() > 0 {
            self.collect(true, listener);
        }
    }

    /// Gives the counters; [`Totals::conserved`] checks them.
    pub fn totals(&self) -> Totals {
        let mhz = u128::from(self.shared.machine.clock.frequency_mhz);
        Totals {
            matched: self.totals.matched + self.waiting(),
            resident: self.packets.inside() + self.waiting(),
            busy_cycles: (u128::from(self.busy_ns) * mhz / 1000) as u64,
            ..self.totals.clone()
        }
    }

    /// Gives the time since the engine began, which its events count from.
    pub fn time(&self) -> Time {
        Time::from_ns(self.shared.start.elapsed().as_nanos() as u64)
    }

    /// Copies host memory out; `false`: it lies outside the contexts' windows.
    pub fn read_host(&mut self, address: u64, to: &mut [u8]) -> bool {
        self.run_waiting();
        self.shared.memory.read_host(address, to)
    }

    /// Copies into host memory; `false`: it lies outside the contexts' windows.
    pub fn write_host(&mut self, address: u64, from: &[u8]) -> bool {
        self.run_waiting();
        self.shared.memory.write_host(address, from)
    }

    fn now_ns(&self) -> u64 {
        match self.shared.timed {
            true => self.shared.start.elapsed().as_nanos() as u64,
            false => 0,
        }
    }

    #[cold]
    fn drop_frame(&mut self, frame: &[u8], reason: DropReason, listener: &mut dyn Listener) {
        match self.totals.dropped.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => self.totals.dropped.push((reason, 1)),
        }
        let time = self.time();
        listener.hear(&Event::Dropped { time, reason, frame });
    }

    /// Puts a packet into its message's queue; `false`: there is none.
    fn join_message(&mut self, slot: u32, context: u32, listener: &mut dyn Listener) -> bool {
        let handlers = self.shared.contexts[context as usize].handlers;
        while !self.mpq.accept(slot, &mut self.packets, handlers) {
            if self.mpq.running() > 0 {
                self.collect(true, listener);
                continue;
            }
            // Nothing will end by itself: the message that has waited longest is given up.
            let Some((context, message)) = self.mpq.evict() else { return false };
            self.matching.end_message(context, message);
            self.totals.evicted += 1;
            let (time, context) = (self.time(), ContextId(context));
            listener.hear(&Event::MessageEvicted { time, context, message });
        }
        true
    }

    /// Runs, or hands out, every handler that may run now.
    fn run_ready(&mut self, listener: &mut dyn Listener) {
        loop {
            if let Workers::Threads(crew) = &self.workers
                && !crew.has_room()
            {
                return; // results make room, and come back here
            }
            let Some(task) = self.mpq.next_task(&self.packets) else { break };
            if task.handler == 0 {
                self.finish(task, listener);
                continue;
            }
            let job = self.job(task);
            match &mut self.workers {
                Workers::Threads(crew) => crew.give(job),
                Workers::Inline(worker) => {
                    let done = worker.run(job);
                    self.note(&done, listener);
                    self.finish(task, listener);
                }
            }
        }
    }

    fn job(&self, task: Task) -> Job {
        let packet = &self.packets[task.slot];
        let given = Given {
            handler: task.handler,
            context: packet.context,
            message: packet.message,
            queue: task.queue,
            packet: packet.number,
            l2_address: self.packets.address(task.slot),
            bytes: packet.bytes,
        };
        Job { given, kind: task.kind, slot: task.slot, frees: task.frees }
    }

    /// Takes back what workers have done, and hands out what that allows.
    fn collect(&mut self, wait: bool, listener: &mut dyn Listener) {
        self.tell_inline(listener);
        let Workers::Threads(crew) = &mut self.workers else { return };
        crew.collect(wait);
        for worker in 0.. {
            let Some(mut results) = self.take_returned(worker) else { break };
            self.tell(worker, &mut results.outbox, listener);
            for done in results.done.drain(..) {
                self.note(&done, listener);
                let Job { given: Given { handler, queue, .. }, slot, kind, frees } = done.job;
                self.finish(Task { slot, handler, kind, queue, frees }, listener);
            }
            self.put_back(worker, results);
        }
        self.run_ready(listener);
        if let Workers::Threads(crew) = &mut self.workers {
            crew.flush();
        }
    }

    /// Takes what a worker has handed back; `None`: there is no such worker.
    fn take_returned(&mut self, worker: u32) -> Option<Results> {
        let Workers::Threads(crew) = &mut self.workers else { return None };
        crew.returned(worker).map(std::mem::take)
    }

    /// Gives the emptied buffers back.
    fn put_back(&mut self, worker: u32, results: Results) {
        if let Workers::Threads(crew) = &mut self.workers
            && let Some(place) = crew.returned(worker)
        {
            *place = results;
        }
    }

    /// Writes into a packet's record how a handler of it went.
    fn note(&mut self, done: &Done, listener: &mut dyn Listener) {
        if !self.shared.timed {
            return;
        }
        self.busy_ns += self.packets[done.job.slot].note(done);
        if self.handlers {
            tell_handler(done, &self.shared.machine, listener);
        }
    }

    /// Takes a task as done.
    fn finish(&mut self, task: Task, listener: &mut dyn Listener) {
        self.mpq.complete(task.queue, task.kind);
        if task.frees {
            self.packet_done(task.slot, listener);
        }
    }

    fn packet_done(&mut self, slot: u32, listener: &mut dyn Listener) {
        self.totals.processed += 1;
        self.packets.free(slot);
        if self.shared.timed {
            tell_packet(&self.packets[slot], &self.shared.machine, listener);
        }
    }

    /// Tells what came out of the inline worker, and of `init_handlers`.
    #[inline]
    fn tell_inline(&mut self, listener: &mut dyn Listener) {
        self.run_waiting();
        let mut outbox = std::mem::take(&mut self.spare);
        if !outbox.is_empty() {
            self.tell(0, &mut outbox, listener);
        }
        if let Workers::Inline(worker) = &mut self.workers {
            std::mem::swap(worker.outbox(), &mut outbox);
        }
        if !outbox.is_empty() {
            self.tell(0, &mut outbox, listener);
        }
        self.spare = outbox;
    }
}

impl Packet {
    /// Notes how a handler of it went; gives the time that took.
    fn note(&mut self, done: &Done) -> u64 {
        let Ran { failed, start_ns, end_ns, sent_ns, instructions } = done.ran;
        self.failed |= failed;
        self.instructions += instructions;
        self.start_ns.get_or_insert(start_ns);
        self.end_ns = Some(end_ns);
        self.sent_ns = self.sent_ns.or(sent_ns);
        self.worker = Some(done.worker);
        end_ns - start_ns
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The watchdog first: it looks at threads and blocks that end below.
        self.watchdog = None;
        if let Workers::Inline(_) = self.workers {
            signals::release();
        }
    }
}
