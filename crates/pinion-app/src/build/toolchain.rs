//! Finds a compiler for the NIC's cores: Debian's gcc when it is installed, else the zig compiler
//! of the `ziglang` wheel in a project-local environment, or in the one that Pinion's own wheel was
//! installed into; `--cc` chooses.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fmt};

use crate::error::{Error, Result};

use super::sdk::{CompilerFlags, Part, Sdk};

/// Names the project-local Python environment with the zig compiler.
pub const ZIG_ENVIRONMENT: &str = ".toolchain/venv";

/// Names the environment variable with the Python that the package `pinion` runs in.
pub const PYTHON: &str = "PINION_PYTHON";

/// Keeps Python (3.11) from taking modules from the current folder.
pub(super) const PYTHON_SAFE_PATH: &str = "PYTHONSAFEPATH";

/// How to get the GNU compiler.
const GCC_INSTRUCTIONS: &str =
    "as root, apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf";

/// Lists what programs written for GNU's compiler may ask for and zig's has not, each with what zig then
/// says. All of the SDK and of the examples does without.
pub const ZIG_LACKS: [(&str, &str); 5] = [
    ("nested functions", "function definition is not allowed here"),
    ("linker options like -Map, --defsym, --wrap, --no-relax", "unsupported linker arg"),
    ("options that only gcc knows", "Unknown Clang option"),
    ("GNU's names for -march and -mtune", "unknown CPU"),
    ("libraries that come with gcc (-lgcc)", "unable to find dynamic system library"),
];

/// Keeps every Python from the current folder's modules and the environment's settings.
const ISOLATED: &str = "-I";

/// Tells which flags of the SDK a compiler takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// GNU compiler.
    Gcc,
    /// Zig's C compiler.
    Zig,
}

/// Names a compiler as a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Which flags it takes.
    pub family: Family,
    /// The program and its first arguments.
    pub command: Vec<String>,
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.command.join(" "))
    }
}

impl Compiler {
    /// Finds the compiler that `--cc` asks for (`gcc`, `zig` or the path of one), or the default.
    ///
    /// # Errors
    /// When it is not there; the message tells how to get one.
    pub fn find(choice: Option<&str>, sdk: &Sdk) -> Result<Self> {
        match choice {
            None => find_gcc(sdk).or_else(|| find_zig(sdk)).ok_or_else(|| none_found(sdk)),
            Some("gcc") if sdk.part == Part::Native => find_gcc(sdk).ok_or_else(|| none_found(sdk)),
            Some("gcc") => find_gcc(sdk).ok_or_else(|| {
                Error::CompilerMissing(format!(
                    "{} is not installed: {GCC_INSTRUCTIONS}; or use --cc zig",
                    sdk.file.value.gcc.command.join(" ")
                ))
            }),
            Some("zig") => find_zig(sdk).ok_or_else(|| {
                Error::CompilerMissing(format!(
                    "the zig compiler is not installed: {}",
                    zig_instructions(sdk)
                ))
            }),
            Some(path) => given(path),
        }
    }

    /// Finds a compiler in the same way, but none that lies in the current folder or around it: that may
    /// be somebody else's.
    ///
    /// # Errors
    /// As [`Compiler::find`].
    pub fn find_elsewhere(choice: Option<&str>, sdk: &Sdk) -> Result<Self> {
        let zig = || find_zig_elsewhere(sdk);
        match choice {
            None => find_gcc(sdk).or_else(zig).ok_or_else(|| none_found(sdk)),
            Some("zig") => zig().ok_or_else(|| {
                Error::CompilerMissing(
                    "there is no zig on the path or beside pinion, and --untrusted looks nowhere \
                     else; use --cc gcc, or the path of a compiler"
                        .to_owned(),
                )
            }),
            Some(_) => Self::find(choice, sdk),
        }
    }

    pub(super) fn flags<'a>(&self, sdk: &'a Sdk) -> &'a CompilerFlags {
        match self.family {
            Family::Gcc => &sdk.file.value.gcc,
            Family::Zig => &sdk.file.value.zig,
        }
    }

    /// Explains a failure by what the compiler lacks, as the end of a sentence; empty: not by that.
    pub(super) fn lacking(&self, output: &[u8]) -> String {
        let said = String::from_utf8_lossy(output);
        let lacking = ZIG_LACKS.iter().find(|(_, says)| said.contains(says));
        match lacking.filter(|_| self.family == Family::Zig) {
            Some((what, _)) => format!("; zig has no {what}, but gcc has: {GCC_INSTRUCTIONS}"),
            None => String::new(),
        }
    }

    /// Finds the file that is run, to notice when it changes.
    pub(super) fn executable(&self) -> Option<PathBuf> {
        on_path(&self.command[0])
    }
}

/// Tells how to get the zig compiler.
pub fn zig_instructions(sdk: &Sdk) -> String {
    let wheel = sdk.zig_wheel().unwrap_or("ziglang");
    format!(
        "python3 -m venv {ZIG_ENVIRONMENT} && {ZIG_ENVIRONMENT}/bin/pip install {wheel} (`make \
         setup` in the repository does it)"
    )
}

/// Looks for the GNU compiler the SDK names.
pub fn find_gcc(sdk: &Sdk) -> Option<Compiler> {
    let command = sdk.file.value.gcc.command.clone();
    on_path(command.first()?)?;
    Some(Compiler { family: Family::Gcc, command })
}

/// Looks for the zig compiler: the project-local environment, the one that this executable or the
/// Python package lies in, then what Python or the path have.
pub fn find_zig(sdk: &Sdk) -> Option<Compiler> {
    let local = zig_environment().or_else(own_environment);
    let local = local.map(|python| python.display().to_string());
    let python = local.or_else(|| has_module("python3", &[]).then(|| "python3".to_owned()));
    let mut command = sdk.file.value.zig.command.clone();
    match python {
        Some(python) => *command.first_mut()? = python,
        None if on_path("zig").is_some() => command = vec!["zig".to_owned(), "cc".to_owned()],
        None => return None,
    }
    Some(Compiler { family: Family::Zig, command })
}

/// Finds the Python that Pinion's wheel was installed for, if `ziglang` is there too: beside this
/// executable (`pipx`, `uvx`), or the one that the package runs in.
fn own_environment() -> Option<PathBuf> {
    let executable = env::current_exe().ok();
    let beside = executable.as_deref().and_then(Path::parent).map(|dir| dir.join("python"));
    let has_zig = |python: &PathBuf| python.exists() && environment_has_zig(python);
    beside.filter(has_zig).or_else(|| {
        let python = env::var_os(PYTHON).filter(|python| !python.is_empty())?;
        has_module(&python, &[ISOLATED]).then(|| PathBuf::from(python))
    })
}

/// Looks for the zig compiler on the path, in the repository that the executable lies in, and in the
/// environment that it was installed into.
fn find_zig_elsewhere(sdk: &Sdk) -> Option<Compiler> {
    let root = crate::assets::repository();
    let python = root.map(|root| root.join(ZIG_ENVIRONMENT).join("bin/python"));
    let python = python.filter(|python| python.exists() && environment_has_zig(python));
    let command = match python.or_else(own_environment) {
        Some(python) => {
            let mut command = sdk.file.value.zig.command.clone();
            *command.first_mut()? = python.display().to_string();
            command.insert(1, ISOLATED.to_owned());
            command
        }
        None => {
            on_path("zig")?;
            vec!["zig".to_owned(), "cc".to_owned()]
        }
    };
    Some(Compiler { family: Family::Zig, command })
}

/// Finds the Python of the project-local environment, searching upwards from the current folder
/// and in the repository.
pub fn zig_environment() -> Option<PathBuf> {
    let here = env::current_dir().ok();
    let folders = here.iter().flat_map(|dir| dir.ancestors().map(Path::to_owned));
    let repository = crate::assets::repository();
    folders
        .chain(repository)
        .map(|dir| dir.join(ZIG_ENVIRONMENT).join("bin/python"))
        .find(|python| python.exists() && environment_has_zig(python))
}

fn environment_has_zig(python: &Path) -> bool {
    let Some(root) = python.parent().and_then(Path::parent) else { return false };
    let Ok(versions) = std::fs::read_dir(root.join("lib")) else { return false };
    versions.flatten().any(|entry| entry.path().join("site-packages/ziglang").is_dir())
}

fn has_module(python: impl AsRef<OsStr>, options: &[&str]) -> bool {
    let status = Command::new(python)
        .args(options)
        .args(["-c", "import ziglang"])
        .env(PYTHON_SAFE_PATH, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn given(path: &str) -> Result<Compiler> {
    if on_path(path).is_none() {
        return Err(Error::CompilerMissing(format!(
            "there is no compiler `{path}`; --cc takes gcc, zig or the path of a RISC-V compiler"
        )));
    }
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    if name.unwrap_or_default().starts_with("zig") {
        return Ok(Compiler {
            family: Family::Zig,
            command: vec![path.to_owned(), "cc".to_owned()],
        });
    }
    Ok(Compiler { family: Family::Gcc, command: vec![path.to_owned()] })
}

fn none_found(sdk: &Sdk) -> Error {
    if sdk.part == Part::Native {
        return Error::CompilerMissing(format!(
            "no C compiler for this computer is installed: as root, apt-get install gcc; without \
             root, {}; `pinion doctor` tells what is there",
            zig_instructions(sdk)
        ));
    }
    Error::CompilerMissing(format!(
        "no compiler for the NIC's RISC-V cores is installed: {GCC_INSTRUCTIONS}; without root, {}; \
         `pinion doctor` tells what is there",
        zig_instructions(sdk)
    ))
}

/// Finds an executable as a shell would.
pub fn on_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_executable(path));
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mode = |meta: std::fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o111 != 0;
    std::fs::metadata(path).is_ok_and(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_what_zig_lacks_and_gcc_has() {
        let compiler = |family| Compiler { family, command: vec!["cc".to_owned()] };
        let said = b"error: unsupported linker arg: --wrap\n";
        let hint = compiler(Family::Zig).lacking(said);
        assert!(hint.contains("--wrap") && hint.contains("apt-get install gcc-riscv64"), "{hint}");
        assert_eq!(compiler(Family::Gcc).lacking(said), "");
        assert_eq!(compiler(Family::Zig).lacking(b"error: expected ';'"), "");
    }
}
