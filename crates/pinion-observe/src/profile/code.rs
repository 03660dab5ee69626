//! A program's instructions as a profile counts them: what each does to the stack of calls, what it is
//! part of, where it was written.

use std::borrow::Cow;

use pinion_isa::elf::Image;
use pinion_isa::{Class, Extensions, Instruction, decode};
use rustc_hash::FxHashMap as HashMap;

use super::stacks::Flow;

/// Register that holds return addresses.
const RA: u8 = 1;
/// Register that holds those of millicode, and of the runtime's second kind of call.
const T0: u8 = 5;

/// An instruction of the program.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Its address.
    pub pc: u64,
    /// Its bytes.
    pub length: u8,
    /// Number of the function that it is part of.
    pub function: u32,
    /// What it does to the stack of calls.
    pub flow: Flow,
    /// Whether it accesses memory.
    pub is_access: bool,
}

/// Numbers a program's instructions and functions as they come.
#[derive(Clone, Debug)]
pub struct CodeMap<'a> {
    image: Cow<'a, Image>,
    extensions: Extensions,
    numbers: HashMap<u64, u32>,
    slots: Vec<Slot>,
    functions: Vec<String>,
    function_numbers: HashMap<String, u32>,
}

impl<'a> CodeMap<'a> {
    /// Numbers the instructions of a program.
    pub fn new(image: &'a Image, extensions: Extensions) -> Self {
        Self::of(Cow::Borrowed(image), extensions)
    }

    /// Does the same for a program that it may have as its own.
    pub fn of(image: Cow<'a, Image>, extensions: Extensions) -> Self {
        let (numbers, function_numbers) = (HashMap::default(), HashMap::default());
        let (slots, functions) = (Vec::new(), Vec::new());
        Self { image, extensions, numbers, slots, functions, function_numbers }
    }

    /// Gives the number of the instruction at an address.
    #[inline]
    pub fn number(&mut self, pc: u64) -> u32 {
        match self.numbers.get(&pc) {
            Some(number) => *number,
            None => self.insert(pc),
        }
    }

    fn insert(&mut self, pc: u64) -> u32 {
        let number = self.slots.len() as u32;
        let symbol = self.image.symbol_at(pc);
        let name = symbol.map_or_else(|| "?".to_owned(), |symbol| symbol.name.clone());
        let function = self.function_number(name);
        let instruction = self.instruction(pc);
        let (length, flow, is_access) = match &instruction {
            Some(instruction) => (instruction.length, flow(instruction), instruction.is_memory()),
            None => (4, Flow::Straight, false),
        };
        self.slots.push(Slot { pc, length, function, flow, is_access });
        self.numbers.insert(pc, number);
        number
    }

    fn function_number(&mut self, name: String) -> u32 {
        let next = self.functions.len() as u32;
        let number = *self.function_numbers.entry(name.clone()).or_insert(next);
        if number == next {
            self.functions.push(name);
        }
        number
    }

    /// Decodes the instruction at an address as the program's file has it.
    pub fn instruction(&self, pc: u64) -> Option<Instruction> {
        self.image.word_at(pc).map(|word| decode(word, self.extensions))
    }

    /// Gives an instruction by its number.
    #[inline]
    pub fn slot(&self, number: u32) -> &Slot {
        &self.slots[number as usize]
    }

    /// Lists the instructions that came, by their number.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Gives the extensions that its instructions are of.
    pub fn extensions(&self) -> Extensions {
        self.extensions
    }

    /// Names a function by its number.
    pub fn function(&self, number: u32) -> &str {
        &self.functions[number as usize]
    }

    /// Gives the program.
    pub fn image(&self) -> &Image {
        &self.image
    }
}

fn flow(instruction: &Instruction) -> Flow {
    let links = |register: u8| register == RA || register == T0;
    match instruction.class {
        Class::Jump | Class::JumpRegister if links(instruction.rd) => Flow::Call,
        Class::JumpRegister if instruction.rd == 0 && links(instruction.rs1) => Flow::Return,
        _ => Flow::Straight,
    }
}
