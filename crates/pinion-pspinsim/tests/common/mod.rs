//! What the tests share: drivers compiled against the headers, linked with the library, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Gives this crate's folder.
pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Names a program of the ground truth.
pub fn elf(name: &str) -> PathBuf {
    here().join("../../tests/calibration/pspin/elf").join(format!("{name}.elf"))
}

/// Finds the folder in which cargo puts the library.
pub fn libraries() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let folder = exe.parent().unwrap().to_owned();
    assert!(folder.join("libpinion_pspinsim.so").is_file(), "{}", folder.display());
    folder
}

/// Makes a folder for a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compiles a driver and gives the program. What `PINION_TEST_CFLAGS` holds goes to the compiler too: a library
/// with the address sanitizer in it wants a driver with one.
pub fn compile(source: &str, compiler: &[&str]) -> PathBuf {
    let libraries = libraries();
    let program = folder(&format!("{source}{}", compiler.concat())).join("driver");
    let flags = std::env::var("PINION_TEST_CFLAGS").unwrap_or_default();
    let status = Command::new(compiler[0])
        .args(&compiler[1..])
        .args(flags.split_whitespace())
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here().join("../../sdk/pspinsim/include"))
        .arg(here().join("tests/drivers").join(source))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&libraries)
        .arg("-lpinion_pspinsim")
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .status()
        .unwrap();
    assert!(status.success(), "{source} does not compile");
    program
}

/// Runs a driver.
pub fn run(program: &Path, arguments: &[&Path], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    for name in ["PINION_MACHINE", "PINION_SET", "PINION_FAITHFUL", "PINION_ELF", "PSPIN_HW"] {
        command.env_remove(name);
    }
    // Cargo's own setting may name a folder with an older build.
    command.env("LD_LIBRARY_PATH", libraries());
    command.args(arguments).envs(environment.iter().copied()).output().unwrap()
}

/// Runs a driver that must find all well, and gives what it printed.
pub fn run_well(program: &Path, arguments: &[&Path], environment: &[(&str, &str)]) -> String {
    let output = run(program, arguments, environment);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{errors}");
    text
}
