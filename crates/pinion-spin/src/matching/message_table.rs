//! Gives live messages the queues of the MPQ engine. In: a context and a whole message id. Out: a
//! queue that is that message's alone until it is released. Holds which queue belongs to whom; a
//! new message waits when every queue is taken.
//!
//! The RTL takes the lowest bits of the id and lets messages that agree in them share a queue
//! (`mpq_engine.sv`), which mixes their packets. Here a message gets that queue if it is free, so
//! that a run without such collisions is placed as in the RTL; else another queue with the same
//! home cluster; else any.

use std::collections::HashMap;
use thiserror::Error;

/// Says that every queue belongs to an unfinished message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("all {queues} message queues are taken by unfinished messages")]
pub struct TableFull {
    /// Queues there are.
    pub queues: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    context: u32,
    message: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Queue {
    #[default]
    Free,
    /// Takes packets of this message.
    Open(Key),
    /// Has all packets of this message; a new one with the same id gets another queue.
    Closed(Key),
}

/// Maps live messages to queues.
#[derive(Debug)]
pub struct MessageTable {
    queues: Vec<Queue>,
    open: HashMap<Key, u32>,
    clusters: u32,
    free: u32,
}

impl MessageTable {
    /// Makes a table of so many queues, all free; `clusters` is the number of home clusters, among
    /// which queues are dealt out by index. Neither may be 0; 0 is taken as 1.
    pub fn new(queues: u32, clusters: u32) -> Self {
        let queues = queues.max(1);
        Self {
            queues: vec![Queue::Free; queues as usize],
            open: HashMap::with_capacity(queues as usize),
            clusters: clusters.clamp(1, queues),
            free: queues,
        }
    }

    /// Returns the queue of a packet's message, taking a free one if it is the first packet.
    /// After the message's last packet, the id may come again and means another message.
    ///
    /// # Errors
    /// [`TableFull`]; nothing has changed then, and the packet must wait for a release.
    pub fn enter(
        &mut self,
        context: u32,
        message: u32,
        end_of_message: bool,
    ) -> Result<u32, TableFull> {
        let key = Key { context, message };
        let queue = match self.open.get(&key) {
            Some(&queue) => queue,
            None => self.take(key)?,
        };
        if end_of_message {
            self.queues[queue as usize] = Queue::Closed(key);
            self.open.remove(&key);
        }
        Ok(queue)
    }

    /// Returns the queue that takes a message's packets, if there is one.
    pub fn find(&self, context: u32, message: u32) -> Option<u32> {
        self.open.get(&Key { context, message }).copied()
    }

    /// Returns the context and id of a queue's message.
    pub fn owner(&self, queue: u32) -> Option<(u32, u32)> {
        match self.queues.get(queue as usize)? {
            Queue::Free => None,
            Queue::Open(key) | Queue::Closed(key) => Some((key.context, key.message)),
        }
    }

    /// Frees a queue because its message is finished or given up. Tells whether it was taken.
    pub fn release(&mut self, queue: u32) -> bool {
        let Some(entry) = self.queues.get_mut(queue as usize) else { return false };
        let was = std::mem::take(entry);
        if let Queue::Open(key) = was {
            self.open.remove(&key);
        }
        let taken = was != Queue::Free;
        self.free += u32::from(taken);
        taken
    }

    /// Returns the number of free queues.
    pub fn free(&self) -> u32 {
        self.free
    }

    fn take(&mut self, key: Key) -> Result<u32, TableFull> {
        let queues = self.queues.len() as u32;
        let is_free = |queue: &u32| self.queues[*queue as usize] == Queue::Free;
        if self.free == 0 {
            return Err(TableFull { queues });
        }
        let wanted = key.message % queues;
        let same_home = (0..queues).step_by(self.clusters as usize);
        let mut candidates = same_home
            .map(|step| (wanted + step) % queues)
            .filter(|queue| queue % self.clusters == wanted % self.clusters)
            .chain((0..queues).map(|step| (wanted + step) % queues));
        let queue = candidates.find(is_free).ok_or(TableFull { queues })?;
        self.queues[queue as usize] = Queue::Open(key);
        self.open.insert(key, queue);
        self.free -= 1;
        Ok(queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_gets_the_rtls_queue_while_that_is_free() {
        let mut table = MessageTable::new(256, 4);
        assert_eq!(table.enter(0, 0x305, false), Ok(5));
        assert_eq!(table.enter(0, 0x305, false), Ok(5));
        assert_eq!(table.enter(0, 0x105, false), Ok(9), "the next one of the same home cluster");
        assert_eq!(table.enter(1, 0x305, false), Ok(13), "contexts do not share messages");
        assert_eq!(
            (table.free(), table.owner(9), table.find(0, 0x105)),
            (253, Some((0, 0x105)), Some(9))
        );
    }

    #[test]
    fn an_id_that_comes_again_after_its_last_packet_is_a_new_message() {
        let mut table = MessageTable::new(8, 2);
        assert_eq!(table.enter(0, 3, true), Ok(3));
        assert_eq!(table.find(0, 3), None);
        assert_eq!(table.enter(0, 3, false), Ok(5));
        assert!(table.release(3));
        assert_eq!(table.find(0, 3), Some(5));
        assert!(table.release(5) && !table.release(5) && !table.release(99));
        assert_eq!((table.free(), table.find(0, 3)), (8, None));
    }

    #[test]
    fn a_full_table_says_so_and_goes_on_after_a_release() {
        let mut table = MessageTable::new(4, 4);
        for message in 0..4 {
            assert_eq!(table.enter(0, message * 4, false), Ok(message), "any home cluster will do");
        }
        assert_eq!(table.enter(0, 99, false), Err(TableFull { queues: 4 }));
        assert_eq!(table.enter(0, 8, false), Ok(2), "known messages still enter");
        table.release(2);
        assert_eq!(table.enter(0, 99, false), Ok(2));
    }

    #[test]
    fn odd_shapes_work() {
        let mut table = MessageTable::new(0, 0);
        assert_eq!(table.enter(0, u32::MAX, false), Ok(0));
        let mut table = MessageTable::new(5, 3);
        let queues: Vec<u32> = (0..5).map(|m| table.enter(0, m * 5 + 4, false).unwrap()).collect();
        let mut sorted = queues.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4], "{queues:?}");
    }
}
