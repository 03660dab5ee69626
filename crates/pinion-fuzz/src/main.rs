//! The long runs: `cargo run -p pinion-fuzz -- --seconds 60`, all targets or those named, and an input again.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use pinion_fuzz::{Limits, TARGETS, Target, drive, find, replay, seeds};

/// Gives inputs that are wrong to everything of Pinion that reads
#[derive(Parser)]
struct Arguments {
    /// Names of targets [default: all]
    targets: Vec<String>,
    /// Time for each target
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Number of inputs for each target [default: as many as the time allows]
    #[arg(long)]
    executions: Option<u64>,
    /// What the inputs are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Gives this input to the target, and prints what is said of it
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Writes each input before it is answered, for what ends the process: a stack that overflows
    #[arg(long)]
    careful: bool,
    /// Where inputs that fail are written
    #[arg(long, value_name = "FOLDER", default_value = "out/fuzz")]
    out: PathBuf,
    /// Only writes the inputs that targets begin with, each target's into a folder of its name
    #[arg(long, value_name = "FOLDER")]
    export: Option<PathBuf>,
    /// Only print the targets' names
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut chosen: Vec<&'static Target> = Vec::new();
    for name in &arguments.targets {
        let Some(target) = find(name) else {
            let names = TARGETS.each_ref().map(|target| target.name).join(", ");
            eprintln!("there is no target {name}; there are {names}");
            return ExitCode::from(2);
        };
        chosen.push(target);
    }
    if chosen.is_empty() {
        chosen = TARGETS.iter().collect();
    }
    if arguments.list {
        chosen.iter().for_each(|target| println!("{}", target.name));
        return ExitCode::SUCCESS;
    }
    if let Some(folder) = &arguments.export {
        if let Err(error) = chosen.iter().try_for_each(|target| export(target, folder)) {
            eprintln!("cannot write into {}: {error}", folder.display());
            return ExitCode::from(2);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(path) = &arguments.input {
        let input = match std::fs::read(path) {
            Ok(input) => input,
            Err(error) => {
                eprintln!("cannot read {}: {error}", path.display());
                return ExitCode::from(2);
            }
        };
        chosen.iter().for_each(|target| println!("{}: {}", target.name, replay(target, &input)));
        return ExitCode::SUCCESS;
    }
    let limits = Limits {
        executions: arguments.executions.unwrap_or(u64::MAX),
        duration: match arguments.executions {
            Some(_) => Duration::MAX,
            None => Duration::from_secs(arguments.seconds),
        },
        is_careful: arguments.careful,
        ..Limits::default()
    };
    let mut status = ExitCode::SUCCESS;
    println!(
        "{:18} {:>10} {:>8} {:>8} {:>11}",
        "target", "executions", "per s", "sayings", "slowest ms"
    );
    for target in chosen {
        let begun = Instant::now();
        match drive(target, arguments.seed, &limits, &arguments.out) {
            Ok(report) => println!(
                "{:18} {:10} {:8.0} {:8} {:11.1}",
                target.name,
                report.executions,
                report.executions as f64 / begun.elapsed().as_secs_f64(),
                report.sayings,
                report.slowest.as_secs_f64() * 1e3,
            ),
            Err(failure) => {
                println!("FAIL {}: {failure}", target.name);
                status = ExitCode::FAILURE;
            }
        }
    }
    status
}

/// Writes what a target begins with.
fn export(target: &Target, folder: &Path) -> std::io::Result<()> {
    let folder = folder.join(target.name);
    std::fs::create_dir_all(&folder)?;
    let inputs = seeds::read(target.name, target.seeds);
    inputs
        .iter()
        .enumerate()
        .try_for_each(|(number, input)| std::fs::write(folder.join(format!("{number:04}")), input))
}
