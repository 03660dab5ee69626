//! Holds our harts against three models of RISC-V that share nothing with them:
//!
//! - the virtual machine of Nervos' CKB (`ckb-vm`): RV32 and RV64 IMAC, one random instruction at a time on
//!   random registers and memory;
//! - the specification itself, as Sail has it, translated to Rust (`softcore-rv64`): RV64's integer
//!   instructions, CSRs, traps and returns in lock-step, and memory protection for both widths;
//! - Berkeley SoftFloat, release 3 as RISC-V has it (`softfloat-wrapper`): every instruction of F and D for both
//!   widths, in every rounding mode.
//!
//! What differs on purpose stands where it is left out, with the reason. A difference is printed with the seed
//! that repeats it, and the exit status is 1.

mod cases;
mod ckb;
mod float;
mod protection;
mod sail;

use std::process::ExitCode;

use clap::Parser;

/// Holds Pinion's harts against CKB-VM, Sail and SoftFloat
#[derive(Parser)]
struct Arguments {
    /// Number of random instructions for each comparison
    #[arg(long, default_value_t = 1_000_000)]
    instructions: u64,
    /// What they are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only comparisons with this in their names
    #[arg(long, default_value = "")]
    only: String,
}

fn main() -> ExitCode {
    let Arguments { instructions, seed, only } = Arguments::parse();
    let comparisons: [(&str, fn(u64, u64) -> Result<String, String>); 7] = [
        ("RV32IMAC and CKB-VM", ckb::compare::<u32>),
        ("RV64IMAC and CKB-VM", ckb::compare::<u64>),
        ("RV64 and Sail", sail::compare),
        ("protection of RV32 and Sail", protection::compare::<u32>),
        ("protection of RV64 and Sail", protection::compare::<u64>),
        ("float of RV32 and SoftFloat", float::compare::<u32>),
        ("float of RV64 and SoftFloat", float::compare::<u64>),
    ];
    let mut status = ExitCode::SUCCESS;
    for (name, compare) in comparisons.into_iter().filter(|(name, _)| name.contains(&only)) {
        match compare(seed, instructions) {
            Ok(said) => println!("ok   {name}: {said}"),
            Err(difference) => {
                println!(
                    "FAIL {name}: {difference}\n     again: --seed {seed} --instructions {instructions}"
                );
                status = ExitCode::FAILURE;
            }
        }
    }
    status
}
