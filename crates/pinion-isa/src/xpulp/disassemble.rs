//! Writes Xpulp's instructions as PULP's assembler does.

use super::Fields;
use super::op::Operands;
use crate::Instruction;
use crate::registers::REGISTER_NAMES;

/// Writes an [`Op::Xpulp`](crate::Op::Xpulp) instruction found at `pc`.
pub(crate) fn write(i: &Instruction, pc: u64) -> String {
    let name = |number: u8| REGISTER_NAMES[usize::from(number & 31)];
    let (rd, rs1, rs2, rs3) = (name(i.rd), name(i.rs1), name(i.rs2), name(i.rs3));
    let fields = Fields::of(i);
    let Fields { op, primary, secondary } = fields;
    let mnemonic = mnemonic(fields);
    let at = |offset: i32| pc.wrapping_add(offset as i64 as u64) & u64::from(u32::MAX);
    let (number, end) = (secondary >> 5, at(2 * primary));
    let operands = match op.operands() {
        Operands::LoadIncrement => format!("{rd},{primary}({rs1}!)"),
        Operands::LoadIncrementRegister => format!("{rd},{rs2}({rs1}!)"),
        Operands::LoadIndexed => format!("{rd},{rs2}({rs1})"),
        Operands::StoreIncrement => format!("{rs2},{primary}({rs1}!)"),
        Operands::StoreIncrementRegister => format!("{rs2},{rs3}({rs1}!)"),
        Operands::StoreIndexed => format!("{rs2},{rs3}({rs1})"),
        Operands::One | Operands::LanesOne => format!("{rd},{rs1}"),
        Operands::Two | Operands::Three => format!("{rd},{rs1},{rs2}"),
        Operands::Immediate | Operands::Lane | Operands::LaneInto => {
            format!("{rd},{rs1},{primary}")
        }
        Operands::Field | Operands::FieldInto => format!("{rd},{rs1},{primary},{secondary}"),
        Operands::Shifted | Operands::ShiftedInto if is_plain_product(fields) => {
            format!("{rd},{rs1},{rs2}")
        }
        Operands::Shifted | Operands::ShiftedInto => format!("{rd},{rs1},{rs2},{primary}"),
        Operands::BranchImmediate => {
            format!("{rs1},{},{:#x}", compared(secondary), at(primary))
        }
        Operands::LoopAddress => format!("x{number},{end:#x}"),
        Operands::LoopCount => format!("x{number},{rs1}"),
        Operands::LoopCountImmediate => format!("x{number},{primary}"),
        Operands::LoopSetup => format!("x{number},{rs1},{end:#x}"),
        Operands::LoopSetupImmediate => {
            format!("x{number},{primary},{:#x}", at(2 * (secondary & 31) as i32))
        }
        Operands::Lanes
        | Operands::LanesUnsigned
        | Operands::LanesInto
        | Operands::LanesIntoUnsigned => match secondary {
            6.. => format!("{rd},{rs1},{primary}"),
            _ => format!("{rd},{rs1},{rs2}"),
        },
    };
    format!("{mnemonic} {operands}")
}

/// Gives the value that a branch compares with: five bits with a sign.
pub(super) const fn compared(bits: u32) -> i32 {
    ((bits << 27) as i32) >> 27
}

/// Says whether a product is neither shifted nor rounded: assemblers have names for these.
fn is_plain_product(fields: Fields) -> bool {
    let name = fields.op.mnemonic();
    fields.primary == 0 && name.starts_with("p.m") && !name.ends_with("rn")
}

fn mnemonic(fields: Fields) -> String {
    let name = fields.op.mnemonic();
    let width = if fields.lane_bits() == 8 { "b" } else { "h" };
    match fields.op.operands() {
        Operands::Shifted | Operands::ShiftedInto if is_plain_product(fields) => {
            name.trim_end_matches('n').to_owned()
        }
        Operands::LanesOne | Operands::Lane | Operands::LaneInto => format!("{name}.{width}"),
        Operands::Lanes
        | Operands::LanesUnsigned
        | Operands::LanesInto
        | Operands::LanesIntoUnsigned => {
            let source = ["", "", ".sc", ".sci"][fields.secondary as usize >> 1 & 3];
            format!("{name}{source}.{width}")
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::disassemble_xpulp;

    /// Words as PULP's binutils disassembled them in published object dumps.
    #[test]
    fn agrees_with_published_disassembly() {
        for (pc, word, text) in [
            (0x1c00_87cc, 0x0803_50fbu32, "lp.setupi x1,128,0x1c0087d8"),
            (0x1c00_8804, 0x0807_507b, "lp.setupi x0,128,0x1c008820"),
            (0x1c00_84c0, 0x0057_c0fb, "lp.setup x1,a5,0x1c0084ca"),
            (0x1c00_849c, 0x0066_40fb, "lp.setup x1,a2,0x1c0084a8"),
            (0, 0x00f6_a22b, "p.sw a5,4(a3!)"),
            (0, 0xfe07_8fab, "p.sb zero,-1(a5!)"),
            (0, 0x00e5_4623, "p.sb a4,a2(a0)"),
            (0, 0x0118_67a3, "p.sw a7,a5(a6)"),
            (0, 0x0049_a78b, "p.lw a5,4(s3!)"),
            (0, 0x001b_c50b, "p.lbu a0,1(s7!)"),
            (0, 0x21c6_7703, "p.lw a4,t3(a2)"),
            (0, 0xca5e_1733, "p.extractu a4,t3,5,5"),
            (0, 0xd705_28b3, "p.insert a7,a0,11,16"),
            (0, 0xdc08_38b3, "p.bclr a7,a6,14,0"),
            (0, 0xc1f4_4533, "p.bset a0,s0,0,31"),
            (0, 0x1007_5733, "p.exthz a4,a4"),
            (0, 0x1005_1733, "p.fl1 a4,a0"),
            (0, 0x04e5_e733, "p.max a4,a1,a4"),
            (0, 0x82e6_b75b, "p.subun a4,a3,a4,1"),
            (0, 0xc0e8_a5db, "p.addunr a1,a7,a4"),
            (0x1c00_8aae, 0x09f5_2c63, "p.beqimm a0,-1,0x1c008b46"),
            (0x1c00_8b42, 0xfff5_33e3, "p.bneimm a0,-1,0x1c008b28"),
            (0x1c00_83b2, 0x0815_2063, "p.beqimm a0,1,0x1c008432"),
            (0, 0xa8a7_14d7, "pv.sdotusp.b s1,a4,a0"),
            (0, 0xa8d7_9e57, "pv.sdotusp.b t3,a5,a3"),
        ] {
            assert_eq!(disassemble_xpulp(word, pc).as_deref(), Some(text), "{word:#010x}");
        }
    }
}
