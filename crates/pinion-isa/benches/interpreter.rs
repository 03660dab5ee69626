//! How fast the interpreter is: instructions per second in the run loop of `FlatMachine`, in the
//! barest loop around `Hart::execute`, and of floating-point operations there: rounded to nearest
//! with the inexact flag up (`float`), cleared before each (`float_exactly`, two instructions), and
//! rounded towards zero, which the host does not do (`float_soft`).

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pinion_isa::csr::number;
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

/// Operations on fa1, fa2 and fa3, into fa0.
const OPERATIONS: [(&str, u32); 8] = [
    ("fadd.d", 0x02c5_f553),
    ("fmul.d", 0x12c5_f553),
    ("fmadd.d", 0x6ac5_f543),
    ("fdiv.d", 0x1ac5_f553),
    ("fsqrt.d", 0x5a05_f553),
    ("fmul.s", 0x10c5_f553),
    ("fcvt.w.d", 0xc205_f553),
    ("fcvt.d.w", 0xd205_0553),
];
const NAMES: [&str; 8] =
    ["fadd.d", "fmul.d", "fmadd.d", "fdiv.d", "fsqrt.d", "fmul.s", "fcvt.w.d", "fcvt.d.w"];

fn bench_float(bencher: Bencher, name: &str, fcsr: u64, clear: bool) {
    const COUNT: u64 = 1000;
    let word = OPERATIONS.iter().find(|(known, _)| *known == name).expect("it is known").1;
    let clear_flags = 0x0010_5073u32; // csrwi fflags, 0
    let mut code = Vec::new();
    for _ in 0..COUNT {
        code.extend(clear.then_some(clear_flags).into_iter().chain([word]));
    }
    let code: Vec<u8> = code.into_iter().flat_map(u32::to_le_bytes).collect();
    let program = DecodedProgram::from_bytes(0x1000u64, &code, Extensions::RV64GC);
    let config = HartConfig { extensions: Extensions::RV64GC, ..HartConfig::default() };
    let mut hart = Hart::<u64>::new(&config, 0x1000);
    hart.write_csr(number::MSTATUS, 0x6000);
    hart.write_csr(number::FCSR, fcsr);
    for (register, value) in [(11, 1.1f64), (12, 2.3), (13, 0.7)] {
        hart.f[register] = match name.ends_with(".s") {
            true => 0xffff_ffff << 32 | u64::from((value as f32).to_bits()),
            false => value.to_bits(),
        };
    }
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        hart.pc = 0x1000;
        while let Some(instruction) = program.get(hart.pc) {
            hart.f[11] ^= hart.pc & 0xff8; // other operands each time
            black_box(hart.execute(instruction));
        }
    });
}

#[divan::bench(args = NAMES)]
fn float(bencher: Bencher, name: &str) {
    bench_float(bencher, name, 1, false);
}

#[divan::bench(args = NAMES)]
fn float_exactly(bencher: Bencher, name: &str) {
    bench_float(bencher, name, 0, true);
}

#[divan::bench(args = NAMES)]
fn float_soft(bencher: Bencher, name: &str) {
    bench_float(bencher, name, 0x20, false);
}
