//! What queues, buffers and units held over time. In: changes of gauges, in order of time. Out: a row for
//! each.

use std::sync::{Arc, Mutex, PoisonError};

use pinion_app::Result;
use pinion_observe::gauges::{Follower, Gauge};
use pinion_sim::Time;

/// A change: when, of which gauge, to what; `None`: it holds nothing that has a number.
pub type Change = (Time, u32, Option<u64>);

/// The changes of a machine's gauges. Copies keep them in the same place.
#[derive(Clone, Default)]
pub struct History {
    /// By gauge: its unit and its name there.
    pub names: Arc<Vec<(String, String)>>,
    kept: Arc<Mutex<Vec<Change>>>,
}

impl History {
    /// Follows gauges.
    pub fn new(gauges: &[Gauge]) -> Self {
        let names = gauges.iter().map(|gauge| (gauge.unit.clone(), gauge.name.clone())).collect();
        Self { names: Arc::new(names), kept: Arc::default() }
    }

    /// Takes the changes.
    pub fn take(&self) -> Vec<Change> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Follower for History {
    fn change(&mut self, at: Time, gauge: usize, value: Option<u64>) -> Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push((at, gauge as u32, value));
        Ok(())
    }

    fn finish(&mut self, _: Time) -> Result<()> {
        Ok(())
    }
}
