//! ELF executables: what to load where, where to start, and what lies at which address.
//!
//! In: the bytes of a file from any linker. Out: an owned [`Image`], or an [`ElfError`] that says
//! what is wrong and what to do. Anything may be in the bytes; nothing panics, and nothing is
//! allocated beyond a few times their length.

mod code;
mod debug;
mod error;
mod parse;

use crate::Xlen;

pub use debug::section_data;
pub use error::ElfError;

/// Holds an executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The name to show in messages, usually the path.
    pub name: String,
    /// Address of the first instruction.
    pub entry: u64,
    /// `e_flags` (bit 0: compressed instructions, bits 2:1: floating-point ABI).
    pub flags: u32,
    /// What to load, in the file's order.
    pub segments: Vec<Segment>,
    /// Named places, by ascending address.
    pub symbols: Vec<Symbol>,
    /// Sections that occupy memory, by ascending address.
    pub sections: Vec<Section>,
}

/// Holds one part of memory to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address the program uses.
    pub address: u64,
    /// Address to load it at (differs where start-up code copies it).
    pub load_address: u64,
    /// The bytes from the file; the rest of the memory is zero.
    pub data: Vec<u8>,
    /// Length in memory, at least that of the data.
    pub memory_bytes: u64,
    /// What the program does with it.
    pub flags: SegmentFlags,
}

/// Says what a program does with a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentFlags {
    /// It is read.
    pub read: bool,
    /// It is written.
    pub write: bool,
    /// It is executed.
    pub execute: bool,
}

/// Says what a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A variable.
    Object,
    /// A label without type, as in assembly and linker scripts.
    Label,
    /// A number that a linker script defines; not necessarily an address.
    Absolute,
}

/// Names a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Its length in bytes, 0 if not known.
    pub size: u64,
    /// What it stands for.
    pub kind: SymbolKind,
    /// Whether other files see it.
    pub global: bool,
}

/// Describes a section that occupies memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Its length in bytes.
    pub size: u64,
}

impl Image {
    /// Parses an RV32 executable.
    ///
    /// # Errors
    /// When the bytes are not a complete little-endian RISC-V executable for 32-bit registers.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, ElfError> {
        parse::parse::<u32>(bytes, name)
    }

    /// Parses an executable for registers of the given width.
    ///
    /// # Errors
    /// As [`Image::parse`].
    pub fn parse_for<X: Xlen>(bytes: &[u8], name: &str) -> Result<Self, ElfError> {
        parse::parse::<X>(bytes, name)
    }

    /// Parses an executable with 32-bit addresses for x86-64 (`-mx32`), as the native engine runs.
    ///
    /// # Errors
    /// When the bytes are not a complete one.
    pub fn parse_x32(bytes: &[u8], name: &str) -> Result<Self, ElfError> {
        parse::parse_x32(bytes, name)
    }

    /// Reads and parses an RV32 executable.
    ///
    /// # Errors
    /// As [`Image::parse`], and when the file cannot be read.
    pub fn read(path: &std::path::Path) -> Result<Self, ElfError> {
        let name = path.display().to_string();
        match pinion_input::bytes(path) {
            Ok(bytes) => Self::parse(&bytes, &name),
            Err(source) => Err(ElfError::Unreadable { name, source }),
        }
    }

    /// Finds a symbol by name; a global one goes before a local one.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        let named = || self.symbols.iter().filter(|symbol| symbol.name == name);
        named().find(|symbol| symbol.global).or_else(|| named().next())
    }

    /// Finds a symbol by name.
    ///
    /// # Errors
    /// When there is none: the message suggests the nearest name.
    pub fn require(&self, name: &str) -> Result<&Symbol, ElfError> {
        self.symbol(name).ok_or_else(|| ElfError::UnknownSymbol {
            name: self.name.clone(),
            symbol: name.into(),
            nearest: self.nearest_symbol(name).map(Into::into),
        })
    }

    /// Finds the symbol whose name is most like the given one, if any is like it at all.
    pub fn nearest_symbol(&self, name: &str) -> Option<&str> {
        self.symbols
            .iter()
            .map(|symbol| (strsim::jaro_winkler(&symbol.name, name), &symbol.name))
            .filter(|(likeness, _)| *likeness > 0.75)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| name.as_str())
    }

    /// Finds the symbol that an address belongs to: the function or variable that covers it, else
    /// the last label without a size before it in the same section.
    pub fn symbol_at(&self, address: u64) -> Option<&Symbol> {
        let before = self.symbols.partition_point(|symbol| symbol.address <= address);
        let candidates = || self.symbols[..before].iter().rev();
        let covers = |symbol: &&Symbol| address - symbol.address < symbol.size;
        candidates().find(covers).or_else(|| {
            let section = self.section_at(address)?;
            candidates()
                .take_while(|symbol| symbol.address >= section.address)
                .find(|symbol| symbol.size == 0 && symbol.kind != SymbolKind::Absolute)
        })
    }

    /// Finds the section that covers an address.
    pub fn section_at(&self, address: u64) -> Option<&Section> {
        let covers = |s: &&Section| address >= s.address && address - s.address < s.size;
        self.sections.iter().find(covers)
    }

    /// Finds the segment that covers an address.
    pub fn segment_at(&self, address: u64) -> Option<&Segment> {
        let covers = |s: &&Segment| address >= s.address && address - s.address < s.memory_bytes;
        self.segments.iter().find(covers)
    }
}

#[cfg(test)]
mod tests;
