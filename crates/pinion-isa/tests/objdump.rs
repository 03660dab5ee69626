//! Compares decoder and disassembler with binutils' objdump: every 16-bit pattern and many random
//! 32-bit words. Skipped without objdump.

use std::collections::HashSet;
use std::process::Command;

use pinion_isa::csr::number;
use pinion_isa::{Class, Extensions, Instruction, Op, decode, disassemble, disassemble_plain};
use pinion_sim::random::Xorshift64;

const OBJDUMP: &str = "riscv64-unknown-elf-objdump";
const SEED: u64 = 0x0b1d_0e57;

/// Gives objdump's lines as (address, text), or nothing without objdump.
fn objdump(name: &str, bytes: &[u8], wide: bool, options: &str) -> Option<Vec<(u64, String)>> {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("the temporary file can be written");
    let output = Command::new(OBJDUMP)
        .args(["-D", "-b", "binary", "-m", if wide { "riscv:rv64" } else { "riscv:rv32" }])
        .args(["-M", options])
        .arg(&path)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: {OBJDUMP} not found");
        return None;
    };
    let text = String::from_utf8(output.stdout).expect("objdump writes text");
    Some(text.lines().filter_map(parse).collect())
}

/// Parses `   4:\t00112623 \tsw\tra,12(sp)`.
fn parse(line: &str) -> Option<(u64, String)> {
    let mut parts = line.split('\t');
    let address = parts.next()?.trim().strip_suffix(':')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let _bits = parts.next()?;
    let mnemonic = parts.next()?.trim();
    let operands = parts.next().unwrap_or("").split(['#', '<']).next().unwrap_or("").trim();
    Some((address, format!("{mnemonic} {operands}").trim().to_owned()))
}

/// Writes numbers one way: `0x` dropped and hexadecimal kept, as objdump mixes both.
fn normalise(text: &str) -> String {
    text.replace("0x", "").replace(", ", ",")
}

/// Names that objdump may print for what our core does not have.
fn known_mnemonics() -> HashSet<&'static str> {
    Op::ALL.iter().map(|op| op.mnemonic()).collect()
}

fn check(theirs: &str, instruction: &Instruction, ours: &str, bits: u32) -> Result<(), String> {
    let mnemonic = theirs.split(' ').next().unwrap_or("");
    let unchanged =
        instruction.rd == instruction.rs1 && instruction.rs2 == 0 && instruction.imm == 0;
    let hint = instruction.class == Class::Alu && (instruction.rd == 0 || unchanged);
    if hint && instruction.length == 2 {
        return Ok(()); // objdump gives hints names of their own
    }
    if bits == 0x6101 && instruction.op == Op::Illegal {
        return Ok(()); // c.addi16sp by 0 is reserved; objdump shows it all the same
    }
    if instruction.op == Op::Illegal && theirs.ends_with(",unknown") {
        return Ok(()); // a reserved rounding mode
    }
    if instruction.op == Op::Illegal {
        // objdump knows more extensions, and shifts by 32 and more on RV32 too; else what we call
        // illegal must be none of our instructions.
        let shift = ["sll", "srl", "sra"].iter().any(|name| mnemonic.starts_with(name));
        return match known_mnemonics().contains(mnemonic) && !shift {
            true => Err(format!("{bits:08x}: objdump says `{theirs}`, we say illegal")),
            false => Ok(()),
        };
    }
    let exact = matches!(instruction.op, Op::FcvtDS | Op::FcvtDW | Op::FcvtDWu);
    if exact && instruction.rounding_mode() != 0 {
        return Ok(()); // objdump knows exact conversions with rounding mode 0 only
    }
    if normalise(theirs) == normalise(ours) {
        return Ok(());
    }
    Err(format!("{bits:08x}: objdump says `{theirs}`, we say `{ours}`"))
}

fn report(errors: &[String]) {
    let shown: Vec<&str> = errors.iter().take(30).map(String::as_str).collect();
    assert!(errors.is_empty(), "{} differences:\n{}", errors.len(), shown.join("\n"));
}

/// Prints our instruction as objdump prints the compressed one, which it names like the full form
/// with the register operation's name.
fn compressed_text(instruction: &Instruction, pc: u64) -> String {
    let text = disassemble(instruction, pc);
    for op in [Op::Addi, Op::Addiw, Op::Andi, Op::Slli, Op::Srli, Op::Srai] {
        let name = op.mnemonic();
        if let Some(operands) = text.strip_prefix(&format!("{name} ")) {
            return format!("{} {operands}", name.replace('i', ""));
        }
    }
    text
}

fn compare_compressed(extensions: Extensions, name: &str) {
    let wide = extensions.has(Extensions::RV64);
    let halves: Vec<u16> = (0..=u16::MAX).filter(|half| half & 3 != 3).collect();
    let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let Some(lines) = objdump(name, &bytes, wide, "") else { return };
    assert_eq!(lines.len(), halves.len());
    let mut errors = Vec::new();
    for ((pc, theirs), half) in lines.into_iter().zip(halves) {
        let instruction = decode(u32::from(half), extensions);
        let ours = compressed_text(&instruction, pc);
        errors.extend(check(&theirs, &instruction, &ours, u32::from(half)).err());
    }
    report(&errors);
}

#[test]
fn every_compressed_instruction() {
    compare_compressed(Extensions::RV32GC, "compressed32.bin");
    compare_compressed(Extensions::RV64GC, "compressed64.bin");
}

/// Says whether a word is one that objdump prints in its own way.
fn is_odd(word: u32) -> bool {
    // Fences with reserved fields and unnamed CSRs are printed in ways of their own.
    let csr = (word >> 20) as u16;
    let pulp = [number::UHARTID, number::PRIVLV].contains(&csr)
        || (number::LPSTART0..=number::LPCOUNT1).contains(&csr);
    let named_csr = pinion_isa::csr_name(csr).is_some() && !pulp;
    match word & 0x7f {
        0x0f => word & 0xf00f_ff80 != 0,
        0x73 => !named_csr,
        _ => false,
    }
}

/// Makes random words of the opcodes given; half of those of the dense opcodes 0x33, 0x3b and 0x53
/// are made likely to exist.
fn words(opcodes: &[u32], count: usize) -> Vec<u32> {
    println!("seed {SEED:#x}");
    let mut random = Xorshift64::new(SEED);
    let mut words = Vec::new();
    while words.len() < count {
        let state = random.draw();
        let opcode = opcodes[(state >> 40) as usize % opcodes.len()];
        let mut word = state as u32 & !0x7f | opcode;
        match opcode {
            0x33 | 0x3b if state >> 63 == 0 => word &= 0x41ff_ffff,
            0x53 if state >> 62 == 0 => word &= 0xfbff_ffff,
            0x53 if state >> 62 == 1 => word &= 0xfa3f_ffff,
            _ => {}
        }
        if !is_odd(word) {
            words.push(word);
        }
    }
    words
}

fn compare_words(opcodes: &[u32], count: usize, extensions: Extensions, name: &str) {
    let words = words(opcodes, count);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let wide = extensions.has(Extensions::RV64);
    let Some(lines) = objdump(name, &bytes, wide, "no-aliases") else { return };
    assert_eq!(lines.len(), words.len());
    let mut errors = Vec::new();
    for ((pc, theirs), word) in lines.into_iter().zip(words) {
        let instruction = decode(word, extensions);
        let ours = disassemble_plain(&instruction, pc);
        errors.extend(check(&theirs, &instruction, &ours, word).err());
    }
    report(&errors);
}

#[test]
fn random_words() {
    let opcodes = [0x03, 0x0f, 0x13, 0x17, 0x23, 0x2f, 0x33, 0x37, 0x63, 0x67, 0x6f, 0x73];
    compare_words(&opcodes, 100_000, Extensions::RV32IMAC, "words32.bin");
    let wide = [0x03, 0x13, 0x1b, 0x23, 0x2f, 0x33, 0x3b];
    compare_words(&wide, 100_000, Extensions::RV64IMAC, "words64.bin");
}

#[test]
fn random_floating_point_words() {
    let opcodes = [0x07, 0x27, 0x43, 0x47, 0x4b, 0x4f, 0x53, 0x53, 0x53];
    compare_words(&opcodes, 100_000, Extensions::RV32GC, "float32.bin");
    compare_words(&opcodes, 100_000, Extensions::RV64GC, "float64.bin");
}
