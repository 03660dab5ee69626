//! The MPQ engine's ports. In: HERs, completions. Out: tasks. Eviction and the forgetting of messages
//! are the model's alone.

use pinion_sim::block::{Block, Port, bits_for};
use pinion_spin_machine::Machine;

use super::{Needs, Seat, power_of_two};
use crate::words::{ContextId, HandlerKind, Task};

const HER_VALID: usize = 0;
const HER_KEY: usize = 1;
const HER_END: usize = 2;
const HER_HAS_HEADER: usize = 3;
const HER_HAS_COMPLETION: usize = 4;
const HER_PACKET: usize = 5;
const HER_META: usize = 6;
const TASK_READY: usize = 7;
const DONE_VALID: usize = 8;
const DONE_QUEUE: usize = 9;
const DONE_KIND: usize = 10;
const HER_READY: usize = 11;
const TASK_VALID: usize = 12;
const TASK_QUEUE: usize = 13;
const TASK_KIND: usize = 14;
const TASK_FREES: usize = 15;
const TASK_PACKET: usize = 16;
const TASK_META: usize = 17;

/// Bits of a packet's slot, and of a context's number.
const PACKET_BITS: u32 = 32;
const META_BITS: u32 = 16;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let queues = power_of_two("mpq.count", machine.mpq.count, 2)?;
    let cells = machine.mpq.shared_cells;
    if cells < 2 {
        return Err(format!(
            "mpq.shared_cells is {cells}; the block needs two: --set mpq.shared_cells=2"
        ));
    }
    if machine.mpq.forgets && !machine.mpq.alias {
        return Err(
            "mpq.forgets is true, which the block does not do: --set mpq.forgets=false".into()
        );
    }
    let queue = bits_for(queues);
    let key = id_bits(machine) + META_BITS;
    let ports = vec![
        Port::input("her_valid", 1),
        Port::input("her_key", key),
        Port::input("her_end", 1),
        Port::input("her_has_header", 1),
        Port::input("her_has_completion", 1),
        Port::input("her_packet", PACKET_BITS),
        Port::input("her_meta", META_BITS),
        Port::input("task_ready", 1),
        Port::input("done_valid", 1),
        Port::input("done_queue", queue),
        Port::input("done_kind", 2),
        Port::output("her_ready", 1),
        Port::output("task_valid", 1),
        Port::output("task_queue", queue),
        Port::output("task_kind", 2),
        Port::output("task_frees", 1),
        Port::output("task_packet", PACKET_BITS),
        Port::output("task_meta", META_BITS),
    ];
    let parameters = vec![
        ("QUEUES", queues),
        ("SHARED_CELLS", u64::from(cells)),
        ("ALIAS", u64::from(machine.mpq.alias)),
        ("LOCK", 1),
        ("KEY_BITS", u64::from(key)),
        ("PACKET_BITS", u64::from(PACKET_BITS)),
        ("META_BITS", u64::from(META_BITS)),
        ("TASKS", u64::from(machine.cluster.count * machine.hers_per_cluster()) + 1),
    ];
    Ok(Needs { ports, parameters })
}

/// Gives the bits of a key that hold the message's id; a queue's number fits as well.
fn id_bits(machine: &Machine) -> u32 {
    machine.mpq.id_bits.clamp(1, 32).max(bits_for(u64::from(machine.mpq.count)))
}

/// Describes a HER as the block sees it.
#[derive(Clone, Copy, Debug)]
pub struct Her {
    /// Slot of its packet.
    pub packet: u32,
    /// Its context.
    pub context: ContextId,
    /// The message's id.
    pub message: u32,
    /// Whether it ends its message.
    pub end: bool,
    /// Whether its message has a header handler.
    pub has_header: bool,
    /// Whether it has a completion handler.
    pub has_completion: bool,
}

/// Holds what a block offers the dispatcher.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// Slot of the packet.
    pub packet: u32,
    /// Queue it comes from.
    pub queue: u32,
    /// Which handler.
    pub kind: HandlerKind,
    /// Whether the packet is freed when the task is done.
    pub frees: bool,
}

/// Is the MPQ engine's block at its place.
pub type MpqSeat = Seat<Held>;

/// Remembers what the block holds, and what of this cycle it was told.
#[derive(Debug)]
pub struct Held {
    waits: bool,
    taken: bool,
    queues: u32,
    id_bits: u32,
    id_mask: u32,
    /// By slot: whether the block holds the packet.
    held: Vec<bool>,
}

const KINDS: [HandlerKind; 3] =
    [HandlerKind::Header, HandlerKind::Payload, HandlerKind::Completion];

impl MpqSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let own = Held {
            waits: false,
            taken: false,
            queues: machine.mpq.count,
            id_bits: id_bits(machine),
            id_mask: u32::MAX >> (32 - machine.mpq.id_bits.clamp(1, 32)),
            held: Vec::new(),
        };
        Self::at(block, compares, own)
    }

    /// Begins a cycle; says whether a HER that waited is taken in it, and whether a task is offered.
    pub fn begin(&mut self) -> (bool, bool) {
        self.own.taken = false;
        self.block.put(TASK_READY, 0);
        self.block.put(DONE_VALID, 0);
        if self.compares {
            self.block.put(HER_VALID, 0);
            if self.own.waits {
                self.block.expect(HER_READY, 0);
            }
            return (false, false);
        }
        if !self.own.waits {
            self.block.put(HER_VALID, 0);
        }
        (self.own.waits && self.block.get(HER_READY) == 1, self.block.get(TASK_VALID) == 1)
    }

    fn put_her(&mut self, her: &Her) {
        let id = u64::from(her.message & self.own.id_mask);
        self.block.put(HER_KEY, u64::from(her.context.0) << self.own.id_bits | id);
        self.block.put(HER_END, u64::from(her.end));
        self.block.put(HER_HAS_HEADER, u64::from(her.has_header));
        self.block.put(HER_HAS_COMPLETION, u64::from(her.has_completion));
        self.block.put(HER_PACKET, u64::from(her.packet));
        self.block.put(HER_META, u64::from(her.context.0));
        self.block.put(HER_VALID, 1);
        self.packet = Some(her.packet);
    }

    /// Offers a HER; says whether the block takes it in this cycle.
    pub fn offer(&mut self, her: &Her) -> bool {
        self.put_her(her);
        let taken = self.block.get(HER_READY) == 1;
        self.own.waits = !taken;
        if taken {
            self.hold(her.packet, true);
        }
        taken
    }

    /// Shows it a HER, and what the model made of it.
    pub fn follow_her(&mut self, her: &Her, taken: bool) {
        self.put_her(her);
        // What the model does not take, the block must not take either; it would, if it could.
        self.block.put(HER_VALID, u64::from(taken));
        self.block.expect(HER_READY, u64::from(taken));
        self.own.waits = !taken;
    }

    fn hold(&mut self, packet: u32, held: bool) {
        let slot = packet as usize;
        if self.own.held.len() <= slot {
            self.own.held.resize(slot + 1, false);
        }
        self.own.held[slot] = held;
    }

    /// Gives the task that the block offers, if there is one in it that can be.
    pub fn task(&mut self) -> Option<Offered> {
        if self.own.taken || self.block.get(TASK_VALID) == 0 {
            return None;
        }
        let packet = self.block.get(TASK_PACKET) as u32;
        let queue = self.block.get(TASK_QUEUE) as u32;
        let kind = self.block.get(TASK_KIND);
        let is_held = self.own.held.get(packet as usize).copied().unwrap_or(false);
        let wrong = if !is_held {
            format!("task_packet is {packet}, a packet that the block does not have or has freed")
        } else if kind > 2 {
            format!("task_kind is {kind}: there are 0 header, 1 payload, 2 completion")
        } else if queue >= self.own.queues {
            format!("task_queue is {queue} of {} queues", self.own.queues)
        } else {
            self.packet = Some(packet);
            let frees = self.block.get(TASK_FREES) == 1;
            return Some(Offered { packet, queue, kind: KINDS[kind as usize], frees });
        };
        self.wrong = Some(wrong);
        None
    }

    /// Takes the task in this cycle.
    pub fn take(&mut self, task: &Task) {
        self.own.taken = true;
        self.block.put(TASK_READY, 1);
        if !self.compares && task.frees {
            self.hold(task.packet, false);
        }
    }

    /// Wants it to offer what the model does, in this cycle.
    pub fn follow_task(&mut self, task: Option<&Task>, context: impl Fn(u32) -> ContextId) {
        self.block.expect(TASK_VALID, u64::from(task.is_some()));
        let Some(task) = task else { return };
        self.block.expect(TASK_QUEUE, u64::from(task.queue));
        self.block.expect(TASK_KIND, task.kind as u64);
        self.block.expect(TASK_FREES, u64::from(task.frees));
        self.block.expect(TASK_PACKET, u64::from(task.packet));
        self.block.expect(TASK_META, u64::from(context(task.packet).0));
        self.packet = Some(task.packet);
    }

    /// Tells it of a task that is done.
    pub fn done(&mut self, queue: u32, kind: HandlerKind) {
        self.block.put(DONE_VALID, 1);
        self.block.put(DONE_QUEUE, u64::from(queue));
        self.block.put(DONE_KIND, kind as u64);
    }
}
