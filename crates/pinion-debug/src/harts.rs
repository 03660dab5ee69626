//! Harts' registers at a position. Cores run ahead of the NIC, so the NIC's own registers may be those
//! of a later cycle; here they are made of the instructions that were heard.
//!
//! In: instructions, some ahead of time. Out: registers and program counter at a position. Holds the
//! registers before a cycle, the base, and every instruction heard from there on.

use std::collections::VecDeque;

use pinion_isa::Class;
use pinion_spin::{HandlerKind, InstructionRecord, RunningTask};

use crate::Position;

/// An access to memory by an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// Address that all HPUs have in common.
    pub address: u32,
    /// Its bytes.
    pub bytes: u32,
    /// Whether it reads.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
    /// What was there, from the word on.
    pub found: u64,
}

/// An instruction that a hart executed.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its number among all that were heard: what it changed in memory is undone in this order.
    pub order: u64,
    /// Its cycle.
    pub cycle: u64,
    /// Its address.
    pub pc: u32,
    rd: u8,
    result: u32,
    increment: Option<(u8, u32)>,
    /// What it accessed.
    pub touch: Option<Touch>,
    /// `mcause`, if it trapped instead.
    pub trap: Option<u32>,
    /// The address it was to access then.
    pub denied: Option<u32>,
    /// What its HPU worked at.
    pub task: Option<RunningTask>,
    /// Whether it is the first one of a handler.
    pub enters: bool,
    /// Whether it may change CSRs.
    touches_csr: bool,
}

/// One hart's instructions and registers.
#[derive(Clone, Debug)]
struct Hart {
    /// Registers at the base.
    x: [u32; 32],
    /// Instructions from the base on.
    ahead: VecDeque<Step>,
    /// The handler it ran last.
    entered: Option<(u64, HandlerKind)>,
    /// Where it trapped last in a handler.
    trapped: Option<u32>,
}

/// All harts.
#[derive(Clone, Debug)]
pub struct Harts {
    each: Vec<Hart>,
    heard: u64,
}

impl Harts {
    /// Begins with the registers of harts that have not run ahead.
    pub fn new(registers: impl Iterator<Item = [u32; 32]>) -> Self {
        let hart = |x| Hart { x, ahead: VecDeque::new(), entered: None, trapped: None };
        Self { each: registers.map(hart).collect(), heard: 0 }
    }

    /// Counts them.
    pub fn count(&self) -> u32 {
        self.each.len() as u32
    }

    /// Hears an instruction; `entry` tells whether a handler begins at its address.
    pub fn hear(&mut self, hart: u32, record: &InstructionRecord, entry: bool) -> Step {
        let instruction = &record.instruction;
        let each = &mut self.each[hart as usize];
        let started = record.task.map(|task| (task.packet, task.kind));
        let enters = entry && started.is_some() && started != each.entered;
        if enters {
            each.entered = started;
        }
        if record.trap.is_some() && record.task.is_some() {
            each.trapped = Some(record.pc);
        }
        self.heard += 1;
        let step = Step {
            order: self.heard,
            cycle: record.cycle,
            pc: record.pc,
            rd: if record.trap.is_some() { 0 } else { instruction.rd },
            result: record.result,
            increment: record.increment.map(|value| (instruction.rs1, value)),
            touch: touch(record),
            trap: record.trap,
            denied: record.trap.and_then(|_| denied(record)),
            task: record.task,
            enters,
            touches_csr: record.trap.is_some()
                || matches!(instruction.class, Class::Csr | Class::System),
        };
        each.ahead.push_back(step);
        step
    }

    /// Tells whether a hart's last trap in a handler was at an address.
    pub fn has_trapped_at(&self, hart: u32, pc: u32) -> bool {
        self.each[hart as usize].trapped == Some(pc)
    }

    /// Moves the base to a cycle, before which nothing will be asked for.
    pub fn settle(&mut self, cycle: u64) {
        for hart in &mut self.each {
            while let Some(step) = hart.ahead.front().filter(|step| step.cycle < cycle) {
                step.apply(&mut hart.x);
                hart.ahead.pop_front();
            }
        }
    }

    /// Gives a hart's registers at a position, which the base must not lie behind.
    pub fn registers(&self, hart: u32, at: Position) -> [u32; 32] {
        let Hart { x, ahead, .. } = &self.each[hart as usize];
        let mut x = *x;
        let passed = ahead.iter().take_while(|step| at.has_passed(step.cycle, hart));
        passed.for_each(|step| step.apply(&mut x));
        x
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

    /// Gives the cycle of the last instruction that was heard and not settled.
    pub fn last_cycle(&self) -> Option<u64> {
        self.each.iter().filter_map(|hart| hart.ahead.back()).map(|step| step.cycle).max()
    }
}

impl Step {
    fn apply(&self, x: &mut [u32; 32]) {
        if let Some((register, value)) = self.increment {
            x[usize::from(register & 31)] = value;
        }
        if self.rd != 0 && self.rd < 32 {
            x[usize::from(self.rd)] = self.result;
        }
    }
}

/// Says what an instruction accessed.
fn touch(record: &InstructionRecord) -> Option<Touch> {
    let address = record.address?;
    let instruction = &record.instruction;
    let name = instruction.op.mnemonic();
    let bytes = match name {
        "lb" | "lbu" | "sb" => 1,
        "lh" | "lhu" | "sh" => 2,
        _ => 4,
    };
    let (reads, writes) = match instruction.class {
        Class::Store | Class::StoreConditional | Class::XpulpStore | Class::FloatStore => {
            (false, true)
        }
        Class::Amo => (true, true),
        _ => (true, false),
    };
    Some(Touch { address, bytes, reads, writes, found: record.found })
}

/// Gives the address that a load, store or atomic was to access.
fn denied(record: &InstructionRecord) -> Option<u32> {
    let offset = match record.instruction.class {
        Class::Load | Class::Store => record.instruction.imm,
        Class::Amo | Class::LoadReserved | Class::StoreConditional => 0,
        _ => return None,
    };
    Some(record.sources[0].wrapping_add_signed(offset))
}

impl Touch {
    /// Tells whether it touches some of so many bytes at an address.
    pub fn meets(&self, address: u32, bytes: u32) -> bool {
        let (first, last) =
            (u64::from(self.address), u64::from(self.address) + u64::from(self.bytes));
        first < u64::from(address) + u64::from(bytes) && u64::from(address) < last
    }

    /// Puts what it found into a buffer that holds the bytes from an address on.
    pub fn undo(&self, address: u32, buffer: &mut [u8]) {
        let found = self.found.to_le_bytes();
        for byte in 0..self.bytes {
            let at = (self.address + byte).wrapping_sub(address) as usize;
            let from = (self.address & 3) as usize + byte as usize;
            if let Some(place) = buffer.get_mut(at) {
                *place = found[from];
            }
        }
    }
}
