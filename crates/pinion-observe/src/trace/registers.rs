//! What an instruction did: registers written (`a0=…`) and read (`a1:…`), the physical address it
//! accessed (`PA:…`), the trap it took.

use std::fmt::Write as _;

use pinion_isa::REGISTER_NAMES;
use pinion_spin::InstructionRecord;

/// Writes what an instruction did.
pub fn effects(record: &InstructionRecord) -> String {
    let instruction = &record.instruction;
    let name = |register: u8| REGISTER_NAMES[usize::from(register & 31)];
    let mut text = String::new();
    if let Some(cause) = record.trap {
        let _ = write!(text, "trap:{cause} ");
    } else {
        if instruction.rd != 0 {
            let _ = write!(text, "{}={:08x} ", name(instruction.rd), record.result);
        }
        if let Some(value) = record.increment {
            let _ = write!(text, "{}={value:08x} ", name(instruction.rs1));
        }
    }
    let sources = instruction.sources();
    for (index, (&register, value)) in sources.iter().zip(record.sources).enumerate() {
        if register != 0 && !sources[..index].contains(&register) {
            let _ = write!(text, "{}:{value:08x} ", name(register));
        }
    }
    if let Some(address) = record.address {
        let _ = write!(text, "PA:{address:08x}");
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pinion_isa::{Extensions, Instruction, Op, decode};
    use pinion_sim::Time;

    fn record(instruction: Instruction) -> InstructionRecord {
        InstructionRecord {
            cycle: 0,
            time: Time::ZERO,
            cluster: 0,
            hpu: 0,
            pc: 0x1d00_0000,
            word: 0,
            instruction,
            sources: [0x1000_4400, 7, 0],
            result: 9,
            increment: None,
            address: None,
            trap: None,
            task: None,
        }
    }

    #[test]
    fn shows_what_is_written_and_read() {
        let load = decode(0x00c1_2083, Extensions::PSPIN); // lw ra, 12(sp)
        let loaded = InstructionRecord { address: Some(0x1000_440c), ..record(load) };
        assert_eq!(effects(&loaded), "ra=00000009 sp:10004400 PA:1000440c");
        let incremented = InstructionRecord { increment: Some(0x1000_4404), ..loaded };
        assert_eq!(effects(&incremented), "ra=00000009 sp=10004404 sp:10004400 PA:1000440c");
        let twice = Instruction::new(Op::Add, 10, 11, 11, 0);
        assert_eq!(effects(&record(twice)), "a0=00000009 a1:10004400");
        let trapped = InstructionRecord { trap: Some(5), ..record(load) };
        assert_eq!(effects(&trapped), "trap:5 sp:10004400");
        assert_eq!(effects(&record(Instruction::new(Op::Fence, 0, 0, 0, 0xff))), "");
    }
}
