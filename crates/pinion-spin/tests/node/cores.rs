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

/// Gives a warm handler's cycles with `copies` copies of `code` in it.
fn cycles(model: &str, code: &[u32], copies: u64) -> u64 {
    // a5: the packet in L1; a6: 7
    let mut words = vec![0x0085_2783, 0x0070_0813];
    (0..copies).for_each(|_| words.extend(code));
    words.push(0x0000_8067); // ret
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
    let cases: [(&str, &[u32], u64, u64); 10] = [
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
