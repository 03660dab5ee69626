//! Cores that run through lines which the cluster's cache has, the last of them without its successor.

use pinion_sim::Time;
use pinion_spin::{Frame, Handler, Nic, Offer, Outcome};

use crate::harness::{
    FIRST_HANDLER, Random, Recorder, build, context, image, machine, messages, put, run,
};
use crate::instructions::trace;

/// Where the loop begins, at a line's start.
const LOOP: u32 = FIRST_HANDLER + 0x1000;
/// Where what fills the cache begins.
const LONG: u32 = FIRST_HANDLER + 0x2000;
const LONG_INSTRUCTIONS: usize = 500;

const RETURN: u32 = 0x0000_8067;
const COUNT_UP: u32 = 0x0012_8293; // addi t0, t0, 1

/// Turns as many as a register says that the handler before has left behind; its last line is followed by one that nobody asks for.
const TURNS: [u32; 11] = [
    0x0000_0013, // nop
    0x0ff3_7513, // andi a0, t1, 255
    0x0285_0513, // addi a0, a0, 40
    0x0000_0013, // nop
    COUNT_UP,
    0x0053_4333, // xor t1, t1, t0
    0x0033_1393, // slli t2, t1, 3
    0x4073_0333, // sub t1, t1, t2
    0xfff5_0513, // addi a0, a0, -1
    0xfe05_16e3, // bnez a0, to the third line before
    RETURN,
];

/// Makes a NIC whose payload handlers turn in a loop, while header handlers fill their clusters' caches
/// with other lines.
fn make(overrides: &[&str]) -> Nic {
    let image = image("empty");
    let handler = |name: &str, address, instructions: usize| {
        let (name, bytes) = (name.to_owned(), 4 * instructions as u32);
        Some(Handler { name, address, bytes })
    };
    let mut context = context(&image, ["", "ph", ""]);
    context.header_handler = handler("long", LONG, LONG_INSTRUCTIONS + 1);
    context.payload_handler = handler("turns", LOOP, TURNS.len());
    let mut nic = build(machine(overrides), &image, vec![context]);
    put(&mut nic, LOOP, &TURNS);
    let mut long = [COUNT_UP; LONG_INSTRUCTIONS + 1];
    long[LONG_INSTRUCTIONS] = RETURN;
    put(&mut nic, LONG, &long);
    nic
}

const MACHINES: [&[&str]; 4] = [
    &[],
    &["core.model=ibex"],
    &["protection.watchdog_cycles=900"],
    &["cluster.count=1", "instruction_cache.bytes=1024"],
];

/// Traced instruction by instruction, and looked at in between, cores do the same in the same cycles.
#[test]
fn lines_are_entered_the_same_way_whoever_looks() {
    let mut random = Random::seeded("lines_are_entered_the_same_way_whoever_looks");
    for overrides in MACHINES {
        for gap_ns in [0, 400] {
            let frames = messages(&mut random, 30, 8, &[64], gap_ns);
            let (outcome, whole) = run(&mut make(overrides), frames.clone());
            assert_eq!(outcome, Outcome::Finished, "{overrides:?}");
            let traced = trace(&mut make(overrides), &frames).heard;
            let differs = whole.log.iter().zip(&traced.log).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{overrides:?} {gap_ns}");
            assert!(whole.units == traced.units, "{overrides:?} {gap_ns}: fine traces differ");
            let faults = whole.faults.len();
            assert_eq!(faults > 0, overrides.len() == 1 && overrides[0].contains("watchdog"));
            let pieces = in_pieces(&mut make(overrides), &mut random, frames);
            assert!(whole.log == pieces.log, "{overrides:?} {gap_ns}: in pieces");
        }
    }
}

/// Runs in pieces, between which the cores' state is looked at.
fn in_pieces(nic: &mut Nic, random: &mut Random, frames: Vec<Frame>) -> Recorder {
    let (mut heard, mut until, mut last) = (Recorder::default(), Time::ZERO, 0);
    let mut frames = frames.into_iter();
    let mut next = || frames.next().map_or(Offer::End, Offer::Frame);
    loop {
        until = until + Time::from_ns(random.below(300));
        let outcome = nic.run(until, &mut next, &mut heard);
        let instructions = nic.totals().instructions;
        assert!(instructions >= last, "instructions are lost");
        last = instructions;
        match outcome {
            Outcome::Finished => return heard,
            Outcome::TimeReached => {}
            other => panic!("at {until}: {other:?}"),
        }
    }
}
