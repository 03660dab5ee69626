//! Checks that nothing but the network macros uses a nanoservice's network registers: an ELF comes
//! in, its code is disassembled, and the first instruction that the rule forbids comes out.
//!
//! Reading x30 takes a word of a message, writing x31 appends one (nanoPU paper, §3.1). A compiler
//! or a library that holds a value in either must write it and read it again. So the rule is: no
//! instruction writes x30, none reads x31. It holds for the whole program, libraries included.

use std::path::Path;

use pinion_isa::elf::Image;
use pinion_isa::{Extensions, disassemble};

use crate::error::{Error, Result};

/// The head of the running thread's receive queue.
const NET_RX: u8 = 30;
/// The tail of its transmit queue.
const NET_TX: u8 = 31;

/// Describes an instruction that uses a network register for something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The instruction's address.
    pub address: u64,
    /// The instruction in assembler syntax.
    pub instruction: String,
    /// Name of the function it lies in, where known.
    pub function: Option<String>,
}

/// Finds the instructions that break the rule, in order of address.
pub fn violations(image: &Image) -> Vec<Violation> {
    let all = image.instructions(Extensions::RV64GC);
    let broken = all.filter(|(_, instruction)| {
        instruction.rd == NET_RX || instruction.sources().contains(&NET_TX)
    });
    let violation = |(address, instruction)| Violation {
        address,
        instruction: disassemble(&instruction, address),
        function: image.symbol_at(address).map(|symbol| symbol.name.clone()),
    };
    broken.map(violation).collect()
}

/// Checks the ELF in `file`; errors call it `shown`.
///
/// # Errors
/// When it cannot be read or breaks the rule.
pub fn check_file(file: &Path, shown: &Path) -> Result<()> {
    let bytes = pinion_input::bytes(file).map_err(|error| Error::file("read", file, error))?;
    let image = Image::parse_for::<u64>(&bytes, &shown.display().to_string())?;
    let found = violations(&image);
    let Some(first) = found.first() else { return Ok(()) };
    let place = match &first.function {
        Some(name) => format!("in `{name}`"),
        None => "outside any function".to_owned(),
    };
    Err(Error::program(
        shown,
        format!(
            "`{}` at {:#x} {place} uses a network register for something else ({} such \
             instructions): x30 may only be read and x31 only be written. Compile libraries with \
             -ffixed-x30 -ffixed-x31, and send a large constant with lnic_write_i instead of `li \
             x31`",
            first.instruction,
            first.address,
            found.len()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pinion_isa::elf::{Segment, SegmentFlags};

    /// Disassembles what breaks the rule in these instructions.
    fn broken(words: &[u32]) -> Vec<String> {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let flags = SegmentFlags { read: true, write: false, execute: true };
        let memory_bytes = data.len() as u64;
        let code =
            Segment { address: 0x8000_0000, load_address: 0x8000_0000, data, memory_bytes, flags };
        let image = Image {
            name: String::new(),
            entry: 0x8000_0000,
            flags: 0,
            segments: vec![code],
            symbols: Vec::new(),
            sections: Vec::new(),
        };
        violations(&image).into_iter().map(|found| found.instruction).collect()
    }

    #[test]
    fn the_macros_instructions_pass() {
        // mv a0,x30; mv x31,a0; mv x31,x30; addi x31,x30,1; ld x31,0(a0); bne a0,x30,.; li x31,8
        let macros = [0xf0513, 0x50f93, 0xf0f93, 0x1f0f93, 0x53f83, 0x01e51063, 0x00800f93];
        assert_eq!(broken(&macros), Vec::<String>::new());
    }

    #[test]
    fn values_held_in_network_registers_are_found() {
        // li x30,1; addi x31,x31,1; sd x31,0(sp); ld x30,8(sp); add a0,a0,x31
        let held = [0x00100f13, 0x001f8f93, 0x01f13023, 0x00813f03, 0x01f50533];
        assert_eq!(broken(&held).len(), 5);
        // c.mv t6,a0 passes, c.mv a0,t6 and c.sdsp t6,0(sp) do not
        assert_eq!(broken(&[0x857e_8faa, 0x0001_e07e]).len(), 2);
    }
}
