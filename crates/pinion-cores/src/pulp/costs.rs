//! What instructions cost in a small core's pipeline, ready to be looked up.

use pinion_isa::csr::number::MSTATUS;
use pinion_isa::{Class, DecodedProgram, Instruction, Op, Privilege};

use super::section::{Division, Pipeline};
use super::{Core, Stalls};

/// Gives the cycles of instructions that always take the same.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Cycles by class; 0: it depends; [`MEMORY`]: it accesses memory.
    pub(super) by_class: [u64; CLASSES],
    pub(super) load_use: u64,
    pub(super) branch_taken: u64,
    pub(super) jump: u64,
    pub(super) jump_behind_access: bool,
    pub(super) jump_waits_for_register: bool,
    division: Division,
    div_base: u64,
    /// Cycles that a core waits for an access's response.
    pub response: u64,
    /// Cycles from an instruction that traps to the first of the trap handler.
    pub trap: u64,
    pub(super) mret: u64,
    csr: u64,
    csr_status: u64,
    /// Offset of a line's last half word.
    last_half: u32,
    /// Whether the cores have Xpulp: its hardware loops and moving base registers.
    pub xpulp: bool,
}

/// Places for classes of instructions.
const CLASSES: usize = 32;
/// Bytes of half a word, the shortest instruction.
const HALF_WORD_BYTES: u32 = 2;
/// Bits of an integer register's number.
pub(super) const REGISTER_BITS: u8 = 31;
/// Cycles of a division by zero where the divisor's size does not matter.
const DIVISION_BY_ZERO_CYCLES: u64 = 2;
/// Stands for the cycles of an instruction that accesses memory.
pub(super) const MEMORY: u64 = u64::MAX;

impl Costs {
    /// Takes the numbers of a pipeline that fetches lines of `line_bytes`, with Xpulp or without.
    pub fn new(core: &Pipeline, line_bytes: u32, xpulp: bool) -> Self {
        let mut by_class = [1; CLASSES];
        by_class[Class::Mul as usize] = core.mul_cycles;
        by_class[Class::MulHigh as usize] = core.mulh_cycles;
        by_class[Class::Div as usize] = 0;
        by_class[Class::Csr as usize] = 0;
        for class in [
            Class::Load,
            Class::Store,
            Class::LoadReserved,
            Class::StoreConditional,
            Class::Amo,
            Class::EventLoad,
            Class::XpulpLoad,
            Class::XpulpStore,
        ] {
            by_class[class as usize] = MEMORY;
        }
        Self {
            by_class,
            load_use: core.load_use_cycles,
            branch_taken: core.branch_taken_cycles,
            jump: core.jump_cycles,
            jump_behind_access: core.jump_behind_access,
            jump_waits_for_register: core.jump_waits_for_register,
            division: core.division,
            div_base: core.div_base_cycles,
            response: core.response_cycles,
            trap: core.trap_cycles,
            mret: core.mret_cycles,
            csr: core.csr_cycles,
            csr_status: core.csr_status_cycles,
            last_half: line_bytes - HALF_WORD_BYTES,
            xpulp,
        }
    }

    /// Gives the cycle that the instruction a core jumped to costs if it lies in two lines: they are
    /// fetched one after the other (row back_straddle).
    #[inline(always)]
    pub fn second_line(&self, core: &mut Core, program: &DecodedProgram<u32>) -> u64 {
        self.second_line_of(core.hart.pc, &mut core.stalls, program)
    }

    /// Tells whether an address is a line's last half word.
    #[inline(always)]
    pub(super) fn is_last_half(&self, pc: u32) -> bool {
        pc & self.last_half == self.last_half
    }

    /// Gives [`Self::second_line`] of a jump to `pc`.
    #[inline(always)]
    pub(super) fn second_line_of(
        &self,
        pc: u32,
        stalls: &mut Stalls,
        program: &DecodedProgram<u32>,
    ) -> u64 {
        if !self.is_last_half(pc) {
            return 0;
        }
        let cycles = self.second_line_cycles(pc, program);
        stalls.fetch += cycles;
        cycles
    }

    /// Gives those cycles, and counts them nowhere.
    #[inline(always)]
    pub(super) fn second_line_cycles(&self, pc: u32, program: &DecodedProgram<u32>) -> u64 {
        let is_long = || program.get(pc).is_some_and(|instruction| instruction.length > 2);
        u64::from(self.is_last_half(pc) && is_long())
    }

    /// Gives where an instruction directly behind an access that waits, which loads a register or not, goes
    /// meanwhile, and the first cycle in which it may: a jump does not stay for the access, unless it needs
    /// the register.
    pub fn target_while_waiting(
        &self,
        core: &Core,
        (instruction, pc): (&Instruction, u32),
        loaded: Option<u8>,
        program: &DecodedProgram<u32>,
    ) -> Option<(u32, u64)> {
        let offset = instruction.imm as u32;
        let (target, from) = match instruction.class {
            Class::Jump => (pc.wrapping_add(offset), 0),
            Class::JumpRegister if loaded != Some(instruction.rs1) => {
                let register = usize::from(instruction.rs1 & REGISTER_BITS);
                let target = core.hart.x[register].wrapping_add(offset) & !1;
                (target, core.lets_jump(instruction.rs1))
            }
            _ => return None,
        };
        let is_here = self.jump_behind_access && self.second_line_cycles(target, program) == 0;
        is_here.then_some((target, from))
    }

    /// Tells whether an instruction accesses memory.
    #[inline(always)]
    pub fn accesses(&self, class: Class) -> bool {
        self.by_class[class as usize] == MEMORY
    }

    /// Gives the cycles of an instruction whose class does not say them; a CSR is read at `now`.
    pub(super) fn of(&self, core: &mut Core, instruction: &Instruction, now: u64) -> u64 {
        if instruction.class != Class::Csr {
            return self.division(core, instruction);
        }
        core.hart.csr.cycle = now;
        match instruction.csr() {
            // Read or written, it waits until the pipeline is empty (RTL riscv_decoder, csr_status_o);
            // of a user it traps instead.
            MSTATUS if core.hart.privilege == Privilege::Machine => self.csr_status,
            _ => self.csr,
        }
    }

    /// Gives the cycles of a division: RI5CY's divider skips the divisor's leading zeros one by one, of a
    /// negative one those of its complement but one (RTL riscv_alu, `div_shift`).
    pub(super) fn division(&self, core: &Core, instruction: &Instruction) -> u64 {
        let divisor = core.hart.x[usize::from(instruction.rs2 & REGISTER_BITS)];
        match self.division {
            Division::Fixed if divisor == 0 => DIVISION_BY_ZERO_CYCLES.min(self.div_base),
            Division::Fixed => self.div_base,
            Division::LeadingZeros => {
                let is_signed = matches!(instruction.op, Op::Div | Op::Rem);
                let is_below = is_signed && (divisor as i32) < 0;
                let zeros = if is_below { !divisor } else { divisor }.leading_zeros();
                self.div_base + u64::from(zeros) - u64::from(is_below)
            }
        }
    }
}
