//! Translated code in a whole NIC, against the interpreter: the same counts, and the same still after
//! the program has changed under it.

use std::path::PathBuf;

use pinion_isa::elf::Image;
use pinion_sim::{Time, config};
use pinion_spin::listener::{Deaf, Event, Interest, Listener, Spin};
use pinion_spin::matching::{Limits, MatchingEngine};
use pinion_spin::{
    Classification, ContextId, EngineCore, ExecutionContext, Frame, Handler, Hears, Machine, Nic,
    Offer, Outcome,
};

const PACKETS: u64 = 4000;
/// When all of those are done, and others come.
const LATER: Time = Time::from_ns(1_000_000);
const ENGINES: [EngineCore; 2] = [EngineCore::Interpreter, EngineCore::Translated];

/// Counts the instructions it hears of: every one.
struct Attentive(u64);

impl Hears<Spin> for Attentive {
    fn interest(&self) -> Interest {
        Interest { instructions: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        self.0 += u64::from(matches!(event, Event::Instruction(_)));
    }
}

fn nic(program: &str, handler: &str, engine_core: EngineCore) -> (Nic, Handler) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let machine: Machine = config::load_file(&root.join("machines/pspin.toml"), &[]).unwrap().value;
    let elf = root.join(format!("tests/calibration/pspin/elf/{program}.elf"));
    let image = Image::read(&elf).unwrap();
    let symbol = image.require(handler).unwrap();
    let handler = Handler {
        name: handler.to_owned(),
        address: symbol.address as u32,
        bytes: symbol.size as u32,
    };
    let context = ExecutionContext {
        payload_handler: Some(handler.clone()),
        handler_memory_address: 0x1c30_0000,
        handler_memory_bytes: 64 << 10,
        host_memory_address: 1 << 60,
        host_memory_bytes: 256 << 20,
        scratchpad_bytes: 16 << 10,
        ..ExecutionContext::default()
    };
    let engine = MatchingEngine::new(Vec::new(), Limits::default()).unwrap();
    let mut nic = Nic::new(machine, &image, vec![context], engine).unwrap();
    nic.set_engine_core(engine_core);
    (nic, handler)
}

/// Makes so many packets in eight messages that arrive at a time.
fn frames(packets: u64, arrival: Time) -> Vec<Frame> {
    let frame = |index: u64| Frame {
        arrival,
        bytes: (0..512u64).map(|at| (at * 7 + index) as u8).collect(),
        skip: 0,
        classification: Some(Classification {
            context: ContextId(0),
            message: (index % 8) as u32,
            end_of_message: index + 8 >= packets,
            l1_bytes: 512,
        }),
        tag: 0,
    };
    (0..packets).map(frame).collect()
}

/// Lets a NIC go on until a time; gives what was counted.
fn run(
    nic: &mut Nic,
    until: Time,
    frames: &mut impl Iterator<Item = Frame>,
    listener: &mut dyn Listener,
) -> String {
    let mut next = || frames.next().map_or(Offer::End, Offer::Frame);
    let outcome = nic.run(until, &mut next, listener);
    assert_eq!(outcome == Outcome::Finished, until == Time::MAX, "{outcome:?}");
    assert_eq!(nic.totals().faults, 0);
    format!("{:?}", nic.totals())
}

/// Assembles a handler that goes through a loop so many times, which computes in registers.
fn looping(turns: u32) -> Vec<u8> {
    let addi = |rd: u32, rs1: u32, imm: u32| imm << 20 | rs1 << 15 | rd << 7 | 0x13;
    let of_two = |funct3: u32, rd: u32, rs1: u32, rs2: u32| {
        rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33
    };
    let [a0, a1, a2, a5] = [10, 11, 12, 15];
    let mut code = vec![
        addi(a5, 0, turns),
        addi(a0, a0, 1),
        of_two(4, a1, a1, a0),  // xor a1, a1, a0
        of_two(0, a2, a2, a1),  // add a2, a2, a1
        addi(a5, a5, 0xfff),    // addi a5, a5, -1
        0xfe00_18e3 | a5 << 15, // bnez a5, 16 bytes back
    ];
    // The line behind the loop is one that cores come to, lest they ask for it in each turn.
    code.extend([addi(a0, a0, 1); 16]);
    code.push(0x0000_8067); // ret
    code.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn counts_are_the_same_and_a_changed_program_is_executed() {
    let both = |engine_core| {
        let (mut nic, handler) = nic("alu", "ph1000", engine_core);
        assert!(nic.write_memory(handler.address, &looping(500)));
        let mut sent = frames(PACKETS, Time::ZERO).into_iter().chain(frames(64, LATER));
        let first = run(&mut nic, LATER, &mut sent, &mut Deaf);
        let blocks = nic.translated_blocks();
        // Its code is another now, as that of a new image on a live NIC.
        assert!(nic.write_memory(handler.address, &looping(100)));
        let left = nic.translated_blocks();
        let second = run(&mut nic, Time::MAX, &mut sent, &mut Deaf);
        ([first, second], [blocks, left])
    };
    let [(expected, none), (got, [blocks, left])] = ENGINES.map(both);
    assert_eq!(got, expected);
    assert_eq!(none, [0, 0], "the interpreter translates nothing");
    assert!(!pinion_translate::AVAILABLE || blocks > 0 && left < blocks, "{blocks}, then {left}");
}

#[test]
fn counts_are_the_same_where_accesses_stand_between() {
    for handler in ["aggregate", "reduce"] {
        let one = |engine_core| {
            let (mut nic, _) = nic("words", handler, engine_core);
            let mut sent = frames(PACKETS, Time::ZERO).into_iter();
            run(&mut nic, Time::MAX, &mut sent, &mut Deaf)
        };
        let [expected, got] = ENGINES.map(one);
        assert_eq!(got, expected, "{handler}");
    }
}

#[test]
fn who_hears_of_every_instruction_has_none_translated() {
    let (mut nic, _) = nic("alu", "ph1000", EngineCore::Translated);
    let mut attentive = Attentive(0);
    run(&mut nic, Time::MAX, &mut frames(PACKETS, Time::ZERO).into_iter(), &mut attentive);
    assert_eq!(attentive.0, nic.totals().instructions);
    assert_eq!(nic.translated_blocks(), 0);
}
