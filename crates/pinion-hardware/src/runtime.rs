//! Keeps what of a block's library is Verilator's own, which is the same in all of them. In: the folder in which a
//! library is to be made, or was. Out: objects there that `make` need not compile, or a copy of those it compiled.

use std::fs;
use std::path::{Path, PathBuf};

use pinion_app::assets::fnv1a;

use crate::verilator::Verilator;

/// Verilator's own objects, in a folder of the cache.
#[derive(Clone, Debug)]
pub struct Runtime {
    folder: PathBuf,
}

impl Runtime {
    /// Finds the folder of those that a library in `made` needs: they differ by Verilator, by what the block uses of
    /// it, and by how they are compiled, which `how` says.
    pub fn of(cache: &Path, made: &Path, verilator: &Verilator, how: &[&str]) -> Self {
        let listed = fs::read_to_string(made.join("Vblock_classes.mk")).unwrap_or_default();
        let switches: Vec<&str> =
            listed.lines().filter(|line| line.starts_with("VM_") && line.contains(" = ")).collect();
        let digested =
            format!("{} {} {how:?} {switches:?}", verilator.program.display(), verilator.version);
        Self { folder: cache.join(format!("verilator-{:016x}", fnv1a(digested.bytes()))) }
    }

    /// Copies the objects that are there into a library's folder; gives their names.
    pub fn bring(&self, made: &Path) -> Vec<String> {
        let copied = |path: PathBuf| {
            let name = path.file_name()?.to_str()?.to_owned();
            fs::copy(&path, made.join(&name)).ok()?;
            Some(name)
        };
        objects(&self.folder).into_iter().filter_map(copied).collect()
    }

    /// Keeps the objects of a library that has been made, unless there are some. Where that fails, as on a full disk,
    /// the next library compiles its own.
    pub fn keep(&self, made: &Path) {
        let Some(cache) = self.folder.parent().filter(|_| !self.folder.exists()) else { return };
        let Ok(fresh) = tempfile::Builder::new().prefix(".kept-").tempdir_in(cache) else { return };
        let copy = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            fs::copy(path, fresh.path().join("objects").join(name)).is_ok()
        };
        let is_whole =
            fs::create_dir(fresh.path().join("objects")).is_ok() && objects(made).iter().all(copy);
        if is_whole {
            // What another process kept meanwhile is the same.
            let _ = fs::rename(fresh.path().join("objects"), &self.folder);
        }
    }
}

/// Gives Verilator's own objects in a folder.
fn objects(folder: &Path) -> Vec<PathBuf> {
    let is_own = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("verilated") && name.ends_with(".o")
    };
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verilator(version: &str) -> Verilator {
        Verilator { program: "verilator".into(), version: version.to_owned() }
    }

    #[test]
    fn objects_are_kept_for_those_alone_that_are_compiled_alike() {
        let cache = tempfile::tempdir().expect("a folder");
        let made = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(made.path().join(name), text).expect("a file");
        };
        write("Vblock_classes.mk", "VM_TIMING = 0\nVM_GLOBAL_FAST += \\\n  verilated \\\n");
        write("verilated.o", "own");
        write("Vblock__ALL.o", "the block's");
        let of = |version: &str, how: &[&str]| {
            Runtime::of(cache.path(), made.path(), &verilator(version), how)
        };
        let runtime = of("5.030", &["-fPIC"]);
        let next = tempfile::tempdir().expect("a folder");
        assert!(runtime.bring(next.path()).is_empty(), "nothing is there yet");
        runtime.keep(made.path());
        write("verilated.o", "another's");
        runtime.keep(made.path());
        assert_eq!(runtime.bring(next.path()), ["verilated.o"]);
        assert_eq!(fs::read_to_string(next.path().join("verilated.o")).expect("a file"), "own");
        for other in [of("5.032", &["-fPIC"]), of("5.030", &[])] {
            assert!(other.bring(next.path()).is_empty());
        }
        write("Vblock_classes.mk", "VM_TIMING = 1\n");
        assert!(of("5.030", &["-fPIC"]).bring(next.path()).is_empty());
        let left = fs::read_dir(cache.path()).expect("a folder").count();
        assert_eq!(left, 1, "nothing but the objects is left");
    }

    #[test]
    fn a_cache_that_cannot_be_written_does_no_harm() {
        let made = tempfile::tempdir().expect("a folder");
        fs::write(made.path().join("verilated.o"), "own").expect("a file");
        let runtime = Runtime::of(&made.path().join("no"), made.path(), &verilator("5.030"), &[]);
        runtime.keep(made.path());
        assert!(runtime.bring(made.path()).is_empty());
    }
}
