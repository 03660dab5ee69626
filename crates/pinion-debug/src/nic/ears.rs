//! Hears a sPIN NIC: its events come in, instructions with what they change, and what a run can stop at,
//! go out.

use std::sync::Arc;

use pinion_isa::Class;
use pinion_observe::trace::Tracer;
use pinion_sim::Clock;
use pinion_spin::{
    Event as NicEvent, Fault, HandlerKind, Hears, InstructionRecord, Interest, RunningTask, Spin,
    Units, driver_register,
};

use crate::harts::{Step, Touch};
use crate::hearer::Hearer;
use crate::hunt::Reason;
use crate::log::{Log, Takes};
use crate::tap::Tap;
use crate::terms::{Command, Task};
use crate::words::Wrong;

/// What of the machine a listener has to know.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The clock.
    pub clock: Clock,
    /// HPUs in a cluster.
    pub cores: u32,
    /// Clusters in a unit.
    pub clusters: u32,
    /// Units.
    pub units: u32,
    /// Addresses at which handlers begin, in order.
    pub entries: Vec<u32>,
    /// Clusters' memories and peripherals.
    pub l1: L1,
}

/// Where clusters' memories lie, with their peripherals behind them: one behind the other, as everybody
/// sees them, and the own ones, as each core does.
#[derive(Clone, Copy, Debug)]
pub struct L1 {
    /// The first cluster's.
    pub base: u32,
    /// From one cluster's to the next one's.
    pub stride: u32,
    /// The own cluster's.
    pub alias: u32,
}

impl Shape {
    /// Numbers an HPU among all.
    pub fn hart(&self, cluster: u32, hpu: u32) -> u32 {
        cluster * self.cores + hpu
    }

    /// Gives cluster and HPU, clusters counted through all units.
    pub fn place(&self, hart: u32) -> (u32, u32) {
        (hart / self.cores, hart % self.cores)
    }

    /// Gives the unit of an HPU.
    pub fn unit(&self, hart: u32) -> u32 {
        self.place(hart).0 / self.clusters
    }
}

impl L1 {
    /// Gives the offset of a register of an HPU's driver, which a core of a cluster names by either of its
    /// addresses.
    fn driver_register(&self, cluster: u32, address: u32) -> Option<u32> {
        let own = address.wrapping_sub(self.base + cluster * self.stride);
        let address = if own < self.stride { self.alias + own } else { address };
        let offset = address.wrapping_sub(driver_register::BASE);
        (offset < driver_register::PAGE).then_some(offset % driver_register::SPAN)
    }
}

/// Tells the command that a type says, as a core writes it.
fn command_of(kind: u32) -> Option<Command> {
    match kind >> 1 & 3 {
        0 => Some(Command::HostDma),
        1 => Some(Command::Send),
        2 => Some(Command::HostDirect),
        _ => None,
    }
}

/// What an HPU did last.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// The handler that it ran.
    entered: Option<(u64, HandlerKind)>,
    /// Where it trapped in a handler.
    trapped: Option<u32>,
    /// The kind of command whose type it wrote.
    command: Option<Command>,
}

/// Knows what a NIC's events mean. What it knows of the NIC belongs to what is saved.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The machine.
    pub shape: Arc<Shape>,
    each: Vec<Last>,
}

impl Interpreter {
    /// Begins with harts that have done nothing.
    pub fn new(shape: Arc<Shape>) -> Self {
        let harts = shape.units * shape.clusters * shape.cores;
        Self { shape, each: vec![Last::default(); harts as usize] }
    }

    /// Hears an event, and logs what it is.
    pub fn hear(&mut self, event: &NicEvent<'_>, log: &mut impl Takes) {
        let cycle_at = |time| self.shape.clock.cycle_at(time);
        match *event {
            NicEvent::Instruction(record) => {
                let hart = self.shape.hart(record.cluster, record.hpu);
                let step = self.step(hart, record);
                log.step(hart, step);
            }
            NicEvent::Dropped { time, reason, .. } => {
                log.note(cycle_at(time), None, Reason::Dropped(reason.name().to_owned()));
            }
            NicEvent::HandlerFault { time, cluster, hpu, fault, pc, .. } => {
                let hart = self.shape.hart(cluster, hpu);
                // Where it trapped it was heard of already: the report comes from the trap handler.
                let is_known = matches!(fault, Fault::Exception { .. } | Fault::HpuLost)
                    && self.each[hart as usize].trapped == Some(pc);
                if !is_known {
                    log.note(cycle_at(time), Some(hart), Reason::Fault(Wrong::Other(fault)));
                }
            }
            NicEvent::Output { time, cluster, hpu, byte } => {
                let hart = self.shape.hart(cluster, hpu);
                log.byte(cycle_at(time), hart, byte, || format!("[{cluster}.{hpu}] "));
            }
            _ => {}
        }
    }

    fn step(&mut self, hart: u32, record: &InstructionRecord) -> Step {
        let instruction = &record.instruction;
        let last = &mut self.each[hart as usize];
        let started = record.task.map(|task| (task.packet, task.kind));
        let is_entry = self.shape.entries.binary_search(&record.pc).is_ok();
        let enters = is_entry && started.is_some() && started != last.entered;
        if enters {
            last.entered = started;
        }
        let cluster = record.cluster % self.shape.clusters;
        let register =
            record.address.and_then(|address| self.shape.l1.driver_register(cluster, address));
        if register == Some(driver_register::INFO) && instruction.class == Class::Store {
            last.command = command_of(record.sources[1]);
        }
        let issues = register == Some(driver_register::ISSUE) && instruction.class == Class::Load;
        let command = last.command.filter(|_| issues && record.task.is_some());
        if record.trap.is_some() && record.task.is_some() {
            last.trapped = Some(record.pc);
        }
        Step {
            order: 0,
            cycle: record.cycle,
            pc: record.pc.into(),
            rd: if record.trap.is_some() || instruction.rd >= 32 { 0 } else { instruction.rd },
            result: record.result.into(),
            increment: record.increment.map(|value| (instruction.rs1, value.into())),
            touch: touch(record),
            // The runtime may trap where no handler runs; that is no fault.
            trap: record.trap.filter(|_| record.task.is_some()),
            denied: record.trap.and_then(|_| denied(record)).map(u64::from),
            task: record.task.map(task),
            enters,
            touches_csr: record.trap.is_some()
                || matches!(instruction.class, Class::Csr | Class::System),
            taken: None,
            command,
        }
    }
}

/// Says what an HPU works at in words of all machines.
pub fn task(task: RunningTask) -> Task {
    Task {
        packet: Some(task.packet),
        message: task.message.into(),
        context: task.context.0,
        handler: Some(task.kind),
    }
}

/// Says what an instruction accessed.
fn touch(record: &InstructionRecord) -> Option<Touch> {
    let address = record.address?;
    let instruction = &record.instruction;
    let bytes = instruction.access_bytes().into();
    let (reads, writes) = match instruction.class {
        Class::Store | Class::StoreConditional | Class::XpulpStore | Class::FloatStore => {
            (false, true)
        }
        Class::Amo => (true, true),
        _ => (true, false),
    };
    // What was found begins at a word.
    let found = record.found >> (8 * (address & 3));
    Some(Touch { address: address.into(), bytes, reads, writes, found })
}

/// Gives the address that a load, store or atomic was to access.
fn denied(record: &InstructionRecord) -> Option<u32> {
    let offset = match record.instruction.class {
        Class::Load | Class::Store => record.instruction.imm,
        Class::Amo | Class::LoadReserved | Class::StoreConditional => 0,
        _ => return None,
    };
    Some(record.sources[0].wrapping_add_signed(offset))
}

/// Hears what a debugger hears, and nothing of instructions.
pub type Also<'c> = dyn FnMut(&NicEvent<'_>) + 'c;

/// Listens to a NIC that is run where the log is.
pub struct Ears<'a, 'b, 'c> {
    /// Knows what events are.
    pub interpreter: &'a mut Interpreter,
    /// Takes what they are.
    pub log: &'a mut Log<'b>,
    /// Hears it, too.
    pub also: Option<&'a mut Also<'c>>,
}

impl Hears<Spin> for Ears<'_, '_, '_> {
    fn interest(&self) -> Interest {
        let handlers = self.also.is_some();
        Interest { instructions: true, handlers, ..Interest::default() }
    }

    fn hear(&mut self, event: &NicEvent<'_>) {
        self.interpreter.hear(event, self.log);
        if let Some(also) = &mut self.also
            && !matches!(event, NicEvent::Instruction(_))
        {
            also(event);
        }
    }
}

impl Hears<Spin> for Tap<Interpreter> {
    fn interest(&self) -> Interest {
        Interest { instructions: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &NicEvent<'_>) {
        Tap::hear(self, |interpreter, entries| interpreter.hear(event, entries));
    }
}

impl Hearer for Interpreter {
    type Node = Units;
}

impl Tracer for Tap<Interpreter> {}

#[cfg(test)]
mod tests {
    use super::*;
    use pinion_isa::{Extensions, Instruction, decode};
    use pinion_sim::Time;

    fn record(instruction: Instruction) -> InstructionRecord {
        InstructionRecord {
            cycle: 0,
            time: Time::ZERO,
            cluster: 0,
            hpu: 0,
            pc: 0x1d00_0000,
            word: 0,
            instruction,
            sources: [0; 3],
            result: 0,
            increment: None,
            address: Some(0x1000_4401),
            found: 0x4433_2211,
            trap: None,
            task: None,
            stalls: pinion_spin::Stalls::default(),
        }
    }

    #[test]
    fn a_driver_is_known_by_both_of_its_addresses() {
        let l1 = L1 { base: 0x1000_0000, stride: 0x40_0000, alias: 0x1b00_0000 };
        let issue = driver_register::ISSUE;
        assert_eq!(l1.driver_register(1, driver_register::BASE + issue), Some(issue));
        assert_eq!(l1.driver_register(1, 0x1060_5000 + issue), Some(issue));
        let second = 0x1060_5000 + driver_register::SPAN + issue;
        assert_eq!(l1.driver_register(1, second), Some(issue), "another HPU's page");
        assert_eq!(l1.driver_register(0, 0x1060_5000 + issue), None, "another cluster's");
        assert_eq!(l1.driver_register(0, 0x1000_5000), None, "memory");
    }

    #[test]
    fn an_access_touches_its_own_bytes_with_xpulp_too() {
        let extensions = Extensions::PSPIN.with(Extensions::XPULP);
        // lbu a0, 0(a1); p.lbu a0, 1(a1!); p.sh a0, 2(a1!); lw a0, 0(a1)
        for (word, bytes) in
            [(0x0005_c503, 1), (0x0015_c50b, 1), (0x00a5_912b, 2), (0x0005_a503, 4)]
        {
            let instruction = decode(word, extensions);
            let touch = touch(&record(instruction)).unwrap();
            assert_eq!((touch.bytes, touch.found), (bytes, 0x0044_3322), "{instruction:?}");
            assert!(!touch.meets(0x1000_4401 + u64::from(bytes), 4), "{instruction:?}");
        }
    }
}
