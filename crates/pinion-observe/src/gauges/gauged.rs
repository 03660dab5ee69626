//! Between a run and who follows its gauges: hears the run, and hands changes over when they are settled.

use pinion_nanopu::Cycle;
use pinion_sim::Time;
use pinion_sim::probe::{Hears, Vocabulary};
use pinion_spin::Spin;

use super::{Gauges, NanoGauges, Sink};
use crate::settling::Settling;
use crate::trace::Tracer;
use pinion_app::error::Result;

/// Hears a machine and passes on how its gauges change.
#[derive(Debug)]
pub struct Gauged<G, S> {
    ears: G,
    /// Who takes the changes.
    pub sink: S,
}

impl<G: Gauges, S: Sink> Gauged<G, S> {
    /// Puts ears in front of a sink.
    pub fn new(ears: G, sink: S) -> Self {
        Self { ears, sink }
    }

    fn settle_gauges(&mut self, until: Time) -> Result<()> {
        self.ears.settle(until);
        self.ears.hand_over(&mut self.sink);
        self.sink.settle(until)
    }

    fn finish_gauges(&mut self, now: Time) -> Result<()> {
        self.ears.settle(Time::MAX);
        self.ears.hand_over(&mut self.sink);
        self.sink.finish(now)
    }
}

impl<V: Vocabulary, G: Hears<V>, S> Hears<V> for Gauged<G, S> {
    fn interest(&self) -> V::Interest {
        self.ears.interest()
    }

    fn hear(&mut self, event: &V::Event<'_>) {
        self.ears.hear(event);
    }
}

impl<G: Gauges + Hears<Spin>, S: Sink> Tracer for Gauged<G, S> {
    fn end(&self) -> Time {
        self.sink.end()
    }

    fn settle(&mut self, until: Time) -> Result<()> {
        self.settle_gauges(until)
    }

    fn finish(&mut self, now: Time) -> Result<()> {
        self.finish_gauges(now)
    }
}

impl<S: Sink> Settling for Gauged<NanoGauges, S> {
    fn settle(&mut self, cycle: Cycle) -> Result<()> {
        match cycle {
            Cycle::MAX => self.finish_gauges(self.ears.last()),
            cycle => self.settle_gauges(self.ears.time(cycle)),
        }
    }
}
