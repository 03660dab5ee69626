//! The operations that instructions name, and the kind of work each is.

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
    /// Load into a floating-point register.
    FloatLoad,
    /// Store of a floating-point register.
    FloatStore,
    /// `fadd`, `fsub`.
    FloatAdd,
    /// `fmul`.
    FloatMul,
    /// `fmadd`, `fmsub`, `fnmsub`, `fnmadd`.
    FloatFused,
    /// `fdiv`.
    FloatDiv,
    /// `fsqrt`.
    FloatSqrt,
    /// Floating point to an integer register: `fcvt.w`, `fmv.x`, comparisons, `fclass`.
    FloatToInt,
    /// Integer to a floating-point register: `fcvt.s.w`, `fmv.w.x`.
    IntToFloat,
    /// Within floating-point registers: `fsgnj`, `fmin`, `fmax`, `fcvt.s.d`, `fcvt.d.s`.
    FloatMove,
    /// Load of Xpulp: its base register moves, or its offset is a register.
    XpulpLoad,
    /// Store of Xpulp: its base register moves, or its offset is a register.
    XpulpStore,
    /// Not an instruction of this core.
    Illegal,
}

impl Class {
    /// Says whether it is an instruction of the F or D extension.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::FloatLoad
                | Self::FloatStore
                | Self::FloatAdd
                | Self::FloatMul
                | Self::FloatFused
                | Self::FloatDiv
                | Self::FloatSqrt
                | Self::FloatToInt
                | Self::IntToFloat
                | Self::FloatMove
        )
    }

    /// Says whether it goes through the memory port.
    #[inline(always)]
    pub const fn is_memory(self) -> bool {
        matches!(
            self,
            Self::Load
                | Self::Store
                | Self::LoadReserved
                | Self::StoreConditional
                | Self::Amo
                | Self::EventLoad
                | Self::FloatLoad
                | Self::FloatStore
                | Self::XpulpLoad
                | Self::XpulpStore
        )
    }
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
    Xpulp "xpulp" Alu,
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
    Flw "flw" FloatLoad,
    Fld "fld" FloatLoad,
    Fsw "fsw" FloatStore,
    Fsd "fsd" FloatStore,
    FmaddS "fmadd.s" FloatFused,
    FmsubS "fmsub.s" FloatFused,
    FnmsubS "fnmsub.s" FloatFused,
    FnmaddS "fnmadd.s" FloatFused,
    FaddS "fadd.s" FloatAdd,
    FsubS "fsub.s" FloatAdd,
    FmulS "fmul.s" FloatMul,
    FdivS "fdiv.s" FloatDiv,
    FsqrtS "fsqrt.s" FloatSqrt,
    FsgnjS "fsgnj.s" FloatMove,
    FsgnjnS "fsgnjn.s" FloatMove,
    FsgnjxS "fsgnjx.s" FloatMove,
    FminS "fmin.s" FloatMove,
    FmaxS "fmax.s" FloatMove,
    FeqS "feq.s" FloatToInt,
    FltS "flt.s" FloatToInt,
    FleS "fle.s" FloatToInt,
    FclassS "fclass.s" FloatToInt,
    FcvtWS "fcvt.w.s" FloatToInt,
    FcvtWuS "fcvt.wu.s" FloatToInt,
    FcvtLS "fcvt.l.s" FloatToInt,
    FcvtLuS "fcvt.lu.s" FloatToInt,
    FcvtSW "fcvt.s.w" IntToFloat,
    FcvtSWu "fcvt.s.wu" IntToFloat,
    FcvtSL "fcvt.s.l" IntToFloat,
    FcvtSLu "fcvt.s.lu" IntToFloat,
    FmaddD "fmadd.d" FloatFused,
    FmsubD "fmsub.d" FloatFused,
    FnmsubD "fnmsub.d" FloatFused,
    FnmaddD "fnmadd.d" FloatFused,
    FaddD "fadd.d" FloatAdd,
    FsubD "fsub.d" FloatAdd,
    FmulD "fmul.d" FloatMul,
    FdivD "fdiv.d" FloatDiv,
    FsqrtD "fsqrt.d" FloatSqrt,
    FsgnjD "fsgnj.d" FloatMove,
    FsgnjnD "fsgnjn.d" FloatMove,
    FsgnjxD "fsgnjx.d" FloatMove,
    FminD "fmin.d" FloatMove,
    FmaxD "fmax.d" FloatMove,
    FeqD "feq.d" FloatToInt,
    FltD "flt.d" FloatToInt,
    FleD "fle.d" FloatToInt,
    FclassD "fclass.d" FloatToInt,
    FcvtWD "fcvt.w.d" FloatToInt,
    FcvtWuD "fcvt.wu.d" FloatToInt,
    FcvtLD "fcvt.l.d" FloatToInt,
    FcvtLuD "fcvt.lu.d" FloatToInt,
    FcvtDW "fcvt.d.w" IntToFloat,
    FcvtDWu "fcvt.d.wu" IntToFloat,
    FcvtDL "fcvt.d.l" IntToFloat,
    FcvtDLu "fcvt.d.lu" IntToFloat,
    FmvXW "fmv.x.w" FloatToInt,
    FmvXD "fmv.x.d" FloatToInt,
    FmvWX "fmv.w.x" IntToFloat,
    FmvDX "fmv.d.x" IntToFloat,
    FcvtSD "fcvt.s.d" FloatMove,
    FcvtDS "fcvt.d.s" FloatMove,
}

impl Op {
    /// Gives the bytes of the floating-point format that the operation works in, 4 or 8: of its
    /// result, or of its operand where the result is an integer or memory; 0 for integer operations.
    pub const fn float_bytes(self) -> u8 {
        let name = self.mnemonic().as_bytes();
        if !self.class().is_float() {
            return 0;
        }
        match self {
            Self::Flw | Self::Fsw | Self::FmvWX | Self::FmvXW => 4,
            Self::Fld | Self::Fsd | Self::FmvDX | Self::FmvXD => 8,
            _ => {
                // `fcvt.s.w`: the result's format stands first; `fadd.s`, `fcvt.w.s`: last.
                let first = matches!(self.class(), Class::IntToFloat)
                    || matches!(self, Self::FcvtSD | Self::FcvtDS);
                let letter = if first { name[5] } else { name[name.len() - 1] };
                if letter == b's' { 4 } else { 8 }
            }
        }
    }

    /// Says whether the instruction has a rounding mode.
    pub const fn rounds(self) -> bool {
        match self.class() {
            Class::FloatAdd
            | Class::FloatMul
            | Class::FloatFused
            | Class::FloatDiv
            | Class::FloatSqrt => true,
            Class::FloatToInt | Class::IntToFloat | Class::FloatMove => {
                matches!(self.mnemonic().as_bytes(), [b'f', b'c', b'v', b't', ..])
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_rounding_follow_the_names() {
        for (op, bytes, rounds) in [
            (Op::FaddS, 4, true),
            (Op::FmaddD, 8, true),
            (Op::FcvtSD, 4, true),
            (Op::FcvtDS, 8, true),
            (Op::FcvtSLu, 4, true),
            (Op::FcvtDW, 8, true),
            (Op::FcvtWuD, 8, true),
            (Op::FmvWX, 4, false),
            (Op::FmvXD, 8, false),
            (Op::FclassS, 4, false),
            (Op::FsgnjxD, 8, false),
            (Op::Fsd, 8, false),
            (Op::Ld, 0, false),
            (Op::Fence, 0, false),
        ] {
            assert_eq!((op.float_bytes(), op.rounds()), (bytes, rounds), "{op:?}");
        }
    }
}
