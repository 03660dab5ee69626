//! What stands at a node of a cluster, whatever it is.

use pinion_sim::node::{Node, Ports, RestoreError, SaveError, Saved, Trouble};

use super::frames_end::FramesEnd;
use super::load_end::LoadEnd;
use super::nano_end::NanoEnd;
use super::rows::{LoadRow, NodeRow};
#[cfg(target_os = "linux")]
use super::spin_end::Counted;
use super::spin_end::SpinEnd;
use super::summary::Ended;
#[cfg(target_os = "linux")]
use crate::nanoservice::ears::Ears;
use crate::nanoservice::run::Settling;
#[cfg(target_os = "linux")]
use pinion_nanopu::event::Deaf;

/// What stands at a node.
pub enum End<'a> {
    /// A nanoPU.
    Nano(Box<NanoEnd>),
    /// A nanoPU that is traced.
    Traced(Box<NanoEnd<Box<dyn Settling + Send + 'a>>>),
    /// A sPIN NIC.
    Spin(Box<SpinEnd<'a>>),
    /// A load generator.
    Load(Box<LoadEnd<'a>>),
    /// Frames from elsewhere.
    Frames(Box<FramesEnd>),
}

/// What is counted at a node, apart from its state.
#[cfg(target_os = "linux")]
pub(super) enum Counts {
    Nano(Box<Ears<Deaf>>),
    Spin(Box<Counted>),
    /// It is part of its state.
    Nothing,
}

/// Calls a method of whatever it is.
macro_rules! each {
    ($end:expr, $inner:ident => $call:expr) => {
        match $end {
            End::Nano($inner) => $call,
            End::Traced($inner) => $call,
            End::Spin($inner) => $call,
            End::Load($inner) => $call,
            End::Frames($inner) => $call,
        }
    };
}

impl End<'_> {
    /// Keeps what comes in from elsewhere, so that it can be saved.
    pub fn keep(&mut self) {
        if let End::Frames(end) = self {
            end.keep();
        }
    }

    /// Lets who traces it write what is left of a run until cycle `now`.
    pub(super) fn complete(&mut self, now: u64) -> pinion_app::Result<()> {
        match self {
            End::Traced(end) => end.complete(),
            End::Spin(end) => end.complete(now),
            End::Nano(_) | End::Load(_) | End::Frames(_) => Ok(()),
        }
    }

    /// Tells what is inside that somebody waits for.
    #[cfg(target_os = "linux")]
    pub(super) fn holds(&self) -> crate::live::Holds {
        use crate::live::Holds;
        let (works, holds) = match self {
            End::Nano(end) => (end.works(), end.holds()),
            End::Traced(end) => (end.works(), end.holds()),
            End::Spin(end) => (end.is_active(), false),
            End::Load(end) => (end.is_open(), false),
            End::Frames(end) => (end.is_waiting(), false),
        };
        match (works, holds) {
            (true, _) => Holds::Work,
            (false, true) => Holds::Messages,
            (false, false) => Holds::Nothing,
        }
    }

    /// Gives counts in which nothing is.
    #[cfg(target_os = "linux")]
    pub(super) fn blank_counts(&self) -> Counts {
        match self {
            End::Nano(end) => Counts::Nano(Box::new(end.blank_ears())),
            End::Traced(end) => Counts::Nano(Box::new(end.blank_ears())),
            End::Spin(end) => Counts::Spin(Box::new(end.blank_counts())),
            End::Load(_) | End::Frames(_) => Counts::Nothing,
        }
    }

    /// Has other counts than its own from now on.
    #[cfg(target_os = "linux")]
    pub(super) fn exchange_counts(&mut self, counts: &mut Counts) {
        match (self, counts) {
            (End::Nano(end), Counts::Nano(ears)) => end.exchange_counts(ears),
            (End::Traced(end), Counts::Nano(ears)) => end.exchange_counts(ears),
            (End::Spin(end), Counts::Spin(counted)) => end.exchange_counts(counted),
            _ => {}
        }
    }

    /// Gives what its programs have printed.
    #[cfg(target_os = "linux")]
    pub(super) fn console(&self) -> &[u8] {
        match self {
            End::Nano(end) => end.console(),
            End::Traced(end) => end.console(),
            End::Spin(end) => end.console().as_bytes(),
            End::Load(_) | End::Frames(_) => &[],
        }
    }

    /// Sums the node up when the run has ended so; a load generator's load as well.
    pub(super) fn row(
        &self,
        number: usize,
        name: &str,
        ended: &Ended,
    ) -> (NodeRow, Option<LoadRow>) {
        match self {
            End::Nano(end) => (end.row(number, name, ended), None),
            End::Traced(end) => (end.row(number, name, ended), None),
            End::Spin(end) => (end.row(number, name, ended), None),
            End::Load(end) => {
                let (node, load) = end.row(number, name, ended);
                (node, Some(load))
            }
            End::Frames(end) => (end.row(number, name), None),
        }
    }
}

impl Node for End<'_> {
    fn arrive(&mut self, port: usize, first_flit: u64, frame: Vec<u8>) {
        each!(self, end => end.arrive(port, first_flit, frame));
    }

    fn run(&mut self, until: u64, ports: &mut dyn Ports) {
        each!(self, end => end.run(until, ports));
    }

    fn next_cycle(&mut self) -> Option<u64> {
        each!(self, end => end.next_cycle())
    }

    fn moved(&self) -> u64 {
        each!(self, end => end.moved())
    }

    fn is_open(&self) -> bool {
        each!(self, end => end.is_open())
    }

    fn has_failed(&self) -> bool {
        each!(self, end => end.has_failed())
    }

    fn rests(&mut self, now: u64) {
        each!(self, end => end.rests(now));
    }

    fn trouble(&mut self) -> Option<Trouble> {
        each!(self, end => end.trouble())
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        each!(self, end => end.state(tell));
    }

    fn save(&self) -> Result<Saved, SaveError> {
        each!(self, end => end.save())
    }

    fn restore(&mut self, saved: &Saved) -> Result<(), RestoreError> {
        each!(self, end => end.restore(saved))
    }
}
