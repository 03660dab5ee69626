//! The program that runs cases, on both machines.
//!
//! In: the table of cases. Out: a record of each. It holds itself in the save area that `mscratch` points to while
//! a case runs, because a case may change every register.

use super::{Case, Suite};
use crate::assembler::{Code, MRET, addi, b, csr, i, jal, mul, r, s, u, xor};
use crate::generate::Kind;
use crate::layout::BASE;

/// Two compressed `ebreak`s.
pub const EBREAKS: u32 = 0x9002_9002;
const EBREAK: u32 = 0x0010_0073;
const FENCE_I: u32 = 0x100f;
const WFI: u32 = 0x1050_0073;

/// Where a case's instructions stand, in the middle of a field of `ebreak`s.
pub const SLOT: u32 = BASE + 0x8000;
const FIELD: std::ops::Range<u32> = BASE + 0x6000..BASE + 0xa000;
const SAVE: u32 = BASE + 0xb000;
/// The memory that cases reach; restored after each.
pub const SCRATCH: u32 = BASE + 0xd000;
/// Its length: the first half random bytes, the second `ebreak`s.
pub const SCRATCH_BYTES: u32 = 512;
const PRISTINE: u32 = BASE + 0xf000;
const CASES: u32 = BASE + 0x2_0000;
const RECORDS: u32 = BASE + 0xe0_0000;
const END: u32 = BASE + 0x1d0_0000;
const CASE_BYTES: usize = 128;
/// Words of a record.
pub const RECORD_WORDS: usize = 12;
/// Which word of a record is `mtval`.
const MTVAL_AT: usize = 2;
/// What the words of a record are.
pub const FIELDS: [&str; RECORD_WORDS] = [
    "mcause",
    "mepc, from the slot on",
    "mtval",
    "mstatus",
    "x10",
    "x11",
    "x13",
    "all registers",
    "memory",
    "f13",
    "fcsr",
    "PMP",
];

// Offsets in a case: `Case`'s fields, eight bytes each.
const STATUS: i32 = 72;
const PLACE: i32 = 104;

// Offsets in the save area: registers as a case finds them, and as it leaves them.
const BEFORE: i32 = 0;
const AFTER: i32 = 256;
const NEXT_CASE: i32 = 512;
const NEXT_RECORD: i32 = 520;
const LEFT: i32 = 528;
const SLOT_ADDRESS: i32 = 536;

const MSTATUS: u16 = 0x300;
const MTVEC: u16 = 0x305;
const MCOUNTEREN: u16 = 0x306;
const MSCRATCH: u16 = 0x340;
const MEPC: u16 = 0x341;
const MCAUSE: u16 = 0x342;
const MTVAL: u16 = 0x343;
const MHARTID: u16 = 0xf14;
const FCSR: u16 = 3;
const PMPCFG0: u16 = 0x3a0;
const PMPADDR0: u16 = 0x3b0;
const MULTIPLIER: u32 = 0x5851_f42d;
/// MPP, MPIE and MIE.
const STATUS_SEEN: u32 = 0x1888;
const FLOAT_ON: u32 = 0x6000;

/// What a register holds that no case sets: places in the scratch memory for those that addresses are made of,
/// elsewhere numbers at which there is no memory.
fn before(register: u32) -> u64 {
    match register {
        2 => u64::from(SCRATCH),
        8 | 9 | 14 | 15 => u64::from(SCRATCH + 256 + 8 * register),
        _ => 0x9000_0000 + u64::from(register) * 0x0011_0100,
    }
}

/// Writes the memory of a suite's program.
pub fn program(suite: &Suite, wide: bool) -> Vec<u8> {
    let cases: Vec<&Case> = suite.groups.iter().flat_map(|group| &group.cases).collect();
    let end = RECORDS as usize + cases.len() * 8 * RECORD_WORDS;
    assert!(CASES as usize + cases.len() * CASE_BYTES <= RECORDS as usize, "{} cases", cases.len());
    assert!(end <= END as usize, "too many cases for the records");
    let mut code = Code::new(BASE, wide);
    write_program(&mut code, suite, wide);
    assert!(code.here() <= FIELD.start, "the driver is too long");
    let mut memory = code.bytes;
    memory.resize(end - BASE as usize, 0);
    let mut put = |address: u32, bytes: &[u8]| {
        let at = (address - BASE) as usize;
        memory[at..at + bytes.len()].copy_from_slice(bytes);
    };
    let stop = if suite.compressed { EBREAKS } else { EBREAK };
    FIELD.step_by(4).for_each(|address| put(address, &stop.to_le_bytes()));
    let mut random = crate::random::Random::new(0x7ab1e);
    for at in (0..SCRATCH_BYTES).step_by(4) {
        // Jumps through registers that point there end as all others.
        let is_place = matches!(at, 0 | 8 | 16);
        let is_random = at < SCRATCH_BYTES / 2 && !is_place;
        let word = if is_random { random.word() } else { stop };
        put(SCRATCH + at, &word.to_le_bytes());
        put(PRISTINE + at, &word.to_le_bytes());
    }
    for register in 1..32 {
        put(SAVE + 8 * register, &before(register).to_le_bytes());
    }
    put(SAVE + NEXT_CASE as u32, &u64::from(CASES).to_le_bytes());
    put(SAVE + NEXT_RECORD as u32, &u64::from(RECORDS).to_le_bytes());
    put(SAVE + LEFT as u32, &(cases.len() as u64).to_le_bytes());
    for (case, address) in cases.iter().zip((CASES..).step_by(CASE_BYTES)) {
        let code = u64::from(case.code[1]) << 32 | u64::from(case.code[0]);
        let words = [code].into_iter().chain(case.x).chain(case.f).chain([case.fcsr, case.mstatus]);
        let words = words.chain(case.pmp).chain([case.place]);
        for (word, at) in words.zip((address..).step_by(8)) {
            put(at, &word.to_le_bytes());
        }
    }
    memory
}

/// Gives the number of the case that runs.
pub fn current(memory: &[u8]) -> usize {
    let at = (SAVE - BASE) as usize + NEXT_CASE as usize;
    let next = u32::from_le_bytes(memory[at..at + 4].try_into().expect("four bytes"));
    (next - CASES) as usize / CASE_BYTES
}

/// Gives the records in memory.
pub fn records(memory: &[u8], suite: &Suite) -> super::Records {
    let count = suite.groups.iter().map(|group| group.cases.len()).sum();
    let word = |at: usize| u64::from_le_bytes(memory[at..at + 8].try_into().expect("eight bytes"));
    let first = (RECORDS - BASE) as usize;
    let record = |number: usize| {
        let at = |field: usize| word(first + 8 * (number * RECORD_WORDS + field));
        // The target of a misaligned jump is not where QEMU 7.2 says it is.
        std::array::from_fn(|field| if field == MTVAL_AT && at(0) == 0 { 0 } else { at(field) })
    };
    (0..count).map(record).collect()
}

fn write_program(code: &mut Code, suite: &Suite, wide: bool) {
    let is_float = suite.kind == Kind::Float;
    code.word(csr(2, 5, MHARTID, 0));
    code.word(b(0, 5, 0, 12));
    code.word(WFI); // other harts sleep
    code.word(jal(0, -4));
    let begin = code.hole();
    code.align(256);
    let handler = code.here();
    write_handler(code, is_float, wide);
    let next = code.here();
    write_next(code, is_float);
    code.land_jump(begin, 0);
    code.address(5, handler);
    code.word(csr(1, 0, MTVEC, 5));
    code.address(31, SAVE);
    code.word(csr(1, 0, MSTATUS, 0));
    code.word(csr(1, 0, MCOUNTEREN, 0));
    // Behind all others an entry that lets user mode do everything.
    code.word(addi(5, 0, -1));
    code.word(csr(1, 0, PMPADDR0 + 15, 5));
    code.constant(5, 0x1f00_0000);
    if wide {
        code.word(i(0x13, 1, 5, 5, 32)); // slli
    }
    code.word(csr(1, 0, PMPCFG0 + if wide { 2 } else { 3 }, 5));
    for (entry, (address, config)) in (0..).zip(&suite.locked) {
        code.constant(5, *address as u32);
        code.word(csr(1, 0, PMPADDR0 + entry, 5));
        // The byte alone: those behind it are still open.
        let register = PMPCFG0 + if wide { 0 } else { entry / 4 };
        let shift = 8 * i32::from(if wide { entry } else { entry % 4 });
        code.constant(5, u32::from(*config));
        code.word(i(0x13, 1, 5, 5, shift));
        code.word(csr(2, 0, register, 5));
    }
    let here = code.here();
    code.word(jal(0, next.wrapping_sub(here) as i32));
}

/// Puts the next case into its slot and enters it; ends the run behind the last.
fn write_next(code: &mut Code, is_float: bool) {
    code.restore(6, 31, LEFT);
    let finished = code.hole();
    code.word(addi(6, 6, -1));
    code.save(6, 31, LEFT);
    code.restore(5, 31, NEXT_CASE);
    code.restore(7, 5, PLACE);
    code.address(8, SLOT);
    code.word(r(0x33, 0, 0, 8, 8, 7));
    code.save(8, 31, SLOT_ADDRESS);
    for word in 0..2 {
        code.word(i(0x03, 2, 9, 5, 4 * word)); // lw
        code.word(s(1, 8, 9, 4 * word)); // sh
        code.word(i(0x13, 5, 9, 9, 16)); // srli
        code.word(s(1, 8, 9, 4 * word + 2));
    }
    code.word(FENCE_I);
    code.word(csr(1, 0, MEPC, 8));
    for (number, offset) in [(PMPADDR0, 80), (PMPADDR0 + 1, 88), (PMPCFG0, 96)] {
        code.restore(9, 5, offset);
        code.word(csr(1, 0, number, 9));
    }
    if is_float {
        code.constant(9, FLOAT_ON);
        code.word(csr(2, 0, MSTATUS, 9));
        for (register, offset) in [(10, 40), (11, 48), (12, 56), (13, 8)] {
            code.word(i(0x07, 3, register, 5, offset)); // fld
        }
        code.restore(9, 5, 64);
        code.word(csr(1, 0, FCSR, 9));
    }
    code.restore(9, 5, STATUS);
    code.word(csr(1, 0, MSTATUS, 9));
    code.word(csr(1, 0, MSCRATCH, 31));
    for (register, offset) in [(10, 8), (11, 16), (12, 24), (13, 32)] {
        code.restore(register, 5, offset);
    }
    for register in (1..10).chain(14..31) {
        code.restore(register, 31, BEFORE + 8 * i32::from(register));
    }
    code.restore(31, 31, BEFORE + 8 * 31);
    code.word(MRET);
    code.land_branch(finished, 0, 6, 0);
    code.word(u(0x37, 5, 0x10_0000));
    code.constant(6, 0x5555);
    code.word(s(2, 5, 6, 0));
    code.word(jal(0, 0));
}

/// Writes the record of a case that has ended; falls through to the next one.
fn write_handler(code: &mut Code, is_float: bool, wide: bool) {
    code.word(csr(1, 31, MSCRATCH, 31));
    for register in 1..31 {
        code.save(register, 31, AFTER + 8 * i32::from(register));
    }
    code.word(csr(2, 1, MSCRATCH, 0));
    code.save(1, 31, AFTER + 8 * 31);
    code.restore(6, 31, NEXT_RECORD);
    let field = |code: &mut Code, number: i32| code.save(7, 6, 8 * number);
    code.word(csr(2, 7, MCAUSE, 0));
    field(code, 0);
    code.word(csr(2, 7, MEPC, 0));
    code.restore(8, 31, SLOT_ADDRESS);
    code.word(r(0x33, 0, 0x20, 7, 7, 8)); // sub
    field(code, 1);
    code.word(csr(2, 7, MTVAL, 0));
    field(code, 2);
    code.word(csr(2, 7, MSTATUS, 0));
    code.constant(8, STATUS_SEEN);
    code.word(r(0x33, 7, 0, 7, 7, 8)); // and
    field(code, 3);
    for (number, register) in [(4, 10), (5, 11), (6, 13)] {
        code.restore(7, 31, AFTER + 8 * register);
        field(code, number);
    }
    if is_float {
        code.constant(7, FLOAT_ON);
        code.word(csr(2, 0, MSTATUS, 7));
        code.word(s(3, 6, 13, 8 * 9) & !0x7f | 0x27); // fsd
        code.word(csr(2, 7, FCSR, 0));
        field(code, 10);
    }
    code.constant(9, MULTIPLIER);
    let mix = |code: &mut Code, register: u8| {
        code.word(xor(7, 7, register));
        code.word(mul(7, 7, 9));
        code.word(addi(7, 7, 0x123));
    };
    code.word(addi(7, 0, 0));
    for register in 1..32 {
        code.restore(8, 31, AFTER + 8 * register);
        mix(code, 8);
    }
    field(code, 7);
    code.word(addi(7, 0, 0));
    for number in [PMPADDR0, PMPADDR0 + 1, PMPCFG0] {
        code.word(csr(2, 8, number, 0));
        mix(code, 8);
    }
    field(code, 11);
    // An access of which an open entry matches only a part fails for machine mode too.
    code.word(csr(1, 0, PMPCFG0, 0));
    // The scratch memory: into the record, and back to what it was.
    let step = if wide { 8 } else { 4 };
    code.address(10, SCRATCH);
    code.address(11, PRISTINE);
    code.address(12, SCRATCH + SCRATCH_BYTES);
    code.word(addi(7, 0, 0));
    let again = code.here();
    code.restore(8, 10, 0);
    mix(code, 8);
    code.restore(8, 11, 0);
    code.save(8, 10, 0);
    code.word(addi(10, 10, step));
    code.word(addi(11, 11, step));
    let here = code.here();
    code.word(b(1, 10, 12, again.wrapping_sub(here) as i32));
    field(code, 8);
    code.word(addi(6, 6, 8 * RECORD_WORDS as i32));
    code.save(6, 31, NEXT_RECORD);
    code.restore(5, 31, NEXT_CASE);
    code.word(addi(5, 5, CASE_BYTES as i32));
    code.save(5, 31, NEXT_CASE);
    // The slot is a part of the field again.
    code.address(8, FIELD.start);
    code.word(i(0x03, 2, 9, 8, 0)); // lw
    code.restore(8, 31, SLOT_ADDRESS);
    for offset in [0, 4] {
        code.word(s(1, 8, 9, offset));
        code.word(i(0x13, 5, 10, 9, 16));
        code.word(s(1, 8, 10, offset + 2));
    }
}
