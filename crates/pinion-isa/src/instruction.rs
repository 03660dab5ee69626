//! One decoded instruction: twelve bytes, made once per program word.

/// Says what kind of work an instruction is: core models charge time by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// Integer operation, also `lui` and `auipc`.
    Alu,
    /// `mul`, `mulw`.
    Mul,
    /// `mulh`, `mulhsu`, `mulhu`.
    MulHigh,
    /// Division or remainder.
    Div,
    /// Load.
    Load,
    /// Store.
    Store,
    /// `lr`.
    LoadReserved,
    /// `sc`.
    StoreConditional,
    /// Atomic read-modify-write.
    Amo,
    /// Conditional branch.
    Branch,
    /// `jal`.
    Jump,
    /// `jalr`.
    JumpRegister,
    /// CSR access.
    Csr,
    /// `fence`.
    Fence,
    /// `fence.i`.
    FenceI,
    /// `ecall`, `ebreak`, `mret`, `wfi`.
    System,
    /// PULP's `p.elw`: a load that sleeps until an event comes.
    EventLoad,
    /// Not an instruction of this core.
    Illegal,
}

macro_rules! operations {
    ($($variant:ident $name:literal $class:ident,)*) => {
        /// Names the operation of an instruction (compressed ones under their full form's name).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Op {
            /// All operations.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Gives the assembler's mnemonic.
            pub const fn mnemonic(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Gives the timing class.
            pub const fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }
        }
    };
}

operations! {
    Illegal "illegal" Illegal,
    Lui "lui" Alu,
    Auipc "auipc" Alu,
    Jal "jal" Jump,
    Jalr "jalr" JumpRegister,
    Beq "beq" Branch,
    Bne "bne" Branch,
    Blt "blt" Branch,
    Bge "bge" Branch,
    Bltu "bltu" Branch,
    Bgeu "bgeu" Branch,
    Lb "lb" Load,
    Lh "lh" Load,
    Lw "lw" Load,
    Ld "ld" Load,
    Lbu "lbu" Load,
    Lhu "lhu" Load,
    Lwu "lwu" Load,
    Sb "sb" Store,
    Sh "sh" Store,
    Sw "sw" Store,
    Sd "sd" Store,
    Addi "addi" Alu,
    Slti "slti" Alu,
    Sltiu "sltiu" Alu,
    Xori "xori" Alu,
    Ori "ori" Alu,
    Andi "andi" Alu,
    Slli "slli" Alu,
    Srli "srli" Alu,
    Srai "srai" Alu,
    Add "add" Alu,
    Sub "sub" Alu,
    Sll "sll" Alu,
    Slt "slt" Alu,
    Sltu "sltu" Alu,
    Xor "xor" Alu,
    Srl "srl" Alu,
    Sra "sra" Alu,
    Or "or" Alu,
    And "and" Alu,
    Addiw "addiw" Alu,
    Slliw "slliw" Alu,
    Srliw "srliw" Alu,
    Sraiw "sraiw" Alu,
    Addw "addw" Alu,
    Subw "subw" Alu,
    Sllw "sllw" Alu,
    Srlw "srlw" Alu,
    Sraw "sraw" Alu,
    Mul "mul" Mul,
    Mulh "mulh" MulHigh,
    Mulhsu "mulhsu" MulHigh,
    Mulhu "mulhu" MulHigh,
    Div "div" Div,
    Divu "divu" Div,
    Rem "rem" Div,
    Remu "remu" Div,
    Mulw "mulw" Mul,
    Divw "divw" Div,
    Divuw "divuw" Div,
    Remw "remw" Div,
    Remuw "remuw" Div,
    LrW "lr.w" LoadReserved,
    LrD "lr.d" LoadReserved,
    ScW "sc.w" StoreConditional,
    ScD "sc.d" StoreConditional,
    AmoSwapW "amoswap.w" Amo,
    AmoAddW "amoadd.w" Amo,
    AmoXorW "amoxor.w" Amo,
    AmoAndW "amoand.w" Amo,
    AmoOrW "amoor.w" Amo,
    AmoMinW "amomin.w" Amo,
    AmoMaxW "amomax.w" Amo,
    AmoMinuW "amominu.w" Amo,
    AmoMaxuW "amomaxu.w" Amo,
    AmoSwapD "amoswap.d" Amo,
    AmoAddD "amoadd.d" Amo,
    AmoXorD "amoxor.d" Amo,
    AmoAndD "amoand.d" Amo,
    AmoOrD "amoor.d" Amo,
    AmoMinD "amomin.d" Amo,
    AmoMaxD "amomax.d" Amo,
    AmoMinuD "amominu.d" Amo,
    AmoMaxuD "amomaxu.d" Amo,
    EventLoad "p.elw" EventLoad,
    Fence "fence" Fence,
    FenceI "fence.i" FenceI,
    Ecall "ecall" System,
    Ebreak "ebreak" System,
    Mret "mret" System,
    Wfi "wfi" System,
    Csrrw "csrrw" Csr,
    Csrrs "csrrs" Csr,
    Csrrc "csrrc" Csr,
    Csrrwi "csrrwi" Csr,
    Csrrsi "csrrsi" Csr,
    Csrrci "csrrci" Csr,
}

/// Holds one decoded instruction.
///
/// Register fields that an instruction does not use are 0, so a pipeline detects a hazard by
/// comparing numbers only. The immediate holds, by operation: the sign-extended immediate or
/// byte offset; for `lui`/`auipc` the value already shifted; for CSR instructions the CSR's number
/// in bits 11:0 and a 5-bit immediate in bits 20:16; for `fence` its predecessor, successor and
/// mode bits; for AMOs the `aq`/`rl` bits (1: rl, 2: aq); for an illegal instruction its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What it does.
    pub op: Op,
    /// Destination register; 0 when none.
    pub rd: u8,
    /// First source register; 0 when none.
    pub rs1: u8,
    /// Second source register; 0 when none.
    pub rs2: u8,
    /// Its length in bytes: 2 or 4.
    pub length: u8,
    /// Its timing class.
    pub class: Class,
    /// Its immediate; see above.
    pub imm: i32,
}

const _: () = assert!(size_of::<Instruction>() == 12);

impl Instruction {
    /// Makes a four-byte instruction.
    pub const fn new(op: Op, rd: u8, rs1: u8, rs2: u8, imm: i32) -> Self {
        Self { op, rd, rs1, rs2, length: 4, class: op.class(), imm }
    }

    /// Makes the instruction that stands for bits that are not an instruction.
    pub const fn illegal(bits: u32, length: u8) -> Self {
        let mut illegal = Self::new(Op::Illegal, 0, 0, 0, bits as i32);
        illegal.length = length;
        illegal
    }

    /// Says whether it reads the register (x0 counts as never read).
    #[inline(always)]
    pub const fn reads(&self, register: u8) -> bool {
        register != 0 && (self.rs1 == register || self.rs2 == register)
    }

    /// Gives its source registers, 0 where there is none.
    #[inline(always)]
    pub const fn sources(&self) -> [u8; 2] {
        [self.rs1, self.rs2]
    }

    /// Gives the CSR number of a CSR instruction.
    #[inline(always)]
    pub const fn csr(&self) -> u16 {
        self.imm as u16 & 0xfff
    }

    /// Says whether it goes through the memory port.
    #[inline(always)]
    pub const fn is_memory(&self) -> bool {
        matches!(
            self.class,
            Class::Load
                | Class::Store
                | Class::LoadReserved
                | Class::StoreConditional
                | Class::Amo
                | Class::EventLoad
        )
    }
}
