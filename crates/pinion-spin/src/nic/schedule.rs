//! From the MPQ engine to an HPU: arbitration, dispatch, the cluster's scheduler, the copy to L1.

use super::{Due, Nic, unit};
use crate::UnitEventKind;
use crate::cluster::dma::{ERROR_WORD, Requester, Route, Transfer};
use crate::hpu::Waiting;
use crate::hpu::driver::{Running, TaskPacket};
use crate::listener::Listener;
use crate::machine::DmaReach;
use crate::memory::Place;
use crate::task::Task;

impl Nic {
    /// Lets MPQ engine and dispatcher take a step at `cycle`.
    pub(super) fn wake_schedule(&mut self, cycle: u64) {
        if self.wakes.schedule.request(cycle) {
            self.wheel.push(cycle, Due::Schedule);
        }
    }

    /// One cycle of the packet scheduler: the task in the register goes to a cluster, the arbiter
    /// puts the next one into it.
    pub(super) fn schedule(&mut self, now: u64, listener: &mut dyn Listener) {
        self.last_schedule = now;
        for cluster in 0..self.machine.cluster.count {
            if !self.clusters[cluster as usize].scheduler.is_ready() {
                self.accept(now, cluster, listener);
            }
        }
        if let Some((task, from)) = self.outgoing
            && from <= now
            && self.dispatch(now, task, listener)
        {
            self.outgoing = None;
        }
        if self.outgoing.is_none()
            && let Some((task, state)) = self.mpq.arbitrate(now, &self.packets)
        {
            self.outgoing = Some((task, now + 1));
            let message = self.packets[task.packet].record.message;
            self.tell(listener, || {
                unit(UnitEventKind::MpqArbitrated, now, 0, 0, message, state as u32)
            });
            // A cell may have become free for a HER that waits.
            self.retry_her(now + 1);
        }
        if self.outgoing.is_some_and(|(_, from)| from > now) {
            self.wake_schedule(now + 1);
        } else if self.outgoing.is_none() && self.mpq.has_work() {
            let from = self.mpq.next_ready_cycle().unwrap_or(now + 1);
            self.wake_schedule(from.max(now + 1));
        }
        // Otherwise a completion or a cluster that takes its task wakes the scheduler.
    }

    fn dispatch(&mut self, now: u64, task: Task, listener: &mut dyn Listener) -> bool {
        let packet = &self.packets[task.packet];
        let (message, address) = (packet.record.message, packet.address);
        let clusters = &self.clusters;
        let ready = |cluster: u32| clusters[cluster as usize].scheduler.is_ready();
        let Some(cluster) = self.dispatcher.dispatch(now, task.queue, ready) else { return false };
        self.clusters[cluster as usize].scheduler.offer(now, task);
        self.wake_accept(now + 1, cluster);
        self.tell(listener, || unit(UnitEventKind::TaskOut, now, cluster, 0, message, address));
        true
    }

    pub(super) fn wake_accept(&mut self, cycle: u64, cluster: u32) {
        if self.wakes.accept[cluster as usize].request(cycle) {
            self.wheel.push(cycle, Due::Accept(cluster));
        }
    }

    /// Lets a cluster's scheduler take the task in its spill register, if L1 has room.
    pub(super) fn accept(&mut self, now: u64, cluster: u32, listener: &mut dyn Listener) {
        let packets = &self.packets;
        let bytes = |task: &Task| packets[task.packet].l1_bytes;
        let scheduler = &mut self.clusters[cluster as usize].scheduler;
        let Some((task, bytes)) = scheduler.accept(now, bytes) else { return };
        let packet = &self.packets[task.packet];
        let (message, address) = (packet.record.message, packet.address);
        self.tell(listener, || unit(UnitEventKind::ClusterTask, now, cluster, 0, message, address));
        if bytes > 0 {
            self.tell(listener, || {
                unit(UnitEventKind::DmaRequest, now, cluster, 0, message, address)
            });
            let transfer = Transfer {
                requester: Requester::Scheduler,
                from: address,
                to: task.l1_address,
                bytes,
                route: Route::FromL2,
            };
            self.request_dma(now, cluster, transfer);
        } else {
            self.wake_assign(now + 1, cluster);
        }
        // The spill register is free: the dispatcher may have waited for it.
        if self.outgoing.is_some() {
            self.wake_schedule(now + u64::from(self.last_schedule == now));
        }
    }

    /// Queues a transfer in a cluster's DMA engine.
    pub(super) fn request_dma(&mut self, now: u64, cluster: u32, transfer: Transfer) {
        let at = self.clusters[cluster as usize].dma.request(now, transfer);
        self.wake_dma_issue(at, cluster);
    }

    fn wake_dma_issue(&mut self, cycle: u64, cluster: u32) {
        if self.wakes.dma_issue[cluster as usize].request(cycle) {
            self.wheel.push(cycle, Due::DmaIssue(cluster));
        }
    }

    /// Lets a cluster's DMA engine issue its next transfer.
    pub(super) fn dma_issue(&mut self, now: u64, cluster: u32, listener: &mut dyn Listener) {
        let units = &mut self.clusters[cluster as usize];
        if let Some(issued) = units.dma.issue(now, &mut self.dma_ports) {
            let base = self.machine.l1.base + cluster * self.machine.l1.stride;
            for address in [issued.transfer.to, issued.transfer.from] {
                let offset = address.wrapping_sub(base);
                if offset < self.machine.l1.bytes {
                    units.banks.dma(issued.first_beat, issued.beats, offset);
                }
            }
            self.wheel.push(issued.done, Due::DmaDone(cluster));
            self.tell_transfer(now, cluster, &issued, listener);
        }
        if let Some(at) = self.clusters[cluster as usize].dma.next_issue() {
            self.wake_dma_issue(at.max(now + 1), cluster);
        }
    }

    /// Completes a transfer: the bytes are there now.
    pub(super) fn dma_done(&mut self, now: u64, cluster: u32, listener: &mut dyn Listener) {
        let engine = &mut self.clusters[cluster as usize].dma;
        let transfer = match engine.complete(now, &mut self.dma_ports) {
            Ok(Some(transfer)) => transfer,
            Ok(None) => return,
            Err(later) => return self.wheel.push(later, Due::DmaDone(cluster)),
        };
        let places = (
            self.memories.place(transfer.from, cluster),
            self.memories.place(transfer.to, cluster),
        );
        if let (Some(from), Some(to)) = places {
            self.move_bytes(cluster, &transfer, from, to);
        }
        match transfer.requester {
            Requester::Scheduler => {
                self.tell(listener, || {
                    unit(UnitEventKind::DmaResponse, now, cluster, 0, 0, transfer.from)
                });
                self.clusters[cluster as usize].scheduler.copied(now);
                self.wake_assign(now + 1, cluster);
            }
            Requester::Core(core) => self.core_transfer_done(now, core as usize),
        }
    }

    /// Moves a transfer's bytes, whose ranges were checked when it was launched.
    fn move_bytes(&mut self, cluster: u32, transfer: &Transfer, from: Place, to: Place) {
        let reach = match transfer.requester {
            Requester::Scheduler => DmaReach::All,
            Requester::Core(_) => self.machine.dma.core_reach,
        };
        let reached = (reach.reaches(from, cluster), reach.reaches(to, cluster));
        self.totals.unreached_transfers += u64::from(reached != (true, true));
        match reached {
            (_, false) => return,
            (true, true) => {
                let _ = self.memories.copy(from, to, transfer.bytes, &mut self.scratch);
            }
            (false, true) => {
                let answer = ERROR_WORD.to_le_bytes().into_iter().cycle();
                let answer = answer.skip((transfer.from % 4) as usize);
                if let Some(written) = self.memories.slice_mut(to, transfer.bytes) {
                    written.iter_mut().zip(answer).for_each(|(byte, value)| *byte = value);
                }
            }
        }
        if let Place::Program(_) = to {
            self.program.invalidate(transfer.to, u64::from(transfer.bytes));
        }
    }

    /// Lets a cluster's scheduler give its oldest task to an HPU at `cycle`.
    pub(super) fn wake_assign(&mut self, cycle: u64, cluster: u32) {
        if self.wakes.assign[cluster as usize].request(cycle) {
            self.wheel.push(cycle, Due::Assign(cluster));
        }
    }

    /// Gives the oldest task whose copy is done to the lowest-numbered idle HPU.
    pub(super) fn assign(&mut self, now: u64, cluster: u32, listener: &mut dyn Listener) {
        let Some(ready) = self.clusters[cluster as usize].scheduler.head_ready() else { return };
        if ready > now {
            return self.wake_assign(ready, cluster);
        }
        let first = self.core_id(cluster, 0);
        let cores = first..first + self.machine.cluster.cores as usize;
        let lost = |core: &usize| self.cores[*core].waiting == Waiting::Ever;
        let idle = cores.clone().find(|core| self.drivers[*core].is_idle(now) && !lost(core));
        let Some(core) = idle else {
            // A doorbell in this very cycle makes an HPU idle in the next.
            let soon = cores.filter(|core| self.drivers[*core].running.is_none() && !lost(core));
            if let Some(at) = soon.map(|core| self.drivers[core].idle_from).min() {
                self.wake_assign(at.max(now + 1), cluster);
            }
            return;
        };
        let Some(task) = self.clusters[cluster as usize].scheduler.take() else { return };
        self.start_task(now, core, task, listener);
        if self.clusters[cluster as usize].scheduler.head_ready().is_some() {
            self.wake_assign(now + 1, cluster);
        }
    }

    fn start_task(&mut self, now: u64, core: usize, task: Task, listener: &mut dyn Listener) {
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        let packet = &self.packets[task.packet];
        let (message, address) = (packet.record.message, packet.address);
        let context = packet.record.context.0;
        self.tell(listener, || unit(UnitEventKind::HpuTask, now, cluster, hpu, message, address));
        let driver = &mut self.drivers[core];
        if task.handler == 0 {
            // No handler: the driver sends the completion straight back, once it can.
            driver.bounced = Some(task);
            driver.idle_from = now + 1;
            return self.drain_bounced(now, core);
        }
        let shown = TaskPacket { l2_address: address, l1_bytes: packet.l1_bytes };
        driver.load_task(&self.machine, &self.contexts[context as usize], &task, &shown);
        driver.running = Some(Running {
            task,
            context,
            assigned: now,
            started: None,
            instret: 0,
            failed: false,
        });
        if self.cores[core].waiting == Waiting::Task {
            self.resume(core, now + 1);
        }
    }

    /// Turns a task without handler into a completion when the one before has left.
    pub(super) fn drain_bounced(&mut self, now: u64, core: usize) {
        let driver = &mut self.drivers[core];
        if driver.completion.is_none()
            && let Some(task) = driver.bounced.take()
        {
            driver.completion = Some(task);
            driver.completion_from = now + 1;
            let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
            self.clusters[cluster as usize].feedback_requests.set(hpu, true);
            self.wake_cluster_feedback(now + 1, cluster);
        }
    }
}
