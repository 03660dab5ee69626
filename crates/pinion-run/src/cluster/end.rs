//! What stands at a node of a cluster, whatever it is.

use pinion_net::fabric::Member;
use pinion_net::link::Endpoint;

use super::load_end::LoadEnd;
use super::nano_end::NanoEnd;
use super::rows::{LoadRow, NodeRow};
use super::spin_end::SpinEnd;
use super::summary::Ended;

/// Is what stands at a node.
pub enum End {
    /// A nanoPU.
    Nano(Box<NanoEnd>),
    /// A sPIN NIC.
    Spin(Box<SpinEnd>),
    /// A load generator.
    Load(Box<LoadEnd>),
}

/// Calls a method of whatever it is.
macro_rules! each {
    ($end:expr, $inner:ident => $call:expr) => {
        match $end {
            End::Nano($inner) => $call,
            End::Spin($inner) => $call,
            End::Load($inner) => $call,
        }
    };
}

impl End {
    /// Sums the node up when the run has ended so; a load generator's load as well.
    pub(super) fn row(self, number: usize, name: &str, ended: Ended) -> (NodeRow, Option<LoadRow>) {
        match self {
            End::Nano(end) => (end.row(number, name, ended), None),
            End::Spin(end) => (end.row(number, name, ended), None),
            End::Load(end) => {
                let (node, load) = end.row(number, name, ended);
                (node, Some(load))
            }
        }
    }
}

impl Endpoint for End {
    fn arrive(&mut self, first_flit: u64, frame: &[u8]) {
        each!(self, end => end.arrive(first_flit, frame));
    }

    fn run(&mut self, until: u64, send: &mut dyn FnMut(u64, u64, &[u8])) {
        each!(self, end => end.run(until, send));
    }

    fn next_cycle(&mut self) -> Option<u64> {
        each!(self, end => end.next_cycle())
    }
}

impl Member for End {
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
}
