//! Runs ELF executables on both sides: what they print, how they end and memory must agree.
//!
//! Such a program is linked to start at 0x8000_0000, prints to the serial port at 0x1000_0000,
//! ends through the finisher at 0x10_0000, and parks all harts but the first.

use std::path::{Path, PathBuf};
use std::process::Command;

use pinion_isa::Xlen;
use pinion_isa::elf::Image;
use pinion_isa::flat::{FlatMachine, Stop};

use crate::generate::Kind;
use crate::layout::{BASE, BYTES};
use crate::{config, qemu};

/// The compiler's name.
pub const COMPILER: &str = "riscv64-unknown-elf-gcc";

/// Says whether the compiler is there, or that tests are skipped.
///
/// # Panics
/// When it is missing but required.
pub fn compiler_found() -> bool {
    qemu::installed(COMPILER, "gcc-riscv64-unknown-elf")
}

/// Runs an executable on both sides.
///
/// # Panics
/// When they disagree.
pub fn compare<X: Xlen>(emulator: &str, path: &Path, kind: Kind) {
    let name = path.file_name().expect("it has a name").to_string_lossy();
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let image = Image::parse_for::<X>(&bytes, &name).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(image.entry, u64::from(BASE), "{}: starts elsewhere", path.display());
    let mut machine = FlatMachine::<X>::new(&config(kind, X::BITS == 64), X::from_u32(BASE), BYTES);
    machine.load_image(&image).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    compare_machine(emulator, &image.name, machine, kind);
}

/// Runs what is in a machine's memory on both sides; gives the machine after it.
///
/// # Panics
/// When they disagree.
pub fn compare_machine<X: Xlen>(
    emulator: &str,
    name: &str,
    mut machine: FlatMachine<X>,
    kind: Kind,
) -> FlatMachine<X> {
    let before = machine.memory().to_vec();
    let stop = machine.run(1_000_000_000);
    let theirs = qemu::run(emulator, &before, kind);
    let (ours, printed) = (String::from_utf8_lossy(&machine.console), &theirs.console);
    assert_eq!(ours, String::from_utf8_lossy(printed), "{name}: prints");
    let code = match stop {
        Stop::Finished(code) => i32::from(code),
        other => panic!("{name}: stopped with {other:?} at {:#x}", machine.hart.pc),
    };
    assert_eq!(theirs.code, Some(code), "{name}: exit code");
    let differs = machine.memory().iter().zip(&theirs.memory).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{name}: memory at that offset");
    // A program that traps ends so: it has compared little.
    assert_ne!(code, 99, "{name}: trapped");
    println!("{name}: {} instructions agree; it printed:\n{ours}", machine.hart.instret);
    machine
}

/// Compiles the integer test program in several ways; none without a compiler.
pub fn compile() -> Vec<PathBuf> {
    if !compiler_found() {
        return Vec::new();
    }
    // With the 2.2 specification CSR instructions belong to the base, and gcc 12 finds libgcc.
    let target = ["-march=rv32imac", "-mabi=ilp32", "-misa-spec=2.2", "-mstrict-align"];
    ["-O0", "-O2", "-Os"].map(|level| build("mix", level, &target)).into()
}

/// Compiles the floating-point test program in several ways; none without a compiler.
pub fn compile_float(wide: bool) -> Vec<PathBuf> {
    if !compiler_found() {
        return Vec::new();
    }
    let target = match wide {
        true => ["-march=rv64imafdc", "-mabi=lp64d", "-misa-spec=2.2", "-mcmodel=medany"],
        false => ["-march=rv32imafdc", "-mabi=ilp32d", "-misa-spec=2.2", "-mcmodel=medany"],
    };
    ["-O0", "-O2", "-Ofast"].map(|level| build("float", level, &target)).into()
}

fn build(program: &str, optimisation: &str, target: &[&str]) -> PathBuf {
    let name = format!("{program}{}{optimisation}.elf", target[0]);
    let elf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let status = Command::new(COMPILER)
        .args(target)
        .arg(optimisation)
        .args(["-ffreestanding", "-nostdlib", "-nostartfiles", "-fno-math-errno"])
        .args(["start.S", &format!("{program}.c")])
        .args(["-T", "link.ld", "-Wl,--no-warn-rwx-segments", "-lgcc", "-o"])
        .arg(&elf)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs"))
        .status()
        .expect("the compiler can be started");
    assert!(status.success(), "{COMPILER} failed on tests/programs: {status}");
    elf
}
