//! Translated code in a whole NIC, against the interpreter: the same counts, and the same still after
//! the program has changed under it.

use pinion_sim::Time;
use pinion_spin::listener::{Deaf, Event, Interest, Listener, Spin};
use pinion_spin::{EngineCore, Frame, Hears, Nic, Offer, Outcome};

use crate::harness;
use crate::harness::{frame, image, machine, put};

const PACKETS: u64 = 4000;
/// When all of those are done, and others come.
const LATER_NS: u64 = 1_000_000;
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

fn nic(program: &str, handler: &str, engine_core: EngineCore) -> Nic {
    let mut nic = harness::nic(machine(&[]), program, ["", handler, ""]);
    nic.set_engine_core(engine_core);
    nic
}

/// Makes so many packets in eight messages that arrive at a time.
fn frames(packets: u64, arrival_ns: u64) -> impl Iterator<Item = Frame> {
    (0..packets).map(move |index| {
        let bytes = (0..512u64).map(|at| (at * 7 + index) as u8).collect();
        frame(arrival_ns, (index % 8) as u32, index + 8 >= packets, bytes)
    })
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
fn looping(turns: u32) -> Vec<u32> {
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
    code
}

#[test]
fn counts_are_the_same_and_a_changed_program_is_executed() {
    let handler = image("alu").require("ph1000").unwrap().address as u32;
    let both = |engine_core| {
        let mut nic = nic("alu", "ph1000", engine_core);
        put(&mut nic, handler, &looping(500));
        let mut sent = frames(PACKETS, 0).chain(frames(64, LATER_NS));
        let first = run(&mut nic, Time::from_ns(LATER_NS), &mut sent, &mut Deaf);
        let blocks = nic.translated_blocks();
        // Its code is another now, as that of a new image on a live NIC.
        put(&mut nic, handler, &looping(100));
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
            let mut nic = nic("words", handler, engine_core);
            let counts = run(&mut nic, Time::MAX, &mut frames(PACKETS, 0), &mut Deaf);
            (counts, nic.translated_blocks())
        };
        let [(expected, none), (got, blocks)] = ENGINES.map(one);
        assert_eq!(got, expected, "{handler}");
        assert_eq!(none, 0, "{handler}");
        assert!(!pinion_translate::AVAILABLE || blocks > 0, "{handler}: accesses begin blocks");
    }
}

#[test]
fn who_hears_of_every_instruction_has_none_translated() {
    let mut nic = nic("alu", "ph1000", EngineCore::Translated);
    let mut attentive = Attentive(0);
    run(&mut nic, Time::MAX, &mut frames(PACKETS, 0), &mut attentive);
    assert_eq!(attentive.0, nic.totals().instructions);
    assert_eq!(nic.translated_blocks(), 0);
}
