//! How fast the interpreter is: instructions per second in the run loop of `FlatMachine`, and in
//! the barest loop around `Hart::execute`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pinion_isa::flat::FlatMachine;
use pinion_isa::{DecodedProgram, Extensions, Hart, HartConfig, Outcome};

const BASE: u32 = 0x1000;
const STEPS: u64 = 1_000_000;

/// A loop that sums words, mixes, stores and branches, as a reduction in a handler does.
const REDUCE: [u32; 13] = [
    0x0000_2537, // lui a0, 0x2
    0x1000_0613, // li a2, 256
    0x0005_2683, // loop: lw a3, 0(a0)
    0x00d5_85b3, // add a1, a1, a3
    0x0036_9713, // slli a4, a3, 3
    0x00e5_c5b3, // xor a1, a1, a4
    0x00b5_2023, // sw a1, 0(a0)
    0x0045_0513, // addi a0, a0, 4
    0xfff6_0613, // addi a2, a2, -1
    0x0016_f793, // andi a5, a3, 1
    0x0007_8463, // beqz a5, +8
    0x0017_8793, // addi a5, a5, 1
    0xfc06_1ce3, // bnez a2, loop
];

/// Arithmetic only, with a taken branch each eight instructions.
const ARITHMETIC: [u32; 8] = [
    0x00d5_85b3, // loop: add a1, a1, a3
    0x0035_9713, // slli a4, a1, 3
    0x00e5_c5b3, // xor a1, a1, a4
    0x0015_8593, // addi a1, a1, 1
    0x02b7_07b3, // mul a5, a4, a1
    0x00f6_8633, // add a2, a3, a5
    0x0056_5693, // srli a3, a2, 5
    0xfe00_02e3, // beqz zero, loop
];

fn bytes(words: &[u32]) -> Vec<u8> {
    let back = 0xfcdf_f06fu32; // j -52: from behind REDUCE to its start
    let words = words.iter().copied().chain([back]);
    words.flat_map(u32::to_le_bytes).collect()
}

fn main() {
    divan::main();
}

#[divan::bench(args = ["reduce", "arithmetic"])]
fn flat_machine(bencher: Bencher, name: &str) {
    let code = bytes(if name == "reduce" { &REDUCE } else { &ARITHMETIC });
    let mut machine = FlatMachine::<u32>::new(&HartConfig::default(), BASE, 0x4000);
    machine.load_code(BASE, &code).expect("it fits");
    machine.hart.x[11] = 0x1234_5677;
    bencher.counter(ItemsCount::new(STEPS)).bench_local(|| machine.run(black_box(STEPS)));
}

#[divan::bench(args = ["reduce", "arithmetic"])]
fn bare_hart(bencher: Bencher, name: &str) {
    let code = bytes(if name == "reduce" { &REDUCE } else { &ARITHMETIC });
    let program = DecodedProgram::from_bytes(BASE, &code, Extensions::PSPIN);
    let mut hart = Hart::<u32>::new(&HartConfig::default(), BASE);
    hart.x[11] = 0x1234_5677;
    let mut memory = vec![0u32; 0x1000];
    bencher.counter(ItemsCount::new(STEPS)).bench_local(|| {
        for _ in 0..STEPS {
            let Some(instruction) = program.get(hart.pc) else { return };
            match hart.execute(instruction) {
                Outcome::Access(access) => {
                    let word = &mut memory[(access.address as usize >> 2) & 0xfff];
                    if access.kind.writes() {
                        *word = access.data;
                    }
                    let value = *word;
                    hart.complete_integer(&access, value);
                }
                Outcome::Trap(_) => return,
                _ => {}
            }
        }
    });
}
