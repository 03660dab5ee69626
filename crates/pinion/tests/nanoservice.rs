//! Nanoservices from outside: begun, built with the compiler that is there, refused when they use the
//! network registers for something else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir =
            std::env::temp_dir().join(format!("pinion-service-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn service(&self, table: &str, source: &str) {
        let manifest =
            format!("[app]\nname = \"app\"\nsources = [\"app.c\"]\n\n[nanoservice]\n{table}\n");
        fs::create_dir_all(self.0.join("app")).unwrap();
        fs::write(self.0.join("app/app.toml"), manifest).unwrap();
        fs::write(self.0.join("app/app.c"), source).unwrap();
    }

    fn pinion(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_pinion"))
            .args(arguments)
            .current_dir(&self.0)
            .env("PINION_SDK", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk"))
            .output()
            .unwrap()
    }

    fn builds(&self, app: &str) -> String {
        let output = self.pinion(&["build", app]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        assert_eq!(said, "", "warnings");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn has_gcc() -> bool {
    let found = Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_ok();
    if !found {
        eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
    }
    found
}

#[test]
fn a_new_nanoservice_builds_without_a_warning() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("new");
    let output = folder.pinion(&["new", "--nanoservice", "my-adder"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(folder.0.join("my-adder/my_adder.c").is_file());
    let text = folder.builds("my-adder");
    assert!(text.contains("4 harts"), "{text}");
    assert!(folder.builds("my-adder").contains("up to date"));
}

#[test]
fn the_number_of_harts_is_the_manifests() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("harts");
    folder.service("harts = 1", "int main(void) { return 0; }");
    assert!(folder.builds("app").contains(", 1 hart\n"));
    folder.service("harts = 16", "int main(void) { return 0; }");
    assert!(folder.builds("app").contains(", 16 harts\n"));
}

#[test]
fn a_program_that_holds_values_in_network_registers_is_refused() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("held");
    folder.service("", "int main(void) { asm volatile(\"li x31, 0x12345678\"); return 0; }");
    let output = folder.pinion(&["build", "app", "--out", "out/app.elf"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    for part in ["app.elf", "in `main`", "x30 may only be read", "lnic_write_i"] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    assert!(!folder.0.join("out/app.elf").exists());
}
