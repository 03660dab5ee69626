//! The port of an HPU's core: the cluster's instruction cache, and where data accesses go.

use pinion_cores::port::{Destinations, HeldLines};
use pinion_cores::pulp::run_ahead::Stop;
use pinion_isa::{Instruction, Op};

use crate::Machine;
use crate::cluster::hpu::driver::register;
use crate::cluster::own_l1::is_plain;
use crate::cluster::pe_interconnect::DRIVER;
use crate::memory::PERIPHERALS;
use pinion_instruction_cache::InstructionCache;

/// Says where every cluster's cores find their own L1, beside its address.
#[derive(Clone, Copy, Debug)]
pub struct NearMemory {
    bytes: u32,
    alias: u32,
}

impl NearMemory {
    /// Takes the numbers from a machine.
    pub fn new(machine: &Machine) -> Self {
        Self { bytes: machine.l1.bytes, alias: machine.l1.alias }
    }

    /// Tells whether an address is one by which every core finds its own: programs have few of those.
    #[cold]
    fn is_by_alias(&self, address: u32) -> bool {
        address.wrapping_sub(self.alias) < self.bytes
    }
}

/// Joins a core to what it may see while it runs ahead.
#[derive(Clone, Copy)]
pub struct Port<'a> {
    /// The cluster's instruction cache.
    pub cache: &'a InstructionCache,
    /// The own L1.
    pub near: NearMemory,
    /// Its address.
    pub l1_base: u32,
}

impl HeldLines for Port<'_> {
    #[inline(always)]
    fn line_shift(&self) -> u32 {
        self.cache.line_shift()
    }

    #[inline(always)]
    fn has(&self, line: u32, now: u64) -> bool {
        self.cache.has(line, now)
    }

    #[inline(always)]
    fn has_with_next(&self, line: u32, now: u64) -> bool {
        self.cache.has_with_next(line, now)
    }

    #[inline(always)]
    fn changes(&self) -> u64 {
        self.cache.changes()
    }
}

impl Destinations for Port<'_> {
    #[inline(always)]
    fn is_near(&self, address: u32) -> bool {
        address.wrapping_sub(self.l1_base) < self.near.bytes || self.near.is_by_alias(address)
    }

    #[inline(always)]
    fn destination(&self, instruction: &Instruction, address: u32) -> Stop {
        if self.is_near(address) && is_plain(instruction.class) {
            return Stop::Near(address);
        }
        let register = address.wrapping_sub(PERIPHERALS + DRIVER);
        let private = match instruction.op {
            Op::Lw => (register::FIRST_TASK..=register::LAST_TASK).contains(&register),
            Op::Sw => (register::INFO..register::END).contains(&register),
            _ => false,
        };
        // Every policy lets handlers reach their peripherals.
        if private && register.is_multiple_of(4) {
            return Stop::Private;
        }
        Stop::Shared
    }
}
