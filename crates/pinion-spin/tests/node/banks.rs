//! Banks of L1: what cores that meet at a bank again and again lose, and that more banks do not
//! always help.

use crate::harness::{FIRST_HANDLER, finish, frame, machine, nic, put};

const SP: u32 = 2;
const T0: u32 = 5;
const T1: u32 = 6;
const T2: u32 = 7;
const A0: u32 = 10;
const A5: u32 = 15;

fn immediate(op: u32, rd: u32, rs1: u32, value: i32) -> u32 {
    (value as u32 & 0xfff) << 20 | rs1 << 15 | rd << 7 | op
}

fn addi(rd: u32, rs1: u32, value: i32) -> u32 {
    immediate(0x13, rd, rs1, value)
}

fn lw(rd: u32, rs1: u32, offset: i32) -> u32 {
    immediate(0x2003, rd, rs1, offset)
}

fn sw(rs2: u32, rs1: u32, offset: u32) -> u32 {
    (offset >> 5) << 25 | rs2 << 20 | rs1 << 15 | 0x2023 | (offset & 31) << 7
}

fn bnez(rs1: u32, back: u32) -> u32 {
    let offset = (back as i32 * -4) as u32;
    (offset >> 12 & 1) << 31
        | (offset >> 5 & 63) << 25
        | rs1 << 15
        | 0x1063
        | (offset >> 1 & 15) << 8
        | (offset >> 11 & 1) << 7
}

/// Adds one to each of 256 words of a core's own, `unroll` to a turn; core k's begin at
/// k * `stride` bytes, and core k begins 4 k `delay` cycles later.
fn adder(unroll: u32, stride: i32, delay: i32) -> Vec<u32> {
    let mut code = vec![
        lw(A5, A0, 16),                // the scratchpad
        immediate(0x5013, T0, SP, 10), // srli
        immediate(0x7013, T0, T0, 15), // andi: the core's number, as stacks are 1 KiB
        addi(T1, 0, stride),
        0x0200_0033 | T1 << 20 | T0 << 15 | T1 << 7, // mul t1, t0, t1
        0x33 | T1 << 20 | A5 << 15 | A5 << 7,        // add a5, a5, t1
        addi(T1, 0, delay),
        0x0200_0033 | T1 << 20 | T0 << 15 | T1 << 7,
        addi(T1, T1, 1),
        addi(T1, T1, -1),
        bnez(T1, 1),
        addi(T0, 0, (256 / unroll) as i32),
    ];
    for word in 0..unroll {
        code.extend([lw(T2, A5, 4 * word as i32), addi(T2, T2, 1), sw(T2, A5, 4 * word)]);
    }
    let body = 3 * unroll + 2;
    code.extend([addi(A5, A5, 4 * unroll as i32), addi(T0, T0, -1), bnez(T0, body)]);
    code.push(0x8067);
    code
}

/// Gives the cycles of a run in which so many HPUs of one cluster run the code.
fn cycles(banks: u32, hpus: u32, code: &[u32]) -> u64 {
    let overrides = ["cluster.count=1", &format!("l1.banks={banks}")];
    let mut nic = nic(machine(&overrides), "empty", ["", "ph", ""]);
    put(&mut nic, FIRST_HANDLER, code);
    let frames = (0..hpus).map(|message| frame(0, message, true, vec![0; 64])).collect();
    let heard = finish(&mut nic, frames);
    assert_eq!(heard.faults, []);
    nic.totals().cycles
}

/// Cores in step meet at the same bank in every turn: the arbiter serves all alike, so none gets
/// away. Begun a few cycles apart, or each at another bank, they do not meet at all.
#[test]
fn cores_in_step_meet_again_and_again() {
    let alone = cycles(64, 1, &adder(1, 1024, 0));
    for banks in [16, 64] {
        let [in_step, apart, elsewhere] = [(1024, 0), (1024, 1), (4, 0)]
            .map(|(stride, delay)| cycles(banks, 8, &adder(1, stride, delay)));
        assert!(in_step > alone + alone / 5, "{banks} banks: {in_step}, alone {alone}");
        assert!(apart < alone + alone / 50, "{banks} banks: {apart}, alone {alone}");
        assert!(elsewhere < alone + alone / 50, "{banks} banks: {elsewhere}, alone {alone}");
    }
}

/// Which of the cores that meet goes first is what the bank's counter says, and whether they stay in
/// step hangs on that and on how they came out of the cold code: five that share its refills are slower
/// with 64 banks than with 16, four as fast. Cores that come apart take as long with both.
#[test]
fn more_banks_may_be_slower() {
    let both = |hpus: u32, delay: i32| {
        let code = adder(2, 1024, delay);
        (cycles(16, hpus, &code), cycles(64, hpus, &code))
    };
    let (few, many) = both(5, 0);
    assert!(many > few + few / 50, "{few} {many}");
    for (hpus, delay) in [(4, 0), (5, 2), (8, 2)] {
        let (few, many) = both(hpus, delay);
        assert_eq!(few, many, "{hpus} cores, {delay} cycles apart");
    }
}

/// Where 16 banks put words together that 64 keep apart, 64 are faster, as long as cores stay in step.
#[test]
fn more_banks_keep_packets_apart() {
    for unroll in [1, 2] {
        let code = adder(unroll, 64, 0);
        let (few, many) = (cycles(16, 8, &code), cycles(64, 8, &code));
        assert!(few > many + many / 20, "{unroll}: {few} {many}");
    }
}
