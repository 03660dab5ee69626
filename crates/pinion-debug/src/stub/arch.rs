//! RISC-V as the protocol has it: gdb's numbers of registers, and their bytes.

use std::num::NonZeroUsize;

use gdbstub::arch::{Arch, RegId, Registers};

/// gdb's numbers: `pc`, the first register of floating point, CSR 0, and the privilege.
const PC: usize = 32;
const FIRST_FLOAT: usize = 33;
/// Number of CSR 0 among gdb's registers of RISC-V.
pub const FIRST_CSR: usize = 65;
/// Number of the privilege.
pub const PRIVILEGE: usize = FIRST_CSR + 4096;

/// `fflags`, `frm`, `fcsr`, which have 32 bits.
pub const FLOAT_CSRS: [u16; 3] = [1, 2, 3];

/// Registers whose values a nanoPU's network has: reads of them take a word, writes send one.
pub const NETWORK: [usize; 2] = [30, 31];

/// RISC-V whose registers have so many bytes. Addresses have 64 bits with either width.
#[derive(Debug)]
pub enum Riscv<const BYTES: usize> {}

impl<const BYTES: usize> Arch for Riscv<BYTES> {
    type Usize = u64;
    type Registers = Bank<BYTES>;
    type BreakpointKind = usize;
    type RegId = Register<BYTES>;
}

/// Names a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register<const BYTES: usize> {
    /// An integer register.
    Integer(usize),
    /// A register of floating point.
    Float(u8),
    /// The program counter.
    Pc,
    /// A CSR.
    Csr(u16),
    /// The privilege.
    Privilege,
}

impl<const BYTES: usize> RegId for Register<BYTES> {
    fn from_raw_id(id: usize) -> Option<(Self, Option<NonZeroUsize>)> {
        let (register, bytes) = match id {
            0..PC => (Self::Integer(id), BYTES),
            PC => (Self::Pc, BYTES),
            FIRST_FLOAT..FIRST_CSR => (Self::Float((id - FIRST_FLOAT) as u8), 8),
            FIRST_CSR..PRIVILEGE => {
                let number = (id - FIRST_CSR) as u16;
                (Self::Csr(number), if FLOAT_CSRS.contains(&number) { 4 } else { BYTES })
            }
            PRIVILEGE => (Self::Privilege, 1),
            _ => return None,
        };
        Some((register, NonZeroUsize::new(bytes)))
    }
}

/// A hart's integer registers and program counter; `None`: it cannot be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Bank<const BYTES: usize> {
    /// The integer registers.
    pub x: [Option<u64>; 32],
    /// The program counter.
    pub pc: u64,
}

impl<const BYTES: usize> Default for Bank<BYTES> {
    fn default() -> Self {
        Self { x: [None; 32], pc: 0 }
    }
}

impl<const BYTES: usize> Registers for Bank<BYTES> {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.pc
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        for value in self.x.into_iter().chain([Some(self.pc)]) {
            for byte in 0..BYTES {
                write_byte(value.map(|value| value.to_le_bytes()[byte]));
            }
        }
    }

    fn gdb_deserialize(&mut self, _: &[u8]) -> Result<(), ()> {
        // They are written nowhere: whoever wants to is refused where it is asked for.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_gdb() {
        let at = |id| Register::<8>::from_raw_id(id);
        let bytes = NonZeroUsize::new;
        assert_eq!(at(31), Some((Register::Integer(31), bytes(8))));
        assert_eq!(at(32), Some((Register::Pc, bytes(8))));
        assert_eq!(at(33), Some((Register::Float(0), bytes(8))), "ft0");
        assert_eq!(at(64), Some((Register::Float(31), bytes(8))), "ft11");
        assert_eq!(at(65 + 3), Some((Register::Csr(3), bytes(4))), "fcsr");
        assert_eq!(at(65 + 0x300), Some((Register::Csr(0x300), bytes(8))));
        assert_eq!(at(4161), Some((Register::Privilege, bytes(1))));
        assert_eq!(at(4162), None);
    }

    #[test]
    fn what_cannot_be_told_has_no_bytes() {
        let mut bank = Bank::<8>::default();
        bank.x[1] = Some(0x0102);
        let mut bytes = Vec::new();
        bank.gdb_serialize(|byte| bytes.push(byte));
        assert_eq!(bytes.len(), 33 * 8);
        assert_eq!((bytes[0], bytes[8], bytes[9]), (None, Some(2), Some(1)));
    }
}
