//! The dispatcher: chooses the cluster of each task.
//!
//! In: tasks from the MPQ engine, completions. Out: tasks to the clusters' spill registers. Holds
//! the occupancy of each cluster and the task that waits. A message's home cluster (its queue modulo the clusters) is used
//! while it has room and is ready; else the least occupied ready cluster, the lowest index first;
//! with every cluster full the task waits. (Paper §III-B1; RTL scheduler.)

use std::collections::VecDeque;

use crate::cluster::Clusters;
use crate::hardware::SchedulerSeat;
use crate::hardware::mpq_engine::Offered;
use crate::inbound::InboundEngine;
use crate::listener::Listener;
use crate::mpq_engine::MpqEngine;
use crate::shared::{Shared, unit};
use crate::task::Task;
use crate::{Machine, UnitEventKind};

/// Counts the tasks in each cluster and chooses.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    occupancy: Vec<u32>,
    limit: u32,
    /// Completions with the cycle from which the dispatcher sees them.
    staged: VecDeque<(u64, u32)>,
    /// Task between the MPQ engine and the dispatcher, with the cycle from which it may go on.
    register: Option<(Task, u64)>,
    /// Cycle of its last step.
    last_step: u64,
}

impl Dispatcher {
    /// Makes a dispatcher of empty clusters.
    pub fn new(machine: &Machine) -> Self {
        Self {
            occupancy: vec![0; machine.cluster.count as usize],
            limit: machine.hers_per_cluster(),
            staged: VecDeque::with_capacity(64),
            register: None,
            last_step: u64::MAX,
        }
    }

    /// Counts out what was done before cycle `now`.
    #[inline]
    fn see(&mut self, now: u64) {
        while let Some(&(from, cluster)) = self.staged.front() {
            if from > now {
                break;
            }
            self.staged.pop_front();
            self.occupancy[cluster as usize] -= 1;
        }
    }

    /// Chooses a cluster for a task of MPQ `queue` at cycle `now` and counts it there.
    fn choose(&mut self, now: u64, queue: u32, ready: impl Fn(u32) -> bool) -> Option<u32> {
        self.see(now);
        let clusters = self.occupancy.len() as u32;
        let takes =
            |&cluster: &u32| self.occupancy[cluster as usize] < self.limit && ready(cluster);
        let home = self.home(queue);
        let chosen = Some(home).filter(takes).or_else(|| {
            (0..clusters).filter(takes).min_by_key(|&cluster| self.occupancy[cluster as usize])
        })?;
        self.occupancy[chosen as usize] += 1;
        Some(chosen)
    }

    /// Gives the home cluster of the message in a queue.
    #[inline]
    pub fn home(&self, queue: u32) -> u32 {
        queue % self.occupancy.len() as u32
    }

    /// Gives the task in the register, as far as it is seen at cycle `now`.
    pub fn offered(&self, now: u64) -> Option<&Task> {
        self.register.as_ref().filter(|(_, from)| *from <= now).map(|(task, _)| task)
    }

    /// Says whether it took its step of this cycle.
    pub fn has_stepped(&self, cycle: u64) -> bool {
        self.last_step == cycle
    }

    /// Counts a completion at cycle `now`; the dispatcher sees it one cycle later.
    #[inline]
    pub fn complete(&mut self, now: u64, cluster: u32) {
        self.staged.push_back((now + 1, cluster));
    }

    /// Gives the tasks in each cluster.
    pub fn occupancy(&self) -> Vec<u32> {
        let mut occupancy = self.occupancy.clone();
        for &(_, cluster) in &self.staged {
            occupancy[cluster as usize] -= 1;
        }
        occupancy
    }
}

/// Names whom the dispatcher stands between: the MPQ engine has the next task, clusters take tasks, the
/// inbound engine has HERs that may wait for a cell.
pub struct Neighbours<'a> {
    pub mpq: &'a mut MpqEngine,
    pub clusters: &'a mut Clusters,
    pub inbound: &'a mut InboundEngine,
}

impl Dispatcher {
    /// Tries again, a cluster's spill register being free: the task may have waited for it.
    #[inline]
    pub fn retry(&self, shared: &mut Shared, mpq: &mut MpqEngine, now: u64) {
        if self.register.is_some() {
            mpq.wake_at(shared, now + u64::from(self.last_step == now));
        }
    }

    /// One cycle of the packet scheduler: the task in the register goes to a cluster, the MPQ
    /// engine's arbiter puts the next one into it.
    #[inline]
    pub fn step(
        &mut self,
        shared: &mut Shared,
        now: u64,
        between: &mut Neighbours<'_>,
        listener: &mut dyn Listener,
    ) {
        self.last_step = now;
        let Neighbours { mpq, clusters, inbound } = between;
        for cluster in 0..shared.machine.cluster.count {
            if !clusters.each[cluster as usize].scheduler.is_ready()
                && clusters.accept(shared, now, cluster, listener)
            {
                self.retry(shared, mpq, now);
            }
        }
        if shared.hardware.is_some() {
            self.look_at_hardware(shared, now, listener);
        }
        let mut full_from = now;
        if let Some((task, from)) = self.register
            && from <= now
            && self.dispatch(shared, now, task, clusters, listener)
        {
            self.register = None;
            full_from = from;
            if let Some(seat) = shared.hardware.mpq() {
                seat.take(&task);
            }
        }
        if shared.hardware.replaces_mpq() {
            return;
        }
        if self.register.is_none()
            && let Some((task, state)) = mpq.arbitrate(now, full_from, &shared.packets)
        {
            self.register = Some((task, now + 1));
            let message = shared.packets[task.packet].record.message;
            shared.tell(listener, || unit(UnitEventKind::MpqArbitrated, now, 0, 0, message, state));
            // A cell may have become free for a HER that waits.
            inbound.retry_her(shared, now + 1);
        }
        if self.register.is_some_and(|(_, from)| from > now) {
            mpq.wake_at(shared, now + 1);
        } else if self.register.is_none() && mpq.has_work() {
            let from = mpq.next_ready_cycle().unwrap_or(now + 1);
            mpq.wake_at(shared, from.max(now + 1));
        }
        if self.register.is_some()
            && let Some(&(from, _)) = self.staged.front()
        {
            // A completion of this very cycle that came before the step has not woken it for the next.
            mpq.wake_at(shared, from.max(now + 1));
        }
        // Otherwise a completion or a cluster that takes its task wakes the scheduler.
    }

    /// Sends a task to the cluster chosen for it; `false`: none takes it now.
    #[inline]
    fn dispatch(
        &mut self,
        shared: &mut Shared,
        now: u64,
        task: Task,
        clusters: &mut Clusters,
        listener: &mut dyn Listener,
    ) -> bool {
        let packet = &shared.packets[task.packet];
        let (message, address) = (packet.record.message, packet.address);
        let chosen = if shared.hardware.is_some() {
            self.choose_with_hardware(shared, now, &task, clusters)
        } else {
            let ready = |cluster: u32| clusters.each[cluster as usize].scheduler.is_ready();
            self.choose(now, task.queue, ready)
        };
        let Some(cluster) = chosen else { return false };
        clusters.offer(shared, now, cluster, task);
        shared.tell(listener, || unit(UnitEventKind::TaskOut, now, cluster, 0, message, address));
        true
    }
}

/// With blocks of hardware.
impl Dispatcher {
    /// Has the MPQ engine's block's task in the register, or shows the block what the model's has there.
    fn look_at_hardware(&mut self, shared: &mut Shared, now: u64, listener: &mut dyn Listener) {
        let Shared { hardware, packets, contexts, .. } = shared;
        let Some(seat) = hardware.mpq() else { return };
        if seat.compares {
            return seat.follow_task(self.offered(now), |packet| packets[packet].record.context);
        }
        let was_empty = self.register.is_none();
        self.register = seat.task().map(|offered| {
            let Offered { packet, queue, kind, frees } = offered;
            let context = packets[packet].record.context.0 as usize;
            let handler = contexts.handlers[context].of(kind);
            (Task { packet, kind, handler, queue, frees, l1_address: 0, l1_slots: 0 }, now)
        });
        if let Some((task, _)) = self.register.filter(|_| was_empty) {
            // It was chosen in the cycle before; the states of a message that has a task are 1, 3, 5.
            let state = 2 * task.kind as u32 + 1;
            let message = shared.packets[task.packet].record.message;
            shared.tell(listener, || {
                unit(UnitEventKind::MpqArbitrated, now - 1, 0, 0, message, state)
            });
        }
    }

    /// Says which clusters take a task, a bit for each.
    pub fn ready(&self, clusters: &Clusters) -> u64 {
        let ready = |cluster: usize| u64::from(clusters.each[cluster].scheduler.is_ready());
        (0..self.occupancy.len()).map(|cluster| ready(cluster) << cluster).sum()
    }

    /// Chooses a task's cluster, where blocks stand in the place of units or beside them.
    fn choose_with_hardware(
        &mut self,
        shared: &mut Shared,
        now: u64,
        task: &Task,
        clusters: &Clusters,
    ) -> Option<u32> {
        let mut ready = self.ready(clusters);
        if shared.hardware.schedules() {
            let mut takes = |cluster: u32| {
                shared.hardware.scheduler(cluster).is_some_and(SchedulerSeat::is_ready)
            };
            let count = self.occupancy.len() as u32;
            ready = (0..count).map(|cluster| u64::from(takes(cluster)) << cluster).sum();
        }
        let home = self.home(task.queue);
        if let Some(seat) = shared.hardware.dispatcher().filter(|seat| !seat.compares) {
            self.see(now);
            let chosen = seat.choose(home, task.packet, ready)?;
            self.occupancy[chosen as usize] += 1;
            return Some(chosen);
        }
        let chosen = self.choose(now, task.queue, |cluster| ready >> cluster & 1 == 1);
        if let Some(seat) = shared.hardware.dispatcher() {
            seat.follow(home, task.packet, ready, chosen);
        }
        chosen
    }
}
