//! What an instruction did: registers written (`a0=…`) and read (`a1:…`), the physical address it
//! accessed (`PA:…`), the trap it took.

use pinion_isa::REGISTER_NAMES;
use pinion_spin::InstructionRecord;

use pinion_sim::digits::{Row, hexadecimal, push_number};

/// Appends what an instruction did, which may end in a space.
pub fn push_effects(row: &mut Row, record: &InstructionRecord) {
    let instruction = &record.instruction;
    if let Some(cause) = record.trap {
        push_trap(row, cause);
    } else {
        if instruction.rd != 0 {
            push_register(row, instruction.rd, b'=', record.result);
        }
        if let Some(value) = record.increment {
            push_register(row, instruction.rs1, b'=', value);
        }
    }
    let [first, second, third] = instruction.sources();
    let values = record.sources;
    if first != 0 {
        push_register(row, first, b':', values[0]);
    }
    if second != 0 && second != first {
        push_register(row, second, b':', values[1]);
    }
    if third != 0 && third != first && third != second {
        push_register(row, third, b':', values[2]);
    }
    if let Some(address) = record.address {
        row.push(b"PA:", 3);
        row.push(&hexadecimal(address), 8);
    }
}

#[cold]
fn push_trap(row: &mut Row, cause: u32) {
    row.push(b"trap:", 5);
    let mut digits = Vec::new();
    push_number(&mut digits, u64::from(cause), 0);
    digits.iter().for_each(|digit| row.push(&[*digit], 1));
    row.push(b" ", 1);
}

fn push_register(row: &mut Row, register: u8, sign: u8, value: u32) {
    let (name, length) = NAMES[usize::from(register & 31)];
    row.push(&name, length);
    row.push(&[sign], 1);
    row.push(&hexadecimal(value), 8);
    row.push(b" ", 1);
}

/// Characters of the longest name.
const LONGEST_NAME: usize = 4;

/// The registers' names, all as long as the longest, and their lengths.
const NAMES: [([u8; LONGEST_NAME], usize); 32] = {
    let mut names = [([b' '; LONGEST_NAME], 0); 32];
    let mut register = 0;
    while register < 32 {
        let name = REGISTER_NAMES[register].as_bytes();
        names[register].1 = name.len();
        let mut at = 0;
        while at < name.len() {
            names[register].0[at] = name[at];
            at += 1;
        }
        register += 1;
    }
    names
};

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
        let mut row = Row::new();
        push_effects(&mut row, record);
        String::from_utf8_lossy(row.bytes().trim_ascii_end()).into_owned()
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
