//! Who may take part in a live run, turn by turn, and take the place of the simulation: a debugger.

use std::os::fd::BorrowedFd;

use pinion_observe::report::Collector;
use pinion_spin::Units;

use super::slices::Slices;
use super::{Faults, Outside};
use crate::watch::Observer;
use pinion_app::app::App;
use pinion_app::error::Result;

/// Takes part in a live run.
pub trait Guest {
    /// Lists what tells that there is something for it to do.
    fn fds(&self) -> Vec<BorrowedFd<'_>>;

    /// Takes part in a turn; `true`: it has had the subject go on, or stand, and nobody else shall.
    ///
    /// # Errors
    /// When a device is lost, or an output fails.
    fn take_turn(
        &mut self,
        lent: Lent<'_>,
        outside: &mut Outside,
        observer: &mut dyn Observer,
    ) -> Result<bool>;
}

/// What a guest gets of a live run for a turn.
pub enum Lent<'a> {
    /// Packet handlers on a simulated NIC.
    Handlers(Handlers<'a>),
    /// Something that cannot be lent: what it is.
    Other(&'static str),
}

/// A simulated NIC, and what is known of its run.
pub struct Handlers<'a> {
    /// The application.
    pub app: &'a App,
    /// The NIC.
    pub nic: &'a mut Units,
    /// Hears it.
    pub collector: &'a mut Collector,
    /// Where its time stands.
    pub slices: &'a mut Slices,
    /// Numbers of equal faults.
    pub faults: &'a mut Faults,
}

/// Nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGuest;

impl Guest for NoGuest {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn take_turn(&mut self, _: Lent<'_>, _: &mut Outside, _: &mut dyn Observer) -> Result<bool> {
        Ok(false)
    }
}
