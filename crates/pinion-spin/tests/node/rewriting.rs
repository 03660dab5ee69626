//! Code that rewrites the instruction which its own loop executes: on every core model, interpreted and translated,
//! the same results to the cycle. A runtime may, before it leaves machine mode; a handler's program is only read.

use pinion_isa::elf::Image;
use pinion_spin::{EngineCore, Fault, Nic};

use crate::harness::{self, FIRST_HANDLER, finish, frame, image, machine, put};

const MODELS: [&str; 2] = ["ri5cy", "ibex"];
/// Times that the loop's instruction is written.
const TURNS: u32 = 400;
/// Where the program leaves its sums.
const SUMS: u32 = 0x1c30_0000;
/// Where it lies: behind what the program has.
const BEHIND: u32 = 0x1d00_2000;

const ADD_1: u32 = 0x0015_0513; // addi a0, a0, 1
const NOP: u32 = 0x0000_0013;
const FENCE_I: u32 = 0x0000_100f;

/// Moves an immediate to where a branch has it.
fn branch(words: usize) -> u32 {
    let far = (words as u32 * 4).wrapping_neg();
    (far >> 12 & 1) << 31 | (far >> 5 & 0x3f) << 25 | (far >> 1 & 0xf) << 8 | (far >> 11 & 1) << 7
}

/// Assembles a loop of `inner` turns that is gone through [`TURNS`] times, its first instruction another each time.
/// `near`: the word that was written is the next one that is executed.
fn program(inner: u32, near: bool, fence: u32) -> Vec<u32> {
    let mut code = vec![
        0x0000_0297,         // auipc t0, 0
        0,                   // addi t0, t0, …: the loop's first instruction
        0x0015_0337,         // lui t1: ADD_1
        0x5133_0313,         // addi t1, t1, 0x513
        0x0105_03b7,         // lui t2: addi a0, a0, 16
        0x5133_8393,         // addi t2, t2, 0x513
        TURNS << 20 | 0x793, // li a5, TURNS
    ];
    let outer = code.len();
    code.push(inner << 20 | 0x713); // li a4, inner
    let write = [0x0072_a023, fence]; // sw t2, 0(t0)
    if near {
        code.extend(write);
    }
    let written = code.len();
    code[1] = (written as u32 * 4) << 20 | 0x0002_8293;
    code.push(ADD_1);
    code.extend([0x00a5_c5b3, 0x00b6_0633].repeat(20)); // xor a1, a1, a0; add a2, a2, a1
    code.push(0xfff7_0713); // addi a4, a4, -1
    code.push(0x0007_1063 | branch(code.len() - written)); // bnez a4
    if !near {
        code.extend(write);
    }
    // What is written next is the other one.
    code.extend([0x0003_0e13, 0x0003_8313, 0x000e_0393]);
    code.push(0xfff7_8793); // addi a5, a5, -1
    code.push(0x0007_9063 | branch(code.len() - outer)); // bnez a5
    code.extend([
        0xf140_22f3, // csrr t0, mhartid
        0x1c30_06b7, // lui a3, SUMS
        0x01f2_f713, // andi a4, t0, 31
        0x0047_1713, // slli a4, a4, 4
        0x00e6_86b3, // add a3, a3, a4
        0x00a6_a023, // sw a0, 0(a3)
        0x00c6_a223, // sw a2, 4(a3)
        0xb000_2773, // csrr a4, mcycle
        0x00e6_a423, // sw a4, 8(a3)
    ]);
    code
}

/// Moves an offset to where a jump has it.
fn jump(bytes: u32) -> u32 {
    (bytes >> 20 & 1) << 31
        | (bytes >> 1 & 0x3ff) << 21
        | (bytes >> 11 & 1) << 20
        | bytes & 0xff000
        | 0x6f
}

/// Has a program do something else before its first instruction, which reads the hart's number into t0, as that does.
fn begin_with(program: &Image, reset: u32, code: &[u32]) -> Image {
    let mut changed = program.clone();
    let holds =
        |address: u64, data: &[u8]| (address..address + data.len() as u64).contains(&reset.into());
    let first = changed.segments.iter_mut().find(|each| holds(each.load_address, &each.data));
    let first = first.expect("a segment with the first instruction");
    let at = (u64::from(reset) - first.load_address) as usize;
    assert_eq!(first.data[at..at + 4], 0xf140_22f3_u32.to_le_bytes(), "the first instruction");
    first.data[at..at + 4].copy_from_slice(&jump(BEHIND - reset).to_le_bytes());
    let back = (reset + 4).wrapping_sub(BEHIND + 4 * code.len() as u32);
    let mut added = first.clone();
    (added.address, added.load_address) = (BEHIND.into(), BEHIND.into());
    added.data = code.iter().copied().chain([jump(back)]).flat_map(u32::to_le_bytes).collect();
    added.memory_bytes = added.data.len() as u64;
    changed.segments.push(added);
    changed
}

/// Boots a program that does so much first; gives the cores' sums, and the cycles in which they had them.
fn booted(model: &str, cores: u32, code: &[u32], engine_core: EngineCore) -> Vec<[u32; 3]> {
    let shape =
        ["cluster.count=1", &format!("cluster.cores={cores}"), &format!("core.model={model}")];
    let program = begin_with(&image("empty"), machine(&shape).reset_address(), code);
    let mut nic = harness::nic(machine(&shape), "empty", ["", "ph", ""]);
    nic.set_engine_core(engine_core);
    nic.start(&program).unwrap_or_else(|error| panic!("{error}"));
    (0..cores).map(|core| [0, 4, 8].map(|at| word(&nic, SUMS + 16 * core + at))).collect()
}

fn word(nic: &Nic, address: u32) -> u32 {
    let mut bytes = [0; 4];
    assert!(nic.read_memory(address, &mut bytes));
    u32::from_le_bytes(bytes)
}

#[test]
fn a_rewritten_loop_is_the_same_whoever_executes_it() {
    for model in MODELS {
        for (cores, inner, near) in
            [(1, 30, false), (1, 3, false), (1, 3, true), (8, 10, false), (8, 1, true)]
        {
            for fence in [NOP, FENCE_I] {
                let what =
                    format!("{model}, {cores} cores, {inner} turns, near: {near}, {fence:#x}");
                let code = program(inner, near, fence);
                let [interpreted, translated] = [EngineCore::Interpreter, EngineCore::Translated]
                    .map(|engine_core| booted(model, cores, &code, engine_core));
                assert_eq!(translated, interpreted, "{what}");
                assert!(
                    interpreted.iter().all(|[sum, _, cycle]| *sum > 0 && *cycle > 0),
                    "{interpreted:?}"
                );
                if cores == 1 && fence == FENCE_I {
                    assert_eq!(interpreted[0][0], TURNS / 2 * inner * 17, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_handler_does_not_rewrite_its_loop() {
    // auipc t0, 0; lui t2: addi a0, a0, 16; addi t2, t2, 0x513; addi a0, a0, 1; sw t2, 12(t0); j -8
    let code = [0x0000_0297, 0x0105_03b7, 0x5133_8393, ADD_1, 0x0072_a623, 0xff9f_f06f];
    for model in MODELS {
        for pmp in ["context", "rtl"] {
            let shape = [&format!("core.model={model}"), &format!("protection.pmp={pmp}")];
            let each = [EngineCore::Interpreter, EngineCore::Translated].map(|engine_core| {
                let mut nic =
                    harness::nic(machine(&shape.map(String::as_str)), "empty", ["", "ph", ""]);
                nic.set_engine_core(engine_core);
                put(&mut nic, FIRST_HANDLER, &code);
                let frames =
                    (0..40).map(|index| frame(index, index as u32 % 4, index >= 36, vec![0; 64]));
                let heard = finish(&mut nic, frames.collect());
                assert_eq!(heard.faults.len(), 40, "{model}, {pmp}");
                assert!(
                    heard.faults.iter().all(|one| one.address == FIRST_HANDLER + 12),
                    "{:?}",
                    heard.faults
                );
                assert!(
                    heard.faults.iter().all(|one| matches!(one.fault, Fault::Exception { .. })),
                    "{:?}",
                    heard.faults
                );
                assert_eq!(word(&nic, FIRST_HANDLER + 12), ADD_1, "{model}, {pmp}");
                heard.log
            });
            assert_eq!(each[0], each[1], "{model}, {pmp}");
        }
    }
}
