//! Random instructions and values.

use pinion_sim::random::SplitMix64;

/// Values that arithmetic treats specially.
const SPECIAL: [u64; 14] = [
    0,
    1,
    2,
    3,
    31,
    32,
    63,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_8000_0000,
    u64::MAX,
];

pub fn below(random: &mut SplitMix64, most: u64) -> u64 {
    (u128::from(random.draw()) * u128::from(most) >> 64) as u64
}

pub fn pick<T: Copy>(random: &mut SplitMix64, from: &[T]) -> T {
    from[below(random, from.len() as u64) as usize]
}

/// A register's value: any, special, or near an address.
pub fn value(random: &mut SplitMix64, near: u64) -> u64 {
    match below(random, 4) {
        0 => random.draw(),
        1 => pick(random, &SPECIAL),
        2 => random.draw() >> below(random, 64),
        _ => near.wrapping_add(below(random, 256)),
    }
}

/// A word with one of these opcodes: half of them of nothing but chance, half with fields that are often
/// valid.
pub fn word(random: &mut SplitMix64, opcodes: &[u32]) -> u32 {
    let opcode = pick(random, opcodes);
    let mut word = (random.draw() as u32) & !0x7f | opcode;
    if matches!(opcode, 0x33 | 0x3b) && below(random, 4) != 0 {
        word = word & 0x01ff_ffff | pick(random, &[0, 0x20, 1]) << 25;
    }
    if matches!(opcode, 0x13 | 0x1b) && below(random, 2) == 0 {
        word = word & 0x03ff_ffff | pick(random, &[0, 0x10]) << 26;
    }
    if opcode == 0x2f && below(random, 4) != 0 {
        word = word & !0x7000 | pick(random, &[2, 3]) << 12;
    }
    word
}
