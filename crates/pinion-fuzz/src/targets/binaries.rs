//! Programs: ELF files, what their debug information says, and instructions.

use pinion_isa::elf::Image;
use pinion_isa::{DecodedProgram, Extensions, disassemble, disassemble_plain};
use pinion_observe::fault::program::Code;
use pinion_observe::fault::unwind::unwind;
use pinion_observe::fault::{Program, Registers};
use pinion_observe::trace::SourceLines;

use super::{Target, said};

const PROGRAMS: [&str; 3] = [
    "tests/calibration/pspin/elf/*.elf",
    "tests/calibration/pspin2/elf/*.elf",
    "tests/calibration/nanopu/elf/e*.elf",
];

pub const ELF: Target = Target::bytes("elf", elf, 3000).seeds(&PROGRAMS);
pub const DEBUG_INFORMATION: Target = Target::bytes("debug_information", debug_information, 600)
    .seeds(&[
        "tests/calibration/pspin/elf/words.elf",
        "tests/calibration/nanopu/elf/echo.elf",
        "tests/calibration/pspin-apps/*-burst/*.elf",
    ]);
pub const CODE: Target = Target::bytes("code", code, 3000);

fn elf(input: &[u8]) -> String {
    let narrow = Image::parse(input, "input");
    let wide = Image::parse_for::<u64>(input, "input");
    // Of an executable of this computer it only looks at the head.
    let _ = Image::parse_x32(input, "input");
    if let Ok(image) = narrow.as_ref().or(wide.as_ref()) {
        // What callers do with an image.
        for symbol in &image.symbols {
            let _ = image.require(&symbol.name);
        }
    }
    format!("{} {}", said(narrow), said(wide))
}

/// What faults, traces and the debugger read of a program.
fn debug_information(input: &[u8]) -> String {
    let lines = SourceLines::of(input);
    let (image, extensions) = match Image::parse(input, "input") {
        Ok(image) => (image, Extensions::RV32IMAC),
        Err(_) => match Image::parse_for::<u64>(input, "input") {
            Ok(image) => (image, Extensions::RV64GC),
            Err(error) => return error.to_string(),
        },
    };
    let program = Program::new(&image, input, Code::RiscV(extensions));
    let debug = program.debug();
    let (mut known, mut places) = (0, 0);
    let mut addresses: Vec<u64> = image.symbols.iter().map(|symbol| symbol.address).collect();
    addresses.truncate(32);
    addresses.extend([0, image.entry, u64::MAX]);
    for address in addresses {
        known += usize::from(lines.at(address).is_some());
        places += debug.places(address).len();
        places += usize::from(debug.function(address).is_some());
        places += usize::from(program.describe(address).is_some());
        let stack = (0x1000, vec![0x55; 256]);
        let mut registers = [0x1000; 32];
        registers[1] = address as u32;
        places += unwind(&debug, address, &Registers::Rv32(registers), &stack).len();
    }
    format!("{} lines, {} places", known.min(3), places.min(3))
}

fn code(input: &[u8]) -> String {
    let mut said = String::new();
    for extensions in [Extensions::RV32IMAC, Extensions::RV64GC] {
        let program = DecodedProgram::<u64>::from_bytes(0x1000, input, extensions);
        for at in (0..input.len() as u64).step_by(2) {
            let Some(instruction) = program.get(0x1000 + at) else { continue };
            let text = disassemble(instruction, 0x1000 + at);
            let plain = disassemble_plain(instruction, 0x1000 + at);
            assert!(!text.is_empty() && !plain.is_empty());
            said = text;
        }
    }
    said
}
