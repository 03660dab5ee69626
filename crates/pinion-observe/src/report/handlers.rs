//! The table per handler: every execution comes in, one row per handler goes out.

use pinion_sim::Time;
use pinion_spin::{HandlerRecord, Stalls};

use super::histogram::{Histogram, Quantiles};

/// Sums up the executions of one handler.
#[derive(Debug, Clone, Default)]
pub struct HandlerRow {
    /// Name of its context.
    pub context: String,
    /// Name of its function.
    pub symbol: String,
    /// Name of its kind: header, payload or completion.
    pub kind: &'static str,
    /// Number of executions.
    pub runs: u64,
    /// Number of executions that ended by an exception or the watchdog.
    pub failed: u64,
    /// Number of retired instructions.
    pub instructions: u64,
    /// Number of cycles lost, by reason.
    pub stalls: Stalls,
    /// Sums the time from taking the task to the doorbell.
    pub busy_ps: u64,
    times: Histogram,
}

impl HandlerRow {
    /// Counts one execution.
    pub fn add(&mut self, record: &HandlerRecord) {
        let time: Time = record.end.since(record.start);
        self.runs += 1;
        self.failed += u64::from(record.failed);
        self.instructions += record.instructions;
        self.stalls.add(&record.stalls);
        self.busy_ps += time.ps();
        self.times.record(time);
    }

    /// Gives the distribution of the executions' times.
    pub fn quantiles(&self) -> Quantiles {
        self.times.quantiles().unwrap_or_default()
    }
}
