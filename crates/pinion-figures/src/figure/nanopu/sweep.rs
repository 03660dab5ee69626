//! The load of the published evaluations: requests at random, answered within some patience.

use pinion_net::load::{Arrivals, Distribution, LoadSpec, Timing};

use crate::figure::{Parameters, Setting};
use pinion_app::error::Result;

/// Says which requests come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep {
    /// How many.
    pub requests: u64,
    /// Cycles after which the generator is asked again; 0: each comes when it is due.
    pub window_cycles: u64,
    /// Mean cycles between two.
    pub gap_cycles: f64,
}

impl Sweep {
    /// Takes the numbers from a figure's parameters.
    pub(super) fn of(parameters: &Parameters, gap_cycles: f64) -> Result<Self> {
        let whole = |name| parameters.whole(name);
        Ok(Self {
            requests: whole("requests")?,
            window_cycles: whole("window_cycles")?,
            gap_cycles,
        })
    }

    /// Makes the load.
    pub(super) fn load(&self, setting: &Setting<'_>, service: Distribution) -> LoadSpec {
        let timing = match self.window_cycles {
            0 => Timing::Exact,
            window_cycles => Timing::Windowed { window_cycles },
        };
        let gap = Distribution::Exponential { mean_cycles: self.gap_cycles };
        // The published evaluation waits as long as twice all requests take, one after the other.
        let patience = 2.0 * self.requests as f64 * service.mean_cycles();
        LoadSpec {
            seed: setting.seed,
            requests: self.requests,
            arrivals: Arrivals::Open { gap, timing },
            patience_cycles: (patience as u64).max(1_000_000),
            service,
            ..LoadSpec::default()
        }
    }
}
