//! A cluster's scheduler (CSCHED): room in L1, the copy of the packet, and an idle HPU.
//!
//! In: tasks from the dispatcher through a spill register, one per cycle. Out: DMA requests, and
//! tasks to HPUs: in order, each once its copy is done, to the lowest-numbered idle HPU. Holds the
//! queue and the L1 packet buffer. Makes the dispatcher wait when the packet buffer has no
//! contiguous room. (Paper §III-B2; RTL cluster scheduler.)

use std::collections::VecDeque;

use super::Clusters;
use super::dma::{Requester, Route, Transfer};
use super::packet_ring::PacketRings;
use crate::cluster::hpu::Waiting;
use crate::listener::Listener;
use crate::shared::{Shared, unit};
use crate::task::Task;
use crate::wake::{Due, Wake};
use crate::{Machine, UnitEventKind};

/// Holds the tasks of a cluster that no HPU has yet.
#[derive(Clone, Debug)]
pub struct ClusterScheduler {
    spill: Option<(Task, u64)>,
    queue: VecDeque<Entry>,
    rings: PacketRings,
    buffer_address: u32,
    last_accept: u64,
    /// When it takes the task in its spill register.
    pub accepts: Wake,
    /// When it gives its oldest task to an HPU.
    pub assigns: Wake,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    task: Task,
    /// Cycle from which it may go to an HPU; `None` while its copy is under way.
    ready: Option<u64>,
}

const NEVER: u64 = u64::MAX;

impl ClusterScheduler {
    /// Makes an idle scheduler of the given cluster.
    pub fn new(machine: &Machine, cluster: u32) -> Self {
        let rings = machine.l1.packet_buffer_rings;
        let base = machine.l1.base + cluster * machine.l1.stride;
        Self {
            spill: None,
            queue: VecDeque::with_capacity(machine.hers_per_cluster() as usize),
            rings: PacketRings::new(
                rings,
                machine.l1.packet_buffer_bytes / rings,
                machine.l1.packet_slot_bytes,
            ),
            buffer_address: base + machine.packet_buffer_offset(),
            last_accept: NEVER,
            accepts: Wake::default(),
            assigns: Wake::default(),
        }
    }

    /// Says whether the spill register can take a task.
    pub fn is_ready(&self) -> bool {
        self.spill.is_none()
    }

    /// Puts a task into the spill register at cycle `now`.
    pub fn offer(&mut self, now: u64, task: Task) {
        self.spill = Some((task, now + 1));
    }

    /// Takes the task from the spill register at cycle `now` if L1 has room for `bytes` of its packet.
    pub fn accept(&mut self, now: u64, bytes: impl Fn(&Task) -> u32) -> Option<(Task, u32)> {
        let (task, from) = self.spill.as_ref()?;
        if *from > now || self.last_accept == now {
            return None;
        }
        let (mut task, bytes) = (*task, bytes(task));
        if bytes > 0 {
            let (offset, slots) = self.rings.allocate(bytes)?;
            (task.l1_address, task.l1_slots) = (self.buffer_address + offset, slots);
        } else {
            task.l1_address = self.buffer_address;
        }
        self.last_accept = now;
        self.spill = None;
        self.queue.push_back(Entry { task, ready: (bytes == 0).then_some(now + 1) });
        Some((task, bytes))
    }

    /// Notes that the oldest copy under way is done at cycle `now`.
    pub fn copied(&mut self, now: u64) {
        if let Some(entry) = self.queue.iter_mut().find(|entry| entry.ready.is_none()) {
            entry.ready = Some(now + 1);
        }
    }

    /// Gives the cycle from which the oldest task may go to an HPU.
    pub fn head_ready(&self) -> Option<u64> {
        self.queue.front()?.ready
    }

    /// Takes the oldest task.
    pub fn take(&mut self) -> Option<Task> {
        self.queue.pop_front().map(|entry| entry.task)
    }

    /// Frees a finished task's room in L1.
    pub fn free(&mut self, task: &Task) {
        if task.l1_slots > 0 {
            self.rings.free(task.l1_address - self.buffer_address, task.l1_slots);
        }
    }

    /// Gives the tasks that wait in the spill register and in the queue.
    pub fn waiting(&self) -> (usize, usize) {
        (usize::from(self.spill.is_some()), self.queue.len())
    }
}

impl Clusters {
    /// Lets a cluster's scheduler take a task at `cycle`.
    #[inline]
    pub fn wake_accept(&mut self, shared: &mut Shared, cycle: u64, cluster: u32) {
        shared.wake(
            &mut self.each[cluster as usize].scheduler.accepts,
            cycle,
            Due::Accept(cluster),
        );
    }

    /// Lets a cluster's scheduler take the task in its spill register, if L1 has room; `true`: the
    /// register is free now.
    pub fn accept(
        &mut self,
        shared: &mut Shared,
        now: u64,
        cluster: u32,
        listener: &mut dyn Listener,
    ) -> bool {
        let packets = &shared.packets;
        let bytes = |task: &Task| packets[task.packet].l1_bytes;
        let scheduler = &mut self.each[cluster as usize].scheduler;
        let Some((task, bytes)) = scheduler.accept(now, bytes) else { return false };
        let packet = &shared.packets[task.packet];
        let (message, address) = (packet.record.message, packet.address);
        shared
            .tell(listener, || unit(UnitEventKind::ClusterTask, now, cluster, 0, message, address));
        if bytes > 0 {
            shared.tell(listener, || {
                unit(UnitEventKind::DmaRequest, now, cluster, 0, message, address)
            });
            let transfer = Transfer {
                requester: Requester::Scheduler,
                from: address,
                to: task.l1_address,
                bytes,
                route: Route::FromL2,
            };
            self.request_dma(shared, now, cluster, transfer);
        } else {
            self.wake_assign(shared, now + 1, cluster);
        }
        true
    }

    /// Lets a cluster's scheduler give its oldest task to an HPU at `cycle`.
    #[inline]
    pub fn wake_assign(&mut self, shared: &mut Shared, cycle: u64, cluster: u32) {
        shared.wake(
            &mut self.each[cluster as usize].scheduler.assigns,
            cycle,
            Due::Assign(cluster),
        );
    }

    /// Gives the oldest task whose copy is done to the lowest-numbered idle HPU.
    #[inline]
    pub fn assign(
        &mut self,
        shared: &mut Shared,
        now: u64,
        cluster: u32,
        listener: &mut dyn Listener,
    ) {
        let Some(ready) = self.each[cluster as usize].scheduler.head_ready() else { return };
        if ready > now {
            return self.wake_assign(shared, ready, cluster);
        }
        let first = self.core_id(cluster, 0);
        let cores = first..first + self.cores_each as usize;
        let lost = |core: &usize| self.cores[*core].waiting == Waiting::Ever;
        let idle = cores.clone().find(|core| self.drivers[*core].is_idle(now) && !lost(core));
        let Some(core) = idle else {
            // A doorbell in this very cycle makes an HPU idle in the next.
            let soon = cores.filter(|core| self.drivers[*core].running.is_none() && !lost(core));
            if let Some(at) = soon.map(|core| self.drivers[core].idle_from).min() {
                self.wake_assign(shared, at.max(now + 1), cluster);
            }
            return;
        };
        let Some(task) = self.each[cluster as usize].scheduler.take() else { return };
        self.start_task(shared, now, core, task, listener);
        if self.each[cluster as usize].scheduler.head_ready().is_some() {
            self.wake_assign(shared, now + 1, cluster);
        }
    }
}
