//! What happens in a sPIN NIC, instruction by instruction or unit by unit.
//!
//! A [`Tracer`] hears a run ([`pinion_run::run::trace`]): [`TextTrace`] writes a line per instruction and
//! event, [`perfetto::NicTrace`] a file that Perfetto shows as tracks. Nothing of this costs anything
//! in runs without a tracer.

mod code;
mod events;
mod filter;
mod inside;
mod lines;
pub mod perfetto;
mod registers;
mod text;
mod when;

use pinion_sim::Time;
use pinion_spin::{Event, Interest, Listener};

use pinion_app::error::Result;

pub use filter::{Choice, Filter, handler_name};
pub use lines::SourceLines;
pub use text::TextTrace;
pub use when::When;

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

    /// Takes note that nothing earlier than `until`, or then, comes any more.
    ///
    /// # Errors
    /// When the trace cannot be written.
    fn settle(&mut self, until: Time) -> Result<()>;

    /// Completes the trace of a run that ended at `now`.
    ///
    /// # Errors
    /// When the trace cannot be written.
    fn finish(&mut self, now: Time) -> Result<()>;

    /// Tells that there was nothing to write.
    fn is_empty(&self) -> bool {
        false
    }

    /// Tells that nobody reads any more what it writes.
    fn is_over(&self) -> bool {
        false
    }
}

/// Lets two hear the same run, each what it is interested in.
pub struct Both<'a> {
    /// Hears first.
    pub first: &'a mut dyn Listener,
    /// Hears then.
    pub second: &'a mut dyn Listener,
    interests: [Interest; 2],
}

impl<'a> Both<'a> {
    /// Puts two together.
    pub fn new(first: &'a mut dyn Listener, second: &'a mut dyn Listener) -> Self {
        let interests = [first.interest(), second.interest()];
        Self { first, second, interests }
    }
}

impl Listener for Both<'_> {
    fn interest(&self) -> Interest {
        let [a, b] = self.interests;
        Interest {
            handlers: a.handlers || b.handlers,
            host_writes: a.host_writes || b.host_writes,
            units: a.units || b.units,
            instructions: a.instructions || b.instructions,
        }
    }

    fn hear(&mut self, event: &Event<'_>) {
        let wants = |interest: &Interest| match event {
            Event::HandlerStarted { .. } | Event::HandlerDone(_) => interest.handlers,
            Event::HostWrite { .. } => interest.host_writes,
            Event::Unit(_) | Event::PacketTaken { .. } | Event::Transfer(_) => interest.units,
            Event::Instruction(_) => interest.instructions,
            _ => true,
        };
        if wants(&self.interests[0]) {
            self.first.hear(event);
        }
        if wants(&self.interests[1]) {
            self.second.hear(event);
        }
    }
}
