//! The node: a whole NIC, its event queue and the way from one unit to the next.
//!
//! One thread runs a NIC. Units change state only in events, which are ordered by cycle and, within
//! a cycle, by the order they were pushed; what one unit hands to another is seen a cycle later
//! wherever a register lies between them. Cores run ahead of the queue until they touch something
//! shared (`hpu/execute.rs`); only those touches are ordered.
//!
//! What a unit does stands in the unit's file. Here is who is next to whom: a packet goes from
//! `inbound` to `mpq`, to `dispatcher`, into `clusters`, and what its handlers send through `commands`.

mod contexts;
mod control;
mod hardware;
mod look;
mod report;
mod setup;
mod standstill;
mod state;

pub use control::{ControlError, EngineCore};
pub use setup::SetupError;

use pinion_host::HostMemory;
use pinion_sim::Time;

use crate::cluster::Clusters;
use crate::command_unit::{CommandUnit, Sources};
use crate::dispatcher::{Dispatcher, Neighbours};
use crate::inbound::{HerPath, InboundEngine};
use crate::listener::{Event, Listener};
use crate::matching::MatchingEngine;
use crate::mpq_engine::MpqEngine;
use crate::shared::{Shared, unit};
use crate::task::Task;
use crate::wake::Due;
use crate::{Traffic, UnitEventKind};

use standstill::{Standstill, Step};

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

/// Simulates a whole NIC. A clone is a deep copy, to come back to this cycle; memory that other
/// processes map ([`Nic::shared_memory`]) is theirs, and not copied with it.
#[derive(Clone, Debug)]
pub struct Nic {
    shared: Shared,
    matching: MatchingEngine,
    inbound: InboundEngine,
    mpq: MpqEngine,
    dispatcher: Dispatcher,
    clusters: Clusters,
    commands: CommandUnit,
    standstill: Standstill,
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
        self.shared.interest = listener.interest();
        let horizon = until.saturating_add(self.shared.epoch);
        let outcome = self.take_steps(u64::MAX, horizon, traffic, listener);
        outcome.unwrap_or(Outcome::TimeReached)
    }

    /// Takes so many steps, unless the run is over before; `None`: there may be more to do.
    fn take_steps(
        &mut self,
        most: u64,
        horizon: u64,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) -> Option<Outcome> {
        if self.shared.wheel.is_due() && self.shared.wheel.now() > horizon {
            return Some(self.end_of_run());
        }
        for _ in 0..most {
            // With packets inside, all is quiet only if nothing is due at all.
            if self.shared.packets.live() == 0 && self.is_quiet() {
                return Some(self.end_of_run());
            }
            if let Some(due) = self.shared.wheel.pop_due() {
                // Within a cycle nothing but progress comes up.
                self.standstill.note(Step::Event(due));
                self.handle(self.shared.wheel.now(), due, traffic, listener);
            } else {
                let Some(step) = self.next_step(horizon) else {
                    return Some(self.end_of_run());
                };
                let is_first = self.standstill.note(step);
                self.take(step, traffic, listener);
                if is_first && self.is_still() {
                    return Some(Outcome::Stuck(self.describe_stuck(self.standstill.cycle())));
                }
            }
            if self.shared.hardware.has_failed() || self.clusters.ended || self.standstill.is_one()
            {
                return Some(self.end_early());
            }
        }
        None
    }

    /// Takes the first step of a cycle, or one of a lane.
    #[inline]
    fn take(&mut self, step: Step, traffic: &mut dyn Traffic, listener: &mut dyn Listener) {
        match step {
            Step::Event(due) => self.handle(self.shared.wheel.now(), due, traffic, listener),
            Step::Lane(cluster) => {
                let now = self.standstill.cycle();
                self.clusters.run_lane(&mut self.shared, cluster, now, listener);
            }
        }
    }

    /// Says how a run ends that a core, a block of hardware or a standstill ends.
    #[cold]
    fn end_early(&mut self) -> Outcome {
        if self.shared.hardware.has_failed() {
            return Outcome::Idle; // who runs it asks why
        }
        if self.standstill.is_one() {
            return Outcome::Stuck(self.describe_standstill());
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
        self.shared.interest = listener.interest();
        let horizon = self.cycle_until(until).saturating_add(self.shared.epoch);
        self.take_steps(1, horizon, traffic, listener)
    }

    /// Says whether nothing that counts has moved for too long.
    #[inline]
    fn is_still(&self) -> bool {
        let limit = self.shared.machine.protection.no_progress_cycles;
        // A frame that has yet to arrive is no packet that waits.
        let still = self.standstill.cycle().saturating_sub(self.shared.last_progress);
        limit > 0 && still > limit && self.is_waited_for()
    }

    /// Lets a source that had nothing be asked anew: where runs are cut makes no difference.
    pub fn reopen(&mut self) {
        if self.inbound.reopen() {
            let now = self.shared.wheel.now();
            self.inbound.wake_inbound(&mut self.shared, now);
        }
    }

    /// Gives the last cycle that a run until a given time may reach, counted from when the machine
    /// was ready.
    fn cycle_until(&self, until: Time) -> u64 {
        if until == Time::MAX { u64::MAX } else { self.shared.clock.cycle_at(until) }
    }

    /// Gives the first step of a later cycle, due at or before `until`, and lets time go on: an event
    /// of the queue, or a cluster's lane.
    #[inline(always)]
    fn next_step(&mut self, until: u64) -> Option<Step> {
        if self.shared.hardware.is_some() {
            self.clock_hardware(until);
        }
        // No lane is due before now, and in the same cycle events go first.
        if let Some((cluster, lane)) = self.clusters.next_lane()
            && self.shared.wheel.next_cycle().is_none_or(|event| event > lane)
        {
            self.standstill.go_on((lane <= until).then_some(lane)?);
            return Some(Step::Lane(cluster));
        }
        let (now, due) = self.shared.wheel.pop_until(until)?;
        self.standstill.go_on(now);
        Some(Step::Event(due))
    }

    /// Says whether packets wait, or cores run on without any.
    fn is_waited_for(&self) -> bool {
        self.shared.packets.live() > 0 || self.inbound.holds() == 0 && !self.is_quiet()
    }

    /// Says whether nothing happens any more of itself. Watchdogs of handlers that are done do not
    /// count: time need not go on for them.
    #[inline]
    fn is_quiet(&self) -> bool {
        let live = self.shared.packets.live();
        let done = live == 0 || self.shared.wheel.is_empty() && !self.shared.hardware.may_act();
        done && self.shared.wheel.len() == self.shared.alarms && self.clusters.next_lane().is_none()
    }

    fn end_of_run(&mut self) -> Outcome {
        if self.is_quiet() || self.clusters.ended {
            if self.inside() > 0 {
                return Outcome::Stuck(self.describe_stuck(self.shared.wheel.now()));
            }
            return if self.inbound.has_ended() { Outcome::Finished } else { Outcome::Idle };
        }
        Outcome::TimeReached
    }

    /// Has a unit work.
    #[inline(always)]
    fn handle(
        &mut self,
        now: u64,
        due: Due,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) {
        let Self { shared, matching, inbound, mpq, dispatcher, clusters, commands, .. } = self;
        match due {
            Due::Core { core, generation } => {
                let core = usize::from(core);
                if clusters.cores[core].generation == generation {
                    clusters.run_core(shared, core, now, listener);
                }
            }
            Due::Line(core) => clusters.line_due(shared, usize::from(core), now),
            Due::Inbound if inbound.frames_wake.take(now) => {
                inbound.take_frames(shared, matching, now, traffic, listener);
                if let Some((start, beats, address)) = inbound.written.take() {
                    clusters.dma_ports.reads.note_write(now, start, beats, address);
                }
            }
            Due::Her if inbound.her_wake.take(now) => {
                let mut to = HerPath { mpq, matching };
                inbound.hand_her(shared, &mut to, now, listener);
            }
            Due::Schedule if mpq.wake.take(now) => {
                let mut between = Neighbours { mpq, clusters, inbound };
                dispatcher.step(shared, now, &mut between, listener);
            }
            Due::Accept(cluster) if clusters.each[cluster as usize].scheduler.accepts.take(now) => {
                self.accept(now, cluster, listener);
            }
            Due::DmaTurn(cluster) if clusters.each[cluster as usize].dma_turns.wake.take(now) => {
                clusters.dma_turn(shared, now, cluster);
            }
            Due::DmaIssue(cluster) if clusters.each[cluster as usize].dma.issues.take(now) => {
                clusters.issue_transfer(shared, now, cluster, listener);
            }
            Due::DmaRead if clusters.dma_ports.mux_wake.take(now) => {
                clusters.dma_read(shared, now, listener);
            }
            Due::Accesses if clusters.l2_wake.take(now) => clusters.serve_accesses(shared, now),
            Due::DmaDone(cluster) => {
                // It may have met the NIC's side at L1 until now.
                if !commands.path.is_idle() {
                    commands.advance_path(now, clusters);
                }
                clusters.dma_done(shared, now, cluster, listener);
            }
            Due::Assign(cluster)
                if clusters.each[cluster as usize].scheduler.assigns.take(now)
                    && (clusters.each[cluster as usize].scheduler.head_ready().is_some()
                        || shared.hardware.schedules()) =>
            {
                clusters.assign(shared, now, cluster, listener);
            }
            Due::ClusterFeedback(cluster)
                if clusters.each[cluster as usize].feedback.wake.take(now)
                    && clusters.each[cluster as usize].feedback.has_room() =>
            {
                clusters.cluster_feedback(shared, now, cluster, listener);
            }
            Due::Feedback if clusters.completions.wake.take(now) => self.complete(now, listener),
            Due::ClusterCommand(cluster)
                if clusters.each[cluster as usize].commands.wake.take(now)
                    && clusters.cluster_command(shared, now, cluster, listener) =>
            {
                commands.offer(shared, clusters, now + 1, cluster);
            }
            Due::CommandFrontend if commands.wake.take(now) => {
                commands.step(shared, &mut Sources { clusters, inbound }, now, listener);
            }
            Due::ClusterPath if commands.path.wake.take(now) => {
                commands.pass(shared, &mut Sources { clusters, inbound }, now);
            }
            Due::CommandDone(command) => {
                let mut from = Sources { clusters, inbound };
                commands.command_done(shared, &mut from, now, command, listener);
            }
            Due::CommandAnswer if commands.answers.wake.take(now) => commands.answer(shared, now),
            Due::CommandResponse(command) => {
                clusters.command_response(shared, now, command, listener);
            }
            Due::Watchdog(core) => {
                shared.alarms -= 1;
                clusters.watchdog(shared, now, usize::from(core), listener);
            }
            _ => {} // stale: the unit has worked earlier
        }
    }

    /// Lets a cluster take the task in its spill register, which the dispatcher may wait for.
    #[inline(always)]
    fn accept(&mut self, now: u64, cluster: u32, listener: &mut dyn Listener) {
        if self.clusters.accept(&mut self.shared, now, cluster, listener) {
            self.dispatcher.retry(&mut self.shared, &mut self.mpq, now);
        }
    }

    /// Brings one completion to the dispatcher and the MPQ engine, and frees a packet that is done.
    fn complete(&mut self, now: u64, listener: &mut dyn Listener) {
        let Some((cluster, task)) = self.clusters.take_completion(&mut self.shared, now) else {
            return;
        };
        self.dispatcher.complete(now, cluster);
        if let Some(seat) = self.shared.hardware.dispatcher() {
            seat.done(cluster);
        }
        let seat = self.shared.hardware.mpq().map(|seat| {
            seat.done(task.queue, task.kind);
            seat.compares
        });
        if seat.unwrap_or(true) {
            self.mpq.complete(now, task.queue, task.kind);
        }
        self.mpq.wake_at(&mut self.shared, now + 1);
        let packet = &self.shared.packets[task.packet];
        let (message, address) = (packet.record.message, packet.address);
        self.shared.tell(listener, || {
            unit(UnitEventKind::FeedbackMpq, now, u32::from(task.frees), 0, message, address)
        });
        if task.frees {
            self.free_packet(now, &task, listener);
        }
        self.inbound.retry_her(&mut self.shared, now + 1);
    }

    fn free_packet(&mut self, now: u64, task: &Task, listener: &mut dyn Listener) {
        let shared = &mut self.shared;
        let time = shared.time(now);
        let packet = &mut shared.packets[task.packet];
        packet.record.completion = time;
        shared.totals.processed += 1;
        listener.hear(&Event::PacketDone(&packet.record));
        let held = (packet.record.packet, packet.address);
        if packet.record.end_of_message {
            self.matching.end_message(packet.record.context.0, packet.record.message);
        }
        shared.packets.remove(task.packet);
        self.inbound.free(shared, now, held);
    }

    /// Gives the cycle at which something happens next, counted from when the machine was ready;
    /// `None`: nothing does of itself.
    pub(crate) fn next_cycle(&self) -> Option<u64> {
        if self.is_quiet() {
            return None;
        }
        let lane = self.clusters.next_lane().map(|(_, cycle)| cycle);
        let next = [self.shared.wheel.next_cycle(), lane].into_iter().flatten().min()?;
        Some(next.saturating_sub(self.shared.epoch))
    }

    /// Lets the source be asked at a cycle, counted from when the machine was ready, if it had
    /// nothing.
    pub(crate) fn ask_at(&mut self, cycle: u64) {
        if self.inbound.reopen() {
            let now = self.shared.wheel.now().max(cycle.saturating_add(self.shared.epoch));
            // Until then nothing has to move.
            self.shared.last_progress = self.shared.last_progress.max(now);
            self.inbound.wake_inbound(&mut self.shared, now);
        }
    }

    /// Gives the cycle it has come to, counted from when the machine was ready.
    pub(crate) fn cycle(&self) -> u64 {
        self.shared.wheel.now().saturating_sub(self.shared.epoch)
    }

    /// Takes another host memory for its own.
    pub(crate) fn exchange_host(&mut self, other: &mut HostMemory) {
        std::mem::swap(&mut self.commands.host.memory, other);
    }

    /// Gives the simulated time since the machine was ready.
    pub fn now(&self) -> Time {
        self.shared.time(self.shared.wheel.now())
    }
}
