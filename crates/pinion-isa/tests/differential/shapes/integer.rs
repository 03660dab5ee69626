//! Integer operations, branches and jumps (riscv-tests: ui, um).

use super::{Case, EDGES, Suite};
use crate::assembler::{b, i, jal, r, u};
use crate::generate::Kind;

/// Immediates at whose sides something changes.
const IMMEDIATES: [i32; 12] = [0, 1, -1, 2, 31, 32, 0x555, -0x556, 0x7ff, -0x800, 0x400, -0x400];

/// A register-register operation: all edges against each other, then every role of its registers.
pub fn pairs(word: impl Fn(u8, u8, u8) -> u32) -> Vec<Case> {
    let values = EDGES.iter().flat_map(|first| EDGES.map(|second| (*first, second)));
    let mut cases: Vec<Case> =
        values.map(|(first, second)| Case::new(word(13, 10, 11), first, second)).collect();
    let roles = [
        (10, 10, 11),
        (11, 10, 11),
        (10, 10, 10),
        (13, 10, 10),
        (13, 0, 11),
        (13, 10, 0),
        (13, 0, 0),
        (0, 10, 11),
        (31, 1, 31),
    ];
    for (rd, rs1, rs2) in roles {
        for (first, second) in [(13, 11), (u64::MAX, 7), (1 << 31, 1 << 31)] {
            cases.push(Case::new(word(rd, rs1, rs2), first, second));
        }
    }
    cases
}

/// An operation on a register and an immediate.
fn immediates(immediates: &[i32], word: impl Fn(u8, u8, i32) -> u32) -> Vec<Case> {
    let values = EDGES.iter().flat_map(|first| immediates.iter().map(|second| (*first, *second)));
    let mut cases: Vec<Case> =
        values.map(|(first, second)| Case::new(word(13, 10, second), first, 0)).collect();
    for (rd, rs1) in [(10, 10), (13, 0), (0, 10), (31, 31), (1, 31)] {
        cases.push(Case::new(word(rd, rs1, immediates[1]), 0x1_0000_0011, 0));
    }
    cases
}

/// `ui`: what every core has, without loads and stores.
pub fn base(wide: bool) -> Suite {
    let mut suite = Suite::new("ui", wide, Kind::Integer);
    let registers = [
        ("add", 0, 0),
        ("sub", 0, 0x20),
        ("sll", 1, 0),
        ("slt", 2, 0),
        ("sltu", 3, 0),
        ("xor", 4, 0),
        ("srl", 5, 0),
        ("sra", 5, 0x20),
        ("or", 6, 0),
        ("and", 7, 0),
    ];
    for (name, funct3, funct7) in registers {
        suite.add(name, pairs(|rd, rs1, rs2| r(0x33, funct3, funct7, rd, rs1, rs2)));
        // `slt` to `and` have no form for words.
        if wide && matches!(funct3, 0 | 1 | 5) {
            let word = |rd, rs1, rs2| r(0x3b, funct3, funct7, rd, rs1, rs2);
            suite.add(&format!("{name}w"), pairs(word));
        }
    }
    let with_immediate =
        [("addi", 0), ("slti", 2), ("sltiu", 3), ("xori", 4), ("ori", 6), ("andi", 7)];
    for (name, funct3) in with_immediate {
        suite.add(name, immediates(&IMMEDIATES, |rd, rs1, value| i(0x13, funct3, rd, rs1, value)));
    }
    // Every amount, and those that are illegal: bit 5 on RV32 and of words, other bits above.
    let amounts: Vec<i32> = (0..64).collect();
    for (name, funct3, high) in [("slli", 1, 0), ("srli", 5, 0), ("srai", 5, 0x400)] {
        suite.add(name, immediates(&amounts, |rd, rs1, by| i(0x13, funct3, rd, rs1, high | by)));
        if wide {
            let word = |rd, rs1, by| i(0x1b, funct3, rd, rs1, high | by);
            suite.add(&format!("{name}w"), immediates(&amounts, word));
        }
    }
    if wide {
        suite.add("addiw", immediates(&IMMEDIATES, |rd, rs1, value| i(0x1b, 0, rd, rs1, value)));
    }
    let uppers = [0, 0x1000, 0x7fff_f000, 0x8000_0000, 0xffff_f000, 0x1234_5000, 0xaaaa_a000];
    for (name, opcode) in [("lui", 0x37), ("auipc", 0x17)] {
        let roles = uppers.iter().flat_map(|value| [13, 0, 31].map(|rd| u(opcode, rd, *value)));
        suite.add(name, roles.map(|word| Case::new(word, 0, 0)));
    }
    branches(&mut suite);
    jumps(&mut suite);
    super::memory::plain(&mut suite, wide);
    suite.add("fence", [0x0ff0_000f, 0x0330_000f, 0x8330_000f, 0x100f].map(|w| Case::new(w, 0, 0)));
    suite
}

/// Where branches go: next to them, as far as the field reaches, forward and backward.
const BRANCHES: [i32; 10] = [4, 6, 8, 12, -4, -6, 64, -64, 0xffe, -0x1000];

fn branches(suite: &mut Suite) {
    let all = [("beq", 0), ("bne", 1), ("blt", 4), ("bge", 5), ("bltu", 6), ("bgeu", 7)];
    for (name, funct3) in all {
        let mut cases = pairs(|rd, rs1, rs2| match rd {
            // It has no result: that role is the other operands'.
            0 => b(funct3, rs2, rs1, 16),
            _ => b(funct3, rs1, rs2, 16),
        });
        for offset in BRANCHES {
            for (first, second) in [(1, 1), (1, 2), (2, 1), (u64::MAX, 1)] {
                cases.push(Case::new(b(funct3, 10, 11, offset), first, second));
            }
        }
        suite.add(name, cases);
    }
    // Neither exists.
    suite.add("branch-reserved", [2, 3].map(|funct3| Case::new(b(funct3, 10, 11, 16), 1, 1)));
}

fn jumps(suite: &mut Suite) {
    let near = BRANCHES.iter().flat_map(|offset| [13, 0, 1, 10].map(|rd| jal(rd, *offset)));
    suite.add("jal", near.map(|word| Case::new(word, 0, 0)));
    let mut cases = Vec::new();
    for offset in [0, 1, 2, 3, 4, -4, -1, 0x7fe, 0x7ff, -0x800] {
        for (rd, rs1) in [(13, 10), (10, 10), (0, 10), (1, 10)] {
            for odd in [0, 1] {
                let target = u64::from(super::driver::SLOT) + 0x20 + odd;
                cases.push(Case::new(i(0x67, 0, rd, rs1, offset), target, 0));
            }
        }
    }
    // Nothing lies there.
    cases.push(Case::new(i(0x67, 0, 13, 10, 0), 0, 0));
    cases.push(Case::new(i(0x67, 0, 13, 0, 0), 0, 0));
    cases.extend((1..8).map(|funct3| Case::new(i(0x67, funct3, 13, 10, 0), 0, 0)));
    suite.add("jalr", cases);
}

/// `um`: multiplication and division.
pub fn multiply(wide: bool) -> Suite {
    let mut suite = Suite::new("um", wide, Kind::Integer);
    let names = ["mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"];
    for (name, funct3) in names.into_iter().zip(0..) {
        suite.add(name, pairs(|rd, rs1, rs2| r(0x33, funct3, 1, rd, rs1, rs2)));
        // The high halves have no form for words: illegal.
        if wide {
            let word = |rd, rs1, rs2| r(0x3b, funct3, 1, rd, rs1, rs2);
            suite.add(&format!("{name}w"), pairs(word));
        }
    }
    suite
}
