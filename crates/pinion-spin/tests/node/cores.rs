//! Core models: the same handlers on RI5CY and on the Ibex-like core, an instruction at a time.

use crate::harness::{FIRST_HANDLER, finish, frame, machine, nic};

/// Copies of an instruction in a handler.
const COPIES: u64 = 16;

const fn register(funct3: u32) -> u32 {
    // a1 = a6 … a6, of the M extension
    0x0200_0033 | 16 << 20 | 16 << 15 | funct3 << 12 | 11 << 7
}

const ALU: u32 = 0x0015_8593; // addi a1, a1, 1
const LOAD: u32 = 0x0007_a583; // lw a1, 0(a5)
const STORE: u32 = 0x00b7_a023; // sw a1, 0(a5)
const TAKEN: u32 = 0x0000_0263; // beq zero, zero, next
const NOT_TAKEN: u32 = 0x0000_1263; // bne zero, zero, next
const JUMP: u32 = 0x0040_006f; // j next
const HERE: u32 = 0x0000_0597; // auipc a1, 0
const NOP: u32 = 0x0000_0013;

/// Makes a jump to `bytes` behind where `HERE` stands, by the register that it computes.
const fn jump_to_register(bytes: u32) -> u32 {
    // jalr zero, bytes(a1)
    bytes << 20 | 11 << 15 | 0x67
}

/// Gives a warm handler's cycles with `copies` copies of `code` in it.
fn cycles(model: &str, code: &[u32], copies: u64) -> u64 {
    // a5: the packet in L1; a6: 7
    let mut words = vec![0x0085_2783, 0x0070_0813];
    (0..copies).for_each(|_| words.extend(code));
    // What is measured does not hide the cycle of the jump behind it.
    words.extend([NOP, 0x0000_8067]); // ret
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let model = format!("core.model={model}");
    let shape = ["cluster.count=1", "cluster.cores=1", model.as_str()];
    let mut nic = nic(machine(&shape), "empty", ["", "ph", ""]);
    assert!(nic.write_memory(FIRST_HANDLER, &bytes));
    let frames = (0..4).map(|index| frame(index * 1000, 1, index == 3, vec![0; 64])).collect();
    let heard = finish(&mut nic, frames);
    assert_eq!(heard.faults, []);
    let last = heard.handlers.last().expect("four packets");
    (last.end.ps() - last.start.ps()) / 1000
}

/// One instruction after the other takes what the models' documents say.
#[test]
fn instructions_take_the_cycles_of_their_model() {
    let cases: [(&str, &[u32], u64, u64); 15] = [
        ("alu", &[ALU], 1, 1),
        ("mul", &[register(0)], 1, 3),
        ("mulh", &[register(1)], 5, 4),
        ("div by 7", &[register(4)], 3 + 29, 38),
        ("load", &[LOAD], 1, 2),
        ("load and its use", &[LOAD, ALU], 3, 3),
        ("store", &[STORE], 1, 2),
        ("branch taken", &[TAKEN], 3, 3),
        ("branch not taken", &[NOT_TAKEN], 1, 1),
        ("jump", &[JUMP], 2, 2),
        // Nothing is forwarded to RI5CY's program counter: the register must have been written.
        ("jump to what was just computed", &[HERE, jump_to_register(8)], 1 + 3, 1 + 2),
        ("jump to a register", &[HERE, NOP, jump_to_register(12)], 2 + 2, 2 + 2),
        ("jump to what was just loaded", &[HERE, STORE, LOAD, jump_to_register(16)], 3 + 4, 5 + 2),
        (
            "jump to what was loaded before the last",
            &[HERE, STORE, LOAD, NOP, jump_to_register(20)],
            4 + 3,
            6 + 2,
        ),
        (
            "jump to what was loaded earlier",
            &[HERE, STORE, LOAD, NOP, NOP, jump_to_register(24)],
            5 + 2,
            7 + 2,
        ),
    ];
    for (name, code, ri5cy, ibex) in cases {
        for (model, expected) in [("ri5cy", ri5cy), ("ibex", ibex)] {
            let took = cycles(model, code, COPIES) - cycles(model, code, 0);
            assert_eq!(took, COPIES * expected, "{COPIES} × {name} on {model}");
        }
    }
}

/// What a load from another memory than the own L1 brings comes through the writeback stage, too: an instruction
/// that needs it begins a cycle later than one that does not (RTL: riscv_controller, load stall).
#[test]
fn what_needs_a_far_load_waits_a_cycle_for_it() {
    const L2: u32 = 0x1c00_07b7; // lui a5, 0x1c000
    const OTHER: u32 = 0x0018_0813; // addi a6, a6, 1
    let took = |code: &[u32]| cycles("ri5cy", code, COPIES);
    let (needed, not_needed) = (took(&[L2, LOAD, ALU]), took(&[L2, LOAD, OTHER]));
    assert_eq!(needed, not_needed + COPIES);
}

/// Divisors of zero: RI5CY counts their 32 leading zeros, Ibex sees them at once.
#[test]
fn division_by_zero_is_short_on_ibex() {
    // div a1, a6, zero
    let code = [0x0200_0033 | 16 << 15 | 4 << 12 | 11 << 7];
    let took = |model| cycles(model, &code, COPIES) - cycles(model, &code, 0);
    assert_eq!((took("ri5cy"), took("ibex")), (COPIES * (3 + 32), COPIES * 2));
}

/// A negative divisor that is no power of two is moved one place less (RTL: riscv_alu, div_shift).
#[test]
fn division_by_a_negative_number_counts_its_complement() {
    let took = |divisor: i32| {
        // addi a6, zero, divisor; div a1, a6, a6
        let code = [(divisor as u32) << 20 | 0x0000_0813, register(4)];
        (cycles("ri5cy", &code, COPIES) - cycles("ri5cy", &code, 0)) / COPIES - 1
    };
    let expected = [(7, 3 + 29), (-7, 3 + 28), (8, 3 + 28), (-8, 3 + 28), (-1, 3 + 31)];
    assert_eq!(expected.map(|(divisor, _)| (divisor, took(divisor))), expected);
}
