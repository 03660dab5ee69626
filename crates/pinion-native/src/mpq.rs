//! Messages under way: header before payloads before completion. The NIC's MPQ engine without its
//! time: packets come in, tasks come out round robin over the messages that have one.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use pinion_spin::HandlerKind;

use crate::packets::{NONE, Packets};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Header,
    HeaderRunning,
    Payload,
    Draining,
    Completion,
    CompletionRunning,
}

#[derive(Clone, Debug)]
struct Queue {
    state: State,
    key: Key,
    handlers: [u32; 3],
    head: u32,
    tail: u32,
    length: u32,
    running: u32,
    /// Number of queued packets that end a message.
    ends: u32,
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
    by_message: HashMap<Key, u32, BuildHasherDefault<Mix>>,
    ready: VecDeque<u32>,
    accesses: u64,
    running: u32,
}

impl Mpq {
    /// Makes an engine with `count` free queues, a power of two.
    pub fn new(count: u32) -> Self {
        let queue = Queue {
            state: State::Free,
            key: (0, 0),
            handlers: [0; 3],
            head: NONE,
            tail: NONE,
            length: 0,
            running: 0,
            ends: 0,
            is_listed: false,
            last_access: 0,
        };
        Self {
            queues: vec![queue; count as usize],
            by_message: HashMap::with_capacity_and_hasher(2 * count as usize, Default::default()),
            ready: VecDeque::with_capacity(count as usize),
            accesses: 0,
            running: 0,
        }
    }

    /// Tells whether a message has a queue.
    #[inline]
    fn has(&self, key: Key) -> bool {
        !self.by_message.is_empty() && self.by_message.contains_key(&key)
    }

    /// Gives the queue that a message of a single packet would take: `None` if it has one already, or
    /// if none is free.
    #[inline]
    pub fn queue_of_alone(&self, key: Key) -> Option<u32> {
        if self.has(key) { None } else { self.find_free(key.1) }
    }

    /// Finds a free queue as the NIC does: the one that the id names, or the next free one.
    fn find_free(&self, message: u32) -> Option<u32> {
        let count = self.queues.len() as u32;
        if self.by_message.len() == count as usize {
            return None;
        }
        let is_free = |index: &u32| self.queues[*index as usize].state == State::Free;
        (0..count).map(|step| message.wrapping_add(step) % count).find(is_free)
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
        match queue.length {
            0 => queue.head = slot,
            _ => packets[queue.tail].next = slot,
        }
        queue.tail = slot;
        queue.length += 1;
        queue.ends += u32::from(ends);
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
        queue.state = first_state(handlers);
        self.by_message.insert(key, index);
        Some(index)
    }

    /// Puts a queue on the list of those with a task, if it has one.
    fn list(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        let has_task = match queue.state {
            State::Header | State::Completion => true,
            State::Payload => queue.length > 0,
            _ => false,
        };
        if has_task && !queue.is_listed {
            queue.is_listed = true;
            self.ready.push_back(index);
        }
    }

    /// Gives a handler that may run now.
    pub fn next_task(&mut self, packets: &Packets) -> Option<Task> {
        let index = self.ready.pop_front()?;
        let queue = &mut self.queues[index as usize];
        queue.is_listed = false;
        queue.running += 1;
        self.running += 1;
        let slot = queue.head;
        let (kind, frees) = match queue.state {
            State::Header => {
                queue.state = State::HeaderRunning;
                (HandlerKind::Header, false)
            }
            State::Payload => {
                let is_last = queue.ends > 0 && queue.length == 1;
                let keep = is_last && queue.handlers[2] != 0;
                if !keep {
                    pop(queue, packets);
                }
                if is_last {
                    queue.state = State::Draining;
                }
                (HandlerKind::Payload, !keep)
            }
            _ => {
                pop(queue, packets);
                queue.state = State::CompletionRunning;
                (HandlerKind::Completion, true)
            }
        };
        let handler = queue.handlers[kind as usize];
        self.list(index);
        Some(Task { slot, handler, kind, queue: index, frees })
    }

    /// Takes a task's completion.
    pub fn complete(&mut self, index: u32, kind: HandlerKind) {
        self.running -= 1;
        let queue = &mut self.queues[index as usize];
        queue.running -= 1;
        match (kind, queue.state) {
            (HandlerKind::Header, State::HeaderRunning) => queue.state = State::Payload,
            (HandlerKind::Completion, State::CompletionRunning) => self.release(index),
            (_, State::Draining) if queue.running == 0 => match queue.handlers[2] {
                0 => self.release(index),
                _ => queue.state = State::Completion,
            },
            _ => {}
        }
        self.list(index);
    }

    /// Frees a queue; packets that came early for the next message of the same id begin it.
    fn release(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        if queue.length > 0 {
            queue.state = first_state(queue.handlers);
            return;
        }
        queue.state = State::Free;
        let key = queue.key;
        self.by_message.remove(&key);
    }

    /// Gives up the unfinished message that has waited longest for a packet.
    pub fn evict(&mut self) -> Option<Key> {
        let waits = |queue: &&Queue| {
            queue.state == State::Payload && queue.length == 0 && queue.running == 0
        };
        let oldest = self.queues.iter().filter(waits).min_by_key(|queue| queue.last_access)?;
        let key = oldest.key;
        let index = *self.by_message.get(&key)?;
        self.release(index);
        Some(key)
    }
}

fn first_state(handlers: [u32; 3]) -> State {
    if handlers[0] == 0 { State::Payload } else { State::Header }
}

/// Takes the first packet off a queue.
fn pop(queue: &mut Queue, packets: &Packets) {
    let packet = &packets[queue.head];
    queue.head = packet.next;
    queue.length -= 1;
    queue.ends -= u32::from(packet.end_of_message);
}

/// Hashes two words by multiplication: message ids need no protection against an adversary who would
/// have to send 256 messages at a time.
#[derive(Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, word: u32) {
        let mixed = (self.0 ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Packet;
    use pinion_spin::Machine;

    fn packets() -> Packets {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/pspin.toml");
        let machine = pinion_sim::config::load_file::<Machine>(&path, &[]).unwrap().value;
        Packets::new(&machine)
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
        assert!(!mpq.has((0, 7)));
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
