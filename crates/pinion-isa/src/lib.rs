//! RISC-V harts: decode, execute, CSRs, privilege, PMP, disassembly, ELF images.
//!
//! A [`Hart`] holds architectural state and says what each instruction does, without timing and
//! without memory. Whoever drives it (a core model of a machine, or [`flat::FlatMachine`])
//! takes instructions from a [`DecodedProgram`], calls [`Hart::execute`], performs the
//! memory [`Access`] it may get back, and calls [`Hart::complete`]. The register width is a
//! parameter ([`Xlen`]: `u32` or `u64`).

mod access;
pub mod csr;
mod decode;
mod disassemble;
pub mod elf;
mod encode;
mod exception;
mod extensions;
mod fields;
pub mod flat;
mod float;
mod hart;
mod instruction;
mod op;
mod pmp;
mod program;
mod registers;
mod xlen;
mod xpulp;

pub use access::{Access, AmoOp, MemoryKind, Reservation};
pub use csr::{CsrFile, csr_name, csr_number};
pub use decode::{decode, is_compressed};
pub use disassemble::{disassemble, disassemble_plain};
pub use exception::{Cause, Exception, exception_name};
pub use extensions::Extensions;
pub use hart::{HardwareLoop, Hart, HartConfig, Outcome, Privilege};
pub use instruction::{FIRST_FLOAT_REGISTER, Instruction};
pub use op::{Class, Op};
pub use pmp::{
    AccessKind, PMP_ENTRIES, PMP_EXECUTE, PMP_LOCK, PMP_MODE, PMP_NA4, PMP_NAPOT, PMP_READ,
    PMP_TOR, PMP_WRITE, Pmp,
};
pub use program::DecodedProgram;
pub use registers::{FLOAT_REGISTER_NAMES, REGISTER_NAMES};
pub use xlen::Xlen;
pub use xpulp::{XpulpOp, disassemble_xpulp};
