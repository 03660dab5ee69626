//! Hears a nanoPU: what its harts retire and take comes in; instructions with what they change, and what a
//! run can stop at, go out.

use std::sync::Arc;

use pinion_isa::elf::Image;
use pinion_isa::{Class, Extensions, Instruction, Op};
use pinion_nanopu::core::code::Code;
use pinion_nanopu::core::network::csr::CONTEXT;
use pinion_nanopu::event::{Event, NanoPu, Retirements, Told};
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::node::Node;
use pinion_nanopu::waypoint::Waypoint;
use pinion_run::nanoservice::Works;
use pinion_run::nanoservice::run::Settling;
use pinion_sim::probe::Hears;

use crate::harts::{REGISTERS, Step, Touch};
use crate::hearer::Hearer;
use crate::hunt::Reason;
use crate::log::Takes;
use crate::tap::Tap;
use crate::terms::Task;

/// Where a decoded CSR instruction keeps its five-bit immediate: above the CSR's number.
const IMMEDIATE_SHIFT: u32 = 16;
const IMMEDIATE_BITS: i32 = 31;

/// What a hart is at.
#[derive(Clone, Debug)]
struct Hart {
    /// Registers behind its last instruction.
    registers: [u64; REGISTERS],
    /// The context that runs.
    running: u16,
    /// Messages that it has begun and is not done with, by their contexts, the last one behind.
    works: Vec<(u16, u64)>,
    /// What the instruction that retires next did: memory that it changed, the word that it took, the
    /// message that it begins.
    stored: Option<Touch>,
    taken: Option<u64>,
    begins: bool,
    /// A trap was taken since the last instruction.
    trapped: bool,
}

/// Knows what a node's events mean. What it knows of the node belongs to what is saved.
#[derive(Clone, Debug)]
pub struct Interpreter {
    each: Vec<Hart>,
    works: Works,
    contexts: u16,
    code: Arc<Code>,
}

impl Interpreter {
    /// Begins with harts that have done nothing, and a program.
    pub fn new(machine: &Machine, image: &Image) -> Self {
        let hart = Hart {
            registers: [0; REGISTERS],
            running: 0,
            works: Vec::new(),
            stored: None,
            taken: None,
            begins: false,
            trapped: false,
        };
        let (base, bytes) = (machine.memory.base_address, machine.memory.size.0);
        let code = Arc::new(Code::of(image, base, bytes, Extensions::RV64GC));
        let each = vec![hart; machine.core.count as usize];
        let contexts = machine.hart_interface.contexts;
        Self { each, works: Works::default(), contexts, code }
    }

    /// Says what a hart works at.
    pub fn task(&self, hart: u32) -> Option<Task> {
        self.each[hart as usize].task()
    }

    /// Hears an event, and says what it is.
    pub fn hear(&mut self, told: &Told<'_>, out: &mut impl Takes) {
        let each = &mut self.each;
        match *told {
            Told::Retired { hart, at, pc, registers, .. } => {
                let instruction = self.code.peek(pc).map(|slot| slot.instruction);
                let step = each[usize::from(hart)].retire(at, pc, registers, instruction);
                out.step(hart.into(), step);
            }
            Told::Taken { hart, context, word, .. } => {
                let hart = &mut each[usize::from(hart)];
                (hart.taken, hart.running) = (word, context);
            }
            Told::Stored { hart, address, bytes, found } => {
                let touch =
                    Touch { address, bytes: bytes.into(), reads: false, writes: true, found };
                each[usize::from(hart)].stored = Some(touch);
            }
            Told::Excepted { hart, at, pc, cause, value } => {
                let step = each[usize::from(hart)].except(at, pc, cause, value);
                out.step(hart.into(), step);
            }
            Told::Event { event: Event::Trap { hart }, .. } => {
                each[usize::from(hart)].trapped = true;
            }
            Told::Waypoint { at, waypoint } => {
                if let Waypoint::Dropped { frame, reason } = waypoint {
                    let text = format!("frame {frame}: {}", reason.name());
                    out.note(at, None, Reason::Dropped(text));
                }
                let message = self.works.hear(at, &waypoint);
                follow(each, &waypoint, message);
            }
            _ => {}
        }
    }
}

impl Hears<NanoPu> for Tap<Interpreter> {
    fn interest(&self) -> Retirements {
        Retirements { retired: true, waypoints: true }
    }

    fn hear(&mut self, told: &Told<'_>) {
        Tap::hear(self, |interpreter, entries| interpreter.hear(told, entries));
    }
}

impl Settling for Tap<Interpreter> {}

impl Hearer for Interpreter {
    type Node = Node;

    fn meet(&mut self, node: &Node) {
        for (number, hart) in self.each.iter_mut().enumerate() {
            hart.registers = node.core(number).hart.x;
            hart.running = node.interface(number).context();
            for context in 0..self.contexts {
                self.works.doubt(number as u8, context);
            }
        }
        self.learn(node);
    }

    fn learn(&mut self, node: &Node) {
        let unknown: Vec<_> = self.works.unknown().collect();
        for (hart, context) in unknown {
            // Whoever has no message is about to begin with the next one that it is given.
            if node.receive().outstanding(hart, context) == 0 {
                let ended = node.interface(hart.into()).ended_messages(context);
                self.works.know(hart, context, ended);
            }
        }
    }
}

/// Notes what a hart begins and is done with.
fn follow(each: &mut [Hart], waypoint: &Waypoint, message: Option<u64>) {
    match *waypoint {
        Waypoint::Begun { hart, context, .. } => {
            let hart = &mut each[usize::from(hart)];
            if let Some(message) = message {
                hart.works.retain(|(_, other)| *other != message);
                hart.works.push((context, message));
                hart.begins = true;
            }
        }
        Waypoint::Ended { hart, .. } => {
            each[usize::from(hart)].works.retain(|(_, other)| Some(*other) != message);
        }
        Waypoint::Bound { hart, context } => {
            each[usize::from(hart)].works.retain(|(other, _)| *other != context);
        }
        _ => {}
    }
}

impl Hart {
    fn task(&self) -> Option<Task> {
        let work = self.works.iter().rev().find(|(context, _)| *context == self.running);
        let (context, message) = *work?;
        Some(Task { packet: None, message, context: context.into(), handler: None })
    }

    /// Hears that an instruction retired, with the registers that it left.
    fn retire(
        &mut self,
        at: u64,
        pc: u64,
        registers: &[u64; REGISTERS],
        instruction: Option<Instruction>,
    ) -> Step {
        let before = std::mem::replace(&mut self.registers, *registers);
        let mut step = Step {
            cycle: at,
            pc,
            touch: self.stored.take(),
            taken: self.taken.take(),
            command: None,
            enters: std::mem::take(&mut self.begins),
            touches_csr: std::mem::take(&mut self.trapped),
            ..Step::default()
        };
        match instruction {
            Some(instruction) => {
                step.rd = instruction.rd;
                self.interpret(&instruction, &before, &mut step);
            }
            // Not in the program's file: what it wrote is what differs.
            None => {
                let differs = |register: &usize| before[*register] != registers[*register];
                step.rd = (1..REGISTERS).find(differs).unwrap_or(0) as u8;
                step.touches_csr = true;
            }
        }
        step.result = registers.get(usize::from(step.rd)).copied().unwrap_or(0);
        step.task = self.task();
        step
    }

    /// Says what an instruction did beside its result.
    fn interpret(&mut self, i: &Instruction, before: &[u64; REGISTERS], step: &mut Step) {
        let source = before[usize::from(i.rs1) % REGISTERS];
        match i.class {
            Class::Load | Class::FloatLoad => {
                let address = source.wrapping_add_signed(i.imm.into());
                step.touch = Some(self.load(i, address));
            }
            Class::LoadReserved => step.touch = Some(self.load(i, source)),
            // It did not write: somebody else did in between.
            Class::StoreConditional if self.registers[usize::from(i.rd) % REGISTERS] != 0 => {
                step.touch = None;
            }
            Class::Amo => {
                step.touch = step.touch.map(|touch| Touch { reads: true, ..touch });
            }
            Class::Csr => {
                step.touches_csr = true;
                // The word that a read of x30 takes is there before the instruction is executed.
                if i.csr() == CONTEXT {
                    match i.op {
                        Op::Csrrw => self.running = source as u16,
                        Op::Csrrwi => {
                            self.running = (i.imm >> IMMEDIATE_SHIFT & IMMEDIATE_BITS) as u16;
                        }
                        _ => {}
                    }
                }
            }
            Class::System => step.touches_csr = true,
            _ => {}
        }
    }

    fn load(&self, i: &Instruction, address: u64) -> Touch {
        let bytes = i.access_bytes().into();
        Touch { address, bytes, reads: true, writes: false, found: 0 }
    }

    /// Hears that an instruction trapped instead of retiring.
    fn except(&mut self, at: u64, pc: u64, cause: u32, value: u64) -> Step {
        /// Exceptions of accesses to data, which have an address (privileged specification, `mcause`).
        const ACCESSES: std::ops::RangeInclusive<u32> = 4..=7;
        (self.stored, self.taken, self.begins) = (None, None, false);
        Step {
            cycle: at,
            pc,
            trap: Some(cause),
            denied: ACCESSES.contains(&cause).then_some(value),
            task: self.task(),
            touches_csr: true,
            ..Step::default()
        }
    }
}
