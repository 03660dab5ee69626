//! The checker: hears a run, instruction by instruction, and follows what each means for who knows of
//! what and which bits were ever written.
//!
//! Events are taken as they come: those of one word of memory come in the order in which it was touched.

mod atomics;
mod devices;
mod memory;
mod tasks;
mod told;

use pinion_isa::{Class, Instruction, Op};
use pinion_sim::Clock;
use pinion_spin::{ContextId, Event, Hears, InstructionRecord, Interest, Spin};
use rustc_hash::FxHashMap;

use crate::defined::{self, Source};
use crate::findings::{Finding, Findings};
use crate::hart::{FP, Hart, RA, SP, Stage};
use crate::lines::Lines;
use crate::map::{Foreign, Map};
use crate::packets::Places;
use crate::shared::Shared;
use pinion_app::app::App;
use pinion_observe::check::{Deed, Kind, Seen};
use pinion_observe::trace::{Tracer, clock};
use tasks::{Message, Queue};

/// Cause numbers of traps of data accesses: loads and stores, misaligned and not allowed.
const ACCESS_CAUSES: std::ops::RangeInclusive<u32> = 4..=7;
/// How far below its stack an access still counts as one that overflows it.
const OVERFLOW_BYTES: u32 = 64 << 10;

/// Hears a run and finds what is wrong with its handlers' memory.
pub struct Checker {
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
    lines: Lines,
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

impl Checker {
    /// Makes a checker of an application.
    pub fn new(app: &App) -> Self {
        let machine = &app.machine.value;
        let (clusters, cores) = (machine.cluster.count, machine.cluster.cores);
        let map = Map::new(app);
        let places = (0..clusters).flat_map(|cluster| (0..cores).map(move |hpu| (cluster, hpu)));
        let hart = |(cluster, hpu)| Hart::new(cluster, hpu, map.stack(cluster, hpu));
        let harts: Vec<Hart> = places.map(hart).collect();
        let handlers = app.contexts.iter().map(|context| {
            let handlers =
                [&context.header_handler, &context.payload_handler, &context.completion_handler];
            handlers.map(|handler| handler.as_ref().map_or(0, |handler| handler.address))
        });
        Self {
            clock: clock(app),
            cores,
            handlers: handlers.collect(),
            undefined: vec![0; map.total() + 8],
            shared: Shared::new(map.total(), harts.len()),
            lines: Lines::of(app),
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

    /// Counts what was found and meant so.
    pub fn intended(&self) -> u64 {
        self.findings.intended
    }

    /// Gives what was found.
    pub fn findings(&self) -> &[Finding] {
        self.findings.list()
    }

    /// Says in words what lies at an address.
    pub fn describe(&self, address: u32) -> String {
        self.map.describe(address)
    }

    /// Gives the time of a cycle.
    fn time(&self, cycle: u64) -> pinion_sim::Time {
        self.clock.time(cycle)
    }

    /// Describes an access of an HPU that is being looked at.
    fn seen(&self, id: usize, deed: Deed, record: &InstructionRecord) -> Seen {
        let hart = &self.harts[id];
        let (cluster, hpu, task) = (hart.cluster, hart.hpu, hart.task);
        let pc = self.line_of(id, record.pc);
        Seen { deed, pc, cycle: record.cycle, cluster, hpu, task }
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
        let pcs = [Some(seen.pc), other.map(|other| other.pc)];
        match pcs.into_iter().flatten().any(|pc| self.lines.is_intended(pc)) {
            true => self.findings.intended += 1,
            false => self.findings.add(kind, memory, seen, other, note),
        }
    }

    fn instruction(&mut self, record: &InstructionRecord) {
        let id = (record.cluster * self.cores + record.hpu) as usize;
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
        let undefined = &mut self.harts[id].undefined;
        let of = |register: u8| undefined[usize::from(register & 63)];
        let (a, b, c) = (of(i.rs1), of(i.rs2), of(i.rs3));
        match i.class {
            Class::Load | Class::FloatLoad | Class::XpulpLoad | Class::EventLoad => {
                self.use_address(id, record, a);
                self.load(id, record);
            }
            Class::Store | Class::FloatStore | Class::XpulpStore => {
                self.use_address(id, record, a);
                self.store(id, record, b);
            }
            Class::Amo | Class::LoadReserved | Class::StoreConditional => {
                self.use_address(id, record, a);
                self.atomic(id, record, b);
            }
            Class::Branch => {
                if a | b != 0 {
                    self.branch(id, record, a, b);
                }
            }
            Class::Jump | Class::JumpRegister => {
                if i.class == Class::JumpRegister {
                    self.use_address(id, record, a);
                }
                if i.rd == RA && !self.lines.is_of_sdk(record.pc) {
                    self.harts[id].caller = record.pc;
                }
                self.define(id, i.rd);
            }
            _ => {
                let hart = &mut self.harts[id];
                let (rd, rs1, rs2) =
                    (usize::from(i.rd & 63), usize::from(i.rs1 & 63), usize::from(i.rs2 & 63));
                let depends = hart.depends[rs1];
                hart.depends[rd] = if depends != 0 { depends } else { hart.depends[rs2] };
                if a | b | c == 0 {
                    hart.undefined[rd] = 0;
                } else {
                    self.propagate(id, record, [a, b, c]);
                }
            }
        }
        let hart = &mut self.harts[id];
        (hart.undefined[0], hart.depends[0]) = (0, 0);
        if i.rd == SP && record.result != hart.sp {
            self.stack_moves(id, record);
        }
    }

    /// Notes that a register has a value that is known throughout.
    fn define(&mut self, id: usize, register: u8) {
        let (hart, register) = (&mut self.harts[id], usize::from(register & 63));
        (hart.undefined[register], hart.depends[register]) = (0, 0);
    }

    #[cold]
    fn propagate(&mut self, id: usize, record: &InstructionRecord, undefined: [u32; 3]) {
        let i = &record.instruction;
        let source = |at: usize| Source { value: record.sources[at], undefined: undefined[at] };
        let result = match i.class {
            Class::Alu | Class::Mul | Class::MulHigh | Class::Div => {
                defined::of_result(i, source(0), source(1), source(2))
            }
            _ => 0,
        };
        let from = [i.rs1, i.rs2, i.rs3];
        let hart = &mut self.harts[id];
        let at = undefined.iter().position(|undefined| *undefined != 0).unwrap_or(0);
        let origin = hart.origin[usize::from(from[at] & 63)];
        let rd = usize::from(i.rd & 63);
        (hart.undefined[rd], hart.origin[rd]) = (result, origin);
    }

    #[cold]
    fn branch(&mut self, id: usize, record: &InstructionRecord, a: u32, b: u32) {
        let i = &record.instruction;
        let source = |at: usize, undefined| Source { value: record.sources[at], undefined };
        if !defined::branch_is_known(i, source(0, a), source(1, b)) {
            let register = if a != 0 { i.rs1 } else { i.rs2 };
            self.uninitialised(id, record, Deed::Branch, register);
        }
    }

    #[inline]
    fn use_address(&mut self, id: usize, record: &InstructionRecord, undefined: u32) {
        if undefined != 0 {
            self.uninitialised(id, record, Deed::Address, record.instruction.rs1);
        }
    }

    /// Reports that the value of a register, which nobody has written, is used; once.
    #[cold]
    fn uninitialised(&mut self, id: usize, record: &InstructionRecord, deed: Deed, register: u8) {
        let seen = self.seen(id, deed, record);
        let hart = &mut self.harts[id];
        let origin = hart.origin[usize::from(register & 63)];
        let is_parameter = origin == hart.entry;
        hart.undefined[usize::from(register & 63)] = 0;
        let other = Seen { deed: Deed::Origin, pc: origin, ..seen };
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
        let undefined = self.harts[id].undefined[usize::from(i.rs1 & 63)];
        self.use_address(id, record, undefined);
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
            Foreign::Packets => self.outside_packet(id, address),
            _ if is_below && (base == SP || base == FP && hart.sp < low) => {
                (Kind::StackOverflow, format!("by {} B", low - address))
            }
            Foreign::Stack(cluster, hpu) => {
                (Kind::ForeignMemory, format!("the stack of HPU {hpu} of cluster {cluster}"))
            }
            Foreign::Context(context) => {
                (Kind::ForeignMemory, format!("memory of context {}", self.map.context(context)))
            }
            Foreign::Nobody
                if [own.l1, own.l2].iter().any(|place| self.is_near(address, *place)) =>
            {
                self.outside_packet(id, address)
            }
            Foreign::Nobody => (Kind::ForeignMemory, "nobody's memory".to_owned()),
        };
        self.found(kind, Some((address, bytes)), seen, None, || Some(note));
    }

    /// Tells whether an address lies so near a packet that it must be meant.
    const fn is_near(&self, address: u32, (first, bytes): (u32, u32)) -> bool {
        const IN_FRONT_BYTES: u32 = 64;
        let from = first.wrapping_sub(IN_FRONT_BYTES);
        bytes > 0 && address.wrapping_sub(from) < IN_FRONT_BYTES + bytes + self.max_packet
    }

    /// Says what an address of a packet buffer is that is not the task's packet.
    fn outside_packet(&self, id: usize, address: u32) -> (Kind, String) {
        let hart = &self.harts[id];
        if let Some(stale) = hart.stale_before(address, self.max_packet)
            && let Some(place) = self.places.at(stale)
        {
            let packet = place.packet;
            return match place.is_free {
                true => (Kind::FreedPacket, format!("it was packet {packet}'s")),
                false => (Kind::ForeignMemory, format!("it is packet {packet}'s")),
            };
        }
        let (l1, l2) = (hart.place.l1, hart.place.l2);
        let own = if address.abs_diff(l1.0) < address.abs_diff(l2.0) { l1 } else { l2 };
        let (first, bytes) = own;
        let end = first.wrapping_add(bytes);
        let where_to = match address < first {
            true => format!("{} B in front of its first byte", first - address),
            false => format!("{} B behind its end", address.wrapping_sub(end)),
        };
        (Kind::BeyondPacket, format!("{where_to}; the packet has {bytes} B there"))
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

impl Hears<Spin> for Checker {
    fn interest(&self) -> Interest {
        Interest { handlers: true, units: true, instructions: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match *event {
            Event::Instruction(record) => self.instruction(record),
            Event::HandlerStarted { cluster, hpu, task, ref place, .. } => {
                self.task_begins((cluster * self.cores + hpu) as usize, task, *place);
            }
            Event::HandlerDone(record) => self.task_ends(record),
            Event::PacketTaken { record, address } => {
                self.packet_taken(record.packet, (address, record.bytes));
            }
            Event::Transfer(transfer) if transfer.hpu.is_none() => {
                self.packet_copied(transfer.from, transfer.to, transfer.bytes);
            }
            Event::PacketDone(record) => self.packet_done(record),
            _ => {}
        }
    }
}

impl Tracer for Checker {}
