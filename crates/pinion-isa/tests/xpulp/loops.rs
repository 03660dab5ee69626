//! Programs with hardware loops: one, two nested, jumps out and in, zero and one iterations, what the
//! last instruction may be, and many random ones against plain loops.

use pinion_isa::csr::number;
use pinion_isa::flat::Stop;

use crate::random::Random;
use crate::{BASE, machine, seeded};

/// addi a0,a0,1; likewise a1 and a2
const COUNT: [u32; 3] = [0x0015_0513, 0x0015_8593, 0x0016_0613];
const NOP: u32 = 0x0000_0013;
const EBREAK: u32 = 0x0010_0073;

/// lp.setupi of a loop: `count` iterations of the `length` instructions behind it.
fn setupi(number: u32, count: u32, length: u32) -> u32 {
    count << 20 | (2 * length) << 15 | 5 << 12 | number << 7 | 0x7b
}

/// lp.setup of a loop whose count is in t0.
fn setup(number: u32, length: u32) -> u32 {
    (2 * length) << 20 | 5 << 15 | 4 << 12 | number << 7 | 0x7b
}

/// Runs a program to its end; gives a0, a1, a2 and the instructions retired.
fn run(code: &[u32], t0: u32) -> ([u32; 3], u64) {
    let mut program = code.to_vec();
    program.push(EBREAK);
    let mut machine = machine(&program);
    machine.hart.x[5] = t0;
    let stop = machine.run(100_000);
    assert!(matches!(stop, Stop::Trap(_)), "{stop:?}");
    assert_eq!(machine.hart.pc, BASE + 4 * code.len() as u32);
    (std::array::from_fn(|index| machine.hart.x[10 + index]), machine.hart.instret)
}

#[test]
fn runs_its_body_as_often_as_it_says() {
    for count in [0u32, 1, 2, 3, 100, 4095] {
        // None is like one: the end is only reached by running the body.
        let runs = count.max(1);
        assert_eq!(
            run(&[setupi(0, count, 2), COUNT[0], COUNT[1]], 0),
            ([runs, runs, 0], 1 + 2 * u64::from(runs))
        );
        assert_eq!(run(&[setup(1, 2), COUNT[0], COUNT[1]], count).0, [runs, runs, 0]);
    }
}

#[test]
fn a_loop_of_one_instruction_runs_too() {
    assert_eq!(run(&[setupi(0, 9, 1), COUNT[0]], 0), ([9, 0, 0], 10));
}

#[test]
fn nested_loops_multiply() {
    // Whichever is the inner one, and also where both end at the same instruction.
    for (inner, outer) in [(0, 1), (1, 0)] {
        let code = [setupi(outer, 5, 4), COUNT[0], setupi(inner, 7, 1), COUNT[1], COUNT[2]];
        assert_eq!(run(&code, 0).0, [5, 35, 5]);
    }
    let code = [setupi(1, 5, 4), COUNT[0], setupi(0, 7, 2), COUNT[1], COUNT[2]];
    assert_eq!(run(&code, 0).0, [5, 35, 35], "loop 0 goes first at a common end");
}

#[test]
fn each_register_can_be_set_alone() {
    let starti = |number: u32, half_words: u32| half_words << 20 | number << 7 | 0x7b;
    let code = [
        starti(0, 6),           // to the first COUNT
        starti(0, 6) | 1 << 12, // lp.endi: to the second
        0x0002_a07b,            // lp.count x0,t0
        COUNT[0],
        COUNT[1],
    ];
    assert_eq!(run(&code, 6).0, [6, 6, 0]);
    let counti = 3 << 12 | 11 << 20 | 0x7b;
    assert_eq!(run(&[code[0], code[1], counti, COUNT[0], COUNT[1]], 0).0, [11, 11, 0]);
}

#[test]
fn a_jump_leaves_the_loop() {
    // The fourth time round beq a0,t0 goes behind the loop.
    let beq = 0x0055_0663; // beq a0,t0,+12
    let code = [setupi(0, 100, 4), COUNT[0], beq, COUNT[1], COUNT[2]];
    assert_eq!(run(&code, 4).0, [4, 3, 3]);
}

#[test]
fn behind_the_end_is_not_the_end() {
    // Jumping to the instruction behind the last one does not loop, even with iterations left.
    let jump = 0x0080_006f; // j +8
    let code = [setupi(0, 100, 2), jump, COUNT[0], COUNT[1]];
    assert_eq!(run(&code, 0).0, [0, 1, 0]);
}

#[test]
fn jumping_in_again_goes_on() {
    // A loop left with iterations to go still counts when its end is reached again.
    let leave = 0x0055_0463; // beq a0,t0,+8: over the end
    let back = 0xfe56_0ce3; // beq a2,t0,-8: to the end
    let code = [setupi(0, 3, 3), COUNT[0], leave, COUNT[1], COUNT[2], back];
    assert_eq!(run(&code, 1).0, [3, 3, 2]);
}

#[test]
fn compressed_instructions_may_end_a_loop() {
    // c.addi a0,1; c.addi a1,1 in one word
    let pair = 0x0585_0505;
    let short = 5 << 20 | 3 << 15 | 5 << 12 | 0x7b; // lp.setupi x0,5, the second of the pair
    assert_eq!(run(&[short, pair], 0).0, [5, 5, 0]);
    let first = 5 << 20 | 2 << 15 | 5 << 12 | 0x7b; // the first of the pair
    assert_eq!(run(&[first, pair], 0).0, [5, 1, 0]);
}

#[test]
fn accesses_and_branches_may_end_a_loop() {
    let load = 0x0043_250b; // p.lw a0,4(t1!)
    let mut ends_with_load = machine(&[setupi(0, 8, 2), COUNT[1], load, EBREAK]);
    ends_with_load.hart.x[6] = 0x2000;
    ends_with_load.run(1000);
    assert_eq!((ends_with_load.hart.x[11], ends_with_load.hart.x[6]), (8, 0x2020));
    // bne a0,t0,+8 as the last one: taken, it leaves the loop; not taken, the loop goes on.
    let branch = 0x0055_1463;
    let code = [setupi(0, 8, 2), COUNT[0], branch, COUNT[1], COUNT[2]];
    assert_eq!(run(&code, 0).0, [1, 0, 1]);
    assert_eq!(run(&code, 1).0, [2, 0, 1]);
}

#[test]
fn the_registers_are_csrs() {
    let mut machine = machine(&[setupi(1, 10, 2), COUNT[0], COUNT[1], EBREAK]);
    machine.run(4);
    let read = |machine: &pinion_isa::flat::FlatMachine<u32>, csr| machine.hart.read_csr(csr);
    assert_eq!(read(&machine, number::LPSTART1), Some(BASE + 4));
    assert_eq!(read(&machine, number::LPEND1), Some(BASE + 8));
    assert_eq!(read(&machine, number::LPCOUNT1), Some(9));
    assert_eq!(read(&machine, 0x7c3), None);
    // Ended early by writing the count.
    machine.hart.write_csr(number::LPCOUNT1, 2);
    machine.run(1000);
    assert_eq!(machine.hart.x[10], 3);
    assert_eq!(read(&machine, number::LPCOUNT1), Some(1), "the last time round it stays");
}

/// A random program: straight code and loops, nested at most once, and what it counts.
struct Program {
    code: Vec<u32>,
    counts: [u32; 3],
}

impl Program {
    fn straight(&mut self, random: &mut Random, times: u32) -> u32 {
        let length = 1 + random.below(3);
        for _ in 0..length {
            let which = random.below(4) as usize;
            self.code.push(*COUNT.get(which).unwrap_or(&NOP));
            if which < 3 {
                self.counts[which] += times;
            }
        }
        length
    }

    fn nest(&mut self, random: &mut Random, number: u32, times: u32) -> u32 {
        let (count, at) = (random.below(6), self.code.len());
        let times = times * count.max(1);
        self.code.push(0);
        let mut length = self.straight(random, times);
        if number == 1 && random.one_in(2) {
            length += self.nest(random, 0, times);
        }
        length += self.straight(random, times);
        self.code[at] = setupi(number, count, length);
        length + 1
    }
}

#[test]
fn random_nests_count_as_plain_loops() {
    let mut random = seeded("random_nests_count_as_plain_loops");
    for _ in 0..3000 {
        let mut program = Program { code: Vec::new(), counts: [0; 3] };
        for _ in 0..1 + random.below(3) {
            program.straight(&mut random, 1);
            let number = random.below(2);
            program.nest(&mut random, number, 1);
        }
        assert_eq!(run(&program.code, 0).0, program.counts, "{:x?}", program.code);
    }
}
