//! The architectural state of one hart and what it does with it; no timing.
//!
//! In: decoded instructions, and the answers to its memory accesses. Out: an [`Outcome`] per
//! instruction. Holds registers, program counter, privilege, CSRs, PMP and the count of retired
//! instructions. Makes nobody wait: whoever drives the hart (a core model) decides when.
//!
//! ```
//! use pinion_isa::{DecodedProgram, Hart, HartConfig, Outcome};
//! let program = DecodedProgram::from_bytes(
//!     0x1000u32, &[0x85, 0x05, 0x02, 0x90], // c.addi a1, 1; c.ebreak
//!     pinion_isa::Extensions::PSPIN);
//! let mut hart = Hart::<u32>::new(&HartConfig::default(), 0x1000);
//! let outcome = loop {
//!     let instruction = program.get(hart.pc).expect("in the program");
//!     match hart.execute(instruction) {
//!         Outcome::Access(access) => hart.complete(&access, 0), // a memory that reads as zero
//!         Outcome::Trap(exception) => break exception,
//!         _ => {}
//!     }
//! };
//! assert_eq!(hart.x[11], 1);
//! assert_eq!(outcome.cause, pinion_isa::Cause::Breakpoint);
//! ```

mod csr_access;
mod execute;
mod float;
mod trap;
mod xpulp;

use crate::csr::event::EventCounters;
use crate::csr::{CsrFile, INTERRUPTS, PLATFORM_INTERRUPTS};
use crate::{Access, Exception, Extensions, FIRST_FLOAT_REGISTER, Pmp, Xlen};

pub use xpulp::HardwareLoop;
use xpulp::XpulpState;

/// Names the privilege a hart runs at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Privilege {
    /// User mode.
    User = 0,
    /// Machine mode.
    #[default]
    Machine = 3,
}

/// Says what a core is, beyond its instructions' meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HartConfig {
    /// Instructions and CSRs present.
    pub extensions: Extensions,
    /// `mhartid`.
    pub hart_id: u32,
    /// Bits of `mtvec` that software can write, sign-extended to the register's width.
    pub mtvec_mask: i32,
    /// Whether misaligned plain loads and stores trap; if not, memory splits them.
    pub trap_misaligned: bool,
    /// Platform interrupts that exist beside the standard ones: bits 16 to 31 of `mip`, `mie`.
    pub platform_interrupts: u32,
    /// `mvendorid`.
    pub vendor_id: u32,
    /// `marchid`.
    pub architecture_id: u32,
    /// `mimpid`.
    pub implementation_id: u32,
}

impl Default for HartConfig {
    /// Describes a core of PsPIN: RI5CY, whose `mtvec` is aligned to 256 bytes and without modes,
    /// and which splits misaligned accesses.
    fn default() -> Self {
        Self {
            extensions: Extensions::PSPIN,
            hart_id: 0,
            mtvec_mask: !0xff,
            trap_misaligned: false,
            platform_interrupts: 0,
            vendor_id: 0,
            architecture_id: 0,
            implementation_id: 0,
        }
    }
}

/// Says what an instruction did, or what the hart waits for.
///
/// Except for `Access` and `Trap` the instruction has retired: registers are written, the program
/// counter has advanced and `instret` has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<X> {
    /// Ran; the next instruction follows.
    Next,
    /// Jumped (`jal`, `jalr`).
    Jumped,
    /// A branch was taken.
    Branched,
    /// A branch was not taken.
    NotTaken,
    /// Waits for memory; nothing has changed until [`Hart::complete`].
    Access(Access<X>),
    /// Accessed a CSR (protection and interrupt enables may have changed).
    Csr,
    /// Orders memory accesses.
    Fence,
    /// Orders stores before fetches: stale decoded instructions must go.
    FenceI,
    /// Returned from a trap (`mret`): privilege may have changed.
    Returned,
    /// Waits for an interrupt (`wfi`); going on at once is allowed too.
    WaitForInterrupt,
    /// Cannot be executed; nothing has changed until [`Hart::take_trap`].
    Trap(Exception<X>),
}

impl<X> Outcome<X> {
    /// Says whether the instruction has retired and the one behind it follows.
    #[inline(always)]
    pub const fn goes_straight(&self) -> bool {
        matches!(
            self,
            Self::Next
                | Self::NotTaken
                | Self::Csr
                | Self::Fence
                | Self::FenceI
                | Self::WaitForInterrupt
        )
    }
}

/// Holds the architectural state of one hart.
///
/// The order of its fields is kept: what every instruction uses comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Hart<X> {
    /// Integer registers; `x[0]` is always zero.
    pub x: [X; 32],
    /// Address of the next instruction.
    pub pc: X,
    /// Instructions retired.
    pub instret: u64,
    /// Privilege it runs at.
    pub privilege: Privilege,
    /// Control and status registers.
    pub csr: CsrFile<X>,
    /// Memory protection; checked by whoever performs the accesses.
    pub pmp: Pmp<X>,
    extensions: Extensions,
    /// Low address bits of a jump target that must be zero.
    target_mask: u32,
    /// Low address bits of a plain access that must be zero, before masking by its size.
    misaligned_mask: u32,
    /// The first half of a doubleword that RV32 accesses in two, between the halves: what was
    /// loaded, or 0 for a store.
    half_done: Option<u32>,
    /// Floating-point registers, NaN-boxed: a single-precision value has all upper bits set.
    pub f: [u64; 32],
    xpulp: XpulpState<X>,
}

impl<X: Xlen> Hart<X> {
    /// Makes a hart as reset leaves it: machine mode, registers zero, at `reset_pc`.
    pub fn new(config: &HartConfig, reset_pc: X) -> Self {
        let width = X::ONE.shift_left(X::BITS - 2); // MXL: 1 for RV32, 2 for RV64
        let mxl = if X::BITS == 32 { width } else { width.shift_left(1) };
        let csr = CsrFile {
            cycle: 0,
            cycle_offset: 0,
            instret_offset: 0,
            // MPP resets to machine mode.
            mstatus: crate::csr::mstatus::MPP,
            mtvec: X::ZERO,
            mtvec_mask: X::from_i32(config.mtvec_mask),
            mepc: X::ZERO,
            mcause: X::ZERO,
            mtval: X::ZERO,
            mscratch: X::ZERO,
            mie: 0,
            mip: 0,
            mcounteren: 0,
            mvendorid: config.vendor_id,
            marchid: X::from_u32(config.architecture_id),
            mimpid: X::from_u32(config.implementation_id),
            mhartid: X::from_u32(config.hart_id),
            fcsr: 0,
            interrupts: INTERRUPTS | config.platform_interrupts & PLATFORM_INTERRUPTS,
            mcountinhibit: 0,
            misa: mxl | X::from_u32(config.extensions.misa_letters()),
            events: EventCounters::default(),
        };
        Self {
            x: [X::ZERO; 32],
            pc: reset_pc,
            instret: 0,
            privilege: Privilege::Machine,
            csr,
            pmp: Pmp::default(),
            extensions: config.extensions,
            target_mask: if config.extensions.has(Extensions::C) { 0 } else { 2 },
            misaligned_mask: if config.trap_misaligned { 7 } else { 0 },
            half_done: None,
            f: [float::reset_value(config.extensions); 32],
            xpulp: XpulpState::default(),
        }
    }

    /// Says whether it has Xpulp: then [`Hart::loop_back`] and [`Hart::complete_xpulp`] belong to
    /// running it.
    pub fn has_xpulp(&self) -> bool {
        self.extensions.has(Extensions::XPULP)
    }

    /// Gives the extensions that its CSR file and program table should agree on.
    pub fn extensions(&self) -> Extensions {
        self.extensions
    }

    /// Writes a register; writes to x0 vanish.
    #[inline(always)]
    pub fn set_x(&mut self, register: u8, value: X) {
        self.x[usize::from(register & 31)] = value;
        self.x[0] = X::ZERO;
    }

    /// Reads a register.
    #[inline(always)]
    fn get(&self, register: u8) -> X {
        self.x[usize::from(register & 31)]
    }

    /// Counts a retired instruction and goes on behind it.
    #[inline(always)]
    fn retire(&mut self, length: u8) {
        self.instret += 1;
        // A predicted branch instead of an addition: the address of the next instruction does not
        // wait for this one's length to be loaded (measured: 13 to 38 % more instructions/s).
        if length == 2 {
            self.pc = self.pc.plus(X::from_u32(2));
            keep_branch();
        } else {
            self.pc = self.pc.plus(X::from_u32(4));
        }
    }

    /// Finishes an instruction whose access memory has performed.
    ///
    /// `value` is what was read (its low bytes count), 0 or 1 for a store-conditional that did or
    /// did not store, and ignored for stores.
    #[inline(always)]
    pub fn complete(&mut self, access: &Access<X>, value: X) {
        if access.rd >= FIRST_FLOAT_REGISTER {
            return self.complete_float(access, value);
        }
        self.complete_integer(access, value);
    }

    /// Finishes an instruction as [`Hart::complete`] does, on a hart without floating point: one
    /// decision less in the hottest path (measured: up to 15 % more instructions/s).
    #[inline(always)]
    pub fn complete_integer(&mut self, access: &Access<X>, value: X) {
        debug_assert!(access.rd < FIRST_FLOAT_REGISTER, "floating point needs `complete`");
        self.set_x(access.rd, value.extend(access.bytes, access.signed));
        self.retire(access.length);
    }

    /// Gives the privilege that loads and stores are checked with (`mstatus.MPRV`).
    #[inline]
    pub fn data_privilege(&self) -> Privilege {
        use crate::csr::mstatus::{MPP, MPRV};
        if self.csr.mstatus & MPRV != 0 && self.csr.mstatus & MPP == 0 {
            Privilege::User
        } else {
            self.privilege
        }
    }
}

/// Keeps the compiler from turning the branch it stands in into arithmetic.
#[cold]
#[inline(always)]
fn keep_branch() {}
