//! A program's code, as its file has it.

use std::ops::Range;

use super::{Image, Segment};
use crate::{Extensions, Instruction, decode};

impl Segment {
    /// Reads the bits at an address; where only two bytes are left, these.
    pub fn word_at(&self, pc: u64) -> Option<u32> {
        let from = usize::try_from(pc.checked_sub(self.address)?).ok()?;
        let half = |at: usize| {
            let bytes = self.data.get(at..at.checked_add(2)?)?;
            Some(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])))
        };
        Some(half(from)? | half(from + 2).unwrap_or(0) << 16)
    }

    /// Decodes one instruction behind the other, from an address on.
    fn instructions_from(
        &self,
        mut pc: u64,
        extensions: Extensions,
    ) -> impl Iterator<Item = (u64, Instruction)> {
        std::iter::from_fn(move || {
            let instruction = decode(self.word_at(pc)?, extensions);
            let at = pc;
            pc += u64::from(instruction.length.max(2));
            Some((at, instruction))
        })
    }
}

impl Image {
    /// Reads the bits at an address; where only two bytes are left, these.
    pub fn word_at(&self, pc: u64) -> Option<u32> {
        self.segment_at(pc)?.word_at(pc)
    }

    /// Decodes all code, in order of address within a segment; data between functions is taken for
    /// instructions.
    pub fn instructions(&self, extensions: Extensions) -> impl Iterator<Item = (u64, Instruction)> {
        let code = self.segments.iter().filter(|segment| segment.flags.execute);
        code.flat_map(move |segment| segment.instructions_from(segment.address, extensions))
    }

    /// Decodes the code between two addresses, as far as there is some.
    pub fn instructions_in(
        &self,
        range: Range<u64>,
        extensions: Extensions,
    ) -> impl Iterator<Item = (u64, Instruction)> {
        let segment = self.segment_at(range.start).into_iter();
        let all = segment.flat_map(move |found| found.instructions_from(range.start, extensions));
        all.take_while(move |(pc, _)| *pc < range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::SegmentFlags;

    /// A program of addi a0, a0, 1; c.nop; and half of an instruction.
    fn image() -> Image {
        let data = vec![0x13, 0x05, 0x15, 0x00, 0x01, 0x00, 0x93, 0x05];
        let flags = SegmentFlags { read: true, write: false, execute: true };
        let code = Segment { address: 0x100, load_address: 0x100, data, memory_bytes: 0x10, flags };
        let (symbols, sections) = (Vec::new(), Vec::new());
        let name = String::new();
        Image { name, entry: 0x100, flags: 0, segments: vec![code], symbols, sections }
    }

    #[test]
    fn code_is_read_to_its_end_and_no_further() {
        let image = image();
        assert_eq!(image.word_at(0x100), Some(0x0015_0513));
        assert_eq!(image.word_at(0x106), Some(0x0593), "half of an instruction");
        assert_eq!(image.word_at(0x107), None);
        assert_eq!(image.word_at(0x10c), None, "in memory, but not in the file");
        assert_eq!(image.word_at(0xff), None);
    }

    #[test]
    fn instructions_follow_each_other() {
        let image = image();
        let all = |range: Range<u64>| {
            let code = image.instructions_in(range, Extensions::PSPIN);
            code.map(|(pc, instruction)| (pc, instruction.length)).collect::<Vec<_>>()
        };
        assert_eq!(all(0x100..0x106), [(0x100, 4), (0x104, 2)]);
        assert_eq!(all(0x104..0x105), [(0x104, 2)]);
        assert_eq!(all(0x90..0x106), [], "there is no code at the first");
        let whole: Vec<_> = image.instructions(Extensions::PSPIN).map(|(pc, _)| pc).collect();
        assert_eq!(whole, [0x100, 0x104, 0x106]);
    }
}
