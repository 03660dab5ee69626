//! What a block tells when it is left.

/// Counts cycles that are lost in a pipeline; a block adds to what is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counts {
    /// A load's result was used by the next instruction, or a jump waited for its register; or the pipeline
    /// waits for each response.
    pub load_use: u64,
    /// Taken branches and jumps.
    pub branch: u64,
    /// Multi-cycle multiplications and divisions.
    pub arithmetic: u64,
    /// Instructions had to be fetched.
    pub fetch: u64,
}

/// Marks an exit behind a jump or a branch that was taken; below it is the place.
pub(crate) const JUMPED: u64 = 1 << 32;
/// Marks one that was taken because the last cycle has come.
pub(crate) const YIELDS: u64 = 1 << 33;
/// Marks one at an access.
pub(crate) const ACCESS: u64 = 1 << 34;
/// Where the last instruction's cycles stand in an exit.
pub(crate) const CYCLES_SHIFT: u32 = 35;
/// Where the number of that step stands.
pub(crate) const STEP_SHIFT: u32 = 51;
/// Where the address of the access at which a block was left stands, above the cycles that have passed.
pub(crate) const ADDRESS_SHIFT: u32 = 32;

/// Says how a block was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Left {
    pub(crate) passed: u64,
    pub(crate) exit: u64,
}

impl Left {
    /// Gives the cycles from the block's begin to the instruction that comes next.
    #[inline(always)]
    pub const fn cycles(self) -> u64 {
        self.passed as u32 as u64
    }

    /// Gives the address that the instruction accesses that comes next; known at an access alone.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        (self.passed >> ADDRESS_SHIFT) as u32
    }

    /// Gives the place of the instruction that comes next.
    #[inline(always)]
    pub const fn place(self) -> u32 {
        self.exit as u32
    }

    /// Says whether that accesses memory.
    #[inline(always)]
    pub const fn at_access(self) -> bool {
        self.exit & ACCESS != 0
    }

    /// Says whether the last cycle has come, at a jump.
    #[inline(always)]
    pub const fn yields(self) -> bool {
        self.exit & YIELDS != 0
    }

    /// Says whether the last instruction jumped; not known at an access.
    #[inline(always)]
    pub const fn jumped(self) -> bool {
        self.exit & JUMPED != 0
    }

    /// Gives the cycles of the last instruction; not known at an access.
    #[inline(always)]
    pub const fn last_cycles(self) -> u64 {
        (self.exit >> CYCLES_SHIFT) as u16 as u64
    }

    /// Gives which of the region's steps was the last; not known at an access.
    #[inline(always)]
    pub const fn last_step(self) -> usize {
        (self.exit >> STEP_SHIFT) as usize
    }
}
