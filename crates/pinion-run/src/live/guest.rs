//! Who may take part in a live run, turn by turn, and take the place of the simulation: a debugger.

use std::any::Any;
use std::os::fd::BorrowedFd;

use pinion_observe::report::Collector;
use pinion_sim::node::{RestoreError, SaveError, Saved};
use pinion_spin::Units;

use super::slices::Slices;
use super::{Faults, Outside, Standing};
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

    /// Leaves, for the run is over: what it was lent has to come to where it was never before.
    ///
    /// # Errors
    /// When an output fails.
    fn leave(
        &mut self,
        lent: Lent<'_>,
        outside: &mut Outside,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let _ = (lent, outside, observer);
        Ok(())
    }
}

/// What a guest gets of a live run for a turn.
pub enum Lent<'a> {
    /// Packet handlers on a simulated NIC.
    Handlers(Handlers<'a>),
    /// A nanoPU or a cluster.
    Nodes(&'a mut dyn Lends),
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

/// Nodes whose time is counted in cycles, as a guest deals with them: it has a copy go on in their place, and
/// gives back what that came to.
pub trait Lends {
    /// Saves nodes and times, for a copy of the same nodes.
    ///
    /// # Errors
    /// When some of it lies outside the simulation.
    fn save(&self) -> std::result::Result<Saved, SaveError>;

    /// Goes to where a copy was saved.
    ///
    /// # Errors
    /// When it is one of other nodes.
    fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError>;

    /// Has other books than its own from now on.
    fn exchange_books(&mut self, books: &mut Books);

    /// Stands for the copy, which has come so far; or for itself again.
    fn stand_for(&mut self, copy: Option<(Standing, u64)>);
}

/// What is kept of a run beside the state of its nodes, which each event goes into once: numbers, and what the
/// observer was told. Who keeps them knows their type.
pub struct Books(Box<dyn Any + Send>);

impl Books {
    /// Takes books.
    pub fn new(books: impl Any + Send) -> Self {
        Self(Box::new(books))
    }

    /// Gives them.
    ///
    /// # Panics
    /// When they are another kind of run's.
    pub fn get<B: Any>(&mut self) -> &mut B {
        self.0.downcast_mut().expect("books go back to where they came from")
    }
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
