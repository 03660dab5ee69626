//! What the command interfaces have in common: slots for commands in flight, answers in order, and what
//! moving data out of the NIC's memories or into them costs.

use std::collections::VecDeque;

use super::Command;
use crate::Machine;
use crate::memory::Place;

/// Cycles from the last beat that a copy from the host writes into a cluster's L1 to the command's end:
/// the answer, two registers, and the count of those that may leave. (RTL: axi_xbar with CUT_ALL_PORTS,
/// soc_dma_wrap.)
pub const L1_RESPONSE_CYCLES: u64 = 5;

/// Holds the commands of one interface: so many at most.
#[derive(Clone, Debug)]
pub struct Slots {
    in_flight: u32,
    /// Cycles from which slots are free again.
    releases: VecDeque<u64>,
    limit: u32,
    answers: Answers,
    turnaround_cycles: u64,
}

/// Keeps answers in order, one in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answers {
    last_done: u64,
}

impl Answers {
    /// Gives when a command that could be done at cycle `done` is, behind those before it.
    pub fn take(&mut self, done: u64) -> u64 {
        self.last_done = done.max(self.last_done + 1);
        self.last_done
    }

    /// Puts off the last one.
    pub fn put_off(&mut self, cycles: u64) {
        self.last_done += cycles;
    }
}

impl Slots {
    /// Makes free slots.
    pub fn new(machine: &Machine) -> Self {
        Self {
            in_flight: 0,
            releases: VecDeque::with_capacity(machine.command.per_interface as usize),
            limit: machine.command.per_interface,
            answers: Answers::default(),
            turnaround_cycles: machine.command.slot_turnaround_cycles,
        }
    }

    /// Says whether one is free at cycle `now`.
    pub fn has_free(&mut self, now: u64) -> bool {
        while self.releases.front().is_some_and(|&at| at <= now) {
            self.releases.pop_front();
            self.in_flight -= 1;
        }
        self.in_flight < self.limit
    }

    /// Gives the cycle in which the next one is free, where that is known.
    pub fn next_free(&self) -> Option<u64> {
        self.releases.front().copied()
    }

    /// Takes one for a command.
    pub fn occupy(&mut self) {
        self.in_flight += 1;
    }

    /// Gives when a command that could be done at cycle `done` is, behind those before it.
    pub fn answer(&mut self, done: u64) -> u64 {
        self.answers.take(done)
    }

    /// Notes that a command is done at cycle `now`; gives the cycle its slot is free.
    pub fn release(&mut self, now: u64) -> u64 {
        let at = now + self.turnaround_cycles;
        self.releases.push_back(at);
        at
    }

    /// Gives the number of commands held.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

/// Says when a command that was taken uses the NIC's memories and when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Cycle it is done, beside what the host or the network adds.
    pub done: u64,
    /// Cycle of the first beat that it reads from, or writes to, a memory of the NIC.
    pub nic_from: u64,
    /// Its beats there.
    pub nic_beats: u64,
}

/// Gives what an interface's way to the NIC's memories costs.
#[derive(Clone, Debug)]
pub struct DataPath {
    port_bytes: u64,
    from_l2_cycles: u64,
}

impl DataPath {
    /// Takes the numbers from a machine.
    pub fn new(machine: &Machine) -> Self {
        Self {
            port_bytes: u64::from(machine.command.port_bytes),
            from_l2_cycles: machine.command.from_l2_cycles,
        }
    }

    /// Gives the beats of a command's bytes at an address.
    pub fn beats(&self, address: u64, command: &Command) -> u64 {
        (address % self.port_bytes + u64::from(command.bytes)).div_ceil(self.port_bytes)
    }

    /// Gives the beats of a command's bytes in the NIC.
    pub fn nic_beats(&self, command: &Command) -> u64 {
        self.beats(u64::from(command.nic_address), command).max(1)
    }

    /// Says whether bytes on their way from one address to another move down in their lines.
    pub fn shifts(&self, from: u64, to: u64) -> bool {
        from % self.port_bytes > to % self.port_bytes
    }

    /// Gives the cycles by which L2 is further away than L1.
    pub fn l2_cycles(&self, place: Option<Place>) -> u64 {
        match place {
            Some(Place::L1 { .. }) | None => 0,
            Some(_) => self.from_l2_cycles,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn holds_seven_commands() {
        let mut slots = Slots::new(&machine());
        for now in 0..7 {
            assert!(slots.has_free(now));
            slots.occupy();
        }
        assert!(!slots.has_free(7));
        assert_eq!(slots.release(15), 17);
        assert!(!slots.has_free(16));
        assert!(slots.has_free(17));
    }

    #[test]
    fn answers_in_order() {
        let mut slots = Slots::new(&machine());
        assert_eq!([slots.answer(9), slots.answer(5), slots.answer(20)], [9, 10, 20]);
        assert_eq!(slots.answer(3), 21);
    }
}
