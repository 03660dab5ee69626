//! What can be said of an instruction before it runs: function, line of source, bits, disassembly.

use std::fmt::Write as _;

use pinion_isa::elf::Image;
use pinion_isa::{Instruction, disassemble};
use rustc_hash::FxHashMap;

use super::SourceLines;

/// Width of the column with the function.
const FUNCTION_WIDTH: usize = 28;
/// Width of the column with the line of source.
const SOURCE_WIDTH: usize = 20;
/// Width of the column with the disassembly.
const TEXT_WIDTH: usize = 24;

/// Describes instructions, each once.
pub struct Code<'a> {
    image: &'a Image,
    lines: SourceLines,
    /// By address and bits: the place among the texts.
    known: FxHashMap<(u32, u32), usize>,
    texts: Vec<String>,
    /// By the lower bits of an address: whose text was asked for last, and its place.
    recent: Vec<((u32, u32), usize)>,
}

/// Addresses of which the text that was asked for last is found without a search.
const RECENT: usize = 4096;

impl<'a> Code<'a> {
    /// Describes a program's instructions.
    pub fn new(image: &'a Image, lines: SourceLines) -> Self {
        let recent = vec![((0, 0), usize::MAX); RECENT];
        Self { image, lines, known: FxHashMap::default(), texts: Vec::new(), recent }
    }

    /// Gives the columns of an instruction with these bits at `pc`.
    pub fn columns(&mut self, pc: u32, word: u32, instruction: &Instruction) -> &str {
        let slot = pc as usize / 2 % RECENT;
        let (code, place) = self.recent[slot];
        if code != (pc, word) || place >= self.texts.len() {
            self.recent[slot] = ((pc, word), self.find((pc, word), instruction));
        }
        &self.texts[self.recent[slot].1]
    }

    /// Gives the place of an instruction's text.
    fn find(&mut self, code: (u32, u32), instruction: &Instruction) -> usize {
        let (image, lines, texts) = (self.image, &self.lines, &mut self.texts);
        *self.known.entry(code).or_insert_with(|| {
            texts.push(describe(image, lines, code, instruction));
            texts.len() - 1
        })
    }

    /// Gives the titles of the columns.
    pub fn titles() -> String {
        format!(
            "{:<FUNCTION_WIDTH$} {:<SOURCE_WIDTH$} {:<8} {:<8} {:<TEXT_WIDTH$}",
            "function", "source", "PC", "instr", "mnemonic"
        )
    }
}

fn describe(
    image: &Image,
    lines: &SourceLines,
    (pc, word): (u32, u32),
    instruction: &Instruction,
) -> String {
    let function = place(image, pc).unwrap_or_else(|| "?".to_owned());
    let source = lines.at(u64::from(pc)).unwrap_or("-");
    let bits = match instruction.length {
        2 => format!("{word:04x}"),
        _ => format!("{word:08x}"),
    };
    let mut text = String::new();
    let mnemonic = disassemble(instruction, u64::from(pc));
    let _ = write!(
        text,
        "{function:<FUNCTION_WIDTH$} {source:<SOURCE_WIDTH$} {pc:08x} {bits:<8} \
         {mnemonic:<TEXT_WIDTH$}"
    );
    text
}

/// Names the function that an address lies in, and how far into it.
fn place(image: &Image, pc: u32) -> Option<String> {
    let symbol = image.symbol_at(u64::from(pc))?;
    Some(match u64::from(pc) - symbol.address {
        0 => symbol.name.clone(),
        offset => format!("{}+{offset:#x}", symbol.name),
    })
}
