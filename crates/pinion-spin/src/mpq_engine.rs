//! The MPQ engine: one queue per message in flight, header before payload before completion.
//!
//! In: HERs from the inbound engine, completions from the clusters. Out: tasks for the dispatcher,
//! one per cycle, round robin over the ready queues. Holds the queues, their cells (shared, and one
//! of each queue's own) and the state of each message. Makes the inbound engine wait when there is
//! no cell for a HER or no queue for its message. (Paper §III-B1; RTL mpq_engine, fifo_engine.)

use std::collections::{HashMap, VecDeque};

use crate::arbiter::{Requests, RoundRobin};
use crate::context::Handlers;
use crate::shared::Shared;
use crate::task::{NO_PACKET, Packets, Task};
use crate::wake::{Due, Wake};
use crate::{ContextId, HandlerKind, Machine};

/// Names the states of a queue (RTL mpq_engine).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No message.
    Free,
    /// The header handler waits to be sent.
    Header,
    /// The header handler runs.
    HeaderRunning,
    /// Payload handlers run, one per packet.
    Payload,
    /// All packets were sent; some payload handlers still run.
    PayloadDraining,
    /// The completion handler waits to be sent.
    Completion,
    /// The completion handler runs.
    CompletionRunning,
}

#[derive(Clone, Debug)]
struct Queue {
    state: State,
    /// Context and the bits of the id that tell messages apart.
    key: (ContextId, u32),
    /// The whole id.
    message: u32,
    handlers: Handlers,
    head: u32,
    tail: u32,
    length: u32,
    running: u32,
    end_seen: bool,
    /// Packets queued that end a message.
    ends: u32,
    static_used: bool,
    last_access: u64,
    timeout_cycles: u64,
}

/// Says why a HER cannot be taken now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No cell is free for its queue.
    NoCell,
    /// No queue is free for its message.
    NoQueue,
}

/// Describes a message that was evicted to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its context.
    pub context: ContextId,
    /// Its message id.
    pub message: u32,
}

/// Orders messages and turns HERs into tasks.
#[derive(Clone, Debug)]
pub struct MpqEngine {
    queues: Vec<Queue>,
    ready: Requests,
    arbiter: RoundRobin,
    cells: u32,
    alias: bool,
    /// Whether messages of payload handlers only are forgotten when their last packet is done: they
    /// may have no end.
    forgets: bool,
    /// Mask of an id's bits that tell messages apart.
    id_mask: u32,
    by_message: HashMap<(ContextId, u32), u32>,
    /// Queues that become ready, with the cycle from which the arbiter sees them.
    staged: VecDeque<(u64, u32)>,
    busy: u32,
    /// When it and the dispatcher take their next step.
    pub wake: Wake,
}

impl Queue {
    /// Says whether nothing is left of its message that a new one would not have: no handler runs
    /// once in it, and no packet is there.
    fn is_forgettable(&self) -> bool {
        let once = self.handlers.header != 0 || self.handlers.completion != 0;
        !once && self.length == 0 && self.running == 0
    }
}

impl MpqEngine {
    /// Makes an engine with all queues free.
    pub fn new(machine: &Machine) -> Self {
        let queue = Queue {
            state: State::Free,
            key: (ContextId(0), 0),
            message: 0,
            handlers: Handlers::default(),
            head: NO_PACKET,
            tail: NO_PACKET,
            length: 0,
            running: 0,
            end_seen: false,
            ends: 0,
            static_used: false,
            last_access: 0,
            timeout_cycles: u64::MAX,
        };
        Self {
            queues: vec![queue; machine.mpq.count as usize],
            ready: Requests::new(machine.mpq.count),
            arbiter: RoundRobin::new(machine.mpq.count),
            cells: machine.mpq.shared_cells,
            alias: machine.mpq.alias,
            forgets: machine.mpq.forgets && !machine.mpq.alias,
            id_mask: u32::MAX >> (32 - machine.mpq.id_bits.clamp(1, 32)),
            by_message: HashMap::with_capacity(2 * machine.mpq.count as usize),
            staged: VecDeque::with_capacity(64),
            busy: 0,
            wake: Wake::default(),
        }
    }

    /// Lets it and the dispatcher take a step at `cycle`.
    #[inline]
    pub fn wake_at(&mut self, shared: &mut Shared, cycle: u64) {
        shared.wake(&mut self.wake, cycle, Due::Schedule);
    }

    /// Says whether a queue is ready or about to be.
    pub fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.staged.is_empty()
    }

    /// Gives the cycle from which the next staged queue is ready.
    pub fn next_ready_cycle(&self) -> Option<u64> {
        self.staged.front().map(|&(from, _)| from)
    }

    fn find_queue(&self, key: (ContextId, u32)) -> Option<u32> {
        let count = self.queues.len() as u32;
        let preferred = key.1 % count;
        if self.alias {
            return Some(preferred);
        }
        if let Some(&queue) = self.by_message.get(&key) {
            return Some(queue);
        }
        if self.busy == count {
            return None;
        }
        (0..count)
            .map(|distance| (preferred + distance) % count)
            .find(|&queue| self.queues[queue as usize].state == State::Free)
    }

    /// Takes a HER at cycle `now`; its queue is visible to the arbiter one cycle later.
    ///
    /// # Errors
    /// If there is no cell or no queue; try again after a completion, or evict.
    pub fn accept(
        &mut self,
        now: u64,
        slot: u32,
        packets: &mut Packets,
        handlers: Handlers,
        timeout_cycles: u64,
    ) -> Result<(), Refusal> {
        let record = &packets[slot].record;
        let (message, end) = (record.message, record.end_of_message);
        let key = (record.context, message & self.id_mask);
        let index = self.find_queue(key).ok_or(Refusal::NoQueue)?;
        let queue = &mut self.queues[index as usize];
        let static_cell = !queue.static_used;
        if static_cell {
            queue.static_used = true;
        } else if self.cells > 0 {
            self.cells -= 1;
        } else {
            return Err(Refusal::NoCell);
        }
        packets[slot].static_cell = static_cell;
        packets[slot].next = NO_PACKET;
        if queue.state == State::Free {
            self.busy += 1;
            queue.key = key;
            queue.message = message;
            queue.handlers = handlers;
            queue.timeout_cycles = timeout_cycles;
            queue.end_seen = false;
            queue.state = if handlers.header == 0 { State::Payload } else { State::Header };
            if !self.alias {
                self.by_message.insert(key, index);
            }
        }
        if queue.length == 0 {
            queue.head = slot;
        } else {
            packets[queue.tail].next = slot;
        }
        queue.tail = slot;
        queue.length += 1;
        queue.end_seen |= end;
        queue.ends += u32::from(end);
        queue.last_access = now;
        self.stage(now + 1, index);
        Ok(())
    }

    fn stage(&mut self, from: u64, index: u32) {
        self.staged.push_back((from, index));
    }

    fn is_ready(queue: &Queue) -> bool {
        match queue.state {
            State::Header | State::Completion => true,
            State::Payload => queue.length > 0,
            _ => false,
        }
    }

    /// Chooses a ready queue and gives its task.
    pub fn arbitrate(&mut self, now: u64, packets: &Packets) -> Option<(Task, State)> {
        while let Some(&(from, index)) = self.staged.front() {
            if from > now {
                break;
            }
            self.staged.pop_front();
            self.ready.set(index, Self::is_ready(&self.queues[index as usize]));
        }
        let index = self.arbiter.grant(&self.ready)?;
        let queue = &mut self.queues[index as usize];
        let (packet, state) = (queue.head, queue.state);
        let (kind, handler, frees) = match state {
            State::Header => {
                queue.state = State::HeaderRunning;
                (HandlerKind::Header, queue.handlers.header, false)
            }
            State::Payload => {
                let last = queue.end_seen && queue.length == 1;
                let keep = last && queue.handlers.completion != 0;
                if !keep {
                    self.cells += Self::pop(queue, packets);
                }
                if last {
                    queue.state = State::PayloadDraining;
                }
                (HandlerKind::Payload, queue.handlers.payload, !keep)
            }
            _ => {
                self.cells += Self::pop(queue, packets);
                queue.state = State::CompletionRunning;
                (HandlerKind::Completion, queue.handlers.completion, true)
            }
        };
        queue.running += 1;
        let ready = Self::is_ready(queue);
        self.ready.set(index, ready);
        let task = Task { packet, kind, handler, queue: index, frees, l1_address: 0, l1_slots: 0 };
        Some((task, state))
    }

    /// Takes the head packet off a queue; gives the shared cells that become free.
    fn pop(queue: &mut Queue, packets: &Packets) -> u32 {
        let packet = &packets[queue.head];
        queue.head = packet.next;
        queue.length -= 1;
        queue.ends -= u32::from(packet.record.end_of_message);
        if packet.static_cell {
            queue.static_used = false;
            return 0;
        }
        1
    }

    /// Takes a task's completion at cycle `now`; what it makes ready is seen one cycle later.
    #[inline]
    pub fn complete(&mut self, now: u64, index: u32, kind: HandlerKind) {
        let queue = &mut self.queues[index as usize];
        queue.running -= 1;
        match (kind, queue.state) {
            (HandlerKind::Header, State::HeaderRunning) => queue.state = State::Payload,
            (HandlerKind::Completion, State::CompletionRunning) => self.release(index),
            (_, State::PayloadDraining) if queue.running == 0 => {
                if queue.handlers.completion == 0 {
                    self.release(index);
                } else {
                    queue.state = State::Completion;
                }
            }
            (_, State::Payload) if self.forgets && queue.is_forgettable() => self.release(index),
            _ => {}
        }
        self.stage(now + 1, index);
    }

    /// Lets a context's queued packets pass without handlers, and ends its messages.
    pub fn end_context(&mut self, now: u64, context: ContextId) {
        for index in 0..self.queues.len() as u32 {
            let queue = &mut self.queues[index as usize];
            if queue.key.0 != context || queue.state == State::Free {
                continue;
            }
            queue.handlers = Handlers::default();
            queue.end_seen = true;
            if queue.state == State::Payload && queue.length == 0 {
                match queue.running {
                    0 => self.release(index),
                    _ => queue.state = State::PayloadDraining,
                }
            }
            self.stage(now + 1, index);
        }
    }

    /// Frees a queue; a HER that came early for the next message of the same id starts it.
    fn release(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        if queue.length > 0 {
            // Only possible when ids repeat or alias: the next message begins at once.
            queue.end_seen = queue.ends > 0;
            queue.state = if queue.handlers.header == 0 { State::Payload } else { State::Header };
            return;
        }
        queue.state = State::Free;
        queue.end_seen = false;
        self.busy -= 1;
        let key = queue.key;
        self.by_message.remove(&key);
    }

    /// Evicts the unfinished message that has waited longest for a packet, if it has waited longer
    /// than its context allows (paper §III-B3).
    pub fn evict(&mut self, now: u64) -> Option<Evicted> {
        let waits = |queue: &Queue| {
            queue.state == State::Payload && queue.length == 0 && queue.running == 0
        };
        let overdue = |queue: &Queue| now - queue.last_access >= queue.timeout_cycles;
        let index = (0..self.queues.len())
            .filter(|&index| waits(&self.queues[index]) && overdue(&self.queues[index]))
            .min_by_key(|&index| self.queues[index].last_access)?;
        let (context, message) = (self.queues[index].key.0, self.queues[index].message);
        self.release(index as u32);
        Some(Evicted { context, message })
    }

    /// Gives the first cycle at which `evict` may find a victim.
    pub fn next_eviction_cycle(&self) -> Option<u64> {
        self.queues
            .iter()
            .filter(|queue| {
                queue.state == State::Payload && queue.length == 0 && queue.running == 0
            })
            .filter(|queue| queue.timeout_cycles != u64::MAX)
            .map(|queue| queue.last_access.saturating_add(queue.timeout_cycles))
            .min()
    }

    /// Counts the messages that wait for their end and then for their completion handler, with
    /// nothing queued or running.
    pub fn unfinished(&self) -> u64 {
        let waits = |queue: &&Queue| {
            let is_idle = queue.length == 0 && queue.running == 0;
            queue.state == State::Payload && is_idle && queue.handlers.completion != 0
        };
        self.queues.iter().filter(waits).count() as u64
    }

    /// Tells how many queues hold a message and how many are ready, packets queued, cells free.
    pub fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        let busy = self.queues.iter().filter(|queue| queue.state != State::Free);
        tell("busy", busy.count() as u64);
        tell("ready", u64::from(self.ready.len()));
        tell("queued", self.queues.iter().map(|queue| u64::from(queue.length)).sum());
        tell("cells_free", u64::from(self.cells));
    }

    /// Describes the queues that hold a message, for the report of a run that is stuck.
    pub fn describe(&self) -> Vec<String> {
        let busy = self.queues.iter().enumerate().filter(|(_, queue)| queue.state != State::Free);
        busy.map(|(index, queue)| {
            format!(
                "MPQ {index} (message {}, context {}): {:?}, {} queued, {} running{}",
                queue.message,
                queue.key.0.0,
                queue.state,
                queue.length,
                queue.running,
                if queue.end_seen { "" } else { ", end of message not seen" }
            )
        })
        .collect()
    }
}
