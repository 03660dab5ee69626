//! What is translated: instructions with their cycles.

/// Names what an instruction computes of two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the instructions' own names")]
pub enum Operation {
    Add,
    Sub,
    Sll,
    Slt,
    Sltu,
    Xor,
    Srl,
    Sra,
    Or,
    And,
    Mul,
    Mulh,
    Mulhsu,
    Mulhu,
}

/// Names what is done with the bytes that a block is given: instructions by their own names, atomics, which
/// are those of words, without what they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the instructions' own names")]
pub enum Touch {
    Lb,
    Lbu,
    Lh,
    Lhu,
    Lw,
    Sb,
    Sh,
    Sw,
    Add,
    Swap,
    Xor,
    And,
    Or,
    Min,
    Max,
    Minu,
    Maxu,
}

/// Names when a branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the instructions' own names")]
pub enum Condition {
    Eq,
    Ne,
    Lt,
    Ge,
    Ltu,
    Geu,
}

/// Says what an operation is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// What the register of this number holds.
    Register(u8),
    /// A number.
    Constant(u32),
}

/// Says where a branch or jump goes to and what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The place.
    pub place: u32,
    /// Cycles in all.
    pub cycles: u16,
    /// Those of them that are counted as waiting for fetched instructions.
    pub fetch: u16,
}

/// Says what an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Puts a value into a register.
    Compute {
        /// What is computed.
        operation: Operation,
        /// Number of the register; 0: nothing is kept.
        rd: u8,
        /// Of what.
        a: Operand,
        /// And of what.
        b: Operand,
        /// Cycles, of which all but one are counted as lost by arithmetic.
        cycles: u16,
    },
    /// Goes elsewhere on a condition; otherwise it takes one cycle.
    Branch {
        /// The condition.
        condition: Condition,
        /// Number of the register that is compared.
        a: u8,
        /// Number of that which it is compared with.
        b: u8,
        /// Where it goes.
        target: Target,
    },
    /// Goes elsewhere.
    Jump {
        /// Number of the register that gets `link`; 0: none.
        rd: u8,
        /// Address of the instruction behind it.
        link: u32,
        /// Where it goes.
        target: Target,
    },
    /// Accesses memory, at a register's value and an offset: here a region ends, before it is executed.
    Access {
        /// Number of the register.
        base: u8,
        /// The offset.
        offset: u32,
    },
    /// Accesses the bytes that a block is given; nothing but a region's first step does.
    Touch {
        /// What it does with them.
        touch: Touch,
        /// Number of the register that gets what was there; 0: nothing is kept.
        rd: u8,
        /// Number of the register whose value goes there.
        rs2: u8,
        /// Cycles from the one in which it is performed to the next instruction's.
        cycles: u16,
        /// Those of them that are counted as waiting for what it loads.
        load_use: u16,
    },
}

/// Describes an instruction of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its place; places are whatever tells instructions apart.
    pub place: u32,
    /// The place of the one behind it.
    pub next: u32,
    /// What it does.
    pub what: What,
}

/// Describes what is translated as one. It is entered at its first step; whoever goes to a place that
/// is none of its steps' leaves it, and so does who goes to that of its [`What::Touch`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// The instructions, each place once.
    pub steps: Vec<Step>,
    /// The smallest budget of cycles that it is executed with.
    pub budget: u64,
}
