//! The lean loop against the reference: random programs, the same state wherever the core stops.

use pinion_sim::random::Xorshift64;

use super::*;

const PROGRAM_BYTES: u64 = 512;
const DATA: u64 = BASE + 0x4000;
const PROGRAMS: u64 = 150;
const SLICES: u64 = 60;
/// Goes on somewhere in the program that `mscratch` points to: csrr x7, mcycle; andi x7, x7, 0x1fc;
/// csrr x6, mscratch; add x7, x7, x6; csrw mepc, x7; mret.
const ELSEWHERE: [u32; 6] = [0xb000_23f3, 0x1fc3_f393, 0x3400_2373, 0x0063_83b3, 0x3413_9073, MRET];

/// Waits until the NIC is out of reset: csrr x5, lnicrdy; beqz x5, -4.
const START: [u32; 2] = [0x0570_22f3, 0xfe02_8ee3];

/// Waits until words come: csrr x5, lmsgsrdy; bnez x5, 12; csrwi lnicucmd, 2; j -12.
const WAIT: [u32; 4] = [0x0520_22f3, 0x0002_9663, 0x0561_5073, 0xff5f_f06f];
/// Words are there in some cycles of so many.
const WORDS: Cycle = 777;

/// A network whose interrupt line goes up every so many cycles, and that is in reset for a while.
struct Line {
    stub: Stub,
    every: Cycle,
    ready: Cycle,
    known: Cycle,
}

impl Network for Line {
    fn known_until(&self) -> Cycle {
        self.known
    }
    fn ready_at(&self) -> Cycle {
        self.ready
    }
    fn read_csr(&mut self, csr: u16, now: Cycle) -> Option<u64> {
        match csr {
            network::csr::NIC_READY => Some(u64::from(now >= self.ready)),
            network::csr::MESSAGES_READY => Some(u64::from(now % WORDS < WORDS / 8)),
            _ => self.stub.read_csr(csr, now),
        }
    }
    fn write_csr(&mut self, csr: u16, value: u64, now: Cycle) -> bool {
        self.stub.write_csr(csr, value, now)
    }
    fn poll_again(&mut self, idle: Option<Cycle>, now: Cycle) -> Option<u64> {
        if self.known <= now {
            return None;
        }
        self.stub.idle.extend(idle);
        self.read_csr(network::csr::MESSAGES_READY, now)
    }
    fn pop(&mut self, now: Cycle) -> Option<u64> {
        Some(now)
    }
    fn send(&mut self, word: u64, now: Cycle) {
        self.stub.send(word ^ now, now);
    }
    fn room(&mut self, _: Cycle) -> bool {
        true
    }
    fn pulse(&mut self, from: Cycle, to: Cycle) -> Option<Cycle> {
        Some(from.next_multiple_of(self.every)).filter(|&at| at <= to)
    }
    fn hears_retired(&self) -> bool {
        !self.stub.deaf
    }
    fn trapped(&mut self, _: Cycle) {}
}

/// Makes an instruction: mostly of those that a loop is made of.
fn instruction(random: &mut Xorshift64) -> u32 {
    let mut draw = |most: u64| (random.draw() >> 7) as u32 % most as u32;
    let (rd, rs1, rs2) = (10 + draw(6), 10 + draw(6), 10 + draw(6));
    let registers = rd << 7 | rs1 << 15 | rs2 << 20;
    let base = if draw(12) == 0 { 9 } else { 8 }; // x9: the program itself
    let offset = draw(64);
    match draw(16) {
        0..=3 => 0x33 | registers | [0, 1, 2, 4, 6, 7][draw(6) as usize] << 12,
        4 => 0x13 | rd << 7 | rs1 << 15 | draw(4096) << 20,
        5 => 0x1b | rd << 7 | rs1 << 15 | draw(4096) << 20,
        6 => 0x0200_0033 | registers | draw(8) << 12,
        7..=8 => 0x03 | rd << 7 | base << 15 | draw(7) << 12 | offset << 20,
        9..=10 => {
            let offset = offset & !7;
            0x23 | base << 15 | rs2 << 20 | draw(4) << 12 | (offset & 31) << 7 | offset >> 5 << 25
        }
        11..=12 => {
            let back = draw(4) == 0;
            let far = if back { 0xfe00_0080 | (16 + draw(8)) << 8 } else { (2 + draw(14)) << 8 };
            0x63 | rs1 << 15 | rs2 << 20 | [0, 1, 4, 5, 6, 7][draw(6) as usize] << 12 | far & !0x100
        }
        13 => 0x202f | rd << 7 | 8 << 15 | rs2 << 20 | [0, 1, 2, 3, 4][draw(5) as usize] << 27,
        14 => [
            0x6f | (4 + 2 * draw(20)) << 21,
            0xef | (8 + draw(20)) << 21,
            0x8067,      // ret
            0x000f_0f93, // x31 from x30
            0xb000_2073 | rd << 7,
            0x0ff0_000f,           // fence
            0x0520_2073 | rd << 7, // csrr rd, lmsgsrdy
            0x0561_5073,           // csrwi lnicucmd, 2: idle
        ][draw(8) as usize],
        _ => draw(1 << 16) << 16 | draw(1 << 16),
    }
}

/// Says what a run of a program in slices looks like at the end of each.
fn slices(program: &[u8], seed: u64, deaf: bool) -> (Vec<String>, u64, [u64; 2]) {
    let mut random = Xorshift64::new(seed);
    let section = core_section();
    let cache = CacheSection { sets: 8, ways: 2, miss_cycles: 17 };
    let shape = CoreShape { core: &section, instruction_cache: &cache, data_cache: &cache };
    let mut core = Core::new(0, shape);
    let mut memory = Flat::new(BASE, 1 << 16);
    memory.write_bytes(BASE, program);
    let handler: Vec<u8> = ELSEWHERE.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write_bytes(BASE + 0x1000, &handler);
    core.hart.csr.mtvec = BASE + 0x1000;
    core.hart.csr.mscratch = BASE;
    core.hart.x[1] = BASE + 0x40;
    (core.hart.x[8], core.hart.x[9]) =
        (DATA + random.draw() % 512, BASE + 4 * (random.draw() % 64));
    for register in 10..16 {
        core.hart.x[register] = random.draw() >> (random.draw() % 64);
    }
    if random.draw().is_multiple_of(2) {
        core.hart.csr.mie = interrupts::NETWORK;
        core.hart.csr.mstatus |= pinion_isa::csr::mstatus::MIE;
    }
    let mut code = Code::new(BASE, 1 << 13, core.hart.extensions());
    let every = 200 + random.draw() % 500;
    let ready = 300 + random.draw() % 3000;
    let mut line = Line { stub: Stub { deaf, ..Stub::default() }, every, ready, known: 0 };
    let (mut seen, mut end, mut left_out) = (Vec::new(), 0, [0; 2]);
    for _ in 0..SLICES {
        end += 1 + random.draw() % (1 << (random.draw() % 11));
        line.known = end + random.draw() % 8;
        core.run(end, &mut code, &mut memory, &mut line);
        if let Activity::Waiting { .. } = core.activity {
            core.wake_from_wfi(end, &memory, &mut line);
        }
        core.wake_from_poll(end);
        left_out[0] += std::mem::take(&mut core.turns.left_out);
        left_out[1] += core.poll_turns.take_repeated();
        let mix = |sum: u64, word: usize| sum.rotate_left(5).wrapping_add(memory.read(8 * word));
        let (bytes, sent) = ((0..0xc00).fold(0, mix), std::mem::take(&mut line.stub.sent));
        let idle = std::mem::take(&mut line.stub.idle);
        seen.push(format!("{} {sent:?} {idle:?} {bytes:x}", state(&mut core)));
    }
    (seen, core.hart.instret, left_out)
}

#[test]
fn agrees_with_the_reference() {
    let seed = std::env::var("PINION_TEST_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    println!("replay: PINION_TEST_SEED={seed} cargo test -p pinion-cores rocket::tests::lean");
    let mut random = Xorshift64::new(seed);
    let (mut retired, mut left_out, mut polled) = (0, 0, 0);
    for number in 0..PROGRAMS {
        let words = (0..PROGRAM_BYTES / 4).map(|_| instruction(&mut random));
        let words = START.into_iter().chain(WAIT).chain(words);
        let mut program: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        if number % 2 == 0 {
            // Half a word on: instructions lie in two words, and some begin within others.
            program.splice(0..0, [1, 0]);
        }
        let seed = random.draw();
        let [(reference, count, _), (lean, _, turns)] =
            [false, true].map(|deaf| slices(&program, seed, deaf));
        (retired, left_out, polled) = (retired + count, left_out + turns[0], polled + turns[1]);
        for (slice, (reference, lean)) in reference.iter().zip(&lean).enumerate() {
            assert_eq!(reference, lean, "program {number}, slice {slice}");
        }
    }
    println!("{retired} instructions, {left_out} turns were left out, {polled} polled again");
    assert!(retired > 200_000 && left_out > 10_000 && polled > 1_000, "too little was tried");
}

/// Assembles a loop that polls, `nops` instructions from where the core starts, and comes back to it behind what
/// branches otherwise from time to time.
fn polling(polls: &[u32], nops: usize) -> Vec<u8> {
    let mut code = vec![0x13; nops];
    code.extend(polls);
    // addi x10, x10, 1; andi x11, x10, 3; beqz x11, 8; addi x12, x12, 1
    code.extend([0x0015_0513, 0x0035_7593, 0x0005_8463, 0x0016_0613]);
    let far = ((code.len() - nops) as u32 * 4).wrapping_neg();
    let jump = (far >> 20 & 1) << 31 | (far >> 1 & 0x3ff) << 21;
    code.push(0x6f | jump | (far >> 11 & 1) << 20 | (far >> 12 & 0xff) << 12);
    code.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn loops_that_poll_are_as_in_the_reference() {
    let loops: [&[u32]; 4] = [
        &WAIT,
        &[WAIT[0], 0xfe02_8ee3],              // csrr; beqz x5, -4
        &[WAIT[2], WAIT[0], 0xfe02_8ce3],     // csrwi; csrr; beqz x5, -8
        &[WAIT[0], 0x0002_9463, 0xff9f_f06f], // csrr; bnez x5, 8; j -8
    ];
    for (number, polls) in loops.into_iter().enumerate() {
        let mut polled = 0;
        for nops in 0..24 {
            let mut program = polling(polls, nops);
            if nops % 3 == 0 {
                program.splice(0..0, [1, 0]);
            }
            for seed in 1..=4 {
                let [(reference, _, _), (lean, _, turns)] =
                    [false, true].map(|deaf| slices(&program, seed, deaf));
                let differs = reference.iter().zip(&lean).position(|(one, other)| one != other);
                assert_eq!(differs, None, "loop {number} behind {nops}, seed {seed}: in a slice");
                polled += turns[1];
            }
        }
        println!("loop {number}: {polled} polled again");
        assert!(polled > 500, "loop {number}: {polled} polled again");
    }
}

/// Assembles a loop whose first instruction is another each time that it is gone through; `near`: the word that was
/// written is the next one that is executed.
fn rewriting(inner: u32, near: bool, fence: u32) -> Vec<u8> {
    let back = |words: usize| {
        let far = (words as u32 * 4).wrapping_neg();
        (far >> 12 & 1) << 31
            | (far >> 5 & 0x3f) << 25
            | (far >> 1 & 0xf) << 8
            | (far >> 11 & 1) << 7
    };
    // auipc x5; addi x5, x5, …; x6: addi x10, x10, 1; x7: addi x10, x10, 16; x15: forever
    let mut code =
        vec![0x0000_0297, 0, 0x0015_0337, 0x5133_0313, 0x0105_03b7, 0x5133_8393, 0x7ff0_0793];
    let outer = code.len();
    code.push(inner << 20 | 0x713); // li x14, inner
    let write = [0x0072_a023, fence]; // sw x7, 0(x5)
    code.extend(write.iter().filter(|_| near));
    let written = code.len();
    code[1] = (written as u32 * 4) << 20 | 0x0002_8293;
    code.push(0x0015_0513);
    code.extend([0x00a5_c5b3, 0x00b6_0633].repeat(6)); // xor x11, x11, x10; add x12, x12, x11
    code.push(0xfff7_0713);
    code.push(0x0007_1063 | back(code.len() - written)); // bnez x14
    code.extend(write.iter().filter(|_| !near));
    code.extend([0x0003_0e13, 0x0003_8313, 0x000e_0393]); // x6 and x7 change places
    code.push(0x0007_9063 | back(code.len() - outer)); // bnez x15
    code.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn a_rewritten_loop_is_as_in_the_reference() {
    const NOP: u32 = 0x13;
    const FENCE_I: u32 = 0x100f;
    let mut retired = 0;
    for (inner, near) in [(1, true), (1, false), (5, true), (40, false)] {
        for fence in [NOP, FENCE_I] {
            let program = rewriting(inner, near, fence);
            for seed in 1..=8 {
                let [(reference, count, _), (lean, _, _)] =
                    [false, true].map(|deaf| slices(&program, seed, deaf));
                assert_eq!(reference, lean, "{inner} turns, near: {near}, {fence:#x}, {seed}");
                retired += count;
            }
        }
    }
    assert!(retired > 100_000, "only {retired} instructions");
}
