//! The operations of Xpulp, each with its assembler name, timing class and operands.

use crate::Class;

/// Says which operands an operation has, in the order an assembler writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// `rd, imm(rs1!)`
    LoadIncrement,
    /// `rd, rs2(rs1!)`
    LoadIncrementRegister,
    /// `rd, rs2(rs1)`
    LoadIndexed,
    /// `rs2, imm(rs1!)`
    StoreIncrement,
    /// `rs2, rs3(rs1!)`
    StoreIncrementRegister,
    /// `rs2, rs3(rs1)`
    StoreIndexed,
    /// `rd, rs1`
    One,
    /// `rd, rs1, rs2`
    Two,
    /// `rd, rs1, rs2`, and `rd` is read too.
    Three,
    /// `rd, rs1, imm`
    Immediate,
    /// `rd, rs1, bits - 1, lowest`
    Field,
    /// `rd, rs1, bits - 1, lowest`, and `rd` is read too.
    FieldInto,
    /// `rd, rs1, rs2, shift`
    Shifted,
    /// `rd, rs1, rs2, shift`, and `rd` is read too.
    ShiftedInto,
    /// `rs1, imm, target`
    BranchImmediate,
    /// `loop, address`
    LoopAddress,
    /// `loop, rs1`
    LoopCount,
    /// `loop, imm`
    LoopCountImmediate,
    /// `loop, rs1, end`
    LoopSetup,
    /// `loop, imm, end`
    LoopSetupImmediate,
    /// `rd, rs1, rs2` or a signed immediate, by the form.
    Lanes,
    /// `rd, rs1, rs2` or an unsigned immediate, by the form.
    LanesUnsigned,
    /// As `Lanes`, and `rd` is read too.
    LanesInto,
    /// As `LanesUnsigned`, and `rd` is read too.
    LanesIntoUnsigned,
    /// `rd, rs1`, of lanes.
    LanesOne,
    /// `rd, rs1, lane`
    Lane,
    /// `rd, rs1, lane`, and `rd` is read too.
    LaneInto,
}

macro_rules! operations {
    ($($variant:ident $name:literal $class:ident $operands:ident,)*) => {
        /// Names an operation of Xpulp. Packed operations stand once: how wide their lanes are and
        /// where the second operand comes from is the instruction's form.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum XpulpOp {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl XpulpOp {
            /// All operations.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Gives the assembler's mnemonic, without the suffix of a packed operation's form.
            pub const fn mnemonic(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Gives the timing class.
            pub const fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }

            pub(crate) const fn operands(self) -> Operands {
                match self { $(Self::$variant => Operands::$operands,)* }
            }
        }
    };
}

operations! {
    LbIncrement "p.lb" XpulpLoad LoadIncrement,
    LhIncrement "p.lh" XpulpLoad LoadIncrement,
    LwIncrement "p.lw" XpulpLoad LoadIncrement,
    LbuIncrement "p.lbu" XpulpLoad LoadIncrement,
    LhuIncrement "p.lhu" XpulpLoad LoadIncrement,
    LbIncrementRegister "p.lb" XpulpLoad LoadIncrementRegister,
    LhIncrementRegister "p.lh" XpulpLoad LoadIncrementRegister,
    LwIncrementRegister "p.lw" XpulpLoad LoadIncrementRegister,
    LbuIncrementRegister "p.lbu" XpulpLoad LoadIncrementRegister,
    LhuIncrementRegister "p.lhu" XpulpLoad LoadIncrementRegister,
    LbIndexed "p.lb" XpulpLoad LoadIndexed,
    LhIndexed "p.lh" XpulpLoad LoadIndexed,
    LwIndexed "p.lw" XpulpLoad LoadIndexed,
    LbuIndexed "p.lbu" XpulpLoad LoadIndexed,
    LhuIndexed "p.lhu" XpulpLoad LoadIndexed,
    SbIncrement "p.sb" XpulpStore StoreIncrement,
    ShIncrement "p.sh" XpulpStore StoreIncrement,
    SwIncrement "p.sw" XpulpStore StoreIncrement,
    SbIncrementRegister "p.sb" XpulpStore StoreIncrementRegister,
    ShIncrementRegister "p.sh" XpulpStore StoreIncrementRegister,
    SwIncrementRegister "p.sw" XpulpStore StoreIncrementRegister,
    SbIndexed "p.sb" XpulpStore StoreIndexed,
    ShIndexed "p.sh" XpulpStore StoreIndexed,
    SwIndexed "p.sw" XpulpStore StoreIndexed,
    Abs "p.abs" Alu One,
    Slet "p.slet" Alu Two,
    Sletu "p.sletu" Alu Two,
    Min "p.min" Alu Two,
    Minu "p.minu" Alu Two,
    Max "p.max" Alu Two,
    Maxu "p.maxu" Alu Two,
    Exths "p.exths" Alu One,
    Exthz "p.exthz" Alu One,
    Extbs "p.extbs" Alu One,
    Extbz "p.extbz" Alu One,
    Clip "p.clip" Alu Immediate,
    Clipu "p.clipu" Alu Immediate,
    Clipr "p.clipr" Alu Two,
    Clipur "p.clipur" Alu Two,
    Ror "p.ror" Alu Two,
    Ff1 "p.ff1" Alu One,
    Fl1 "p.fl1" Alu One,
    Clb "p.clb" Alu One,
    Cnt "p.cnt" Alu One,
    Extract "p.extract" Alu Field,
    Extractu "p.extractu" Alu Field,
    Insert "p.insert" Alu FieldInto,
    Bclr "p.bclr" Alu Field,
    Bset "p.bset" Alu Field,
    Extractr "p.extractr" Alu Two,
    Extractur "p.extractur" Alu Two,
    Insertr "p.insertr" Alu Three,
    Bclrr "p.bclrr" Alu Two,
    Bsetr "p.bsetr" Alu Two,
    AddN "p.addn" Alu Shifted,
    AdduN "p.addun" Alu Shifted,
    AddRN "p.addrn" Alu Shifted,
    AdduRN "p.addurn" Alu Shifted,
    SubN "p.subn" Alu Shifted,
    SubuN "p.subun" Alu Shifted,
    SubRN "p.subrn" Alu Shifted,
    SubuRN "p.suburn" Alu Shifted,
    AddNr "p.addnr" Alu Three,
    AdduNr "p.addunr" Alu Three,
    AddRNr "p.addrnr" Alu Three,
    AdduRNr "p.addurnr" Alu Three,
    SubNr "p.subnr" Alu Three,
    SubuNr "p.subunr" Alu Three,
    SubRNr "p.subrnr" Alu Three,
    SubuRNr "p.suburnr" Alu Three,
    Mac "p.mac" Mul Three,
    Msu "p.msu" Mul Three,
    MulsN "p.mulsn" Mul Shifted,
    MulhhsN "p.mulhhsn" Mul Shifted,
    MuluN "p.mulun" Mul Shifted,
    MulhhuN "p.mulhhun" Mul Shifted,
    MulsRN "p.mulsrn" Mul Shifted,
    MulhhsRN "p.mulhhsrn" Mul Shifted,
    MuluRN "p.mulurn" Mul Shifted,
    MulhhuRN "p.mulhhurn" Mul Shifted,
    MacsN "p.macsn" Mul ShiftedInto,
    MachhsN "p.machhsn" Mul ShiftedInto,
    MacuN "p.macun" Mul ShiftedInto,
    MachhuN "p.machhun" Mul ShiftedInto,
    MacsRN "p.macsrn" Mul ShiftedInto,
    MachhsRN "p.machhsrn" Mul ShiftedInto,
    MacuRN "p.macurn" Mul ShiftedInto,
    MachhuRN "p.machhurn" Mul ShiftedInto,
    Beqimm "p.beqimm" Branch BranchImmediate,
    Bneimm "p.bneimm" Branch BranchImmediate,
    LoopStarti "lp.starti" Alu LoopAddress,
    LoopEndi "lp.endi" Alu LoopAddress,
    LoopCount "lp.count" Alu LoopCount,
    LoopCounti "lp.counti" Alu LoopCountImmediate,
    LoopSetup "lp.setup" Alu LoopSetup,
    LoopSetupi "lp.setupi" Alu LoopSetupImmediate,
    PvAdd "pv.add" Alu Lanes,
    PvSub "pv.sub" Alu Lanes,
    PvAvg "pv.avg" Alu Lanes,
    PvAvgu "pv.avgu" Alu LanesUnsigned,
    PvMin "pv.min" Alu Lanes,
    PvMinu "pv.minu" Alu LanesUnsigned,
    PvMax "pv.max" Alu Lanes,
    PvMaxu "pv.maxu" Alu LanesUnsigned,
    PvSrl "pv.srl" Alu LanesUnsigned,
    PvSra "pv.sra" Alu LanesUnsigned,
    PvSll "pv.sll" Alu LanesUnsigned,
    PvOr "pv.or" Alu Lanes,
    PvXor "pv.xor" Alu Lanes,
    PvAnd "pv.and" Alu Lanes,
    PvAbs "pv.abs" Alu LanesOne,
    PvExtract "pv.extract" Alu Lane,
    PvExtractu "pv.extractu" Alu Lane,
    PvInsert "pv.insert" Alu LaneInto,
    PvDotup "pv.dotup" Mul LanesUnsigned,
    PvDotusp "pv.dotusp" Mul Lanes,
    PvDotsp "pv.dotsp" Mul Lanes,
    PvSdotup "pv.sdotup" Mul LanesIntoUnsigned,
    PvSdotusp "pv.sdotusp" Mul LanesInto,
    PvSdotsp "pv.sdotsp" Mul LanesInto,
    PvShuffle "pv.shuffle" Alu LanesUnsigned,
    PvShuffleI0 "pv.shufflei0" Alu LanesUnsigned,
    PvShuffleI1 "pv.shufflei1" Alu LanesUnsigned,
    PvShuffleI2 "pv.shufflei2" Alu LanesUnsigned,
    PvShuffleI3 "pv.shufflei3" Alu LanesUnsigned,
    PvShuffle2 "pv.shuffle2" Alu LanesInto,
    PvPack "pv.pack" Alu Two,
    PvPackHigh "pv.pack.h" Alu Two,
    PvPackhi "pv.packhi" Alu LanesInto,
    PvPacklo "pv.packlo" Alu LanesInto,
    PvCmpeq "pv.cmpeq" Alu Lanes,
    PvCmpne "pv.cmpne" Alu Lanes,
    PvCmpgt "pv.cmpgt" Alu Lanes,
    PvCmpge "pv.cmpge" Alu Lanes,
    PvCmplt "pv.cmplt" Alu Lanes,
    PvCmple "pv.cmple" Alu Lanes,
    PvCmpgtu "pv.cmpgtu" Alu LanesUnsigned,
    PvCmpgeu "pv.cmpgeu" Alu LanesUnsigned,
    PvCmpltu "pv.cmpltu" Alu LanesUnsigned,
    PvCmpleu "pv.cmpleu" Alu LanesUnsigned,
}

impl XpulpOp {
    /// Gives the bytes that an access moves, by its name's letter.
    pub(crate) const fn access_bytes(self) -> u8 {
        match self.mnemonic().as_bytes()[3] {
            b'b' => 1,
            b'h' => 2,
            _ => 4,
        }
    }

    /// Says whether a loaded value is sign-extended.
    pub(crate) const fn loads_signed(self) -> bool {
        self.mnemonic().len() == 4
    }
}

impl Operands {
    /// Says whether the destination register is a source too.
    pub(crate) const fn reads_destination(self) -> bool {
        matches!(
            self,
            Self::Three
                | Self::FieldInto
                | Self::ShiftedInto
                | Self::LanesInto
                | Self::LanesIntoUnsigned
                | Self::LaneInto
        )
    }

    /// Says whether it sets registers of a hardware loop.
    pub(crate) const fn is_loop(self) -> bool {
        matches!(
            self,
            Self::LoopAddress
                | Self::LoopCount
                | Self::LoopCountImmediate
                | Self::LoopSetup
                | Self::LoopSetupImmediate
        )
    }

    /// Says whether an immediate second operand of lanes is unsigned.
    pub(crate) const fn is_unsigned(self) -> bool {
        matches!(self, Self::LanesUnsigned | Self::LanesIntoUnsigned)
    }
}
