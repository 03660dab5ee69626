//! The checker of a nanoPU: hears a node, instruction by instruction and word by word, and follows what
//! each means for who knows of what, which bits were ever written, and which message a word is of.
//!
//! Instructions are taken as they come, which is the order in which harts touch memory.

mod bits;
mod exceptions;
mod hart;
mod memory;
mod messages;
mod post;
mod program;
mod threads;
mod told;

use std::sync::Arc;

use pinion_app::service::Service;
use pinion_isa::csr::number;
use pinion_isa::{Class, Instruction, Op};
use pinion_nanopu::Cycle;
use pinion_nanopu::core::network::csr;
use pinion_nanopu::event::{Event, NanoPu, Retirements, Told};
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::waypoint::Waypoint;
use pinion_sim::Clock;
use pinion_sim::probe::Hears;
use rustc_hash::FxHashMap;

use crate::clocks::Knowledge;
use crate::findings::Findings;
use crate::shared::Shared;
use bits::Bits;
use exceptions::Exception;
use hart::{Hart, Taken};
use messages::{Moment, RECEIVE, SEND};
use pinion_observe::check::{Deed, Kind, Seen, Who};
use pinion_observe::settling::Settling;
use pinion_observe::trace::Works;
use post::Abroad;
pub use post::{Parcel, Post};
pub use program::Program;
use threads::Threads;

/// Numbers of registers.
const RA: u8 = 1;
const SP: u8 = 2;

/// Hears a node and finds what is wrong with its program's memory and messages.
pub struct NanoChecker {
    program: Arc<Program>,
    clock: Clock,
    /// The node's own address.
    ip: u32,
    /// First address of memory, and its bytes.
    memory: (u64, u64),
    /// Bytes of the longest message.
    longest: u64,
    harts: Vec<Hart>,
    bits: Bits,
    shared: Shared,
    /// By context: what those knew who sent messages to it from this node.
    sent: FxHashMap<u16, Knowledge>,
    /// What its harts know of other nodes of a cluster.
    abroad: Option<Abroad>,
    /// By hart: the exception that it took last and has not come back from.
    exceptions: FxHashMap<usize, Exception>,
    /// What those knew who wrote to a device, which may interrupt a hart.
    devices: Knowledge,
    works: Works,
    findings: Findings,
}

/// An instruction that retired.
#[derive(Clone, Copy, Debug)]
struct Step {
    hart: usize,
    at: Cycle,
    pc: u32,
    i: Instruction,
    /// Values of its sources before it.
    values: [u64; 3],
    /// Value of its destination after it.
    result: u64,
}

impl Step {
    /// Stands for an instruction of a hart long ago.
    const fn of(hart: usize, moment: Moment) -> Self {
        let (i, values, result) = (Instruction::illegal(0, 0), [0; 3], 0);
        Self { hart, at: moment.at, pc: moment.pc, i, values, result }
    }

    const fn moment(&self) -> Moment {
        Moment { pc: self.pc, at: self.at }
    }

    /// Gives the address of an access.
    const fn address(&self) -> u64 {
        let has_offset = matches!(
            self.i.class,
            Class::Load | Class::Store | Class::FloatLoad | Class::FloatStore
        );
        let offset = if has_offset { self.i.imm as i64 as u64 } else { 0 };
        self.values[0].wrapping_add(offset)
    }
}

impl NanoChecker {
    /// Makes a checker of a node that runs a program at an address of the network.
    pub fn new(program: &Arc<Program>, machine: &Machine, ip: u32, clock: Clock) -> Self {
        let memory = (machine.memory.base_address, machine.memory.size.0);
        let harts = machine.core.count as usize;
        let contexts = machine.hart_interface.contexts;
        let each = Threads::each(program.starts_threads && program.layout.is_some(), contexts);
        let shared = Shared::new(harts * each);
        let mut bits = Bits::default();
        for range in &program.loaded {
            let [first, end] = [range.start, range.end].map(|at| at.saturating_sub(memory.0));
            bits.fill(first as u32..end.min(memory.1) as u32, true);
        }
        Self {
            program: Arc::clone(program),
            clock,
            ip,
            memory,
            longest: machine.transmit.buffers.iter().map(|it| it.bytes.into()).max().unwrap_or(0),
            harts: (0..harts).map(|hart| Hart::new(contexts, Threads::new(hart, each))).collect(),
            bits,
            sent: FxHashMap::default(),
            abroad: None,
            exceptions: FxHashMap::default(),
            devices: shared.clocks.nothing(),
            shared,
            works: Works::default(),
            findings: Findings::default(),
        }
    }

    /// Makes its node one of a cluster, whose messages this post follows.
    #[must_use]
    pub fn with_post(mut self, post: &Post) -> Self {
        self.abroad = Some(Abroad::new(post, self.ip, self.shared.clocks.count()));
        self
    }

    /// Makes a checker of a nanoservice's only node.
    pub fn of(service: &Service, machine: &Machine, ip: u32, clock: Clock) -> Self {
        Self::new(&Arc::new(Program::of(service)), machine, ip, clock)
    }

    /// Gives a whole program counter.
    const fn whole(&self, pc: u32) -> u64 {
        self.memory.0 & !0xffff_ffff | pc as u64
    }

    /// Gives the instruction to name: of the SDK's functions the one that called them.
    #[inline]
    fn line_of(&self, hart: usize, pc: u32) -> u32 {
        let caller = self.harts[hart].caller;
        if caller != 0 && self.program.lines.is_of_sdk(pc) { caller } else { pc }
    }

    fn seen(&self, step: &Step, deed: Deed) -> Seen {
        self.earlier(step.hart, deed, (self.line_of(step.hart, step.pc), step.at))
    }

    /// Describes what a hart did in a cycle.
    fn earlier(&self, hart: usize, deed: Deed, (pc, cycle): (u32, Cycle)) -> Seen {
        let (context, message) = self.harts[hart].at(cycle);
        let who = Who::Hart { hart: hart as u32, context, message };
        Seen { deed, pc: self.whole(pc), cycle, who }
    }

    /// Adds a finding about messages.
    fn found(
        &mut self,
        kind: Kind,
        step: &Step,
        deed: Deed,
        other: Option<(Deed, Moment)>,
        note: Option<String>,
    ) {
        let seen = self.seen(step, deed);
        let other = other.map(|(deed, moment)| {
            let pc = self.line_of(step.hart, moment.pc);
            self.earlier(step.hart, deed, (pc, moment.at))
        });
        self.findings.add(&self.program.lines, (kind, None), seen, other, || note);
    }

    /// Reports that the value of a register, which nobody has written, is used; once.
    #[cold]
    fn uninitialised(&mut self, step: &Step, deed: Deed, register: u8) {
        let seen = self.seen(step, deed);
        let registers = &mut self.harts[step.hart].registers;
        let origin = registers.origin(register);
        registers.settle(register);
        let entry = |(pc, _): &&(u64, u8)| *pc as u32 == origin;
        let is_parameter = self.program.entries.iter().find(entry).is_some();
        let origin = Seen { deed: Deed::Origin, pc: self.whole(origin), ..seen };
        let other = (!is_parameter).then_some(origin);
        let lines = &self.program.lines;
        self.findings.add(lines, (Kind::Uninitialised, None), seen, other, || {
            let name = pinion_isa::REGISTER_NAMES.get(usize::from(register)).copied();
            let name = name.filter(|_| is_parameter)?;
            Some(format!("the function began with it in register {name}"))
        });
    }

    fn retired(&mut self, id: usize, at: Cycle, pc: u64, registers: &[u64; 32]) {
        let Some(i) = self.program.instruction(pc) else {
            // Code that the program made itself: what it does is not followed.
            self.harts[id].values = *registers;
            return;
        };
        if i.op == Op::Mret {
            self.exceptions.remove(&id);
            self.resumes(id);
        }
        if let Some((_, arguments)) = self.program.entries.iter().find(|(entry, _)| *entry == pc) {
            self.harts[id].enter(pc as u32, *arguments);
        }
        let hart = &mut self.harts[id];
        let taken = hart.taken.take();
        if let Some(word) = taken.and_then(|taken| taken.word) {
            hart.values[usize::from(RECEIVE)] = word;
        }
        let values = i.sources().map(|source| hart.value(source));
        let rd = usize::from(i.rd);
        let result = registers.get(rd).copied().unwrap_or(0);
        let step = Step { hart: id, at, pc: pc as u32, i, values, result };
        if let Some(taken) = taken {
            self.received(&step, &taken);
        }
        self.executed(&step);
        if i.rd == SEND {
            self.sends(&step, result);
        }
        let hart = &mut self.harts[id];
        if i.rd == SP && result != hart.values[usize::from(SP)] {
            self.stack_moves(&step);
        }
        if let Some(value) = self.harts[id].values.get_mut(rd) {
            *value = result;
        }
    }

    /// Follows what an instruction makes of registers and memory.
    #[inline]
    fn executed(&mut self, step: &Step) {
        let i = &step.i;
        let value = |at: usize| step.values[at];
        match i.class {
            Class::Load | Class::FloatLoad => {
                self.use_address(step);
                self.load(step);
            }
            Class::Store | Class::FloatStore => {
                self.use_address(step);
                self.store(step);
            }
            Class::Amo | Class::LoadReserved | Class::StoreConditional => {
                self.use_address(step);
                self.atomic(step);
            }
            Class::Branch => {
                if let Some(register) = self.harts[step.hart].registers.undecided(i, value) {
                    self.uninitialised(step, Deed::Branch, register);
                }
            }
            Class::Jump | Class::JumpRegister => {
                if i.class == Class::JumpRegister {
                    self.use_address(step);
                }
                if i.rd == RA && !self.program.lines.is_of_sdk(step.pc) {
                    self.harts[step.hart].caller = step.pc;
                }
                self.harts[step.hart].registers.define(i.rd);
            }
            Class::Csr => self.csr(step),
            _ => self.harts[step.hart].registers.compute(i, value),
        }
    }

    /// Looks at the register that an access or a jump takes its address from.
    #[inline]
    fn use_address(&mut self, step: &Step) {
        if self.harts[step.hart].registers.undefined(step.i.rs1) != 0 {
            self.uninitialised(step, Deed::Address, step.i.rs1);
        }
    }

    /// Looks at an access to a CSR: those of the network say which context runs, and what is done.
    fn csr(&mut self, step: &Step) {
        let immediate = (step.i.imm >> 16 & 31) as u64;
        let written_to = step.i.csr();
        if matches!(written_to, number::MSTATUS | number::MIE) {
            let is_immediate = matches!(step.i.op, Op::Csrrwi | Op::Csrrsi | Op::Csrrci);
            let value = if is_immediate { immediate } else { step.values[0] };
            self.interrupts(step.hart, step.i.op, value, written_to == number::MSTATUS);
        }
        let hart = &mut self.harts[step.hart];
        hart.registers.define(step.i.rd);
        let written = match step.i.op {
            Op::Csrrw => Some(step.values[0]),
            Op::Csrrwi => Some(immediate),
            Op::Csrrs if step.i.rs1 != 0 => Some(step.values[0]),
            Op::Csrrsi if immediate != 0 => Some(immediate),
            _ => None,
        };
        let running = usize::from(hart.context);
        match (written_to, written) {
            (csr::MESSAGES_READY, _) => {
                if let Some(context) = hart.contexts.get_mut(running) {
                    context.ask();
                }
            }
            (csr::CONTEXT, Some(context)) => {
                let context = context as u16;
                let (_, message) = hart.at(step.at);
                let message = message.filter(|_| context == hart.context);
                hart.runs(step.at, context, message);
                if let Some(context) = hart.contexts.get_mut(usize::from(context)) {
                    context.ask();
                }
            }
            (csr::NIC_COMMAND, Some(command)) if command & 1 != 0 => {
                if let Some(context) = hart.contexts.get_mut(running) {
                    context.bind();
                }
                self.hands_over(step.hart);
            }
            (csr::PRIORITY, Some(priority)) => hart.threads.has_priority(priority),
            (csr::USER_COMMAND, Some(command)) => {
                if command & 1 != 0 {
                    self.done(step);
                }
                self.gives_back(step.hart);
            }
            _ => {}
        }
    }

    /// Takes a trap: what the instruction had taken of x30 it takes again, and whoever made a device
    /// interrupt comes before.
    fn trapped(&mut self, hart: usize) {
        self.harts[hart].taken = None;
        self.stops(hart);
        self.shared.clocks.learn(self.harts[hart].threads.who(), &self.devices);
    }
}

impl Settling for NanoChecker {}

impl Hears<NanoPu> for NanoChecker {
    fn interest(&self) -> Retirements {
        Retirements { retired: true, waypoints: true }
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Retired { hart, at, pc, registers, .. } => {
                self.retired(usize::from(hart), at, pc, registers);
            }
            Told::Taken { hart, context, word, .. } => {
                let taken = Taken { context, word, begins: None };
                self.harts[usize::from(hart)].taken = Some(taken);
            }
            Told::Waypoint { at, waypoint } => {
                let message = self.works.hear(at, &waypoint);
                if let Waypoint::Begun { hart, .. } = waypoint
                    && let Some(taken) = &mut self.harts[usize::from(hart)].taken
                {
                    taken.begins = Some(message);
                }
            }
            Told::Event { event: Event::Trap { hart }, .. } => self.trapped(usize::from(hart)),
            Told::Excepted { hart, at, pc, cause, value } => {
                self.excepted(usize::from(hart), Exception { at, pc, cause, value });
            }
            _ => {}
        }
    }
}
