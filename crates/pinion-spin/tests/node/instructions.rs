//! The trace of instructions: complete, at exact cycles, and without influence on what it traces.

use std::collections::BTreeMap;

use pinion_isa::Class;
use pinion_sim::Time;
use pinion_spin::{Event, Frame, Hears, InstructionRecord, Interest, Nic, Offer, Outcome, Spin};

use crate::harness::{FIRST_HANDLER, Random, Recorder, finish, frame, machine, messages, nic};

const PROGRAMS: [(&str, [&str; 3]); 4] = [
    ("words", ["aggregate", "reduce", "to_host_done"]),
    ("move", ["", "pingpong_l1", "to_host_wait"]),
    ("table", ["", "lock", ""]),
    ("memory", ["", "amo_same", "remote_l1"]),
];

/// Hears instructions beside all else.
#[derive(Default)]
pub struct Tracer {
    pub heard: Recorder,
    executed: Vec<InstructionRecord>,
}

impl Hears<Spin> for Tracer {
    fn interest(&self) -> Interest {
        Interest { instructions: true, ..self.heard.interest() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Instruction(record) => self.executed.push(**record),
            other => self.heard.hear(other),
        }
    }
}

pub fn trace(nic: &mut Nic, frames: &[Frame]) -> Tracer {
    let mut tracer = Tracer::default();
    let mut frames = frames.iter().cloned();
    let mut next = || frames.next().map_or(Offer::End, Offer::Frame);
    assert_eq!(nic.run(Time::MAX, &mut next, &mut tracer), Outcome::Finished);
    tracer
}

#[test]
fn every_instruction_is_told_once_and_nothing_changes() {
    let mut random = Random::seeded("every_instruction_is_told_once_and_nothing_changes");
    let models = ["core.model=ri5cy", "core.model=ibex", "core.xpulp=true"];
    for (program, model) in PROGRAMS.into_iter().flat_map(|program| models.map(|m| (program, m))) {
        let frames = messages(&mut random, 12, 6, &[64, 256, 1000], 10);
        let make = || nic(machine(&[model]), program.0, program.1);
        let untraced = finish(&mut make(), frames.clone());
        let mut traced_nic = make();
        let traced = trace(&mut traced_nic, &frames);
        for (kind, told) in by_kind(&untraced.log) {
            let log = by_kind(&traced.heard.log);
            assert_eq!(log.get(kind), Some(&told), "{program:?}: tracing changes {kind}");
        }
        assert_eq!(untraced.log.len(), traced.heard.log.len(), "{program:?}: tracing adds events");
        assert_eq!(traced.executed.len() as u64, traced_nic.totals().instructions, "{program:?}");
        check_handlers(&traced);
        check_cores(&traced);
    }
}

/// Parts what was told by its kind: what two units that have nothing to do with each other do in one cycle is told
/// in an order that means nothing, and that tracing may change.
fn by_kind(log: &[String]) -> BTreeMap<&str, Vec<&String>> {
    let mut kinds = BTreeMap::<&str, Vec<&String>>::new();
    for event in log {
        kinds.entry(event.split(['(', ' ']).next().unwrap()).or_default().push(event);
    }
    kinds
}

/// A handler has as many instructions as its record says, between its record's start and end.
fn check_handlers(traced: &Tracer) {
    for handler in &traced.heard.handlers {
        let own: Vec<&InstructionRecord> = traced
            .executed
            .iter()
            .filter(|one| {
                one.task
                    .is_some_and(|task| (task.packet, task.kind) == (handler.packet, handler.kind))
            })
            .collect();
        assert_eq!(own.len() as u64, handler.instructions, "{handler:?}");
        let first = own.first().expect("the load of the handler's address");
        assert_eq!((first.time, first.address), (handler.start, Some(0x1b20_5000)), "{handler:?}");
        assert!(own.iter().all(|one| (handler.start..=handler.end).contains(&one.time)));
        let doorbell = traced.executed.iter().find(|one| {
            one.address == Some(0x1b20_5050)
                && (one.cluster, one.hpu, one.time) == (handler.cluster, handler.hpu, handler.end)
        });
        assert!(doorbell.is_some(), "{handler:?}");
    }
}

/// Each core executes one instruction at a time, and what one writes the next ones read.
fn check_cores(traced: &Tracer) {
    type Core = (u64, [Option<u32>; 32]);
    let mut cores: BTreeMap<(u32, u32), Core> = BTreeMap::new();
    for one in &traced.executed {
        let (cycle, registers) = cores.entry((one.cluster, one.hpu)).or_insert((0, [None; 32]));
        assert!(one.cycle > *cycle || *cycle == 0, "{one:?} after cycle {cycle}");
        *cycle = one.cycle;
        for (register, value) in one.instruction.sources().iter().zip(one.sources) {
            let known = registers[usize::from(*register & 31)];
            assert!(*register == 0 || known.is_none_or(|known| known == value), "{one:?}");
        }
        if one.instruction.rd != 0 {
            registers[usize::from(one.instruction.rd & 31)] = Some(one.result);
        }
        assert_eq!(one.address.is_some(), one.instruction.is_memory(), "{one:?}");
        assert!(one.instruction.class != Class::Illegal && one.trap.is_none());
        assert_ne!(one.word, 0);
    }
}

/// An exception is told with its cause, at the instruction that the fault names.
#[test]
fn a_trap_is_told() {
    let mut nic = nic(machine(&[]), "empty", ["", "ph", ""]);
    assert!(nic.write_memory(FIRST_HANDLER, &[0xff; 4])); // no instruction
    let traced = trace(&mut nic, &[frame(0, 0, true, vec![0; 64])]);
    let trapped = traced.executed.iter().filter_map(|one| Some((one.pc, one.trap?)));
    assert_eq!(trapped.collect::<Vec<_>>(), [(FIRST_HANDLER, 2)]);
    assert_eq!(traced.heard.faults[0].pc, FIRST_HANDLER);
}

/// A load that moves its base register writes two registers, and both are told.
#[test]
fn a_moved_base_register_is_told() {
    let mut nic = nic(machine(&["core.xpulp=true"]), "empty", ["", "ph", ""]);
    let load: u32 = 4 << 20 | 10 << 15 | 2 << 12 | 15 << 7 | 0x0b; // p.lw a5,4(a0!)
    let code = [load.to_le_bytes(), 0x0000_8067u32.to_le_bytes()]; // ret
    assert!(nic.write_memory(FIRST_HANDLER, code.as_flattened()));
    let traced = trace(&mut nic, &[frame(0, 0, true, vec![0; 64])]);
    let told = traced.executed.iter().find(|one| one.pc == FIRST_HANDLER).expect("it was executed");
    assert_eq!(told.increment, Some(told.sources[0] + 4), "{told:?}");
    assert_eq!(told.address.map(|address| address & 0xf_ffff), Some(told.sources[0] & 0xf_ffff));
    assert_eq!(told.result, 0x1c30_0000, "the first word of a task: handler memory");
    assert!(told.trap.is_none() && traced.heard.faults.is_empty());
}
