//! The small cores of the PULP platform: RI5CY and one like Ibex. One model, two sets of numbers: both
//! issue one instruction at a time and in order, and differ in what their pipelines make of branches,
//! loads, multiplications and divisions ([`section::Pipeline`]).
//!
//! In: a decoded program, a port ([`HeldLines`], [`InstructionPort`], [`Destinations`]). Out: cycles.
//! A core [runs ahead](run_ahead) while it executes what is its own; what it accesses it
//! leaves to the machine, for those accesses are ordered among all cores. Between instructions it
//! remembers what the next may depend on: the register that was loaded, whether it jumped, what its
//! [prefetch buffer](prefetch_buffer) holds.
//!
//! [`HeldLines`]: crate::port::HeldLines
//! [`InstructionPort`]: crate::port::InstructionPort
//! [`Destinations`]: crate::port::Destinations

mod arrival;
pub mod behind_access;
pub mod code;
pub mod costs;
pub mod lean;
mod micro_op;
pub mod near_access;
pub mod prefetch_buffer;
mod reach;
pub mod run_ahead;
pub mod section;
mod stalls;
mod translated;
mod went;

use crate::port::{Destinations, HeldLines, Stop};
use pinion_isa::{Access, Class, DecodedProgram, Hart, HartConfig, Instruction, MemoryKind};

pub use costs::Costs;
use costs::REGISTER_BITS;
use prefetch_buffer::{Arrival, PrefetchBuffer, Reach};
pub use stalls::Stalls;

/// Stands for no register.
pub const NO_REGISTER: u8 = u8::MAX;

/// Remembers a register that is on its way to the register file.
#[derive(Clone, Copy, Debug)]
struct Late {
    /// The register; x0 if none is.
    register: u8,
    /// Last cycle in which a jump to it cannot leave the decode stage.
    until: u64,
}

impl Late {
    const NOTHING: Self = Self { register: 0, until: 0 };

    /// Gives the first cycle in which a jump to `register` may go; 0: it was never kept.
    #[inline(always)]
    const fn lets(self, register: u8) -> u64 {
        if self.register == register && register != 0 { self.until + 1 } else { 0 }
    }
}

/// Holds a core: a hart, and what its pipeline remembers between instructions.
#[derive(Clone, Debug)]
pub struct Core {
    /// The architectural state.
    pub hart: Hart<u32>,
    /// Register that the last instruction loaded, x0 counts; [`NO_REGISTER`]: it was no load.
    pub loaded: u8,
    /// What it fetches from.
    pub buffer: PrefetchBuffer,
    /// Whether the last instruction jumped.
    pub jumped: bool,
    /// Cycle in which the last instruction left the decode stage.
    pub left: u64,
    /// Whether its last instruction had to wait, an access, or took more than a cycle to compute.
    pub waited: bool,
    /// What a jump to a register may have to wait for: the registers of the last two loads.
    late: [Late; 2],
    /// The same of an instruction that only computes.
    computed: Late,
    /// Cycles lost since the task began.
    pub stalls: Stalls,
}

impl Core {
    /// Makes a core as reset leaves it.
    pub fn new(config: &HartConfig, reset_address: u32) -> Self {
        Self {
            hart: Hart::new(config, reset_address),
            loaded: NO_REGISTER,
            buffer: PrefetchBuffer::default(),
            jumped: true,
            left: 0,
            waited: false,
            late: [Late::NOTHING; 2],
            computed: Late::NOTHING,
            stalls: Stalls::default(),
        }
    }

    /// Leaves an access at the program counter behind, which goes on at `place`; `true`: it was the
    /// last instruction of a hardware loop, and the program counter leads back.
    #[inline(always)]
    pub fn loops_back(&mut self, code: &code::Code, place: u32) -> bool {
        let pc = self.hart.pc;
        self.hart.pc = code.base().wrapping_add(place << 1);
        let loops = self.hart.loop_back(pc);
        self.jumped |= loops;
        loops
    }

    /// Says how the core comes to its next instruction, which leaves the decode stage at `time` if nothing
    /// is in its way.
    #[inline]
    pub const fn arrival(&self, time: u64) -> Arrival {
        let (pc, left, jumped) = (self.hart.pc, self.left, self.jumped);
        Arrival { pc, time, left, jumped, behind_wait: self.waited }
    }

    /// Says how the instruction behind the one at the program counter, which leaves the decode stage at `time`, comes there.
    #[inline]
    pub fn behind(&self, time: u64, program: &DecodedProgram<u32>) -> Option<Arrival> {
        let pc = self.hart.pc + u32::from(program.get(self.hart.pc)?.length);
        Some(Arrival { pc, time: time + 1, left: time, jumped: false, behind_wait: false })
    }

    /// Says whether the instruction behind the one at the program counter asks for a line when that one has left the
    /// decode stage, at `time`, whether it has been served or not.
    #[inline(always)]
    pub fn asks_behind(
        &self,
        time: u64,
        program: &DecodedProgram<u32>,
        cache: &impl HeldLines,
    ) -> bool {
        let Some(behind) = self.behind(time, program) else { return false };
        self.buffer.asks_ahead(&behind, program, cache).is_some()
    }

    /// Says whether what is asked for may come to the decode stage late: behind an instruction that waits.
    #[inline(always)]
    fn may_come_late(&self, behind_wait: bool) -> bool {
        behind_wait && self.buffer.came_behind(self.left)
    }

    /// Enters the lines around an address at a time like [`PrefetchBuffer::enter_run`], unless they may have come late:
    /// then they must be fetched.
    #[inline(always)]
    fn enter_run(
        &mut self,
        behind_wait: bool,
        (pc, time): (u32, u64),
        cache: impl HeldLines,
        base: u32,
    ) -> Option<Reach> {
        if self.may_come_late(behind_wait) {
            return None;
        }
        self.buffer.enter_run(pc, time, cache, base)
    }

    /// Notes that an instruction to which it came at `time` was fetched, and executes later or at once.
    #[inline]
    pub const fn fetched(&mut self, time: u64, executes: u64) {
        if executes > time {
            self.stalls.pipeline.fetch += executes - time;
            // What was loaded came meanwhile, and what waited is over.
            (self.loaded, self.waited) = (NO_REGISTER, false);
        }
    }

    /// Gives the first cycle in which a jump to a register may go, for which it waits.
    #[inline(always)]
    pub(super) fn lets_jump(&self, register: u8) -> u64 {
        let [last, before] = self.late.map(|late| late.lets(register));
        last.max(before).max(self.computed.lets(register))
    }

    /// Notes that the last instruction has computed a register, behind which the next may leave the decode stage in
    /// cycle `next`.
    #[inline(always)]
    pub(super) const fn computes(&mut self, register: u8, next: u64) {
        self.computed = Late { register, until: next };
    }

    /// Notes that a load or atomic brings a register, behind which the next instruction may leave the decode stage
    /// in cycle `next`: it is written in the cycle behind, and until then no jump goes there.
    #[inline(always)]
    const fn brings(&mut self, register: u8, next: u64) {
        self.late = [Late { register, until: next + 1 }, self.late[0]];
    }

    /// Notes what an access that was performed brings, behind which the next instruction may leave the decode stage
    /// in cycle `next`.
    #[inline(always)]
    pub const fn performed(&mut self, access: &Access<u32>, next: u64) {
        if !matches!(access.kind, MemoryKind::Store) {
            self.brings(access.rd, next);
        }
    }

    /// Notes the same of a micro-operation, if a jump may soon want what it brings.
    #[inline(always)]
    pub const fn executed(&mut self, one: &code::MicroOp, next: u64) {
        if one.flags.is_jumped_to() {
            self.brings(one.loaded, next);
        }
    }

    /// Notes the register that an access loads, a store none: what needs it directly behind waits for it.
    #[inline(always)]
    pub const fn loads(&mut self, access: &Access<u32>) {
        if !matches!(access.kind, MemoryKind::Store) {
            self.loaded = access.rd;
        }
    }

    /// Says where the instruction at the program counter goes, if it accesses memory.
    pub fn next_access(
        &self,
        port: &impl Destinations,
        costs: &Costs,
        program: &DecodedProgram<u32>,
    ) -> Option<Stop> {
        let one = program.get(self.hart.pc).filter(|one| costs.accesses(one.class))?;
        let address =
            if costs.xpulp { self.address::<true>(one) } else { self.address::<false>(one) };
        Some(port.destination(one, address))
    }

    /// Gives the address that a memory instruction accesses. Always inlined: called, it costs
    /// reductions a tenth more host instructions.
    #[inline(always)]
    fn address<const XPULP: bool>(&self, instruction: &Instruction) -> u32 {
        let offset = match instruction.class {
            Class::Load | Class::Store => instruction.imm as u32,
            Class::XpulpLoad | Class::XpulpStore if XPULP => self.hart.xpulp_offset(instruction),
            _ => 0, // atomics have none
        };
        self.hart.x[usize::from(instruction.rs1 & REGISTER_BITS)].wrapping_add(offset)
    }
}
