//! The task dispatcher: chooses the cluster of each task.
//!
//! In: tasks from the MPQ engine, completions. Out: tasks to the clusters' spill registers. Holds
//! the occupancy of each cluster. A message's home cluster (its queue modulo the clusters) is used
//! while it has room and is ready; else the least occupied ready cluster, the lowest index first;
//! with every cluster full the task waits. (Paper §III-B1; RTL scheduler.)

use std::collections::VecDeque;

use crate::Machine;

/// Counts the tasks in each cluster and chooses.
#[derive(Clone, Debug)]
pub struct TaskDispatcher {
    occupancy: Vec<u32>,
    limit: u32,
    /// Completions with the cycle from which the dispatcher sees them.
    staged: VecDeque<(u64, u32)>,
}

impl TaskDispatcher {
    /// Makes a dispatcher of empty clusters.
    pub fn new(machine: &Machine) -> Self {
        Self {
            occupancy: vec![0; machine.cluster.count as usize],
            limit: machine.hers_per_cluster(),
            staged: VecDeque::with_capacity(64),
        }
    }

    /// Chooses a cluster for a task of MPQ `queue` at cycle `now` and counts it there.
    pub fn dispatch(&mut self, now: u64, queue: u32, ready: impl Fn(u32) -> bool) -> Option<u32> {
        while let Some(&(from, cluster)) = self.staged.front() {
            if from > now {
                break;
            }
            self.staged.pop_front();
            self.occupancy[cluster as usize] -= 1;
        }
        let clusters = self.occupancy.len() as u32;
        let takes =
            |&cluster: &u32| self.occupancy[cluster as usize] < self.limit && ready(cluster);
        let home = queue % clusters;
        let chosen = Some(home).filter(takes).or_else(|| {
            (0..clusters).filter(takes).min_by_key(|&cluster| self.occupancy[cluster as usize])
        })?;
        self.occupancy[chosen as usize] += 1;
        Some(chosen)
    }

    /// Counts a completion at cycle `now`; the dispatcher sees it one cycle later.
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
