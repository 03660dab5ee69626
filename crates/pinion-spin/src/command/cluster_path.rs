//! The NIC-host interconnect's way into the clusters' L1: copies from the host write there, sends and
//! copies to the host read.
//!
//! In: commands whose data lie in L1, from their interfaces, with the cycle in which each asks. Out: when
//! each one's last beat came back, or was written. Holds the bursts under way, and behind them commands
//! of the same master that go to L2: those wait until nothing in L1 is open. (RTL: nhi_xbar, cluster_noc,
//! nhi_port_wrap.)

use std::collections::VecDeque;

use pinion_sim::axi_path::{AxiPath, Burst, Way};

use super::interface::L1_RESPONSE_CYCLES;
use super::{Command, Kind};
use crate::Machine;
use crate::wake::Wake;

/// Names the lines on which commands go one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// What the off-cluster DMA reads.
    ToHost = 0,
    /// What the outbound engine reads.
    Sends = 1,
    /// What the off-cluster DMA writes.
    FromHost = 2,
}

/// A place in a cluster's L1.
#[derive(Clone, Copy, Debug)]
pub struct InL1 {
    /// The cluster.
    pub cluster: u32,
    /// The offset.
    pub offset: u32,
}

/// Lines that read.
const READERS: usize = 2;

impl Line {
    /// Gives a command's line; `None`: it touches no memory of the NIC.
    pub fn of(command: &Command) -> Option<Self> {
        match command.kind {
            Kind::HostDirect => None,
            Kind::Send => Some(Self::Sends),
            Kind::HostDma if command.to_host => Some(Self::ToHost),
            Kind::HostDma => Some(Self::FromHost),
        }
    }

    fn of_way(way: Way) -> Self {
        match way {
            Way::Read(0) => Self::ToHost,
            Way::Read(_) => Self::Sends,
            Way::Write => Self::FromHost,
        }
    }
}

/// Holds what goes to the clusters' L1.
#[derive(Clone, Debug)]
pub struct ClusterPath {
    path: AxiPath,
    /// Bytes of a beat.
    beat_bytes: u64,
    /// When to go on.
    pub wake: Wake,
    /// Cycles until a request of the off-cluster DMA is there: a queue, a register, a queue and two
    /// registers, of which the outbound engine has one. (RTL: axi_dma_backend.)
    request_cycles: u64,
    /// Cycles from the last beat of a copy to the host to its end.
    to_host_cycles: u64,
    /// By line: commands to elsewhere, with what came behind them.
    waiting: [VecDeque<u32>; 3],
    /// By line: cycle from which nothing of it is open elsewhere.
    clear_from: [u64; 3],
}

impl ClusterPath {
    /// Makes an idle way.
    pub fn new(machine: &Machine) -> Self {
        let command = &machine.command;
        let request_cycles = command.read_request_cycles;
        let clusters = machine.cluster.count;
        Self {
            path: AxiPath::new(READERS, clusters, command.source_switch_cycles),
            beat_bytes: command.port_bytes.into(),
            wake: Wake::default(),
            request_cycles,
            to_host_cycles: command.host_dma_cycles.saturating_sub(request_cycles),
            waiting: Default::default(),
            clear_from: [0; 3],
        }
    }

    /// Says whether commands of a line wait for others.
    pub fn has_waiting(&self, line: Line) -> bool {
        !self.waiting[line as usize].is_empty()
    }

    /// Says whether a command of a line has to wait that goes elsewhere.
    pub fn is_busy(&self, line: Line) -> bool {
        self.is_open(line) || self.has_waiting(line)
    }

    /// Says whether bursts of a line are on their way.
    fn is_open(&self, line: Line) -> bool {
        match line {
            Line::FromHost => self.path.has_writes(),
            _ => self.path.has_reads(line as usize),
        }
    }

    /// Lets a command wait until it can go elsewhere.
    pub fn wait(&mut self, line: Line, command: u32) {
        self.waiting[line as usize].push_back(command);
    }

    /// Takes the commands that waited, if nothing of their line is open.
    pub fn take_waiting(&mut self, line: Line) -> VecDeque<u32> {
        if self.is_open(line) {
            return VecDeque::new();
        }
        std::mem::take(&mut self.waiting[line as usize])
    }

    /// Notes that a command of a line went elsewhere and is done at cycle `done`.
    pub fn note_elsewhere(&mut self, line: Line, done: u64) {
        self.clear_from[line as usize] = done + 1 - self.later(line);
    }

    /// Lets a command read beats of a cluster's L1, which it can ask for at cycle `now`.
    pub fn ask(&mut self, now: u64, (line, place): (Line, InL1), beats: u64, command: u32) {
        let ahead = if line == Line::ToHost { self.request_cycles } else { 0 };
        let from = (now + ahead).max(self.clear_from[line as usize]);
        self.path.read(line as usize, self.burst(from, place, beats, command));
    }

    /// Lets a command write beats to a cluster's L1, the first of which is there in a cycle.
    pub fn write(&mut self, now: u64, to: (InL1, u64), beats: u64, command: u32) {
        let (place, data_from) = to;
        let from = (now + self.request_cycles).max(self.clear_from[Line::FromHost as usize]);
        self.path.write(self.burst(from, place, beats, command), data_from);
    }

    fn burst(&self, from: u64, place: InL1, beats: u64, command: u32) -> Burst {
        let line = u64::from(place.offset) / self.beat_bytes;
        Burst { from, memory: place.cluster, beats, line, token: command }
    }

    /// Gives the cycles from a command's last beat to its end.
    fn later(&self, line: Line) -> u64 {
        match line {
            Line::ToHost => self.to_host_cycles,
            Line::Sends => 1,
            Line::FromHost => L1_RESPONSE_CYCLES,
        }
    }

    /// Says whether nothing is on its way.
    #[inline]
    pub fn is_idle(&self) -> bool {
        ![Line::ToHost, Line::Sends, Line::FromHost].into_iter().any(|line| self.is_open(line))
    }

    /// Goes through the cycles before `now`; `gives` says whether a cluster gives this way a beat at an offset in its L1 in
    /// a cycle.
    #[inline]
    pub fn advance(&mut self, now: u64, mut gives: impl FnMut(u32, u64, u64) -> bool) {
        let bytes = self.beat_bytes;
        self.path.advance(now, |cluster, line, cycle| gives(cluster, line * bytes, cycle));
    }

    /// Says whether some command's last beat is over.
    pub fn has_ended(&self) -> bool {
        self.path.has_ended()
    }

    /// Takes the next command whose last beat is over; gives its line and that beat's cycle.
    pub fn take_ended(&mut self) -> Option<(Line, u32, u64)> {
        let ended = self.path.take_ended()?;
        Some((Line::of_way(ended.way), ended.token, ended.cycle))
    }

    /// Gives the first cycle in which a command may be done; `None`: none is on its way.
    pub fn next_end(&self) -> Option<u64> {
        self.path.next_end(|way| self.later(Line::of_way(way)))
    }
}
