//! The way of completions out of the clusters: each cluster's arbiter and spill register, then one
//! arbiter over the clusters.
//!
//! In: completions of HPU drivers whose commands are done. Out: one a cycle, to the dispatcher and the
//! MPQ engine. Holds up to two in each cluster's spill register; a full one makes its drivers wait,
//! and they their cores. (Paper §III-B2; RTL scheduler: a spill register per cluster,
//! and a round robin over them.)

use pinion_sim::arbiter::Arbiter;

use super::{Clusters, SPILL_ENTRIES};
use crate::UnitEventKind;
use crate::cluster::hpu::Waiting;
use crate::listener::Listener;
use crate::shared::{Shared, unit};
use crate::task::Task;
use crate::wake::{Due, Wake};

/// Holds the arbiter over the clusters.
#[derive(Clone, Debug)]
pub struct CompletionArbiter {
    /// Chooses among clusters with a completion in their spill register.
    arbiter: Arbiter,
    /// When it takes the next one.
    pub wake: Wake,
}

impl CompletionArbiter {
    /// Makes an idle arbiter of so many clusters.
    pub fn new(clusters: u32) -> Self {
        Self { arbiter: Arbiter::new(clusters), wake: Wake::default() }
    }
}

impl Clusters {
    /// Lets a cluster's completions leave at `cycle`.
    #[inline]
    pub fn wake_cluster_feedback(&mut self, shared: &mut Shared, cycle: u64, cluster: u32) {
        shared.wake(
            &mut self.each[cluster as usize].feedback.wake,
            cycle,
            Due::ClusterFeedback(cluster),
        );
    }

    /// Sends one completion of a cluster on its way.
    #[inline]
    pub fn cluster_feedback(
        &mut self,
        shared: &mut Shared,
        now: u64,
        cluster: u32,
        listener: &mut dyn Listener,
    ) {
        if self.each[cluster as usize].held_back != 0 {
            self.withdraw_held_back(now, cluster);
        }
        let units = &mut self.each[cluster as usize];
        let (granted, next) = units.feedback.grant(now);
        if let Some(next) = next {
            self.wake_cluster_feedback(shared, next, cluster);
        }
        let Some(hpu) = granted else { return };
        let core = self.core_id(cluster, hpu);
        let Some(task) = self.drivers[core].completion.take() else { return };
        if let Some(seat) = shared.hardware.driver(core) {
            seat.take_completion();
        }
        self.free_room(shared, now, cluster, &task);
        let units = &mut self.each[cluster as usize];
        let is_oldest = units.feedback.spill.is_empty();
        units.feedback.spill.push_back((task, now));
        if is_oldest {
            self.completions.arbiter.ask(now + 1, cluster);
            self.wake_feedback(shared, now + 1);
        }
        let packet = &shared.packets[task.packet];
        let (message, address) = (packet.record.message, packet.address);
        shared.tell(listener, || {
            unit(UnitEventKind::HpuFeedback, now, cluster, hpu, message, address)
        });
        if !self.each[cluster as usize].scheduler.is_ready() {
            self.wake_accept(shared, now + 1, cluster);
        }
        self.drain_bounced(shared, now, core);
        // What waited for this completion to leave goes on a cycle later.
        if matches!(self.cores[core].waiting, Waiting::Completion | Waiting::Issue) {
            self.resume(shared, core, now + 1);
        }
    }

    /// Takes out of a cluster's arbiter the completions that their drivers offer no longer at cycle `now`.
    fn withdraw_held_back(&mut self, now: u64, cluster: u32) {
        for hpu in 0..self.cores_each {
            let dma = &self.drivers[self.core_id(cluster, hpu)].dma;
            let units = &mut self.each[cluster as usize];
            if units.held_back >> hpu & 1 == 1 && dma.pending_from <= now {
                units.held_back &= !(1 << hpu);
                units.feedback.arbiter.remove(now, hpu);
            }
        }
    }

    /// Lets a completion leave the clusters at `cycle`.
    #[inline]
    pub fn wake_feedback(&mut self, shared: &mut Shared, cycle: u64) {
        shared.wake(&mut self.completions.wake, cycle, Due::Feedback);
    }

    /// Takes the next completion out of the clusters, with its cluster.
    #[inline]
    pub fn take_completion(&mut self, shared: &mut Shared, now: u64) -> Option<(u32, Task)> {
        let arbiter = &mut self.completions.arbiter;
        let taken = arbiter.grant(now).and_then(|cluster| {
            let spill = &mut self.each[cluster as usize].feedback.spill;
            let was_full = spill.len() >= SPILL_ENTRIES;
            let (task, _) = spill.pop_front()?;
            if !spill.is_empty() {
                arbiter.ask(now + 1, cluster);
            }
            Some((cluster, task, was_full))
        });
        if let Some(next) = arbiter.next(now) {
            self.wake_feedback(shared, next);
        }
        let (cluster, task, was_full) = taken?;
        if was_full {
            self.wake_cluster_feedback(shared, now + 1, cluster);
        }
        Some((cluster, task))
    }
}
