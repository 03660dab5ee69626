//! A task's time in an HPU: assigned, taken by the core, ended by the doorbell or the watchdog,
//! its completion held back until its commands are done.

use pinion_cores::pulp::NO_REGISTER;
use pinion_isa::{Cause, Exception, Privilege};

use super::{Running, TaskPacket, register};
use crate::UnitEventKind;
use crate::cluster::Clusters;
use crate::cluster::hpu::Waiting;
use crate::cluster::hpu::permissions::Subject;
use crate::cluster::pe_interconnect::Performed;
use crate::cluster::peripherals::done;
use crate::listener::{Event, Fault, HandlerRecord, Listener};
use crate::shared::{Shared, unit};
use crate::task::Task;

impl Clusters {
    /// Gives a core a task; one without a handler goes straight back.
    #[inline]
    pub fn start_task(
        &mut self,
        shared: &mut Shared,
        now: u64,
        core: usize,
        task: Task,
        listener: &mut dyn Listener,
    ) {
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        let packet = &shared.packets[task.packet];
        let (message, address) = (packet.record.message, packet.address);
        let context = packet.record.context.0;
        shared.tell(listener, || unit(UnitEventKind::HpuTask, now, cluster, hpu, message, address));
        let driver = &mut self.drivers[core];
        if task.handler == 0 {
            // No handler: the driver sends the completion straight back, once it can.
            driver.bounced = Some(task);
            driver.idle_from = now + 1;
            self.show_task(shared, core, &task);
            return self.drain_bounced(shared, now, core);
        }
        let version = shared.contexts.version(context);
        let shown = TaskPacket { l2_address: address, l1_bytes: packet.l1_bytes, context: version };
        driver.load_task(&shared.machine, &shared.contexts.list[context as usize], &task, &shown);
        driver.running = Some(Running {
            task,
            context,
            assigned: now,
            started: None,
            instret: 0,
            failed: false,
        });
        self.show_task(shared, core, &task);
        self.each[cluster as usize].scheduler.without_task &= !(1 << hpu);
        if self.cores[core].waiting == Waiting::Task {
            self.resume(shared, core, now + 1);
        }
    }

    /// Turns a task without handler into a completion when the one before has left.
    #[inline(always)]
    pub fn drain_bounced(&mut self, shared: &mut Shared, now: u64, core: usize) {
        let driver = &mut self.drivers[core];
        if driver.completion.is_none()
            && let Some(task) = driver.bounced.take()
        {
            driver.completion = Some(task);
            driver.completion_from = now + 1;
            if shared.hardware.has_drivers() {
                driver.idle_from = driver.idle_from.max(now + 1);
            }
            self.offer_completion(shared, now, core);
        }
    }

    /// Answers the load of the handler's address. A task assigned in this very cycle is there in the
    /// next: then the core waits that long.
    pub fn take_task(
        &mut self,
        shared: &mut Shared,
        id: usize,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let driver = &mut self.drivers[id];
        let Some(running) = driver.running.as_mut() else {
            return Performed::Wait(Waiting::Task);
        };
        driver.has_grace = false;
        let core = &mut self.cores[id];
        let now = now.max(running.assigned + 1);
        running.started = Some(now);
        running.instret = core.model.hart.instret;
        core.model.stalls = crate::Stalls::default();
        let (task, context) = (running.task, running.context);
        let (cluster, hpu) = (core.cluster, core.index);
        let packet = &shared.packets[task.packet];
        let subject = Subject {
            cluster,
            hpu,
            l1_packet: (task.l1_address, packet.l1_bytes),
            l2_packet: (packet.address, packet.record.bytes),
            context: shared.contexts.version(context),
        };
        let (message, address) = (packet.record.message, packet.address);
        let context = &shared.contexts.list[context as usize];
        core.permissions.set(&shared.machine, context, &subject);
        if shared.machine.protection.watchdog {
            let limit =
                context.watchdog_cycles.unwrap_or(shared.machine.protection.watchdog_cycles);
            self.arm_watchdog(shared, id, now.saturating_add(limit));
        }
        shared.tell(listener, || unit(UnitEventKind::HpuGet, now, cluster, hpu, message, address));
        self.come_in(shared, id);
        self.tell_started(shared, now, id, listener);
        done(self.drivers[id].task_register(register::HANDLER), now)
    }

    /// Ends the running task of a core at cycle `now`: what the doorbell does.
    pub fn end_task(
        &mut self,
        shared: &mut Shared,
        now: u64,
        core: usize,
        listener: &mut dyn Listener,
    ) {
        let Some(running) = self.drivers[core].running.take() else { return };
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        self.each[cluster as usize].scheduler.without_task |= 1 << hpu;
        let task = running.task;
        let started = running.started.unwrap_or(running.assigned);
        let instructions = self.cores[core].model.hart.instret - running.instret;
        let stalls = self.cores[core].model.stalls;
        let (start, end) = (shared.time(started), shared.time(now));
        let packet = &mut shared.packets[task.packet];
        let record = &mut packet.record;
        record.handler_start = record.handler_start.or(Some(start));
        record.handler_end = Some(end);
        record.hpu = Some((cluster, hpu));
        record.instructions += instructions;
        record.stalls.add(&stalls);
        record.failed |= running.failed;
        let (message, address) = (record.message, packet.address);
        if shared.interest.handlers {
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
        shared.totals.busy_cycles += now - running.assigned + 1;
        shared.last_progress = now;
        shared.tell(listener, || {
            unit(UnitEventKind::HpuFeedbackPush, now, cluster, hpu, message, address)
        });
        let driver = &mut self.drivers[core];
        driver.idle_from = now + 1;
        if driver.completion.is_some() {
            // It was given up before the completion of the task before has left: it goes behind that.
            driver.bounced = Some(task);
        } else {
            driver.completion = Some(task);
            driver.completion_from = now + 1;
        }
        self.wake_assign(shared, now + 1, cluster);
        self.offer_completion(shared, now, core);
    }

    /// Lets a core's completion leave if nothing holds it back any more.
    #[inline(always)]
    pub fn offer_completion(&mut self, shared: &mut Shared, now: u64, core: usize) {
        if !self.drivers[core].can_complete(now + 1) {
            return;
        }
        let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
        let units = &mut self.each[cluster as usize];
        if units.held_back >> hpu & 1 == 1 {
            // It asked before; from now on it asks anew.
            units.held_back &= !(1 << hpu);
            units.feedback.arbiter.remove(now, hpu);
        }
        units.feedback.arbiter.ask(now + 1, hpu);
        self.wake_cluster_feedback(shared, now + 1, cluster);
    }

    /// Holds back the completion that waits for its turn when its core launches a transfer of the DMA engine:
    /// the driver offers none, from the next cycle on, while one is under way (RTL hpu_driver:
    /// `can_send_feedback`, which knows not whose transfer it is).
    pub fn hold_completion(&mut self, core: usize, now: u64) {
        let driver = &mut self.drivers[core];
        if driver.dma.launched == driver.dma.done {
            driver.dma.pending_from = now + 1;
            if driver.completion.is_some() {
                let (cluster, hpu) = (self.cores[core].cluster, self.cores[core].index);
                self.each[cluster as usize].held_back |= 1 << hpu;
            }
        }
    }

    /// Ends a handler whose time is over: an interrupt that no handler can mask, so the runtime's
    /// trap handler drops it (paper §III-B3).
    pub fn watchdog(
        &mut self,
        shared: &mut Shared,
        now: u64,
        id: usize,
        listener: &mut dyn Listener,
    ) {
        let driver = &mut self.drivers[id];
        if driver.alarm != Some(now) {
            return;
        }
        driver.alarm = None;
        if self.has_no_task(shared, id) {
            return self.call_back(shared, now, id);
        }
        let driver = &mut self.drivers[id];
        let Some(running) = &driver.running else { return };
        if running.started.is_none() || self.cores[id].waiting == Waiting::Ever {
            return;
        }
        if driver.deadline > now {
            // The handler it was set for is done; the one that runs has longer.
            let deadline = driver.deadline;
            return self.arm_watchdog(shared, id, deadline);
        }
        let core = &self.cores[id];
        let (traps, waits) =
            (core.model.hart.privilege != Privilege::User, core.waiting == Waiting::Completion);
        let driver = &mut self.drivers[id];
        if traps && (waits || !driver.has_grace) {
            // An exception came just before, and its handler is under way; or that waits until the task's
            // commands are done. Neither hangs.
            driver.has_grace = true;
            let grace_cycles = shared.machine.protection.watchdog_cycles;
            if let Some(seat) = shared.hardware.driver(id) {
                seat.expires(false, false, grace_cycles);
            }
            return self.arm_watchdog(shared, id, now.saturating_add(grace_cycles));
        }
        driver.has_grace = true;
        let Some(running) = &driver.running else { return };
        let id_of_context = running.context as usize;
        let machine_cycles = shared.machine.protection.watchdog_cycles;
        let limit_cycles =
            shared.contexts.list[id_of_context].watchdog_cycles.unwrap_or(machine_cycles);
        let pc = self.cores[id].model.hart.pc;
        let fault = match shared.contexts.released[id_of_context] {
            true => Fault::Released,
            false => Fault::Watchdog { limit_cycles },
        };
        self.report_fault(shared, now, id, fault, (pc, 0), listener);
        self.stop_core(shared, now, id);
        if let Some(seat) = shared.hardware.driver(id) {
            seat.withdraw();
        }
        let core = &mut self.cores[id];
        if core.model.hart.privilege != Privilege::User {
            // Even the trap handler hangs: nothing but the driver can free the packet.
            core.waiting = Waiting::Ever;
            core.generation = core.generation.wrapping_add(1);
            if let Some(seat) = shared.hardware.driver(id) {
                seat.lose();
            }
            return self.end_task(shared, now, id, listener);
        }
        self.interrupt(shared, now, id);
        // The trap handler has its time too, lest it hangs in its turn: the machine's, for it is the runtime's,
        // whose code may have left the cache that the handler was in.
        let grace_cycles = match fault {
            Fault::Released => machine_cycles,
            _ => limit_cycles.max(machine_cycles),
        };
        if let Some(seat) = shared.hardware.driver(id) {
            seat.expires(true, true, grace_cycles);
        }
        self.arm_watchdog(shared, id, now.saturating_add(grace_cycles));
    }

    /// Lets the watchdog look at a core at `deadline`.
    #[inline(always)]
    pub fn arm_watchdog(&mut self, shared: &mut Shared, id: usize, deadline: u64) {
        if self.drivers[id].arm(deadline) {
            shared.push_alarm(id, deadline);
        }
    }

    /// Stops a core in what it does, whatever it waits for.
    pub fn stop_core(&mut self, shared: &mut Shared, now: u64, id: usize) {
        self.leave_lane(id);
        if self.cores[id].turn.is_some() {
            self.packet_load_read(shared, now);
            self.look_at_accesses(shared);
        }
        let core = &mut self.cores[id];
        self.each[core.cluster as usize].dma_turns.withdraw(core.index);
        (core.pending, core.arrives, core.turn, core.second) = (None, None, None, false);
        core.model.loaded = NO_REGISTER;
        core.model.jumped = true;
        core.model.buffer.leave();
    }

    /// Has a core that was stopped take the watchdog's interrupt.
    pub fn interrupt(&mut self, shared: &mut Shared, now: u64, id: usize) {
        let cause = Exception::new(Cause::MachineExternalInterrupt, 0);
        self.cores[id].model.hart.take_trap(cause);
        self.resume(shared, id, now + self.costs.trap);
    }
}
