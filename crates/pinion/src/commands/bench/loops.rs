//! Three loops on the 32 HPUs of a NIC and on a hart of a nanoPU and, the same instructions, on QEMU and on
//! Spike: what timing costs.
//!
//! The same text is compiled for each: as a handler for HPUs, bare for nanoPU and Spike, which end it by
//! `tohost`, and as a Linux program for QEMU's user mode. Every program but the handler looks afterwards
//! at what the turns have left behind (a sum that counts them) and fails unless all were made; of
//! the handler, the instructions of all HPUs are checked.

mod programs;

use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::resource::UsageWho;
use pinion::app::{App, Options};
use pinion::build::toolchain::{find_gcc, on_path};
use pinion::build::{Part, Sdk};
use pinion::error::{Error, Result};
use pinion::traffic::Packets;
use pinion::watch::Unobserved;
use pinion::{machine, run};
use pinion_isa::elf::Image;
use pinion_nanopu::event::Deaf;
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::node::{Node, Progress};
use pinion_spin::EngineCore;
use serde::Serialize;
use serde_json::{Value, json};

use super::host::usage_seconds;
use super::tables;
use programs::{Loop, Target};

/// HPUs of the NIC, each with a packet.
const HPUS: u64 = 32;
/// Turns of a loop on each HPU, on a hart, and for those who leave timing out.
const TURNS_ON_HPUS: u64 = 100_000;
const TURNS: u64 = 2_000_000;
const TURNS_WITHOUT_TIMING: u64 = 100_000_000;
/// More cycles than a turn takes.
const MOST_CYCLES_A_TURN: u64 = 64;
/// How far a run of twice the turns may be from twice the time.
const MOST_APART: f64 = 0.25;

/// Simulators without timing: the command, its options, and what it runs.
const OTHERS: [(&str, &[&str], Target); 3] = [
    ("qemu-riscv32", &[], Target::Linux32),
    ("qemu-riscv64", &[], Target::Linux64),
    ("spike", &["--isa=rv64gc"], Target::Bare64),
];

/// A loop on a simulator.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(rename = "loop")]
    name: &'static str,
    simulator: String,
    instructions: u64,
    processor_seconds: f64,
    mips: f64,
}

/// Holds what was measured, and why what was not.
#[derive(Debug, Default)]
pub struct Loops {
    rows: Vec<Row>,
    left_out: Vec<String>,
}

impl Loops {
    /// Gives it as JSON.
    pub fn to_json(&self) -> Value {
        json!({ "rows": self.rows, "left_out": self.left_out })
    }

    /// Gives it as a table, and a line for each simulator that is not there.
    pub fn table(&self, markdown: bool) -> String {
        let mut text = String::new();
        if !self.rows.is_empty() {
            let cells = self.rows.iter().map(|row| {
                vec![row.name.to_owned(), row.simulator.clone(), format!("{:.1}", row.mips)]
            });
            text = tables::aligned(&["loop", "simulator", "MIPS"], cells.collect(), markdown);
        }
        for why in &self.left_out {
            text.push_str(&tables::below(&format!("not measured: {why}"), markdown));
        }
        text
    }

    fn add(&mut self, name: &'static str, simulator: &str, (instructions, seconds): (u64, f64)) {
        let mips = instructions as f64 / 1e6 / seconds.max(1e-6);
        let simulator = simulator.to_owned();
        self.rows.push(Row { name, simulator, instructions, processor_seconds: seconds, mips });
    }
}

/// Measures the loops, on HPUs with an engine core, or with both if that is wanted.
pub fn measure(engine_core: EngineCore, engine_cores: bool) -> Result<Loops> {
    let mut loops = Loops::default();
    let Some(gcc) = find_gcc(&Sdk::find(Part::Nanoservices)?) else {
        let why = "the loops: they need riscv64-unknown-elf-gcc (`pinion doctor`)";
        loops.left_out.push(why.to_owned());
        return Ok(loops);
    };
    let folder = std::env::temp_dir().join(format!("pinion-bench-{}", std::process::id()));
    let failed = |error: std::io::Error| Error::Usage(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let measured = all(&gcc.command, &folder, &mut loops, (engine_core, engine_cores));
    std::fs::remove_dir_all(&folder).map_err(failed)?;
    measured.map(|()| loops)
}

fn all(
    gcc: &[String],
    folder: &Path,
    loops: &mut Loops,
    (engine_core, engine_cores): (EngineCore, bool),
) -> Result<()> {
    let absent = OTHERS.iter().filter(|(other, ..)| on_path(other).is_none());
    loops.left_out.extend(absent.map(|(other, ..)| format!("{other}, which is not installed")));
    for one in &programs::LOOPS {
        let handlers = on_hpus(one, folder, engine_core)?;
        loops.add(one.name, "pinion, 32 HPUs of pspin", handlers);
        if engine_cores {
            let handlers = on_hpus(one, folder, EngineCore::Interpreter)?;
            loops.add(one.name, "pinion, 32 HPUs of pspin, interpreter", handlers);
        }
        let ours = on_a_hart(&programs::compile(gcc, folder, one, Target::Bare64, TURNS)?)?;
        loops.add(one.name, "pinion, a hart of nanopu", ours);
        for (other, options, target) in OTHERS {
            if on_path(other).is_none() {
                continue;
            }
            let seconds = |turns: u64| {
                let elf = programs::compile(gcc, folder, one, target, turns)?;
                elsewhere(other, options, &elf)
            };
            // Without the time to start; twice the turns must take twice the time, or no loop was run.
            let start = seconds(1)?;
            let half = seconds(TURNS_WITHOUT_TIMING / 2)? - start;
            let whole = seconds(TURNS_WITHOUT_TIMING)? - start;
            if (whole / half.max(1e-6) - 2.0).abs() > 2.0 * MOST_APART {
                loops.left_out.push(format!(
                    "{} on {other}: twice the turns take {:.2} times as long",
                    one.name,
                    whole / half.max(1e-6)
                ));
                continue;
            }
            loops.add(one.name, other, (one.a_turn * TURNS_WITHOUT_TIMING, whole));
        }
    }
    Ok(())
}

/// Runs a loop on every HPU of a NIC; gives instructions and processor time.
fn on_hpus(one: &Loop, folder: &Path, engine_core: EngineCore) -> Result<(u64, f64)> {
    let folder = programs::handlers(folder, one, TURNS_ON_HPUS)?;
    let overrides = vec!["protection.watchdog=false".to_owned()];
    let options = Options { overrides, engine_core, ..Options::default() };
    let app = App::load(&folder, &options)?;
    let spec = format!("udp,size=64,count={HPUS},messages={HPUS}");
    let packets = Packets::generate(&spec, None, None)?;
    let begun = usage_seconds(UsageWho::RUSAGE_SELF);
    let finished = run::run(&app, packets, &Default::default(), &mut Unobserved)?;
    let seconds = usage_seconds(UsageWho::RUSAGE_SELF) - begun;
    let instructions = finished.summary.instructions;
    match instructions >= one.a_turn * TURNS_ON_HPUS * HPUS {
        true => Ok((instructions, seconds)),
        false => Err(Error::Usage(format!("{}: the HPUs left turns out", one.name))),
    }
}

/// Runs a loop on one hart of the nanoPU; gives instructions and processor time.
fn on_a_hart(elf: &Path) -> Result<(u64, f64)> {
    let machine = machine::load::<Machine>("nanopu", &["core.count=1".to_owned()], false)?.value;
    let wrong = |why: String| Error::Usage(format!("{}: {why}", elf.display()));
    let bytes = pinion_input::bytes(elf).map_err(|error| wrong(error.to_string()))?;
    let image =
        Image::parse_for::<u64>(&bytes, "loop").map_err(|error| wrong(error.to_string()))?;
    let address = machine.address.parse().map_err(|_| wrong("no address".to_owned()))?;
    let mut node =
        Node::new(&machine, address, &image).map_err(|error| wrong(error.to_string()))?;
    let begun = usage_seconds(UsageWho::RUSAGE_SELF);
    let most = 1_000_000 + TURNS * MOST_CYCLES_A_TURN;
    let progress = node.run_until(most, &mut |_: u64, _: u64, _: &[u8]| {}, &mut Deaf);
    let seconds = usage_seconds(UsageWho::RUSAGE_SELF) - begun;
    match progress {
        Progress::Exited { code: 0, .. } => Ok((node.core(0).hart.instret, seconds)),
        other => Err(wrong(format!("it ended as {other:?}"))),
    }
}

/// Runs a loop on another simulator; gives its processor time.
fn elsewhere(program: &str, options: &[&str], elf: &Path) -> Result<f64> {
    let begun = usage_seconds(UsageWho::RUSAGE_CHILDREN);
    let run = Command::new(program)
        .args(options)
        .arg(elf)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match run {
        Ok(status) if status.success() => Ok(usage_seconds(UsageWho::RUSAGE_CHILDREN) - begun),
        Ok(status) => Err(Error::Usage(format!("{program} {}: {status}", elf.display()))),
        Err(error) => Err(Error::Usage(format!("{program}: {error}"))),
    }
}
