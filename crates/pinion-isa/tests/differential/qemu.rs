//! Runs a memory image on QEMU's bare `virt` machine and gives the memory back.
//!
//! QEMU's memory is a file that both sides map, so nothing needs to be printed.

use crate::generate::Kind;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Memory of the machine; the device tree goes to its upper end.
const MEMORY_BYTES: u64 = 32 << 20;
const PATIENCE: Duration = Duration::from_secs(120);

/// Finds the emulator for a register width, or says loudly that tests are skipped.
///
/// # Panics
/// When it is missing but required (`CI` or `PINION_REQUIRE_QEMU` is set).
pub fn find(wide: bool) -> Option<&'static str> {
    let name = if wide { "qemu-system-riscv64" } else { "qemu-system-riscv32" };
    installed(name, "qemu-system-misc").then_some(name)
}

/// Says whether a program is there; if not, says loudly that tests are skipped.
///
/// # Panics
/// When it is missing but required (`CI` or `PINION_REQUIRE_QEMU` is set).
pub fn installed(name: &str, package: &str) -> bool {
    let found = Command::new(name)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        let required =
            ["CI", "PINION_REQUIRE_QEMU"].iter().any(|name| std::env::var_os(name).is_some());
        assert!(!required, "{name} not found: install Debian's {package}");
        eprintln!("skipped: {name} not found: install Debian's {package}");
    }
    found
}

/// A file that disappears with its owner.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(folder.join(format!("pinion-isa-{}-{number}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Memory and what was printed after a run.
pub struct Finished {
    /// The first bytes of memory, as many as were given.
    pub memory: Vec<u8>,
    /// What went to the serial port.
    pub console: Vec<u8>,
    /// The code given to the finisher; none when it was not reached.
    pub code: Option<i32>,
}

/// Gives the extensions that a kind of program does without.
pub fn off(kind: Kind) -> Vec<&'static str> {
    let mut off = vec!["zba", "zbb", "zbc", "zbs", "h", "s", "mmu"];
    if kind == Kind::Integer {
        off.extend(["f", "d"]);
    }
    off
}

/// Runs from the first byte of memory until the program stores to the finisher.
///
/// # Panics
/// When QEMU cannot be run or does not finish in time.
pub fn run(emulator: &str, memory: &[u8], kind: Kind) -> Finished {
    run_without(emulator, memory, &off(kind))
}

/// The same, without some extensions.
///
/// # Panics
/// When QEMU cannot be run or does not finish in time.
pub fn run_without(emulator: &str, memory: &[u8], off: &[&str]) -> Finished {
    let (ram, serial) = (Temporary::new(), Temporary::new());
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(&ram.0)
        .expect("the shared memory file can be created");
    file.write_all(memory).expect("it can be written");
    file.set_len(MEMORY_BYTES).expect("it can be extended");
    drop(file);
    let width = if emulator.ends_with("64") { "rv64" } else { "rv32" };
    let off = off.iter().map(|extension| format!(",{extension}=false")).collect::<String>();
    let backend = format!(
        "memory-backend-file,id=ram,size={MEMORY_BYTES},share=on,mem-path={}",
        ram.0.display()
    );
    // A second hart, which sleeps, makes QEMU use true atomic operations: with one hart it runs
    // an AMO as a load and a store and reports a load fault where a store fault is due.
    let mut child = Command::new(emulator)
        .args(["-smp", "2", "-accel", "tcg,thread=multi"])
        .args(["-M", "virt,memory-backend=ram", "-m", &format!("{}M", MEMORY_BYTES >> 20)])
        .args(["-cpu", &format!("{width}{off}"), "-object", &backend])
        .args(["-bios", "none", "-display", "none", "-monitor", "none"])
        .args(["-serial", &format!("file:{}", serial.0.display())])
        .stdin(Stdio::null())
        .spawn()
        .expect("the emulator can be started");
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().expect("the emulator can be waited for") {
            Some(status) => break Some(status),
            None if Instant::now() > end => break None,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let mut after = std::fs::read(&ram.0).expect("the shared memory file can be read");
    after.truncate(memory.len());
    let console = std::fs::read(&serial.0).unwrap_or_default();
    let code = status.and_then(|status| status.code());
    if code.is_none() {
        eprintln!("{emulator} did not finish ({status:?})");
    }
    Finished { memory: after, console, code }
}
