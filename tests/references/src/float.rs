//! Floating point, with Berkeley SoftFloat (release 3, specialised for RISC-V): the cases of `pinion-isa`'s test
//! `float`, then random ones. What SoftFloat has no word for stands here as the specification has it: boxes, signs,
//! classes, minimum and maximum. Writes SoftFloat's digests for that test if `PINION_BLESS=1`.

#[path = "../../../crates/pinion-isa/tests/float/cases.rs"]
mod cases;

use std::path::Path;

use cases::{Answer, Case, OPERATIONS, POISON, line, of, ours};
use pinion_isa::Xlen;
use pinion_sim::random::SplitMix64;
use softfloat_wrapper::{ExceptionFlags, F32, F64, Float, RoundingMode};

/// The upper half of a register that holds a single-precision value.
const BOX: u64 = 0xffff_ffff << 32;
const INVALID: u8 = 16;

/// A format as registers hold it.
trait Format: Float + Copy {
    const QUIET_NAN: u64;
    const SIGN: u64;
    fn unbox(register: u64) -> Self;
    fn enclose(self) -> u64;
    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
}

impl Format for F32 {
    const QUIET_NAN: u64 = 0x7fc0_0000;
    const SIGN: u64 = 1 << 31;
    fn unbox(register: u64) -> Self {
        let is_boxed = register >> 32 == 0xffff_ffff;
        Self::of_bits(if is_boxed { register } else { Self::QUIET_NAN })
    }
    fn enclose(self) -> u64 {
        BOX | u64::from(self.to_bits())
    }
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    fn of_bits(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }
}

impl Format for F64 {
    const QUIET_NAN: u64 = 0x7ff8 << 48;
    const SIGN: u64 = 1 << 63;
    fn unbox(register: u64) -> Self {
        Self::from_bits(register)
    }
    fn enclose(self) -> u64 {
        self.to_bits()
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn of_bits(bits: u64) -> Self {
        Self::from_bits(bits)
    }
}

/// Where a result goes.
enum Result {
    Float(u64),
    Integer(u64),
}

/// What SoftFloat makes of a case.
fn theirs(case: &Case, wide: bool) -> Answer {
    let x = if wide { POISON } else { POISON as u32 as i32 as u64 };
    let mut answer = Answer { is_illegal: false, f: POISON, x, fcsr: case.fcsr };
    let word = case.word;
    let field = |at: u32, bits: u32| word >> at & ((1 << bits) - 1);
    let mut flags = ExceptionFlags::from_bits(case.fcsr as u8 & 31);
    flags.set();
    let result =
        if field(25, 1) == 1 { compute::<F64>(case, wide) } else { compute::<F32>(case, wide) };
    flags.get();
    match result {
        None => answer.is_illegal = true,
        Some(Result::Float(value)) => answer.f = value,
        Some(Result::Integer(value)) if wide => answer.x = value,
        Some(Result::Integer(value)) => answer.x = value as i32 as u64,
    }
    if !answer.is_illegal {
        answer.fcsr |= u32::from(flags.to_bits());
    }
    answer
}

fn mode(number: u32) -> Option<RoundingMode> {
    Some(match number {
        0 => RoundingMode::TiesToEven,
        1 => RoundingMode::TowardZero,
        2 => RoundingMode::TowardNegative,
        3 => RoundingMode::TowardPositive,
        4 => RoundingMode::TiesToAway,
        _ => return None,
    })
}

fn raise(flag: u8) {
    let mut flags = ExceptionFlags::default();
    flags.get();
    ExceptionFlags::from_bits(flags.to_bits() | flag).set();
}

/// An instruction in a format; `None` if there is none such.
fn compute<F: Format>(case: &Case, wide: bool) -> Option<Result> {
    let word = case.word;
    let [a, b, c] = case.f.map(F::unbox);
    let (function, second, funct5) = (word >> 12 & 7, word >> 20 & 31, word >> 27);
    let float = |value: F| Some(Result::Float(value.enclose()));
    let integer = |value: u64| Some(Result::Integer(value));
    let negated = |value: F| F::of_bits(value.bits() ^ F::SIGN);
    let is_fused = word & 0x7f != 0x53;
    // What rounds has a mode, and none that is reserved.
    let mode = match function {
        7 => mode(case.fcsr >> 5),
        number => mode(number),
    };
    if is_fused {
        let (a, c) = match word >> 2 & 3 {
            0 => (a, c),
            1 => (a, negated(c)),
            2 => (negated(a), c),
            _ => (negated(a), negated(c)),
        };
        return float(a.fused_mul_add(b, c, mode?));
    }
    match funct5 {
        0x00 => float(a.add(b, mode?)),
        0x01 => float(a.sub(b, mode?)),
        0x02 => float(a.mul(b, mode?)),
        0x03 => float(a.div(b, mode?)),
        0x0b => float(a.sqrt(mode?)),
        0x04 => {
            let sign = match function {
                0 => b.bits(),
                1 => !b.bits(),
                _ => a.bits() ^ b.bits(),
            };
            float(F::of_bits(a.bits() & !F::SIGN | sign & F::SIGN))
        }
        0x05 => float(extreme(a, b, function == 1)),
        0x08 if second == 1 => Some(Result::Float(F64::unbox(case.f[0]).to_f32(mode?).enclose())),
        0x08 => Some(Result::Float(F32::unbox(case.f[0]).to_f64(mode?).enclose())),
        0x14 => integer(match function {
            0 => a.le(b),
            1 => a.lt(b),
            _ => a.eq(b),
        } as u64),
        0x1c if function == 1 => integer(class(a)),
        0x1c if F::SIGN >> 32 == 0 => integer(case.f[0] as i32 as u64),
        0x1c if wide => integer(case.f[0]),
        0x1e if F::SIGN >> 32 == 0 => Some(Result::Float(BOX | case.x & !BOX)),
        0x1e if wide => Some(Result::Float(case.x)),
        0x18 => integer(match second {
            0 => a.to_i32(mode?, true) as u64,
            // Of 32 bits, sign-extended even where it has none.
            1 => a.to_u32(mode?, true) as i32 as u64,
            2 if wide => a.to_i64(mode?, true) as u64,
            3 if wide => a.to_u64(mode?, true),
            _ => return None,
        }),
        0x1a => float(match second {
            0 => F::from_i32(case.x as i32, mode?),
            1 => F::from_u32(case.x as u32, mode?),
            2 if wide => F::from_i64(case.x as i64, mode?),
            3 if wide => F::from_u64(case.x, mode?),
            _ => return None,
        }),
        _ => None,
    }
}

/// Minimum and maximum as IEEE 754-2019 has them for numbers: what is no number gives way, -0 lies below +0.
fn extreme<F: Format>(a: F, b: F, is_maximum: bool) -> F {
    if a.is_signaling_nan() || b.is_signaling_nan() {
        raise(INVALID);
    }
    if a.is_nan() && b.is_nan() {
        return F::of_bits(F::QUIET_NAN);
    }
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() { b } else { a };
    }
    let is_below = a.lt_quiet(b) || a.is_negative() && !b.is_negative();
    if is_below != is_maximum { a } else { b }
}

/// The class of a value, as a bit.
fn class<F: Format>(value: F) -> u64 {
    let classes = [
        value.is_negative_infinity(),
        value.is_negative_normal(),
        value.is_negative_subnormal(),
        value.is_negative_zero(),
        value.is_positive_zero(),
        value.is_positive_subnormal(),
        value.is_positive_normal(),
        value.is_positive_infinity(),
        value.is_signaling_nan(),
        value.is_nan() && !value.is_signaling_nan(),
    ];
    classes.iter().enumerate().map(|(bit, is_it)| u64::from(*is_it) << bit).sum()
}

/// Where SoftFloat's digests are kept.
fn expected() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/pinion-isa/tests/float/expected.txt"
    ))
}

/// Compares the cases of the tests and as many random ones as are asked for.
pub fn compare<X: Xlen>(seed: u64, cases: u64) -> std::result::Result<String, String> {
    let wide = X::BITS == 64;
    let mut hart = cases::hart::<X>();
    let mut random = SplitMix64::new(seed);
    let (mut count, mut illegal) = (0_u64, 0_u64);
    let mut check = |name: &str, is_double: bool, case: &Case| {
        let (us, them) = (ours(&mut hart, case), theirs(case, wide));
        count += 1;
        illegal += u64::from(them.is_illegal);
        let format = if is_double { 'd' } else { 's' };
        let differs = || format!("{name}, {format}: {case:x?}: we {us:x?}, they {them:x?}");
        if us == them { Ok(them) } else { Err(differs()) }
    };
    let each = || {
        let formats = [false, true].into_iter();
        formats.flat_map(|format| OPERATIONS.iter().map(move |operation| (operation, format)))
    };
    let each: Vec<_> = each().filter(|(operation, format)| operation.exists(*format)).collect();
    let mut lines = Vec::new();
    for operation in &OPERATIONS {
        for is_double in [false, true].into_iter().filter(|format| operation.exists(*format)) {
            let answers: std::result::Result<Vec<Answer>, String> = of(operation, is_double)
                .iter()
                .map(|case| check(operation.name, is_double, case))
                .collect();
            lines.push(line(wide, operation, is_double, &answers?));
        }
    }
    for number in 0..cases {
        let (operation, is_double) = each[number as usize % each.len()];
        check(operation.name, is_double, &operation.random(is_double, &mut random))?;
    }
    keep(X::BITS, &lines)?;
    Ok(format!("{count} instructions, {illegal} of them illegal, the same"))
}

/// Compares the digests that the tests know with SoftFloat's, or writes these down.
fn keep(bits: u32, lines: &[String]) -> std::result::Result<(), String> {
    let prefix = format!("rv{bits} ");
    let known = std::fs::read_to_string(expected()).map_err(|error| error.to_string())?;
    let mut mine: Vec<&str> = known.lines().filter(|line| line.starts_with(&prefix)).collect();
    if mine == lines {
        return Ok(());
    }
    if std::env::var_os("PINION_BLESS").is_none() {
        return Err(format!(
            "{} is not what SoftFloat says: PINION_BLESS=1 writes it",
            expected().display()
        ));
    }
    let other = if bits == 32 { "rv64 " } else { "rv32 " };
    let others: Vec<&str> = known.lines().filter(|line| line.starts_with(other)).collect();
    mine = lines.iter().map(String::as_str).collect();
    let (low, high) = if bits == 32 { (mine, others) } else { (others, mine) };
    let head = "# Register width, operation, format, number of cases, digest of what SoftFloat 3 made of them; written by\n\
                # PINION_BLESS=1 cargo run --release --manifest-path tests/references/Cargo.toml -- --only float";
    let all: Vec<&str> = head.lines().chain(low).chain(high).collect();
    std::fs::write(expected(), all.join("\n") + "\n").map_err(|error| error.to_string())
}
