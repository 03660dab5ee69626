//! Floating point against Berkeley SoftFloat (release 3, specialised for RISC-V), which the RISC-V community's own
//! simulator computes with and which shares nothing with our arithmetic. What it answers to the cases is kept in
//! `expected.txt` as a digest for each operation, written by `tests/references`, which needs a C compiler and shows a
//! difference case by case.

mod cases;

use cases::{OPERATIONS, line, of, ours};
use pinion_isa::Xlen;

fn compare<X: Xlen>() {
    let wide = X::BITS == 64;
    let prefix = format!("rv{} ", X::BITS);
    let expected: Vec<&str> =
        include_str!("expected.txt").lines().filter(|line| line.starts_with(&prefix)).collect();
    let mut hart = cases::hart::<X>();
    let mut lines = Vec::new();
    for operation in &OPERATIONS {
        for is_double in [false, true].into_iter().filter(|format| operation.exists(*format)) {
            let answers: Vec<_> =
                of(operation, is_double).iter().map(|case| ours(&mut hart, case)).collect();
            lines.push(line(wide, operation, is_double, &answers));
        }
    }
    let differ: Vec<_> = lines.iter().filter(|line| !expected.contains(&line.as_str())).collect();
    assert!(
        lines == expected,
        "not as SoftFloat has them: {differ:#?}\nsee each: cargo run --release --manifest-path \
         tests/references/Cargo.toml -- --only float"
    );
}

#[test]
fn rv32_float_like_softfloat() {
    compare::<u32>();
}

#[test]
fn rv64_float_like_softfloat() {
    compare::<u64>();
}
