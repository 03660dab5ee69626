//! What each instruction does.

use super::{Hart, Outcome};
use crate::{Access, AmoOp, Cause, Exception, Instruction, MemoryKind, Op, Privilege, Xlen};

impl<X: Xlen> Hart<X> {
    /// Executes one instruction, which must be the one at the program counter.
    ///
    /// For a memory access or a trap nothing changes yet: follow with [`Hart::complete`] or
    /// [`Hart::take_trap`].
    #[inline(always)]
    pub fn execute(&mut self, i: &Instruction) -> Outcome<X> {
        let a = self.get(i.rs1);
        let b = self.get(i.rs2);
        let imm = X::from_i32(i.imm);
        let word = |value: X| value.extend(4, true);
        let result = match i.op {
            Op::Lui => imm,
            Op::Auipc => self.pc.plus(imm),
            Op::Addi => a.plus(imm),
            Op::Slti => X::from_bool(a.less_signed(imm)),
            Op::Sltiu => X::from_bool(a < imm),
            Op::Xori => a ^ imm,
            Op::Ori => a | imm,
            Op::Andi => a & imm,
            Op::Slli => a.shift_left(i.imm as u32),
            Op::Srli => a.shift_right(i.imm as u32),
            Op::Srai => a.shift_right_signed(i.imm as u32),
            Op::Add => a.plus(b),
            Op::Sub => a.minus(b),
            Op::Sll => a.shift_left(b.to_u32()),
            Op::Slt => X::from_bool(a.less_signed(b)),
            Op::Sltu => X::from_bool(a < b),
            Op::Xor => a ^ b,
            Op::Srl => a.shift_right(b.to_u32()),
            Op::Sra => a.shift_right_signed(b.to_u32()),
            Op::Or => a | b,
            Op::And => a & b,
            Op::Addiw => word(a.plus(imm)),
            Op::Slliw => X::from_i32((a.to_u32() << (i.imm & 31)) as i32),
            Op::Srliw => X::from_i32((a.to_u32() >> (i.imm & 31)) as i32),
            Op::Sraiw => X::from_i32(a.to_u32() as i32 >> (i.imm & 31)),
            Op::Addw => word(a.plus(b)),
            Op::Subw => word(a.minus(b)),
            Op::Sllw => X::from_i32((a.to_u32() << (b.to_u32() & 31)) as i32),
            Op::Srlw => X::from_i32((a.to_u32() >> (b.to_u32() & 31)) as i32),
            Op::Sraw => X::from_i32(a.to_u32() as i32 >> (b.to_u32() & 31)),
            Op::Mul => a.times(b),
            Op::Mulh => a.mulh(b),
            Op::Mulhsu => a.mulhsu(b),
            Op::Mulhu => a.mulhu(b),
            Op::Div => a.div(b),
            Op::Divu => a.divu(b),
            Op::Rem => a.rem(b),
            Op::Remu => a.remu(b),
            Op::Mulw => word(a.times(b)),
            Op::Divw => X::from_i32(a.to_u32().div(b.to_u32()) as i32),
            Op::Divuw => X::from_i32(a.to_u32().divu(b.to_u32()) as i32),
            Op::Remw => X::from_i32(a.to_u32().rem(b.to_u32()) as i32),
            Op::Remuw => X::from_i32(a.to_u32().remu(b.to_u32()) as i32),
            Op::Beq => return self.branch(i, a == b),
            Op::Bne => return self.branch(i, a != b),
            Op::Blt => return self.branch(i, a.less_signed(b)),
            Op::Bge => return self.branch(i, !a.less_signed(b)),
            Op::Bltu => return self.branch(i, a < b),
            Op::Bgeu => return self.branch(i, a >= b),
            Op::Jal => return self.jump(i, self.pc.plus(imm)),
            Op::Jalr => return self.jump(i, a.plus(imm) & !X::ONE),
            Op::Lb => return self.load(i, a, 1, true),
            Op::Lh => return self.load(i, a, 2, true),
            Op::Lw => return self.load(i, a, 4, true),
            Op::Ld => return self.load(i, a, 8, true),
            Op::Lbu => return self.load(i, a, 1, false),
            Op::Lhu => return self.load(i, a, 2, false),
            Op::Lwu => return self.load(i, a, 4, false),
            Op::Sb => return self.store(i, a, b, 1),
            Op::Sh => return self.store(i, a, b, 2),
            Op::Sw => return self.store(i, a, b, 4),
            Op::Sd => return self.store(i, a, b, 8),
            _ => return self.execute_rare(i),
        };
        self.set_x(i.rd, result);
        self.retire(i.length);
        Outcome::Next
    }

    #[inline(always)]
    fn branch(&mut self, i: &Instruction, taken: bool) -> Outcome<X> {
        if !taken {
            self.retire(i.length);
            return Outcome::NotTaken;
        }
        let target = self.pc.plus(X::from_i32(i.imm));
        if target.to_u32() & self.target_mask != 0 {
            return Outcome::Trap(Exception::new(Cause::InstructionMisaligned, target));
        }
        self.pc = target;
        self.instret += 1;
        Outcome::Branched
    }

    #[inline(always)]
    fn jump(&mut self, i: &Instruction, target: X) -> Outcome<X> {
        if target.to_u32() & self.target_mask != 0 {
            return Outcome::Trap(Exception::new(Cause::InstructionMisaligned, target));
        }
        self.set_x(i.rd, self.pc.plus(X::from_u32(u32::from(i.length))));
        self.pc = target;
        self.instret += 1;
        Outcome::Jumped
    }

    #[inline(always)]
    fn load(&mut self, i: &Instruction, base: X, bytes: u8, signed: bool) -> Outcome<X> {
        let address = base.plus(X::from_i32(i.imm));
        if address.to_u32() & self.misaligned_mask & (u32::from(bytes) - 1) != 0 {
            return Outcome::Trap(Exception::new(Cause::LoadMisaligned, address));
        }
        Outcome::Access(Access {
            kind: MemoryKind::Load,
            address,
            bytes,
            signed,
            rd: i.rd,
            length: i.length,
            data: X::ZERO,
        })
    }

    #[inline(always)]
    fn store(&mut self, i: &Instruction, base: X, data: X, bytes: u8) -> Outcome<X> {
        let address = base.plus(X::from_i32(i.imm));
        if address.to_u32() & self.misaligned_mask & (u32::from(bytes) - 1) != 0 {
            return Outcome::Trap(Exception::new(Cause::StoreMisaligned, address));
        }
        Outcome::Access(Access {
            kind: MemoryKind::Store,
            address,
            bytes,
            signed: false,
            rd: 0,
            length: i.length,
            data,
        })
    }

    /// Executes what is seldom seen, out of the way of the hot path.
    #[inline(never)]
    fn execute_rare(&mut self, i: &Instruction) -> Outcome<X> {
        if i.op == Op::Xpulp {
            return self.execute_xpulp(i);
        }
        if i.class.is_float() {
            return self.execute_float(i);
        }
        match i.op {
            Op::LrW => self.atomic(i, MemoryKind::LoadReserved, 4),
            Op::LrD => self.atomic(i, MemoryKind::LoadReserved, 8),
            Op::ScW => self.atomic(i, MemoryKind::StoreConditional, 4),
            Op::ScD => self.atomic(i, MemoryKind::StoreConditional, 8),
            Op::EventLoad => self.event_load(i),
            Op::Fence => self.retired(i, Outcome::Fence),
            Op::FenceI => self.retired(i, Outcome::FenceI),
            Op::Ecall => Outcome::Trap(Exception::new(self.environment_call(), X::ZERO)),
            // mtval of a breakpoint may be zero or the address; zero, as the RTL has none.
            Op::Ebreak => Outcome::Trap(Exception::new(Cause::Breakpoint, X::ZERO)),
            Op::Mret => self.return_from_trap(i),
            Op::Wfi => self.wait_for_interrupt(i),
            Op::Csrrw | Op::Csrrs | Op::Csrrc | Op::Csrrwi | Op::Csrrsi | Op::Csrrci => {
                self.execute_csr(i)
            }
            _ => match amo(i.op) {
                Some((op, bytes)) => self.atomic(i, MemoryKind::Amo(op), bytes),
                None => Outcome::Trap(Exception::new(Cause::IllegalInstruction, illegal_bits(i))),
            },
        }
    }

    /// Retires an instruction that changes nothing but order.
    pub(super) fn retired(&mut self, i: &Instruction, outcome: Outcome<X>) -> Outcome<X> {
        self.retire(i.length);
        outcome
    }

    fn environment_call(&self) -> Cause {
        match self.privilege {
            Privilege::User => Cause::EnvironmentCallFromUser,
            Privilege::Machine => Cause::EnvironmentCallFromMachine,
        }
    }

    /// Asks for an atomic access; a misaligned one traps on every core.
    fn atomic(&mut self, i: &Instruction, kind: MemoryKind, bytes: u8) -> Outcome<X> {
        let access = Access {
            kind,
            address: self.get(i.rs1),
            bytes,
            signed: true,
            rd: i.rd,
            length: i.length,
            data: self.get(i.rs2),
        };
        if access.is_misaligned() {
            let cause = match kind {
                MemoryKind::LoadReserved => Cause::LoadMisaligned,
                _ => Cause::StoreMisaligned,
            };
            return Outcome::Trap(Exception::new(cause, access.address));
        }
        Outcome::Access(access)
    }

    fn event_load(&mut self, i: &Instruction) -> Outcome<X> {
        Outcome::Access(Access {
            kind: MemoryKind::EventLoad,
            address: self.get(i.rs1).plus(X::from_i32(i.imm)),
            bytes: 4,
            signed: true,
            rd: i.rd,
            length: i.length,
            data: X::ZERO,
        })
    }
}

/// The bits of an illegal instruction as `mtval` shows them.
fn illegal_bits<X: Xlen>(i: &Instruction) -> X {
    X::from_u32(i.imm as u32)
}

fn amo(op: Op) -> Option<(AmoOp, u8)> {
    Some(match op {
        Op::AmoSwapW => (AmoOp::Swap, 4),
        Op::AmoAddW => (AmoOp::Add, 4),
        Op::AmoXorW => (AmoOp::Xor, 4),
        Op::AmoAndW => (AmoOp::And, 4),
        Op::AmoOrW => (AmoOp::Or, 4),
        Op::AmoMinW => (AmoOp::Min, 4),
        Op::AmoMaxW => (AmoOp::Max, 4),
        Op::AmoMinuW => (AmoOp::Minu, 4),
        Op::AmoMaxuW => (AmoOp::Maxu, 4),
        Op::AmoSwapD => (AmoOp::Swap, 8),
        Op::AmoAddD => (AmoOp::Add, 8),
        Op::AmoXorD => (AmoOp::Xor, 8),
        Op::AmoAndD => (AmoOp::And, 8),
        Op::AmoOrD => (AmoOp::Or, 8),
        Op::AmoMinD => (AmoOp::Min, 8),
        Op::AmoMaxD => (AmoOp::Max, 8),
        Op::AmoMinuD => (AmoOp::Minu, 8),
        Op::AmoMaxuD => (AmoOp::Maxu, 8),
        _ => return None,
    })
}
