//! What Xpulp's operations on whole registers compute.

use super::{Fields, XpulpOp as P, simd};

/// Computes the result of an operation that is neither an access nor a branch nor a loop's.
///
/// `a` and `b` are the first two sources, `c` is the destination's old value.
pub(crate) fn value(fields: Fields, a: u32, b: u32, c: u32) -> u32 {
    let Fields { op, primary, secondary } = fields;
    let shift = primary as u32 & 31;
    let (bits, lowest) = match op {
        P::Extractr | P::Extractur | P::Insertr | P::Bclrr | P::Bsetr => (b >> 5 & 31, b & 31),
        _ => (shift, secondary & 31),
    };
    let ones = (2u64 << bits) as u32;
    let mask = ones.wrapping_sub(1) << lowest;
    match op {
        P::Abs => (a as i32).wrapping_abs() as u32,
        P::Slet => u32::from(a as i32 <= b as i32),
        P::Sletu => u32::from(a <= b),
        P::Min => (a as i32).min(b as i32) as u32,
        P::Minu => a.min(b),
        P::Max => (a as i32).max(b as i32) as u32,
        P::Maxu => a.max(b),
        P::Exths => a as i16 as u32,
        P::Exthz => u32::from(a as u16),
        P::Extbs => a as i8 as u32,
        P::Extbz => u32::from(a as u8),
        P::Clip => clip(a, bound(shift), true),
        P::Clipu => clip(a, bound(shift), false),
        P::Clipr => clip(a, b, true),
        P::Clipur => clip(a, b, false),
        P::Ror => a.rotate_right(b & 31),
        P::Ff1 => a.trailing_zeros(),
        P::Fl1 => a.checked_ilog2().unwrap_or(32),
        P::Clb => leading_bits(a),
        P::Cnt => a.count_ones(),
        P::Extract | P::Extractr => {
            let field = (a as i32 >> lowest) as u32;
            ((field << (31 - bits)) as i32 >> (31 - bits)) as u32
        }
        P::Extractu | P::Extractur => a >> lowest & ones.wrapping_sub(1),
        P::Insert | P::Insertr => a << lowest & mask | c & !mask,
        P::Bclr | P::Bclrr => a & !mask,
        P::Bset | P::Bsetr => a | mask,
        P::AddN | P::SubN => shifted(sum(op, a, b), shift, true, false),
        P::AdduN | P::SubuN => shifted(sum(op, a, b), shift, false, false),
        P::AddRN | P::SubRN => shifted(sum(op, a, b), shift, true, true),
        P::AdduRN | P::SubuRN => shifted(sum(op, a, b), shift, false, true),
        P::AddNr | P::SubNr => shifted(sum(op, c, a), b & 31, true, false),
        P::AdduNr | P::SubuNr => shifted(sum(op, c, a), b & 31, false, false),
        P::AddRNr | P::SubRNr => shifted(sum(op, c, a), b & 31, true, true),
        P::AdduRNr | P::SubuRNr => shifted(sum(op, c, a), b & 31, false, true),
        P::Mac => c.wrapping_add(a.wrapping_mul(b)),
        P::Msu => c.wrapping_sub(a.wrapping_mul(b)),
        P::MulsN => shifted(signed_product(a, b), shift, true, false),
        P::MulsRN => shifted(signed_product(a, b), shift, true, true),
        P::MulhhsN => shifted(signed_product(a >> 16, b >> 16), shift, true, false),
        P::MulhhsRN => shifted(signed_product(a >> 16, b >> 16), shift, true, true),
        P::MuluN => shifted(unsigned_product(a, b), shift, false, false),
        P::MuluRN => shifted(unsigned_product(a, b), shift, false, true),
        P::MulhhuN => shifted(unsigned_product(a >> 16, b >> 16), shift, false, false),
        P::MulhhuRN => shifted(unsigned_product(a >> 16, b >> 16), shift, false, true),
        P::MacsN => shifted(c.wrapping_add(signed_product(a, b)), shift, true, false),
        P::MacsRN => shifted(c.wrapping_add(signed_product(a, b)), shift, true, true),
        P::MachhsN | P::MachhsRN => {
            let product = signed_product(a >> 16, b >> 16);
            shifted(c.wrapping_add(product), shift, true, matches!(op, P::MachhsRN))
        }
        P::MacuN => shifted(c.wrapping_add(unsigned_product(a, b)), shift, false, false),
        P::MacuRN => shifted(c.wrapping_add(unsigned_product(a, b)), shift, false, true),
        P::MachhuN | P::MachhuRN => {
            let product = unsigned_product(a >> 16, b >> 16);
            shifted(c.wrapping_add(product), shift, false, matches!(op, P::MachhuRN))
        }
        _ => simd::value(fields, a, b, c),
    }
}

/// The upper bound that `p.clip` derives from its immediate: 2^(imm - 1) - 1, 0 for none.
const fn bound(immediate: u32) -> u32 {
    ((1 << immediate) - 1) >> 1
}

/// Limits a value to at most `upper`, and at least its complement or (unsigned) 0.
fn clip(value: u32, upper: u32, signed: bool) -> u32 {
    let (value, upper) = (value as i32, upper as i32);
    let lower = if signed { !upper } else { 0 };
    let clipped = if value > upper { upper } else { value.max(lower) };
    clipped as u32
}

/// Counts the bits behind the sign bit that equal it; 0 for 0 (RTL `riscv_alu`).
fn leading_bits(value: u32) -> u32 {
    match value as i32 {
        0 => 0,
        negative if negative < 0 => (!value).leading_zeros() - 1,
        _ => value.leading_zeros() - 1,
    }
}

fn sum(op: P, a: u32, b: u32) -> u32 {
    match op {
        P::SubN | P::SubuN | P::SubRN | P::SubuRN => a.wrapping_sub(b),
        P::SubNr | P::SubuNr | P::SubRNr | P::SubuRNr => a.wrapping_sub(b),
        _ => a.wrapping_add(b),
    }
}

/// Shifts right, after adding half of what is shifted out where it rounds.
fn shifted(value: u32, shift: u32, signed: bool, rounds: bool) -> u32 {
    let half = if rounds { 1 << shift >> 1 } else { 0 };
    let value = value.wrapping_add(half);
    if signed { (value as i32 >> shift) as u32 } else { value >> shift }
}

fn signed_product(a: u32, b: u32) -> u32 {
    i32::from(a as i16).wrapping_mul(i32::from(b as i16)) as u32
}

fn unsigned_product(a: u32, b: u32) -> u32 {
    u32::from(a as u16).wrapping_mul(u32::from(b as u16))
}
