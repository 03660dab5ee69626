//! Control registers, calls, returns, what is no instruction, and fetches (riscv-tests: mi).

use super::driver::{SCRATCH, SLOT};
use super::{Case, EDGES, MACHINE, Suite, USER};
use crate::assembler::{b, csr, i, jal, r};
use crate::generate::Kind;

const ECALL: u32 = 0x73;
const EBREAK: u32 = 0x0010_0073;
const MRET: u32 = 0x3020_0073;

const MEPC: u16 = 0x341;
const MCAUSE: u16 = 0x342;
const MTVAL: u16 = 0x343;
const PMPADDR7: u16 = 0x3b7;
const MHARTID: u16 = 0xf14;

/// `mi`.
pub fn all(wide: bool) -> Suite {
    let mut suite = Suite::new("mi", wide, Kind::Integer);
    registers(&mut suite, wide);
    let both = |word| [MACHINE, USER].map(|mstatus| Case { mstatus, ..Case::new(word, 0, 0) });
    suite.add("ecall", both(ECALL));
    suite.add("ebreak", both(EBREAK));
    // The first one returns to itself, in user mode, where it is illegal.
    suite.add("mret", both(MRET));
    // Of other modes, which there are not, and with operands where none may be.
    // Not `sfence.vma`: QEMU 7.2 does it without supervisor mode.
    let others = [0x0020_0073, 0x1020_0073, 0x7b20_0073, 0x0000_8073, 0x0000_00f3];
    suite.add("system-reserved", others.iter().flat_map(|word| both(*word)));
    let stays = MACHINE | 1 << 21;
    suite.add("wfi-forbidden", [Case { mstatus: stays & !0x1800, ..Case::new(0x1050_0073, 0, 0) }]);
    opcodes(&mut suite);
    suite
}

fn registers(suite: &mut Suite, wide: bool) {
    // What they keep: `mscratch` and `mtvec` are the driver's own.
    for (name, number) in
        [("mepc", MEPC), ("mcause", MCAUSE), ("mtval", MTVAL), ("pmpaddr7", PMPADDR7)]
    {
        let mut cases = Vec::new();
        for value in EDGES {
            // QEMU 7.2 keeps bits 63:54 of RV64's pmpaddr, which do not exist, and any cause.
            let value = match number {
                PMPADDR7 if wide => value >> 10,
                MCAUSE => value & 15,
                // It also keeps the lowest bit of mepc, which is 0.
                MEPC => value & !1,
                _ => value,
            };
            for funct3 in [1, 2, 3] {
                let word = csr(funct3, 13, number, 10);
                cases.push(Case::new(word, value, 0).then(csr(2, 11, number, 0)));
            }
        }
        for funct3 in [1, 2, 3, 5, 6, 7] {
            for source in [0, 2, 10, 30] {
                for rd in [0, 13, 10] {
                    let word = csr(funct3, rd, number, source);
                    let case = Case::new(word, 12, 0).then(csr(2, 11, number, 0));
                    // Values of registers that mean nothing here are no causes.
                    let is_kept = number != MCAUSE || funct3 > 4 || matches!(source, 0 | 10);
                    cases.extend(is_kept.then_some(case));
                }
            }
        }
        suite.add(name, cases);
    }
    // Read-only ones may be read, and set and cleared by nothing.
    let mut only_read = Vec::new();
    for mstatus in [MACHINE, USER] {
        for funct3 in [1, 2, 3, 5, 6, 7] {
            for source in [0, 10] {
                let word = csr(funct3, 13, MHARTID, source);
                only_read.push(Case { mstatus, ..Case::new(word, 1, 0) });
            }
        }
    }
    // Counters: theirs differ, only that they cannot be written counts.
    for number in [0xc00, 0xc02] {
        only_read.extend([1, 5].map(|funct3| Case::new(csr(funct3, 13, number, 10), 1, 0)));
        only_read.push(Case { mstatus: USER, ..Case::new(csr(2, 13, number, 0), 1, 0) });
    }
    suite.add("csr-read-only", only_read);
    let absent =
        [0x100, 0x105, 0x141, 0x180, 0x200, 0x400, 0x5c0, 0x6ff, 0x7ff, 0x8ff, 0x9c0, 0xcc0, 0xfff];
    let all = absent.iter().chain(&[0x300, MEPC, 0x3a0]);
    let cases = all.flat_map(|number| {
        let modes = if *number == 0x300 || *number == MEPC || *number == 0x3a0 {
            &[USER][..]
        } else {
            &[MACHINE, USER]
        };
        modes.iter().flat_map(|mstatus| {
            [1, 2, 6].map(|funct3| Case {
                mstatus: *mstatus,
                ..Case::new(csr(funct3, 13, *number, 0), 0, 0)
            })
        })
    });
    suite.add("csr-forbidden", cases);
    suite.add("csr-reserved", [Case::new(csr(4, 13, MEPC, 10), 1, 0)]);
}

/// Every major opcode with every funct3 and some funct7, legal or not, but for those that are elsewhere.
fn opcodes(suite: &mut Suite) {
    for opcode in (3..128).step_by(4) {
        // Branches, jumps and control registers have shapes of their own.
        if matches!(opcode, 0x63 | 0x6f | 0x73) {
            continue;
        }
        let mut cases = Vec::new();
        for funct3 in 0..8 {
            for funct7 in
                [0, 1, 2, 4, 5, 8, 0x10, 0x14, 0x20, 0x21, 0x24, 0x30, 0x34, 0x40, 0x60, 0x7f]
            {
                let word = r(opcode, funct3, funct7, 13, 10, 11);
                cases.push(Case::new(word, u64::from(SCRATCH) + 256, 5));
            }
        }
        suite.add(&format!("opcode-{opcode:02x}"), cases);
    }
}

/// `mi` of a core without compressed instructions: jumps between instructions.
pub fn fetch(wide: bool) -> Suite {
    let mut suite = Suite::new("mi-without-c", wide, Kind::Integer);
    suite.compressed = false;
    let ends = |case: Case| case.then(EBREAK);
    let offsets = [4, 6, 8, 10, -4, -6, 2, 0x7e, -0x82];
    suite.add(
        "jal",
        offsets.iter().flat_map(|off| [13, 0].map(|rd| ends(Case::new(jal(rd, *off), 0, 0)))),
    );
    let target = u64::from(SLOT) + 0x40;
    let jumps = (0..8u64).flat_map(|odd| {
        [0, 1, 2, 3].map(|offset| ends(Case::new(i(0x67, 0, 13, 10, offset), target + odd, 0)))
    });
    suite.add("jalr", jumps);
    let branches = [0, 1, 4, 5, 6, 7].into_iter().flat_map(|funct3| {
        offsets.into_iter().flat_map(move |off| {
            [(1, 1), (1, 2), (2, 1)]
                .map(|(first, second)| Case::new(b(funct3, 10, 11, off), first, second))
        })
    });
    suite.add("branches", branches.map(ends));
    let returns = [0u64, 4].map(|odd| Case::new(csr(1, 13, MEPC, 10), target + odd, 0));
    suite.add("mepc", returns.map(|case| case.then(csr(2, 11, MEPC, 0))));
    suite
}
