//! What a node is made of beside its machine: a program in memory.

use pinion_isa::elf::Image;
use thiserror::Error;

use crate::core::code::Code;
use crate::machine::error::MachineError;
use crate::machine::node::Machine;
use crate::machine::receive::ReceiveSectionError;
use crate::machine::transmit::TransmitSectionError;
use crate::memory::{Memory, OutsideMemory};

/// Says why a node cannot be made.
#[derive(Debug, Error)]
pub enum NodeError {
    /// The program does not fit into memory.
    #[error(transparent)]
    Program(#[from] OutsideMemory),
    /// The receive side's numbers describe no machine.
    #[error(transparent)]
    Receive(#[from] ReceiveSectionError),
    /// The transmit side's numbers describe no machine.
    #[error(transparent)]
    Transmit(#[from] TransmitSectionError),
    /// Some other number describes no machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// A program in memory and decoded. Nodes share it, and take what they change for themselves.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) memory: Memory,
    pub(super) code: Code,
}

impl Program {
    /// Loads a program for the nodes of a machine.
    ///
    /// # Errors
    /// [`NodeError`]: the program does not fit, or the machine is none.
    pub fn load(machine: &Machine, image: &Image) -> Result<Self, NodeError> {
        machine.check_numbers()?;
        let mut memory = Memory::new(&machine.memory, machine.core.count);
        memory.load(image)?;
        let (base, size) = (machine.memory.base_address, machine.memory.size.0);
        let code = Code::of(image, base, size, pinion_isa::Extensions::RV64GC);
        Ok(Self { memory, code })
    }
}
