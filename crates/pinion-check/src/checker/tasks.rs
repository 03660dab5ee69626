//! What orders handlers by itself: a message's header handler comes before its payload handlers, these
//! before its completion handler, and a queue's message before the next one of that queue.

use pinion_spin::{HandlerKind, HandlerRecord, PacketPlace, PacketRecord, RunningTask};

use super::Unit;
use crate::clocks::{Knowledge, join};

/// Holds a message under way.
pub struct Message {
    /// Its number among all.
    number: u32,
    /// What its header handler knew.
    header: Option<Knowledge>,
    /// What all its handlers knew that have ended.
    all: Knowledge,
}

/// Holds a queue.
pub struct Queue {
    /// The number of the message that it has.
    message: u32,
    /// What handlers of the messages before knew.
    before: Knowledge,
    /// The same with those of its message.
    all: Knowledge,
}

impl Unit {
    /// Begins a task: its HPU knows what the message's handlers before it knew.
    pub(super) fn task_begins(&mut self, id: usize, task: RunningTask, place: PacketPlace) {
        let key = (task.context, task.message);
        let begins = task.kind == HandlerKind::Header || !self.messages.contains_key(&key);
        if begins {
            self.message_count += 1;
            let (number, all) = (self.message_count, self.shared.clocks.nothing());
            self.messages.insert(key, Message { number, header: None, all });
        }
        let message = &self.messages[&key];
        let known = match task.kind {
            HandlerKind::Header => None,
            HandlerKind::Payload => message.header.as_ref(),
            HandlerKind::Completion => Some(&message.all),
        };
        if let Some(known) = known {
            self.shared.clocks.learn(id, known);
            self.harts[id].operations.learned(known[id]);
        }
        let number = message.number;
        let nothing = || self.shared.clocks.nothing();
        let queue = self.queues.entry(place.queue).or_insert_with(|| Queue {
            message: number,
            before: nothing(),
            all: nothing(),
        });
        if queue.message != number {
            queue.message = number;
            queue.before.copy_from_slice(&queue.all);
        }
        let kind = match task.kind {
            HandlerKind::Header => 0,
            HandlerKind::Payload => 1,
            HandlerKind::Completion => 2,
        };
        let handlers = self.handlers.get(task.context.0 as usize);
        let entry = handlers.map_or(0, |handlers| handlers[kind]);
        self.shared.clocks.tick(id);
        let clock = self.shared.clocks.own(id);
        self.places.take(task.packet, task.context, place.l1);
        if task.packet != self.harts[id].last_packet {
            self.harts[id].operations.place_given(clock, place.l1);
            self.harts[id].operations.place_given(clock, place.l2);
        }
        self.harts[id].begin(task, place, entry, clock);
    }

    /// Ends a task: the message's handlers after it will know what its HPU knows.
    pub(super) fn task_ends(&mut self, record: &HandlerRecord) {
        let id = self.id(record.cluster, record.hpu);
        let clock = self.shared.clocks.own(id);
        let hart = &mut self.harts[id];
        let Some(task) = hart.task.take() else { return };
        hart.leave();
        let tasks = hart.tasks;
        hart.operations.task_ends(tasks, clock);
        let l1 = hart.place.l1.0;
        let queue = hart.place.queue;
        self.places.give_back(task.packet, |first| first == l1);
        let known = self.shared.clocks.of(id);
        let key = (task.context, task.message);
        if let Some(message) = self.messages.get_mut(&key) {
            join(&mut message.all, known);
            if task.kind == HandlerKind::Header {
                message.header = Some(known.into());
            }
        }
        if let Some(queue) = self.queues.get_mut(&queue) {
            join(&mut queue.all, known);
        }
        self.shared.clocks.tick(id);
    }

    /// Lets an HPU that asks for its queue's number know of the messages that the queue had before:
    /// what lies at the number's place is theirs no more.
    pub(super) fn queue_named(&mut self, id: usize) {
        if let Some(queue) = self.queues.get(&self.harts[id].place.queue) {
            self.shared.clocks.learn(id, &queue.before);
            self.harts[id].operations.learned(queue.before[id]);
        }
    }

    /// Notes a packet in the L2 packet buffer.
    pub(super) fn packet_taken(&mut self, record: &PacketRecord, address: u32) {
        let place = (address, record.bytes);
        self.places.take(record.packet, record.context, place);
        if let Some(flat) = self.map.flat(place.0) {
            self.undefined[flat as usize..(flat + place.1) as usize].fill(0);
        }
    }

    /// Notes a packet's copy in L1.
    pub(super) fn packet_copied(&mut self, from: u32, to: u32, bytes: u32) {
        if let Some((from, to)) = self.map.flat(from).zip(self.map.flat(to)) {
            let from = from as usize;
            self.undefined.copy_within(from..from + bytes as usize, to as usize);
        }
    }

    /// Notes that a packet's room in L2 was given back, and its message ended with its last one.
    pub(super) fn packet_done(&mut self, record: &PacketRecord) {
        let map = &self.map;
        self.places.give_back(record.packet, |first| map.is_in_l2(first));
        if record.end_of_message {
            self.messages.remove(&(record.context, record.message));
        }
    }
}
