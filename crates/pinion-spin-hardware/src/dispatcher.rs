//! The dispatcher's ports. In: tasks, which clusters take one, completions. Out: the cluster.

use pinion_sim::block::{Block, Port, bits_for};
use pinion_spin_machine::Machine;

use super::{Needs, Seat, power_of_two};

const TASK_VALID: usize = 0;
const TASK_HOME: usize = 1;
const TASK_DATA: usize = 2;
const CLUSTER_READY: usize = 3;
const COMPLETION_VALID: usize = 4;
const COMPLETION_CLUSTER: usize = 5;
const TASK_READY: usize = 6;
const CLUSTER_VALID: usize = 7;
const CLUSTER_TASK: usize = 8;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let clusters = power_of_two("cluster.count", machine.cluster.count, 2)?;
    let cluster = bits_for(clusters);
    let ports = vec![
        Port::input("task_valid", 1),
        Port::input("task_home", cluster),
        Port::input("task_data", 32),
        Port::input("cluster_ready", clusters as u32),
        Port::input("completion_valid", 1),
        Port::input("completion_cluster", cluster),
        Port::output("task_ready", 1),
        Port::output("cluster_valid", clusters as u32),
        Port::output("cluster_task", 32),
    ];
    let parameters = vec![
        ("CLUSTERS", clusters),
        ("HERS_PER_CLUSTER", u64::from(machine.hers_per_cluster())),
        ("TASK_BITS", 32),
    ];
    Ok(Needs { ports, parameters })
}

/// Is the dispatcher's block at its place.
pub type DispatcherSeat = Seat<()>;

impl DispatcherSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool) -> Self {
        Self::at(block, compares, ())
    }

    /// Begins a cycle.
    pub fn begin(&mut self) {
        self.block.put(TASK_VALID, 0);
        self.block.put(COMPLETION_VALID, 0);
    }

    fn put(&mut self, home: u32, packet: u32, ready: u64) {
        self.block.put(TASK_VALID, 1);
        self.block.put(TASK_HOME, u64::from(home));
        self.block.put(TASK_DATA, u64::from(packet));
        self.block.put(CLUSTER_READY, ready);
        self.packet = Some(packet);
    }

    /// Says whether the block would take a task, with these clusters ready.
    pub fn would_take(&mut self, home: u32, packet: u32, ready: u64) -> bool {
        self.put(home, packet, ready);
        self.block.get(TASK_READY) == 1
    }

    /// Asks for a task's cluster; `None`: it waits.
    pub fn choose(&mut self, home: u32, packet: u32, ready: u64) -> Option<u32> {
        if !self.would_take(home, packet, ready) {
            return None;
        }
        let valid = self.block.get(CLUSTER_VALID);
        if !valid.is_power_of_two() {
            self.wrong = Some(format!(
                "task_ready is up and cluster_valid {valid:#b}: the task goes to one cluster"
            ));
            return None;
        }
        if valid & ready == 0 {
            self.wrong = Some(format!(
                "cluster_valid is {valid:#b}, a cluster that takes none: cluster_ready is {ready:#b}"
            ));
            return None;
        }
        Some(valid.trailing_zeros())
    }

    /// Shows it a task, and what the model chose.
    pub fn follow(&mut self, home: u32, packet: u32, ready: u64, chosen: Option<u32>) {
        self.put(home, packet, ready);
        self.block.expect(TASK_READY, u64::from(chosen.is_some()));
        self.block.expect(CLUSTER_VALID, chosen.map_or(0, |cluster| 1 << cluster));
        self.block.expect(CLUSTER_TASK, u64::from(packet));
    }

    /// Tells it of a task of a cluster that is done.
    pub fn done(&mut self, cluster: u32) {
        self.block.put(COMPLETION_VALID, 1);
        self.block.put(COMPLETION_CLUSTER, u64::from(cluster));
    }
}
