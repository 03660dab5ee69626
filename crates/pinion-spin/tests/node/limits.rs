//! What the published hardware cannot do: atomics outside the own cluster's L1 answer 1, and a
//! cluster's DMA engine reaches its own L1 and L2 alone. The default machine can.

use pinion_spin::{Machine, Nic};

use crate::harness::{
    FIRST_HANDLER, faithful, finish, frame, machine, memory, nic, put, scratchpad, words,
};

const HANDLER_MEMORY: u32 = 0x1c30_0000;
const DMA: u32 = 0x1b20_4400;
const RETURN: u32 = 0x0000_8067;
/// Where handlers leave what they got: in cluster 0's scratchpad.
const RESULT: u32 = 0x1001_4500;

/// Registers as instructions name them.
const T0: u32 = 5;
const T1: u32 = 6;
const T2: u32 = 7;

fn load_immediate(register: u32, value: u32) -> [u32; 2] {
    let low = value & 0xfff;
    let high = value.wrapping_add(0x800) & 0xffff_f000;
    [high | register << 7 | 0x37, low << 20 | register << 15 | register << 7 | 0x13]
}

fn store(register: u32, base: u32, offset: u32) -> u32 {
    offset >> 5 << 25 | register << 20 | base << 15 | 2 << 12 | (offset & 31) << 7 | 0x23
}

fn load(register: u32, base: u32, offset: u32) -> u32 {
    offset << 20 | base << 15 | 2 << 12 | register << 7 | 0x03
}

fn amo_add(register: u32, value: u32, base: u32) -> u32 {
    value << 20 | base << 15 | 2 << 12 | register << 7 | 0x2f
}

/// Runs two packets one after the other, in cluster 0, through a handler.
fn run(machine: Machine, prepare: impl Fn(&mut Nic), code: &[u32]) -> Nic {
    let mut nic = nic(machine, "empty", ["", "ph", ""]);
    put(&mut nic, FIRST_HANDLER, code);
    prepare(&mut nic);
    let packet = |at, message| frame(at, message, true, vec![0; 64]);
    finish(&mut nic, vec![packet(0, 0), packet(10_000, 4)]);
    nic
}

/// Adds 5 twice; gives the value, what the second addition answered, and the false answers.
fn add_twice(machine: Machine, at: u32, answer: u32) -> ([u32; 2], u64) {
    let mut code = Vec::new();
    code.extend(load_immediate(T0, at));
    code.extend(load_immediate(T2, 5));
    code.push(amo_add(answer, T2, T0));
    code.extend(load_immediate(T0, RESULT));
    code.extend([store(T1, T0, 0), RETURN]);
    let nic = run(machine, |_| {}, &code);
    let word = |address| words(&memory(&nic, address, 4))[0];
    ([word(at), word(RESULT)], nic.totals().false_answers)
}

#[test]
fn atomics_elsewhere_answer_one() {
    for elsewhere in [scratchpad(1), HANDLER_MEMORY] {
        assert_eq!(add_twice(machine(&[]), elsewhere, T1), ([10, 5], 0), "{elsewhere:#x}");
        assert_eq!(add_twice(faithful(&[]), elsewhere, T1), ([10, 1], 2), "{elsewhere:#x}");
        // Where nobody asks for the old value nothing is false.
        let (found, false_answers) = add_twice(faithful(&[]), elsewhere, 0);
        assert_eq!((found[0], false_answers), (10, 0));
    }
}

#[test]
fn atomics_in_the_own_l1_answer_what_was_there() {
    for own in [scratchpad(0), 0x1b01_4400] {
        assert_eq!(add_twice(faithful(&[]), own, T1).0[1], 5, "{own:#x}");
    }
}

/// Copies four words that count from 1 by cluster 0's engine; gives what is there afterwards.
fn copy(machine: Machine, from: u32, to: u32) -> (Vec<u32>, u64) {
    let mut code = Vec::new();
    code.extend(load_immediate(T0, DMA));
    for (value, register) in [(from, 0x00), (to, 0x08), (16, 0x10)] {
        code.extend(load_immediate(T1, value));
        code.push(store(T1, T0, register));
    }
    code.extend([load(T1, T0, 0x18), RETURN]);
    let nic = run(machine, |nic| put(nic, from, &[1, 2, 3, 4]), &code);
    (words(&memory(&nic, to, 16)), nic.totals().unreached_transfers)
}

#[test]
fn transfers_reach_l2_and_the_own_l1() {
    let (own, other) = (scratchpad(0), scratchpad(1));
    let program = FIRST_HANDLER + 0x200;
    let copied = (vec![1, 2, 3, 4], 0);
    for (from, to) in [(HANDLER_MEMORY, own), (own, HANDLER_MEMORY), (own, own + 64)] {
        assert_eq!(copy(faithful(&[]), from, to), copied, "{from:#x} to {to:#x}");
    }
    for (from, to) in [(other, own), (program, own), (other, HANDLER_MEMORY)] {
        let pattern = (vec![0xbadc_ab1e; 4], 2);
        assert_eq!(copy(faithful(&[]), from, to), pattern, "{from:#x} to {to:#x}");
        let reaches = faithful(&["dma.core_reach=all"]);
        assert_eq!(copy(reaches, from, to), copied, "{from:#x} to {to:#x}");
    }
    // Bytes keep their places within words.
    assert_eq!(copy(faithful(&[]), other + 1, own + 1).0[0].to_le_bytes()[..3], [0xab, 0xdc, 0xba]);
    assert_eq!(copy(faithful(&[]), own, other), (vec![0; 4], 2), "nothing is written");
}
