//! Messages under way: the NIC's MPQ engine without its time and its cells. Packets come in, tasks come
//! out round robin over the messages that have one; where a message stands, [`MessageState`] knows.

use std::collections::VecDeque;

use pinion_spin::{HandlerKind, MessageState};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::packets::{NONE, Packets};

#[derive(Clone, Debug)]
struct Queue {
    message: MessageState,
    key: Key,
    handlers: [u32; 3],
    head: u32,
    tail: u32,
    is_listed: bool,
    last_access: u64,
}

/// Names a message: context and id.
pub type Key = (u32, u32);

/// Describes a handler that may run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its packet's slot.
    pub slot: u32,
    /// The handler's address, 0 for none.
    pub handler: u32,
    /// Its kind.
    pub kind: HandlerKind,
    /// Its message's queue.
    pub queue: u32,
    /// Whether the packet is done with it.
    pub frees: bool,
}

/// Orders messages.
#[derive(Debug)]
pub struct Mpq {
    queues: Vec<Queue>,
    by_message: FxHashMap<Key, u32>,
    ready: VecDeque<u32>,
    accesses: u64,
    running: u32,
}

impl Mpq {
    /// Makes an engine with `count` free queues, a power of two.
    pub fn new(count: u32) -> Self {
        let queue = Queue {
            message: MessageState::default(),
            key: (0, 0),
            handlers: [0; 3],
            head: NONE,
            tail: NONE,
            is_listed: false,
            last_access: 0,
        };
        Self {
            queues: vec![queue; count as usize],
            by_message: FxHashMap::with_capacity_and_hasher(2 * count as usize, FxBuildHasher),
            ready: VecDeque::with_capacity(count as usize),
            accesses: 0,
            running: 0,
        }
    }

    /// Gives the queue that a message of a single packet would take: `None` if it has one already, or
    /// if none is free.
    pub fn queue_of_alone(&self, key: Key) -> Option<u32> {
        if self.by_message.contains_key(&key) { None } else { self.find_free(key.1) }
    }

    /// Says which bits of a message's id name that queue, where no message has one.
    pub fn bits_while_idle(&self) -> Option<u32> {
        self.by_message.is_empty().then(|| self.queues.len() as u32 - 1)
    }

    /// Finds a free queue as the NIC does: the one that the id names, or the next free one.
    fn find_free(&self, message: u32) -> Option<u32> {
        let count = self.queues.len() as u32;
        if self.by_message.len() == count as usize {
            return None;
        }
        let is_free = |index: &u32| self.queues[*index as usize].message.is_free();
        // A power of two.
        (0..count).map(|step| message.wrapping_add(step) & (count - 1)).find(is_free)
    }

    /// Counts tasks given out and not yet completed.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// Takes a packet; `false`: no queue is free for its message.
    pub fn accept(&mut self, slot: u32, packets: &mut Packets, handlers: [u32; 3]) -> bool {
        let packet = &mut packets[slot];
        packet.next = NONE;
        let (key, ends) = ((packet.context, packet.message), packet.end_of_message);
        let Some(index) = self.find_or_take(key, handlers) else { return false };
        let queue = &mut self.queues[index as usize];
        match queue.message.queued() {
            0 => queue.head = slot,
            _ => packets[queue.tail].next = slot,
        }
        queue.tail = slot;
        queue.message.queue(ends);
        self.accesses += 1;
        queue.last_access = self.accesses;
        self.list(index);
        true
    }

    fn find_or_take(&mut self, key: Key, handlers: [u32; 3]) -> Option<u32> {
        if let Some(&index) = self.by_message.get(&key) {
            return Some(index);
        }
        let index = self.find_free(key.1)?;
        let queue = &mut self.queues[index as usize];
        queue.key = key;
        queue.handlers = handlers;
        queue.message.begin(handlers[0] != 0, handlers[2] != 0);
        self.by_message.insert(key, index);
        Some(index)
    }

    /// Puts a queue on the list of those with a task, if it has one.
    fn list(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        if queue.message.has_task() && !queue.is_listed {
            queue.is_listed = true;
            self.ready.push_back(index);
        }
    }

    /// Gives a handler that may run now.
    pub fn next_task(&mut self, packets: &Packets) -> Option<Task> {
        let index = self.ready.pop_front()?;
        let queue = &mut self.queues[index as usize];
        queue.is_listed = false;
        self.running += 1;
        let slot = queue.head;
        let (kind, frees) = queue.message.send();
        if frees {
            let packet = &packets[slot];
            queue.head = packet.next;
            queue.message.left(packet.end_of_message);
        }
        let handler = queue.handlers[kind as usize];
        self.list(index);
        Some(Task { slot, handler, kind, queue: index, frees })
    }

    /// Takes a task's completion.
    pub fn complete(&mut self, index: u32, kind: HandlerKind) {
        self.running -= 1;
        if self.queues[index as usize].message.ended(kind) {
            self.release(index);
        }
        self.list(index);
    }

    /// Frees a queue; packets that came early for the next message of the same id begin it.
    fn release(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        if !queue.message.release() {
            return;
        }
        let key = queue.key;
        self.by_message.remove(&key);
    }

    /// Gives up the unfinished message that has waited longest for a packet.
    pub fn evict(&mut self) -> Option<Key> {
        let waiting = self.queues.iter().filter(|queue| queue.message.waits());
        let oldest = waiting.min_by_key(|queue| queue.last_access)?;
        let key = oldest.key;
        let index = *self.by_message.get(&key)?;
        self.release(index);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Packet;

    /// Has few slots, so that miri gets through.
    fn packets() -> Packets {
        Packets::of(16, 64, 0x1c00_0000)
    }

    fn arrive(mpq: &mut Mpq, packets: &mut Packets, message: u32, end: bool) -> bool {
        let packet = Packet { message, end_of_message: end, ..Packet::default() };
        let slot = packets.take(packet).unwrap();
        mpq.accept(slot, packets, [1, 2, 3])
    }

    #[test]
    fn a_message_runs_header_then_payloads_then_completion() {
        let (mut mpq, mut packets) = (Mpq::new(4), packets());
        for end in [false, false, true] {
            assert!(arrive(&mut mpq, &mut packets, 7, end));
        }
        let header = mpq.next_task(&packets).unwrap();
        assert_eq!((header.kind, header.frees), (HandlerKind::Header, false));
        assert_eq!(mpq.next_task(&packets), None);
        mpq.complete(header.queue, header.kind);
        let payloads: Vec<Task> = std::iter::from_fn(|| mpq.next_task(&packets)).collect();
        assert_eq!(payloads.len(), 3);
        assert_eq!(payloads.iter().filter(|task| task.frees).count(), 2);
        for task in &payloads {
            assert_eq!(mpq.next_task(&packets), None);
            mpq.complete(task.queue, task.kind);
        }
        let completion = mpq.next_task(&packets).unwrap();
        assert_eq!((completion.kind, completion.slot), (HandlerKind::Completion, payloads[2].slot));
        mpq.complete(completion.queue, completion.kind);
        assert_eq!(mpq.bits_while_idle(), Some(3));
    }

    #[test]
    fn a_message_alone_is_told_the_queue_that_it_would_take() {
        let (mut mpq, mut packets) = (Mpq::new(4), packets());
        assert_eq!(mpq.queue_of_alone((0, 7)), Some(3));
        assert!(arrive(&mut mpq, &mut packets, 3, false));
        assert_eq!(mpq.queue_of_alone((0, 7)), Some(0));
        assert_eq!(mpq.queue_of_alone((0, 3)), None);
        for message in [0, 1, 2] {
            assert!(arrive(&mut mpq, &mut packets, message, false));
        }
        assert_eq!(mpq.queue_of_alone((0, 7)), None);
    }

    #[test]
    fn the_queues_are_bounded_and_the_oldest_waiting_one_gives_way() {
        let (mut mpq, mut packets) = (Mpq::new(2), packets());
        for message in [1, 2] {
            assert!(arrive(&mut mpq, &mut packets, message, false));
        }
        assert!(!arrive(&mut mpq, &mut packets, 3, false));
        assert_eq!(mpq.evict(), None);
        for _ in 0..4 {
            let task = mpq.next_task(&packets).unwrap();
            mpq.complete(task.queue, task.kind);
        }
        assert_eq!(mpq.evict(), Some((0, 1)));
        assert!(arrive(&mut mpq, &mut packets, 3, false));
    }
}
