//! What a program's debug information (DWARF) says of its source: lines and their addresses, functions
//! and their variables, types, and where values are.
//!
//! In: the program, and at a stop its registers and memory. Out: names, addresses, values in words. What
//! is not understood is left out or said to be `<optimized out>`; nothing here fails.
//!
//! | part | file |
//! |---|---|
//! | lines to addresses, and back | `lines.rs` |
//! | functions, inlined ones and blocks, with their variables | `scopes.rs` |
//! | types | `types.rs` |
//! | calls that led to a place, with registers | `frames.rs` |
//! | where a variable is | `location.rs` |
//! | values in words, and what they are made of | `values.rs` |
//! | expressions | `expression.rs`, `operators.rs` |

mod expression;
mod frames;
mod lines;
mod location;
mod operators;
mod scopes;
mod types;
mod values;

use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId, Unit};
use pinion_isa::Instruction;
use pinion_isa::elf::{Image, Symbol, section_data};
use pinion_observe::fault::Program;
use pinion_observe::fault::program::{Code, Debug};

pub use expression::{Answer, Names};
pub use frames::{Frame, Memory, Scene};
pub use lines::Lines;
pub use scopes::Variable;
pub use types::{Kind, Member, Shown, TypeId};
pub use values::{Child, Content, Value};

use scopes::Scope;

/// What debug information is read from.
pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// A program's debug information.
pub struct Symbols<'a> {
    image: &'a Image,
    code: Code,
    dwarf: Dwarf<Slice<'a>>,
    units: Vec<Unit<Slice<'a>>>,
    debug: Debug<'a>,
    lines: Lines,
    functions: Vec<Scope<'a>>,
    globals: Vec<Variable<'a>>,
    address_bytes: u8,
}

impl<'a> Symbols<'a> {
    /// Reads a program's debug information, as far as it has any.
    pub fn new(program: &'a Program<'a>) -> Self {
        let section = |id: SectionId| {
            let bytes = section_data(program.file(), id.name()).unwrap_or(&[]);
            Ok::<_, gimli::Error>(Slice::new(bytes, LittleEndian))
        };
        let dwarf = Dwarf::load(section).unwrap_or_default();
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        let debug = program.debug();
        let lines = Lines::read(&dwarf, &units, |address| debug.has_code(address));
        let mut found = scopes::Found::default();
        for (number, unit) in units.iter().enumerate() {
            found.read(&dwarf, (number, unit), &debug);
        }
        let scopes::Found { functions, globals } = found;
        let address_bytes = program.address_bytes();
        let (image, code) = (program.image, program.code);
        Self { image, code, dwarf, units, debug, lines, functions, globals, address_bytes }
    }

    /// Gives the lines of the source.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Gives the address of a symbol.
    pub fn address_of(&self, symbol: &str) -> Option<u64> {
        self.image.symbol(symbol).map(|symbol| symbol.address)
    }

    /// Names the function that an address lies in, and how far into it.
    pub fn describe(&self, address: u64) -> Option<String> {
        pinion_observe::fault::program::describe(self.image, address)
    }

    /// Tells whether there is code at an address.
    pub fn has_code(&self, address: u64) -> bool {
        self.debug.has_code(address)
    }

    /// Gives where a function's first statement begins, behind what prepares its frame.
    pub fn body_of(&self, function: &str) -> Option<u64> {
        self.body(self.image.symbol(function)?)
    }

    /// Gives the same of the function that an address lies in.
    pub fn body_at(&self, address: u64) -> Option<u64> {
        self.body(self.image.symbol_at(address)?)
    }

    fn body(&self, function: &Symbol) -> Option<u64> {
        let end = function.address + function.size.max(1);
        let body = self.lines.behind_prologue(function.address, end);
        self.has_code(function.address).then_some(body)
    }

    /// Gives where the function begins that an address lies in.
    pub fn function_at(&self, address: u64) -> Option<u64> {
        self.image.symbol_at(address).map(|symbol| symbol.address)
    }

    /// Decodes all code.
    pub fn instructions(&self) -> impl Iterator<Item = (u64, Instruction)> {
        let extensions = match self.code {
            Code::RiscV(extensions) => Some(extensions),
            Code::X86 => None,
        };
        extensions.into_iter().flat_map(|extensions| self.image.instructions(extensions))
    }

    /// Reads the bits at an address.
    pub fn word_at(&self, address: u64) -> Option<u32> {
        self.image.word_at(address)
    }
}
