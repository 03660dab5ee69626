//! The register width, as a parameter: everything architectural is generic over [`Xlen`].

use std::fmt::{Debug, Display, LowerHex};
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// Abstracts the width of a register: implemented by `u32` (RV32) and `u64` (RV64).
///
/// All arithmetic wraps, shifts expect amounts below [`Xlen::BITS`], and divisions follow the
/// RISC-V M extension (division by zero and overflow give defined results, never a trap).
pub trait Xlen:
    Copy
    + Eq
    + Ord
    + Default
    + Hash
    + Debug
    + Display
    + LowerHex
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// Width of a register in bits.
    const BITS: u32;
    /// The value 0.
    const ZERO: Self;
    /// The value 1.
    const ONE: Self;
    /// All bits set.
    const MAX: Self;

    /// Sign-extends a 32-bit value.
    fn from_i32(value: i32) -> Self;
    /// Zero-extends a 32-bit value.
    fn from_u32(value: u32) -> Self;
    /// Keeps the low bits of a 64-bit value.
    fn from_u64(value: u64) -> Self;
    /// Keeps the low 32 bits.
    fn to_u32(self) -> u32;
    /// Zero-extends to 64 bits.
    fn to_u64(self) -> u64;
    /// Sign-extends to 64 bits.
    fn to_i64(self) -> i64;
    /// Adds, wrapping.
    fn plus(self, other: Self) -> Self;
    /// Subtracts, wrapping.
    fn minus(self, other: Self) -> Self;
    /// Multiplies, keeping the low half.
    fn times(self, other: Self) -> Self;
    /// Shifts left; only the low log2(BITS) bits of the amount count.
    fn shift_left(self, amount: u32) -> Self;
    /// Shifts right, filling with zeros.
    fn shift_right(self, amount: u32) -> Self;
    /// Shifts right, filling with the sign.
    fn shift_right_signed(self, amount: u32) -> Self;
    /// Compares as signed numbers: `self < other`.
    fn less_signed(self, other: Self) -> bool;
    /// Gives the high half of the signed × signed product.
    fn mulh(self, other: Self) -> Self;
    /// Gives the high half of the signed × unsigned product.
    fn mulhsu(self, other: Self) -> Self;
    /// Gives the high half of the unsigned × unsigned product.
    fn mulhu(self, other: Self) -> Self;
    /// Divides signed: x/0 = -1, MIN/-1 = MIN.
    fn div(self, other: Self) -> Self;
    /// Divides unsigned: x/0 = all ones.
    fn divu(self, other: Self) -> Self;
    /// Gives the signed remainder: x%0 = x, MIN%-1 = 0.
    fn rem(self, other: Self) -> Self;
    /// Gives the unsigned remainder: x%0 = x.
    fn remu(self, other: Self) -> Self;

    /// Turns a condition into 1 or 0.
    #[inline(always)]
    fn from_bool(condition: bool) -> Self {
        Self::from_u32(condition as u32)
    }

    /// Sign- or zero-extends the low `bytes` bytes of the value.
    #[inline(always)]
    fn extend(self, bytes: u8, signed: bool) -> Self {
        let unused = Self::BITS.wrapping_sub(8 * bytes as u32);
        let top = self.shift_left(unused);
        if signed { top.shift_right_signed(unused) } else { top.shift_right(unused) }
    }
}

macro_rules! implement_xlen {
    ($unsigned:ty, $signed:ty, $wide:ty, $wide_signed:ty) => {
        impl Xlen for $unsigned {
            const BITS: u32 = <$unsigned>::BITS;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const MAX: Self = <$unsigned>::MAX;

            #[inline(always)]
            fn from_i32(value: i32) -> Self {
                value as $signed as Self
            }
            #[inline(always)]
            fn from_u32(value: u32) -> Self {
                value as Self
            }
            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn to_u32(self) -> u32 {
                self as u32
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as $signed as i64
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn shift_left(self, amount: u32) -> Self {
                self.wrapping_shl(amount)
            }
            #[inline(always)]
            fn shift_right(self, amount: u32) -> Self {
                self.wrapping_shr(amount)
            }
            #[inline(always)]
            fn shift_right_signed(self, amount: u32) -> Self {
                (self as $signed).wrapping_shr(amount) as Self
            }
            #[inline(always)]
            fn less_signed(self, other: Self) -> bool {
                (self as $signed) < (other as $signed)
            }
            #[inline(always)]
            fn mulh(self, other: Self) -> Self {
                let product =
                    (self as $signed as $wide_signed) * (other as $signed as $wide_signed);
                (product >> <$unsigned>::BITS) as Self
            }
            #[inline(always)]
            fn mulhsu(self, other: Self) -> Self {
                let product = (self as $signed as $wide_signed).wrapping_mul(other as $wide_signed);
                (product >> <$unsigned>::BITS) as Self
            }
            #[inline(always)]
            fn mulhu(self, other: Self) -> Self {
                (((self as $wide) * (other as $wide)) >> <$unsigned>::BITS) as Self
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                match other {
                    0 => Self::MAX,
                    _ => (self as $signed).wrapping_div(other as $signed) as Self,
                }
            }
            #[inline(always)]
            fn divu(self, other: Self) -> Self {
                self.checked_div(other).unwrap_or(Self::MAX)
            }
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                match other {
                    0 => self,
                    _ => (self as $signed).wrapping_rem(other as $signed) as Self,
                }
            }
            #[inline(always)]
            fn remu(self, other: Self) -> Self {
                self.checked_rem(other).unwrap_or(self)
            }
        }
    };
}

implement_xlen!(u32, i32, u64, i64);
implement_xlen!(u64, i64, u128, i128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extends_partial_values() {
        assert_eq!(0x1234_5680u32.extend(1, true), 0xffff_ff80);
        assert_eq!(0x1234_5680u32.extend(1, false), 0x80);
        assert_eq!(0x1234_8680u32.extend(2, true), 0xffff_8680);
        assert_eq!(0x8234_8680u32.extend(4, true), 0x8234_8680);
        assert_eq!(0x8234_8680u64.extend(4, true), 0xffff_ffff_8234_8680);
        assert_eq!(0x8234_8680u64.extend(4, false), 0x8234_8680);
    }

    #[test]
    fn divides_as_the_m_extension_says() {
        assert_eq!(7u32.div(0), u32::MAX);
        assert_eq!(0x8000_0000u32.div(u32::MAX), 0x8000_0000);
        assert_eq!(0x8000_0000u32.rem(u32::MAX), 0);
        assert_eq!(7u32.rem(0), 7);
        assert_eq!(7u32.divu(0), u32::MAX);
        assert_eq!(7u32.remu(0), 7);
        assert_eq!((-7i64 as u64).div(2), -3i64 as u64);
        assert_eq!((-7i64 as u64).rem(2), -1i64 as u64);
    }

    #[test]
    fn multiplies_high_halves() {
        assert_eq!(u32::MAX.mulh(u32::MAX), 0);
        assert_eq!(u32::MAX.mulhu(u32::MAX), 0xffff_fffe);
        assert_eq!(u32::MAX.mulhsu(u32::MAX), u32::MAX);
        assert_eq!(u64::MAX.mulhsu(u64::MAX), u64::MAX);
        assert_eq!(0x8000_0000u32.mulhsu(0xffff_ffff), 0x8000_0000);
    }
}
