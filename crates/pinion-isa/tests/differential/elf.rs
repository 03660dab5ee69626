//! Runs ELF executables on both sides: what they print, how they end and memory must agree.
//!
//! Such a program is linked to start at 0x8000_0000, prints to the serial port at 0x1000_0000,
//! ends through the finisher at 0x10_0000, and parks all harts but the first.

use std::path::{Path, PathBuf};
use std::process::Command;

use pinion_isa::elf::Image;
use pinion_isa::flat::{FlatMachine, Stop};

use crate::layout::{BASE, BYTES};
use crate::{config, qemu};

/// Runs an executable on both sides.
///
/// # Panics
/// When they disagree.
pub fn compare(emulator: &str, path: &Path) {
    let image = Image::read(path).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(image.entry, u64::from(BASE), "{}: starts elsewhere", path.display());
    let mut machine = FlatMachine::<u32>::new(&config(false), BASE, BYTES);
    machine.load_image(&image).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let before = machine.memory().to_vec();
    let stop = machine.run(1_000_000_000);
    let theirs = qemu::run(emulator, &before);
    let (ours, printed) = (String::from_utf8_lossy(&machine.console), &theirs.console);
    assert_eq!(ours, String::from_utf8_lossy(printed), "{}: prints", path.display());
    let code = match stop {
        Stop::Finished(code) => i32::from(code),
        other => panic!("{}: stopped with {other:?} at {:#x}", path.display(), machine.hart.pc),
    };
    assert_eq!(theirs.code, Some(code), "{}: exit code", path.display());
    let differs = machine.memory().iter().zip(&theirs.memory).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{}: memory at that offset", path.display());
    println!("{}: {} instructions agree", path.display(), machine.hart.instret);
}

/// Compiles the test programs in several ways; none without a compiler.
pub fn compile() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let compiler = "riscv64-unknown-elf-gcc";
    let mut programs = Vec::new();
    for optimisation in ["-O0", "-O2", "-Os"] {
        let elf = out.join(format!("mix{optimisation}.elf"));
        // With the 2.2 specification CSR instructions belong to the base, and gcc 12 finds libgcc.
        let status = Command::new(compiler)
            .args(["-march=rv32imac", "-mabi=ilp32", "-misa-spec=2.2", optimisation])
            .args(["-ffreestanding", "-nostdlib", "-nostartfiles", "-mstrict-align"])
            .args(["start.S", "mix.c", "-T", "link.ld", "-Wl,--no-warn-rwx-segments", "-lgcc"])
            .arg("-o")
            .arg(&elf)
            .current_dir(&folder)
            .status();
        match status {
            Ok(status) if status.success() => programs.push(elf),
            Ok(status) => panic!("{compiler} failed on tests/programs: {status}"),
            Err(_) => {
                eprintln!("skipped: {compiler} not found");
                break;
            }
        }
    }
    programs
}
