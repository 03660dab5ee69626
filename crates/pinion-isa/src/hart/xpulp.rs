//! Xpulp on a hart: accesses that move their base register, branches, hardware loops.
//!
//! A hardware loop goes back to its start after the instruction at its end address, when that goes
//! straight on and more than one iteration is left; loop 0 is asked first (RTL
//! `riscv_hwloop_controller`). [`Hart::execute`] and [`Hart::complete`] know nothing of that: whoever
//! drives a hart with Xpulp calls [`Hart::loop_back`] after an instruction that went straight on, and
//! [`Hart::complete_xpulp`] instead of `complete`. So harts without pay nothing for it.

use super::{Hart, Outcome};
use crate::csr::number;
use crate::xpulp::{Fields, Operands, XpulpOp, value};
use crate::{Access, Cause, Class, Exception, Instruction, MemoryKind, Xlen};

/// Holds the registers of one hardware loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardwareLoop<X> {
    /// Address of the first instruction.
    pub start: X,
    /// Address of the last instruction.
    pub end: X,
    /// Iterations left, the one under way included.
    pub count: u32,
}

/// Holds what Xpulp adds to a hart's state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct XpulpState<X> {
    loops: [HardwareLoop<X>; 2],
    /// The base register that the access under way moves, 0: none; and its new value.
    increment: (u8, X),
}

impl<X: Xlen> XpulpState<X> {
    /// Forgets the access under way: a trap abandons it.
    pub(super) fn abandon(&mut self) {
        self.increment.0 = 0;
    }
}

/// Number of the CSR of loop 0's start; each loop has four numbers, the last of them unused.
const FIRST_LOOP_CSR: u16 = number::LPSTART0;

impl<X: Xlen> Hart<X> {
    /// Gives the registers of the two hardware loops.
    pub fn hardware_loops(&self) -> [HardwareLoop<X>; 2] {
        self.xpulp.loops
    }

    /// Ends both hardware loops, wherever they are.
    pub fn end_hardware_loops(&mut self) {
        self.xpulp.loops = [HardwareLoop::default(); 2];
    }

    /// Goes back to the start of the hardware loop whose last instruction, at `pc`, has just gone
    /// straight on, if there is one and iterations are left; says whether it did.
    #[inline(always)]
    pub fn loop_back(&mut self, pc: X) -> bool {
        let ends = pc == self.xpulp.loops[0].end || pc == self.xpulp.loops[1].end;
        ends && self.take_loop(pc)
    }

    fn take_loop(&mut self, pc: X) -> bool {
        let left = |looping: &&mut HardwareLoop<X>| looping.end == pc && looping.count > 1;
        let Some(looping) = self.xpulp.loops.iter_mut().find(left) else { return false };
        looping.count -= 1;
        self.pc = looping.start;
        true
    }

    /// Finishes an instruction as [`Hart::complete_integer`] does, on a hart with Xpulp: moves the
    /// base register too, and goes back to a hardware loop's start; says whether it did.
    pub fn complete_xpulp(&mut self, access: &Access<X>, value: X) -> bool {
        let pc = self.pc;
        let (register, moved) = self.xpulp.increment;
        if register != 0 {
            // Before the value: a load into its own base keeps what was loaded.
            self.set_x(register, moved);
            self.xpulp.increment.0 = 0;
        }
        self.complete_integer(access, value);
        self.loop_back(pc)
    }

    /// Gives the offset from the base register that an access of Xpulp has.
    #[inline]
    pub fn xpulp_offset(&self, i: &Instruction) -> X {
        match Fields::of(i).op.operands() {
            Operands::LoadIndexed => self.get(i.rs2),
            Operands::StoreIndexed => self.get(i.rs3),
            _ => X::ZERO,
        }
    }

    /// Executes an instruction of Xpulp.
    #[inline(never)]
    pub(super) fn execute_xpulp(&mut self, i: &Instruction) -> Outcome<X> {
        let fields = Fields::of(i);
        match i.class {
            Class::XpulpLoad | Class::XpulpStore => self.xpulp_access(i, fields),
            Class::Branch => self.xpulp_branch(i, fields),
            _ if fields.op.operands().is_loop() => self.set_loop(i, fields),
            _ => {
                let (a, b) = (self.get(i.rs1).to_u32(), self.get(i.rs2).to_u32());
                let result = value(fields, a, b, self.get(i.rd).to_u32());
                self.set_x(i.rd, X::from_u32(result));
                self.retired(i, Outcome::Next)
            }
        }
    }

    fn xpulp_branch(&mut self, i: &Instruction, fields: Fields) -> Outcome<X> {
        let with = X::from_i32(((fields.secondary << 27) as i32) >> 27);
        let taken = (self.get(i.rs1) == with) == (fields.op == XpulpOp::Beqimm);
        if !taken {
            return self.retired(i, Outcome::NotTaken);
        }
        let target = self.pc.plus(X::from_i32(fields.primary));
        if target.to_u32() & self.target_mask != 0 {
            return Outcome::Trap(Exception::new(Cause::InstructionMisaligned, target));
        }
        self.pc = target;
        self.instret += 1;
        Outcome::Branched
    }

    fn xpulp_access(&mut self, i: &Instruction, fields: Fields) -> Outcome<X> {
        let base = self.get(i.rs1);
        let address = base.plus(self.xpulp_offset(i));
        let loads = i.class == Class::XpulpLoad;
        let bytes = fields.op.access_bytes();
        if address.to_u32() & self.misaligned_mask & (u32::from(bytes) - 1) != 0 {
            let cause = if loads { Cause::LoadMisaligned } else { Cause::StoreMisaligned };
            return Outcome::Trap(Exception::new(cause, address));
        }
        let increment = match fields.op.operands() {
            Operands::LoadIndexed | Operands::StoreIndexed => None,
            Operands::LoadIncrementRegister => Some(self.get(i.rs2)),
            Operands::StoreIncrementRegister => Some(self.get(i.rs3)),
            _ => Some(X::from_i32(fields.primary)),
        };
        // Nothing has changed until the access is complete; asked again, it is the same.
        self.xpulp.increment = increment.map_or((0, X::ZERO), |by| (i.rs1, base.plus(by)));
        Outcome::Access(Access {
            kind: if loads { MemoryKind::Load } else { MemoryKind::Store },
            address,
            bytes,
            signed: fields.op.loads_signed(),
            rd: i.rd,
            length: i.length,
            data: if loads { X::ZERO } else { self.get(i.rs2) },
        })
    }

    /// Sets registers of a hardware loop.
    fn set_loop(&mut self, i: &Instruction, fields: Fields) -> Outcome<X> {
        let at = |half_words: u32| self.pc.plus(X::from_u32(2 * half_words));
        let immediate = fields.primary as u32;
        let source = self.get(i.rs1).to_u32();
        let (next, far, near) = (at(2), at(immediate), at(fields.secondary & 31));
        let looping = &mut self.xpulp.loops[fields.secondary as usize >> 5 & 1];
        match fields.op {
            XpulpOp::LoopStarti => looping.start = far,
            XpulpOp::LoopEndi => looping.end = far,
            XpulpOp::LoopCount => looping.count = source,
            XpulpOp::LoopCounti => looping.count = immediate,
            XpulpOp::LoopSetup => {
                *looping = HardwareLoop { start: next, end: far, count: source };
            }
            _ => *looping = HardwareLoop { start: next, end: near, count: immediate },
        }
        self.retired(i, Outcome::Next)
    }

    /// Reads a register of a hardware loop by its CSR number.
    pub(super) fn read_loop(&self, csr: u16) -> Option<X> {
        let looping = &self.xpulp.loops[usize::from(csr - FIRST_LOOP_CSR) / 4];
        match (csr - FIRST_LOOP_CSR) % 4 {
            0 => Some(looping.start),
            1 => Some(looping.end),
            2 => Some(X::from_u32(looping.count)),
            _ => None,
        }
    }

    /// Writes a register of a hardware loop by its CSR number.
    pub(super) fn write_loop(&mut self, csr: u16, value: X) {
        let looping = &mut self.xpulp.loops[usize::from(csr - FIRST_LOOP_CSR) / 4];
        match (csr - FIRST_LOOP_CSR) % 4 {
            0 => looping.start = value,
            1 => looping.end = value,
            _ => looping.count = value.to_u32(),
        }
    }
}
