//! Operations on values of more than 64 bits, which take two registers, the lower half first. They are
//! rare: padding, and long identifiers.

use super::Register;
use crate::program::{Binary, Unary, binary, mask, unary};

/// One or two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operand {
    /// The first register.
    pub register: Register,
    /// Its bits.
    pub width: u32,
}

impl Operand {
    /// Tells whether it takes two registers.
    pub(super) fn is_wide(self) -> bool {
        self.width > 64
    }

    fn read(self, words: &[u64]) -> u128 {
        let at = usize::from(self.register);
        let high = if self.is_wide() { words[at + 1] } else { 0 };
        u128::from(high) << 64 | u128::from(words[at])
    }

    fn write(self, words: &mut [u64], value: u128) {
        let at = usize::from(self.register);
        words[at] = value as u64;
        if self.is_wide() {
            words[at + 1] = (value >> 64) as u64;
        }
    }
}

/// What is done with wide values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WideKind {
    /// The same number in the target's bits.
    Resize(Operand),
    /// An operator of one operand.
    Unary(Unary, Operand),
    /// An operator of two.
    Binary(Binary, Operand, Operand),
    /// Bits from this one on.
    Slice(Operand, u32),
    /// The first operand's bits before the second's.
    Join(Operand, Operand),
    /// The second if the first is not zero, else the third.
    Choose(Operand, Operand, Operand),
    /// The first, with bits from this one on replaced by the second.
    SetBits(Operand, Operand, u32),
    /// Loads bits of the header at hand, from this one on.
    Load(u32),
}

/// An operation on wide values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WideOp {
    /// Where its value goes.
    pub to: Operand,
    /// What is done.
    pub kind: WideKind,
}

impl WideOp {
    /// Does it; `input` is what is left of the packet.
    pub(super) fn run(&self, words: &mut [u64], input: &[u8]) {
        let width = self.to.width;
        let value = match self.kind {
            WideKind::Resize(from) => mask(from.read(words), width),
            WideKind::Unary(operator, from) => unary(operator, from.read(words), width),
            WideKind::Binary(operator, one, other) => {
                binary(operator, one.read(words), other.read(words), one.width)
            }
            WideKind::Slice(from, low) => mask(from.read(words) >> low, width),
            WideKind::Join(one, other) => {
                let high = one.read(words).checked_shl(other.width).unwrap_or(0);
                high | other.read(words)
            }
            WideKind::Choose(condition, one, other) => {
                if condition.read(words) != 0 {
                    one.read(words)
                } else {
                    other.read(words)
                }
            }
            WideKind::SetBits(old, from, low) => {
                let bits = mask(u128::MAX, from.width) << low;
                old.read(words) & !bits | from.read(words) << low & bits
            }
            WideKind::Load(at) => load_bits(input, at as usize, width as usize),
        };
        self.to.write(words, value);
    }
}

/// Reads bits of bytes, the first bit of a byte being its highest; bits that are not there are 0.
pub(super) fn load_bits(bytes: &[u8], at: usize, width: usize) -> u128 {
    (at..at + width).fold(0, |value, bit| {
        let byte = bytes.get(bit / 8).copied().unwrap_or(0);
        value << 1 | u128::from(byte >> (7 - bit % 8) & 1)
    })
}

/// Writes bits of bytes.
pub(super) fn put_bits(bytes: &mut [u8], at: usize, width: usize, value: u128) {
    for n in 0..width {
        let bit = at + n;
        let Some(byte) = bytes.get_mut(bit / 8) else { return };
        let mask = 1 << (7 - bit % 8);
        let is_set = value >> (width - 1 - n) & 1 != 0;
        *byte = if is_set { *byte | mask } else { *byte & !mask };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_from_where_they_were_put() {
        let mut bytes = [0xff; 20];
        for (at, width) in [(0, 1), (3, 13), (7, 64), (5, 127), (8, 128), (32, 104)] {
            let value = mask(0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978, width as u32);
            put_bits(&mut bytes, at, width, value);
            assert_eq!(load_bits(&bytes, at, width), value, "{at} {width}");
        }
        assert_eq!(load_bits(&[1], 4, 8), 0x10);
    }
}
