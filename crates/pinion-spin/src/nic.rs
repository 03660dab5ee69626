//! The node: a whole NIC.

use pinion_isa::elf::Image;
use pinion_sim::Time;

use crate::matching::MatchingEngine;
use crate::{DropReason, ExecutionContext, Listener, Machine, Traffic};

/// Says why a NIC could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The program has a segment outside the NIC's memories.
    #[error("the program's segment at {address:#010x} ({bytes} bytes) lies outside the NIC's memories")]
    SegmentOutside {
        /// Its address.
        address: u32,
        /// Its size.
        bytes: u32,
    },
}

/// Counts what went through a NIC.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Packets taken from the traffic, and their bytes.
    pub packets_in: u64,
    /// Bytes of them.
    pub bytes_in: u64,
    /// Packets that matched a context.
    pub matched: u64,
    /// Packets handed to the host's network stack.
    pub unmatched: u64,
    /// Packets whose completion came back.
    pub processed: u64,
    /// Packets sent by commands, and their bytes.
    pub packets_out: u64,
    /// Bytes of them.
    pub bytes_out: u64,
    /// Host writes and their bytes.
    pub host_writes: u64,
    /// Bytes of them.
    pub host_bytes: u64,
    /// Packets dropped, by reason.
    pub dropped: Vec<(DropReason, u64)>,
    /// Packets still inside.
    pub resident: u64,
    /// Instructions retired in handlers and the runtime's loop, boot excluded.
    pub instructions: u64,
    /// Cycles in which an HPU had a task, summed over HPUs.
    pub busy_cycles: u64,
    /// Cycles since the machine was ready.
    pub cycles: u64,
    /// Handlers that ended by an exception or the watchdog, and refused commands.
    pub faults: u64,
}

/// Says how a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The traffic ended and nothing is inside any more.
    Finished,
    /// The given time was reached.
    TimeReached,
    /// The traffic has nothing now and nothing is inside.
    Idle,
    /// Packets are inside but nothing moves; the report says who waits for whom.
    Stuck(String),
}

/// Simulates a whole NIC.
#[derive(Debug)]
pub struct Nic {}

impl Nic {
    /// Builds a NIC, loads the program and boots its cores.
    ///
    /// `matching` decides about frames that come without classification.
    ///
    /// # Errors
    /// If program or contexts do not fit the machine.
    pub fn new(
        machine: Machine,
        program: &Image,
        contexts: Vec<ExecutionContext>,
        matching: MatchingEngine,
    ) -> Result<Self, SetupError> {
        let _ = (machine, program, contexts, matching);
        todo!()
    }

    /// Runs until the traffic ends and everything is out, or `until` is reached.
    pub fn run(
        &mut self,
        until: Time,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) -> Outcome {
        let _ = (until, traffic, listener);
        todo!()
    }

    /// Gives the simulated time since the machine was ready.
    pub fn now(&self) -> Time {
        todo!()
    }

    /// Gives the counters; `Totals::conserved` checks them.
    pub fn totals(&self) -> Totals {
        todo!()
    }

    /// Reads host memory, as the host sees it after the run.
    pub fn read_host(&self, address: u64, buffer: &mut [u8]) {
        let _ = (address, buffer);
        todo!()
    }

    /// Writes host memory before or between runs, for handlers that read it.
    pub fn write_host(&mut self, address: u64, data: &[u8]) {
        let _ = (address, data);
        todo!()
    }

    /// Reads NIC memory (L1, L2, program memory) by address; `false` if it lies outside.
    #[must_use]
    pub fn read_memory(&self, address: u32, buffer: &mut [u8]) -> bool {
        let _ = (address, buffer);
        todo!()
    }

    /// Writes NIC memory by address; `false` if it lies outside.
    #[must_use]
    pub fn write_memory(&mut self, address: u32, data: &[u8]) -> bool {
        let _ = (address, data);
        todo!()
    }
}
