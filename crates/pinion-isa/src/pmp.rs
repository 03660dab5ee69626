//! Physical memory protection: sixteen entries of the RISC-V privileged specification (§ 3.7).
//!
//! In: entries, written as CSRs by software or directly by hardware (PsPIN's HPU driver sets them
//! per task). Out: whether an access is allowed, and how far around it the same answer holds, so
//! that callers look up once and then compare two bounds.

use crate::{Privilege, Xlen};

/// Number of entries.
pub const PMP_ENTRIES: usize = 16;

/// Says what an access does, for the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AccessKind {
    /// Load, also load-reserved.
    Read = 1,
    /// Store, store-conditional or atomic.
    Write = 2,
    /// Instruction fetch.
    Execute = 4,
}

/// Read permission bit of an entry's configuration.
pub const PMP_READ: u8 = 1;
/// Write permission bit.
pub const PMP_WRITE: u8 = 2;
/// Execute permission bit.
pub const PMP_EXECUTE: u8 = 4;
/// Address matching: top of range.
pub const PMP_TOR: u8 = 1 << 3;
/// Address matching: naturally aligned four bytes.
pub const PMP_NA4: u8 = 2 << 3;
/// Address matching: naturally aligned power of two.
pub const PMP_NAPOT: u8 = 3 << 3;
/// Mask of the address matching mode; 0 means that the entry is off.
pub const PMP_MODE: u8 = 3 << 3;
/// Lock bit: the entry cannot be changed and binds machine mode too.
pub const PMP_LOCK: u8 = 1 << 7;

/// The bytes an entry covers, first and last; empty when first > last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u64,
    last: u64,
}

impl Range {
    const EMPTY: Self = Self { first: u64::MAX, last: 0 };

    fn contains(self, address: u64) -> bool {
        self.first <= address && address <= self.last
    }
}

/// Holds the sixteen entries of one hart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmp<X> {
    config: [u8; PMP_ENTRIES],
    address: [X; PMP_ENTRIES],
    ranges: [Range; PMP_ENTRIES],
    version: u32,
}

impl<X: Xlen> Default for Pmp<X> {
    fn default() -> Self {
        Self {
            config: [0; PMP_ENTRIES],
            address: [X::ZERO; PMP_ENTRIES],
            ranges: [Range::EMPTY; PMP_ENTRIES],
            version: 0,
        }
    }
}

impl<X: Xlen> Pmp<X> {
    /// Gives a number that changes whenever an entry does: caches compare it.
    #[inline(always)]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Gives an entry's configuration byte.
    pub fn config(&self, index: usize) -> u8 {
        self.config[index]
    }

    /// Gives an entry's address register (in units of four bytes).
    pub fn address(&self, index: usize) -> X {
        self.address[index]
    }

    /// Gives the bytes that an entry covers, first and last; `None` when it is off or empty.
    pub fn range(&self, index: usize) -> Option<(X, X)> {
        let Range { first, last } = self.ranges[index];
        let limit = X::MAX.to_u64();
        (first <= last && first <= limit)
            .then(|| (X::from_u64(first), X::from_u64(last.min(limit))))
    }

    /// Sets an entry as hardware does: locks are not respected.
    pub fn set(&mut self, index: usize, config: u8, address: X) {
        self.config[index] = legal_config(config);
        self.address[index] = address & Self::address_mask();
        self.update();
    }

    /// Sets an entry to a naturally aligned power of two of bytes (at least 8) holding `base`.
    pub fn set_napot(&mut self, index: usize, base: X, bytes: u64, permissions: u8) {
        let bytes = bytes.max(8).next_power_of_two();
        let address = ((base.to_u64() & !(bytes - 1)) >> 2) | ((bytes >> 3) - 1);
        self.set(index, permissions & !PMP_MODE | PMP_NAPOT, X::from_u64(address));
    }

    /// Turns all entries off and unlocks them: what reset does.
    pub fn clear(&mut self) {
        *self = Self { version: self.version.wrapping_add(1), ..Self::default() };
    }

    /// Writes an entry's configuration byte as software does: a locked entry stays.
    pub fn write_config(&mut self, index: usize, config: u8) {
        if self.config[index] & PMP_LOCK == 0 {
            self.config[index] = legal_config(config);
            self.update();
        }
    }

    /// Writes an entry's address as software does: a locked entry, and one that is the bottom of
    /// a locked range, stays.
    pub fn write_address(&mut self, index: usize, address: X) {
        let next = self.config.get(index + 1).copied().unwrap_or(0);
        let bottom_of_locked = next & PMP_LOCK != 0 && next & PMP_MODE == PMP_TOR;
        if self.config[index] & PMP_LOCK == 0 && !bottom_of_locked {
            self.address[index] = address & Self::address_mask();
            self.update();
        }
    }

    /// Address bits that exist: 34-bit addresses on RV32, 56-bit ones on RV64.
    fn address_mask() -> X {
        if X::BITS == 32 { X::MAX } else { X::from_u64((1 << 54) - 1) }
    }

    fn update(&mut self) {
        self.version = self.version.wrapping_add(1);
        let mut bottom = 0;
        for index in 0..PMP_ENTRIES {
            let address = self.address[index].to_u64();
            self.ranges[index] = match self.config[index] & PMP_MODE {
                0 => Range::EMPTY,
                PMP_TOR if bottom < address => {
                    Range { first: bottom << 2, last: (address << 2) - 1 }
                }
                PMP_TOR => Range::EMPTY,
                PMP_NA4 => Range { first: address << 2, last: (address << 2) + 3 },
                _ => {
                    let span = address ^ (address + 1); // the trailing ones and the zero above them
                    Range { first: (address & !span) << 2, last: (address | span) << 2 | 3 }
                }
            };
            bottom = address;
        }
    }

    /// Says whether an access of `bytes` bytes is allowed.
    ///
    /// The lowest entry that covers any of the bytes decides, and must cover all of them.
    pub fn check(&self, address: X, bytes: u32, kind: AccessKind, privilege: Privilege) -> bool {
        let first = address.to_u64();
        // What leaves the address space at its top is nobody's.
        let last = first.saturating_add(u64::from(bytes.max(1)) - 1);
        let decides = (0..PMP_ENTRIES)
            .find(|&index| self.ranges[index].first <= last && first <= self.ranges[index].last);
        match decides {
            Some(index) if self.ranges[index].contains(first) => {
                self.ranges[index].contains(last) && self.permits(index, kind, privilege)
            }
            Some(_) => false,
            None => privilege == Privilege::Machine,
        }
    }

    fn permits(&self, index: usize, kind: AccessKind, privilege: Privilege) -> bool {
        let config = self.config[index];
        let unbound = privilege == Privilege::Machine && config & PMP_LOCK == 0;
        unbound || config & kind as u8 != 0
    }

    /// Gives the range around an address, first and last byte, in which one entry (or none)
    /// decides, and the decision: every access that lies in it whole is answered alike.
    ///
    /// Neighbouring ranges of other entries are not joined even where they allow the same, because
    /// an access across their border is denied.
    pub fn window(&self, address: X, kind: AccessKind, privilege: Privilege) -> (X, X, bool) {
        let at = address.to_u64();
        let (mut first, mut last) = (0, X::MAX.to_u64());
        for (index, range) in self.ranges.iter().enumerate() {
            if range.contains(at) {
                let (first, last) = (first.max(range.first), last.min(range.last));
                let allowed = self.permits(index, kind, privilege);
                return (X::from_u64(first), X::from_u64(last), allowed);
            }
            if range.first > range.last {
                continue;
            }
            if range.last < at {
                first = first.max(range.last + 1);
            } else {
                last = last.min(range.first - 1);
            }
        }
        (X::from_u64(first), X::from_u64(last), privilege == Privilege::Machine)
    }
}

/// Clears the bits that do not exist and the reserved combination of write without read.
fn legal_config(config: u8) -> u8 {
    let config = config & (PMP_LOCK | PMP_MODE | PMP_READ | PMP_WRITE | PMP_EXECUTE);
    if config & (PMP_READ | PMP_WRITE) == PMP_WRITE { config & !PMP_WRITE } else { config }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AccessKind::{Execute, Read, Write};
    use Privilege::{Machine, User};

    #[test]
    fn nothing_set_binds_user_mode_only() {
        let pmp = Pmp::<u32>::default();
        assert!(pmp.check(0, 4, Read, Machine));
        assert!(!pmp.check(0, 4, Read, User));
        assert_eq!(pmp.window(0x1234, Write, Machine), (0, u32::MAX, true));
    }

    #[test]
    fn matches_in_every_mode() {
        let mut pmp = Pmp::<u32>::default();
        pmp.set(0, PMP_NA4 | PMP_READ, 0x1000 >> 2);
        pmp.set_napot(1, 0x2000, 0x1000, PMP_READ | PMP_WRITE);
        pmp.set(2, 0, 0x4000 >> 2);
        pmp.set(3, PMP_TOR | PMP_EXECUTE, 0x4800 >> 2);
        assert_eq!(pmp.range(0), Some((0x1000, 0x1003)));
        assert_eq!(pmp.range(1), Some((0x2000, 0x2fff)));
        assert_eq!(pmp.range(2), None);
        assert_eq!(pmp.range(3), Some((0x4000, 0x47ff)));
        assert!(pmp.check(0x1000, 4, Read, User));
        assert!(!pmp.check(0x1000, 4, Write, User));
        assert!(!pmp.check(0x1002, 4, Read, User), "only half of it is covered");
        assert!(!pmp.check(0xffe, 4, Read, Machine), "an entry covers only half of it");
        assert!(pmp.check(0x2ffc, 4, Write, User));
        assert!(!pmp.check(0x2ffe, 4, Write, User));
        assert!(pmp.check(0x47fe, 2, Execute, User));
        assert!(!pmp.check(0x4800, 2, Execute, User));
    }

    #[test]
    fn lowest_entry_decides() {
        let mut pmp = Pmp::<u32>::default();
        pmp.set(0, PMP_NAPOT, 0x1fff); // 0x0..0xffff, nothing allowed
        pmp.set(1, PMP_NAPOT | PMP_READ, u32::MAX); // everything
        assert!(!pmp.check(0x8000, 4, Read, User));
        assert!(pmp.check(0x1_0000, 4, Read, User));
        assert!(pmp.check(0x8000, 4, Write, Machine), "unlocked entries do not bind machine mode");
        assert_eq!(pmp.window(0x8000, Read, User), (0, 0xffff, false));
        assert_eq!(pmp.window(0x1_0000, Read, User), (0x1_0000, u32::MAX, true));
    }

    #[test]
    fn locked_entries_bind_machine_mode_and_stay() {
        let mut pmp = Pmp::<u32>::default();
        pmp.write_address(0, 0x1000 >> 2);
        pmp.write_address(1, 0x2000 >> 2);
        pmp.write_config(1, PMP_LOCK | PMP_TOR | PMP_READ);
        pmp.write_address(0, 0);
        pmp.write_address(1, 0);
        pmp.write_config(1, 0);
        assert_eq!(pmp.range(1), Some((0x1000, 0x1fff)));
        assert!(!pmp.check(0x1000, 4, Write, Machine));
        assert!(pmp.check(0x1000, 4, Read, Machine));
        pmp.clear();
        assert!(pmp.check(0x1000, 4, Write, Machine));
    }

    #[test]
    fn version_changes_with_every_entry() {
        let mut pmp = Pmp::<u64>::default();
        let before = pmp.version();
        pmp.set_napot(15, 1 << 40, 1 << 20, PMP_READ);
        assert_ne!(pmp.version(), before);
        assert!(pmp.check((1 << 40) + 8, 8, Read, User));
    }

    #[test]
    fn window_agrees_with_check_everywhere() {
        let mut state = 0x1234_5678_9abc_def1u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..300 {
            let mut pmp = Pmp::<u32>::default();
            for index in 0..PMP_ENTRIES {
                if next() & 1 == 0 {
                    pmp.set(index, next() as u8, next() as u32 & 0x7f);
                }
            }
            for address in 0..0x208u32 {
                for privilege in [User, Machine] {
                    let (first, last, allowed) = pmp.window(address, Read, privilege);
                    assert!(first <= address && address <= last);
                    assert_eq!(pmp.check(first, 1, Read, privilege), allowed);
                    assert_eq!(pmp.check(address, 1, Read, privilege), allowed);
                    let end = last.min(0x400);
                    assert_eq!(pmp.check(end, 1, Read, privilege), allowed);
                    if last - first >= 4 {
                        assert_eq!(pmp.check(first, 4, Read, privilege), allowed);
                    }
                    if last < u32::MAX {
                        let across = pmp.check(last, 2, Read, privilege);
                        let machine_free = privilege == Machine;
                        assert!(!across || machine_free || allowed);
                    }
                }
            }
        }
    }
}
