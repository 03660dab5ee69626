//! Random floating-point instructions: on special values, on numbers close to each other, with all
//! rounding modes, with flags clear and set, with `mstatus.FS` off now and then.

use pinion_isa::{Op, decode};

use crate::assembler::{ECALL, addi, csr, i, mul, r, s, u, xor};
use crate::frame::{self, BASES};
use crate::generate::Generator;
use crate::layout::{SAVE, SCRATCH};
use crate::random::Random;

/// Where the table of special values lies in the scratch page; stores reach other parts.
pub const TABLE: u32 = 0x400;
/// Doubles and boxed singles in the table, as many of each.
const ENTRIES: u32 = 64;

const FFLAGS: u16 = 1;
const FRM: u16 = 2;
const FCSR: u16 = 3;
const MSTATUS: u16 = 0x300;
const DYNAMIC: u32 = 7;
/// The format field of double precision; that of single precision is 0.
const DOUBLE: u32 = 1;

/// Exponent fields at which something changes: zero, subnormal, the smallest normal numbers, half
/// of them (whose products are the smallest), one, integers' limits, the largest, infinite.
const DOUBLE_EXPONENTS: [u64; 26] = [
    0, 1, 2, 52, 53, 54, 106, 511, 512, 513, 896, 897, 969, 1021, 1022, 1023, 1024, 1053, 1054,
    1075, 1085, 1086, 1534, 1535, 2046, 2047,
];
const SINGLE_EXPONENTS: [u64; 20] =
    [0, 1, 2, 23, 24, 25, 48, 63, 64, 65, 125, 126, 127, 128, 157, 158, 189, 190, 254, 255];

/// Doubles whose products, or conversions to single precision, lie just below the smallest normal
/// number: whether they underflow depends on how they would round without that limit.
const DOUBLE_EDGES: [u64; 8] = [
    0x0010_0000_0000_0001,
    0x001f_ffff_ffff_ffff,
    0x3fe0_0000_0000_0000,
    0x3fef_ffff_ffff_fffe,
    0x3fef_ffff_ffff_ffff,
    0x380f_ffff_ffff_ffff,
    0x380f_ffff_e000_0000,
    0x380f_ffff_f000_0000,
];
/// Singles of the same kind.
const SINGLE_EDGES: [u64; 8] = [
    0x0080_0001,
    0x00ff_ffff,
    0x3f00_0000,
    0x3f7f_fffe,
    0x3f7f_ffff,
    0x8080_0001,
    0x007f_ffff,
    0x0080_0000,
];

/// Makes a number of a format from a special exponent and a fraction of a special kind.
fn special(random: &mut Random, fraction_bits: u32, exponents: &[u64], sign: u32) -> u64 {
    let all = (1u64 << fraction_bits) - 1;
    let fraction = match random.below(8) {
        0 => 0,
        1 => all,
        2 => 1,
        3 => all - 1,
        4 => 1 << random.below(fraction_bits),
        5 => all << random.below(fraction_bits),
        6 => all >> random.below(fraction_bits),
        _ => random.bits(),
    };
    let exponent = random.pick(exponents);
    let negative = u64::from(random.one_in(2));
    negative << sign | exponent << fraction_bits | fraction & all
}

/// Makes the table of special values.
pub fn table(random: &mut Random) -> Vec<u8> {
    let mut table = Vec::new();
    let mut doubles = DOUBLE_EDGES.to_vec();
    doubles.resize_with(ENTRIES as usize, || special(random, 52, &DOUBLE_EXPONENTS, 63));
    let mut singles = SINGLE_EDGES.to_vec();
    singles.resize_with(ENTRIES as usize, || special(random, 23, &SINGLE_EXPONENTS, 31));
    for value in doubles {
        table.extend(value.to_le_bytes());
    }
    for value in singles {
        table.extend((0xffff_ffff << 32 | value).to_le_bytes());
    }
    table
}

impl Generator {
    /// Turns floating point on.
    pub fn enable_float(&mut self) {
        self.code.constant(5, 0x6000);
        self.code.word(csr(2, 0, MSTATUS, 5));
        for register in 0..32 {
            self.load_special(register);
        }
    }

    /// Writes one block: some instructions in machine mode, some in user mode.
    pub fn float_block(&mut self, length: u32) {
        for _ in 0..length / 2 {
            self.float_step();
        }
        let temporary = self.destination();
        frame::enter_user_mode(&mut self.code, temporary.max(9));
        self.user = true;
        for _ in 0..length / 8 {
            self.float_step();
        }
        self.user = false;
        self.code.word(ECALL);
    }

    /// Folds all floating-point registers and `fcsr` into the integer registers 5 and 6, with floating
    /// point on from here.
    pub fn fold_float_registers(&mut self) {
        self.code.constant(7, 0x6000);
        self.code.word(csr(2, 0, MSTATUS, 7));
        self.code.word(csr(2, 5, FCSR, 0));
        self.code.constant(6, 0x5851_f42d);
        self.code.address(9, SAVE + 0x200);
        for register in 0..32u8 {
            self.code.word(s_float(3, 9, register, 0));
            for offset in if self.wide { &[0][..] } else { &[0, 4] } {
                self.code.restore(7, 9, *offset);
                self.code.word(xor(5, 5, 7));
                self.code.word(mul(5, 5, 6));
                self.code.word(addi(5, 5, i32::from(register) + 1));
            }
        }
    }

    /// A register that most likely holds a value of a format: f0 to f15 doubles (1), the others
    /// singles (0).
    fn float_register(&mut self, format: u32) -> u8 {
        match self.random.below(16) {
            0 => self.random.below(32) as u8,
            _ => (self.random.below(16) + if format == DOUBLE { 0 } else { 16 }) as u8,
        }
    }

    /// The format that a register most likely holds.
    fn format_of(&mut self, register: u8) -> u32 {
        if (register < 16) != self.random.one_in(12) { DOUBLE } else { 1 - DOUBLE }
    }

    fn rounding(&mut self) -> u32 {
        match self.random.below(64) {
            0..=20 => DYNAMIC,
            21..=36 => 0,
            37..=62 => self.random.below(5),
            _ => 5 + self.random.below(2),
        }
    }

    /// Loads a special value of the format that the register holds.
    fn load_special(&mut self, register: u8) {
        let index = self.random.below(ENTRIES) as i32;
        let first = if self.format_of(register) == DOUBLE { 0 } else { ENTRIES as i32 };
        let width = if self.random.one_in(12) { 2 } else { 3 };
        let offset = TABLE as i32 - 0x800 + 8 * (first + index);
        self.code.word(i(0x07, width, register, BASES[1], offset));
    }

    /// Moves an integer register, random as they are, or a conversion of it.
    fn move_random(&mut self, register: u8) {
        let source = self.source();
        let format = self.format_of(register);
        let bits = if format == DOUBLE && !self.wide { 0x68 } else { 0x78 };
        let funct = self.random.pick(&[bits, 0x68, 0x68]);
        let kind = match funct {
            0x78 => 0,
            _ => self.random.below(if self.wide { 4 } else { 2 }) as u8,
        };
        let mode = if funct == 0x78 { 0 } else { self.rounding() };
        let word = r(0x53, mode, funct | format, register, source, kind);
        self.code.word(word);
    }

    /// Makes a number around one from an integer register: close numbers cancel.
    fn near_one(&mut self, register: u8) {
        let (temporary, one, source) = (self.temporary(), self.temporary(), self.source());
        let double = self.format_of(register) == DOUBLE;
        if double && self.wide {
            let (up, down) = (self.random.below(48) as i32, 8 + self.random.below(4) as i32);
            self.code.word(i(0x13, 1, temporary, source, up)); // slli: few significant bits
            self.code.word(i(0x13, 5, temporary, temporary, down)); // srli: above the exponent, not
            self.code.word(addi(one, 0, 0x3ff));
            self.code.word(i(0x13, 1, one, one, 52));
            self.code.word(xor(temporary, temporary, one));
            return self.code.word(r(0x53, 0, 0x79, register, temporary, 0)); // fmv.d.x
        }
        let (up, down) = (self.random.below(20) as i32, 5 + self.random.below(4) as i32);
        let opcode = if self.wide { 0x1b } else { 0x13 };
        self.code.word(i(opcode, 1, temporary, source, up));
        self.code.word(i(opcode, 5, temporary, temporary, down));
        self.code.word(u(0x37, one, 0x3f80_0000));
        self.code.word(xor(temporary, temporary, one));
        self.code.word(r(0x53, 0, 0x78, register, temporary, 0)); // fmv.w.x
        if double {
            self.code.word(r(0x53, 0, 0x21, register, register, 0)); // fcvt.d.s
        }
    }

    fn refresh(&mut self, register: u8) {
        match self.random.below(8) {
            0..4 => self.load_special(register),
            4..6 => self.move_random(register),
            _ => self.near_one(register),
        }
    }

    /// Writes one instruction, or a few that belong together.
    fn float_step(&mut self) {
        match self.random.below(100) {
            0..3 => self.edge(),
            3..56 => self.operation(),
            56..66 => self.residual(),
            66..70 => {
                let format = self.random.below(2);
                let register = self.float_register(format);
                self.refresh(register);
            }
            70..78 => self.access(),
            78..86 => self.control(),
            86..88 => self.switch_off(),
            _ => {
                // No integer stores but compressed ones, which do not reach the table.
                let kinds = [10, 11, 12, 13, 31, 32, 33, 34, 49, 52, 78, 79, 80, 98];
                let kind = self.random.pick(&kinds);
                self.straight(kind);
            }
        }
    }

    /// Any operation.
    fn operation(&mut self) {
        let format = self.random.below(2);
        let (rs1, rs2) = (self.float_register(format), self.float_register(format));
        for source in [rs1, rs2] {
            if self.random.one_in(2) {
                self.refresh(source);
            }
        }
        if self.random.one_in(5) {
            let (rd, rs3) = (self.float_register(format), self.float_register(format));
            let opcode = self.random.pick(&[0x43, 0x47, 0x4b, 0x4f]);
            let funct7 = u32::from(rs3) << 2 | format;
            let word = r(opcode, self.rounding(), funct7, rd, rs1, rs2);
            return self.code.word(word);
        }
        loop {
            let funct5 = self.random.pick(&[
                0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 8, 8, 0xb, 0xb, 0x14, 0x14, 0x18, 0x18, 0x1a,
                0x1c, 0x1e,
            ]);
            let mode = match funct5 {
                4 | 5 | 0x14 | 0x1c | 0x1e => self.random.below(3),
                _ => self.rounding(),
            };
            let rs2 = match funct5 {
                8 => 1 - format as u8,
                0xb | 0x1c | 0x1e => 0,
                0x18 | 0x1a => self.random.below(4) as u8,
                _ => rs2,
            };
            let rs1 = if funct5 == 8 { self.float_register(1 - format) } else { rs1 };
            let to_integer = matches!(funct5, 0x14 | 0x18 | 0x1c);
            let rd = if to_integer { self.destination() } else { self.float_register(format) };
            let word = r(0x53, mode, funct5 << 2 | format, rd, rs1, rs2);
            if decode(word, self.extensions).op != Op::Illegal || self.random.one_in(50) {
                return self.code.word(word);
            }
        }
    }

    /// A product or conversion about the smallest normal number, flags clear before it.
    fn edge(&mut self) {
        let format = self.random.below(2);
        let [a, b, result] = std::array::from_fn(|_| self.float_register(format));
        let first = TABLE as i32 - 0x800 + if format == 0 { 8 * ENTRIES as i32 } else { 0 };
        for register in [a, b] {
            let offset = first + 8 * self.random.below(8) as i32;
            self.code.word(i(0x07, 3, register, BASES[1], offset));
        }
        self.code.word(csr(5, 0, FFLAGS, 0));
        let mode = self.rounding();
        let word = match (format, self.random.below(3)) {
            (1, 0) => r(0x53, mode, 0x20, result, a, 1), // fcvt.s.d
            (_, 1) => r(0x43, mode, u32::from(b) << 2 | format, result, a, b),
            _ => r(0x53, mode, 0x08 | format, result, a, b),
        };
        self.code.word(word);
        let flags = self.destination();
        self.code.word(csr(2, flags, FFLAGS, 0));
    }

    /// The rounding error of a product, quotient, root or sum: where flags are decided.
    fn residual(&mut self) {
        let format = self.random.below(2);
        let [a, b, result, error] = std::array::from_fn(|_| self.float_register(format));
        for source in [a, b] {
            if self.random.one_in(2) {
                self.refresh(source);
            }
        }
        let (first, second) = (self.rounding(), self.rounding());
        let operation =
            |funct5: u32, mode, rd, rs1, rs2| r(0x53, mode, funct5 << 2 | format, rd, rs1, rs2);
        let fused = |opcode, rs1, rs2, rs3: u8| {
            r(opcode, second, u32::from(rs3) << 2 | format, error, rs1, rs2)
        };
        let words = match self.random.below(4) {
            0 => [operation(2, first, result, a, b), fused(0x47, a, b, result)],
            1 => [operation(3, first, result, a, b), fused(0x4b, result, b, a)],
            2 => [operation(0xb, first, result, a, 0), fused(0x4b, result, result, a)],
            _ => [operation(0, first, result, a, b), operation(1, second, error, result, a)],
        };
        for word in words {
            self.code.word(word);
        }
    }

    /// A load or store, also a compressed one.
    fn access(&mut self) {
        let double = self.random.one_in(2);
        let register = self.float_register(u32::from(double));
        if self.random.one_in(2) {
            return self.compressed_access();
        }
        // The upper half of the page, or the lower's first quarter: not the table.
        let offset =
            if self.random.one_in(2) { -0x800 } else { 0 } + 8 * self.random.below(64) as i32;
        // RV32 accesses doublewords in halves, of which a PMP entry may cover only one.
        let misaligned = !self.user && (self.wide || !double) && self.random.one_in(6);
        let offset = offset + if misaligned { self.random.between(0, 7) } else { 0 };
        let width = if double { 3 } else { 2 };
        let word = match self.random.one_in(2) {
            true => i(0x07, width, register, BASES[1], offset),
            false => s_float(width, BASES[1], register, offset),
        };
        self.code.word(word);
    }

    fn compressed_access(&mut self) {
        // c.fld and c.fsd, on RV32 c.flw and c.fsw; relative to s0 (x8, register field 0) or to the
        // stack pointer, from which they do not reach the table either.
        let functs: &[u16] = if self.wide { &[1, 5] } else { &[1, 3, 5, 7] };
        let half = self.random.pick(functs) << 13;
        let random = self.random.word() as u16;
        let half =
            if self.random.one_in(2) { half | random & 0x1c7c } else { half | random & 0x1ffc | 2 };
        self.code.half(half);
    }

    /// Changes or reads `fcsr` and its parts.
    fn control(&mut self) {
        let (rd, source) = (self.destination(), self.source());
        let mode = if self.random.one_in(12) { self.random.below(8) } else { self.random.below(5) };
        let mode = if self.random.one_in(3) { 0 } else { mode };
        let word = match self.random.below(8) {
            0..3 => csr(5, rd, FRM, mode as u8), // csrrwi
            3..5 => csr(5, rd, FFLAGS, 0),
            5 => csr(self.random.pick(&[1, 2, 3]), rd, FFLAGS, source),
            6 => csr(2, rd, self.random.pick(&[FFLAGS, FRM, FCSR]), 0),
            _ => csr(5, rd, FCSR, self.random.below(32) as u8),
        };
        self.code.word(word);
    }

    /// Turns floating point off for a few instructions, in machine mode.
    fn switch_off(&mut self) {
        if self.user {
            return;
        }
        let temporary = self.temporary();
        self.code.constant(temporary, 0x6000);
        self.code.word(csr(3, 0, MSTATUS, temporary));
        for _ in 0..1 + self.random.below(4) {
            match self.random.below(3) {
                0 => self.operation(),
                1 => self.access(),
                _ => self.control(),
            }
        }
        let temporary = self.temporary();
        let state = self.random.pick(&[0x2000, 0x4000, 0x6000]);
        self.code.constant(temporary, state);
        self.code.word(csr(2, 0, MSTATUS, temporary));
    }
}

/// Encodes a store of a floating-point register.
fn s_float(width: u32, rs1: u8, rs2: u8, offset: i32) -> u32 {
    s(width, rs1, rs2, offset) & !0x7f | 0x27
}

const _: () = assert!(TABLE + 16 * ENTRIES <= 0x800 && SCRATCH.is_multiple_of(8));
