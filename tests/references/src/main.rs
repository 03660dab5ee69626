//! Holds our harts against two models of RISC-V that share nothing with them or with QEMU:
//!
//! - the virtual machine of Nervos' CKB (`ckb-vm`): RV32 and RV64 IMAC, one random instruction at a time on
//!   random registers and memory;
//! - the specification itself, as Sail has it, translated to Rust (`softcore-rv64`): RV64's integer
//!   instructions, CSRs, traps and returns in lock-step, and memory protection for both widths.
//!
//! What differs on purpose stands where it is left out, with the reason. A difference is printed with the seed
//! that repeats it, and the exit status is 1.

mod cases;
mod ckb;
mod protection;
mod sail;

use std::process::ExitCode;

use clap::Parser;

/// Holds Pinion's harts against CKB-VM and Sail
#[derive(Parser)]
struct Arguments {
    /// Number of random instructions for each comparison
    #[arg(long, default_value_t = 1_000_000)]
    instructions: u64,
    /// What they are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let Arguments { instructions, seed } = Arguments::parse();
    let comparisons: [(&str, fn(u64, u64) -> Result<String, String>); 5] = [
        ("RV32IMAC and CKB-VM", ckb::compare::<u32>),
        ("RV64IMAC and CKB-VM", ckb::compare::<u64>),
        ("RV64 and Sail", sail::compare),
        ("protection of RV32 and Sail", protection::compare::<u32>),
        ("protection of RV64 and Sail", protection::compare::<u64>),
    ];
    let mut status = ExitCode::SUCCESS;
    for (name, compare) in comparisons {
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
