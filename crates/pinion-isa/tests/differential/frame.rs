//! The fixed parts of a test program: start, trap handler, signature routine, end.

use crate::assembler::{Code, MRET, addi, b, csr, i, jal, mul, r, u, xor};
use crate::generate::Kind;
use crate::layout::*;
use crate::random::Random;

const MSTATUS: u16 = 0x300;
const MTVEC: u16 = 0x305;
const MCOUNTEREN: u16 = 0x306;
const MSCRATCH: u16 = 0x340;
const MEPC: u16 = 0x341;
const MCAUSE: u16 = 0x342;
const MTVAL: u16 = 0x343;
const MHARTID: u16 = 0xf14;
const WFI: u32 = 0x1050_0073;
const PMPCFG0: u16 = 0x3a0;
const PMPADDR0: u16 = 0x3b0;

/// Registers that hold the addresses of scratch memory and never change.
pub const BASES: [u8; 2] = [2, 8];
/// The multiplier of all signatures.
const MULTIPLIER: u32 = 0x5851_f42d;

/// Where the fixed routines lie.
pub struct Frame {
    /// The signature routine; called with the save area in x31 and the return address in x30.
    pub sign: u32,
}

/// The eight PMP entries of a program, as registers hold them.
pub struct Pmp {
    config: [u8; 8],
    address: [u32; 8],
}

impl Pmp {
    /// Makes entries for user mode: code may be executed; of the scratch page random parts may be
    /// read, written or neither; `coarse`ly by eight bytes.
    pub fn random(random: &mut Random, coarse: bool) -> Self {
        let mut pmp =
            Self { config: [0b11101; 8], address: [BASE >> 2 | ((CODE_BYTES >> 3) - 1); 8] };
        for index in 1..8 {
            let modes: &[u8] = if coarse { &[0, 1, 3] } else { &[0, 1, 2, 3] };
            let mode = if index == 7 { 3 } else { random.pick(modes) };
            let bytes = if index == 7 { 0x1000 } else { 8 << random.below(8) };
            let first = (SCRATCH + random.below(0x1000)) & !(bytes - 1);
            pmp.address[index] = match mode {
                3 => first >> 2 | ((bytes >> 3) - 1),
                _ => (SCRATCH + random.below(0x1000)) >> 2 & !u32::from(coarse),
            };
            // Nothing may be executed there: it holds no program.
            let permissions = random.pick(&[0, 1, 3, 3]);
            // The last entry covers the page, so that a good part of it can be used.
            pmp.config[index] = mode << 3 | if index == 7 { 3 } else { permissions };
        }
        pmp
    }
}

/// Writes the start of the program; execution falls through to what follows.
pub fn begin(code: &mut Code, pmp: &Pmp, kind: Kind, wide: bool) -> Frame {
    code.word(csr(2, 5, MHARTID, 0));
    code.word(b(0, 5, 0, 12));
    code.word(WFI); // other harts sleep
    code.word(jal(0, -4));
    let skip = code.hole();
    code.align(256);
    let handler = code.here();
    write_handler(code, kind, wide);
    let sign = code.here();
    write_sign(code);
    code.land_jump(skip, 0);
    code.address(5, handler);
    code.word(csr(1, 0, MTVEC, 5));
    code.address(5, SAVE);
    code.word(csr(1, 0, MSCRATCH, 5));
    code.word(csr(1, 0, MCOUNTEREN, 0));
    code.word(csr(1, 0, MSTATUS, 0)); // reset leaves MPP open
    write_pmp(code, pmp, wide);
    for register in 1..32u8 {
        code.constant(register, 0x0101_0101u32.wrapping_mul(u32::from(register)));
    }
    code.address(BASES[0], SP);
    code.address(BASES[1], S0);
    Frame { sign }
}

fn write_pmp(code: &mut Code, pmp: &Pmp, wide: bool) {
    for (number, address) in (PMPADDR0..).zip(pmp.address) {
        code.constant(5, address);
        code.word(csr(1, 0, number, 5));
    }
    let words = [&pmp.config[..4], &pmp.config[4..]]
        .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")));
    code.constant(5, words[0]);
    if wide {
        code.constant(6, words[1]);
        code.word(i(0x13, 1, 6, 6, 32)); // slli
        code.word(r(0x33, 0, 0, 5, 5, 6));
        code.word(csr(1, 0, PMPCFG0, 5));
    } else {
        code.word(csr(1, 0, PMPCFG0, 5));
        code.constant(5, words[1]);
        code.word(csr(1, 0, PMPCFG0 + 1, 5));
    }
}

/// The trap handler: adds what it sees to a signature, then steps over the instruction.
///
/// After a fetch fault it goes on at `ra`; an environment call from user mode returns to machine
/// mode.
fn write_handler(code: &mut Code, kind: Kind, wide: bool) {
    let read = |code: &mut Code, rd: u8, temporary: u8, register: u16| {
        code.word(csr(2, rd, register, 0));
        if register != MSTATUS {
            return;
        }
        if kind == Kind::Float {
            // QEMU 7.2 leaves the state clean when a flag is raised and nothing else written.
            code.constant(temporary, 0x8000_6000);
            code.word(r(0x33, 6, 0, rd, rd, temporary));
        }
        if wide {
            code.word(i(0x13, 1, rd, rd, 32)); // QEMU shows SXL even without supervisor mode
        }
    };
    code.word(csr(1, 31, MSCRATCH, 31));
    for register in 28..31 {
        code.save(register, 31, 8 * i32::from(register));
    }
    code.restore(28, 31, TRAP_LOG_BASE);
    code.restore(29, 31, TRAP_LOG_OFFSET);
    code.word(r(0x33, 0, 0, 30, 28, 29));
    code.word(addi(29, 29, 32));
    code.constant(28, TRAP_LOG_BYTES - 1);
    code.word(r(0x33, 7, 0, 29, 29, 28)); // and: wraps
    code.save(29, 31, TRAP_LOG_OFFSET);
    for (index, register) in [MCAUSE, MEPC, MTVAL, MSTATUS].into_iter().enumerate() {
        read(code, 28, 29, register);
        code.save(28, 30, 8 * index as i32);
    }
    code.restore(29, 31, TRAP_SIGNATURE);
    for register in [MCAUSE, MEPC, MTVAL, MSTATUS] {
        read(code, 30, 28, register);
        code.constant(28, MULTIPLIER);
        code.word(xor(29, 29, 30));
        code.word(mul(29, 29, 28));
        code.word(addi(29, 29, 0x123));
    }
    code.save(29, 31, TRAP_SIGNATURE);
    code.restore(30, 31, TRAPS);
    code.word(addi(30, 30, 1));
    code.save(30, 31, TRAPS);
    code.word(csr(2, 30, MCAUSE, 0));
    code.word(addi(28, 0, 1));
    let not_fetch = code.hole();
    code.word(csr(1, 0, MEPC, 1));
    let done = code.hole();
    code.land_branch(not_fetch, 1, 30, 28);
    code.word(addi(28, 0, 8));
    let not_call = code.hole();
    code.constant(28, 0x1800);
    code.word(csr(2, 0, MSTATUS, 28));
    code.land_branch(not_call, 1, 30, 28);
    code.word(csr(2, 30, MEPC, 0));
    code.word(i(0x03, 5, 28, 30, 0)); // lhu
    code.word(i(0x13, 7, 28, 28, 3)); // andi
    code.word(addi(30, 30, 2));
    code.word(addi(28, 28, -3));
    code.word(b(1, 28, 0, 8));
    code.word(addi(30, 30, 2));
    code.word(csr(1, 0, MEPC, 30));
    code.land_jump(done, 0);
    for register in 28..31 {
        code.restore(register, 31, 8 * i32::from(register));
    }
    code.word(csr(1, 31, MSCRATCH, 31));
    code.word(MRET);
}

/// The signature routine: hashes all registers, logs the hash, and mixes it into the registers.
///
/// In: x31 = save area, whose slot 30 holds x30; `mscratch` = x31; x30 = return address.
fn write_sign(code: &mut Code) {
    code.save(28, 31, 8 * 28);
    code.save(29, 31, 8 * 29);
    code.constant(28, MULTIPLIER);
    code.restore(29, 31, SIGNATURE);
    let step = |code: &mut Code, register: u8| {
        code.word(xor(29, 29, register));
        code.word(mul(29, 29, 28));
        code.word(addi(29, 29, i32::from(register) + 1));
    };
    for register in 1..28u8 {
        step(code, register);
        if !BASES.contains(&register) {
            code.word(xor(register, register, 29));
        }
    }
    // x27 is free now: its value is hashed and mixed, keep it in its slot meanwhile.
    code.save(27, 31, 8 * 27);
    code.word(csr(2, 27, MSCRATCH, 0));
    code.save(27, 31, 8 * 31);
    for register in 28..32u8 {
        code.restore(27, 31, 8 * i32::from(register));
        step(code, 27);
        code.word(xor(27, 27, 29));
        code.save(27, 31, 8 * i32::from(register));
    }
    code.save(29, 31, SIGNATURE);
    code.restore(28, 31, LOG_POINTER);
    code.save(29, 28, 0);
    code.word(addi(28, 28, 8));
    code.save(28, 31, LOG_POINTER);
    code.restore(27, 31, 8 * 31);
    code.word(csr(1, 0, MSCRATCH, 27));
    for register in 27..30 {
        code.restore(register, 31, 8 * i32::from(register));
    }
    code.word(i(0x67, 0, 0, 30, 0)); // jr x30
}

/// Calls the signature routine.
pub fn call_sign(code: &mut Code, frame: &Frame) {
    code.word(csr(1, 31, MSCRATCH, 31));
    code.save(30, 31, 8 * 30);
    let here = code.here();
    code.word(jal(30, frame.sign.wrapping_sub(here) as i32));
    code.restore(30, 31, 8 * 30);
    code.word(csr(1, 31, MSCRATCH, 31));
}

/// Enters user mode at the next instruction, through `temporary`.
pub fn enter_user_mode(code: &mut Code, temporary: u8) {
    code.constant(temporary, 0x1800);
    code.word(csr(3, 0, MSTATUS, temporary));
    let after = code.here() + 16;
    code.address(temporary, after);
    code.word(csr(1, 0, MEPC, temporary));
    code.word(MRET);
    assert_eq!(code.here(), after);
}

/// Writes the end: back to `first` while rounds are left, then the finisher.
pub fn end(code: &mut Code, first: u32) {
    code.word(csr(1, 31, MSCRATCH, 31));
    code.save(30, 31, 8 * 30);
    code.restore(30, 31, ROUNDS);
    code.word(addi(30, 30, -1));
    code.save(30, 31, ROUNDS);
    let finished = code.hole();
    code.restore(30, 31, 8 * 30);
    code.word(csr(1, 31, MSCRATCH, 31));
    let here = code.here();
    code.word(jal(0, first.wrapping_sub(here) as i32));
    code.land_branch(finished, 0, 30, 0);
    code.save(29, 31, 8 * 29);
    for register in 1..29 {
        code.save(register, 31, 8 * i32::from(register));
    }
    code.word(u(0x37, 5, 0x10_0000));
    code.constant(6, 0x5555);
    code.word(crate::assembler::s(2, 5, 6, 0));
    code.word(jal(0, 0));
}
