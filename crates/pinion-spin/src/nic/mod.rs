//! The node: a whole NIC, its event queue and the way from one unit to the next.
//!
//! One thread runs a NIC. Units change state only in events, which are ordered by cycle and, within
//! a cycle, by the order they were pushed; what one unit hands to another is seen a cycle later
//! wherever a register lies between them. Cores run ahead of the queue until they touch something
//! shared (`execute.rs`); only those touches are ordered.

mod commands;
mod contexts;
mod control;
mod crossing;
mod execute;
mod fault;
mod feedback;
mod ingress;
mod lanes;
mod memory_access;
mod peripherals;
mod report;
mod schedule;
mod setup;
mod standstill;
mod trace;
mod wake;

pub use control::ControlError;
pub use report::Totals;
pub use setup::SetupError;

use pinion_host::{HostMemory, Iommu};
use pinion_isa::DecodedProgram;
use pinion_sim::{Clock, Time, Wheel};

use crate::cluster::Cluster;
use crate::cluster::dma::SharedPorts;
use crate::cluster::instruction_cache::ProgramPort;
use crate::hpu::{Core, HpuDriver};
use crate::listener::{Event, Interest, Listener};
use crate::matching::MatchingEngine;
use crate::memory::Memories;
use crate::mpq::{Handlers, MpqEngine};
use crate::packet_buffer::PacketBuffer;
use crate::task::{Packets, Task};
use crate::task_dispatcher::TaskDispatcher;
use crate::{ExecutionContext, Machine, Traffic, UnitEvent, UnitEventKind, command};

use ingress::Ingress;
use standstill::{Standstill, Step};
use wake::Wake;

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

/// Says what is due.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// The inbound engine asks for a frame.
    Inbound,
    /// A packet was written to the packet buffer: its HER goes to the MPQ engine.
    Her,
    /// The MPQ engine and the dispatcher take a step.
    Schedule,
    /// A cluster's scheduler takes a task.
    Accept(u32),
    /// A cluster's DMA engine issues a transfer.
    DmaIssue(u32),
    /// A cluster's DMA engine completes a transfer.
    DmaDone(u32),
    /// A cluster's scheduler gives a task to an HPU.
    Assign(u32),
    /// A core goes on.
    Core { core: u16, generation: u32 },
    /// A cluster's completions leave.
    ClusterFeedback(u32),
    /// Completions reach the MPQ engine.
    Feedback,
    /// A cluster's commands leave.
    ClusterCommand(u32),
    /// A command goes to its interface.
    CommandFrontend,
    /// A command is done in its interface.
    CommandDone(u32),
    /// An HPU learns that its command is done.
    CommandResponse(u32),
    /// A handler's time is over.
    Watchdog(u16),
}

/// Simulates a whole NIC.
#[derive(Debug)]
pub struct Nic {
    machine: Machine,
    clock: Clock,
    wheel: Wheel<Due>,
    /// Cycle at which the cores had booted: time zero of everything reported.
    epoch: u64,
    contexts: Vec<ExecutionContext>,
    handlers: Vec<Handlers>,
    /// Contexts that were released: what still runs for them is ended.
    released: Vec<bool>,
    matching: MatchingEngine,
    ingress: Ingress,
    buffer: PacketBuffer,
    packets: Packets,
    mpq: MpqEngine,
    dispatcher: TaskDispatcher,
    /// Task between the MPQ engine and the dispatcher, with the cycle from which it may go on.
    outgoing: Option<(Task, u64)>,
    /// Cycle of the packet scheduler's last step.
    last_schedule: u64,
    clusters: Vec<Cluster>,
    drivers: Vec<HpuDriver>,
    cores: Vec<Core>,
    /// Cores whose next access goes to their own L1, by cluster, and when each cluster's is due.
    lanes: Vec<lanes::Lane>,
    lane_next: Vec<u64>,
    costs: execute::Costs,
    program: DecodedProgram<u32>,
    program_port: ProgramPort,
    dma_ports: SharedPorts,
    /// Cycles at which the cores' ports to L2 handler memory and to the packet buffer are free, for
    /// reads and for writes.
    l2_ports: [[u64; 2]; 2],
    memories: Memories,
    host: HostMemory,
    iommu: Iommu,
    command_frontend: command::Frontend,
    interfaces: Vec<command::Interface>,
    command_timing: command::Timing,
    egress: commands::Egress,
    feedback_arbiter: crate::arbiter::RoundRobin,
    feedback_requests: crate::arbiter::Requests,
    wakes: Wakes,
    totals: Totals,
    last_progress: u64,
    standstill: Standstill,
    /// Whether some core holds a reservation.
    reservations: bool,
    scratch: Vec<u8>,
    interest: Interest,
    /// Instructions that have yet to be told to a listener that wants them.
    executed: Vec<trace::Executed>,
    /// Registers of cores that trapped, by core.
    trapped: Vec<fault::Trapped>,
    ended: bool,
    /// Watchdog events in the queue.
    alarms: usize,
}

#[derive(Debug, Default)]
struct Wakes {
    inbound: Wake,
    her: Wake,
    schedule: Wake,
    accept: Vec<Wake>,
    dma_issue: Vec<Wake>,
    assign: Vec<Wake>,
    cluster_feedback: Vec<Wake>,
    feedback: Wake,
    cluster_command: Vec<Wake>,
    command_frontend: Wake,
}

impl Wakes {
    /// Makes those of idle units.
    fn new(clusters: u32) -> Self {
        let wakes = |count: usize| vec![Wake::default(); count];
        let each = || wakes(clusters as usize);
        Self {
            accept: each(),
            dma_issue: each(),
            assign: each(),
            cluster_feedback: each(),
            cluster_command: each(),
            ..Self::default()
        }
    }
}

impl Nic {
    /// Runs until the traffic ends and everything is out, or `until` is reached.
    pub fn run(
        &mut self,
        until: Time,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) -> Outcome {
        self.reopen();
        self.run_to_cycle(self.cycle_until(until), traffic, listener)
    }

    /// Does the same until a cycle, counted from when the machine was ready; a source that had
    /// nothing is not asked unless [`Nic::ask_at`] said so.
    pub(crate) fn run_to_cycle(
        &mut self,
        until: u64,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) -> Outcome {
        self.interest = listener.interest();
        let horizon = until.saturating_add(self.epoch);
        while let Some(now) = self.step(horizon, traffic, listener) {
            if self.is_stuck(now) {
                return self.stuck(now);
            }
            if self.ended {
                break;
            }
        }
        self.end_of_run()
    }

    /// Takes one step of a run, for callers that look in between; `None`: there may be more to do.
    /// A source that had nothing is not asked anew until [`Nic::reopen`] says so.
    pub fn take_step(
        &mut self,
        until: Time,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) -> Option<Outcome> {
        self.interest = listener.interest();
        let horizon = self.cycle_until(until).saturating_add(self.epoch);
        let Some(now) = self.step(horizon, traffic, listener) else {
            return Some(self.end_of_run());
        };
        if self.is_stuck(now) {
            return Some(self.stuck(now));
        }
        self.ended.then(|| self.end_of_run())
    }

    /// Says whether nothing that counts has moved for too long, or time itself stands still.
    #[inline]
    fn is_stuck(&self, now: u64) -> bool {
        let limit = self.machine.protection.no_progress_cycles;
        // A frame that has yet to arrive is no packet that waits.
        let still = now.saturating_sub(self.last_progress);
        limit > 0 && still > limit && self.is_waited_for() || self.standstill.is_one()
    }

    fn stuck(&self, now: u64) -> Outcome {
        Outcome::Stuck(match self.standstill.is_one() {
            true => self.describe_standstill(),
            false => self.describe_stuck(now),
        })
    }

    /// Lets a source that had nothing be asked anew: where runs are cut makes no difference.
    pub fn reopen(&mut self) {
        if self.ingress.reopen() {
            self.wake_inbound(self.wheel.now());
        }
    }

    /// Gives the last cycle that a run until a given time may reach, counted from when the machine
    /// was ready.
    fn cycle_until(&self, until: Time) -> u64 {
        if until == Time::MAX { u64::MAX } else { self.clock.cycle_at(until) }
    }

    /// Takes the next step due at or before `until`: an event of the queue, or a cluster's lane.
    #[inline]
    fn step(
        &mut self,
        until: u64,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) -> Option<u64> {
        if self.is_quiet() {
            return None;
        }
        if let Some((cluster, lane)) = self.next_lane()
            && self.wheel.next_cycle().is_none_or(|event| event > lane)
        {
            if lane > until {
                return None;
            }
            self.standstill.note(lane, Step::Lane(cluster));
            self.run_lane(cluster, lane, listener);
            return Some(lane);
        }
        let (now, due) = self.wheel.pop_until(until)?;
        self.standstill.note(now, Step::Event(due));
        self.handle(now, due, traffic, listener);
        Some(now)
    }

    /// Says whether packets wait, or cores run on without any.
    fn is_waited_for(&self) -> bool {
        self.packets.live() > 0 || self.ingress.holds() == 0 && !self.is_quiet()
    }

    /// Says whether nothing happens any more of itself. Watchdogs of handlers that are done do not
    /// count: time need not go on for them.
    #[inline]
    fn is_quiet(&self) -> bool {
        let done = self.wheel.is_empty() || self.packets.live() == 0;
        done && self.wheel.len() == self.alarms && self.next_lane().is_none()
    }

    fn end_of_run(&mut self) -> Outcome {
        if self.is_quiet() || self.ended {
            if self.inside() > 0 {
                return Outcome::Stuck(self.describe_stuck(self.wheel.now()));
            }
            return if self.ingress.has_ended() { Outcome::Finished } else { Outcome::Idle };
        }
        Outcome::TimeReached
    }

    fn handle(
        &mut self,
        now: u64,
        due: Due,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) {
        match due {
            Due::Core { core, generation } => {
                let core = usize::from(core);
                if self.cores[core].generation == generation {
                    self.run_core(core, now, listener);
                }
            }
            Due::Inbound => {
                if self.wakes.inbound.take(now) {
                    self.inbound(now, traffic, listener);
                }
            }
            Due::Her => {
                if self.wakes.her.take(now) {
                    self.hand_her(now, listener);
                }
            }
            Due::Schedule => {
                if self.wakes.schedule.take(now) {
                    self.schedule(now, listener);
                }
            }
            Due::Accept(cluster) => {
                if self.wakes.accept[cluster as usize].take(now) {
                    self.accept(now, cluster, listener);
                }
            }
            Due::DmaIssue(cluster) => {
                if self.wakes.dma_issue[cluster as usize].take(now) {
                    self.dma_issue(now, cluster, listener);
                }
            }
            Due::DmaDone(cluster) => self.dma_done(now, cluster, listener),
            Due::Assign(cluster) => {
                if self.wakes.assign[cluster as usize].take(now) {
                    self.assign(now, cluster, listener);
                }
            }
            Due::ClusterFeedback(cluster) => {
                if self.wakes.cluster_feedback[cluster as usize].take(now) {
                    self.cluster_feedback(now, cluster, listener);
                }
            }
            Due::Feedback => {
                if self.wakes.feedback.take(now) {
                    self.feedback(now, listener);
                }
            }
            Due::ClusterCommand(cluster) => {
                if self.wakes.cluster_command[cluster as usize].take(now) {
                    self.cluster_command(now, cluster, listener);
                }
            }
            Due::CommandFrontend => {
                if self.wakes.command_frontend.take(now) {
                    self.command_frontend(now, listener);
                }
            }
            Due::CommandDone(command) => self.command_done(now, command, listener),
            Due::CommandResponse(command) => self.command_response(now, command, listener),
            Due::Watchdog(core) => {
                self.alarms -= 1;
                self.watchdog(now, usize::from(core), listener);
            }
        }
    }

    /// Gives the cycle at which something happens next, counted from when the machine was ready;
    /// `None`: nothing does of itself.
    pub(crate) fn next_cycle(&self) -> Option<u64> {
        if self.is_quiet() {
            return None;
        }
        let lane = self.next_lane().map(|(_, cycle)| cycle);
        let next = [self.wheel.next_cycle(), lane].into_iter().flatten().min()?;
        Some(next.saturating_sub(self.epoch))
    }

    /// Lets the source be asked at a cycle, counted from when the machine was ready, if it had
    /// nothing.
    pub(crate) fn ask_at(&mut self, cycle: u64) {
        if self.ingress.reopen() {
            self.wake_inbound(self.wheel.now().max(cycle.saturating_add(self.epoch)));
        }
    }

    /// Gives the cycle it has come to, counted from when the machine was ready.
    pub(crate) fn cycle(&self) -> u64 {
        self.wheel.now().saturating_sub(self.epoch)
    }

    /// Takes another host memory for its own.
    pub(crate) fn exchange_host(&mut self, other: &mut HostMemory) {
        std::mem::swap(&mut self.host, other);
    }

    /// Gives the simulated time since the machine was ready.
    pub fn now(&self) -> Time {
        self.time(self.wheel.now())
    }

    /// Turns a cycle into the time since the machine was ready.
    fn time(&self, cycle: u64) -> Time {
        self.clock.time(cycle.saturating_sub(self.epoch))
    }

    fn core_id(&self, cluster: u32, hpu: u32) -> usize {
        (cluster * self.machine.cluster.cores + hpu) as usize
    }

    /// Lets a core's watchdog look at `cycle`.
    fn push_alarm(&mut self, core: usize, cycle: u64) {
        self.alarms += 1;
        self.wheel.push(cycle, Due::Watchdog(core as u16));
    }

    /// Says something to the fine trace, if anybody listens.
    #[inline]
    fn tell(&self, listener: &mut dyn Listener, event: impl FnOnce() -> UnitEvent) {
        if self.interest.units {
            let mut event = event();
            event.cycle = event.cycle.saturating_sub(self.epoch);
            listener.hear(&Event::Unit(event));
        }
    }

    /// Lets a core go on at `cycle`.
    fn resume(&mut self, core: usize, cycle: u64) {
        let generation = {
            let core = &mut self.cores[core];
            core.generation = core.generation.wrapping_add(1);
            core.waiting = crate::hpu::Waiting::Nothing;
            core.generation
        };
        self.wheel.push(cycle, Due::Core { core: core as u16, generation });
    }
}

fn unit(
    kind: UnitEventKind,
    cycle: u64,
    cluster: u32,
    hpu: u32,
    id: u32,
    address: u32,
) -> UnitEvent {
    UnitEvent { cycle, kind, cluster, hpu, id, address }
}
