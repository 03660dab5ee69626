//! Xpulp against plain code: every encoding of the published tables with random operands, words that
//! are no instruction, accesses, and programs with hardware loops.

#[path = "../differential/random.rs"]
mod random;

mod accesses;
mod encodings;
mod loops;
mod plain;

use pinion_isa::flat::FlatMachine;
use pinion_isa::{Extensions, HartConfig, Op, REGISTER_NAMES, decode, disassemble};

use encodings::{Encoding, encodings};
use random::Random;

/// Where programs start.
pub const BASE: u32 = 0x1000;

/// Starts from `PINION_XPULP_SEED` or a fixed seed and prints how to replay.
pub fn seeded(test: &str) -> Random {
    let seed = std::env::var("PINION_XPULP_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or(0x5eed);
    println!("replay: PINION_XPULP_SEED={seed} cargo test -p pinion-isa --test xpulp {test}");
    Random::new(seed)
}

/// A machine with a core of PsPIN that has Xpulp, and a program of 32-bit instructions.
pub fn machine(code: &[u32]) -> FlatMachine<u32> {
    let extensions = Extensions::PSPIN.with(Extensions::XPULP);
    let config = HartConfig { extensions, ..HartConfig::default() };
    let mut machine = FlatMachine::new(&config, BASE, 0x4000);
    machine.stop_on_trap = true;
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    machine.load_code(BASE, &bytes).expect("it fits");
    machine
}

/// A value that is often at an edge.
pub fn value(random: &mut Random) -> u32 {
    match random.below(4) {
        0 => random.pick(&[0, 1, 2, 31, 32, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff]),
        1 => random.pick(&[0x7fff_ffff, 0x8000_0000, 0x8080_8080, 0x8000_8000, u32::MAX, !1]),
        _ => random.word(),
    }
}

/// Fills the free bits of an encoding: registers, immediates.
pub fn fill(encoding: &Encoding, random: &mut Random) -> u32 {
    loop {
        let word = encoding.bits | random.word() & encoding.free;
        if !encoding.excludes(word) {
            return word;
        }
    }
}

fn registers(random: &mut Random) -> [u32; 32] {
    let mut registers = std::array::from_fn(|_| value(random));
    registers[0] = 0;
    registers
}

#[test]
fn every_operation_computes_what_plain_code_does() {
    let mut random = seeded("every_operation_computes_what_plain_code_does");
    let table = encodings();
    assert!(table.len() > 250);
    for encoding in &table {
        for _ in 0..400 {
            let word = fill(encoding, &mut random);
            let field = |at: u32| (word >> at & 31) as usize;
            let mut expected = registers(&mut random);
            let (a, b, c) = (expected[field(15)], expected[field(20)], expected[field(7)]);
            let Some(result) = plain::result(&encoding.name, word, a, b, c) else { continue };
            let mut machine = machine(&[word]);
            machine.hart.x = expected;
            machine.run(1);
            expected[field(7)] = result;
            expected[0] = 0;
            let text = disassemble(&decode(word, machine.hart.extensions()), u64::from(BASE));
            let operands = format!("{text} of {a:#x}, {b:#x}, {c:#x}");
            assert_eq!(machine.hart.x, expected, "{word:#010x}: {operands}");
            assert_eq!((machine.hart.pc, machine.hart.instret), (BASE + 4, 1), "{operands}");
        }
    }
}

#[test]
fn branches_compare_with_their_immediate() {
    let mut random = seeded("branches_compare_with_their_immediate");
    for encoding in encodings().iter().filter(|encoding| encoding.name.ends_with("imm")) {
        for _ in 0..2000 {
            let word = fill(encoding, &mut random);
            let immediate = (word as i32) << 7 >> 27;
            let mut machine = machine(&[word]);
            let value = if random.one_in(2) { immediate as u32 } else { value(&mut random) };
            machine.hart.x[(word >> 15 & 31) as usize] = value;
            machine.hart.x[0] = 0;
            let compared = machine.hart.x[(word >> 15 & 31) as usize];
            machine.run(1);
            let taken = (compared == immediate as u32) == (encoding.name == "p.beqimm");
            let part = |from: u32, count: u32, to: u32| (word >> from & ((1 << count) - 1)) << to;
            let offset = part(8, 4, 1) | part(25, 6, 5) | part(7, 1, 11) | part(31, 1, 12);
            let offset = (offset << 19) as i32 >> 19;
            let behind = if taken { BASE.wrapping_add(offset as u32) } else { BASE + 4 };
            assert_eq!(machine.hart.pc, behind, "{word:#010x} of {compared:#x}");
        }
    }
}

#[test]
fn the_text_names_every_operand() {
    let mut random = seeded("the_text_names_every_operand");
    let extensions = Extensions::PSPIN.with(Extensions::XPULP);
    for encoding in &encodings() {
        for _ in 0..100 {
            let word = fill(encoding, &mut random);
            let text = disassemble(&decode(word, extensions), u64::from(BASE));
            let (name, operands) = text.split_once(' ').expect("a name and operands");
            let plain = encoding.name.trim_end_matches('n');
            assert!(name == encoding.name || name == plain, "{word:#010x}: {text}");
            let mut wanted: Vec<&str> = Vec::new();
            for at in encoding.registers() {
                wanted.push(REGISTER_NAMES[(word >> at & 31) as usize]);
            }
            for register in wanted {
                let mut parts = operands.split([',', '(', ')', '!']);
                assert!(parts.any(|part| part == register), "{word:#010x}: {text}: {register}");
            }
        }
    }
}

#[test]
fn nothing_else_is_an_instruction() {
    let mut random = seeded("nothing_else_is_an_instruction");
    let table = encodings();
    let extensions = Extensions::PSPIN.with(Extensions::XPULP);
    let opcodes = [0x03, 0x0b, 0x23, 0x2b, 0x33, 0x57, 0x5b, 0x63, 0x7b];
    let mut found = 0;
    for _ in 0..400_000 {
        let mut word = random.word() & !0x7f | random.pick(&opcodes);
        if random.one_in(2) {
            // One bit off an instruction.
            let encoding = &table[random.below(table.len() as u32) as usize];
            word = fill(encoding, &mut random) ^ 1 << (7 + random.below(25));
        }
        let known = table.iter().any(|encoding| encoding.matches(word));
        found += usize::from(known);
        let is = decode(word, extensions).op == Op::Xpulp;
        assert_eq!(is, known, "{word:#010x}: {:?}", decode(word, extensions));
        assert_ne!(decode(word, Extensions::PSPIN).op, Op::Xpulp);
    }
    assert!(found > 50_000, "{found}");
}
