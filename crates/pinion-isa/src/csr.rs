//! Control and status registers: their numbers, names and state.
//!
//! Holds machine-mode state of one hart. Access rules (privilege, read-only, what is present) are
//! in `Hart::read_csr` and `Hart::write_csr`, which also see the PMP and the instruction counter.

pub mod event;

use event::EventCounters;

macro_rules! csr_numbers {
    ($($constant:ident $number:literal $name:literal,)*) => {
        /// Numbers of the control and status registers.
        pub mod number {
            $(#[doc = concat!("`", $name, "`")] pub const $constant: u16 = $number;)*
        }

        const NAMES: &[(u16, &str)] = &[$(($number, $name),)*];
    };
}

csr_numbers! {
    FFLAGS 0x001 "fflags",
    FRM 0x002 "frm",
    FCSR 0x003 "fcsr",
    UHARTID 0x014 "uhartid",
    MSTATUS 0x300 "mstatus",
    MISA 0x301 "misa",
    MIE 0x304 "mie",
    MTVEC 0x305 "mtvec",
    MCOUNTEREN 0x306 "mcounteren",
    MSTATUSH 0x310 "mstatush",
    MCOUNTINHIBIT 0x320 "mcountinhibit",
    MSCRATCH 0x340 "mscratch",
    MEPC 0x341 "mepc",
    MCAUSE 0x342 "mcause",
    MTVAL 0x343 "mtval",
    MIP 0x344 "mip",
    PMPCFG0 0x3a0 "pmpcfg0",
    PMPCFG1 0x3a1 "pmpcfg1",
    PMPCFG2 0x3a2 "pmpcfg2",
    PMPCFG3 0x3a3 "pmpcfg3",
    PMPADDR0 0x3b0 "pmpaddr0",
    PMPADDR1 0x3b1 "pmpaddr1",
    PMPADDR2 0x3b2 "pmpaddr2",
    PMPADDR3 0x3b3 "pmpaddr3",
    PMPADDR4 0x3b4 "pmpaddr4",
    PMPADDR5 0x3b5 "pmpaddr5",
    PMPADDR6 0x3b6 "pmpaddr6",
    PMPADDR7 0x3b7 "pmpaddr7",
    PMPADDR8 0x3b8 "pmpaddr8",
    PMPADDR9 0x3b9 "pmpaddr9",
    PMPADDR10 0x3ba "pmpaddr10",
    PMPADDR11 0x3bb "pmpaddr11",
    PMPADDR12 0x3bc "pmpaddr12",
    PMPADDR13 0x3bd "pmpaddr13",
    PMPADDR14 0x3be "pmpaddr14",
    PMPADDR15 0x3bf "pmpaddr15",
    TSELECT 0x7a0 "tselect",
    TDATA1 0x7a1 "tdata1",
    TDATA2 0x7a2 "tdata2",
    TDATA3 0x7a3 "tdata3",
    TINFO 0x7a4 "tinfo",
    LPSTART0 0x7c0 "lpstart0",
    LPEND0 0x7c1 "lpend0",
    LPCOUNT0 0x7c2 "lpcount0",
    LPSTART1 0x7c4 "lpstart1",
    LPEND1 0x7c5 "lpend1",
    LPCOUNT1 0x7c6 "lpcount1",
    MCYCLE 0xb00 "mcycle",
    MINSTRET 0xb02 "minstret",
    MCYCLEH 0xb80 "mcycleh",
    MINSTRETH 0xb82 "minstreth",
    CYCLE 0xc00 "cycle",
    INSTRET 0xc02 "instret",
    PRIVLV 0xc10 "privlv",
    CYCLEH 0xc80 "cycleh",
    INSTRETH 0xc82 "instreth",
    MVENDORID 0xf11 "mvendorid",
    MARCHID 0xf12 "marchid",
    MIMPID 0xf13 "mimpid",
    MHARTID 0xf14 "mhartid",
}

/// Gives the name of a register.
pub fn csr_name(number: u16) -> Option<&'static str> {
    let found = NAMES.iter().find(|(known, _)| *known == number);
    found.map(|(_, name)| *name).or_else(|| event::name(number))
}

/// Finds a register by its name.
pub fn csr_number(name: &str) -> Option<u16> {
    let found = NAMES.iter().find(|(_, known)| *known == name);
    found.map(|(number, _)| *number).or_else(|| event::number(name))
}

/// Bits of `mstatus`.
pub mod mstatus {
    /// Machine interrupts enabled.
    pub const MIE: u32 = 1 << 3;
    /// Interrupts enabled before the trap.
    pub const MPIE: u32 = 1 << 7;
    /// Lowest bit of the privilege before the trap.
    pub const MPP_SHIFT: u32 = 11;
    /// The privilege before the trap.
    pub const MPP: u32 = 3 << MPP_SHIFT;
    /// State of the floating-point registers and `fcsr`: 0 off, 1 initial, 2 clean, 3 dirty.
    pub const FS: u32 = 3 << 13;
    /// Loads and stores use the privilege in MPP.
    pub const MPRV: u32 = 1 << 17;
    /// `wfi` is illegal in user mode.
    pub const TW: u32 = 1 << 21;
    /// All bits that software can write, and FS where there is floating point.
    pub const WRITABLE: u32 = MIE | MPIE | MPP | MPRV | TW;
}

/// Bits of `mie` and `mip` that every hart has: software, timer and external interrupt.
pub const INTERRUPTS: u32 = 1 << 3 | 1 << 7 | 1 << 11;

/// Bits of `mie` and `mip` that a platform may define (RISC-V privileged, section 3.1.9).
pub const PLATFORM_INTERRUPTS: u32 = 0xffff << 16;

/// Holds the registers' values. `cycle` is set by the core model before a CSR instruction runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsrFile<X> {
    /// Cycles since reset, as the core model counts them.
    pub cycle: u64,
    /// What software's writes to `mcycle` add to `cycle`; while it is inhibited its value.
    pub cycle_offset: u64,
    /// What software's writes to `minstret` add to the hart's count; while it is inhibited its
    /// value.
    pub instret_offset: u64,
    /// `mstatus`, bits of [`mstatus`]; SD and the upper half are made up when it is read.
    pub mstatus: u32,
    /// `mtvec`.
    pub mtvec: X,
    /// Bits of `mtvec` that can be written.
    pub mtvec_mask: X,
    /// `mepc`.
    pub mepc: X,
    /// `mcause`.
    pub mcause: X,
    /// `mtval`.
    pub mtval: X,
    /// `mscratch`.
    pub mscratch: X,
    /// `mie`.
    pub mie: u32,
    /// `mip`: set by whoever raises interrupts; read-only to software.
    pub mip: u32,
    /// `mcounteren`: bit 0 opens `cycle`, bit 2 `instret`, bits 31:3 the event counters to user mode.
    pub mcounteren: u32,
    /// `mvendorid`.
    pub mvendorid: u32,
    /// `marchid`.
    pub marchid: X,
    /// `mimpid`.
    pub mimpid: X,
    /// `mhartid`.
    pub mhartid: X,
    /// `mcountinhibit`: bit 0 stops `mcycle`, bit 2 `minstret`, bits 31:3 the event counters.
    pub mcountinhibit: u32,
    /// `fcsr`: flags in bits 4:0, the rounding mode in bits 7:5.
    pub fcsr: u32,
    /// Bits of `mie` and `mip` that exist.
    pub interrupts: u32,
    /// `misa`, read-only.
    pub misa: X,
    /// `mhpmevent3` to 31 and `mhpmcounter3` to 31.
    pub events: EventCounters,
}

impl<X> CsrFile<X> {
    /// Gives what `mcycle` is counted from: the cycle, or nothing while it is inhibited.
    pub(crate) fn cycle_base(&self) -> u64 {
        if self.mcountinhibit & 1 != 0 { 0 } else { self.cycle }
    }

    /// Gives what `minstret` is counted from, of the hart's count.
    pub(crate) fn instret_base(&self, instret: u64) -> u64 {
        if self.mcountinhibit & 4 != 0 { 0 } else { instret }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree() {
        assert_eq!(csr_name(0xf14), Some("mhartid"));
        assert_eq!(csr_number("pmpaddr15"), Some(number::PMPADDR15));
        assert_eq!(csr_name(0x7ff), None);
        for (number, name) in NAMES {
            assert_eq!(csr_number(name), Some(*number));
        }
    }
}
