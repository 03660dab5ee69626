//! Where a core's cycles went.

use std::ops::{Deref, DerefMut};

use pinion_translate::Counts;

/// Counts the cycles in which a core did not issue an instruction, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// What the pipeline itself loses; its counts are these' own.
    pub pipeline: Counts,
    /// The near memory was busy: a bank of the cluster's L1.
    pub l1: u64,
    /// An access went far: to L2, another cluster's L1, program memory.
    pub remote: u64,
    /// A command could not be issued or was waited for.
    pub command: u64,
}

impl Deref for Stalls {
    type Target = Counts;

    #[inline(always)]
    fn deref(&self) -> &Counts {
        &self.pipeline
    }
}

impl DerefMut for Stalls {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Counts {
        &mut self.pipeline
    }
}

impl Stalls {
    /// Lists the reasons by name, as tables and files have them.
    pub const fn reasons(&self) -> [(&'static str, u64); 7] {
        [
            ("load_use", self.pipeline.load_use),
            ("branch", self.pipeline.branch),
            ("arithmetic", self.pipeline.arithmetic),
            ("fetch", self.pipeline.fetch),
            ("l1", self.l1),
            ("remote", self.remote),
            ("command", self.command),
        ]
    }

    /// Adds up all reasons.
    pub const fn total(&self) -> u64 {
        let Counts { load_use, branch, arithmetic, fetch } = self.pipeline;
        load_use + branch + arithmetic + fetch + self.l1 + self.remote + self.command
    }

    /// Adds another count to this one.
    pub const fn add(&mut self, other: &Self) {
        self.pipeline.load_use += other.pipeline.load_use;
        self.pipeline.branch += other.pipeline.branch;
        self.pipeline.arithmetic += other.pipeline.arithmetic;
        self.pipeline.fetch += other.pipeline.fetch;
        self.l1 += other.l1;
        self.remote += other.remote;
        self.command += other.command;
    }
}
