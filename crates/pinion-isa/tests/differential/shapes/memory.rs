//! Loads, stores and atomic operations (riscv-tests: ui, ua, ma_data).

use super::driver::SCRATCH;
use super::{Case, EDGES, Suite};
use crate::assembler::{i, r, s};
use crate::generate::Kind;

/// Adds loads and stores: each width, offset and misalignment, results over the base, what lies nowhere.
pub fn plain(suite: &mut Suite, wide: bool) {
    let loads = [("lb", 0), ("lh", 1), ("lw", 2), ("ld", 3), ("lbu", 4), ("lhu", 5), ("lwu", 6)];
    for (name, funct3) in loads {
        let word = |rd, rs1, offset| i(0x03, funct3, rd, rs1, offset);
        suite.add(name, accesses(word));
    }
    suite.add("load-reserved", [Case::new(i(0x03, 7, 13, 10, 0), u64::from(SCRATCH), 0)]);
    let stores = [("sb", 0), ("sh", 1), ("sw", 2), ("sd", 3)];
    for (name, funct3) in stores {
        let mut cases = accesses(|rs2, rs1, offset| s(funct3, rs1, rs2, offset));
        for value in EDGES {
            let word = s(funct3, 10, 11, 4);
            cases.push(Case::new(word, u64::from(SCRATCH) + 32, value));
        }
        suite.add(name, cases);
    }
    let reserved = 4..8;
    suite.add(
        "store-reserved",
        reserved.map(|funct3| Case::new(s(funct3, 10, 11, 0), u64::from(SCRATCH), 0)),
    );
    // A load behind a store sees it, in parts too.
    let mut behind = Vec::new();
    for (store, load, offset) in
        [(2, 2, 0), (2, 0, 1), (2, 5, 2), (1, 2, 0), (0, 1, 0), (2, 4, 3), (2, 2, 2)]
    {
        let case = Case::new(s(store, 10, 11, 0), u64::from(SCRATCH) + 40, 0x8091_a2b3);
        behind.push(case.then(i(0x03, load, 13, 10, offset)));
    }
    if wide {
        let case = Case::new(s(3, 10, 11, 0), u64::from(SCRATCH) + 40, EDGES[13]);
        behind.extend([0, 4, 1].map(|offset| case.then(i(0x03, 6, 13, 10, offset))));
    }
    suite.add("store-load", behind);
}

fn accesses(word: impl Fn(u8, u8, i32) -> u32) -> Vec<Case> {
    let middle = u64::from(SCRATCH) + 128;
    let mut cases = Vec::new();
    for offset in [0, 1, 4, 8, -1, -4, -8, 0x7ff, -0x800] {
        for misaligned in 0..8u64 {
            let base = (middle + misaligned).wrapping_sub(offset as u64);
            cases.push(Case::new(word(13, 10, offset), base, 0xf1e2_d3c4_b5a6_9788));
        }
    }
    for (register, base) in [(10, 10), (0, 10), (11, 10), (31, 10)] {
        cases.push(Case::new(word(register, base, 3), middle, 0));
    }
    // Before the first byte of memory, and where an address has more bits than a device.
    for base in [0, 8, 0xffff_f000, 0x9000_0000] {
        cases.push(Case::new(word(13, 10, 0), base, 0));
    }
    cases
}

/// `ua`: atomic operations on edges, in all orders, misaligned; reservations that hold and that do not.
pub fn atomic(wide: bool) -> Suite {
    let mut suite = Suite::new("ua", wide, Kind::Integer);
    let names = [
        ("amoswap", 1),
        ("amoadd", 0),
        ("amoxor", 4),
        ("amoand", 0xc),
        ("amoor", 8),
        ("amomin", 0x10),
        ("amomax", 0x14),
        ("amominu", 0x18),
        ("amomaxu", 0x1c),
    ];
    let widths: &[(&str, u32)] = if wide { &[("w", 2), ("d", 3)] } else { &[("w", 2)] };
    let place = u64::from(SCRATCH) + 64;
    for (name, funct5) in names {
        for (letter, funct3) in widths {
            let word =
                |rd, rs1, rs2, order: u32| r(0x2f, *funct3, funct5 << 2 | order, rd, rs1, rs2);
            let mut cases = Vec::new();
            // What it finds: scratch memory of all kinds; then what a store in front of it left.
            for value in EDGES {
                for offset in (0..64).step_by(8) {
                    cases.push(Case::new(word(13, 10, 11, 0), place + offset, value));
                }
                for before in [0, u64::MAX, 1 << 31, 0x7fff_ffff] {
                    let store = s(*funct3, 10, 12, 0);
                    let mut case = Case::new(store, place, value).then(word(13, 10, 11, 0));
                    case.x[2] = before;
                    cases.push(case);
                }
            }
            for order in 0..4 {
                cases.push(Case::new(word(13, 10, 11, order), place, 5));
            }
            for (rd, rs1, rs2) in
                [(10, 10, 11), (11, 10, 11), (0, 10, 11), (13, 10, 0), (13, 10, 10)]
            {
                cases.push(Case::new(word(rd, rs1, rs2, 0), place, 77));
            }
            for misaligned in 1..8 {
                cases.push(Case::new(word(13, 10, 11, 0), place + misaligned, 5));
            }
            // Where no memory lies QEMU tells of the load, not of the store.
            suite.add(&format!("{name}.{letter}"), cases);
        }
    }
    for (letter, funct3) in widths {
        let load = |rd, order: u32| r(0x2f, *funct3, 2 << 2 | order, rd, 10, 0);
        let store = |rd, rs1, rs2, order: u32| r(0x2f, *funct3, 3 << 2 | order, rd, rs1, rs2);
        let mut cases: Vec<Case> = (0..4)
            .flat_map(|order| [13, 10, 0].map(|rd| Case::new(load(rd, order), place, 0)))
            .collect();
        cases.extend((1..8).map(|off| Case::new(load(13, 0), place + off, 0)));
        cases.push(Case::new(r(0x2f, *funct3, 2 << 2, 13, 10, 11), place, 0));
        suite.add(&format!("lr.{letter}"), cases);
        let mut cases: Vec<Case> = EDGES
            .iter()
            .map(|value| Case::new(load(12, 0), place, *value).then(store(13, 10, 11, 0)))
            .collect();
        for order in 0..4 {
            cases.push(Case::new(load(12, order), place, 9).then(store(13, 10, 11, order)));
            cases.push(Case::new(load(12, order), place, 9).then(store(11, 10, 11, order)));
            cases.push(Case::new(load(12, order), place, 9).then(store(0, 10, 11, order)));
        }
        // Elsewhere; without a reservation; a second time.
        let mut elsewhere = Case::new(load(12, 0), place, 9).then(store(13, 12, 11, 0));
        elsewhere.code[0] = r(0x2f, *funct3, 2 << 2, 0, 10, 0);
        elsewhere.x[2] = place + 16;
        cases.push(elsewhere);
        cases.push(Case::new(store(13, 10, 11, 0), place, 9));
        cases.push(Case::new(store(13, 10, 11, 0), place, 9).then(store(12, 10, 11, 0)));
        // Misaligned ones without a reservation just fail on QEMU, which the specification allows.
        suite.add(&format!("sc.{letter}"), cases);
    }
    // What the specification leaves open is illegal: other widths, other operations.
    let mut reserved = Vec::new();
    for funct5 in [5, 6, 7, 9, 0xa, 0xb, 0xd, 0x11, 0x1f] {
        reserved.push(Case::new(r(0x2f, 2, funct5 << 2, 13, 10, 11), place, 1));
    }
    for funct3 in [0, 1, 4, 5, 6, 7] {
        reserved.push(Case::new(r(0x2f, funct3, 0, 13, 10, 11), place, 1));
    }
    suite.add("reserved", reserved);
    suite
}
