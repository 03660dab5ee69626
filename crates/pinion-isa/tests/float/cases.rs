//! Floating-point instructions as cases, and what our harts make of them: every operation of F and D, every rounding
//! mode, reserved ones too, on values that are special, near those, or random, boxed and not.
//!
//! A case is one instruction with the registers it reads (`f10`, `f11`, `f12`, `x10`) and `fcsr`; it writes `f13` or
//! `x13`. `tests/references` asks Berkeley SoftFloat the same cases.

use pinion_isa::csr::mstatus::FS;
use pinion_isa::{Extensions, Hart, HartConfig, Outcome, Xlen, decode};
use pinion_sim::random::SplitMix64;

/// The upper half of a register that holds a single-precision value.
const BOX: u64 = 0xffff_ffff << 32;
/// What registers hold that are not written.
pub const POISON: u64 = 0x5a5a_1234_8765_a5a5;
/// Random cases of each operation, in the tests.
pub const RANDOM: usize = 4000;
/// Number of the dynamic rounding mode.
const DYNAMIC: u32 = 7;

/// One instruction, and what it finds.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The instruction.
    pub word: u32,
    /// `f10`, `f11` and `f12`.
    pub f: [u64; 3],
    /// `x10`, of which RV32 takes the lower half.
    pub x: u64,
    /// Flags and rounding mode.
    pub fcsr: u32,
}

/// What an instruction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether it is illegal.
    pub is_illegal: bool,
    /// `f13`.
    pub f: u64,
    /// `x13`, sign-extended.
    pub x: u64,
    /// Flags and rounding mode.
    pub fcsr: u32,
}

/// An operation as instructions encode it.
pub struct Operation {
    pub name: &'static str,
    opcode: u32,
    funct5: u32,
    /// The field of the rounding mode where it chooses the operation.
    function: Option<u32>,
    /// The field of the second operand where it chooses the operation.
    second: Option<u32>,
    operands: usize,
}

const fn rounded(name: &'static str, opcode: u32, funct5: u32, operands: usize) -> Operation {
    Operation { name, opcode, funct5, function: None, second: None, operands }
}

const fn converted(name: &'static str, funct5: u32, second: u32) -> Operation {
    Operation { second: Some(second), ..rounded(name, 0x53, funct5, 1) }
}

const fn chosen(name: &'static str, funct5: u32, function: u32) -> Operation {
    Operation { function: Some(function), ..rounded(name, 0x53, funct5, 2) }
}

const fn moved(name: &'static str, funct5: u32, function: u32) -> Operation {
    Operation { function: Some(function), ..converted(name, funct5, 0) }
}

/// All of them; each is there in both formats.
pub const OPERATIONS: [Operation; 30] = [
    rounded("fadd", 0x53, 0, 2),
    rounded("fsub", 0x53, 1, 2),
    rounded("fmul", 0x53, 2, 2),
    rounded("fdiv", 0x53, 3, 2),
    converted("fsqrt", 0x0b, 0),
    rounded("fmadd", 0x43, 0, 3),
    rounded("fmsub", 0x47, 0, 3),
    rounded("fnmsub", 0x4b, 0, 3),
    rounded("fnmadd", 0x4f, 0, 3),
    chosen("fsgnj", 0x04, 0),
    chosen("fsgnjn", 0x04, 1),
    chosen("fsgnjx", 0x04, 2),
    chosen("fmin", 0x05, 0),
    chosen("fmax", 0x05, 1),
    chosen("fle", 0x14, 0),
    chosen("flt", 0x14, 1),
    chosen("feq", 0x14, 2),
    moved("fclass", 0x1c, 1),
    moved("fmv.x", 0x1c, 0),
    moved("fmv.f", 0x1e, 0),
    converted("fcvt.s", 0x08, 0),
    converted("fcvt.d", 0x08, 1),
    converted("fcvt.w", 0x18, 0),
    converted("fcvt.wu", 0x18, 1),
    converted("fcvt.l", 0x18, 2),
    converted("fcvt.lu", 0x18, 3),
    converted("fcvt.f.w", 0x1a, 0),
    converted("fcvt.f.wu", 0x1a, 1),
    converted("fcvt.f.l", 0x1a, 2),
    converted("fcvt.f.lu", 0x1a, 3),
];

impl Operation {
    /// Tells whether it exists in a format: a format is not converted into itself.
    pub fn exists(&self, is_double: bool) -> bool {
        self.funct5 != 0x08 || self.second != Some(u32::from(is_double))
    }

    /// Tells whether its operands are of the other format: a conversion's are.
    fn reads_double(&self, is_double: bool) -> bool {
        is_double != (self.funct5 == 0x08)
    }

    fn word(&self, is_double: bool, mode: u32) -> u32 {
        let fused = self.operands == 3;
        let funct7 = if fused { 12 << 2 } else { self.funct5 << 2 } | u32::from(is_double);
        let (second, mode) = (self.second.unwrap_or(11), self.function.unwrap_or(mode));
        funct7 << 25 | second << 20 | 10 << 15 | mode << 12 | 13 << 7 | self.opcode
    }

    /// Every corner with every other, in every rounding mode.
    pub fn corners(&self, is_double: bool) -> Vec<Case> {
        let values = corners(self.reads_double(is_double));
        let more =
            |operand: usize| if self.operands > operand { &values[..] } else { &values[..1] };
        let mut cases = Vec::new();
        for a in &values {
            for b in more(1) {
                for (third, c) in more(2).iter().enumerate() {
                    let number = cases.len() as u32;
                    let modes = if self.function.is_some() { 0..1 } else { 0..8 };
                    // Three operands are many: each takes one of the modes.
                    let modes = if self.operands == 3 { number % 8..number % 8 + 1 } else { modes };
                    for mode in modes {
                        cases.push(Case {
                            word: self.word(is_double, mode),
                            f: [*a, *b, *c],
                            x: INTEGERS[(number as usize + third) % INTEGERS.len()],
                            fcsr: ((number / 3 % 8) << 5) | (number % 32),
                        });
                    }
                }
            }
        }
        cases
    }

    /// A random case.
    pub fn random(&self, is_double: bool, random: &mut SplitMix64) -> Case {
        let read = self.reads_double(is_double);
        let near = random.draw();
        let f = [(); 3].map(|()| register(random, read, near));
        let x = match below(random, 3) {
            0 => INTEGERS[below(random, INTEGERS.len() as u64) as usize],
            1 => (random.draw() as i64 >> below(random, 64)) as u64,
            _ => random.draw() >> below(random, 64),
        };
        let mode = below(random, 8) as u32;
        let mode = if mode > 4 && below(random, 4) != 0 { DYNAMIC } else { mode };
        // Flags are mostly up in programs; what the host computes depends on them.
        let flags = [0, 1, random.draw() as u32 & 31][below(random, 3) as usize];
        let dynamic = match below(random, 10) {
            0..5 => 0,
            other => other as u32 - 4,
        };
        Case { word: self.word(is_double, mode), f, x, fcsr: (dynamic % 8) << 5 | flags }
    }
}

/// Integers where conversions change.
const INTEGERS: [u64; 16] = [
    0,
    1,
    u64::MAX,
    0x7fff_ffff,
    0xffff_ffff_8000_0000,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x0100_0001,
    0xffff_ff7f,
    0x0020_0000_0000_0001,
    0x7fff_ffff_ffff_fdff,
    0xffff_ffff_ffff_fbff,
    0x7fff_ff40,
    0xffff_ffff_ffff_fffe,
];

/// Values of a format that are treated specially, or lie where something changes, as registers hold them.
fn corners(is_double: bool) -> Vec<u64> {
    let (fraction, bits) = if is_double { (52, 64) } else { (23, 32) };
    let bias = (1_u64 << (bits - fraction - 2)) - 1;
    let one = bias << fraction;
    let infinity = (2 * bias + 1) << fraction;
    let power = |exponent: i64| ((bias as i64 + exponent) as u64) << fraction;
    let mut magnitudes = vec![0, 1, 2, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1];
    magnitudes.extend([one - 1, one, one + 1, one | 1 << (fraction - 1), power(-1), power(1)]);
    magnitudes.extend([
        infinity - 1,
        infinity,
        infinity + 1,
        infinity | 1 << (fraction - 1),
        infinity | 5 << (fraction - 3),
    ]);
    for exponent in [31, 32, 63, 64] {
        magnitudes.extend([power(exponent) - 1, power(exponent)]);
    }
    // Around the precision, and where products begin to vanish or to overflow.
    magnitudes.extend([
        power(fraction) | 1,
        power(1 - fraction),
        power(-(bias as i64) / 2),
        power(bias as i64 / 2),
    ]);
    let signed = magnitudes.iter().flat_map(|value| [*value, *value | 1 << (bits - 1)]);
    let mut values: Vec<u64> =
        signed.map(|value| if is_double { value } else { value | BOX }).collect();
    if !is_double {
        values.extend([one, one | BOX << 1, one | BOX >> 1 & BOX, 0]);
    }
    values
}

fn below(random: &mut SplitMix64, most: u64) -> u64 {
    ((u128::from(random.draw()) * u128::from(most)) >> 64) as u64
}

/// A random register's contents; `near` gives the operands of a case exponents that are near each other.
fn register(random: &mut SplitMix64, is_double: bool, near: u64) -> u64 {
    let (fraction, bits) = if is_double { (52, 64) } else { (23, 32) };
    let mask = u64::MAX >> (64 - bits);
    let values = corners(is_double);
    let corner = values[below(random, values.len() as u64) as usize] & mask;
    let value = match below(random, 8) {
        0 => corner,
        1 => corner.wrapping_add(below(random, 17)).wrapping_sub(8),
        2 => random.draw(),
        // Few bits, so that results are exact, or halves.
        3 => {
            random.draw() >> 63 << (bits - 1)
                | near & mask >> 1 & u64::MAX << (fraction - below(random, 6))
        }
        4 => {
            random.draw() & 1 << (bits - 1)
                | random.draw() & ((2 << fraction) - 1) >> below(random, fraction)
        }
        _ => {
            let own = random.draw() & ((1 << fraction) - 1) | random.draw() & 1 << (bits - 1);
            let exponent = (near & mask >> 1) >> fraction;
            let away = below(random, 2 * fraction + 8);
            let exponent = match below(random, 3) {
                0 => exponent,
                1 => exponent.wrapping_add(below(random, 5)).wrapping_sub(2),
                _ => exponent.wrapping_add(away).wrapping_sub(fraction + 4),
            };
            own | exponent << fraction & mask >> 1
        }
    } & mask;
    match is_double {
        true => value,
        false if below(random, 32) == 0 => value | random.draw() << 32,
        false => value | BOX,
    }
}

/// A hart to ask.
pub fn hart<X: Xlen>() -> Hart<X> {
    let extensions = if X::BITS == 64 { Extensions::RV64GC } else { Extensions::RV32GC };
    Hart::new(&HartConfig { extensions, ..HartConfig::default() }, X::ZERO)
}

/// What our hart makes of a case. It changes nothing else, or this panics.
pub fn ours<X: Xlen>(hart: &mut Hart<X>, case: &Case) -> Answer {
    hart.f[10..13].copy_from_slice(&case.f);
    hart.f[13] = POISON;
    hart.x[10] = X::from_u64(case.x);
    hart.x[13] = X::from_u64(POISON);
    hart.csr.fcsr = case.fcsr;
    hart.csr.mstatus |= FS;
    let before = (hart.f, hart.x);
    let outcome = hart.execute(&decode(case.word, hart.extensions()));
    let is_illegal = matches!(outcome, Outcome::Trap(_));
    let (mut f, mut x) = before;
    (f[13], x[13]) = (hart.f[13], hart.x[13]);
    assert!((f, x) == (hart.f, hart.x), "{case:x?} wrote another register");
    Answer { is_illegal, f: f[13], x: x[13].to_i64() as u64, fcsr: hart.csr.fcsr }
}

/// The cases of the tests: those of an operation in a format.
pub fn of(operation: &Operation, is_double: bool) -> Vec<Case> {
    let mut cases = operation.corners(is_double);
    let mut random = SplitMix64::new(u64::from(operation.word(is_double, 0)));
    cases.extend((0..RANDOM).map(|_| operation.random(is_double, &mut random)));
    cases
}

/// A line of `expected.txt`: register width, operation, format, number of cases, digest of their answers (FNV-1a).
pub fn line(wide: bool, operation: &Operation, is_double: bool, answers: &[Answer]) -> String {
    let words = answers
        .iter()
        .flat_map(|answer| [u64::from(answer.is_illegal), answer.f, answer.x, answer.fcsr.into()]);
    let digest =
        words.flat_map(u64::to_le_bytes).fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let (width, format) = (if wide { 64 } else { 32 }, if is_double { 'd' } else { 's' });
    format!("rv{width} {} {format} {} {digest:016x}", operation.name, answers.len())
}
