//! The way back: a handler ends, its completion leaves when its commands are done, the MPQ engine
//! hears of it, and a packet that is done is freed.

use super::{Due, Nic, unit};
use crate::UnitEventKind;
use crate::cluster::SPILL_ENTRIES;
use crate::hpu::Waiting;
use crate::listener::{Event, HandlerRecord, Listener};
use crate::task::Task;

impl Nic {
    /// Ends the running task of a core at cycle `now`: what the doorbell does.
    pub(super) fn end_task(&mut self, now: u64, core: usize, listener: &mut dyn Listener) {
        let Some(running) = self.drivers[core].running.take() else { return };
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        let task = running.task;
        let started = running.started.unwrap_or(running.assigned);
        let instructions = self.cores[core].hart.instret - running.instret;
        let stalls = self.cores[core].stalls;
        let (start, end) = (self.time(started), self.time(now));
        let packet = &mut self.packets[task.packet];
        let record = &mut packet.record;
        record.handler_start = record.handler_start.or(Some(start));
        record.handler_end = Some(end);
        record.hpu = Some((cluster, hpu));
        record.instructions += instructions;
        record.stalls.add(&stalls);
        record.failed |= running.failed;
        let (message, address) = (record.message, packet.address);
        if self.interest.handlers {
            let record = HandlerRecord {
                packet: packet.record.packet,
                context: packet.record.context,
                kind: task.kind,
                cluster,
                hpu,
                start,
                end,
                instructions,
                stalls,
                failed: running.failed,
            };
            listener.hear(&Event::HandlerDone(&record));
        }
        self.totals.busy_cycles += now - running.assigned + 1;
        self.last_progress = now;
        self.tell(listener, || {
            unit(UnitEventKind::HpuFeedbackPush, now, cluster, hpu, message, address)
        });
        let driver = &mut self.drivers[core];
        driver.completion = Some(task);
        driver.completion_from = now + 1;
        driver.idle_from = now + 1;
        self.wake_assign(now + 1, cluster);
        self.offer_completion(now, core);
    }

    /// Lets a core's completion leave if nothing holds it back any more.
    pub(super) fn offer_completion(&mut self, now: u64, core: usize) {
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        if self.drivers[core].can_complete(now + 1) {
            self.clusters[cluster as usize].feedback_requests.set(hpu, true);
            self.wake_cluster_feedback(now + 1, cluster);
        }
    }

    /// Lets a cluster's completions leave at `cycle`.
    pub(super) fn wake_cluster_feedback(&mut self, cycle: u64, cluster: u32) {
        if self.wakes.cluster_feedback[cluster as usize].request(cycle) {
            self.wheel.push(cycle, Due::ClusterFeedback(cluster));
        }
    }

    /// Sends one completion of a cluster on its way.
    pub(super) fn cluster_feedback(&mut self, now: u64, cluster: u32, listener: &mut dyn Listener) {
        let units = &mut self.clusters[cluster as usize];
        if units.feedback.len() >= SPILL_ENTRIES {
            return; // the root takes one and wakes this cluster
        }
        let Some(hpu) = units.feedback_arbiter.grant(&units.feedback_requests) else { return };
        units.feedback_requests.set(hpu, false);
        let again = !units.feedback_requests.is_empty();
        let core = self.core_id(cluster, hpu);
        let Some(task) = self.drivers[core].completion.take() else { return };
        let units = &mut self.clusters[cluster as usize];
        units.scheduler.free(&task);
        units.feedback.push_back((task, now));
        self.feedback_requests.set(cluster, true);
        self.wake_feedback(now + 1);
        let packet = &self.packets[task.packet];
        let (message, address) = (packet.record.message, packet.address);
        self.tell(listener, || {
            unit(UnitEventKind::HpuFeedback, now, cluster, hpu, message, address)
        });
        if !self.clusters[cluster as usize].scheduler.is_ready() {
            self.wake_accept(now + 1, cluster);
        }
        if again {
            self.wake_cluster_feedback(now + 1, cluster);
        }
        self.drain_bounced(now, core);
        // What waited for this completion to leave goes on a cycle later.
        if matches!(self.cores[core].waiting, Waiting::Completion | Waiting::Issue) {
            self.resume(core, now + 1);
        }
    }

    fn wake_feedback(&mut self, cycle: u64) {
        if self.wakes.feedback.request(cycle) {
            self.wheel.push(cycle, Due::Feedback);
        }
    }

    /// Brings one completion to the MPQ engine and the dispatcher.
    pub(super) fn feedback(&mut self, now: u64, listener: &mut dyn Listener) {
        let Some(cluster) = self.feedback_arbiter.grant(&self.feedback_requests) else { return };
        let units = &mut self.clusters[cluster as usize];
        let was_full = units.feedback.len() >= SPILL_ENTRIES;
        let Some((task, _)) = units.feedback.pop_front() else { return };
        let more = !units.feedback.is_empty();
        self.feedback_requests.set(cluster, more);
        if was_full {
            self.wake_cluster_feedback(now + 1, cluster);
        }
        if !self.feedback_requests.is_empty() {
            self.wake_feedback(now + 1);
        }
        self.dispatcher.complete(now, cluster);
        self.mpq.complete(now, task.queue, task.kind);
        self.wake_schedule(now + 1);
        let packet = &self.packets[task.packet];
        let (message, address) = (packet.record.message, packet.address);
        self.tell(listener, || {
            unit(UnitEventKind::FeedbackMpq, now, u32::from(task.frees), 0, message, address)
        });
        if task.frees {
            self.free_packet(now, &task, listener);
        }
        self.retry_her(now + 1);
    }

    fn free_packet(&mut self, now: u64, task: &Task, listener: &mut dyn Listener) {
        let time = self.time(now);
        let packet = &mut self.packets[task.packet];
        packet.record.completion = time;
        self.totals.processed += 1;
        listener.hear(&Event::PacketDone(&packet.record));
        let address = packet.address;
        if packet.record.end_of_message {
            self.matching.end_message(packet.record.context.0, packet.record.message);
        }
        self.packets.remove(task.packet);
        self.buffer.free(address);
        self.wake_inbound(now + 1);
    }
}
