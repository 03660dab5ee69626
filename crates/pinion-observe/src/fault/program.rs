//! A program as far as faults need it: functions and lines of source at an address, through inlined
//! calls, from its debug information (DWARF) where it has any, else from its symbols.

use std::borrow::Cow;
use std::ops::Range;

use addr2line::Context;
use addr2line::gimli::{DebugFrame, Dwarf, EndianSlice, Error, LittleEndian, SectionId};
use pinion_isa::Extensions;
use pinion_isa::elf::{Image, section_data};

pub(super) type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Says what a program's code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// RISC-V, with these extensions.
    RiscV(Extensions),
    /// x86-64, of this computer.
    X86,
}

/// Holds a program.
pub struct Program<'a> {
    /// What is loaded, with its symbols.
    pub image: &'a Image,
    /// What its instructions are.
    pub code: Code,
    file: Cow<'a, [u8]>,
    address_bytes: u8,
}

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the function.
    pub function: Option<String>,
    /// Name of the file, with its folder.
    pub file: Option<String>,
    /// Number of the line.
    pub line: Option<u32>,
}

impl Place {
    /// Writes file and line, without the folder.
    pub fn source(&self) -> Option<String> {
        let file = self.file.as_deref()?.rsplit('/').next()?;
        Some(format!("{file}:{}", self.line?))
    }

    /// Tells whether it is the SDK's and not the user's.
    pub fn is_of_sdk(&self) -> bool {
        const FOLDERS: [&str; 5] = ["runtime", "include", "nanopu", "native", "fpspin"];
        let Some(file) = &self.file else { return false };
        let parts: Vec<&str> = file.split('/').collect();
        parts.windows(2).any(|pair| {
            (pair[0] == "sdk" || pair[0].starts_with("sdk-")) && FOLDERS.contains(&pair[1])
        })
    }
}

impl<'a> Program<'a> {
    /// Takes a program with the bytes of its file.
    pub fn new(image: &'a Image, file: impl Into<Cow<'a, [u8]>>, code: Code) -> Self {
        let wide = matches!(code, Code::RiscV(extensions) if extensions == Extensions::RV64GC);
        Self { image, code, file: file.into(), address_bytes: if wide { 8 } else { 4 } }
    }

    /// Reads what its debug information says.
    pub fn debug(&self) -> Debug<'_> {
        let section =
            |name: &str| Slice::new(section_data(&self.file, name).unwrap_or(&[]), LittleEndian);
        let load = |id: SectionId| -> Result<Slice<'_>, Error> { Ok(section(id.name())) };
        let context = Dwarf::load(load).and_then(Context::from_dwarf).ok();
        let mut frames = DebugFrame::from(section(SectionId::DebugFrame.name()));
        frames.set_address_size(self.address_bytes);
        Debug { image: self.image, context, frames }
    }

    /// Gives the bytes of its file.
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// Counts the bytes of an address.
    pub fn address_bytes(&self) -> u8 {
        self.address_bytes
    }

    /// Names the function that an address lies in, and how far into it.
    pub fn describe(&self, address: u64) -> Option<String> {
        describe(self.image, address)
    }
}

/// Names the function that an address lies in, and how far into it: `reduce_ph+0x1c`.
pub fn describe(image: &Image, address: u64) -> Option<String> {
    let symbol = image.symbol_at(address)?;
    Some(match address - symbol.address {
        0 => symbol.name.clone(),
        offset => format!("{}+{offset:#x}", symbol.name),
    })
}

/// A program's debug information.
pub struct Debug<'a> {
    image: &'a Image,
    context: Option<Context<Slice<'a>>>,
    pub(super) frames: DebugFrame<Slice<'a>>,
}

impl Debug<'_> {
    /// Gives the program.
    pub fn image(&self) -> &Image {
        self.image
    }

    /// Tells whether there is code at an address. What the linker threw away lies at 0 in debug
    /// information: only what is loaded counts.
    pub fn has_code(&self, address: u64) -> bool {
        self.image.segment_at(address).is_some_and(|segment| segment.flags.execute)
    }

    /// Gives the bounds of the function that an address lies in.
    pub fn function(&self, address: u64) -> Option<Range<u64>> {
        let symbol = self.image.symbol_at(address)?;
        (symbol.size > 0).then(|| symbol.address..symbol.address + symbol.size)
    }

    /// Finds what an address was compiled from: the innermost inlined function first, the function
    /// that the code is part of last.
    pub fn places(&self, address: u64) -> Vec<Place> {
        if !self.has_code(address) {
            return Vec::new();
        }
        let mut places = self.inlined(address).unwrap_or_default();
        let symbol = self.image.symbol_at(address).map(|symbol| symbol.name.clone());
        match places.last_mut() {
            Some(last) => last.function = last.function.take().or(symbol),
            None => places.push(Place { function: symbol, file: None, line: None }),
        }
        places
    }

    fn inlined(&self, address: u64) -> Option<Vec<Place>> {
        let mut frames = self.context.as_ref()?.find_frames(address).skip_all_loads().ok()?;
        let mut places = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let function = frame.function.and_then(|name| Some(name.raw_name().ok()?.into_owned()));
            let location = frame.location;
            places.push(Place {
                function,
                file: location.as_ref().and_then(|place| place.file.map(str::to_owned)),
                line: location.and_then(|place| place.line).filter(|line| *line > 0),
            });
        }
        Some(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_sdk_are_told_from_the_users() {
        let place = |file: &str| Place { function: None, file: Some(file.into()), line: Some(3) };
        assert!(place("/home/a/pinion/sdk/runtime/string.c").is_of_sdk());
        assert!(place("/home/a/.cache/pinion/sdk-0123/include/handler.h").is_of_sdk());
        assert!(!place("/home/a/sdk/mine.c").is_of_sdk());
        assert!(!place("runtime/mine.c").is_of_sdk());
        assert_eq!(place("/a/b/mine.c").source().unwrap(), "mine.c:3");
    }
}
