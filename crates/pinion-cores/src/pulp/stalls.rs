//! Where a core's cycles went.

/// Counts the cycles in which a core did not issue an instruction, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// A load's result was used by the next instruction, or a jump waited for its register; or the pipeline
    /// waits for each response.
    pub load_use: u64,
    /// Taken branches and jumps.
    pub branch: u64,
    /// Multi-cycle multiplications and divisions.
    pub arithmetic: u64,
    /// The instruction cache refilled.
    pub fetch: u64,
    /// The near memory was busy: a bank of the cluster's L1.
    pub l1: u64,
    /// An access went far: to L2, another cluster's L1, program memory.
    pub remote: u64,
    /// A command could not be issued or was waited for.
    pub command: u64,
}

impl Stalls {
    /// Lists the reasons by name, as tables and files have them.
    pub const fn reasons(&self) -> [(&'static str, u64); 7] {
        [
            ("load_use", self.load_use),
            ("branch", self.branch),
            ("arithmetic", self.arithmetic),
            ("fetch", self.fetch),
            ("l1", self.l1),
            ("remote", self.remote),
            ("command", self.command),
        ]
    }

    /// Adds up all reasons.
    pub const fn total(&self) -> u64 {
        self.load_use
            + self.branch
            + self.arithmetic
            + self.fetch
            + self.l1
            + self.remote
            + self.command
    }

    /// Adds another count to this one.
    pub const fn add(&mut self, other: &Self) {
        self.load_use += other.load_use;
        self.branch += other.branch;
        self.arithmetic += other.arithmetic;
        self.fetch += other.fetch;
        self.l1 += other.l1;
        self.remote += other.remote;
        self.command += other.command;
    }
}
