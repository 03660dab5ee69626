//! Properties of the decoder over all 16-bit and very many 32-bit patterns.

use pinion_isa::{Class, Extensions, Op, decode, disassemble, disassemble_plain};
use pinion_sim::random::Xorshift64;

const CORES: [Extensions; 7] = [
    Extensions::PSPIN,
    Extensions::PSPIN.with(Extensions::XPULP),
    Extensions::RV32IMAC,
    Extensions::RV64IMAC,
    Extensions::RV32GC,
    Extensions::RV64GC,
    Extensions::NONE,
];

/// Checks what must hold of every pattern.
fn check(word: u32) {
    for extensions in CORES {
        let i = decode(word, extensions);
        let [rs1, rs2, rs3] = i.sources();
        let registers = if i.class.is_float() { 64 } else { 32 };
        assert!([i.rd, rs1, rs2, rs3].iter().all(|n| *n < registers), "{word:#x}: {i:?}");
        let compressed = word & 3 != 3 && extensions.has(Extensions::C);
        assert_eq!(i.length, if compressed { 2 } else { 4 }, "{word:#x}: {i:?}");
        // Those of Xpulp have classes of their own.
        assert!(i.class == i.op.class() || i.op == Op::Xpulp, "{word:#x}: {i:?}");
        if i.class == Class::Illegal {
            let bits = if compressed { word & 0xffff } else { word };
            assert_eq!(i.imm as u32, bits, "mtval shows the bits");
        }
        assert!(!disassemble(&i, 0x1d00_0000).is_empty());
        assert!(!disassemble_plain(&i, u64::MAX).is_empty());
    }
}

#[test]
fn every_16_bit_pattern() {
    for half in 0..=u32::from(u16::MAX) {
        check(half);
    }
}

#[test]
fn random_32_bit_patterns() {
    let seed = std::env::var("PINION_DECODE_SEED").ok().and_then(|text| text.parse().ok());
    let seed: u64 = seed.unwrap_or(0x1234_5678_9abc_def0);
    let mut random = Xorshift64::new(seed);
    println!("replay with: PINION_DECODE_SEED={seed} cargo test -p pinion-isa --test decode");
    for _ in 0..1_000_000 {
        let state = random.draw();
        check(state as u32);
        check(state as u32 | 3);
    }
}

#[test]
fn every_field_combination_around_the_opcodes() {
    // All opcodes, funct3 and funct7 with a few register numbers.
    for opcode in 0..128u32 {
        for functs in 0..1024u32 {
            for registers in [0, 0x0010_8080, 0x01ff_8f80, 0x0000_0f80] {
                check(opcode | (functs & 7) << 12 | (functs >> 3) << 25 | registers);
            }
        }
    }
}

#[test]
fn every_operation_can_be_reached() {
    let mut missing: Vec<Op> = Op::ALL.to_vec();
    let words = (0..128u32).flat_map(|opcode| {
        (0..4096u32).map(move |functs| {
            opcode | (functs & 7) << 12 | (functs >> 3 & 3) << 20 | (functs >> 5) << 25
        })
    });
    let system = [0x73, 0x10_0073, 0x3020_0073, 0x1050_0073];
    for word in words.chain(system) {
        for extensions in CORES {
            let op = decode(word, extensions).op;
            missing.retain(|candidate| *candidate != op);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
