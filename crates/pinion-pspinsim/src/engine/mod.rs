//! The NIC, stepped: packets and accesses to NIC memory come in from the inbox, callbacks go out.
//!
//! Time passes in the NIC's steps, so nothing is simulated that nobody waits for; after each step
//! the engine looks whether a callback added something. A packet reaches the inbound engine in the
//! cycle after it was added, and no sooner than the packet before it and that one's pause.

mod ears;
mod transfers;

use std::collections::{HashMap, VecDeque};

use pinion_isa::elf::Image;
use pinion_sim::{Clock, Time};
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{
    Classification, ContextId, ExecutionContext, Frame, Handler, Nic, Offer, Outcome, Traffic,
};

use crate::error::{Error, Result};
use crate::inbox::{self, Packet};
use crate::settings::Settings;
use crate::statistics::Statistics;
use crate::types::SpinEc;
use crate::{program, state};

use ears::Ears;
use transfers::Transfers;

/// Bits of a message id in the published hardware (`C_MSGID_WIDTH`).
const MESSAGE_BITS: u32 = 10;

/// Steps a NIC.
#[derive(Debug)]
pub struct Engine {
    nic: Nic,
    clock: Clock,
    contexts: HashMap<SpinEc, ContextId>,
    frames: VecDeque<Frame>,
    transfers: Transfers,
    ears: Ears,
    /// Cycle from which the next packet can be taken.
    next_arrival: u64,
    /// Cycle up to which callers have let time pass.
    cycle: u64,
    has_started: bool,
    end_of_stream: bool,
    message_mask: u32,
}

/// Says what a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// There may be more to do.
    More,
    /// The given time was reached.
    Reached,
    /// Nothing is left to do, now or later.
    Idle,
}

/// Hands the NIC its packets.
struct Source<'a>(&'a mut VecDeque<Frame>);

impl Traffic for Source<'_> {
    fn next(&mut self) -> Offer {
        self.0.pop_front().map_or(Offer::Nothing, Offer::Frame)
    }
}

impl Engine {
    /// Loads the program and boots the cores.
    pub fn new(settings: &Settings, named: Option<Image>) -> Result<Self> {
        let image = program::load(settings, named.as_ref())?;
        let machine = settings.machine.clone();
        let matching = MatchingEngine::new(Vec::new(), Limits::default())
            .map_err(|error| Error::Argument(error.to_string()))?;
        let message_mask = if machine.mpq.alias { (1 << MESSAGE_BITS) - 1 } else { u32::MAX };
        let transfers = Transfers::new(&machine);
        let clock = Clock::from_hz(machine.clock.frequency_mhz * 1_000_000);
        let nic = Nic::new(machine, &image, Vec::new(), matching)?;
        Ok(Self {
            nic,
            clock,
            contexts: HashMap::new(),
            frames: VecDeque::new(),
            transfers,
            // Memory images know no names: those of the ELF, which is the same program.
            ears: Ears::new(settings, named.unwrap_or(image)),
            next_arrival: 0,
            cycle: 0,
            has_started: false,
            end_of_stream: false,
            message_mask,
        })
    }

    /// Runs until the stream has ended and everything is done.
    pub fn run(&mut self) -> Result<()> {
        loop {
            match self.step(Time::MAX)? {
                Step::Idle if self.end_of_stream => return self.finish(),
                Step::Idle => return Err(Error::NoEndOfStream),
                Step::More | Step::Reached => {}
            }
        }
    }

    /// Runs one cycle; `true`: the stream has ended and everything is done.
    pub fn run_cycle(&mut self) -> Result<bool> {
        let next = self.cycle + 1;
        let until = self.clock.time(next);
        let end = loop {
            match self.step(until)? {
                Step::More => {}
                end => break end,
            }
        };
        self.cycle = next;
        let done = end == Step::Idle && self.end_of_stream;
        if done {
            self.finish()?;
        }
        Ok(done)
    }

    /// Gives what happened so far.
    pub fn statistics(&mut self) -> &Statistics {
        let totals = self.nic.totals();
        let statistics = &mut self.ears.statistics;
        statistics.her_stall_cycles = totals.her_stall_cycles;
        statistics.cycles = totals.cycles.max(self.cycle);
        statistics.instructions = totals.instructions;
        statistics
    }

    fn finish(&mut self) -> Result<()> {
        self.ears.finish();
        self.nic.totals().conserved().map_err(Error::Unaccounted)
    }

    fn step(&mut self, until: Time) -> Result<Step> {
        if inbox::has_news() {
            self.admit()?;
        }
        self.has_started = true;
        let due = self.next_due();
        let stop = due.map_or(until, |due| due.min(until));
        let mut source = Source(&mut self.frames);
        let Some(outcome) = self.nic.take_step(stop, &mut source, &mut self.ears) else {
            return Ok(Step::More);
        };
        if let Outcome::Stuck(report) = outcome {
            return Err(Error::Stuck(report));
        }
        if let Some(due) = due.filter(|due| *due <= until) {
            self.deliver(due);
            return Ok(Step::More);
        }
        if inbox::has_news() {
            return Ok(Step::More);
        }
        let is_idle = outcome != Outcome::TimeReached && due.is_none();
        Ok(if is_idle { Step::Idle } else { Step::Reached })
    }

    /// Gives when something happens outside the NIC next.
    fn next_due(&self) -> Option<Time> {
        let departure = self.ears.next_departure();
        departure.into_iter().chain(self.transfers.next_due()).min()
    }

    /// Does what is due outside the NIC.
    fn deliver(&mut self, due: Time) {
        self.cycle = self.cycle.max(self.clock.cycle_at(due));
        self.ears.deliver(due);
        self.transfers.deliver(due, &mut self.nic, &mut self.ears.statistics);
    }

    /// Takes what was added.
    fn admit(&mut self) -> Result<()> {
        let news = state::with(|simulation| Ok(simulation.inbox.take()))?;
        let now = self.cycle.max(self.clock.cycle_at(self.nic.now()));
        let earliest = if self.has_started { now + 1 } else { 0 };
        for packet in news.packets {
            let frame = self.frame(packet, earliest)?;
            self.frames.push_back(frame);
        }
        for transfer in news.transfers {
            self.transfers.start(now, transfer, self.clock);
        }
        self.end_of_stream |= news.end_of_stream;
        self.nic.reopen();
        Ok(())
    }

    fn frame(&mut self, packet: Packet, earliest: u64) -> Result<Frame> {
        let context = match self.contexts.get(&packet.context) {
            Some(&known) => known,
            None => {
                let symbols = &self.ears.symbols;
                let context = describe(&packet.context, self.nic.machine(), Some(symbols));
                let id = self.nic.add_context(context)?;
                self.contexts.insert(packet.context, id);
                id
            }
        };
        let arrival = self.next_arrival.max(earliest);
        self.next_arrival = arrival + u64::from(packet.wait_cycles.max(1));
        Ok(Frame {
            arrival: self.clock.time(arrival),
            bytes: packet.data,
            skip: 0,
            classification: Some(Classification {
                context,
                message: packet.message & self.message_mask,
                end_of_message: packet.end_of_message,
                l1_bytes: packet.l1_bytes,
            }),
            tag: packet.user,
        })
    }
}

/// Turns a driver's execution context into the NIC's. What the published hardware does not check is
/// cut to the memory there is: a handler's bytes and scratchpads.
pub fn describe(
    ec: &SpinEc,
    machine: &pinion_spin::Machine,
    symbols: Option<&Image>,
) -> ExecutionContext {
    let handler = |address: u32, bytes: u32| {
        let symbol = symbols.and_then(|image| image.symbol_at(u64::from(address)));
        (address != 0).then(|| Handler {
            name: symbol.map_or_else(|| format!("{address:#010x}"), |symbol| symbol.name.clone()),
            address,
            bytes: program::handler_bytes(machine, address, bytes),
        })
    };
    let room = machine.scratchpad_bytes();
    let (addresses, sizes) = (ec.scratchpad_addr, ec.scratchpad_size);
    let scratchpads: Vec<(u32, u32)> = addresses
        .into_iter()
        .zip(sizes)
        .map(|(offset, bytes)| (offset.min(room), bytes.min(room.saturating_sub(offset))))
        .collect();
    let first = scratchpads[0];
    ExecutionContext {
        name: "driver".to_owned(),
        header_handler: handler(ec.hh_addr, ec.hh_size),
        payload_handler: handler(ec.ph_addr, ec.ph_size),
        completion_handler: handler(ec.th_addr, ec.th_size),
        handler_memory_address: ec.handler_mem_addr,
        handler_memory_bytes: ec.handler_mem_size,
        host_memory_address: ec.host_mem_addr,
        host_memory_bytes: ec.host_mem_size,
        // Clusters that the header's arrays do not have are as the first one.
        scratchpad_offset: first.0,
        scratchpad_bytes: first.1,
        scratchpad_by_cluster: scratchpads,
        ..ExecutionContext::default()
    }
}
