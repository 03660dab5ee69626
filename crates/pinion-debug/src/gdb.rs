//! gdb itself: where it is, whether it knows RISC-V, and how it is started on a session.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use pinion_app::error::{Error, Result};

/// Names under which a gdb that knows RISC-V is installed.
pub const NAMES: [&str; 4] =
    ["gdb-multiarch", "riscv64-unknown-elf-gdb", "riscv64-elf-gdb", "riscv32-unknown-elf-gdb"];

/// What to do where there is none.
pub const HOW_TO_GET: &str = "Debian and Ubuntu: apt-get install gdb-multiarch; macOS: brew install \
     riscv64-elf-gdb; or give one with --gdb PATH, or connect with another debugger by --listen \
     127.0.0.1:3333";

/// Finds an installed gdb.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Chooses the gdb that was given, or one that is installed, and checks that it knows RISC-V.
///
/// # Errors
/// When there is none, or it does not.
pub fn choose(given: Option<&Path>) -> Result<PathBuf> {
    let gdb = match given {
        Some(path) => path.to_owned(),
        None => {
            let why = || Error::Usage(format!("there is no gdb that knows RISC-V. {HOW_TO_GET}"));
            find().ok_or_else(why)?
        }
    };
    let asked = Command::new(&gdb)
        .args([
            "-nx",
            "-q",
            "-batch",
            "-ex",
            "set architecture riscv:rv32",
            "-ex",
            "show architecture",
        ])
        .output()
        .map_err(|error| Error::Usage(format!("cannot start {}: {error}", gdb.display())))?;
    let said = String::from_utf8_lossy(&asked.stdout);
    if said.contains("riscv") {
        return Ok(gdb);
    }
    Err(Error::Usage(format!("{} does not know RISC-V. {HOW_TO_GET}", gdb.display())))
}

/// Starts gdb on a program, if there is one, with a session at an address and further arguments.
///
/// # Errors
/// When it cannot be started.
pub fn start(
    gdb: &Path,
    elf: Option<&Path>,
    session: SocketAddr,
    more: &[String],
) -> Result<Child> {
    // Who steps through a handler wants to stay in it: others' stops wait for `continue`.
    let connect = format!("target remote {session}");
    // What repeats a run to answer takes longer than gdb waits for a computer that may be gone.
    let patience = "set remotetimeout 3600";
    Command::new(gdb)
        .args(["-q", "-readnow"])
        .args(elf)
        .args(["-ex", patience, "-ex", &connect, "-ex", "set scheduler-locking step"])
        .args(more)
        .spawn()
        .map_err(|error| Error::Usage(format!("cannot start {}: {error}", gdb.display())))
}
