//! The command unit's ports. In: which clusters have a command, and for which interface; what is done.
//! Out: whose command goes to which interface. What a command says goes past the block.

use pinion_sim::block::{Block, Port, bits_for};
use pinion_spin_machine::Machine;

use super::{Needs, Seat, power_of_two};
use crate::words::Kind;

const CLUSTER_VALID: usize = 0;
const CLUSTER_KIND: usize = 1;
const INTERFACE_READY: usize = 2;
const DONE_VALID: usize = 3;
const CLUSTER_READY: usize = 4;
const INTERFACE_VALID: usize = 5;
const INTERFACE_CLUSTER: usize = 6;

/// Interfaces, in the order of [`Kind`].
const INTERFACES: usize = 3;
/// Most clusters whose interfaces' numbers fit a port.
const MOST_CLUSTERS: u32 = 32;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let clusters = power_of_two("cluster.count", machine.cluster.count, 2)?;
    if clusters > u64::from(MOST_CLUSTERS) {
        return Err(format!(
            "the block takes up to {MOST_CLUSTERS}: --set cluster.count={MOST_CLUSTERS}"
        ));
    }
    // The block is told in the cycle behind the one in which a command has its turn to be answered.
    let turnaround = machine.command.slot_turnaround_cycles.saturating_sub(1);
    if turnaround == 0 {
        return Err("set command.slot_turnaround_cycles to 2 at least".into());
    }
    let ports = vec![
        Port::input("cluster_valid", clusters as u32),
        Port::input("cluster_kind", 2 * clusters as u32),
        Port::input("interface_ready", INTERFACES as u32),
        Port::input("done_valid", INTERFACES as u32 + 1),
        Port::output("cluster_ready", clusters as u32),
        Port::output("interface_valid", INTERFACES as u32),
        Port::output("interface_cluster", INTERFACES as u32 * bits_for(clusters)),
    ];
    let parameters = vec![
        ("CLUSTERS", clusters),
        ("IN_FLIGHT", u64::from(machine.command.per_interface)),
        ("TURNAROUND", turnaround),
    ];
    Ok(Needs { ports, parameters })
}

/// Is the command unit's block at its place.
pub type CommandSeat = Seat<Offers>;

/// Remembers what the block was told in this cycle.
#[derive(Debug)]
pub struct Offers {
    /// By interface: the clusters with a command for it.
    valid: [u64; INTERFACES],
    /// What is done in this cycle, and what could not be told in it: there is a bit for each.
    done: u64,
    late: Vec<u64>,
    /// What the model gave: interfaces with a command, and their clusters.
    given: (u64, u64),
    cluster_bits: u32,
}

impl CommandSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let own = Offers {
            valid: [0; INTERFACES],
            done: 0,
            late: Vec::new(),
            given: (0, 0),
            cluster_bits: bits_for(u64::from(machine.cluster.count)),
        };
        Self::at(block, compares, own)
    }

    /// Begins a cycle in which clusters have commands, a bit each by interface; says whether the block gives
    /// an interface one.
    pub fn begin(&mut self, valid: [u64; INTERFACES]) -> bool {
        self.own.valid = valid;
        self.own.given = (0, 0);
        self.own.done = 0;
        for done in std::mem::take(&mut self.own.late) {
            self.note_done(done);
        }
        self.block.put(DONE_VALID, self.own.done);
        self.block.put(INTERFACE_READY, (1 << INTERFACES) - 1);
        let mut kinds = 0u64;
        for (kind, clusters) in valid.iter().enumerate() {
            for cluster in (0..MOST_CLUSTERS).filter(|cluster| clusters >> cluster & 1 == 1) {
                kinds |= (kind as u64) << (2 * cluster);
            }
        }
        self.block.put(CLUSTER_VALID, valid.iter().fold(0, |all, one| all | one));
        self.block.put(CLUSTER_KIND, kinds);
        if self.compares {
            self.block.expect(INTERFACE_VALID, 0);
            self.block.expect(CLUSTER_READY, 0);
            return false;
        }
        self.block.get(INTERFACE_VALID) != 0
    }

    /// Gives the cluster whose command the block gives an interface in this cycle.
    pub fn chosen(&mut self, kind: Kind) -> Option<u32> {
        let (number, bits) = (kind as u32, self.own.cluster_bits);
        if self.block.get(INTERFACE_VALID) >> number & 1 == 0 {
            return None;
        }
        let all = self.block.get(INTERFACE_CLUSTER);
        let cluster = (all >> (number * bits)) as u32 & ((1 << bits) - 1);
        if self.own.valid[kind as usize] >> cluster & 1 == 0 {
            self.wrong = Some(format!(
                "interface_valid is up for interface {number} with cluster {cluster}, which has no command \
                 for it"
            ));
            return None;
        }
        self.own.valid[kind as usize] &= !(1 << cluster);
        Some(cluster)
    }

    /// Notes the packet of the command that goes to an interface; beside the model, wants the block to give
    /// it, too.
    pub fn follow(&mut self, kind: Kind, cluster: u32, packet: u32) {
        self.packet = Some(packet);
        if !self.compares {
            return;
        }
        let (interfaces, clusters) = &mut self.own.given;
        *interfaces |= 1 << kind as u32;
        *clusters |= 1 << cluster;
        self.block.expect(INTERFACE_VALID, *interfaces);
        self.block.expect(CLUSTER_READY, *clusters);
    }

    /// Tells it of a command that is done.
    pub fn done(&mut self, kind: Kind, to_host: bool) {
        let from_host = kind == Kind::HostDma && !to_host;
        self.note_done(1 << (kind as u32 + u32::from(from_host)));
        self.block.put(DONE_VALID, self.own.done);
    }

    fn note_done(&mut self, done: u64) {
        match self.own.done & done {
            0 => self.own.done |= done,
            _ => self.own.late.push(done),
        }
    }
}
