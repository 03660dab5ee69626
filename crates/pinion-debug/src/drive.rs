//! How a node gets on: alone on its packets, or among the nodes of a network. The same machine is
//! debugged whichever it is.

use pinion_app::error::Result;
use pinion_sim::node::Saved;

use crate::log::Log;
use crate::terms::Reached;

/// Runs a node; what else it says is in [`Debuggee`](crate::debuggee::Debuggee).
pub trait Drive {
    /// What the node is.
    type Node;

    /// Looks at the node where it is.
    fn look<R>(&self, look: impl FnOnce(&Self::Node) -> R) -> R;

    /// Looks at the node as it was to be shown; where it is, if nothing was.
    fn look_shown<R>(&self, look: impl FnOnce(&Self::Node) -> R) -> R {
        self.look(look)
    }

    /// Goes on until everything up to a cycle of the node has happened, or somewhat further.
    ///
    /// # Errors
    /// When what comes in cannot be read.
    fn run(&mut self, cycle: u64, log: &mut Log<'_>) -> Result<Reached>;

    /// Saves the node and what it stands among.
    ///
    /// # Errors
    /// When some of it lies outside the simulation.
    fn save(&self) -> Result<Saved>;

    /// Goes to where it was saved.
    ///
    /// # Errors
    /// When it was another run.
    fn restore(&mut self, saved: &Saved) -> Result<()>;

    /// Shows the node as it is at the end of an earlier cycle.
    ///
    /// # Errors
    /// Those of [`Drive::run`].
    fn show(&mut self, from: &Saved, cycle: u64, log: &mut Log<'_>) -> Result<()> {
        let _ = (from, cycle, log);
        Ok(())
    }

    /// Lets [`Drive::run`] stop in every cycle, for memory that units write is compared; or not.
    fn dwell(&mut self, in_every_cycle: bool) {
        let _ = in_every_cycle;
    }

    /// Counts the nodes that are saved with it.
    fn others(&self) -> u64 {
        0
    }
}
