//! What was at a moment, to come back to.

use std::sync::Arc;

use pinion_python_guard::guarded;
use pinion_sim::Time;
use pinion_sim::node::Saved;
use pyo3::prelude::*;

use super::ears::Told;
use crate::again::{Origin, made_by};

/// What a NIC was at a moment.
#[pyclass(frozen, module = "pinion")]
pub struct Snapshot {
    pub(super) saved: Saved,
    pub(super) now: Time,
    pub(super) last: Time,
    pub(super) told: Told,
    pub(super) pulled: usize,
    /// How much had been done to it.
    pub(super) steps: usize,
    pub(super) identity: Arc<()>,
    pub(super) origin: Origin,
}

made_by!(Snapshot, |it| it.origin);

#[guarded]
#[pymethods]
impl Snapshot {
    /// The time of the moment, in nanoseconds of simulated time.
    #[getter]
    fn now_ns(&self) -> f64 {
        self.now.ns()
    }

    fn __repr__(&self) -> String {
        format!("<pinion.Snapshot at {}>", self.now)
    }
}
