//! Random instruction sequences that stay within bounds: memory accesses reach the scratch page,
//! branches go forward within a segment, and the two base registers keep their values.

use pinion_isa::{Class, Extensions, Instruction, Op, decode};

use crate::assembler::{Code, ECALL, addi, csr, i, jal, r, s, u};
use crate::float;
use crate::frame::{self, BASES, Pmp};
use crate::layout::*;
use crate::random::Random;

/// Values that arithmetic treats specially.
const SPECIAL: [u32; 10] =
    [0, 1, 2, 0xffff_ffff, 0x8000_0000, 0x7fff_ffff, 0x8000_0001, 31, 0xffff_8000, 0xff];

/// CSRs that machine mode may overwrite without losing the thread.
const MACHINE_CSRS: [u16; 8] = [0x342, 0x343, 0x3b8, 0x3b9, 0x3ba, 0x3bb, 0x3be, 0x3bf];
/// CSRs that are only read.
const READABLE_CSRS: [u16; 5] = [0x300, 0x304, 0x305, 0x340, 0xf14];

/// A program and what is needed to speak about it.
pub struct Program {
    /// All of memory before the start.
    pub memory: Vec<u8>,
    /// First address and address behind each block.
    pub blocks: Vec<(u32, u32)>,
}

/// Says which instructions a program is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Integer instructions, without floating point on the core.
    Integer,
    /// Mostly floating point.
    Float,
}

impl Kind {
    /// Gives the core's extensions.
    pub fn extensions(self, wide: bool) -> Extensions {
        match (self, wide) {
            (Self::Integer, false) => Extensions::RV32IMAC,
            (Self::Integer, true) => Extensions::RV64IMAC,
            (Self::Float, false) => Extensions::RV32GC,
            (Self::Float, true) => Extensions::RV64GC,
        }
    }
}

/// Writes a program of `blocks` blocks of about `length` instructions, run `rounds` times.
pub fn program(
    seed: u64,
    kind: Kind,
    wide: bool,
    blocks: u32,
    length: u32,
    rounds: u32,
) -> Program {
    let mut generator = Generator {
        random: Random::new(seed),
        code: Code::new(BASE, wide),
        extensions: kind.extensions(wide),
        wide,
        user: false,
    };
    // RV64 gets no borders within eight bytes: there QEMU lets sc.d fail without a fault. Nor does
    // floating point: RV32 accesses a doubleword in halves.
    let pmp = Pmp::random(&mut generator.random, wide || kind == Kind::Float);
    let frame = frame::begin(&mut generator.code, &pmp, kind, wide);
    if kind == Kind::Float {
        generator.enable_float();
    }
    let first = generator.code.here();
    let mut ranges = Vec::new();
    for _ in 0..blocks {
        let start = generator.code.here();
        match kind {
            Kind::Integer => generator.block(length),
            Kind::Float => generator.float_block(length),
        }
        ranges.push((start, generator.code.here()));
        if kind == Kind::Float {
            generator.fold_float_registers();
        }
        frame::call_sign(&mut generator.code, &frame);
    }
    frame::end(&mut generator.code, first);
    assert!(generator.code.bytes.len() <= CODE_BYTES as usize, "too much code for its place");
    assert!(blocks * rounds <= LOG_ENTRIES, "too many signatures for the log");
    let mut memory = generator.code.bytes;
    memory.resize(BYTES, 0);
    for byte in &mut memory[(SCRATCH - BASE) as usize..][..0x1000] {
        *byte = generator.random.word() as u8;
    }
    if kind == Kind::Float {
        let table = float::table(&mut generator.random);
        memory[(SCRATCH - BASE) as usize + float::TABLE as usize..][..table.len()]
            .copy_from_slice(&table);
    }
    let mut put = |offset: i32, value: u64| {
        let at = (SAVE - BASE) as usize + offset as usize;
        memory[at..at + 8].copy_from_slice(&value.to_le_bytes());
    };
    put(LOG_POINTER, u64::from(LOG));
    put(TRAP_LOG_BASE, u64::from(TRAP_LOG));
    put(ROUNDS, u64::from(rounds));
    Program { memory, blocks: ranges }
}

pub struct Generator {
    pub random: Random,
    pub code: Code,
    pub extensions: Extensions,
    pub wide: bool,
    pub user: bool,
}

impl Generator {
    /// Writes one block: some instructions in machine mode, some in user mode.
    fn block(&mut self, length: u32) {
        self.segment(length * 3 / 4);
        let temporary = self.destination();
        frame::enter_user_mode(&mut self.code, temporary.max(9));
        self.user = true;
        self.segment(length / 4);
        self.user = false;
        self.code.word(ECALL);
    }

    fn segment(&mut self, length: u32) {
        for _ in 0..length {
            self.one();
        }
    }

    /// A register that may be overwritten.
    pub fn destination(&mut self) -> u8 {
        loop {
            let register = self.random.below(32) as u8;
            if !BASES.contains(&register) {
                return register;
            }
        }
    }

    /// A register that may be overwritten and holds what is written.
    pub fn temporary(&mut self) -> u8 {
        loop {
            match self.destination() {
                0 => {}
                register => return register,
            }
        }
    }

    pub fn source(&mut self) -> u8 {
        self.random.below(32) as u8
    }

    /// Writes one instruction, or a few that belong together.
    fn one(&mut self) {
        match self.random.below(100) {
            0..6 => self.branch(),
            6..8 => self.jump(),
            8..10 => self.jump_register(),
            other => self.straight(other),
        }
    }

    /// Writes something that does not branch.
    pub fn straight(&mut self, kind: u32) {
        match kind {
            ..=30 => self.register_arithmetic(),
            31..=48 => self.immediate_arithmetic(),
            49..=51 => {
                let opcode = self.random.pick(&[0x17, 0x37]);
                let word = u(opcode, self.destination(), self.random.word());
                self.code.word(word);
            }
            52..=57 => {
                let (register, value) = (self.temporary(), self.random.pick(&SPECIAL));
                self.code.constant(register, value);
            }
            58..=70 => self.plain_access(),
            71..=75 => self.atomic(),
            76..=77 => self.reserve_and_store(),
            78..=94 => self.compressed(),
            95..=97 => self.csr(),
            98 => self.trap(),
            _ => {
                let word = self.random.pick(&[0x0ff0_000f, 0x0330_000f, 0x8330_000f, 0x100f]);
                self.code.word(word);
            }
        }
    }

    fn register_arithmetic(&mut self) {
        let (rd, rs1, rs2) = (self.destination(), self.source(), self.source());
        let word_forms = self.wide && self.random.one_in(3);
        let opcode = if word_forms { 0x3b } else { 0x33 };
        loop {
            let (funct3, funct7) = (self.random.below(8), self.random.pick(&[0, 0, 0x20, 1, 1]));
            let word = r(opcode, funct3, funct7, rd, rs1, rs2);
            if decode(word, self.extensions).op != Op::Illegal {
                return self.code.word(word);
            }
        }
    }

    fn immediate_arithmetic(&mut self) {
        let (rd, rs1) = (self.destination(), self.source());
        let opcode = if self.wide && self.random.one_in(3) { 0x1b } else { 0x13 };
        loop {
            let word = i(opcode, self.random.below(8), rd, rs1, self.random.word() as i32 >> 20);
            if decode(word, self.extensions).op != Op::Illegal {
                return self.code.word(word);
            }
        }
    }

    /// An offset from `s0` for an access of some bytes.
    fn offset(&mut self, bytes: i32) -> i32 {
        let offset = self.random.between(-2048, 2048 - bytes);
        if self.random.one_in(4) { offset } else { offset & !(bytes - 1) }
    }

    fn plain_access(&mut self) {
        if self.random.one_in(60) {
            // Nothing lies at address 0: an access fault.
            let offset = self.random.between(0, 500) * 4;
            let word = match self.random.one_in(2) {
                true => i(0x03, 2, self.destination(), 0, offset),
                false => s(2, 0, self.source(), offset),
            };
            return self.code.word(word);
        }
        let size = self.random.below(if self.wide { 4 } else { 3 });
        let offset = self.offset(1 << size);
        if self.random.one_in(2) {
            let word = s(size, BASES[1], self.source(), offset);
            return self.code.word(word);
        }
        let widest = if self.wide { 3 } else { 2 };
        let unsigned = size < widest && self.random.one_in(2);
        let funct3 = if unsigned { size | 4 } else { size };
        let word = i(0x03, funct3, self.destination(), BASES[1], offset);
        self.code.word(word);
    }

    /// Points a register at scratch memory and gives the access's funct3.
    fn point(&mut self, may_misalign: bool) -> (u8, u32) {
        let funct3 = if self.wide && self.random.one_in(2) { 3 } else { 2 };
        let misalign = may_misalign && self.random.one_in(12);
        let offset = self.offset(8) & !7 | if misalign { self.random.between(1, 3) } else { 0 };
        let pointer = self.temporary();
        self.code.word(addi(pointer, BASES[1], offset));
        (pointer, funct3)
    }

    fn atomic(&mut self) {
        let (pointer, funct3) = self.point(true);
        let operation = self.random.pick(&[0x00, 0x01, 0x04, 0x08, 0x0c, 0x10, 0x14, 0x18, 0x1c]);
        let funct7 = operation << 2 | self.random.below(4);
        let word = r(0x2f, funct3, funct7, self.destination(), pointer, self.source());
        self.code.word(word);
    }

    /// Load-reserved, perhaps something between, store-conditional to there or elsewhere.
    fn reserve_and_store(&mut self) {
        if self.user {
            return; // implementations differ in what faults when the store will fail
        }
        let (pointer, funct3) = self.point(false);
        if self.random.one_in(6) {
            let word = r(0x2f, funct3, 3 << 2, self.destination(), pointer, self.source());
            return self.code.word(word); // nothing is reserved: fails
        }
        let mut loaded = self.temporary();
        while loaded == pointer {
            loaded = self.temporary();
        }
        let ordering = self.random.below(4);
        self.code.word(r(0x2f, funct3, 2 << 2 | ordering, loaded, pointer, 0));
        self.code.word(addi(loaded, loaded, 1));
        if self.random.one_in(4) {
            self.code.word(addi(pointer, pointer, 8)); // elsewhere: fails
        }
        let word = r(0x2f, funct3, 3 << 2, self.destination(), pointer, loaded);
        self.code.word(word);
    }

    /// Any 16-bit instruction that is harmless, and now and then one that is none.
    fn compressed(&mut self) {
        loop {
            let half = self.random.word() as u16;
            let instruction = decode(u32::from(half), self.extensions);
            if half & 3 != 3 && self.is_harmless(&instruction) {
                return self.code.half(half);
            }
        }
    }

    fn is_harmless(&mut self, instruction: &Instruction) -> bool {
        let writes_base = BASES.contains(&instruction.rd);
        match instruction.class {
            Class::Illegal => self.random.one_in(24),
            // Floating point is generated elsewhere.
            class if class.is_float() => false,
            Class::Load | Class::Store => BASES.contains(&instruction.rs1) && !writes_base,
            Class::Branch | Class::Jump | Class::JumpRegister => false,
            Class::System => self.random.one_in(8),
            _ => !writes_base,
        }
    }

    fn csr(&mut self) {
        let (rd, source) = (self.destination(), self.source());
        let word = if self.random.one_in(4) {
            // The handler says why RV64's mstatus is not compared whole.
            let csrs = &READABLE_CSRS[usize::from(self.wide)..];
            csr(2, rd, self.random.pick(csrs), 0)
        } else {
            let funct3 = self.random.pick(&[1, 2, 3, 5, 6, 7]);
            // QEMU 7.2 lets RV64's pmpaddr keep bits 63:54, which do not exist.
            let csrs = if self.wide { &MACHINE_CSRS[..2] } else { &MACHINE_CSRS[..] };
            csr(funct3, rd, self.random.pick(csrs), source)
        };
        self.code.word(word);
    }

    /// Something that traps.
    fn trap(&mut self) {
        match self.random.below(6) {
            0 if !self.user => self.code.word(ECALL), // from user mode it ends the segment
            1 => self.code.word(0x0010_0073),         // ebreak
            2 => self.code.half(0),
            3 => {
                let target = if self.user { BASES[1] } else { 0 };
                self.code.word(i(0x67, 0, 1, target, 0)); // to where nothing can be executed
            }
            _ => loop {
                let word = self.random.word() | 3;
                let system = matches!(word & 0x7f, 0x0f | 0x73);
                if !system && decode(word, self.extensions).op == Op::Illegal {
                    return self.code.word(word);
                }
            },
        }
    }

    /// Writes one to four instructions to be jumped over.
    fn skipped(&mut self) {
        for _ in 0..=self.random.below(4) {
            let kind = 10 + self.random.below(90);
            self.straight(kind);
        }
    }

    fn branch(&mut self) {
        let from = self.code.here();
        if self.random.one_in(3) {
            // c.beqz, c.bnez on x8 to x15
            let base = self.random.pick(&[0xc001u16, 0xe001]) | (self.random.below(8) as u16) << 7;
            self.code.half(base);
            self.skipped();
            let o = (self.code.here() - from) as u16;
            let offset = (o >> 8 & 1) << 12
                | (o >> 3 & 3) << 10
                | (o >> 6 & 3) << 5
                | (o >> 1 & 3) << 3
                | (o >> 5 & 1) << 2;
            return self.patch_half(from, base | offset);
        }
        let funct3 = self.random.pick(&[0, 1, 4, 5, 6, 7]);
        let (rs1, rs2) = (self.source(), self.source());
        self.code.hole();
        self.skipped();
        self.code.land_branch(from, funct3, rs1, rs2);
    }

    fn jump(&mut self) {
        let from = self.code.here();
        if self.random.one_in(3) {
            // c.j, or (RV32) c.jal
            let base = if self.wide || self.random.one_in(2) { 0xa001u16 } else { 0x2001 };
            self.code.half(base);
            self.skipped();
            let o = (self.code.here() - from) as u16;
            let offset = (o >> 11 & 1) << 12
                | (o >> 4 & 1) << 11
                | (o >> 8 & 3) << 9
                | (o >> 10 & 1) << 8
                | (o >> 6 & 1) << 7
                | (o >> 7 & 1) << 6
                | (o >> 1 & 7) << 3
                | (o >> 5 & 1) << 2;
            return self.patch_half(from, base | offset);
        }
        let rd = self.destination();
        self.code.hole();
        self.skipped();
        let offset = (self.code.here() - from) as i32;
        self.code.patch(from, jal(rd, offset));
    }

    fn jump_register(&mut self) {
        let (pointer, rd) = (self.temporary(), self.destination());
        let from = self.code.here();
        self.code.word(u(0x17, pointer, 0));
        self.code.word(addi(pointer, pointer, 0));
        let compressed = self.random.one_in(2);
        if compressed {
            let base = self.random.pick(&[0x8002u16, 0x9002]); // c.jr, c.jalr
            self.code.half(base | u16::from(pointer) << 7);
        } else {
            self.code.word(0);
        }
        self.skipped();
        let offset = (self.code.here() - from) as i32;
        if compressed {
            self.code.patch(from + 4, addi(pointer, pointer, offset));
        } else {
            let part = self.random.between(-64, 64);
            self.code.patch(from + 4, addi(pointer, pointer, offset - part));
            // The lowest bit of the target is dropped.
            let odd = i32::from(offset & 1 == 0 && self.random.one_in(4));
            self.code.patch(from + 8, i(0x67, 0, rd, pointer, part + odd));
        }
    }

    fn patch_half(&mut self, address: u32, half: u16) {
        let at = (address - BASE) as usize;
        self.code.bytes[at..at + 2].copy_from_slice(&half.to_le_bytes());
    }
}
