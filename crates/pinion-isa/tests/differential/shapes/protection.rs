//! Memory protection (riscv-tests: mi-pmpaddr, mi-access): every mode, all rights, loads, stores and fetches around
//! both ends of a region, from both privileges; entries that are locked, and attempts to change those.

use pinion_isa::{PMP_LOCK, PMP_NA4, PMP_NAPOT, PMP_TOR};

use super::driver::{EBREAKS, SCRATCH};
use super::{Case, MACHINE, Suite, USER};
use crate::assembler::{i, s};
use crate::generate::Kind;

/// Rights that are no reserved ones.
const RIGHTS: [u8; 6] = [0, 1, 3, 4, 5, 7];
/// Where the region of a case begins: `ebreak`s lie there.
const REGION: u64 = SCRATCH as u64 + 384;
/// Where locked regions begin: memory that the driver leaves alone.
const LOCKED: u64 = SCRATCH as u64 + 0x800;

/// Where a region of so many bytes is touched, from its first byte on.
fn places(bytes: u64) -> Vec<i64> {
    let bytes = bytes as i64;
    let ends = [-8, -7, -4, -2, -1].map(|at| bytes + at);
    let mut all = [-8, -7, -4, -3, -2, -1, 0, 1, 2, 3, 4].to_vec();
    all.extend(ends);
    all.extend([bytes, bytes + 1, bytes + 4]);
    all.sort_unstable();
    all.dedup();
    all
}

/// All accesses at a place of a region of so many bytes. Not those that begin before and end behind it: of
/// them QEMU 7.2 asks only for the ends.
fn accesses(region: u64, place: i64, bytes: u64, wide: bool) -> Vec<Case> {
    let at = region.wrapping_add_signed(place);
    let mut cases = Vec::new();
    if at.is_multiple_of(2) {
        cases.push(Case::new(i(0x67, 0, 13, 10, 0), at, 0));
    }
    let widths = if wide { 0..4 } else { 0..3 };
    for width in widths.filter(|width| place >= 0 || place + (1 << width) <= bytes as i64) {
        cases.push(Case::new(i(0x03, width, 13, 10, 0), at, 0));
        // It leaves `ebreak`s where there were some.
        let value = u64::from(EBREAKS) << 32 | u64::from(EBREAKS);
        let value = if at.is_multiple_of(2) { value } else { value.rotate_right(8) };
        cases.push(Case::new(s(width, 10, 11, 0), at, value));
    }
    cases
}

/// Entries that software may change.
pub fn open(wide: bool) -> Suite {
    let mut suite = Suite::new("mi-pmp", wide, Kind::Integer);
    let napot = |bytes: u64| [(REGION >> 2) | ((bytes >> 3) - 1), 0];
    let modes = [
        ("na4", PMP_NA4, 0, [REGION >> 2, 0], 4),
        ("napot-8", PMP_NAPOT, 0, napot(8), 8),
        ("napot-16", PMP_NAPOT, 0, napot(16), 16),
        ("napot-64", PMP_NAPOT, 0, napot(64), 64),
        ("tor", PMP_TOR, 1, [REGION >> 2, (REGION + 12) >> 2], 12),
        ("tor-empty", PMP_TOR, 1, [(REGION + 12) >> 2, REGION >> 2], 12),
        ("tor-from-0", PMP_TOR, 0, [REGION >> 2, 0], 8),
        ("off", 0, 0, [REGION >> 2, 0], 4),
    ];
    for (name, mode, entry, addresses, bytes) in modes {
        let mut cases = Vec::new();
        for rights in RIGHTS {
            let config = u64::from(mode | rights) << (8 * entry);
            for place in places(bytes) {
                for case in accesses(REGION, place, bytes, wide) {
                    let pmp = [addresses[0], addresses[1], config];
                    cases.push(Case { mstatus: USER, pmp, ..case });
                    // Machine mode cares only for locked ones.
                    if rights == 0 {
                        cases.push(Case { mstatus: MACHINE, pmp, ..case });
                    }
                }
            }
        }
        suite.add(name, cases);
    }
    // The lower of two entries counts, also where it allows less.
    let mut cases = Vec::new();
    for (first, second) in [(0, 7), (7, 0), (1, 3), (4, 1)] {
        let config = u64::from(PMP_NAPOT | first) | u64::from(PMP_NAPOT | second) << 8;
        for place in places(16) {
            for case in accesses(REGION, place, 8, wide) {
                let pmp = [napot(8)[0], napot(16)[0], config];
                cases.push(Case { mstatus: USER, pmp, ..case });
            }
        }
    }
    suite.add("priority", cases);
    suite
}

/// Entries that are locked: a suite for each mode, for they stay so.
pub fn locked(wide: bool) -> Vec<Suite> {
    let modes = [("na4", PMP_NA4, 4), ("napot", PMP_NAPOT, 16), ("tor", PMP_TOR, 32)];
    modes.into_iter().map(|(name, mode, bytes)| of_mode(name, mode, bytes, wide)).collect()
}

fn of_mode(name: &str, mode: u8, bytes: u64, wide: bool) -> Suite {
    let mut suite = Suite::new(&format!("mi-locked-{name}"), wide, Kind::Integer);
    let first = |entry: u64| LOCKED + 32 * entry;
    for (entry, rights) in (0..).zip(RIGHTS) {
        let ones = if mode == PMP_NAPOT { (bytes >> 3) - 1 } else { 0 };
        let address = first(entry) >> 2 | ones;
        // TOR goes from the end of the one below on; the lowest one reaches over the driver, which must go on.
        let rights = if mode == PMP_TOR && entry == 0 { 7 } else { rights };
        suite.locked.push((address, PMP_LOCK | mode | rights));
    }
    for (entry, rights) in (0..).zip(RIGHTS) {
        let region = if mode == PMP_TOR { first(entry).wrapping_sub(32) } else { first(entry) };
        let mut cases = Vec::new();
        for place in places(bytes) {
            for case in accesses(region, place, bytes, wide) {
                for mstatus in [MACHINE, USER] {
                    // Each also tries to open them.
                    for pmp in [[0; 3], [u64::MAX >> 10, 0x2000_0000, 0x1f1f_1f1f]] {
                        cases.push(Case { mstatus, pmp, ..case });
                    }
                }
            }
        }
        if !(mode == PMP_TOR && entry == 0) {
            suite.add(&format!("rights-{rights}"), cases);
        }
    }
    suite
}
