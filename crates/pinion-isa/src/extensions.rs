//! Which instructions and registers a core has beyond RV32I.

/// Holds the set of extensions that decode and the CSR file recognise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extensions(u32);

impl Extensions {
    /// Has the base integer instructions only.
    pub const NONE: Self = Self(0);
    /// Integer multiplication and division.
    pub const M: Self = Self(1 << 0);
    /// Atomic instructions.
    pub const A: Self = Self(1 << 1);
    /// 16-bit instructions.
    pub const C: Self = Self(1 << 2);
    /// CSR instructions.
    pub const ZICSR: Self = Self(1 << 3);
    /// `fence.i`.
    pub const ZIFENCEI: Self = Self(1 << 4);
    /// PULP's event-load-word instruction `p.elw` (I-type, opcode 0x03, funct3 6).
    pub const PULP_EVENT_LOAD: Self = Self(1 << 5);
    /// PULP's user-readable CSRs: `uhartid` (0x014) and `privlv` (0xc10).
    pub const PULP_CSR: Self = Self(1 << 6);
    /// User mode beside machine mode.
    pub const USER_MODE: Self = Self(1 << 7);
    /// 64-bit registers: the RV64 instructions.
    pub const RV64: Self = Self(1 << 8);
    /// Single-precision floating point.
    pub const F: Self = Self(1 << 9);
    /// Double-precision floating point; needs `F` too.
    pub const D: Self = Self(1 << 10);
    /// `mcountinhibit`, which stops counters (RISC-V privileged 1.11 and later).
    pub const COUNTER_INHIBIT: Self = Self(1 << 11);

    /// Xpulp v2: PULP's instructions beyond RISC-V, and the CSRs of its hardware loops. RV32 only.
    pub const XPULP: Self = Self(1 << 12);

    /// Counters of events, `mhpmcounter3` to 31, with what each counts.
    pub const EVENT_COUNTERS: Self = Self(1 << 13);

    /// RV32IMAC with Zicsr, Zifencei and user mode: the ratified instruction sets alone.
    pub const RV32IMAC: Self = Self(
        Self::M.0 | Self::A.0 | Self::C.0 | Self::ZICSR.0 | Self::ZIFENCEI.0 | Self::USER_MODE.0,
    );
    /// RV64IMAC with Zicsr, Zifencei and user mode.
    pub const RV64IMAC: Self = Self(Self::RV32IMAC.0 | Self::RV64.0);
    /// RV32IMAFDC with Zicsr, Zifencei, user mode and `mcountinhibit`.
    pub const RV32GC: Self =
        Self(Self::RV32IMAC.0 | Self::F.0 | Self::D.0 | Self::COUNTER_INHIBIT.0);
    /// RV64IMAFDC with Zicsr, Zifencei, user mode, `mcountinhibit` and event counters: Rocket, the
    /// nanoPU's core.
    pub const RV64GC: Self = Self(Self::RV32GC.0 | Self::RV64.0 | Self::EVENT_COUNTERS.0);
    /// A core of PsPIN: RV32IMAC and PULP's event load and CSRs.
    pub const PSPIN: Self = Self(Self::RV32IMAC.0 | Self::PULP_EVENT_LOAD.0 | Self::PULP_CSR.0);

    /// Adds the extensions of `other`.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Takes the extensions of `other` away.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Says whether all extensions of `other` are present.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Gives the extension letters as the low 26 bits of `misa`.
    pub const fn misa_letters(self) -> u32 {
        let mut letters = 1 << 8; // I
        if self.has(Self::A) {
            letters |= 1;
        }
        if self.has(Self::C) {
            letters |= 1 << 2;
        }
        if self.has(Self::D) {
            letters |= 1 << 3;
        }
        if self.has(Self::F) {
            letters |= 1 << 5;
        }
        if self.has(Self::M) {
            letters |= 1 << 12;
        }
        if self.has(Self::USER_MODE) {
            letters |= 1 << 20;
        }
        if self.has(Self::XPULP) {
            letters |= 1 << 23; // X
        }
        letters
    }
}
