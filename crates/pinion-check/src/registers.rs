//! A hart's registers as the checker sees them: which of their bits nobody has written, where those came
//! from, and which word of memory a value was made of.

use pinion_isa::{Class, FIRST_FLOAT_REGISTER, Instruction};

use crate::defined::{self, Source, Width};

/// Registers of both files.
const REGISTERS: usize = 2 * FIRST_FLOAT_REGISTER as usize;

/// By register: the word of memory it depends on, plus 1; 0: none.
pub type Dependencies = [u32; REGISTERS];

/// Holds what is known of both files.
pub struct Registers {
    /// How wide they are.
    pub width: Width,
    undefined: [u64; REGISTERS],
    /// The instruction that brought the undefined bits in.
    origin: [u32; REGISTERS],
    depends: Dependencies,
}

const fn place(register: u8) -> usize {
    register as usize % REGISTERS
}

impl Registers {
    /// Makes registers that are known throughout.
    pub const fn new(width: Width) -> Self {
        let (undefined, none) = ([0; REGISTERS], [0; REGISTERS]);
        Self { width, undefined, origin: none, depends: none }
    }

    /// Gives the bits of a register that nobody has written.
    #[inline]
    pub const fn undefined(&self, register: u8) -> u64 {
        self.undefined[place(register)]
    }

    /// Gives the instruction that brought the undefined bits of a register in; 0: none is known.
    pub const fn origin(&self, register: u8) -> u32 {
        self.origin[place(register)]
    }

    /// Tells whether a register's value was made of what a word of memory held.
    #[inline]
    pub const fn depends_on(&self, register: u8, word: u32) -> bool {
        self.depends[place(register)] == word + 1
    }

    /// Gives the words of memory that values were made of.
    pub const fn dependencies(&self) -> &Dependencies {
        &self.depends
    }

    /// Notes which words of memory values were made of that are in the registers again.
    pub const fn depend(&mut self, dependencies: &Dependencies) {
        self.depends = *dependencies;
    }

    /// Notes that a register has a value that is known throughout.
    #[inline]
    pub const fn define(&mut self, register: u8) {
        let place = place(register);
        (self.undefined[place], self.depends[place]) = (0, 0);
    }

    /// Notes that nobody has written a register; `origin` stands for who should have.
    pub const fn forget(&mut self, register: u8, origin: u32) {
        let place = place(register);
        self.undefined[place] = self.width.all();
        (self.origin[place], self.depends[place]) = (origin, 0);
    }

    /// Notes that the undefined bits of a register were told of.
    pub const fn settle(&mut self, register: u8) {
        self.undefined[place(register)] = 0;
    }

    /// Notes what a load at `pc` brings of a word in memory, if it brings all of one.
    #[inline]
    pub const fn load(&mut self, i: &Instruction, pc: u32, undefined: u64, word: Option<u32>) {
        let place = place(i.rd);
        self.depends[place] = match word {
            Some(word) if i.rd != 0 => word + 1,
            _ => 0,
        };
        self.undefined[place] = 0;
        if undefined != 0 && i.rd != 0 {
            self.undefined[place] = defined::of_load(self.width, i.op, undefined);
            self.origin[place] = pc;
        }
    }

    /// Notes what an instruction that computes makes of its sources, whose values `value` gives.
    #[inline]
    pub fn compute(&mut self, i: &Instruction, value: impl Fn(usize) -> u64) {
        let [rs1, rs2, rs3] = i.sources();
        let depends = self.depends[place(rs1)];
        let rd = place(i.rd);
        self.depends[rd] = if depends != 0 { depends } else { self.depends[place(rs2)] };
        let undefined = [rs1, rs2, rs3].map(|source| self.undefined(source));
        if undefined == [0; 3] {
            self.undefined[rd] = 0;
        } else {
            self.propagate(i, undefined, value);
        }
        (self.undefined[0], self.depends[0]) = (0, 0);
    }

    #[cold]
    fn propagate(&mut self, i: &Instruction, undefined: [u64; 3], value: impl Fn(usize) -> u64) {
        let source = |at: usize| Source { value: value(at), undefined: undefined[at] };
        let result = match i.class {
            Class::Alu | Class::Mul | Class::MulHigh | Class::Div => {
                defined::of_result(self.width, i, source(0), source(1), source(2))
            }
            class if class.is_float() => self.width.all(),
            _ => 0,
        };
        let at = undefined.iter().position(|undefined| *undefined != 0).unwrap_or(0);
        let rd = place(i.rd);
        (self.undefined[rd], self.origin[rd]) = (result, self.origin[place(i.sources()[at])]);
    }

    /// Gives the register that makes a branch undecided, if one does.
    #[inline]
    pub fn undecided(&self, i: &Instruction, value: impl Fn(usize) -> u64) -> Option<u8> {
        let (a, b) = (self.undefined(i.rs1), self.undefined(i.rs2));
        if a | b == 0 {
            return None;
        }
        let source = |at: usize, undefined| Source { value: value(at), undefined };
        let is_known = defined::branch_is_known(self.width, i, source(0, a), source(1, b));
        (!is_known).then_some(if a != 0 { i.rs1 } else { i.rs2 })
    }
}
