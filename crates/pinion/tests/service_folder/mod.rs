//! A folder with a nanoservice, and the command that runs it.

// Each test program takes what it needs.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use pinion::hardware::verilator;
use serde_json::Value;

/// Where Verilator is. The command looks for what `scripts/setup.sh` has brought above its own place and that
/// where it runs, and both may lie elsewhere.
static VERILATOR: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| verilator::find().ok().map(|found| found.program));

/// A folder of its own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("pinion-srun-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    /// Writes a nanoservice `app` that runs on one hart.
    pub fn service(&self, source: &str) {
        self.program("app.c", source, "harts = 1");
    }

    /// Writes a nanoservice `app` of one source; `settings` are the rest of its manifest.
    pub fn program(&self, name: &str, source: &str, settings: &str) {
        let sources = format!("name = \"app\"\nsources = [\"{name}\"]");
        let manifest = format!("[app]\n{sources}\n\n[nanoservice]\n{settings}\n");
        fs::create_dir_all(self.0.join("app")).unwrap();
        fs::write(self.0.join("app/app.toml"), manifest).unwrap();
        fs::write(self.0.join("app").join(name), source).unwrap();
    }

    pub fn pinion(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_pinion"))
            .args(arguments)
            .current_dir(&self.0)
            .env("PINION_SDK", repository().join("sdk"))
            .envs(VERILATOR.as_ref().map(|program| (verilator::VARIABLE, program)))
            .output()
            .unwrap()
    }

    /// Runs a nanoservice; gives the exit status, what it printed, and the summary.
    pub fn run(&self, app: &str, arguments: &[&str]) -> (i32, String, Value) {
        let all: Vec<&str> =
            [&["run", app, "--json", "summary.json", "--quiet"], arguments].concat();
        let output = self.pinion(&all);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let json = fs::read_to_string(self.0.join("summary.json"));
        let json = json.unwrap_or_else(|_| panic!("no summary: {said}"));
        let status = output.status.code().unwrap();
        (status, format!("{printed}{said}"), serde_json::from_str(&json).unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn example(name: &str) -> String {
    repository().join("examples").join(name).display().to_string()
}

pub fn has_gcc() -> bool {
    let found = Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_ok();
    if !found {
        eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
    }
    found
}
