//! Between a fabric's run and whoever watches it: after each window it is decided, from what all ranks
//! know, whether the run goes on; now and then the observer hears how far it is.

use std::time::{Duration, Instant};

use pinion_net::fabric::{Journal, Status, Watcher};
use pinion_net::topology::Place;
use pinion_sim::Clock;

use super::tracing::NetworkTracer;
use crate::watch::{Observer, Progress};
use pinion_app::error::Error;
use pinion_observe::report::Ending;

/// Tells the observer about this often.
const INTERVAL: Duration = Duration::from_millis(50);
/// Looks at the host's clock once in so many windows.
const WINDOWS: u32 = 64;

/// Watches a cluster.
pub(super) struct Observed<'a> {
    pub observer: &'a mut dyn Observer,
    pub clock: Clock,
    /// The run waits for programs to end.
    pub waits: bool,
    pub patience: u64,
    /// How the run ended, once it has.
    pub ending: Option<Ending>,
    /// Who hears what happens to frames.
    pub network: Option<Box<dyn NetworkTracer + Send + 'a>>,
    /// The error that ended the run.
    pub error: Option<Error>,
    begun: Instant,
    last: Instant,
    windows: u32,
    now: u64,
    stops: bool,
}

impl<'a> Observed<'a> {
    pub fn new(observer: &'a mut dyn Observer, clock: Clock, waits: bool, patience: u64) -> Self {
        let begun = Instant::now();
        Self {
            observer,
            clock,
            waits,
            patience,
            ending: None,
            network: None,
            error: None,
            begun,
            last: begun,
            windows: 0,
            now: 0,
            stops: false,
        }
    }
}

/// Tells how programs ended a run that `waits` for them, if they did.
pub fn ended(status: &Status, waits: bool) -> Option<Ending> {
    match (status.failed, status.open) {
        (1.., _) => Some(Ending::Failed),
        (0, 0) if waits => Some(Ending::Finished),
        _ => None,
    }
}

impl Watcher for Observed<'_> {
    fn stops(&mut self) -> bool {
        self.windows += 1;
        if self.windows.is_multiple_of(WINDOWS) && self.last.elapsed() >= INTERVAL {
            self.last = Instant::now();
            let simulated = self.clock.time(self.now);
            let host = self.begun.elapsed();
            let progress = Progress { done: 0, total: None, simulated, host };
            self.stops |= !self.observer.goes_on(&progress);
        }
        self.stops
    }

    fn passed(&mut self, place: Place, journal: &Journal) {
        if let Some(network) = &mut self.network {
            network.passed(place, journal);
        }
    }

    fn goes_on(&mut self, now: u64, status: &Status) -> bool {
        self.now = now;
        if let Some(Err(error)) = self.network.as_mut().map(|network| network.settle(now)) {
            self.error = Some(error);
            return false;
        }
        let patience_is_over = now.saturating_sub(status.moved) >= self.patience;
        let stuck = || patience_is_over.then(|| Ending::Stuck(String::new()));
        self.ending = ended(status, self.waits).or_else(stuck);
        self.ending.is_none()
    }
}
