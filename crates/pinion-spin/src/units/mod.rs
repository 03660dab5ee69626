//! Several PsPIN units behind one scheduling level (paper §V: "multiple PsPIN accelerators with an
//! additional scheduling level").
//!
//! Each unit is a whole [`Nic`]: clusters, memories, interconnects, command interfaces, its share
//! of the outbound link and of PCIe. What they share is the wire's inbound side, which the
//! scheduling level (`level.rs`) deals out message by message, and host memory. Units take steps in
//! the order of time, the lower number first in the same cycle, so that one run's result does not
//! depend on how it is cut. A machine with one unit has no such level and behaves as a [`Nic`].

mod level;
mod outward;

use pinion_host::HostMemory;
use pinion_isa::elf::Image;
use pinion_sim::{Clock, Time};

use crate::hardware::Blocks;
use crate::hardware::cluster_dma::Done;
use crate::listener::Listener;
use crate::matching::{Limits, MatchingEngine};
use crate::{EngineCore, ExecutionContext, Machine, Nic, Outcome, SetupError, Totals, Traffic};

use level::Level;
use outward::Outward;

/// Simulates a NIC of one PsPIN unit or several.
#[derive(Clone, Debug)]
pub struct Units {
    machine: Machine,
    clock: Clock,
    nics: Vec<Nic>,
    /// The scheduling level; without use when there is one unit.
    level: Level,
    /// Host memory, while no unit runs.
    host: HostMemory,
}

impl Units {
    /// Builds the units, loads the program into each and boots their cores.
    ///
    /// # Errors
    /// As [`Nic::new`].
    pub fn new(
        machine: Machine,
        program: &Image,
        contexts: Vec<ExecutionContext>,
        matching: MatchingEngine,
    ) -> Result<Self, SetupError> {
        let clock = Clock::from_hz(machine.clock.frequency_mhz.max(1) * 1_000_000);
        let several = machine.units.count > 1;
        let l1_bytes = contexts.iter().map(|context| context.l1_bytes).collect();
        let (mut outer, mut inner) = (None, Some(matching));
        if several {
            std::mem::swap(&mut outer, &mut inner);
        }
        let mut nics = Vec::new();
        for _ in 0..machine.units.count.max(1) {
            // Behind the level every packet comes with its message.
            let engine = inner.take().unwrap_or_else(no_rules);
            nics.push(Nic::new(machine.clone(), program, contexts.clone(), engine)?);
        }
        let mut host = HostMemory::new(0);
        if several {
            nics[0].exchange_host(&mut host);
        }
        let level = Level::new(&machine, l1_bytes, outer.unwrap_or_else(no_rules));
        Ok(Self { machine, clock, nics, level, host })
    }

    /// Takes a NIC for the only unit.
    pub fn alone(nic: Nic) -> Self {
        let machine = nic.machine().clone();
        let clock = Clock::from_hz(machine.clock.frequency_mhz.max(1) * 1_000_000);
        let level = Level::new(&machine, Vec::new(), no_rules());
        Self { machine, clock, nics: vec![nic], level, host: HostMemory::new(0) }
    }

    /// Exchanges the only unit for another NIC of the same machine; several stay.
    pub fn exchange(&mut self, nic: &mut Nic) {
        if let [only] = &mut self.nics[..] {
            std::mem::swap(only, nic);
        }
    }

    /// Has the only unit keep what host programs write, or give it again; several share no memory with them.
    #[cfg(target_os = "linux")]
    pub fn keep_host(&mut self, exchange: Option<pinion_host::Exchange>) {
        if let [only] = &mut self.nics[..] {
            only.exchange(exchange);
        }
    }

    /// Chooses how this computer executes what the units' cores do.
    pub fn set_engine_core(&mut self, engine_core: EngineCore) {
        self.nics.iter_mut().for_each(|nic| nic.set_engine_core(engine_core));
    }

    /// Writes memory of the only unit by address, as host programs do; `false`: there are several, or it lies
    /// outside.
    #[must_use]
    pub fn write_memory(&mut self, address: u32, data: &[u8]) -> bool {
        match &mut self.nics[..] {
            [only] => only.write_memory(address, data),
            _ => false,
        }
    }

    /// Runs until the traffic ends and everything is out, or `until` is reached.
    pub fn run(
        &mut self,
        until: Time,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) -> Outcome {
        if let [nic] = &mut self.nics[..] {
            return nic.run(until, traffic, listener);
        }
        let horizon = if until == Time::MAX { u64::MAX } else { self.clock.cycle_at(until) };
        self.level.ask_again();
        loop {
            let frame = self.level.next_cycle(self.clock, traffic);
            let unit = first(&self.nics);
            match (frame, unit) {
                (None, None) => break,
                (Some(cycle), unit) if unit.is_none_or(|(_, next)| cycle <= next) => {
                    if cycle > horizon {
                        return Outcome::TimeReached;
                    }
                    let dealt = self.level.deal(self.clock.time(cycle), listener);
                    if let Some(index) = dealt {
                        self.nics[index].ask_at(cycle);
                    }
                }
                (_, Some((_, cycle))) if cycle > horizon => return Outcome::TimeReached,
                (frame, Some((index, cycle))) => {
                    let frame = frame.map_or(u64::MAX, |cycle| cycle - 1);
                    let mut bound = horizon.min(frame).min(others_bound(&self.nics, index));
                    if self.level.waits_for(index) {
                        bound = cycle; // the frame goes on in the very cycle that makes room
                    }
                    if let Err(stuck) = self.run_unit(index, bound, listener) {
                        return stuck;
                    }
                }
                (Some(_), None) => unreachable!("the second arm takes a frame without a unit"),
            }
        }
        match self.level.has_ended() {
            true => Outcome::Finished,
            false => Outcome::Idle,
        }
    }

    /// Runs one unit through `cycle`.
    fn run_unit(
        &mut self,
        index: usize,
        cycle: u64,
        listener: &mut dyn Listener,
    ) -> Result<(), Outcome> {
        let nic = &mut self.nics[index];
        nic.exchange_host(&mut self.host);
        let mut heard = Outward::new(&self.machine, index, listener);
        let outcome = nic.run_to_cycle(cycle, &mut self.level.port(index), &mut heard);
        let news = heard.into_news();
        nic.exchange_host(&mut self.host);
        self.level.learn(index, news);
        let now = nic.cycle();
        self.level.retry(index, now);
        match outcome {
            Outcome::Stuck(report) => Err(Outcome::Stuck(format!("unit {index}: {report}"))),
            _ => Ok(()),
        }
    }

    /// Gives the simulated time since the machine was ready.
    pub fn now(&self) -> Time {
        self.nics.iter().map(Nic::now).max().unwrap_or_default()
    }

    /// Gives the counters of all units together; [`Totals::conserved`] checks them.
    pub fn totals(&self) -> Totals {
        if let [nic] = &self.nics[..] {
            return nic.totals();
        }
        let mut sum = self.level.totals();
        for nic in &self.nics {
            sum.add(&nic.totals());
        }
        sum
    }

    /// Counts the messages whose end has not come and whose completion handler waits for it.
    pub fn unfinished(&self) -> u64 {
        self.nics.iter().map(Nic::unfinished).sum()
    }

    /// Gives the machine that is simulated.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Puts blocks of hardware into the places of units of the only NIC, or beside them.
    pub fn set_hardware(&mut self, blocks: Blocks) {
        if let [nic] = &mut self.nics[..] {
            nic.set_hardware(Some(blocks));
        }
    }

    /// Tells why a block of hardware has ended the run, if one has.
    pub fn hardware_failure(&self) -> Option<&str> {
        self.nics.iter().find_map(Nic::hardware_failure)
    }

    /// Counts the transfers of the clusters' DMA engines that have blocks beside them.
    pub fn hardware_transfers(&self) -> Done {
        let mut all = Done::default();
        self.nics.iter().for_each(|nic| all.add(nic.hardware_transfers()));
        all
    }

    /// Gives the units.
    pub fn nics(&self) -> &[Nic] {
        &self.nics
    }

    /// Reads host memory, as the host sees it.
    pub fn read_host(&self, address: u64, buffer: &mut [u8]) {
        match &self.nics[..] {
            [nic] => nic.read_host(address, buffer),
            _ if self.host.read(address, buffer).is_err() => buffer.fill(0),
            _ => {}
        }
    }

    /// Writes host memory before or between runs, for handlers that read it; `false` if the address
    /// space ends before.
    #[must_use]
    pub fn write_host(&mut self, address: u64, data: &[u8]) -> bool {
        match &mut self.nics[..] {
            [nic] => nic.write_host(address, data),
            _ => self.host.write(address, data).is_ok(),
        }
    }
}

/// A NIC that is there already is one unit, whose own engine matches.
impl From<Nic> for Units {
    fn from(nic: Nic) -> Self {
        let machine = nic.machine().clone();
        let clock = Clock::from_hz(machine.clock.frequency_mhz.max(1) * 1_000_000);
        let level = Level::new(&machine, Vec::new(), no_rules());
        Self { machine, clock, nics: vec![nic], level, host: HostMemory::new(0) }
    }
}

/// Gives the unit that has something to do first, and its cycle.
fn first(nics: &[Nic]) -> Option<(usize, u64)> {
    let next = |(index, nic): (usize, &Nic)| Some((index, nic.next_cycle()?));
    nics.iter().enumerate().filter_map(next).min_by_key(|&(index, cycle)| (cycle, index))
}

/// Gives the last cycle that a unit may take before another one's turn.
fn others_bound(nics: &[Nic], index: usize) -> u64 {
    let others = nics.iter().enumerate().filter(|&(other, _)| other != index);
    let bound = |(other, nic): (usize, &Nic)| {
        let next = nic.next_cycle()?;
        Some(if other < index { next.saturating_sub(1) } else { next })
    };
    others.filter_map(bound).min().unwrap_or(u64::MAX)
}

fn no_rules() -> MatchingEngine {
    MatchingEngine::new(Vec::new(), Limits::default()).expect("no rules always fit")
}
