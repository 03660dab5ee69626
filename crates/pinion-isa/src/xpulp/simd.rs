//! What Xpulp's operations on packed bytes and half words compute.
//!
//! Lanes do not know of each other: sums wrap within them, shifts look at as many bits of the amount
//! as a lane can use, averages halve the wrapped sum (RTL `riscv_alu`).

use super::{Fields, XpulpOp as P};

/// Computes the result of a packed operation, as `scalar::value`.
pub(super) fn value(fields: Fields, a: u32, b: u32, c: u32) -> u32 {
    let bits = fields.lane_bits();
    let b = second(fields, b, bits);
    let each = |f: fn(Lane) -> u32| map(bits, a, b, f);
    let all = |yes: fn(Lane) -> bool| map(bits, a, b, |lane| if yes(lane) { u32::MAX } else { 0 });
    match fields.op {
        P::PvAdd => each(|lane| lane.a.wrapping_add(lane.b)),
        P::PvSub => each(|lane| lane.a.wrapping_sub(lane.b)),
        P::PvAvg => each(|lane| (lane.signed(lane.a.wrapping_add(lane.b)) >> 1) as u32),
        P::PvAvgu => each(|lane| (lane.a.wrapping_add(lane.b) & lane.mask()) >> 1),
        P::PvMin => each(|lane| lane.sa().min(lane.sb()) as u32),
        P::PvMinu => each(|lane| lane.a.min(lane.b)),
        P::PvMax => each(|lane| lane.sa().max(lane.sb()) as u32),
        P::PvMaxu => each(|lane| lane.a.max(lane.b)),
        P::PvSrl => each(|lane| lane.a >> (lane.b & (lane.bits - 1))),
        P::PvSra => each(|lane| (lane.sa() >> (lane.b & (lane.bits - 1))) as u32),
        P::PvSll => each(|lane| lane.a << (lane.b & (lane.bits - 1))),
        P::PvOr => a | b,
        P::PvXor => a ^ b,
        P::PvAnd => a & b,
        P::PvAbs => each(|lane| lane.sa().wrapping_abs() as u32),
        P::PvCmpeq => all(|lane| lane.a == lane.b),
        P::PvCmpne => all(|lane| lane.a != lane.b),
        P::PvCmpgt => all(|lane| lane.sa() > lane.sb()),
        P::PvCmpge => all(|lane| lane.sa() >= lane.sb()),
        P::PvCmplt => all(|lane| lane.sa() < lane.sb()),
        P::PvCmple => all(|lane| lane.sa() <= lane.sb()),
        P::PvCmpgtu => all(|lane| lane.a > lane.b),
        P::PvCmpgeu => all(|lane| lane.a >= lane.b),
        P::PvCmpltu => all(|lane| lane.a < lane.b),
        P::PvCmpleu => all(|lane| lane.a <= lane.b),
        P::PvDotup => dot(bits, a, b, 0, |lane| lane.a.wrapping_mul(lane.b)),
        P::PvDotusp => dot(bits, a, b, 0, unsigned_times_signed),
        P::PvDotsp => dot(bits, a, b, 0, signed_times_signed),
        P::PvSdotup => dot(bits, a, b, c, |lane| lane.a.wrapping_mul(lane.b)),
        P::PvSdotusp => dot(bits, a, b, c, unsigned_times_signed),
        P::PvSdotsp => dot(bits, a, b, c, signed_times_signed),
        _ => moved(fields, a, b, c),
    }
}

/// Computes the result of an operation that moves lanes.
fn moved(fields: Fields, a: u32, b: u32, c: u32) -> u32 {
    let bits = fields.lane_bits();
    let at = bits * (fields.primary as u32 & (32 / bits - 1));
    let mask = lane_mask(bits);
    let lane = a >> at & mask;
    match fields.op {
        P::PvExtract => Lane { bits, a, b }.signed(lane) as u32,
        P::PvExtractu => lane,
        P::PvInsert => (a & mask) << at | c & !(mask << at),
        P::PvShuffle | P::PvShuffleI0 | P::PvShuffleI1 | P::PvShuffleI2 | P::PvShuffleI3 => {
            shuffle(bits, b, |_| a)
        }
        // Above the bits that choose the lane one chooses the register.
        P::PvShuffle2 => shuffle(bits, b, |index| if index & (32 / bits) != 0 { a } else { c }),
        P::PvPack => a << 16 | b & 0xffff,
        P::PvPackHigh => a & 0xffff_0000 | b >> 16,
        P::PvPackhi => (a & 0xff) << 24 | (b & 0xff) << 16 | c & 0xffff,
        P::PvPacklo => c & 0xffff_0000 | (a & 0xff) << 8 | b & 0xff,
        _ => 0,
    }
}

/// Gives the second operand: the register, its lowest lane everywhere, or the immediate everywhere;
/// for shuffles the immediate's bits where the lanes' selectors stand.
fn second(fields: Fields, b: u32, bits: u32) -> u32 {
    let immediate = fields.primary as u32;
    let spread = |last: u32| {
        let selectors = (immediate & 3) | (immediate >> 2 & 3) << 8 | (immediate >> 4 & 3) << 16;
        selectors | last << 24
    };
    match (fields.op, fields.secondary) {
        (P::PvShuffleI0, _) => spread(0),
        (P::PvShuffleI1, _) => spread(1),
        (P::PvShuffleI2, _) => spread(2),
        (P::PvShuffleI3, _) => spread(3),
        (P::PvShuffle, 6..) => (immediate & 1) | (immediate >> 1 & 1) << 16,
        (_, 6..) => replicate(immediate, bits),
        (_, 4 | 5) => replicate(b, bits),
        _ => b,
    }
}

const fn lane_mask(bits: u32) -> u32 {
    (1 << bits) - 1
}

fn replicate(value: u32, bits: u32) -> u32 {
    map(bits, 0, 0, |_| value)
}

/// One lane of both operands, zero-extended.
#[derive(Clone, Copy)]
struct Lane {
    bits: u32,
    a: u32,
    b: u32,
}

impl Lane {
    fn signed(self, value: u32) -> i32 {
        (value << (32 - self.bits)) as i32 >> (32 - self.bits)
    }

    fn sa(self) -> i32 {
        self.signed(self.a)
    }

    fn sb(self) -> i32 {
        self.signed(self.b)
    }

    const fn mask(self) -> u32 {
        lane_mask(self.bits)
    }
}

/// Computes each lane of a result from the same lane of two operands.
fn map(bits: u32, a: u32, b: u32, f: impl Fn(Lane) -> u32) -> u32 {
    let mask = lane_mask(bits);
    (0..32 / bits).fold(0, |result, index| {
        let at = index * bits;
        result | (f(Lane { bits, a: a >> at & mask, b: b >> at & mask }) & mask) << at
    })
}

/// Adds the products of all lanes to a number.
fn dot(bits: u32, a: u32, b: u32, start: u32, product: fn(Lane) -> u32) -> u32 {
    let mask = lane_mask(bits);
    (0..32 / bits).fold(start, |sum, index| {
        let at = index * bits;
        sum.wrapping_add(product(Lane { bits, a: a >> at & mask, b: b >> at & mask }))
    })
}

fn unsigned_times_signed(lane: Lane) -> u32 {
    lane.a.wrapping_mul(lane.sb() as u32)
}

fn signed_times_signed(lane: Lane) -> u32 {
    lane.sa().wrapping_mul(lane.sb()) as u32
}

/// Fetches each lane of a result from where its lane of `selectors` says.
fn shuffle(bits: u32, selectors: u32, register: impl Fn(u32) -> u32) -> u32 {
    map(bits, selectors, 0, |lane| register(lane.a) >> (bits * (lane.a & (32 / bits - 1))))
}
