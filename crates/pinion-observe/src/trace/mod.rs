//! What happens in a sPIN NIC, instruction by instruction or unit by unit.
//!
//! A [`Tracer`] hears a run (`trace` of pinion-run): [`TextTrace`] writes a line per instruction and
//! event, [`perfetto::NicTrace`] a file that Perfetto shows as tracks. Nothing of this costs anything
//! in runs without a tracer.

mod code;
mod events;
mod filter;
mod inside;
mod lines;
pub mod nano;
pub mod perfetto;
mod registers;
mod text;
mod ways;
mod when;
mod works;

use pinion_sim::Time;
use pinion_sim::probe::Both;
use pinion_spin::{Listener, Spin};

use pinion_app::error::Result;

pub use events::{INTERFACES, SEND};
pub use filter::{Choice, Filter, clock, handler_name};
pub use inside::{Inside, Packets};
pub use lines::SourceLines;
pub use text::{EARLY_CYCLES, TextTrace};
pub use ways::{FrameEars, FrameWays, Loss, Queue};
pub use when::When;
pub use works::Works;

/// Hears a run and writes what it hears.
pub trait Tracer: Listener {
    /// Tells when it wants to begin to listen closely; until then the run goes at full speed.
    fn begin(&self) -> Time {
        Time::ZERO
    }

    /// Tells when it wants to hear no more: the run ends there.
    fn end(&self) -> Time {
        Time::MAX
    }

    /// Takes note of a frame that comes by a cable, and when it is whole.
    fn comes_by_cable(&mut self, _whole: Time) {}

    /// Takes note that nothing earlier than `until`, or then, comes any more.
    ///
    /// # Errors
    /// When the trace cannot be written.
    fn settle(&mut self, _until: Time) -> Result<()> {
        Ok(())
    }

    /// Completes the trace of a run that ended at `now`.
    ///
    /// # Errors
    /// When the trace cannot be written.
    fn finish(&mut self, _now: Time) -> Result<()> {
        Ok(())
    }

    /// Tells that there was nothing to write.
    fn is_empty(&self) -> bool {
        false
    }

    /// Tells that nobody reads any more what it writes.
    fn is_over(&self) -> bool {
        false
    }
}

impl<T: Tracer + ?Sized> Tracer for &mut T {
    fn begin(&self) -> Time {
        (**self).begin()
    }

    fn end(&self) -> Time {
        (**self).end()
    }

    fn comes_by_cable(&mut self, whole: Time) {
        (**self).comes_by_cable(whole);
    }

    fn settle(&mut self, until: Time) -> Result<()> {
        (**self).settle(until)
    }

    fn finish(&mut self, now: Time) -> Result<()> {
        (**self).finish(now)
    }

    fn is_empty(&self) -> bool {
        (**self).is_empty()
    }

    fn is_over(&self) -> bool {
        (**self).is_over()
    }
}

impl<A: Tracer, B: Tracer> Tracer for Both<Spin, A, B> {
    fn begin(&self) -> Time {
        self.first.begin().min(self.second.begin())
    }

    fn end(&self) -> Time {
        self.first.end().max(self.second.end())
    }

    fn comes_by_cable(&mut self, whole: Time) {
        self.first.comes_by_cable(whole);
        self.second.comes_by_cable(whole);
    }

    fn settle(&mut self, until: Time) -> Result<()> {
        self.first.settle(until)?;
        self.second.settle(until)
    }

    fn finish(&mut self, now: Time) -> Result<()> {
        self.first.finish(now)?;
        self.second.finish(now)
    }

    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.second.is_empty()
    }

    fn is_over(&self) -> bool {
        self.first.is_over() && self.second.is_over()
    }
}
