//! How a node gets on: alone on its packets, or among the nodes of a network. The same machine is
//! debugged whichever it is.

use pinion_app::error::Result;
use pinion_sim::node::Saved;

use crate::log::Log;
use crate::terms::Reached;

/// Runs a node; the methods are those of [`Debuggee`](crate::debuggee::Debuggee).
pub trait Drive {
    /// What the node is.
    type Node;

    /// Gives the node: where it is, or as it was to be shown.
    fn node(&self) -> &Self::Node;

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
}
