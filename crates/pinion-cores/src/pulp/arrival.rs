//! How a core comes to an instruction, and when that leaves the decode stage.

/// Says how a core came to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The instruction's address.
    pub pc: u32,
    /// Cycle in which it leaves the decode stage if nothing is in its way.
    pub time: u64,
    /// Cycle in which the one before left it.
    pub left: u64,
    /// Whether the core jumped here.
    pub jumped: bool,
    /// Whether the instruction before it waits.
    pub behind_wait: bool,
}

impl Arrival {
    /// Gives the cycle in which the instruction leaves the decode stage if its line comes in a cycle. While the
    /// one before waits, nobody leaves it: who comes there meanwhile is a stage behind who was there (RTL
    /// riscv_id_stage, `ex_ready_i`).
    pub(super) fn leaves(&self, data_at: u64) -> u64 {
        let is_late = self.behind_wait && data_at > self.left;
        (self.time + u64::from(is_late)).max(data_at + 1)
    }
}
