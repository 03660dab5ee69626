//! Something that does one piece of work after the other: a core, a queue's interrupt, a NIC's
//! transmit engine.

/// Serves pieces of work in the order in which they are handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    free_ps: u64,
}

impl Server {
    /// Does a piece of work that comes at `now_ps`; gives when it is done.
    pub fn serve(&mut self, now_ps: u64, work_ps: u64) -> u64 {
        self.free_ps = self.free_ps.max(now_ps).saturating_add(work_ps);
        self.free_ps
    }

    /// Tells whether it has work at `now_ps`.
    pub fn is_busy(&self, now_ps: u64) -> bool {
        self.free_ps > now_ps
    }

    /// Gives for how long it has had no work at `now_ps`, in ps.
    pub fn idle_ps(&self, now_ps: u64) -> u64 {
        now_ps.saturating_sub(self.free_ps)
    }

    /// Gives when it is free, in ps.
    pub fn free_ps(&self) -> u64 {
        self.free_ps
    }
}
