//! Blocks of hardware in the place of a nanoPU's units, or beside them.
//!
//! In: what neighbours give a unit, with its cycle. Out: what the block makes of it, which the node does
//! in the unit's place, or compares with what the unit did. Units say what happens by its cycle, a block
//! sees every one: a seat keeps what it is told until all of a cycle is known, and lets the block take the
//! cycles up to there.

mod jbsq;
mod local_queues;
pub mod ndp_egress;
pub mod ndp_ingress;
pub mod packet_generator;
pub mod packetization;
mod reassembly;
mod register_interface;
mod thread_scheduler;
mod timers;

use std::collections::VecDeque;
use std::fmt;

use pinion_nanopu_machine::node::Machine;
use pinion_nanopu_machine::transmit::BufferClass;
use pinion_sim::block::{Block, Needs, power_of_two};
use pinion_sim::time::Clock;

pub use jbsq::JbsqSeat;
pub use local_queues::QueuesSeat;
pub use ndp_egress::EgressSeat;
pub use ndp_ingress::IngressSeat;
pub use packet_generator::GeneratorSeat;
pub use packetization::PacketizationSeat;
pub use pinion_sim::block::PATIENCE_CYCLES;
pub use reassembly::{Answer, Asked, ReassemblySeat};
pub use register_interface::RegistersSeat;
pub use thread_scheduler::{Did, Expected, SchedulerSeat};
pub use timers::TimersSeat;

/// Counts cycles of the node's clock since reset.
pub type Cycle = u64;

/// Names a unit that hardware can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Core selection by JBSQ(n).
    Jbsq,
    /// Each hart's thread scheduler.
    ThreadScheduler,
    /// Reassembly with its message table.
    Reassembly,
    /// The retransmission timers.
    Timers,
    /// The packet generator.
    PacketGenerator,
    /// Each hart's local receive queues.
    LocalQueues,
    /// Packetization with its buffers.
    Packetization,
    /// The way in from the pins, with NDP fixed in it.
    NdpIngress,
    /// The way out to the pins, with NDP fixed in it.
    NdpEgress,
    /// Each hart's registers of the network.
    RegisterInterface,
}

impl Unit {
    /// All units that hardware can stand for.
    pub const ALL: [Self; 10] = [
        Self::Jbsq,
        Self::ThreadScheduler,
        Self::Reassembly,
        Self::Timers,
        Self::PacketGenerator,
        Self::LocalQueues,
        Self::Packetization,
        Self::NdpIngress,
        Self::NdpEgress,
        Self::RegisterInterface,
    ];

    /// Gives its name, which is its module's, too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jbsq => "jbsq",
            Self::ThreadScheduler => "thread_scheduler",
            Self::Reassembly => "reassembly",
            Self::Timers => "timers",
            Self::PacketGenerator => "packet_generator",
            Self::LocalQueues => "local_queues",
            Self::Packetization => "packetization",
            Self::NdpIngress => "ndp_ingress",
            Self::NdpEgress => "ndp_egress",
            Self::RegisterInterface => "register_interface",
        }
    }

    /// Gives how many of it a machine has.
    pub const fn count(self, machine: &Machine) -> u32 {
        match self {
            Self::ThreadScheduler | Self::LocalQueues | Self::RegisterInterface => {
                machine.core.count
            }
            _ => 1,
        }
    }

    /// Says whether a block runs beside the model only, since what it says lies ahead when the model decides.
    pub const fn only_compares(self) -> bool {
        matches!(self, Self::NdpIngress | Self::NdpEgress)
    }

    /// Says what a block needs to stand for it in a machine.
    ///
    /// # Errors
    /// With what of the machine no block can do.
    pub fn needs(self, machine: &Machine) -> Result<Needs, String> {
        match self {
            Self::Jbsq => jbsq::needs(machine),
            Self::ThreadScheduler => thread_scheduler::needs(machine),
            Self::Reassembly => reassembly::needs(machine),
            Self::Timers => timers::needs(machine),
            Self::PacketGenerator => packet_generator::needs(machine),
            Self::LocalQueues => local_queues::needs(machine),
            Self::Packetization => packetization::needs(machine),
            Self::NdpIngress => ndp_ingress::needs(machine),
            Self::NdpEgress => ndp_egress::needs(machine),
            Self::RegisterInterface => register_interface::needs(machine),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Is a block at a unit's place.
pub trait Placed {
    /// Gives the block with its cycle.
    fn seat(&self) -> &Seat;

    /// Says whether it runs beside the model.
    #[inline]
    fn compares(&self) -> bool {
        self.seat().compares
    }

    /// Gives what has ended the run.
    fn failure(&self) -> Option<&str> {
        self.seat().failure.as_deref()
    }

    /// Describes the block, and what it has not answered.
    fn describe(&self) -> String {
        self.seat().block.describe()
    }
}

/// Most contexts of a hart that a block tells apart.
const MOST_CONTEXTS: u64 = 16;

/// Bits of what a frame's headers say, as packetization, packet generator and egress carry it.
const FIELDS_BITS: u32 = 144;

/// What a frame's headers say, by words of 32 bits, the lowest first.
pub type Fields = [u32; FIELDS_BITS.div_ceil(32) as usize];

/// What happens to messages: in which cycle, and to which.
type Due = VecDeque<(Cycle, u16)>;

/// Takes the first of what happens by cycles, if its cycle, which `at` tells, has come.
fn take_first_due<T>(queue: &mut VecDeque<T>, cycle: Cycle, at: impl Fn(&T) -> Cycle) -> Option<T> {
    queue.front().filter(|first| at(first) <= cycle)?;
    queue.pop_front()
}

/// Takes the first message whose cycle has come.
fn take_due(due: &mut Due, cycle: Cycle) -> Option<u16> {
    take_first_due(due, cycle, |(at, _)| *at).map(|(_, id)| id)
}

/// Gives a word of payload, zeros behind its bytes, by words of 32 bits, the lowest first.
fn words_of(bytes: &[u8]) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, part) in words.iter_mut().zip(bytes.chunks(4)) {
        let mut four = [0; 4];
        four[..part.len()].copy_from_slice(part);
        *word = u32::from_le_bytes(four);
    }
    words
}

/// Gives the contexts of a hart, if a block can have so many.
///
/// # Errors
/// With what to set if it cannot.
fn contexts(machine: &Machine) -> Result<u64, String> {
    let contexts =
        power_of_two("hart_interface.contexts", machine.hart_interface.contexts.into(), 2)?;
    if contexts > MOST_CONTEXTS {
        return Err(format!(
            "hart_interface.contexts is {contexts}; the block takes 2 to {MOST_CONTEXTS}: --set \
             hart_interface.contexts={MOST_CONTEXTS}"
        ));
    }
    Ok(contexts)
}

/// Gives the two classes of buffers that a block takes, the smaller first; `key` names them in the machine.
///
/// # Errors
/// With what of them no block can do.
fn two_classes<'a>(
    key: &str,
    buffers: &'a [BufferClass],
) -> Result<(&'a BufferClass, &'a BufferClass), String> {
    let [small, large] = buffers else {
        return Err(format!(
            "{key} has {} classes; the block takes two, the smaller first",
            buffers.len()
        ));
    };
    for (class, buffers) in [("first", small), ("second", large)] {
        let key = format!("the {class} class of {key}: count");
        power_of_two(&key, buffers.count.into(), 2)?;
    }
    Ok((small, large))
}

/// Holds a block with the cycle it is in.
#[derive(Debug)]
pub struct Seat {
    block: Box<dyn Block>,
    /// Whether it runs beside the model.
    compares: bool,
    clock: Clock,
    /// The cycle that it is in: all before it have ended.
    cycle: Cycle,
    /// What is wrong with what it does in this cycle.
    wrong: Option<String>,
    /// What has ended the run.
    failure: Option<String>,
}

impl Seat {
    fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let clock = Clock::from_hz(machine.clock.frequency_mhz * 1_000_000);
        Self { block, compares, clock, cycle: 0, wrong: None, failure: None }
    }

    /// Ends the block's cycle; `about` tells what it was about, should it be wrong.
    fn end_cycle(&mut self, about: impl FnOnce() -> String) {
        if let Err(what) = self.wrong.take().map_or_else(|| self.block.end_cycle(), Err) {
            let (cycle, time) = (self.cycle, self.clock.time(self.cycle));
            self.failure = Some(format!("in cycle {cycle} ({time}) {what}\n  {}", about()));
        }
        self.cycle += 1;
    }

    /// Tells the block by two inputs whether something is due in its cycle, and for which message.
    fn put_due(&mut self, due: &mut Due, valid: usize, data: usize) {
        let id = take_due(due, self.cycle);
        self.block.put(valid, id.is_some().into());
        if let Some(id) = id {
            self.block.put(data, id.into());
        }
    }
}

/// Holds a unit's block, if it has one. A clone has none: hardware is not copied.
#[derive(Debug)]
pub struct InLoop<S>(Option<Box<S>>);

impl<S> Default for InLoop<S> {
    fn default() -> Self {
        Self(None)
    }
}

impl<S> Clone for InLoop<S> {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl<S> InLoop<S> {
    /// Puts a block into a unit's place, or beside it.
    pub fn new(seat: S) -> Self {
        Self(Some(Box::new(seat)))
    }

    /// Gives it, if there is one.
    #[inline]
    pub fn get(&self) -> Option<&S> {
        self.0.as_deref()
    }

    /// Gives it, if there is one, to be told something.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut S> {
        self.0.as_deref_mut()
    }
}

impl<S: Placed> InLoop<S> {
    /// Gives it, if it stands in the unit's place.
    #[inline]
    pub fn in_place(&self) -> Option<&S> {
        self.get().filter(|seat| !seat.compares())
    }

    /// Gives it, if it stands in the unit's place, to be told something.
    #[inline]
    pub fn in_place_mut(&mut self) -> Option<&mut S> {
        self.get_mut().filter(|seat| !seat.compares())
    }
}
