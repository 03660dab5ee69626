//! Program memory as cores execute it: decoded instructions, and the same as micro-operations.
//!
//! A micro-operation is what [`lean`](super::lean) executes: what does not depend on registers is
//! worked out once, when the instruction is decoded: targets of branches as places, the sum of
//! `auipc`, whether what follows waits for a load's result. Instructions that are seldom seen have the
//! kind [`Kind::Other`] and go through the interpreter. A store to program memory forgets both.

use std::ops::{Deref, Range};

use pinion_isa::{Class, DecodedProgram, Extensions, Instruction, Op};

use super::micro_op::UNKNOWN;
pub use super::micro_op::{Flags, Kind, MicroOp, Register};
use super::prefetch_buffer::PrefetchBuffer;
use super::run_ahead::run_ahead;
pub use super::translated::Placed;
use super::translated::{FEWEST_STEPS, FEWEST_WORTH_IT, Translated};
use super::went::Went;
use super::{Core, Costs, NO_REGISTER};
use crate::port::{Destinations, HeldLines};

/// Half words of the longest instruction.
const LONGEST: usize = 2;

/// Half words that a change reaches back: to what has it for one of the two instructions behind.
const REACHED_BACK: usize = 3 * LONGEST;

/// Stands for no place.
const NOWHERE: u32 = u32::MAX;

/// Instructions from which on a run is not made longer.
const LONGEST_RUN: u16 = 1 << 15;

/// Gives the block of a number that a micro-operation has, among all of them.
#[inline(always)]
pub fn block_of(blocks: &[Option<Placed>], number: u16) -> Option<&Placed> {
    blocks.get(usize::from(number).wrapping_sub(1))?.as_ref()
}

/// Tells whether an instruction stalls behind one that loads a register.
#[inline(always)]
pub fn waits_for(instruction: &Instruction, loaded: u8) -> bool {
    instruction.reads(loaded) || instruction.computes(loaded)
}

/// Holds a program.
#[derive(Clone, Debug)]
pub struct Code {
    program: DecodedProgram<u32>,
    micro: Vec<MicroOp>,
    /// What is executed in place of micro-operations, if anything is to be.
    translated: Option<Box<Translated>>,
    /// Where somebody is to be looked at who goes on from there.
    wanted: u32,
}

impl Deref for Code {
    type Target = DecodedProgram<u32>;

    fn deref(&self) -> &Self::Target {
        &self.program
    }
}

impl Code {
    /// Makes an empty program of `bytes` bytes from `base` on.
    pub fn new(base: u32, bytes: usize, extensions: Extensions) -> Self {
        let program = DecodedProgram::new(base, bytes, extensions);
        let micro = vec![UNKNOWN; program.bytes() / 2];
        Self { program, micro, translated: None, wanted: NOWHERE }
    }

    /// Lets what is executed often be translated to this computer's own instructions, or not any more;
    /// where Pinion is built without that, nothing ever is.
    pub fn set_translated(&mut self, is_translated: bool) {
        self.forget_blocks(0, self.micro.len());
        let is_possible = is_translated && pinion_translate::AVAILABLE;
        self.translated = is_possible.then(|| Box::new(Translated::new(self.micro.len())));
    }

    /// Counts the work of a core, in cycles; says whether somebody is to look at one:
    /// [`Self::look_at_access`] or [`Self::look_back`].
    #[inline(always)]
    pub fn is_sample_due(&mut self, work: u64) -> bool {
        self.translated.as_mut().is_some_and(|translated| translated.is_sample_due(work))
    }

    /// Looks at a core's access, when all have retired so many instructions: what is behind one that is met often is
    /// translated, with the access if there are few such.
    pub fn look_at_access(
        &mut self,
        port: impl HeldLines,
        (place, time): (u32, u64),
        retired: u64,
        costs: &Costs,
    ) {
        let Some(translated) = &mut self.translated else { return };
        let has_time = translated.sample(retired);
        if translated.meet(place) && has_time {
            let step = self.micro.get(place as usize).map_or(0, |access| access.step);
            let places = [place, place + u32::from(step)];
            if let Some(first) = places.into_iter().find(|&place| self.may_begin(place)) {
                self.translate_reached(port, (first, time), costs);
            }
        }
    }

    /// Looks at a core that has gone on from a place, when all have retired so many instructions: the next
    /// one that goes on from there [is wanted](Self::is_wanted).
    pub fn look_back(&mut self, place: u32, retired: u64) {
        if self.translated.as_mut().is_some_and(|translated| translated.sample(retired)) {
            self.wanted = place;
        }
    }

    /// Says whether [`Self::look_ahead`] wants to see a core that goes on from a place.
    #[inline(always)]
    pub fn is_wanted(&self, place: u32) -> bool {
        self.wanted == place
    }

    /// Looks at what a core is going to do from `time` on: what takes it longest is translated.
    pub fn look_ahead<P: HeldLines + Destinations + Copy>(
        &mut self,
        core: &Core,
        port: P,
        time: u64,
        costs: &Costs,
    ) {
        self.wanted = NOWHERE;
        let (mut core, mut then, mut went) = (core.clone(), time, Went::default());
        run_ahead::<false, _, _>(&mut core, &port, costs, self, &mut then, &mut went);
        let base = self.program.base();
        if let Some(place) = self.translated.as_mut().and_then(|one| one.choose(base, &went))
            && self.may_begin(place)
        {
            self.translate_reached(port, (place, time), costs);
        }
    }

    /// Says whether a block may begin at a place: at an access only if there are few such.
    fn may_begin(&self, place: u32) -> bool {
        let accesses = self.micro.get(place as usize).is_some_and(|one| one.kind.accesses());
        !accesses || self.translated.as_ref().is_some_and(|it| it.is_one_of_few(place))
    }

    /// Translates what begins at a place, as far as cores have it within reach at `time`.
    fn translate_reached(
        &mut self,
        port: impl HeldLines,
        (place, time): (u32, u64),
        costs: &Costs,
    ) {
        let base = self.program.base();
        let pc = base.wrapping_add(place << 1);
        // A buffer that waits for nothing.
        let reach = PrefetchBuffer::default().enter_run(pc, time, port, base);
        let within = reach.map_or(0..0, |reach| reach.first..reach.end);
        self.translate_some((place, FEWEST_WORTH_IT), &within, costs);
    }

    /// Translates what begins at a place, as far as it lies `within` these, if anything is to be
    /// translated and the place has not been looked at, whether that is worth it or not.
    pub fn translate(&mut self, place: u32, within: Range<u32>, costs: &Costs) {
        self.translate_some((place, FEWEST_STEPS), &within, costs);
    }

    /// Does so if there are so many steps in front of an access.
    fn translate_some(&mut self, begin: (u32, usize), within: &Range<u32>, costs: &Costs) {
        let place = begin.0;
        let Some(mut translated) = self.translated.take() else { return };
        if let Some(number) = translated.translate(self, costs, begin, within) {
            self.micro[place as usize].block = number;
        }
        self.translated = Some(translated);
    }

    /// Counts the blocks that are there.
    pub fn blocks(&self) -> usize {
        self.translated.as_ref().map_or(0, |translated| translated.count())
    }

    /// Gives the block of a number that a micro-operation has.
    #[inline(always)]
    pub(super) fn block(&self, number: u16) -> Option<&Placed> {
        block_of(self.translated_blocks(), number)
    }

    /// Gives what is executed in place of micro-operations: for [`block_of`].
    #[inline(always)]
    pub fn translated_blocks(&self) -> &[Option<Placed>] {
        self.translated.as_ref().map_or(&[], |translated| translated.blocks())
    }

    /// Forgets the blocks that depend on what lies between two places.
    fn forget_blocks(&mut self, first: usize, end: usize) {
        let Some(translated) = &mut self.translated else { return };
        for place in translated.forget(first as u32, end as u32) {
            self.micro[place as usize].block = 0;
        }
    }

    /// Gives the micro-operations by [place](DecodedProgram::place).
    #[inline(always)]
    pub fn micro(&self) -> &[MicroOp] {
        &self.micro
    }

    /// Decodes the bits found at `pc`; see [`DecodedProgram::fill`].
    pub fn fill(&mut self, pc: u32, word: u32) -> Instruction {
        let instruction = self.program.fill(pc, word);
        self.renew(pc, 2);
        instruction
    }

    /// Decodes the bytes at an address; see [`DecodedProgram::load`].
    pub fn load(&mut self, address: u32, bytes: &[u8]) {
        self.program.load(address, bytes);
        self.renew(address, bytes.len() as u64);
    }

    /// Forgets what a store may have changed; see [`DecodedProgram::invalidate`].
    pub fn invalidate(&mut self, address: u32, bytes: u64) {
        self.program.invalidate(address, bytes);
        self.renew(address, bytes);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.program.clear();
        self.forget_blocks(0, self.micro.len());
        self.micro.fill(UNKNOWN);
    }

    /// Makes the micro-operations anew that a change of `bytes` bytes at `address` may concern: those
    /// that begin before it may reach into it, look at what follows them, or lead to it in a run.
    fn renew(&mut self, address: u32, bytes: u64) {
        let offset = i64::from(address) - i64::from(self.program.base());
        let end = offset.saturating_add(bytes.min(1 << 40) as i64).max(0) as usize;
        let changed = (offset.max(0) as usize / 2).saturating_sub(1); // an instruction may begin before
        let last = end.div_ceil(2).min(self.micro.len());
        self.forget_blocks(changed, last);
        let first = (offset.max(0) as usize / 2).saturating_sub(REACHED_BACK);
        // From the end: a run goes on where the next one begins.
        for place in (first..last).rev() {
            self.micro[place] = self.micro_op(place as u32);
        }
        let mut same = 0;
        for place in (0..first.min(self.micro.len())).rev() {
            let micro = self.micro_op(place as u32);
            same = if self.micro[place] == micro { same + 1 } else { 0 };
            self.micro[place] = micro;
            if same == LONGEST {
                break; // nobody before them looks further
            }
        }
    }

    /// Gives the micro-operation of a place whose successors are known.
    fn micro_op(&self, place: u32) -> MicroOp {
        let Some(instruction) = self.program.at(place) else { return UNKNOWN };
        let pc = self.program.base().wrapping_add(place << 1);
        let step = instruction.length >> 1;
        let next = self.program.at(place + u32::from(step));
        let (mut kind, imm) = self.kind(instruction, pc);
        let rd = instruction.rd & 31;
        let jumps_there = |one: &&Instruction| one.op == Op::Jalr && rd != 0 && one.rs1 == rd;
        let jumps_next = next.filter(jumps_there).is_some();
        if jumps_next && instruction.computes(rd) {
            kind = Kind::Other; // the jump waits for it: the interpreter remembers that
        }
        let behind =
            next.and_then(|next| self.program.at(place + u32::from(step + (next.length >> 1))));
        let is_jumped_to = jumps_next || behind.filter(jumps_there).is_some();
        let is_atomic = kind == Kind::AmoAdd || kind.amo().is_some();
        let is_store = matches!(kind, Kind::Sw | Kind::Sb | Kind::Sh);
        let loads = is_atomic || kind <= Kind::Lh && !is_store;
        let is_used_next = loads && next.is_some_and(|next| waits_for(next, rd));
        let alignment = match kind {
            Kind::Lb | Kind::Lbu | Kind::Sb => 0,
            Kind::Lh | Kind::Lhu | Kind::Sh => 1,
            _ if kind.adds() => step << 2,
            _ if kind.accesses() => 3,
            _ => 0,
        };
        let flag = |flag, is_set| if is_set { flag } else { 0 };
        let flags = flag(Flags::KEEPS, kind != Kind::Sw)
            | flag(Flags::WRITES, is_store || is_atomic)
            | flag(Flags::ATOMIC, is_atomic)
            | flag(Flags::USED_NEXT, is_used_next)
            | flag(Flags::JUMPED_TO, loads && is_jumped_to)
            | flag(Flags::LEADS, kind.accesses() && self.leads_to_access(place + u32::from(step)));
        let loaded = if loads { rd } else { NO_REGISTER };
        let [rd, mut rs1, mut rs2] = [rd, instruction.rs1, instruction.rs2].map(Register::new);
        if kind == Kind::Set {
            rs1 = Register::X0;
        }
        if matches!(kind, Kind::Set | Kind::Addi) {
            rs2 = Register::X0;
        }
        let block = self.micro.get(place as usize).map_or(0, |one| one.block);
        let micro = MicroOp { imm, kind, rd, rs1, rs2, step, block, ..UNKNOWN };
        let mut micro = MicroOp { alignment, loaded, flags: Flags(flags), ..micro };
        if kind.computes() {
            let next = self.micro.get(place as usize + usize::from(step)).unwrap_or(&UNKNOWN);
            if next.run >= LONGEST_RUN {
                return UNKNOWN; // the interpreter executes it, and the run ends before it
            }
            micro.run = next.run + 1;
        }
        micro
    }

    /// Says whether there is an access at a place, or a sum and behind it one.
    fn leads_to_access(&self, place: u32) -> bool {
        let access = self.micro.get(place as usize).and_then(|one| {
            if one.kind.adds() { self.micro.get((place + one.skip()) as usize) } else { Some(one) }
        });
        access.is_some_and(|access| access.kind.accesses())
    }

    fn kind(&self, instruction: &Instruction, pc: u32) -> (Kind, u32) {
        let imm = instruction.imm as u32;
        let target = || self.program.place(pc.wrapping_add(imm));
        match instruction.op {
            Op::Lb => (Kind::Lb, imm),
            Op::Lh => (Kind::Lh, imm),
            Op::Lw => (Kind::Lw, imm),
            Op::Lbu => (Kind::Lbu, imm),
            Op::Lhu => (Kind::Lhu, imm),
            Op::Sb => (Kind::Sb, imm),
            Op::Sh => (Kind::Sh, imm),
            Op::Sw => (Kind::Sw, imm),
            Op::AmoAddW => (Kind::AmoAdd, 0),
            Op::AmoSwapW => (Kind::AmoSwap, 0),
            Op::AmoXorW => (Kind::AmoXor, 0),
            Op::AmoAndW => (Kind::AmoAnd, 0),
            Op::AmoOrW => (Kind::AmoOr, 0),
            Op::AmoMinW => (Kind::AmoMin, 0),
            Op::AmoMaxW => (Kind::AmoMax, 0),
            Op::AmoMinuW => (Kind::AmoMinu, 0),
            Op::AmoMaxuW => (Kind::AmoMaxu, 0),
            Op::Beq => (Kind::Beq, target()),
            Op::Bne => (Kind::Bne, target()),
            Op::Blt => (Kind::Blt, target()),
            Op::Bge => (Kind::Bge, target()),
            Op::Bltu => (Kind::Bltu, target()),
            Op::Bgeu => (Kind::Bgeu, target()),
            Op::Jal => (Kind::Jal, target()),
            Op::Jalr => (Kind::Jalr, imm),
            Op::Lui => (Kind::Set, imm),
            Op::Auipc => (Kind::Set, pc.wrapping_add(imm)),
            Op::Addi => (Kind::Addi, imm),
            Op::Slti => (Kind::Slti, imm),
            Op::Sltiu => (Kind::Sltiu, imm),
            Op::Xori => (Kind::Xori, imm),
            Op::Ori => (Kind::Ori, imm),
            Op::Andi => (Kind::Andi, imm),
            Op::Slli => (Kind::Slli, imm),
            Op::Srli => (Kind::Srli, imm),
            Op::Srai => (Kind::Srai, imm),
            Op::Add => (Kind::Add, 0),
            Op::Sub => (Kind::Sub, 0),
            Op::Sll => (Kind::Sll, 0),
            Op::Slt => (Kind::Slt, 0),
            Op::Sltu => (Kind::Sltu, 0),
            Op::Xor => (Kind::Xor, 0),
            Op::Srl => (Kind::Srl, 0),
            Op::Sra => (Kind::Sra, 0),
            Op::Or => (Kind::Or, 0),
            Op::And => (Kind::And, 0),
            Op::Mul => (Kind::Mul, 0),
            _ if matches!(instruction.class, Class::MulHigh | Class::Div) => (Kind::Long, 0),
            _ => (Kind::Other, 0),
        }
    }
}

#[cfg(test)]
mod tests;
