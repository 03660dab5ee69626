//! The MPQ engine: one queue per message in flight, header before payload before completion.
//!
//! In: HERs from the inbound engine, completions from the clusters. Out: tasks for the dispatcher,
//! one per cycle, round robin over the ready queues. Holds the queues, their cells (shared, and one
//! of each queue's own) and the state of each message. Makes the inbound engine wait when there is
//! no cell for a HER or no queue for its message. (Paper §III-B1; RTL mpq_engine, fifo_engine.)

use std::collections::VecDeque;

use rustc_hash::{FxBuildHasher, FxHashMap};

use pinion_sim::arbiter::{Requests, RoundRobin};

use crate::context::Handlers;
use crate::message_state::MessageState;
use crate::shared::Shared;
use crate::task::{NO_PACKET, Packets, Task};
use crate::wake::{Due, Wake};
use crate::{ContextId, HandlerKind, Machine};

#[derive(Clone, Debug)]
struct Queue {
    message: MessageState,
    /// Context and the bits of the id that tell messages apart.
    key: (ContextId, u32),
    /// The whole id.
    id: u32,
    handlers: Handlers,
    head: u32,
    tail: u32,
    static_used: bool,
    last_access: u64,
    timeout_cycles: u64,
}

/// Notes that a queue changed.
#[derive(Clone, Copy, Debug)]
struct Staged {
    /// Cycle from which the arbiter sees it.
    from: u64,
    queue: u32,
    /// Whether the queue had a task then: what comes later is seen later.
    ready: bool,
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
    /// Messages that are not in the queue that is their first choice.
    elsewhere: FxHashMap<(ContextId, u32), u32>,
    /// Queues without a message.
    free: Requests,
    /// Queues whose message waits for its next packet: those that may be evicted.
    waiting: Requests,
    /// Queues whose state changed, with the cycle from which the arbiter sees it.
    staged: VecDeque<Staged>,
    /// What was freed last, with the cycle: a queue; a shared cell; the own cell of a queue. It is there
    /// for HERs from the next cycle on, whatever comes first within one.
    freed_queue: (u64, u32),
    freed_cell: u64,
    freed_own: (u64, u32),
    /// When it and the dispatcher take their next step.
    pub wake: Wake,
}

/// The cycle of what never happened.
const NEVER: u64 = u64::MAX;

impl MpqEngine {
    /// Makes an engine with all queues free.
    pub fn new(machine: &Machine) -> Self {
        let queue = Queue {
            message: MessageState::default(),
            key: (ContextId(0), 0),
            id: 0,
            handlers: Handlers::default(),
            head: NO_PACKET,
            tail: NO_PACKET,
            static_used: false,
            last_access: 0,
            timeout_cycles: u64::MAX,
        };
        Self {
            queues: vec![queue; machine.mpq.count as usize],
            ready: Requests::new(machine.mpq.count),
            arbiter: RoundRobin::default(),
            cells: machine.mpq.shared_cells,
            alias: machine.mpq.alias,
            forgets: machine.mpq.forgets && !machine.mpq.alias,
            id_mask: u32::MAX >> (32 - machine.mpq.id_bits.clamp(1, 32)),
            elsewhere: FxHashMap::with_capacity_and_hasher(
                2 * machine.mpq.count as usize,
                FxBuildHasher,
            ),
            free: Requests::all(machine.mpq.count),
            waiting: Requests::new(machine.mpq.count),
            staged: VecDeque::with_capacity(64),
            freed_queue: (NEVER, 0),
            freed_cell: NEVER,
            freed_own: (NEVER, 0),
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
        self.staged.front().map(|staged| staged.from)
    }

    /// Says whether something was freed in a cycle that is there from the next one on.
    pub fn has_freed(&self, now: u64) -> bool {
        [self.freed_queue.0, self.freed_cell, self.freed_own.0].contains(&now)
    }

    /// Gives the queue that a message takes if it is free.
    #[inline]
    fn first_choice(&self, key: (ContextId, u32)) -> u32 {
        let count = self.queues.len() as u32;
        if count.is_power_of_two() { key.1 & (count - 1) } else { key.1 % count }
    }

    fn find_queue(&mut self, now: u64, key: (ContextId, u32)) -> Option<u32> {
        let preferred = self.first_choice(key);
        let queue = &self.queues[preferred as usize];
        if self.alias || queue.key == key && !queue.message.is_free() {
            return Some(preferred);
        }
        if !self.elsewhere.is_empty()
            && let Some(&queue) = self.elsewhere.get(&key)
        {
            return Some(queue);
        }
        let (cycle, freed) = self.freed_queue;
        if cycle != now {
            return self.free.first_round(preferred);
        }
        if self.queues[freed as usize].key == key {
            return Some(freed);
        }
        let was_free = self.queues[freed as usize].message.is_free();
        self.free.set(freed, false);
        let found = self.free.first_round(preferred);
        self.free.set(freed, was_free);
        found
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
        let (id, end) = (record.message, record.end_of_message);
        let key = (record.context, id & self.id_mask);
        let index = self.find_queue(now, key).ok_or(Refusal::NoQueue)?;
        let is_elsewhere = index != self.first_choice(key);
        let queue = &mut self.queues[index as usize];
        let static_cell = !queue.static_used && self.freed_own != (now, index);
        if static_cell {
            queue.static_used = true;
        } else if self.cells > u32::from(self.freed_cell == now) {
            self.cells -= 1;
        } else {
            return Err(Refusal::NoCell);
        }
        packets[slot].static_cell = static_cell;
        packets[slot].next = NO_PACKET;
        if queue.message.is_free() {
            self.free.set(index, false);
            queue.key = key;
            queue.id = id;
            queue.handlers = handlers;
            queue.timeout_cycles = timeout_cycles;
            queue.message.begin(handlers.header != 0, handlers.completion != 0);
            if !self.alias && is_elsewhere {
                self.elsewhere.insert(key, index);
            }
        }
        if queue.message.queued() == 0 {
            queue.head = slot;
        } else {
            packets[queue.tail].next = slot;
        }
        queue.tail = slot;
        queue.message.queue(end);
        self.waiting.set(index, false);
        queue.last_access = now;
        self.stage(now + 1, index);
        Ok(())
    }

    fn stage(&mut self, from: u64, index: u32) {
        let ready = self.queues[index as usize].message.has_task();
        self.staged.push_back(Staged { from, queue: index, ready });
    }

    /// Notes what has become ready by cycle `now`.
    #[inline(always)]
    fn see(&mut self, now: u64) {
        while let Some(&Staged { from, queue, ready }) = self.staged.front() {
            if from > now {
                break;
            }
            self.staged.pop_front();
            // Its task may have left meanwhile.
            let ready = ready && self.queues[queue as usize].message.has_task();
            self.ready.set(queue, ready);
        }
    }

    /// Gives the queue that the arbiter chose while the register behind it was full, from cycle
    /// `full_from` until now: it keeps its choice, however many become ready meanwhile. (RTL:
    /// rr_arb_tree with LockIn.)
    fn kept_choice(&mut self, now: u64, full_from: u64) -> Option<u32> {
        let mut cycle = full_from;
        while cycle < now {
            self.see(cycle);
            if !self.ready.is_empty() {
                return self.arbiter.grant(&self.ready);
            }
            cycle = self.next_ready_cycle()?;
        }
        None
    }

    /// Chooses a ready queue and gives its task, and the number of the state that its message was in;
    /// the register behind it was full from cycle `full_from` on.
    pub fn arbitrate(
        &mut self,
        now: u64,
        full_from: u64,
        packets: &Packets,
    ) -> Option<(Task, u32)> {
        let kept = self.kept_choice(now, full_from);
        self.see(now);
        // A message that was ended from outside has left its queue.
        let kept = kept.filter(|&index| self.queues[index as usize].message.has_task());
        let index = kept.or_else(|| self.arbiter.grant(&self.ready))?;
        let queue = &mut self.queues[index as usize];
        let (packet, state) = (queue.head, queue.message.number());
        let (kind, frees) = queue.message.send();
        let handler = queue.handlers.of(kind);
        if frees {
            let cells = Self::pop(queue, packets);
            self.cells += cells;
            match cells {
                0 => self.freed_own = (now, index),
                _ => self.freed_cell = now,
            }
        }
        let is_ready = queue.message.has_task();
        self.ready.set(index, is_ready);
        if !is_ready {
            // What a completion of this cycle found ready has left; the next one that comes is seen a cycle later.
            let own = self.staged.iter_mut().filter(|staged| staged.queue == index);
            own.for_each(|staged| staged.ready = false);
        }
        let task = Task { packet, kind, handler, queue: index, frees, l1_address: 0, l1_slots: 0 };
        Some((task, state))
    }

    /// Takes the head packet off a queue; gives the shared cells that become free.
    fn pop(queue: &mut Queue, packets: &Packets) -> u32 {
        let packet = &packets[queue.head];
        queue.head = packet.next;
        queue.message.left(packet.record.end_of_message);
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
        let forgets = |message: &MessageState| self.forgets && message.is_forgettable();
        if queue.message.ended(kind) || forgets(&queue.message) {
            self.release(index);
            self.freed_queue = (now, index);
        }
        self.waiting.set(index, self.queues[index as usize].message.waits());
        self.stage(now + 1, index);
    }

    /// Lets a context's queued packets pass without handlers, and ends its messages.
    pub fn end_context(&mut self, now: u64, context: ContextId) {
        for index in 0..self.queues.len() as u32 {
            let queue = &mut self.queues[index as usize];
            if queue.key.0 != context || queue.message.is_free() {
                continue;
            }
            queue.handlers = Handlers::default();
            if queue.message.cut_short() {
                self.release(index);
            }
            self.stage(now + 1, index);
        }
    }

    /// Frees a queue; a HER that came early for the next message of the same id starts it.
    fn release(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        if !queue.message.release() {
            return;
        }
        self.free.set(index, true);
        self.waiting.set(index, false);
        let key = queue.key;
        if index != self.first_choice(key) {
            self.elsewhere.remove(&key);
        }
    }

    /// Evicts the unfinished message that has waited longest for a packet, if it has waited longer
    /// than its context allows (paper §III-B3).
    pub fn evict(&mut self, now: u64) -> Option<Evicted> {
        let queue = |index: u32| &self.queues[index as usize];
        let overdue = |&index: &u32| now - queue(index).last_access >= queue(index).timeout_cycles;
        let overdue = self.waiting.iter().filter(overdue);
        let index = overdue.min_by_key(|&index| queue(index).last_access)?;
        let (context, message) = (queue(index).key.0, queue(index).id);
        self.release(index);
        Some(Evicted { context, message })
    }

    /// Gives the first cycle at which `evict` may find a victim.
    pub fn next_eviction_cycle(&self) -> Option<u64> {
        self.waiting
            .iter()
            .map(|index| &self.queues[index as usize])
            .filter(|queue| queue.timeout_cycles != u64::MAX)
            .map(|queue| queue.last_access.saturating_add(queue.timeout_cycles))
            .min()
    }

    /// Counts the messages that wait for their end and then for their completion handler, with
    /// nothing queued or running.
    pub fn unfinished(&self) -> u64 {
        self.queues.iter().filter(|queue| queue.message.is_unfinished()).count() as u64
    }

    /// Tells how many queues hold a message and how many are ready, packets queued, cells free.
    pub fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        let busy = self.queues.iter().filter(|queue| !queue.message.is_free());
        tell("busy", busy.count() as u64);
        tell("ready", u64::from(self.ready.len()));
        tell("queued", self.queues.iter().map(|queue| u64::from(queue.message.queued())).sum());
        tell("cells_free", u64::from(self.cells));
    }

    /// Describes the queues that hold a message, for the report of a run that is stuck.
    pub fn describe(&self) -> Vec<String> {
        let busy = self.queues.iter().enumerate().filter(|(_, queue)| !queue.message.is_free());
        busy.map(|(index, queue)| {
            let (id, context, state) = (queue.id, queue.key.0.0, queue.message.describe());
            format!("MPQ {index} (message {id}, context {context}): {state}")
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PacketRecord;
    use crate::task::Packet;
    use crate::testing::machine;

    fn accept(engine: &mut MpqEngine, packets: &mut Packets, cycle: u64, message: u32) {
        let record = PacketRecord { message, ..PacketRecord::default() };
        let packet =
            Packet { record, address: 0, l1_bytes: 0, next: NO_PACKET, static_cell: false };
        let slot = packets.insert(packet);
        let handlers = Handlers { payload: 4, ..Handlers::default() };
        assert_eq!(engine.accept(cycle, slot, packets, handlers, u64::MAX), Ok(()));
    }

    /// Takes packets of messages 0, 6, 2 at cycles 10, 11, 12, and gives the second choice, the
    /// register being full from cycle 12 until it is made.
    fn second_choice(now: u64) -> Option<u32> {
        let (mut engine, mut packets) = (MpqEngine::new(&machine()), Packets::default());
        for (cycle, message) in [(10, 0), (11, 6), (12, 2)] {
            accept(&mut engine, &mut packets, cycle, message);
        }
        assert_eq!(engine.arbitrate(11, 11, &packets).map(|(task, _)| task.queue), Some(0));
        engine.arbitrate(now, 12, &packets).map(|(task, _)| task.queue)
    }

    /// Queue 6 is the only one that is ready in cycle 12; queue 2, which comes a cycle later, would
    /// go first.
    #[test]
    fn the_arbiter_keeps_its_choice_while_the_register_is_full() {
        assert_eq!(second_choice(12), Some(6));
        assert_eq!(second_choice(13), Some(6));
        assert_eq!(second_choice(20), Some(6));
    }

    /// A completion staged the queue for the cycle in which the packet comes.
    #[test]
    fn a_packet_is_seen_a_cycle_after_it_came_whatever_else_changed_its_queue() {
        let (mut engine, mut packets) = (MpqEngine::new(&machine()), Packets::default());
        accept(&mut engine, &mut packets, 10, 0);
        assert!(engine.arbitrate(11, 11, &packets).is_some());
        engine.complete(20, 0, HandlerKind::Payload);
        accept(&mut engine, &mut packets, 21, 0);
        assert!(engine.arbitrate(21, 21, &packets).is_none());
        assert!(engine.arbitrate(22, 22, &packets).is_some());
    }

    /// A completion found a packet waiting that left in the same cycle.
    #[test]
    fn a_packet_is_seen_a_cycle_after_it_came_where_another_has_just_left() {
        let (mut engine, mut packets) = (MpqEngine::new(&machine()), Packets::default());
        accept(&mut engine, &mut packets, 10, 0);
        assert!(engine.arbitrate(11, 11, &packets).is_some());
        accept(&mut engine, &mut packets, 19, 0);
        engine.complete(20, 0, HandlerKind::Payload);
        assert!(engine.arbitrate(20, 20, &packets).is_some());
        accept(&mut engine, &mut packets, 21, 0);
        assert!(engine.arbitrate(21, 21, &packets).is_none());
        assert!(engine.arbitrate(22, 22, &packets).is_some());
    }
}
