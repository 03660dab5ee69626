//! The ports of a cluster's scheduler (CSCHED). In: tasks with their bytes, ends of copies, idle HPUs, room
//! in L1 that is freed. Out: copies, tasks for HPUs.

use pinion_sim::block::{Block, Port, bits_for};
use pinion_spin_machine::Machine;
use rustc_hash::FxHashMap;

use super::{Needs, Seat, power_of_two};
use crate::words::Task;

const TASK_VALID: usize = 0;
const TASK_DATA: usize = 1;
const TASK_BYTES: usize = 2;
const COPY_READY: usize = 3;
const COPY_DONE: usize = 4;
const HPU_IDLE: usize = 5;
const FREE_VALID: usize = 6;
const FREE_SLOT: usize = 7;
const FREE_SLOTS: usize = 8;
const TASK_READY: usize = 9;
const COPY_VALID: usize = 10;
const COPY_TASK: usize = 11;
const COPY_SLOT: usize = 12;
const COPY_BYTES: usize = 13;
const HPU_VALID: usize = 14;
const HPU_TASK: usize = 15;
const HPU_SLOT: usize = 16;
const HPU_SLOTS: usize = 17;

/// Bits that tell the handlers of a packet apart.
const KIND_BITS: u32 = 2;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let rings = power_of_two("l1.packet_buffer_rings", machine.l1.packet_buffer_rings, 2)?;
    let slot_bytes = machine.l1.packet_slot_bytes;
    let slots = machine.l1.packet_buffer_bytes / machine.l1.packet_buffer_rings / slot_bytes;
    if !slots.is_power_of_two() {
        let bytes = slots.next_power_of_two() * slot_bytes * machine.l1.packet_buffer_rings;
        return Err(format!(
            "a ring of the packet buffer has {slots} slots; the block takes powers of two: --set \
             l1.packet_buffer_bytes={bytes}"
        ));
    }
    let cores = machine.cluster.cores;
    if !(2..=64).contains(&cores) {
        return Err(format!("cluster.cores is {cores}; the block takes 2 to 64"));
    }
    let (place, count) = (bits_for(rings * u64::from(slots)), bits_for(u64::from(slots) + 1));
    let bytes = bits_for(u64::from(machine.inbound.max_packet_bytes) + 1);
    let ports = vec![
        Port::input("task_valid", 1),
        Port::input("task_data", 32),
        Port::input("task_bytes", bytes),
        Port::input("copy_ready", 1),
        Port::input("copy_done", 1),
        Port::input("hpu_idle", cores),
        Port::input("free_valid", 1),
        Port::input("free_slot", place),
        Port::input("free_slots", count),
        Port::output("task_ready", 1),
        Port::output("copy_valid", 1),
        Port::output("copy_task", 32),
        Port::output("copy_slot", place),
        Port::output("copy_bytes", bytes),
        Port::output("hpu_valid", cores),
        Port::output("hpu_task", 32),
        Port::output("hpu_slot", place),
        Port::output("hpu_slots", count),
    ];
    let parameters = vec![
        ("HPUS", u64::from(cores)),
        ("TASKS", u64::from(machine.hers_per_cluster())),
        ("RINGS", rings),
        ("RING_SLOTS", u64::from(slots)),
        ("SLOT_BYTES", u64::from(slot_bytes)),
        ("BYTES_BITS", u64::from(bytes)),
        ("TASK_BITS", 32),
    ];
    Ok(Needs { ports, parameters })
}

/// Is a cluster's scheduler's block at its place.
pub type SchedulerSeat = Seat<Given>;

/// Remembers what the block was given, and what of this cycle it has done.
#[derive(Debug)]
pub struct Given {
    /// The tasks inside, by what the block knows them by, with their bytes.
    tasks: FxHashMap<u64, (Task, u32)>,
    offered: bool,
    copied: bool,
    assigned: bool,
    slot_bytes: u32,
    slots: u32,
}

fn name(task: &Task) -> u64 {
    u64::from(task.packet) << KIND_BITS | task.kind as u64
}

impl SchedulerSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let own = Given {
            tasks: FxHashMap::default(),
            offered: false,
            copied: false,
            assigned: false,
            slot_bytes: machine.l1.packet_slot_bytes,
            slots: machine.l1.packet_buffer_bytes / machine.l1.packet_slot_bytes,
        };
        Self::at(block, compares, own)
    }

    /// Begins a cycle with these HPUs idle; says whether it copies, and gives a task to an HPU.
    pub fn begin(&mut self, idle: u64) -> (bool, bool) {
        (self.own.offered, self.own.copied, self.own.assigned) = (false, false, false);
        for port in [TASK_VALID, COPY_DONE, FREE_VALID] {
            self.block.put(port, 0);
        }
        self.block.put(COPY_READY, 1);
        self.block.put(HPU_IDLE, idle);
        if self.compares {
            self.block.expect(COPY_VALID, 0);
            self.block.expect(HPU_VALID, 0);
            return (false, false);
        }
        (self.block.get(COPY_VALID) == 1, self.block.get(HPU_VALID) != 0)
    }

    /// Looks at the end of a cycle whether something came up that nobody has seen.
    pub fn end(&mut self) {
        if self.compares || self.wrong.is_some() {
            return;
        }
        let copies = self.block.get(COPY_VALID) == 1 && !self.own.copied;
        if copies || self.block.get(HPU_VALID) != 0 && !self.own.assigned {
            let port = if copies { "copy_valid" } else { "hpu_valid" };
            self.wrong = Some(format!(
                "{port} came up within a cycle: it may follow from registers and hpu_idle alone"
            ));
        }
    }

    /// Says whether it takes a task in this cycle.
    pub fn is_ready(&mut self) -> bool {
        !self.own.offered && self.block.get(TASK_READY) == 1
    }

    /// Gives it a task with bytes to copy.
    pub fn offer(&mut self, task: Task, bytes: u32) {
        self.own.offered = true;
        self.packet = Some(task.packet);
        self.block.put(TASK_VALID, 1);
        self.block.put(TASK_DATA, name(&task));
        self.block.put(TASK_BYTES, u64::from(bytes));
        if self.compares {
            self.block.expect(TASK_READY, 1);
        } else {
            self.own.tasks.insert(name(&task), (task, bytes));
        }
    }

    /// Gives the copy that the block asks for in this cycle: the task, with its room as an offset, and its
    /// bytes.
    pub fn copy(&mut self) -> Option<(Task, u32)> {
        if self.own.copied || self.block.get(COPY_VALID) == 0 {
            return None;
        }
        self.own.copied = true;
        let (number, bytes) = (self.block.get(COPY_TASK), self.block.get(COPY_BYTES) as u32);
        let slot = self.block.get(COPY_SLOT) as u32;
        let Some(&(mut task, known)) = self.own.tasks.get(&number) else {
            self.wrong = Some(format!("copy_task is {number:#x}, a task that it was not given"));
            return None;
        };
        if bytes != known || slot + bytes.div_ceil(self.own.slot_bytes) > self.own.slots {
            self.wrong = Some(format!(
                "copies {bytes} bytes to slot {slot}: the packet has {known}, L1 {} slots",
                self.own.slots
            ));
            return None;
        }
        self.packet = Some(task.packet);
        task.l1_address = slot * self.own.slot_bytes;
        Some((task, bytes))
    }

    /// Wants it to copy what the model does.
    pub fn follow_copy(&mut self, task: &Task, offset: u32, bytes: u32) {
        self.block.expect(COPY_VALID, 1);
        self.block.expect(COPY_TASK, name(task));
        self.block.expect(COPY_SLOT, u64::from(offset / self.own.slot_bytes));
        self.block.expect(COPY_BYTES, u64::from(bytes));
        self.packet = Some(task.packet);
    }

    /// Gives the task that goes to an HPU in this cycle, with its room as an offset, and the HPU.
    pub fn assign(&mut self, idle: impl Fn(u32) -> bool) -> Option<(u32, Task)> {
        if self.own.assigned {
            return None;
        }
        let valid = self.block.get(HPU_VALID);
        if valid == 0 {
            return None;
        }
        self.own.assigned = true;
        let (hpu, number) = (valid.trailing_zeros(), self.block.get(HPU_TASK));
        let (slot, slots) = (self.block.get(HPU_SLOT) as u32, self.block.get(HPU_SLOTS) as u32);
        if !valid.is_power_of_two() || !idle(hpu) {
            self.wrong =
                Some(format!("hpu_valid is {valid:#b}: a task goes to one HPU that is idle"));
            return None;
        }
        let Some((mut task, bytes)) = self.own.tasks.remove(&number) else {
            self.wrong = Some(format!("hpu_task is {number:#x}, a task that it does not have"));
            return None;
        };
        if slots != bytes.div_ceil(self.own.slot_bytes) || slot + slots > self.own.slots {
            self.wrong = Some(format!(
                "hpu_slot is {slot} and hpu_slots {slots}: the packet has {bytes} bytes, L1 {} slots",
                self.own.slots
            ));
            return None;
        }
        self.packet = Some(task.packet);
        (task.l1_address, task.l1_slots) = (slot * self.own.slot_bytes, slots);
        Some((hpu, task))
    }

    /// Wants it to give an HPU what the model does.
    pub fn follow_assign(&mut self, hpu: u32, task: &Task, offset: u32) {
        self.block.expect(HPU_VALID, 1 << hpu);
        self.block.expect(HPU_TASK, name(task));
        self.block.expect(HPU_SLOT, u64::from(offset / self.own.slot_bytes));
        self.block.expect(HPU_SLOTS, u64::from(task.l1_slots));
        self.packet = Some(task.packet);
    }

    /// Tells it that the oldest copy is done.
    pub fn copy_done(&mut self) {
        self.block.put(COPY_DONE, 1);
    }

    /// Gives it room back.
    pub fn free(&mut self, offset: u32, slots: u32) {
        self.block.put(FREE_VALID, 1);
        self.block.put(FREE_SLOT, u64::from(offset / self.own.slot_bytes));
        self.block.put(FREE_SLOTS, u64::from(slots));
    }
}
