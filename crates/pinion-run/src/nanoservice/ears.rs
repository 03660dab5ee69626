//! Who hears a node of a nanoservice: what happens inside is counted, and all of it, frames included,
//! passed on.

use pinion_nanopu::event::{Event, Listener, NanoPu, Retirements, Told};
use pinion_sim::probe::Hears;

use super::frames::Frames;

/// Counts what a hart did.
#[derive(Debug, Clone, Copy, Default)]
pub struct HartCounts {
    /// Number of messages that it was given.
    pub messages: u64,
    /// Number of messages that it said it was done with.
    pub done: u64,
    /// Number of traps that it took, interrupts among them.
    pub traps: u64,
    /// Number of words that it sent.
    pub words_out: u64,
}

/// Hears a node, and passes all on to a second listener.
pub struct Ears<L> {
    /// The second listener.
    pub other: L,
    /// Hears of its frames.
    pub frames: Frames,
    /// Number of by hart.
    pub harts: Vec<HartCounts>,
    /// Number of timeouts of messages.
    pub timeouts: u64,
}

impl<L> Ears<L> {
    /// Listens to a node of so many harts.
    pub fn new(harts: usize, frames: Frames, other: L) -> Self {
        Self { other, frames, harts: vec![HartCounts::default(); harts], timeouts: 0 }
    }
}

impl<L: Listener> Hears<NanoPu> for Ears<L> {
    fn interest(&self) -> Retirements {
        self.other.interest()
    }

    // Where units say it, what is said is known, and what nobody counts costs nothing.
    #[inline(always)]
    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Event { event, .. } => self.count(event),
            Told::Retired { .. }
            | Told::Taken { .. }
            | Told::Stored { .. }
            | Told::Excepted { .. }
            | Told::Waypoint { .. } => {}
            Told::Arrived { first_flit, frame } => self.frames.arrived(first_flit, frame),
            Told::Left { first_flit, last_flit, frame } => {
                self.frames.left(first_flit, last_flit, frame);
            }
        }
        self.other.hear(told);
    }
}

impl<L> Ears<L> {
    /// Exchanges what was counted with other ears.
    pub fn exchange_counts<M>(&mut self, other: &mut Ears<M>) {
        std::mem::swap(&mut self.frames, &mut other.frames);
        std::mem::swap(&mut self.harts, &mut other.harts);
        std::mem::swap(&mut self.timeouts, &mut other.timeouts);
    }

    #[inline(always)]
    fn count(&mut self, event: Event) {
        let hart = |hart: u8| usize::from(hart);
        match event {
            Event::GlobalReceiveOut { hart: number, last } => {
                self.harts[hart(number)].messages += u64::from(last);
            }
            Event::MessageDone { hart: number } => self.harts[hart(number)].done += 1,
            Event::TransmitWord { hart: number } => self.harts[hart(number)].words_out += 1,
            Event::Trap { hart: number } => self.harts[hart(number)].traps += 1,
            Event::Timeout => self.timeouts += 1,
            _ => {}
        }
    }
}
