//! Harts' registers at a position. Cores run ahead of units, so a machine's own registers may be those
//! of a later cycle; here they are made of the instructions that were heard.
//!
//! In: instructions, some ahead of time. Out: registers and program counter at a position. Holds the
//! registers before a cycle, the base, and every instruction heard from there on.

use std::collections::VecDeque;

use crate::Position;
use crate::terms::{Command, Task};

/// Integer registers of a hart.
pub const REGISTERS: usize = 32;

/// An access to memory by an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// Address that all harts have in common.
    pub address: u64,
    /// Its bytes.
    pub bytes: u32,
    /// Whether it reads.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
    /// What was there, from the address on, little-endian.
    pub found: u64,
}

/// An instruction that a hart executed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    /// Its number among all that were heard: what it changed in memory is undone in this order.
    pub order: u64,
    /// Its cycle.
    pub cycle: u64,
    /// Its address.
    pub pc: u64,
    /// The register that it writes: x, from 32 on those of floating point, whose values are not followed; 0:
    /// none.
    pub rd: u8,
    /// The value that it writes.
    pub result: u64,
    /// A second register that it writes, and the value.
    pub increment: Option<(u8, u64)>,
    /// What it accessed.
    pub touch: Option<Touch>,
    /// `mcause`, if it trapped instead.
    pub trap: Option<u32>,
    /// The address it was to access then.
    pub denied: Option<u64>,
    /// What its hart worked at.
    pub task: Option<Task>,
    /// Whether it is the first one of a handler, or the first to read a message.
    pub enters: bool,
    /// Whether it may change CSRs.
    pub touches_csr: bool,
    /// The word that it took from the network register.
    pub taken: Option<u64>,
    /// The kind of the command that it issues.
    pub command: Option<Command>,
}

/// One hart's instructions and registers.
#[derive(Clone, Debug)]
struct Hart {
    /// Registers at the base.
    registers: [u64; REGISTERS],
    /// Instructions from the base on.
    ahead: VecDeque<Step>,
}

/// All harts.
#[derive(Clone, Debug)]
pub struct Harts {
    each: Vec<Hart>,
    heard: u64,
}

impl Harts {
    /// Begins with the registers of harts that have not run ahead.
    pub fn new(registers: impl Iterator<Item = [u64; REGISTERS]>) -> Self {
        let hart = |registers| Hart { registers, ahead: VecDeque::new() };
        Self { each: registers.map(hart).collect(), heard: 0 }
    }

    /// Hears an instruction, and numbers it.
    pub fn hear(&mut self, hart: u32, mut step: Step) -> Step {
        self.heard += 1;
        step.order = self.heard;
        self.each[hart as usize].ahead.push_back(step);
        step
    }

    /// Moves the base to a cycle, before which nothing will be asked for.
    pub fn settle(&mut self, cycle: u64) {
        for hart in &mut self.each {
            while let Some(step) = hart.ahead.front().filter(|step| step.cycle < cycle) {
                step.apply(&mut hart.registers);
                hart.ahead.pop_front();
            }
        }
    }

    /// Gives a hart's registers at a position, which the base must not lie behind.
    pub fn registers(&self, hart: u32, at: Position) -> [u64; REGISTERS] {
        let Hart { registers, ahead } = &self.each[hart as usize];
        let mut registers = *registers;
        let passed = ahead.iter().take_while(|step| at.has_passed(step.cycle, hart));
        passed.for_each(|step| step.apply(&mut registers));
        registers
    }

    /// Gives the instruction that a hart executes next after a position, if it was heard.
    pub fn next(&self, hart: u32, at: Position) -> Option<&Step> {
        self.ahead(hart, at).next()
    }

    /// Gives the instructions of a hart after a position, as far as they were heard.
    pub fn ahead(&self, hart: u32, at: Position) -> impl Iterator<Item = &Step> {
        let ahead = self.each[hart as usize].ahead.iter();
        ahead.skip_while(move |step| at.has_passed(step.cycle, hart))
    }

    /// Gives every instruction from the base on, as far as they were heard, with its hart.
    pub fn heard(&self) -> impl Iterator<Item = (u32, &Step)> {
        let each = (0..).zip(&self.each);
        each.flat_map(|(number, hart)| hart.ahead.iter().map(move |step| (number, step)))
    }

    /// Tells whether a hart's CSRs may have changed behind a position.
    pub fn may_change_csr(&self, hart: u32, at: Position) -> bool {
        self.ahead(hart, at).any(|step| step.touches_csr)
    }

    /// Tells whether a hart writes a register of floating point behind a position.
    pub fn writes_float(&self, hart: u32, at: Position, register: u8) -> bool {
        self.ahead(hart, at).any(|step| usize::from(step.rd) == REGISTERS + usize::from(register))
    }

    /// Gives the cycle of the last instruction that was heard and not settled.
    pub fn last_cycle(&self) -> Option<u64> {
        self.each.iter().filter_map(|hart| hart.ahead.back()).map(|step| step.cycle).max()
    }
}

impl Step {
    fn apply(&self, registers: &mut [u64; REGISTERS]) {
        if let Some((register, value)) = self.increment {
            registers[usize::from(register & 31)] = value;
        }
        if self.rd != 0
            && let Some(register) = registers.get_mut(usize::from(self.rd))
        {
            *register = self.result;
        }
    }
}

impl Touch {
    /// Tells whether it touches some of so many bytes at an address.
    pub fn meets(&self, address: u64, bytes: u32) -> bool {
        let ends = |address: u64, bytes: u32| u128::from(address) + u128::from(bytes);
        u128::from(self.address) < ends(address, bytes)
            && u128::from(address) < ends(self.address, self.bytes)
    }

    /// Puts what it found into a buffer that holds the bytes from an address on.
    pub fn undo(&self, address: u64, buffer: &mut [u8]) {
        let found = self.found.to_le_bytes();
        for (at, byte) in (self.address..).zip(found).take(self.bytes as usize) {
            if let Some(place) = buffer.get_mut(at.wrapping_sub(address) as usize) {
                *place = byte;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_access_found_is_put_back_where_it_lies_in_a_buffer() {
        let touch =
            Touch { address: 0x102, bytes: 2, reads: false, writes: true, found: 0xaabb_ccdd };
        let mut buffer = [0; 4];
        touch.undo(0x101, &mut buffer);
        assert_eq!(buffer, [0, 0xdd, 0xcc, 0]);
        touch.undo(0x103, &mut buffer);
        assert_eq!(buffer, [0xcc, 0xdd, 0xcc, 0], "its first byte lies before the buffer");
        assert!(touch.meets(0x103, 1) && touch.meets(0x100, 8));
        assert!(!touch.meets(0x104, 4) && !touch.meets(0x100, 2));
    }

    #[test]
    fn registers_are_those_of_the_instructions_that_have_passed() {
        let mut harts = Harts::new(std::iter::once([0; REGISTERS]));
        for (cycle, rd, result) in [(3, 5, 7), (4, 40, 8), (9, 5, 10)] {
            harts.hear(0, Step { cycle, rd, result, ..Step::default() });
        }
        let at = |cycle| harts.registers(0, Position::after(cycle, 0));
        assert_eq!((at(2)[5], at(3)[5], at(8)[5], at(9)[5]), (0, 7, 7, 10));
        let next = |cycle| harts.writes_float(0, Position::after(cycle, 0), 8);
        assert_eq!((next(3), next(4)), (true, false));
        assert_eq!(harts.next(0, Position::before(4, 0)).map(|step| step.cycle), Some(4));
    }
}
