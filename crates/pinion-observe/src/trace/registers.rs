//! What an instruction did: registers written (`a0=…`) and read (`a1:…`), the physical address it
//! accessed (`PA:…`), the trap it took.

use pinion_isa::REGISTER_NAMES;
use pinion_spin::InstructionRecord;

use super::digits::{push_number, push_word};

/// Appends what an instruction did, which may end in a space.
pub fn push_effects(line: &mut Vec<u8>, record: &InstructionRecord) {
    let instruction = &record.instruction;
    if let Some(cause) = record.trap {
        line.extend_from_slice(b"trap:");
        push_number(line, u64::from(cause), 0);
        line.push(b' ');
    } else {
        if instruction.rd != 0 {
            push_register(line, instruction.rd, b'=', record.result);
        }
        if let Some(value) = record.increment {
            push_register(line, instruction.rs1, b'=', value);
        }
    }
    let sources = instruction.sources();
    for (index, (&register, value)) in sources.iter().zip(record.sources).enumerate() {
        if register != 0 && !sources[..index].contains(&register) {
            push_register(line, register, b':', value);
        }
    }
    if let Some(address) = record.address {
        line.extend_from_slice(b"PA:");
        push_word(line, address);
    }
}

fn push_register(line: &mut Vec<u8>, register: u8, sign: u8, value: u32) {
    line.extend_from_slice(REGISTER_NAMES[usize::from(register & 31)].as_bytes());
    line.push(sign);
    push_word(line, value);
    line.push(b' ');
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
            found: 0,
            trap: None,
            task: None,
            stalls: pinion_spin::Stalls::default(),
        }
    }

    fn effects(record: &InstructionRecord) -> String {
        let mut line = Vec::new();
        push_effects(&mut line, record);
        String::from_utf8_lossy(line.trim_ascii_end()).into_owned()
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
