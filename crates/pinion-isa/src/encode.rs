//! Encodes floating-point instructions again, for `mtval` when they are not allowed.

use crate::{Class, Instruction, Op};

/// Takes bits `from..from + count` of a value and puts them at bit `to`.
const fn bits(value: u32, from: u32, count: u32, to: u32) -> u32 {
    (value >> from & ((1 << count) - 1)) << to
}

/// Gives the bits of an instruction of the F or D extension.
pub(crate) fn float_bits(i: &Instruction) -> u32 {
    match (i.class, i.length) {
        (Class::FloatLoad, 4) => {
            let width = if i.op == Op::Flw { 2 } else { 3 };
            let registers = u32::from(i.rs1) << 15 | u32::from(i.rd & 31) << 7;
            (i.imm as u32) << 20 | registers | width << 12 | 0x07
        }
        (Class::FloatStore, 4) => {
            let width = if i.op == Op::Fsw { 2 } else { 3 };
            let registers = u32::from(i.rs1) << 15 | u32::from(i.rs2 & 31) << 20;
            let offset = bits(i.imm as u32, 5, 7, 25) | bits(i.imm as u32, 0, 5, 7);
            offset | registers | width << 12 | 0x27
        }
        (Class::FloatLoad | Class::FloatStore, _) if i.rs1 == 2 => stack_bits(i),
        (Class::FloatLoad | Class::FloatStore, _) => short_bits(i),
        _ => i.imm as u32,
    }
}

/// c.fldsp, c.flwsp, c.fsdsp, c.fswsp
fn stack_bits(i: &Instruction) -> u32 {
    let offset = i.imm as u32;
    let (load, store) = (u32::from(i.rd & 31) << 7, u32::from(i.rs2 & 31) << 2);
    2 | match i.op {
        Op::Fld => {
            1 << 13 | load | bits(offset, 3, 2, 5) | bits(offset, 5, 1, 12) | bits(offset, 6, 3, 2)
        }
        Op::Flw => {
            3 << 13 | load | bits(offset, 2, 3, 4) | bits(offset, 5, 1, 12) | bits(offset, 6, 2, 2)
        }
        Op::Fsd => 5 << 13 | store | bits(offset, 3, 3, 10) | bits(offset, 6, 3, 7),
        _ => 7 << 13 | store | bits(offset, 2, 4, 9) | bits(offset, 6, 2, 7),
    }
}

/// c.fld, c.flw, c.fsd, c.fsw
fn short_bits(i: &Instruction) -> u32 {
    let offset = i.imm as u32;
    let data = if i.class == Class::FloatLoad { i.rd } else { i.rs2 };
    let registers = bits(u32::from(i.rs1), 0, 3, 7) | bits(u32::from(data), 0, 3, 2);
    let double = bits(offset, 3, 3, 10) | bits(offset, 6, 2, 5);
    let single = bits(offset, 2, 1, 6) | bits(offset, 3, 3, 10) | bits(offset, 6, 1, 5);
    registers
        | match i.op {
            Op::Fld => 1 << 13 | double,
            Op::Flw => 3 << 13 | single,
            Op::Fsd => 5 << 13 | double,
            _ => 7 << 13 | single,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extensions, decode};

    #[test]
    fn every_encoding_comes_back() {
        for extensions in [Extensions::RV32GC, Extensions::RV64GC] {
            let mut found = 0;
            let compressed = 0..=0xffffu32;
            let mut state = 0x2545_f491u32;
            let words = (0..400_000).map(|index| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                state & !0x7f | [0x07, 0x27, 0x43, 0x53][index % 4]
            });
            for word in compressed.chain(words) {
                let i = decode(word, extensions);
                if i.class.is_float() {
                    found += 1;
                    let bits = if i.length == 2 { word & 0xffff } else { word };
                    assert_eq!(float_bits(&i), bits, "{i:?}");
                }
            }
            assert!(found > 100_000);
        }
    }
}
