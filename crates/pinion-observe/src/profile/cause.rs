//! What a hart's cycles go by.

/// Names what a cycle of a hart went by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// An instruction was issued.
    Issue,
    /// An instruction waited for what one before it loads or computes.
    LoadUse,
    /// Behind taken branches and jumps.
    Branch,
    /// Multiplications and divisions took more than a cycle.
    Arithmetic,
    /// The instruction was fetched.
    Fetch,
    /// The bank of the cluster's own L1 was busy.
    L1,
    /// An access went to L2, another cluster's L1, or, on a nanoPU, missed the cache.
    Remote,
    /// A command could not be issued or was waited for.
    Command,
    /// There was nothing to do: no task, no message.
    Idle,
    /// None of these: traps, the boot, a hart that hangs.
    Other,
}

/// Cycles by cause, in the order of [`Cause::ALL`].
pub type Cycles = [u64; Cause::COUNT];

impl Cause {
    /// Number of causes.
    pub const COUNT: usize = 10;
    /// Every cause.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Issue,
        Self::LoadUse,
        Self::Branch,
        Self::Arithmetic,
        Self::Fetch,
        Self::L1,
        Self::Remote,
        Self::Command,
        Self::Idle,
        Self::Other,
    ];

    /// Gives its name in tables; those of stalls are those of the packets' CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::LoadUse => "load_use",
            Self::Branch => "branch",
            Self::Arithmetic => "arithmetic",
            Self::Fetch => "fetch",
            Self::L1 => "l1",
            Self::Remote => "remote",
            Self::Command => "command",
            Self::Idle => "idle",
            Self::Other => "other",
        }
    }
}

/// Adds cycles to others.
pub fn add(to: &mut Cycles, more: &Cycles) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += more);
}
