//! What every component of a simulated network is: the contract between a fabric and a sPIN NIC, a
//! nanoPU, a DMA NIC, a switch, a load generator, and whatever is put between them.
//!
//! # What a node is
//!
//! A [`Node`] has ports, numbered from 0. Frames reach it at a port's pins in a cycle, and it sends
//! frames through its ports in later ones. All cycles are those of the one clock that the fabric
//! counts; a node whose units have another clock turns them into its own and back. A frame crosses
//! the pins [`FLIT_BYTES`] a cycle without gaps, so [`flits`] says how long: the cycle of its first
//! flit says when each of its bytes is there.
//!
//! Whoever runs a node (a *driver*: a fabric, a pair of nodes, a debugger) does three things in turn:
//!
//! 1. It hands over every frame that arrives before some cycle `until` ([`Node::arrive`]).
//! 2. It lets the node do everything that happens before `until` ([`Node::run`]). The node hands over
//!    every frame whose first flit reaches its pins before `until`.
//! 3. It asks when the node wants to run next ([`Node::next_cycle`]), and does not call it before,
//!    unless a frame arrives.
//!
//! # Why windows
//!
//! A node is not called in every cycle. It is called for a *window*, which is no longer than the
//! shortest cable is slow: what is sent within a window arrives in a later one, so all nodes of a
//! window can run in any order, on any number of threads and computers, with the same result. This
//! is what a node promises in return: **where a run is cut into windows makes no difference** to what
//! it sends. One call in a window is all that the contract costs; inside, a node is plain code, with
//! its own order of events. It also means that a virtual call is cheap here: what is in a fabric may be
//! a `Box<dyn Node>` as well as a type of its own.
//!
//! # Why frames are owned
//!
//! Frames change hands as `Vec<u8>`. Most of those who take one keep it for a while (a cable, a
//! queue, a packet buffer), and none of those who give one away needs it any more. So a frame crosses
//! a whole network without being copied.
//!
//! # Being asked
//!
//! A node tells how it stands in few words ([`Node::moved`], [`Node::is_open`], [`Node::has_failed`]),
//! which is what a driver needs to know when a run is over. Everything else can be asked for by name:
//! [`Node::state`] visits names such as `mpq.ready` or `core.0.pc` with their numbers. The names are
//! those of the papers' block diagrams, from the outside in, and are as stable as the units are: they
//! are meant for a person, a debugger and a test, not for keeping.
//!
//! # Being saved
//!
//! [`Node::save`] takes everything that decides what the node does from now on, and
//! [`Node::restore`] puts it back: into the same node, to run it again from there, or into another
//! that was built alike. From then on both send the same bytes in the same cycles. What is taken is
//! opaque and lives in memory ([`Saved`]): it is a copy of the node's own state, for going back within
//! a process, not a file format.
//!
//! Who listens to a node is not part of it. A capture, a trace or a table of statistics is
//! on the other side of the glass: it is not saved, and hears everything again that happens
//! again. Whoever goes back in time knows what it means for those who listen, and takes them off, or
//! puts fresh ones there.
//!
//! Some of what a node holds is neither here nor there: the kernel has a TAP device's frames, host
//! programs map a NIC's memory. Such a node says so with a [`SaveError`], and why.
//!
//! # Middleware
//!
//! What wraps a node is a node: a tap that writes down what passes, a fault injector. It hands
//! everything on that it does not change, state and saving included.
//!
//! # Required and optional
//!
//! [`Node::arrive`], [`Node::run`], [`Node::next_cycle`] and [`Node::moved`] every node has, and also
//! [`Node::save`] and [`Node::restore`]: a node that cannot be saved has to say why. The rest has
//! answers that fit a node that never ends, never fails and has nothing to tell.
//!
//! # Example
//!
//! A node that sends every frame back on the port it came by, some cycles after its last flit:
//!
//! ```
//! use std::collections::VecDeque;
//! use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, flits};
//!
//! #[derive(Clone, Default)]
//! struct Mirror {
//!     /// Port, cycle of the first flit, frame.
//!     waiting: VecDeque<(usize, u64, Vec<u8>)>,
//!     moved: u64,
//! }
//!
//! impl Node for Mirror {
//!     fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>) {
//!         let again = first_flit + flits(frame.len()) + 10;
//!         self.waiting.push_back((port, again, frame));
//!     }
//!
//!     fn run(&mut self, until: u64, ports: &mut dyn Ports) {
//!         while self.waiting.front().is_some_and(|(_, first, _)| *first < until) {
//!             let Some((port, first, frame)) = self.waiting.pop_front() else { break };
//!             self.moved = first;
//!             ports.send(port, first, first + flits(frame.len()) - 1, frame);
//!         }
//!     }
//!
//!     fn next_cycle(&mut self) -> Option<u64> {
//!         self.waiting.front().map(|(_, first, _)| *first)
//!     }
//!
//!     fn moved(&self) -> u64 {
//!         self.moved
//!     }
//!
//!     fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
//!         tell("waiting", self.waiting.len() as u64);
//!     }
//!
//!     fn save(&self) -> Result<Saved, SaveError> {
//!         Ok(Saved::new(self.clone()))
//!     }
//!
//!     fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
//!         *self = saved.get::<Self>()?.clone();
//!         Ok(())
//!     }
//! }
//!
//! let mut mirror = Mirror::default();
//! mirror.arrive(0, 100, vec![7; 64]); // 8 flits: cycles 100 to 107
//! assert_eq!(mirror.value("waiting"), Some(1));
//!
//! let saved = mirror.save()?;
//! for _ in 0..2 {
//!     assert_eq!(mirror.next_cycle(), Some(118));
//!     let mut sent = Vec::new();
//!     mirror.run(200, &mut |port: usize, first: u64, last: u64, frame: Vec<u8>| {
//!         sent.push((port, first, last, frame.len()));
//!     });
//!     assert_eq!(sent, [(0, 118, 125, 64)]);
//!     mirror.restore(&saved)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod saved;

pub use saved::{RestoreError, SaveError, Saved};

/// Bytes that cross a port's pins in a cycle (nanoPU artifact: NIC pins of 64 bits).
pub const FLIT_BYTES: usize = 8;

/// Gives the cycles that a frame occupies the pins; one without bytes takes one.
pub const fn flits(frame_bytes: usize) -> u64 {
    let flits = frame_bytes.div_ceil(FLIT_BYTES);
    if flits == 0 { 1 } else { flits as u64 }
}

/// Why a node cannot go on for a reason outside the simulation: a disk that is full, a device that
/// is gone.
pub type Trouble = Box<dyn std::error::Error + Send + Sync>;

/// Takes what a node sends while it runs.
pub trait Ports {
    /// Takes a frame whose flits reach a port's pins from cycle `first_flit` to cycle `last_flit`.
    /// Those of one port come in order and do not overlap; what is sent through a port where no cable
    /// is goes nowhere.
    fn send(&mut self, port: usize, first_flit: u64, last_flit: u64, frame: Vec<u8>);
}

impl<F: FnMut(usize, u64, u64, Vec<u8>)> Ports for F {
    fn send(&mut self, port: usize, first_flit: u64, last_flit: u64, frame: Vec<u8>) {
        self(port, first_flit, last_flit, frame);
    }
}

/// A component of a simulated network; the [module](self) says what it promises.
pub trait Node {
    /// Takes a frame whose first flit reaches a port's pins in cycle `first_flit`, which was not run
    /// yet; further flits follow without a gap. Frames of one port come in order and do not overlap;
    /// those of several ports come in any order.
    fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>);

    /// Does everything that happens before cycle `until`, and hands over each frame whose first flit
    /// reaches a port's pins before it.
    fn run(&mut self, until: u64, ports: &mut dyn Ports);

    /// Gives the first cycle in which something can happen; `None`: nothing does before a frame
    /// arrives.
    fn next_cycle(&mut self) -> Option<u64>;

    /// Gives the last cycle in which something moved on inside that somebody could wait for.
    fn moved(&self) -> u64;

    /// Tells whether a run waits for it to end.
    fn is_open(&self) -> bool {
        false
    }

    /// Tells whether what it simulates failed: a program that exits with an error, a handler that
    /// faults.
    fn has_failed(&self) -> bool {
        false
    }

    /// Hears that nothing happens anywhere any more. What it has to do from then on is seen by
    /// [`Node::next_cycle`].
    fn rests(&mut self, now: u64) {
        let _ = now;
    }

    /// Gives, once, why it cannot go on for a reason outside the simulation.
    fn trouble(&mut self) -> Option<Trouble> {
        None
    }

    /// Tells names and numbers of its state: units first, parts behind dots.
    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        let _ = tell;
    }

    /// Gives one number of its state; `None`: there is no such name.
    fn value(&self, name: &str) -> Option<u64> {
        let mut found = None;
        self.state(&mut |other, value| {
            if other == name {
                found = Some(value);
            }
        });
        found
    }

    /// Saves everything that decides what it does from now on.
    ///
    /// # Errors
    /// When some of that lies outside the simulation.
    fn save(&self) -> Result<Saved, SaveError>;

    /// Goes back, or forward, to where a node of the same kind was saved.
    ///
    /// # Errors
    /// When what was saved is another kind of node's, or does not fit this one, which then stays as
    /// it is.
    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError>;
}

impl<N: Node + ?Sized> Node for Box<N> {
    fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>) {
        (**self).arrive(port, first_flit, frame);
    }
    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        (**self).run(until, ports);
    }
    fn next_cycle(&mut self) -> Option<u64> {
        (**self).next_cycle()
    }
    fn moved(&self) -> u64 {
        (**self).moved()
    }
    fn is_open(&self) -> bool {
        (**self).is_open()
    }
    fn has_failed(&self) -> bool {
        (**self).has_failed()
    }
    fn rests(&mut self, now: u64) {
        (**self).rests(now);
    }
    fn trouble(&mut self) -> Option<Trouble> {
        (**self).trouble()
    }
    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        (**self).state(tell);
    }
    fn save(&self) -> Result<Saved, SaveError> {
        (**self).save()
    }
    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        (**self).restore(saved)
    }
}

/// Tells the state of a part behind the name of that part: `ready` of `mpq` becomes `mpq.ready`.
pub fn tell_part(
    part: &str,
    tell: &mut dyn FnMut(&str, u64),
    state: impl FnOnce(&mut dyn FnMut(&str, u64)),
) {
    state(&mut |name, value| tell(&format!("{part}.{name}"), value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_a_cycle_for_each_eight_bytes() {
        assert_eq!([0, 1, 8, 9, 64].map(flits), [1, 1, 1, 2, 8]);
    }

    #[test]
    fn parts_stand_behind_their_unit() {
        let mut told = Vec::new();
        let mut tell = |name: &str, value| told.push((name.to_owned(), value));
        tell_part("mpq", &mut tell, |tell| {
            tell("ready", 3);
            tell_part("cells", tell, |tell| tell("free", 4));
        });
        assert_eq!(told, [("mpq.ready".to_owned(), 3), ("mpq.cells.free".to_owned(), 4)]);
    }
}
