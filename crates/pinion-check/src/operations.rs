//! What an HPU has others do in its memory meanwhile: commands and copies, from when it issues them to
//! when it knows that they are done.

use std::collections::VecDeque;

/// Commands and copies that are remembered of each HPU; older ones are done for sure.
const REMEMBERED: usize = 512;

/// Number of engines, and of none.
const ENGINES: usize = Engine::HostDirect as usize + 1;

/// Names who does it: each does what one HPU asks it one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Engine {
    /// The cluster's DMA engine.
    Copy = 1,
    /// The NIC outbound engine.
    Send = 2,
    /// The off-cluster DMA engine.
    HostDma = 3,
    /// The host interface, which touches none of the NIC's memories.
    HostDirect = 4,
}

/// Holds a command or a copy.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Who does it.
    pub engine: Engine,
    /// Its number in its engine: the command's slot, or the copy's number.
    pub handle: u32,
    /// First address that it reads in the NIC, and bytes.
    pub reads: (u32, u32),
    /// First address that it writes in the NIC, and bytes.
    pub writes: (u32, u32),
    /// The task that issued it, counted on its HPU.
    pub task: u32,
    /// The HPU's clock when it was issued.
    pub clock: u32,
    /// The instruction that issued it.
    pub pc: u32,
    /// When.
    pub cycle: u32,
    /// Number of its HPU's clock from which on who knows it knows that it is done.
    pub done: u32,
}

/// Holds the commands and copies of an HPU.
#[derive(Default)]
pub struct Operations {
    first: u32,
    list: VecDeque<Operation>,
    /// Numbers of those that the HPU does not know to be done.
    pending: Vec<u32>,
}

impl Operations {
    /// Adds one that was issued; gives its number.
    pub fn add(&mut self, operation: Operation) -> u32 {
        if self.list.len() == REMEMBERED {
            self.list.pop_front();
            self.first += 1;
            let first = self.first;
            self.pending.retain(|number| *number >= first);
        }
        self.list.push_back(operation);
        let number = self.first + self.list.len() as u32 - 1;
        self.pending.push(number);
        number
    }

    /// Finds one by its number; `None`: it is done for long.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Operation> {
        self.list.get(number.checked_sub(self.first)? as usize)
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut Operation> {
        self.list.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// Tells whether the HPU knows that all are done.
    #[inline]
    pub fn are_awaited(&self) -> bool {
        self.pending.is_empty()
    }

    /// Lists those that the HPU does not know to be done.
    pub fn pending(&self) -> impl Iterator<Item = &Operation> {
        self.pending.iter().filter_map(|number| self.get(*number))
    }

    /// Notes that the HPU, whose clock shows `clock`, knows that those that `is_done` accepts are done,
    /// and with each of them those of its engine before.
    pub fn awaited(&mut self, clock: u32, is_done: impl Fn(&Operation) -> bool) {
        let mut last = [None; ENGINES];
        for &number in &self.pending {
            if let Some(one) = self.get(number).filter(|one| is_done(one)) {
                last[one.engine as usize] = Some(number);
            }
        }
        if last.iter().any(Option::is_some) {
            self.settle(clock, |number, one| Some(number) <= last[one.engine as usize]);
        }
    }

    /// Notes that a packet is given a place: what used the place before is done, or it would not be
    /// free.
    pub fn place_given(&mut self, clock: u32, place: (u32, u32)) {
        if !self.pending.is_empty() {
            self.settle(clock, |_, one| overlap(one.reads, place) || overlap(one.writes, place));
        }
    }

    /// Notes that a task ends: who knows `clock` knows that what it issued is done; and what the task
    /// before it on the HPU had issued is done, it could not end before.
    pub fn task_ends(&mut self, task: u32, clock: u32) {
        if self.pending.is_empty() {
            return;
        }
        for index in 0..self.pending.len() {
            let number = self.pending[index];
            if let Some(one) = self.get_mut(number).filter(|one| one.task == task) {
                one.done = one.done.min(clock);
            }
        }
        self.settle(clock, |_, one| one.task != task);
    }

    /// Notes that the HPU comes to know `known` of its own clock by somebody else: by those whom it let
    /// know when a task ended, what that had issued included.
    pub fn learned(&mut self, known: u32) {
        if !self.pending.is_empty() {
            self.settle(known, |_, one| one.done <= known);
        }
    }

    /// Takes those off the pending ones that are done.
    fn settle(&mut self, clock: u32, is_done: impl Fn(u32, &Operation) -> bool) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|&number| {
            let Some(one) = self.get_mut(number) else { return false };
            let done = is_done(number, one);
            if done {
                one.done = one.done.min(clock);
            }
            !done
        });
        self.pending = pending;
    }
}

/// Tells whether two ranges, first address and bytes, have a byte in common.
#[inline]
pub fn overlap((first, bytes): (u32, u32), (other, more): (u32, u32)) -> bool {
    bytes > 0 && more > 0 && (other.wrapping_sub(first) < bytes || first.wrapping_sub(other) < more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issued(engine: Engine, handle: u32, task: u32) -> Operation {
        let (reads, writes) = ((0, 4), (0, 0));
        let (clock, done) = (1, u32::MAX);
        Operation { engine, handle, reads, writes, task, clock, pc: 0, cycle: 0, done }
    }

    #[test]
    fn who_waits_for_one_knows_of_those_before() {
        let mut operations = Operations::default();
        let first = operations.add(issued(Engine::Send, 0, 1));
        operations.add(issued(Engine::Copy, 1, 1));
        operations.add(issued(Engine::Send, 1, 1));
        operations.add(issued(Engine::Send, 2, 1));
        operations.awaited(7, |one| one.engine == Engine::Send && one.handle == 1);
        let pending: Vec<_> = operations.pending().map(|one| (one.engine, one.handle)).collect();
        assert_eq!(pending, [(Engine::Copy, 1), (Engine::Send, 2)]);
        assert_eq!(operations.get(first).unwrap().done, 7);
    }

    #[test]
    fn a_task_s_are_done_when_the_next_one_has_ended() {
        let mut operations = Operations::default();
        let number = operations.add(issued(Engine::Send, 0, 1));
        operations.task_ends(1, 5);
        assert!(!operations.are_awaited(), "the next task of the HPU may begin before");
        assert_eq!(operations.get(number).unwrap().done, 5, "its message's next handler may not");
        operations.task_ends(2, 9);
        assert!(operations.are_awaited());
    }

    #[test]
    fn ranges_overlap_where_they_share_a_byte() {
        assert!(overlap((0x100, 8), (0x107, 1)));
        assert!(!overlap((0x100, 8), (0x108, 8)));
        assert!(overlap((0x104, 1), (0x100, 8)));
        assert!(!overlap((0x104, 0), (0x100, 8)));
    }
}
