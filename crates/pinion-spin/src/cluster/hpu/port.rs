//! The port of an HPU's core: the cluster's instruction cache, and where data accesses go.

use pinion_cores::port::{Destinations, HeldLines};
use pinion_cores::pulp::run_ahead::Stop;
use pinion_isa::{Access, Instruction, MemoryKind, Op};

use crate::Machine;
use crate::cluster::Cluster;
use crate::cluster::hpu::driver::register;
use crate::cluster::hpu::permissions::Right;
use crate::cluster::hpu::{Core, Permissions};
use crate::cluster::own_l1::is_plain;
use crate::cluster::pe_interconnect::DRIVER;
use crate::memory::PERIPHERALS;
use pinion_instruction_cache::InstructionCache;

/// Says where every cluster's cores find their own L1, beside its address.
#[derive(Clone, Copy, Debug)]
pub struct NearMemory {
    bytes: u32,
    alias: u32,
    /// Whether every core finds its driver where the published machine has it, and may touch it, whatever
    /// its task.
    has_driver: bool,
}

impl NearMemory {
    /// Takes the numbers from a machine.
    pub fn new(machine: &Machine) -> Self {
        let l1 = &machine.l1;
        let each = register::BASE.wrapping_sub(l1.base) / l1.stride.max(1);
        let hidden =
            each < machine.cluster.count || register::BASE.wrapping_sub(l1.alias) < l1.bytes;
        let mut permissions = Permissions::default();
        permissions.set_idle(machine, 0, 0);
        let mut open = [Right::Read, Right::Write].into_iter().flat_map(|right| {
            [0, register::PAGE - 4].map(|offset| (register::BASE + offset, right))
        });
        let is_open = open.all(|(address, right)| permissions.allows(address, 4, right));
        Self { bytes: l1.bytes, alias: l1.alias, has_driver: is_open && !hidden }
    }

    /// Gives the offset of the driver's register that an access of a word goes to; `None`: it goes elsewhere,
    /// or is another access.
    #[inline]
    pub fn driver_register(&self, access: &Access<u32>) -> Option<u32> {
        let offset = access.address.wrapping_sub(register::BASE);
        let is_word = access.bytes == 4 && offset.is_multiple_of(4);
        let is_plain = matches!(access.kind, MemoryKind::Load | MemoryKind::Store);
        (offset < register::PAGE && is_word && is_plain && self.has_driver).then_some(offset)
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

impl<'a> Port<'a> {
    /// Gives a core's, of its cluster among all.
    #[inline(always)]
    pub fn of(core: &Core, clusters: &'a [Cluster], near: NearMemory) -> Self {
        let cache = &clusters[core.cluster as usize].cache;
        Self { cache, near, l1_base: core.l1_base }
    }
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
    fn around(&self, line: u32, now: u64, most: u32) -> [u32; 2] {
        self.cache.around(line, now, most)
    }

    #[inline]
    fn gives(&self, line: u32, from: u64) -> Option<u64> {
        self.cache.gives(line, from)
    }

    #[inline(always)]
    fn changes(&self) -> u64 {
        self.cache.changes()
    }

    #[inline(always)]
    fn rests(&self) -> bool {
        self.cache.rests()
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
