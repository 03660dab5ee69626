//! What cores execute of a row's program, instruction by instruction: a row comes in, the hardware's and
//! our cycles go out.

use std::collections::BTreeMap;

use pinion_app::error::Result;
use pinion_spin::{Event, Hears, Interest, Machine, Spin};
use serde::{Deserialize, Deserializer, de};

use super::passage::Passages;
use super::set::{Row, Set};
use crate::read;

/// `mret`, which the hardware's traces leave out.
const MRET: u32 = 0x3020_0073;

/// An instruction that a core executed; on the hardware a cycle is a ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Step {
    /// The number of the packet whose task the core has, or had last.
    pub packet: u64,
    /// Cycle in which it left the decode stage; of an access, in which that was performed.
    #[serde(rename = "ns")]
    pub cycle: u64,
    /// Cluster.
    pub cluster: u32,
    /// HPU within the cluster.
    pub core: u32,
    /// Its address.
    #[serde(deserialize_with = "hexadecimal")]
    pub pc: u32,
    /// Its bits.
    #[serde(rename = "instruction", deserialize_with = "hexadecimal")]
    pub word: u32,
}

/// Reads digits alone.
fn hexadecimal<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<u32, D::Error> {
    let digits = String::deserialize(deserializer)?;
    u32::from_str_radix(&digits, 16).map_err(de::Error::custom)
}

/// A task of the hardware's, in ns from the row's first HER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Task {
    /// The packet's number.
    pub packet: u64,
    /// Cluster.
    pub cluster: u32,
    /// HPU within the cluster.
    pub core: u32,
    /// When the core's load of the handler's address was answered.
    pub get_ns: u64,
    /// When it read the doorbell.
    pub doorbell_ns: u64,
}

/// Reads the trace of a row; `None` if it has none.
///
/// # Errors
/// When it is malformed.
pub fn traced(set: &Set, row: &Row) -> Result<Option<Vec<Step>>> {
    let path = set.dir().join("trace").join(format!("{}.csv", row.row));
    if !path.is_file() {
        return Ok(None);
    }
    read(&path).map(Some)
}

/// Reads the tasks of a row.
///
/// # Errors
/// When they are missing or malformed.
pub fn tasks(set: &Set, row: &Row) -> Result<Vec<Task>> {
    read(&set.dir().join("tasks").join(format!("{}.csv", row.row)))
}

/// Runs a row's program on its packets; gives what its cores execute, the instructions of a core in order.
///
/// # Errors
/// When the program cannot be run.
pub fn executed(set: &Set, machine: &Machine, row: &Row) -> Result<Vec<Step>> {
    let (mut nic, frames) = super::nic_and_frames(set, machine, row)?;
    let mut heard = Executed::default();
    Passages::heard_through(&mut nic, frames, &mut heard);
    Ok(heard.steps)
}

/// Keeps what cores execute.
#[derive(Default)]
struct Executed {
    steps: Vec<Step>,
    /// By core: the packet of its last task.
    packets: BTreeMap<(u32, u32), u64>,
}

impl Hears<Spin> for Executed {
    fn interest(&self) -> Interest {
        Interest { instructions: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        let Event::Instruction(record) = event else { return };
        if record.trap.is_some() || record.word == MRET {
            return;
        }
        let (cluster, core) = (record.cluster, record.hpu);
        let last = self.packets.entry((cluster, core)).or_default();
        let packet = record.task.map_or(*last, |task| task.packet);
        *last = packet;
        let (cycle, pc, word) = (record.cycle, record.pc, record.word);
        self.steps.push(Step { packet, cycle, cluster, core, pc, word });
    }
}
