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
use crate::hardware::SchedulerSeat;
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
    /// Room that was given back last, with the cycle: the rings see it in the next one.
    freed: Option<(u64, u32, u32)>,
    buffer_address: u32,
    last_accept: u64,
    /// HPUs that have no task, a bit for each: one of them may take the next, once it is idle.
    pub without_task: u64,
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
            freed: None,
            buffer_address: base + machine.packet_buffer_offset(),
            last_accept: NEVER,
            without_task: u64::MAX >> (u64::BITS - machine.cluster.cores.clamp(1, u64::BITS)),
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
        if let Some((_, offset, slots)) = self.freed.take_if(|(cycle, ..)| *cycle < now) {
            self.rings.free(offset, slots);
        }
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

    /// Frees a finished task's room in L1, which the rings see in the next cycle.
    pub fn free(&mut self, now: u64, task: &Task) {
        if task.l1_slots > 0 {
            let offset = self.offset(task);
            let freed = (now, offset, task.l1_slots);
            if let Some((_, offset, slots)) = self.freed.replace(freed) {
                self.rings.free(offset, slots);
            }
        }
    }

    /// Gives the offset of a task's packet in the packet buffer.
    pub fn offset(&self, task: &Task) -> u32 {
        task.l1_address - self.buffer_address
    }

    /// Gives a task, whose room is an offset in the packet buffer, its address.
    pub fn placed(&self, task: Task) -> Task {
        Task { l1_address: self.buffer_address + task.l1_address, ..task }
    }

    /// Gives the tasks that wait in the spill register and in the queue.
    pub fn waiting(&self) -> (usize, usize) {
        (usize::from(self.spill.is_some()), self.queue.len())
    }
}

/// Gives the cores of a set of a cluster's HPUs, the lowest number first.
fn cores_of(first: usize, mut hpus: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (hpus != 0).then(|| hpus.trailing_zeros() as usize)?;
        hpus &= hpus - 1;
        Some(first + lowest)
    })
}

impl Clusters {
    /// Puts a task into the spill register of a cluster's scheduler.
    #[inline]
    pub fn offer(&mut self, shared: &mut Shared, now: u64, cluster: u32, task: Task) {
        if let Some(seat) = shared.hardware.scheduler(cluster) {
            seat.offer(task, shared.packets[task.packet].l1_bytes);
            if !seat.compares {
                return; // the block says when it copies
            }
        }
        self.each[cluster as usize].scheduler.offer(now, task);
        self.wake_accept(shared, now + 1, cluster);
    }

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
        let scheduler = &mut self.each[cluster as usize].scheduler;
        let accepted = if shared.hardware.schedules() {
            let copy = shared.hardware.scheduler(cluster).and_then(SchedulerSeat::copy);
            copy.map(|(task, bytes)| (scheduler.placed(task), bytes))
        } else {
            let packets = &shared.packets;
            scheduler.accept(now, |task| packets[task.packet].l1_bytes)
        };
        let Some((task, bytes)) = accepted else { return false };
        if let Some(seat) = shared.hardware.scheduler(cluster).filter(|seat| seat.compares)
            && bytes > 0
        {
            seat.follow_copy(&task, scheduler.offset(&task), bytes);
        }
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
            self.copy_packet(shared, now, cluster, transfer);
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
        if shared.hardware.schedules() {
            return self.assign_by_hardware(shared, now, cluster, listener);
        }
        let Some(ready) = self.each[cluster as usize].scheduler.head_ready() else { return };
        if ready > now {
            return self.wake_assign(shared, ready, cluster);
        }
        let first = self.core_id(cluster, 0);
        let without_task = self.each[cluster as usize].scheduler.without_task;
        let Some(core) = cores_of(first, without_task).find(|&core| self.is_idle(core, now)) else {
            // A doorbell in this very cycle makes an HPU idle in the next.
            let soon = cores_of(first, without_task)
                .filter(|&core| self.cores[core].waiting != Waiting::Ever);
            if let Some(at) = soon.map(|core| self.drivers[core].idle_from).min() {
                self.wake_assign(shared, at.max(now + 1), cluster);
            }
            return;
        };
        let scheduler = &mut self.each[cluster as usize].scheduler;
        let Some(task) = scheduler.take() else { return };
        if let Some(seat) = shared.hardware.scheduler(cluster) {
            seat.follow_assign((core - first) as u32, &task, scheduler.offset(&task));
        }
        self.start_task(shared, now, core, task, listener);
        if self.each[cluster as usize].scheduler.head_ready().is_some() {
            self.wake_assign(shared, now + 1, cluster);
        }
    }

    /// Says whether an HPU can take a task at cycle `now`.
    pub fn is_idle(&self, core: usize, now: u64) -> bool {
        self.drivers[core].is_idle(now) && self.cores[core].waiting != Waiting::Ever
    }

    /// Gives an HPU the task that the block in the scheduler's place says.
    fn assign_by_hardware(
        &mut self,
        shared: &mut Shared,
        now: u64,
        cluster: u32,
        listener: &mut dyn Listener,
    ) {
        let first = self.core_id(cluster, 0);
        let Some(seat) = shared.hardware.scheduler(cluster) else { return };
        let is_idle = |hpu: u32| self.is_idle(first + hpu as usize, now);
        let Some((hpu, task)) = seat.assign(is_idle) else { return };
        let task = self.each[cluster as usize].scheduler.placed(task);
        self.start_task(shared, now, first + hpu as usize, task, listener);
    }

    /// Frees a finished task's room in a cluster's L1.
    #[inline]
    pub fn free_room(&mut self, shared: &mut Shared, now: u64, cluster: u32, task: &Task) {
        let scheduler = &mut self.each[cluster as usize].scheduler;
        if let Some(seat) = shared.hardware.scheduler(cluster) {
            if task.l1_slots > 0 {
                seat.free(scheduler.offset(task), task.l1_slots);
            }
            if !seat.compares {
                return;
            }
        }
        scheduler.free(now, task);
    }

    /// Notes that the oldest copy of a cluster's scheduler is done.
    #[inline]
    pub fn copied(&mut self, shared: &mut Shared, now: u64, cluster: u32) {
        if let Some(seat) = shared.hardware.scheduler(cluster) {
            seat.copy_done();
        }
        self.each[cluster as usize].scheduler.copied(now);
        self.wake_assign(shared, now + 1, cluster);
    }
}
