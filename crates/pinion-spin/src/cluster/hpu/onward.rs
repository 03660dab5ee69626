//! Cores that have run on past lines which they ask the cluster's cache for, as it has them.
//!
//! Such a core is in the queue of events where it would be if it asked for each line in its turn, but has
//! nothing to do there. It is [taken back](Clusters::take_back) to its place before somebody changes what
//! it has seen (the cache's lines, the program), or asks where it is.

use pinion_cores::pulp::onward::Onward;

use crate::cluster::Clusters;
use crate::cluster::hpu::port::Port;
use crate::listener::Listener;
use crate::shared::Shared;
use crate::wake::Due;

/// Cycles that are worth running on for.
const WORTHWHILE_CYCLES: u64 = 64;

impl Clusters {
    /// Lets a core run on that has stopped at `time`, for no longer than its cluster's cache has had no
    /// change, and not past where the run may end.
    pub fn run_onward(&mut self, shared: &Shared, id: usize, time: u64) {
        let core = &mut self.cores[id];
        let cluster = core.cluster as usize;
        let calm_cycles = time.saturating_sub(self.each[cluster].changed_at);
        let until = shared.horizon.min(time.saturating_add(calm_cycles));
        let is_plain = !shared.interest.instructions && !self.costs.xpulp;
        if !is_plain || until < time.saturating_add(WORTHWHILE_CYCLES) {
            return;
        }
        let port = Port::of(core, &self.each, self.near);
        let onward = self.onward[id].get_or_insert_with(|| Box::new(Onward::new(&core.model)));
        let (costs, code) = (&self.costs, &self.program);
        core.is_onward = onward.run(&mut core.model, port, (costs, code), time, until);
        self.onward_cores += u32::from(core.is_onward);
    }

    /// Lets the machine come to the line that a core has run on past, and to the next one.
    pub fn pass_line(&mut self, shared: &mut Shared, id: usize, listener: &mut dyn Listener) {
        let Some(onward) = &mut self.onward[id] else { return };
        match onward.pass() {
            Ok(next) => self.resume(shared, id, next),
            Err((stop, time)) => {
                self.cores[id].is_onward = false;
                self.onward_cores -= 1;
                self.stopped(shared, id, stop, time, listener);
            }
        }
    }

    /// Lets the machine come to lines that cores have run on past, up to a cycle or to something else.
    pub fn pass_lines(&mut self, shared: &mut Shared, until: u64) {
        if self.onward_cores == 0 {
            return;
        }
        let until = self.next_lane().map_or(until, |(_, lane)| until.min(lane));
        let Self { cores, onward, .. } = self;
        shared.wheel.move_on(until, |due| {
            let Due::Core { core, generation } = *due else { return None };
            let (core, onward) =
                (cores.get(usize::from(core))?, onward.get_mut(usize::from(core))?);
            let is_live = core.is_onward && core.generation == generation;
            let onward = onward.as_mut().filter(|onward| is_live && !onward.is_last())?;
            onward.pass().ok()
        });
    }

    /// Takes a core back to where the machine believes it to be.
    pub fn take_back(&mut self, id: usize) {
        let core = &mut self.cores[id];
        if !std::mem::take(&mut core.is_onward) {
            return;
        }
        self.onward_cores -= 1;
        let port = Port::of(core, &self.each, self.near);
        if let Some(onward) = &mut self.onward[id] {
            onward.take_back(&mut core.model, port, (&self.costs, &self.program));
        }
    }

    /// Takes a cluster's cores back at cycle `now`, before its cache's lines change.
    pub fn take_cluster_back(&mut self, cluster: u32, now: u64) {
        self.each[cluster as usize].changed_at = now;
        if self.onward_cores > 0 {
            let first = self.core_id(cluster, 0);
            (first..first + self.cores_each as usize).for_each(|id| self.take_back(id));
        }
    }

    /// Takes all cores back.
    pub fn take_all_back(&mut self) {
        if self.onward_cores > 0 {
            (0..self.cores.len()).for_each(|id| self.take_back(id));
        }
    }
}
