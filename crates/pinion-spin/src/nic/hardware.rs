//! Lets blocks of hardware take every cycle, while the queue goes from event to event.

use super::Nic;
use crate::hardware::cluster_dma::Done;
use crate::hardware::{Blocks, PATIENCE_CYCLES};
use crate::shared::Shared;

impl Nic {
    /// Puts blocks into the places of units, or beside them; with `None` there are none any more.
    pub fn set_hardware(&mut self, blocks: Option<Blocks>) {
        self.shared.hardware.0 = blocks.map(Box::new);
        if let Some(seat) = self.shared.hardware.matching() {
            seat.program(&self.matching);
        }
        let now = self.shared.wheel.now();
        if let Some(blocks) = self.shared.hardware.0.as_deref_mut() {
            blocks.cycle = now;
            self.begin_hardware_cycle();
            self.clusters.show_waiting(&mut self.shared);
            self.clusters.show_turns(&mut self.shared, now);
        }
    }

    /// Tells why a block has ended the run, if one has.
    pub fn hardware_failure(&self) -> Option<&str> {
        self.shared.hardware.0.as_deref()?.failure.as_deref()
    }

    /// Counts the transfers of the clusters' DMA engines that have blocks beside them.
    pub fn hardware_transfers(&self) -> Done {
        let mut all = Done::default();
        for seat in self.shared.hardware.0.iter().flat_map(|blocks| &blocks.cluster_dmas) {
            all.add(seat.done());
        }
        all
    }

    /// Lets the blocks take the cycles until the next event, or until one of them has something for a
    /// neighbour, whose event it then is.
    pub(super) fn clock_hardware(&mut self, until: u64) {
        loop {
            let lane = self.clusters.next_lane().map(|(_, cycle)| cycle);
            let next = [self.shared.wheel.next_cycle(), lane].into_iter().flatten().min();
            let live = self.shared.packets.live();
            let Some(blocks) = self.shared.hardware.0.as_deref_mut() else { return };
            let is_over = next.is_none()
                && !blocks.is_behind()
                && (live == 0 || blocks.waited >= PATIENCE_CYCLES);
            if is_over || blocks.cycle >= next.unwrap_or(until).min(until) {
                return;
            }
            blocks.waited = if next.is_none() { blocks.waited + 1 } else { 0 };
            self.end_hardware_cycle();
            let Some(blocks) = self.shared.hardware.0.as_deref_mut() else { return };
            if blocks.failure.is_some() {
                return;
            }
            blocks.cycle += 1;
            self.begin_hardware_cycle();
        }
    }

    /// Ends the cycle that the blocks are in: compares what they said, and lets their clocks tick.
    fn end_hardware_cycle(&mut self) {
        let Self { shared, mpq, dispatcher, clusters, inbound, commands, .. } = self;
        let Shared { hardware, packets, .. } = shared;
        let Some(blocks) = hardware.0.as_deref_mut() else { return };
        let cycle = blocks.cycle;
        let mut found = None;
        if let Some(seat) = &mut blocks.matching {
            found = seat.finish(|| inbound.describe());
        }
        if found.is_none()
            && let Some(seat) = &mut blocks.allocator
        {
            found = seat.end_cycle(|| inbound.describe());
        }
        if found.is_none()
            && let Some(seat) = &mut blocks.mpq
        {
            if seat.compares && !dispatcher.has_stepped(cycle) {
                let task = dispatcher.offered(cycle);
                seat.follow_task(task, |packet| packets[packet].record.context);
            }
            found = seat.end_cycle(|| mpq.describe().join("; "));
        }
        if found.is_none()
            && let Some(seat) = &mut blocks.dispatcher
        {
            found =
                seat.end_cycle(|| format!("tasks in each cluster: {:?}", dispatcher.occupancy()));
        }
        if found.is_none()
            && let Some(seat) = &mut blocks.commands
        {
            found = seat.end_cycle(|| commands.describe());
        }
        for (cluster, seat) in blocks.schedulers.iter_mut().enumerate() {
            if found.is_some() {
                break;
            }
            seat.end();
            found = seat.end_cycle(|| {
                let (entered, queued) = clusters.each[cluster].scheduler.waiting();
                format!("{entered} tasks at the entrance, {queued} in the queue")
            });
        }
        for (core, seat) in blocks.drivers.iter_mut().enumerate() {
            if found.is_some() {
                break;
            }
            found = seat.end(|| clusters.describe_driver(core));
        }
        if found.is_none()
            && let Some(seat) = &mut blocks.outbound
        {
            found = seat.end(|| commands.describe());
        }
        if found.is_none()
            && let Some(seat) = &mut blocks.off_cluster
        {
            found = seat.end(|| commands.describe());
        }
        if found.is_none()
            && let Some(seat) = &mut blocks.accesses
        {
            found = seat.end(|| clusters.describe_accesses());
        }
        for (cluster, seat) in blocks.cluster_dmas.iter_mut().enumerate() {
            if found.is_some() {
                break;
            }
            found = seat.end(|| clusters.each[cluster].dma.describe());
        }
        for (cluster, seat) in blocks.interconnects.iter_mut().enumerate() {
            if found.is_some() {
                break;
            }
            found = seat.end(|| clusters.describe_lane(cluster));
        }
        let Some((what, packet, state)) = found else { return };
        let mut lines = vec![what];
        if let Some(packet) = packet {
            let record = &packets[packet].record;
            lines.push(format!(
                "packet {}: message {} of context {}, {} bytes{}, in slot {packet}",
                record.packet,
                record.message,
                record.context.0,
                record.bytes,
                if record.end_of_message { ", the message's last" } else { "" },
            ));
        }
        lines.extend(state.map(|state| format!("the model's state: {state}")));
        let at = cycle.saturating_sub(shared.epoch);
        let time = shared.time(cycle);
        if let Some(blocks) = shared.hardware.0.as_deref_mut() {
            blocks.failure = Some(format!("in cycle {at} ({time}) {}", lines.join("\n  ")));
        }
    }

    /// Begins the blocks' next cycle, and has their neighbours work in it where a block offers something.
    fn begin_hardware_cycle(&mut self) {
        let Self { shared, mpq, dispatcher, clusters, inbound, commands, .. } = self;
        let Some(blocks) = shared.hardware.0.as_deref_mut() else { return };
        let cycle = blocks.cycle;
        if let Some(seat) = &mut blocks.matching {
            seat.begin(cycle);
        }
        let takes = blocks.allocator.as_mut().is_some_and(|seat| seat.begin());
        let (mut her, mut schedule) = (false, false);
        if let Some(seat) = &mut blocks.mpq {
            (her, schedule) = seat.begin();
        }
        let mut works = Vec::new();
        let mut ready = None;
        for (cluster, seat) in blocks.schedulers.iter_mut().enumerate() {
            let first = cluster * clusters.cores_each as usize;
            let mut idle = 0;
            for hpu in 0..clusters.cores_each as usize {
                idle |= u64::from(clusters.is_idle(first + hpu, cycle)) << hpu;
            }
            let (copies, assigns) = seat.begin(idle);
            if copies || assigns {
                works.push((cluster as u32, copies, assigns));
            }
            if !seat.compares {
                *ready.get_or_insert(0) |= u64::from(seat.is_ready()) << cluster;
            }
        }
        let waiting = dispatcher.offered(cycle).map(|task| (task.queue, task.packet));
        if let Some(seat) = &mut blocks.dispatcher {
            seat.begin();
            if let Some((queue, packet)) = waiting.filter(|_| !seat.compares) {
                let ready = ready.unwrap_or_else(|| dispatcher.ready(clusters));
                let home = dispatcher.home(queue);
                schedule |= seat.would_take(home, packet, ready);
            }
        } else {
            schedule |= waiting.is_some() && ready.is_some_and(|ready| ready != 0);
        }
        clusters.begin_drivers(&mut blocks.drivers, cycle);
        if let Some(seat) = &mut blocks.outbound {
            seat.begin(cycle);
        }
        if let Some(seat) = &mut blocks.off_cluster {
            seat.begin(cycle);
        }
        if let Some(seat) = &mut blocks.accesses {
            seat.begin(cycle);
        }
        for seat in &mut blocks.cluster_dmas {
            seat.begin(cycle);
        }
        for seat in &mut blocks.interconnects {
            seat.begin(cycle);
        }
        let offers =
            blocks.commands.as_mut().is_some_and(|seat| seat.begin(commands.offered(cycle)));
        if takes {
            inbound.wake_inbound(shared, cycle);
        }
        if offers {
            commands.wake_at(shared, cycle);
        }
        if schedule {
            mpq.wake_at(shared, cycle);
        }
        if her {
            inbound.wake_her(shared, cycle);
        }
        for (cluster, copies, assigns) in works {
            if copies {
                clusters.wake_accept(shared, cycle, cluster);
            }
            if assigns {
                clusters.wake_assign(shared, cycle, cluster);
            }
        }
    }
}
