//! What the lines of source say of instructions: whose they are, and which loads, stores and races are
//! meant as they are.
//!
//! Loads and stores synchronise although they are no atomics beside a fence, as compilers make of C11's
//! acquire and release, and on lines that say so ([`SYNCHRONISES`]). What a line that says
//! [`INTENDED`] does is no finding.

use std::path::Path;

use pinion_isa::elf::Image;
use pinion_isa::{Class, Extensions};
use rustc_hash::FxHashMap;

use pinion_observe::fault::Program;
use pinion_observe::fault::program::{Code, Debug, Place};

/// What a line of source says, in a comment, whose loads and stores synchronise.
pub const SYNCHRONISES: &str = "pinion: synchronises";
/// What a line of source says, in a comment, whose accesses are meant as they are.
pub const INTENDED: &str = "pinion: intended";

/// What is known of an instruction.
mod known {
    pub const SYNCHRONISES: u8 = 1;
    pub const INTENDED: u8 = 2;
    pub const OF_SDK: u8 = 4;
}

/// Tells what is known of a program's instructions.
pub struct Lines {
    first: u32,
    /// By half word of the program.
    known: Vec<u8>,
}

impl Lines {
    /// Reads those of a program, of its file with debug information too.
    pub fn of(image: &Image, elf: &Path, extensions: Extensions) -> Self {
        let code = || image.segments.iter().filter(|segment| segment.flags.execute);
        let first = code().map(|segment| segment.address).min().unwrap_or(0);
        let end = code().map(|segment| segment.address + segment.data.len() as u64).max();
        let known = vec![0; (end.unwrap_or(first) - first).div_ceil(2) as usize];
        let mut lines = Self { first: first as u32, known };
        lines.find_fences(image, extensions);
        lines.read_lines(image, elf, extensions);
        lines
    }

    #[inline]
    fn is(&self, pc: u32, bit: u8) -> bool {
        let index = pc.wrapping_sub(self.first) as usize / 2;
        self.known.get(index).is_some_and(|known| known & bit != 0)
    }

    /// Tells whether a load or store synchronises.
    #[inline]
    pub fn synchronises(&self, pc: u32) -> bool {
        self.is(pc, known::SYNCHRONISES)
    }

    /// Tells whether an access is meant as it is.
    pub fn is_intended(&self, pc: u32) -> bool {
        self.is(pc, known::INTENDED)
    }

    /// Tells whether an instruction is of a function of the SDK's, not put into one of the user's.
    #[inline]
    pub fn is_of_sdk(&self, pc: u32) -> bool {
        self.is(pc, known::OF_SDK)
    }

    fn mark(&mut self, pc: u32, bits: u8) {
        let index = pc.wrapping_sub(self.first) as usize / 2;
        if let Some(known) = self.known.get_mut(index) {
            *known |= bits;
        }
    }

    /// Marks a load in front of a fence, and a store behind one.
    fn find_fences(&mut self, image: &Image, extensions: Extensions) {
        let mut before: Option<(u64, Class)> = None;
        for (pc, instruction) in image.instructions(extensions) {
            match (before, instruction.class) {
                (Some((load, Class::Load)), Class::Fence) => {
                    self.mark(load as u32, known::SYNCHRONISES);
                }
                (Some((_, Class::Fence)), Class::Store) => {
                    self.mark(pc as u32, known::SYNCHRONISES)
                }
                _ => {}
            }
            before = Some((pc, instruction.class));
        }
    }

    /// Marks what the lines say.
    fn read_lines(&mut self, image: &Image, elf: &Path, extensions: Extensions) {
        let file = std::fs::read(elf).unwrap_or_default();
        let program = Program::new(image, file, Code::RiscV(extensions));
        let debug = program.debug();
        let mut files = Files::default();
        for segment in image.segments.iter().filter(|segment| segment.flags.execute) {
            let first = segment.address as u32;
            for pc in (first..first + segment.data.len() as u32).step_by(2) {
                self.mark(pc, files.say(&debug, pc));
            }
        }
    }
}

/// Holds the lines of source files that say something.
#[derive(Default)]
struct Files {
    lines: FxHashMap<String, Vec<(u32, u8)>>,
}

impl Files {
    /// Gives what the lines say that an instruction was compiled from.
    fn say(&mut self, debug: &Debug<'_>, pc: u32) -> u8 {
        let places = debug.places(u64::from(pc));
        let is_of_sdk = !places.is_empty() && places.iter().all(Place::is_of_sdk);
        let said = places.iter().fold(0, |said, place| {
            let (Some(file), Some(line)) = (&place.file, place.line) else { return said };
            if !self.lines.contains_key(file) {
                self.lines.insert(file.clone(), spoken(Path::new(file)));
            }
            let of_line = self.lines[file].iter().filter(|(number, _)| *number == line);
            of_line.fold(said, |said, (_, bits)| said | bits)
        });
        said | if is_of_sdk { known::OF_SDK } else { 0 }
    }
}

/// Lists the lines of a file that say something; one that is not there has none.
fn spoken(file: &Path) -> Vec<(u32, u8)> {
    said_by(&std::fs::read_to_string(file).unwrap_or_default())
}

/// Lists the lines of a text that something is said of: by themselves, or by a comment above them.
fn said_by(text: &str) -> Vec<(u32, u8)> {
    let mut above = 0;
    let mut said = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let says = |what: &str, bit| if line.contains(what) { bit } else { 0 };
        let bits = says(SYNCHRONISES, known::SYNCHRONISES) | says(INTENDED, known::INTENDED);
        let is_comment = ["//", "/*", "*"].iter().any(|begin| line.trim_start().starts_with(begin));
        if bits | above != 0 {
            said.push((number, bits | above));
        }
        above = if is_comment { bits | above } else { 0 };
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_marked_by_itself_or_from_above() {
        let text = "a = 1;\n/* pinion: intended,\n * because */\nb = 2;\nc = 3; // pinion: \
                    synchronises\nd = 4;\n";
        let said = said_by(text);
        let of = |line| said.iter().find(|(number, _)| *number == line).map(|(_, bits)| *bits);
        assert_eq!(of(1), None);
        assert_eq!(of(4), Some(known::INTENDED));
        assert_eq!(of(5), Some(known::SYNCHRONISES));
        assert_eq!(of(6), None);
    }
}
