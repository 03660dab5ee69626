//! Three loops on one core of a nanoPU and, the same program, on QEMU and on Spike: what timing costs.
//!
//! The program ends itself as each of them understands: `tohost` for Spike and us, the test device for
//! QEMU's `virt`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use pinion::build::toolchain::{find_gcc, on_path};
use pinion::build::{Part, Sdk};
use pinion::error::{Error, Result};
use pinion::machine;
use pinion_isa::elf::Image;
use pinion_nanopu::event::Deaf;
use pinion_nanopu::machine::node::Machine;
use pinion_nanopu::node::{Node, Progress};
use serde::Serialize;
use serde_json::{Value, json};

/// What a turn of each loop does, and its instructions.
const LOOPS: [(&str, &str, u64); 3] = [
    ("load, add, store", "lw t1, 0(s0)\nadd t1, t1, t0\nsw t1, 0(s0)", 5),
    ("load, atomic add", "lw t1, 0(s0)\namoadd.w t2, t0, (s1)", 4),
    ("arithmetic", "add t1, t1, t0\nxor t2, t2, t1\nslli t3, t1, 3\nsub t2, t2, t3", 6),
];
/// Turns of a loop for us, and for those who leave timing out.
const TURNS: u64 = 2_000_000;
const TURNS_WITHOUT_TIMING: u64 = 200_000_000;
/// More cycles than a turn takes.
const MOST_CYCLES_A_TURN: u64 = 64;

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
            text = super::aligned(&["loop", "simulator", "MIPS"], cells.collect(), markdown);
        }
        for why in &self.left_out {
            text.push_str(&format!("{}{why}\n", super::begins(markdown, "not measured: ")));
        }
        text
    }
}

/// Gives the processor time that somebody has taken.
pub fn processor_seconds(who: UsageWho) -> f64 {
    let Ok(usage) = getrusage(who) else { return 0.0 };
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6
}

/// Measures the loops.
pub fn measure() -> Result<Loops> {
    let mut loops = Loops::default();
    let Some(gcc) = find_gcc(&Sdk::find(Part::Nanoservices)?) else {
        let why = "the loops: they need riscv64-unknown-elf-gcc (`pinion doctor`)";
        loops.left_out.push(why.to_owned());
        return Ok(loops);
    };
    let folder = std::env::temp_dir().join(format!("pinion-bench-{}", std::process::id()));
    let failed = |error: std::io::Error| Error::Usage(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let measured = all(&gcc.command, &folder, &mut loops);
    std::fs::remove_dir_all(&folder).map_err(failed)?;
    measured.map(|()| loops)
}

fn all(gcc: &[String], folder: &Path, loops: &mut Loops) -> Result<()> {
    let others = [
        ("qemu-system-riscv64", &["-M", "virt", "-bios", "none", "-nographic", "-kernel"][..]),
        ("spike", &["--isa=rv64gc"][..]),
    ];
    for (name, body, a_turn) in LOOPS {
        let few = compile(gcc, folder, body, 1)?;
        let ours = on_a_nanopu(&compile(gcc, folder, body, TURNS)?, TURNS)?;
        let mut row = |simulator: &str, instructions: u64, processor_seconds: f64| {
            let mips = instructions as f64 / 1e6 / processor_seconds.max(1e-6);
            let simulator = simulator.to_owned();
            loops.rows.push(Row { name, simulator, instructions, processor_seconds, mips });
        };
        row("pinion", ours.0, ours.1);
        for (other, options) in others {
            if on_path(other).is_none() {
                continue;
            }
            let many = compile(gcc, folder, body, TURNS_WITHOUT_TIMING)?;
            // Without the time to start.
            let seconds = elsewhere(other, options, &many)? - elsewhere(other, options, &few)?;
            row(other, a_turn * TURNS_WITHOUT_TIMING, seconds);
        }
    }
    let absent = others.iter().filter(|(other, _)| on_path(other).is_none());
    loops.left_out.extend(absent.map(|(other, _)| format!("{other}, which is not installed")));
    Ok(())
}

/// Compiles a loop of so many turns.
fn compile(gcc: &[String], folder: &Path, body: &str, turns: u64) -> Result<PathBuf> {
    let source = folder.join("loop.S");
    let elf = folder.join(format!("{turns}.elf"));
    let text = format!(
        ".globl _start, tohost\n.text\n_start: csrr t0, mhartid\n1: bnez t0, 1b\nla s0, data\n\
         addi s1, s0, 64\nli t0, 1\nli a0, {turns}\n.balign 64\n2: {body}\naddi a0, a0, -1\n\
         bnez a0, 2b\nla t1, tohost\nsd t0, 0(t1)\nli t1, 0x100000\nli t2, 0x5555\n\
         sw t2, 0(t1)\n3: j 3b\n.balign 4096\ndata: .zero 128\n.balign 64\ntohost: .dword 0\n\
         .globl fromhost\nfromhost: .dword 0\n"
    );
    let failed = |why: String| Error::Usage(format!("{}: {why}", source.display()));
    std::fs::write(&source, text).map_err(|error| failed(error.to_string()))?;
    let options = ["-march=rv64gc", "-mabi=lp64d", "-nostdlib", "-static", "-Wl,-Ttext=0x80000000"];
    let output = Command::new(&gcc[0])
        .args(&gcc[1..])
        .args(options)
        .args(["-Wl,-N", "-o"])
        .arg(&elf)
        .arg(&source)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(elf),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// Runs a loop on one core of the nanoPU; gives instructions and processor time.
fn on_a_nanopu(elf: &Path, turns: u64) -> Result<(u64, f64)> {
    let machine = machine::load::<Machine>("nanopu", &["core.count=1".to_owned()], false)?.value;
    let wrong = |why: String| Error::Usage(format!("{}: {why}", elf.display()));
    let bytes = std::fs::read(elf).map_err(|error| wrong(error.to_string()))?;
    let image =
        Image::parse_for::<u64>(&bytes, "loop").map_err(|error| wrong(error.to_string()))?;
    let address = machine.address.parse().map_err(|_| wrong("no address".to_owned()))?;
    let mut node =
        Node::new(&machine, address, &image).map_err(|error| wrong(error.to_string()))?;
    let begun = processor_seconds(UsageWho::RUSAGE_SELF);
    let most = 1_000_000 + turns * MOST_CYCLES_A_TURN;
    let progress = node.run_until(most, &mut |_: u64, _: u64, _: &[u8]| {}, &mut Deaf);
    let seconds = processor_seconds(UsageWho::RUSAGE_SELF) - begun;
    match progress {
        Progress::Exited { code: 0, .. } => Ok((node.core(0).hart.instret, seconds)),
        other => Err(wrong(format!("it ended as {other:?}"))),
    }
}

/// Runs a loop on another simulator; gives its processor time.
fn elsewhere(program: &str, options: &[&str], elf: &Path) -> Result<f64> {
    let begun = processor_seconds(UsageWho::RUSAGE_CHILDREN);
    let run = Command::new(program)
        .args(options)
        .arg(elf)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match run {
        Ok(status) if status.success() => Ok(processor_seconds(UsageWho::RUSAGE_CHILDREN) - begun),
        Ok(status) => Err(Error::Usage(format!("{program} {}: {status}", elf.display()))),
        Err(error) => Err(Error::Usage(format!("{program}: {error}"))),
    }
}
