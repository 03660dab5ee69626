//! Who hears a nanoPU in parts of a run: after each it is told up to when everything has been heard.

use pinion_nanopu::Cycle;
use pinion_nanopu::event::NanoPu;
use pinion_sim::probe::Both;

use crate::profile::Profile;
use pinion_app::error::Result;

/// Hears a nanoPU, and is told up to which cycle everything has been heard.
pub trait Settling: pinion_nanopu::event::Listener {
    /// Hears that nothing more comes before this cycle.
    ///
    /// # Errors
    /// When what it writes cannot be written.
    fn settle(&mut self, _cycle: Cycle) -> Result<()> {
        Ok(())
    }

    /// Tells whether it wants to hear nothing more.
    fn is_over(&self) -> bool {
        false
    }

    /// Listens closely from now on, or no longer, where it is one that can.
    fn listen(&mut self, _closely: bool) {}

    /// Gives where cycles went while it listened closely, where it is one that can.
    fn profile(&self) -> Option<Profile<'_>> {
        None
    }
}

impl Settling for pinion_nanopu::event::Deaf {}

impl<L: Settling + ?Sized> Settling for &mut L {
    fn settle(&mut self, cycle: Cycle) -> Result<()> {
        (**self).settle(cycle)
    }

    fn is_over(&self) -> bool {
        (**self).is_over()
    }
}

impl<A: Settling, B: Settling> Settling for Both<NanoPu, A, B> {
    fn settle(&mut self, cycle: Cycle) -> Result<()> {
        self.first.settle(cycle)?;
        self.second.settle(cycle)
    }

    fn is_over(&self) -> bool {
        self.first.is_over() && self.second.is_over()
    }
}

impl<L: Settling + ?Sized> Settling for Box<L> {
    fn settle(&mut self, cycle: Cycle) -> Result<()> {
        (**self).settle(cycle)
    }

    fn is_over(&self) -> bool {
        (**self).is_over()
    }
}
