//! The checker of a PsPIN unit: hears it, instruction by instruction, and follows what each means for
//! who knows of what and which bits were ever written.
//!
//! Events are taken as they come: those of one word of memory come in the order in which it was touched.

mod atomics;
mod devices;
mod memory;
mod outside;
mod tasks;
mod told;
mod units;

use std::sync::Arc;

use pinion_isa::{Class, Instruction, Op};
use pinion_sim::Clock;
use pinion_spin::{ContextId, InstructionRecord, RunningTask};
use rustc_hash::FxHashMap;

use crate::findings::Findings;
use crate::hart::{FP, Hart, RA, SP, Stage};
use crate::lines::Lines;
use crate::map::{Foreign, Map};
use crate::packets::Places;
use crate::shared::Shared;
use pinion_app::app::App;
use pinion_observe::check::{Deed, Kind, Seen, Who};
use pinion_observe::trace::clock;
use tasks::{Message, Queue};

/// Cause numbers of traps of data accesses: loads and stores, misaligned and not allowed.
const ACCESS_CAUSES: std::ops::RangeInclusive<u32> = 4..=7;
/// How far below its stack an access still counts as one that overflows it.
const OVERFLOW_BYTES: u32 = 64 << 10;

pub use units::Checker;

/// Finds what is wrong with the memory of a unit's handlers.
struct Unit {
    /// The number of its first cluster in the NIC.
    first_cluster: u32,
    map: Map,
    clock: Clock,
    /// HPUs of a cluster.
    cores: u32,
    /// By context: its handlers' addresses.
    handlers: Vec<[u32; 3]>,
    harts: Vec<Hart>,
    /// By byte: its bits that nobody has written.
    undefined: Vec<u8>,
    shared: Shared,
    lines: Arc<Lines>,
    messages: FxHashMap<(ContextId, u32), Message>,
    message_count: u32,
    queues: FxHashMap<u32, Queue>,
    places: Places,
    max_packet: u32,
    /// Commands of an HPU that may be outstanding.
    slots: usize,
    /// Offsets of the register that names a task's queue.
    queue_registers: [u32; 2],
    findings: Findings,
}

impl Unit {
    /// Makes a checker of an application's unit of this number.
    fn new(app: &App, number: u32, lines: Arc<Lines>) -> Self {
        let machine = &app.machine.value;
        let (clusters, cores) = (machine.cluster.count, machine.cluster.cores);
        let first_cluster = number * clusters;
        let map = Map::new(app, first_cluster);
        let places = (0..clusters).flat_map(|cluster| (0..cores).map(move |hpu| (cluster, hpu)));
        let hart = |(cluster, hpu)| Hart::new(cluster, hpu, map.stack(cluster, hpu));
        let harts: Vec<Hart> = places.map(hart).collect();
        let handlers = app.contexts.iter().map(|context| {
            let handlers =
                [&context.header_handler, &context.payload_handler, &context.completion_handler];
            handlers.map(|handler| handler.as_ref().map_or(0, |handler| handler.address))
        });
        Self {
            first_cluster,
            clock: clock(app),
            cores,
            handlers: handlers.collect(),
            undefined: vec![0; map.total() + 8],
            shared: Shared::new(harts.len()),
            lines,
            messages: FxHashMap::default(),
            message_count: 0,
            queues: FxHashMap::default(),
            places: Places::default(),
            max_packet: machine.inbound.max_packet_bytes,
            slots: machine.command.per_hpu as usize,
            queue_registers: [0x4c, 0x100 + 4 * (2 * clusters + 9)],
            findings: Findings::default(),
            map,
            harts,
        }
    }

    /// Gives the number of an HPU in the unit.
    #[inline]
    const fn id(&self, cluster: u32, hpu: u32) -> usize {
        ((cluster - self.first_cluster) * self.cores + hpu) as usize
    }

    /// Describes an access of an HPU that is being looked at.
    fn seen(&self, id: usize, deed: Deed, record: &InstructionRecord) -> Seen {
        let pc = self.line_of(id, record.pc).into();
        let who = self.who(id, self.harts[id].task);
        Seen { deed, pc, cycle: record.cycle, who }
    }

    /// Names an HPU with a task of it.
    fn who(&self, id: usize, task: Option<RunningTask>) -> Who {
        let hart = &self.harts[id];
        Who::Hpu { cluster: self.first_cluster + hart.cluster, hpu: hart.hpu, task }
    }

    /// Gives the instruction to name: of the SDK's functions the one that called them.
    #[inline]
    fn line_of(&self, id: usize, pc: u32) -> u32 {
        let caller = self.harts[id].caller;
        if caller != 0 && self.lines.is_of_sdk(pc) { caller } else { pc }
    }

    /// Adds a finding, unless a line of source says that it is meant so.
    fn found(
        &mut self,
        kind: Kind,
        memory: Option<(u32, u32)>,
        seen: Seen,
        other: Option<Seen>,
        note: impl FnOnce() -> Option<String>,
    ) {
        let memory = memory.map(|(address, bytes)| (address.into(), bytes));
        self.findings.add(&self.lines, (kind, memory), seen, other, note);
    }

    fn instruction(&mut self, record: &InstructionRecord) {
        let id = self.id(record.cluster, record.hpu);
        let Some(hart) = self.harts.get_mut(id) else { return };
        match hart.stage {
            Stage::Runtime => return,
            Stage::Entering if record.pc != hart.entry => return hart.approach(record),
            Stage::Entering => self.enter(id),
            Stage::Handler if record.pc == hart.back => return hart.leave(),
            Stage::Handler => {}
        }
        if record.trap.is_some() {
            return self.trapped(id, record);
        }
        let i = &record.instruction;
        let value = |at: usize| u64::from(record.sources[at]);
        match i.class {
            Class::Load | Class::FloatLoad | Class::XpulpLoad | Class::EventLoad => {
                self.use_address(id, record);
                self.load(id, record);
            }
            Class::Store | Class::FloatStore | Class::XpulpStore => {
                self.use_address(id, record);
                self.store(id, record);
            }
            Class::Amo | Class::LoadReserved | Class::StoreConditional => {
                self.use_address(id, record);
                self.atomic(id, record);
            }
            Class::Branch => {
                if let Some(register) = self.harts[id].registers.undecided(i, value) {
                    self.uninitialised(id, record, Deed::Branch, register);
                }
            }
            Class::Jump | Class::JumpRegister => {
                if i.class == Class::JumpRegister {
                    self.use_address(id, record);
                }
                if i.rd == RA && !self.lines.is_of_sdk(record.pc) {
                    self.harts[id].caller = record.pc;
                }
                self.harts[id].registers.define(i.rd);
            }
            _ => self.harts[id].registers.compute(i, value),
        }
        let hart = &self.harts[id];
        if i.rd == SP && record.result != hart.sp {
            self.stack_moves(id, record);
        }
    }

    /// Looks at the register that an access or a jump takes its address from.
    #[inline]
    fn use_address(&mut self, id: usize, record: &InstructionRecord) {
        let base = record.instruction.rs1;
        if self.harts[id].registers.undefined(base) != 0 {
            self.uninitialised(id, record, Deed::Address, base);
        }
    }

    /// Reports that the value of a register, which nobody has written, is used; once.
    #[cold]
    fn uninitialised(&mut self, id: usize, record: &InstructionRecord, deed: Deed, register: u8) {
        let seen = self.seen(id, deed, record);
        let hart = &mut self.harts[id];
        let origin = hart.registers.origin(register);
        let is_parameter = origin == hart.entry;
        hart.registers.settle(register);
        let other = Seen { deed: Deed::Origin, pc: origin.into(), ..seen };
        let other = (!is_parameter && origin != 0).then_some(other);
        self.found(Kind::Uninitialised, None, seen, other, || {
            let name = pinion_isa::REGISTER_NAMES.get(usize::from(register)).copied();
            let name = name.filter(|_| is_parameter)?;
            Some(format!("the handler began with it in register {name}"))
        });
    }

    /// Follows the stack pointer: what it leaves, and what it comes to, nobody has written.
    fn stack_moves(&mut self, id: usize, record: &InstructionRecord) {
        let hart = &mut self.harts[id];
        let (low, high) = hart.stack;
        let (before, now) = (hart.sp, record.result);
        hart.sp = now;
        let is_own = |address: u32| (low..=high).contains(&address);
        if now < low && low - now < OVERFLOW_BYTES && is_own(before) {
            let seen = self.seen(id, Deed::Stack, record);
            let note = || Some(format!("by {} B", low - now));
            return self.found(Kind::StackOverflow, Some((now, 0)), seen, None, note);
        }
        if !is_own(now) || !is_own(before) {
            return;
        }
        let (from, to) = (before.min(now), before.max(now));
        if let Some(flat) = self.map.flat(from) {
            self.undefined[flat as usize..(flat + (to - from)) as usize].fill(0xff);
        }
        if now > before && !self.harts[id].operations.are_awaited() {
            self.leaves_pending(id, record, (from, to - from));
        }
    }

    /// Begins a handler: of its stack nothing was written.
    fn enter(&mut self, id: usize) {
        let hart = &mut self.harts[id];
        hart.enter();
        let (low, high) = hart.stack;
        let end = hart.sp;
        if end > low
            && end <= high
            && let Some(flat) = self.map.flat(low)
        {
            self.undefined[flat as usize..(flat + (end - low)) as usize].fill(0xff);
        }
    }

    /// Looks at an access that the hardware refused.
    #[cold]
    fn trapped(&mut self, id: usize, record: &InstructionRecord) {
        let i = &record.instruction;
        if !record.trap.is_some_and(|cause| ACCESS_CAUSES.contains(&cause)) || !i.is_memory() {
            return;
        }
        let offset = match i.class {
            Class::Amo | Class::LoadReserved | Class::StoreConditional => 0,
            _ if i.op == Op::Xpulp => return,
            _ => i.imm as u32,
        };
        self.use_address(id, record);
        let cluster = self.harts[id].cluster;
        let address = self.map.physical(cluster, record.sources[0].wrapping_add(offset));
        let bytes = u32::from(i.access_bytes());
        let deed = deed(i);
        let end = address.wrapping_add(bytes.saturating_sub(1));
        if self.map.peripheral(address).is_some() || self.map.is_output(address) {
            return;
        }
        for byte in [address, end] {
            let asker = self.asker(id);
            if let Err(foreign) = self.map.range(byte, &asker) {
                return self.foreign(id, record, deed, (byte, bytes), foreign);
            }
        }
    }

    /// Reports an access to what is not the handler's.
    #[cold]
    fn foreign(
        &mut self,
        id: usize,
        record: &InstructionRecord,
        deed: Deed,
        (address, bytes): (u32, u32),
        foreign: Foreign,
    ) {
        let hart = &self.harts[id];
        let low = hart.stack.0;
        let is_below = address < low && low - address < OVERFLOW_BYTES;
        let base = record.instruction.rs1;
        let seen = self.seen(id, deed, record);
        let own = hart.place;
        let (kind, note) = match foreign {
            Foreign::Packets => self.outside_packet(id, deed, address),
            _ if is_below && (base == SP || base == FP && hart.sp < low) => {
                (Kind::StackOverflow, format!("by {} B", low - address))
            }
            Foreign::Stack(cluster, hpu) => {
                let cluster = self.first_cluster + cluster;
                (Kind::ForeignMemory, format!("the stack of HPU {hpu} of cluster {cluster}"))
            }
            Foreign::Context(context) => {
                (Kind::ForeignMemory, format!("memory of context {}", self.map.context(context)))
            }
            Foreign::Nobody
                if [own.l1, own.l2].iter().any(|place| self.is_near(address, *place)) =>
            {
                self.outside_packet(id, deed, address)
            }
            Foreign::Nobody => (Kind::ForeignMemory, "nobody's memory".to_owned()),
        };
        self.found(kind, Some((address, bytes)), seen, None, || Some(note));
    }
}

/// Says what an instruction does to memory.
const fn deed(instruction: &Instruction) -> Deed {
    match instruction.class {
        Class::Load | Class::FloatLoad | Class::XpulpLoad | Class::LoadReserved => Deed::Read,
        Class::Amo | Class::StoreConditional => Deed::Atomic,
        _ => Deed::Write,
    }
}
