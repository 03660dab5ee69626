//! Random hostile loops, which are executed often enough to be translated, against the interpreter: the same events in
//! the same picoseconds, the same memory. They change their own code while it runs, reach where they must not,
//! misaligned and across regions, clobber what the runtime counts on, and leave by traps in their midst.

use pinion_spin::{EngineCore, ExecutionContext, Frame, Handler, Nic};

use crate::harness::{Random, Recorder, build, context, finish, frame, machine, put};
use crate::hostile::{
    A0, HOSTILE_MEMORY, MEMORY_BYTES, RETURN, addi, address, attack, i_type, li, lw, program,
    s_type,
};

/// Rounds of every run of the tests; a campaign has more (`PINION_HOSTILE_LOOPS`).
const ROUNDS: u32 = 24;
/// Where loops lie in program memory, a page each.
const LOOPS: u32 = 0x1d00_1000;
const LOOP_BYTES: u32 = 0x400;
const LOOPS_PER_NIC: u32 = 4;
const PACKETS_PER_LOOP: u32 = 40;
/// Turns of a loop, if nothing ends it before.
const TURNS: u32 = 1000;
/// Registers: turns that are left, a word to write over code, the address of the own code, pointers.
const COUNTER: u32 = 31;
const WORD: u32 = 29;
const OWN: u32 = 22;
const POINTERS: [u32; 4] = [18, 19, 20, 21];
/// What loops compute in.
const FIRST_FREE: u64 = 11;

/// An operation on registers, or on one and a number.
fn compute(random: &mut Random) -> u32 {
    let mut free = || FIRST_FREE as u32 + random.below(7) as u32;
    let (rd, rs1, rs2) = (free(), free(), free());
    let kind = random.below(8) as u32;
    match random.below(4) {
        0 => i_type(0x13, kind & !1, rd, rs1, random.next() as u32),
        // Shifts.
        1 => i_type(0x13, kind | 1 & !2, rd, rs1, random.next() as u32 & 0x1f),
        2 => {
            random.pick(&[0, 1, 1, 0x20]) << 25
                | rs2 << 20
                | rs1 << 15
                | kind << 12
                | rd << 7
                | 0x33
        }
        _ => (random.next() as u32) & 0xffff_f000 | rd << 7 | random.pick(&[0x17, 0x37]),
    }
}

/// An instruction to write over another.
fn other(random: &mut Random) -> u32 {
    match random.below(6) {
        0 => RETURN,
        1 => random.next() as u32,
        2 => 0x0010_0073,
        // Two halves.
        3 => 0x0001_0001,
        _ => compute(random),
    }
}

/// A loop that lies at `at`.
fn looping(random: &mut Random, clusters: u32, at: u32) -> Vec<u32> {
    let mut code = Vec::new();
    for pointer in POINTERS {
        let place = match random.below(8) {
            0 => address(random, clusters),
            1 => HOSTILE_MEMORY + MEMORY_BYTES - random.below(16) as u32,
            _ => HOSTILE_MEMORY + random.below(u64::from(MEMORY_BYTES)) as u32 & !3,
        };
        code.extend(li(pointer, place));
    }
    code.extend(li(OWN, at + random.below(0x80) as u32 * 4));
    code.extend(li(WORD, other(random)));
    code.push(addi(COUNTER, 0, TURNS));
    let (top, length) = (code.len(), 3 + random.below(60) as usize);
    // Code is translated where accesses are far between.
    let far = random.pick(&[0, 80, 95, 98]);
    while code.len() < top + length {
        let base = random.pick(&POINTERS);
        let (free, small) = (FIRST_FREE as u32 + random.below(7) as u32, random.below(64) as u32);
        let aligned = if random.chance(90) { small & !3 } else { small };
        let kind = if random.chance(far) { 0 } else { random.below(24) };
        match kind {
            0..10 => code.push(compute(random)),
            10..13 => {
                code.push(i_type(0x03, random.pick(&[0, 1, 2, 2, 4, 5]), free, base, aligned))
            }
            13..16 => code.push(s_type(random.below(3) as u32, free, base, aligned)),
            // A branch over what follows, seldom taken or always.
            16 | 17 => {
                let over = random.pick(&[8, 12, 16]);
                let condition = random.pick(&[0, 1, 4, 5, 6, 7]);
                let low = (over >> 1 & 0xf) << 8;
                code.push(free << 20 | (free + 1) << 15 | condition << 12 | low | 0x63);
            }
            18 => code.push(s_type(random.pick(&[0, 1, 2, 2]), WORD, OWN, small)),
            19 => code.push(addi(base, base, random.pick(&[4, 64, 1, 0xffc]))),
            20 => code.push(i_type(0x73, 2, free, 0, random.pick(&[0xb00, 0xb02, 0xc00, 0xf14]))),
            21 => code.push(lw(free, A0, small & 0x1c)),
            22 => code.push(random.pick(&[0x0000_100f, 0x0ff0_000f, 0x0000_0013])),
            _ if random.chance(30) => attack(random, clusters, &mut code),
            _ => code.push(addi(WORD, WORD, 1 << 7)),
        }
    }
    code.push(addi(COUNTER, COUNTER, 0xfff));
    let back = (4 * (top as u32)).wrapping_sub(4 * code.len() as u32);
    let high = (back >> 12 & 1) << 31 | (back >> 5 & 0x3f) << 25;
    code.push(
        high | COUNTER << 15 | 1 << 12 | (back >> 1 & 0xf) << 8 | (back >> 11 & 1) << 7 | 0x63,
    );
    code.push(RETURN);
    assert!(code.len() as u32 * 4 <= LOOP_BYTES, "{} words", code.len());
    code
}

/// Goes to the loop that the packet's first word numbers.
fn stub() -> Vec<u32> {
    const A2: u32 = 12;
    const A4: u32 = 14;
    const A5: u32 = 15;
    let mut code = vec![lw(A4, A0, 0), lw(A2, A4, 8), lw(A5, A2, 0), i_type(0x13, 1, A5, A5, 10)];
    code.extend(li(A4, LOOPS));
    code.extend([A4 << 20 | A5 << 15 | A5 << 7 | 0x33, i_type(0x67, 0, 0, A5, 0)]);
    code
}

const STUB: u32 = 0x1d00_0900;

fn frames(random: &mut Random) -> Vec<Frame> {
    let packets = LOOPS_PER_NIC * PACKETS_PER_LOOP;
    let packet = |index: u32| {
        let mut bytes = random.bytes(64);
        bytes[..4].copy_from_slice(&(index % LOOPS_PER_NIC).to_le_bytes());
        frame(40 * u64::from(index), index, true, bytes)
    };
    (0..packets).map(packet).collect()
}

/// A NIC of a round, which is its seed's alone, and the packets for it.
fn begin(seed: u64, engine_core: EngineCore) -> (Nic, Vec<Frame>) {
    let mut random = Random::quiet(seed);
    let machine = machine(&[
        random.pick(&["cluster.count=1", "cluster.count=2"]),
        random.pick(&["cluster.cores=1", "cluster.cores=4", "cluster.cores=8"]),
    ]);
    let clusters = machine.cluster.count;
    let image = program();
    let hostile = ExecutionContext {
        payload_handler: Some(Handler { name: "hostile".to_owned(), address: STUB, bytes: 0x80 }),
        handler_memory_address: HOSTILE_MEMORY,
        handler_memory_bytes: MEMORY_BYTES,
        watchdog_cycles: Some(random.pick(&[3000, 200_000])),
        ..context(&image, ["", "", ""])
    };
    let mut nic = build(machine, &image, vec![hostile]);
    nic.set_engine_core(engine_core);
    put(&mut nic, STUB, &stub());
    for number in 0..LOOPS_PER_NIC {
        let at = LOOPS + number * LOOP_BYTES;
        put(&mut nic, at, &looping(&mut random, clusters, at));
    }
    let frames = frames(&mut random);
    (nic, frames)
}

/// What came of a round: what was heard, what was counted, and all memory.
fn outcome(seed: u64, engine_core: EngineCore) -> (Recorder, String, Vec<u8>, usize) {
    let (mut nic, frames) = begin(seed, engine_core);
    let heard = finish(&mut nic, frames);
    let mut memory = Vec::new();
    for (start, bytes) in
        [(0x1c00_0000, 0x50_0000), (0x1d00_0000, 0x8000), (0x1000_0000, 0x10_0000)]
    {
        let before = memory.len();
        memory.resize(before + bytes, 0);
        assert!(nic.read_memory(start, &mut memory[before..]), "{start:#x}");
    }
    (heard, format!("{:?}", nic.totals()), memory, nic.translated_blocks())
}

/// Runs a round both ways; gives how many pieces were translated, and whether code was changed.
fn compare(seed: u64) -> (usize, bool) {
    let (heard, totals, memory, none) = outcome(seed, EngineCore::Interpreter);
    let (other_heard, other_totals, other_memory, blocks) = outcome(seed, EngineCore::Translated);
    assert_eq!(none, 0);
    let differs = heard.log.iter().zip(&other_heard.log).position(|(one, other)| one != other);
    if let Some(at) = differs {
        panic!("interpreted: {}\ntranslated: {}", heard.log[at], other_heard.log[at]);
    }
    assert_eq!(totals, other_totals);
    let at = memory.iter().zip(&other_memory).position(|(one, other)| one != other);
    assert!(at.is_none(), "memory differs at offset {:#x}", at.unwrap());
    let (fresh, _) = begin(seed, EngineCore::Interpreter);
    let mut code = vec![0; 0x8000];
    assert!(fresh.read_memory(0x1d00_0000, &mut code));
    (blocks, code != memory[0x50_0000..][..0x8000])
}

#[test]
fn hostile_loops_are_the_same_translated() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let rounds = number("PINION_HOSTILE_LOOPS").unwrap_or(ROUNDS.into());
    let first = number("PINION_TEST_SEED").unwrap_or(0x5eed);
    let (mut translated, mut changed) = (0, 0);
    for seed in first..first + rounds {
        let round = std::panic::catch_unwind(|| compare(seed));
        let (blocks, is_changed) = round.unwrap_or_else(|problem| {
            println!(
                "replay: PINION_TEST_SEED={seed} PINION_HOSTILE_LOOPS=1 \
                 cargo test -p pinion-spin --test node hostile_loops"
            );
            std::panic::resume_unwind(problem)
        });
        translated += blocks;
        changed += u64::from(is_changed);
    }
    println!("{rounds} rounds: {translated} pieces translated, code changed in {changed}");
    assert!(
        rounds < 10 || translated > 0 || !pinion_translate::AVAILABLE,
        "nothing was translated"
    );
    assert!(rounds < 10 || changed > 0, "no loop changed its code");
}
