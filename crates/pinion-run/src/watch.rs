//! Who watches a run, whatever is run: hears what is printed and what goes wrong as it happens, hears how
//! far the run is, and may end it.

use std::time::{Duration, Instant};

use pinion_observe::profile::Profile;
use pinion_observe::report::{Report, Sink};
use pinion_sim::Time;

/// Aims at this much host time between two calls of [`Observer::goes_on`].
const SLICE_HOST: Duration = Duration::from_millis(50);

/// Watches a run: hears what comes out and may stop it.
pub trait Observer: Sink {
    /// Hears, in a live run, that the devices are open and frames are taken.
    fn started(&mut self) {}
    /// Is called many times a second; answers whether to go on.
    fn goes_on(&mut self, _progress: &Progress) -> bool {
        true
    }
    /// Takes whole lines of what a nanoservice's program printed.
    fn console(&mut self, _text: &str) {}
    /// Takes a remark about how the run goes, or about what a program does wrong.
    fn notice(&mut self, _text: &str) {}
    /// Is shown, in a live run, what is simulated as it stands between two turns.
    fn sees(&mut self, _seen: &mut dyn Seen) {}
}

/// What is simulated in a live run, for who looks at it between two turns.
pub trait Seen {
    /// Sums up what has happened so far.
    fn report(&mut self) -> Box<dyn Report>;

    /// Gives the simulated time that it has come to.
    fn simulated(&self) -> Time;

    /// Tells names and numbers of what its units hold.
    fn state(&self, tell: &mut dyn FnMut(&str, u64));

    /// Listens to every instruction from now on, or no longer; what cannot do that goes on as it did.
    fn listen(&mut self, _closely: bool) {}

    /// Gives where cycles went while it listened, by program.
    fn profiles(&self) -> Vec<Profile<'_>> {
        Vec::new()
    }
}

/// Tells how far a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Number of packets taken, or of requests sent.
    pub done: u64,
    /// Number of those there are, where that is known.
    pub total: Option<u64>,
    /// The simulated time.
    pub simulated: Time,
    /// The time the run has taken so far.
    pub host: Duration,
}

impl Progress {
    /// Tells how far a live run is that began so: nobody knows how many packets there will be.
    pub fn live(simulated: Time, begun: Instant) -> Self {
        Self { done: 0, total: None, simulated, host: begun.elapsed() }
    }
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Sink for Unobserved {}
impl Observer for Unobserved {}

/// Chooses how much to simulate before the observer is called again, so that it takes about
/// [`SLICE_HOST`]. It decides nothing else: no result may depend on it.
pub(crate) struct Slice {
    length: u64,
    least: u64,
    most: u64,
    begun: Instant,
}

impl Slice {
    /// Begins with the least, because nothing is known yet.
    pub fn new(least: u64, most: u64) -> Self {
        Self { length: least, least, most, begun: Instant::now() }
    }

    /// Begins a slice, and gives how much it is.
    pub fn begin(&mut self) -> u64 {
        self.begun = Instant::now();
        self.length
    }

    /// Ends a slice: the next is longer if it was short, and shorter if it was long.
    pub fn end(&mut self) {
        let took = self.begun.elapsed();
        if took < SLICE_HOST / 2 {
            self.length = self.length.saturating_mul(2).min(self.most);
        } else if took > SLICE_HOST * 2 {
            self.length = (self.length / 2).max(self.least);
        }
    }
}
