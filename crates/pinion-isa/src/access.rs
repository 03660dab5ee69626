//! Memory accesses as the hart asks for them, atomic operations, and the reservation of LR/SC.

use crate::Xlen;

/// Names an atomic read-modify-write operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AmoOp {
    /// Replaces.
    Swap,
    /// Adds.
    Add,
    /// Exclusive or.
    Xor,
    /// And.
    And,
    /// Or.
    Or,
    /// Signed minimum.
    Min,
    /// Signed maximum.
    Max,
    /// Unsigned minimum.
    Minu,
    /// Unsigned maximum.
    Maxu,
}

impl AmoOp {
    /// Gives the value to write back, from the old value and the operand.
    ///
    /// Only the low `bytes` (4 or 8) bytes of both count; the result is sign-extended from there.
    #[inline]
    pub fn apply<X: Xlen>(self, old: X, operand: X, bytes: u8) -> X {
        let (old, operand) = (old.extend(bytes, true), operand.extend(bytes, true));
        let smaller = old.less_signed(operand);
        let below = old < operand; // sign-extending keeps the order of unsigned values
        let result = match self {
            Self::Swap => operand,
            Self::Add => old.plus(operand),
            Self::Xor => old ^ operand,
            Self::And => old & operand,
            Self::Or => old | operand,
            Self::Min => [operand, old][usize::from(smaller)],
            Self::Max => [old, operand][usize::from(smaller)],
            Self::Minu => [operand, old][usize::from(below)],
            Self::Maxu => [old, operand][usize::from(below)],
        };
        result.extend(bytes, true)
    }
}

/// Says what a memory access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Load: give the value to `complete`.
    Load,
    /// Store: write `data`; `complete` ignores the value.
    Store,
    /// Load and reserve.
    LoadReserved,
    /// Store if still reserved: give `complete` 0 when stored, 1 when not.
    StoreConditional,
    /// Read-modify-write: give the old value to `complete`.
    Amo(AmoOp),
    /// Load that returns when an event comes (PULP's `p.elw`).
    EventLoad,
}

impl MemoryKind {
    /// Says whether memory may change.
    #[inline(always)]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Store | Self::StoreConditional | Self::Amo(_))
    }
}

/// Describes a memory access that the hart waits for.
///
/// Nothing has changed in the hart yet: either `Hart::complete` finishes the instruction or
/// `Hart::take_trap` abandons it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access<X> {
    /// What to do.
    pub kind: MemoryKind,
    /// Where; may be misaligned for plain loads and stores.
    pub address: X,
    /// How many bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether a loaded value is sign-extended.
    pub signed: bool,
    /// The register that gets the value, f0 to f31 being 32 to 63; 0 for stores.
    ///
    /// RV32 accesses doublewords of floating point in two halves, as two accesses: `complete` of
    /// the first leaves the program counter where it is, and the instruction asks for the second
    /// when it is executed again. A store's first half names the register stored here.
    pub rd: u8,
    /// The instruction's length in bytes; 0 for the first of two halves.
    pub length: u8,
    /// The value to store or the operand of an AMO (upper bytes are not cleared).
    pub data: X,
}

impl<X: Xlen> Access<X> {
    /// Says whether the address is not a multiple of the size.
    #[inline(always)]
    pub fn is_misaligned(&self) -> bool {
        self.address.to_u32() & (u32::from(self.bytes) - 1) != 0
    }

    /// Gives the number of bytes that lie before the next `word_bytes` boundary, if the access
    /// crosses it (RI5CY makes two accesses of such a one), else `None`.
    #[inline]
    pub fn split(&self, word_bytes: u8) -> Option<u8> {
        let offset = self.address.to_u32() as u8 & (word_bytes - 1);
        (offset + self.bytes > word_bytes).then(|| word_bytes - offset)
    }
}

/// Remembers the address that `lr` reserved, for one hart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reservation<X> {
    address: Option<X>,
}

impl<X: Xlen> Reservation<X> {
    /// Holds nothing.
    pub const NONE: Self = Self { address: None };

    /// Reserves an address: what `lr` does.
    #[inline]
    pub fn reserve(&mut self, address: X) {
        self.address = Some(address);
    }

    /// Says whether the address is reserved, and ends the reservation: what `sc` does.
    #[inline]
    pub fn take(&mut self, address: X) -> bool {
        self.address.take() == Some(address)
    }

    /// Ends the reservation if another hart's or a device's store touches it.
    #[inline]
    pub fn snoop_store(&mut self, address: X, bytes: u32) {
        if let Some(held) = self.address {
            // Reservations cover the naturally aligned 8 bytes around the address.
            let first = held.to_u64() & !7;
            let from = address.to_u64();
            if from <= first | 7 && first <= from.saturating_add(u64::from(bytes.max(1)) - 1) {
                self.address = None;
            }
        }
    }

    /// Ends the reservation.
    #[inline]
    pub fn clear(&mut self) {
        self.address = None;
    }

    /// Gives the reserved address.
    #[inline]
    pub fn address(&self) -> Option<X> {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_every_operation() {
        let cases: [(AmoOp, u32, u32, u32); 10] = [
            (AmoOp::Swap, 1, 2, 2),
            (AmoOp::Add, u32::MAX, 2, 1),
            (AmoOp::Xor, 0b1100, 0b1010, 0b0110),
            (AmoOp::And, 0b1100, 0b1010, 0b1000),
            (AmoOp::Or, 0b1100, 0b1010, 0b1110),
            (AmoOp::Min, u32::MAX, 1, u32::MAX),
            (AmoOp::Max, u32::MAX, 1, 1),
            (AmoOp::Minu, u32::MAX, 1, 1),
            (AmoOp::Maxu, u32::MAX, 1, u32::MAX),
            (AmoOp::Maxu, 1, 1, 1),
        ];
        for (op, old, operand, new) in cases {
            assert_eq!(op.apply(old, operand, 4), new, "{op:?}");
            let wide = op.apply(u64::from(old) | 0x55 << 32, u64::from(operand) | 0xaa << 40, 4);
            assert_eq!(wide, new as i32 as u64, "{op:?} on 64-bit registers");
        }
    }

    #[test]
    fn reservation_ends_when_someone_stores() {
        let mut reservation = Reservation::<u32>::NONE;
        reservation.reserve(0x100);
        reservation.snoop_store(0x108, 4);
        assert_eq!(reservation.address(), Some(0x100));
        reservation.snoop_store(0xff, 2);
        assert!(!reservation.take(0x100));
        reservation.reserve(0x100);
        assert!(!reservation.take(0x104));
        assert!(!reservation.take(0x100));
        reservation.reserve(0x100);
        assert!(reservation.take(0x100));
        let mut reservation = Reservation::<u64>::NONE;
        reservation.reserve(u64::MAX - 7);
        reservation.snoop_store(u64::MAX - 8, 1);
        assert!(reservation.address().is_some());
        reservation.snoop_store(u64::MAX, 8);
        assert_eq!(reservation.address(), None, "at the top of memory, too");
    }

    #[test]
    fn splits_at_word_boundaries() {
        let access = |address, bytes| Access::<u32> {
            kind: MemoryKind::Load,
            address,
            bytes,
            signed: false,
            rd: 1,
            length: 4,
            data: 0,
        };
        assert_eq!(access(0x1002, 4).split(4), Some(2));
        assert_eq!(access(0x1001, 2).split(4), None);
        assert!(access(0x1001, 2).is_misaligned());
        assert_eq!(access(0x1003, 2).split(4), Some(1));
        assert_eq!(access(0x1000, 4).split(4), None);
    }
}
