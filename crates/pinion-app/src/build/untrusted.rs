//! What a folder that is not trusted may ask of a build (`--untrusted`). In: a manifest and how it is
//! to be built. Out: leave, or what of it could run something on this computer, or reach files
//! outside of the folder.
//!
//! The compiler is a program of this computer, and its options can name further ones (`-wrapper`,
//! `-fplugin=`, `-B`) or files to write (`-o`, `-MF`, `-dumpdir`): so only those are let through that
//! change code and warnings, and everything unknown is refused.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::Options;
use crate::error::{Error, Result};
use crate::manifest::Manifest;

/// Lists options that are harmless as they are.
const EXACT: [&str; 18] = [
    "-O",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-Og",
    "-Oz",
    "-Ofast",
    "-g",
    "-w",
    "-pedantic",
    "-mrelax",
    "-mno-relax",
    "-msave-restore",
    "-mno-save-restore",
    "-mstrict-align",
    "-mno-strict-align",
];
/// Begin options whose plain value chooses a language, an instruction set or a warning.
const WITH_VALUE: [&str; 7] =
    ["-std=", "-march=", "-mabi=", "-mtune=", "-mcmodel=", "-mbranch-cost=", "-W"];
/// Names what `-f` and `-fno-` may switch, with a number behind `=` if there is one.
const CODE_GENERATION: [&str; 50] = [
    "align-functions",
    "align-jumps",
    "align-labels",
    "align-loops",
    "associative-math",
    "builtin",
    "common",
    "data-sections",
    "delete-null-pointer-checks",
    "exceptions",
    "fast-math",
    "finite-math-only",
    "fp-contract",
    "freestanding",
    "function-sections",
    "gcse",
    "if-conversion",
    "inline",
    "inline-functions",
    "inline-limit",
    "inline-small-functions",
    "ivopts",
    "jump-tables",
    "math-errno",
    "merge-constants",
    "omit-frame-pointer",
    "optimize-sibling-calls",
    "peel-loops",
    "reciprocal-math",
    "reorder-blocks",
    "rounding-math",
    "rtti",
    "schedule-insns",
    "schedule-insns2",
    "short-enums",
    "signed-char",
    "signed-zeros",
    "strict-aliasing",
    "strict-overflow",
    "threadsafe-statics",
    "trapping-math",
    "trapv",
    "tree-loop-distribute-patterns",
    "tree-vectorize",
    "unroll-all-loops",
    "unroll-loops",
    "unsafe-math-optimizations",
    "unsigned-char",
    "web",
    "wrapv",
];

/// Refuses what a folder must not ask for, if it is not trusted.
///
/// # Errors
/// Names the key of the manifest, or the option of the command line.
pub fn check(manifest: &Manifest, options: &Options) -> Result<()> {
    if !options.untrusted {
        return Ok(());
    }
    let app = &manifest.app;
    for (key, flags) in [("app.cflags", &app.cflags), ("app.cxxflags", &app.cxxflags)] {
        let Some(flag) = flags.iter().find(|flag| !is_harmless(flag)) else { continue };
        let problem = format!(
            "--untrusted does not allow the compiler option `{flag}`: it allows -O…, -g, -std=…, \
             -D…, -U…, -W…, and those of -f… and -m… that change nothing but code; leave it out, or \
             run without --untrusted what you trust"
        );
        return Err(manifest.error_at(key, problem).into());
    }
    check_paths(manifest)
}

/// Bytes of a file that a manifest names, at most.
const LARGEST_BYTES: u64 = 256 << 20;

/// Tells whether an option of the compiler can do nothing but change code or warnings.
fn is_harmless(flag: &str) -> bool {
    let is_plain =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_=+-.:".contains(c));
    let has_value = |start: &&str| flag.strip_prefix(*start).is_some_and(|v| !v.is_empty());
    if EXACT.contains(&flag) || ["-D", "-U"].iter().any(has_value) {
        return true;
    }
    if let Some(switch) = flag.strip_prefix("-f") {
        let (name, value) = switch.split_once('=').unwrap_or((switch, "0"));
        let name = name.strip_prefix("no-").unwrap_or(name);
        let is_known = CODE_GENERATION.contains(&name) || name.starts_with("builtin-");
        return is_known && is_plain(name) && is_plain(value);
    }
    let is_level =
        flag.strip_prefix("-g").is_some_and(|level| ["0", "1", "2", "3"].contains(&level));
    is_level || WITH_VALUE.iter().any(has_value) && is_plain(flag)
}

/// Refuses files of the manifest that lie outside of its folder, links followed, and what is no file or never
/// ends.
fn check_paths(manifest: &Manifest) -> Result<()> {
    let resolve = |path: &Path| path.canonicalize();
    let dir = resolve(&manifest.dir).map_err(|error| Error::file("use", &manifest.dir, error))?;
    for (key, path) in manifest.files() {
        // What does not exist is for others to complain about.
        let Ok(found) = resolve(path) else { continue };
        if !found.starts_with(&dir) {
            let problem = format!(
                "`{}` lies outside of the application's folder, which --untrusted does not allow",
                path.display()
            );
            return Err(manifest.error_at(&key, problem).into());
        }
        // A pipe is never at its end.
        let is_usable = fs::metadata(&found)
            .is_ok_and(|meta| meta.is_dir() || meta.is_file() && meta.len() <= LARGEST_BYTES);
        if !is_usable {
            let problem = format!(
                "`{}` is neither file nor folder, or longer than {} MiB, which --untrusted does not allow",
                path.display(),
                LARGEST_BYTES >> 20
            );
            return Err(manifest.error_at(&key, problem).into());
        }
    }
    Ok(())
}

/// Refuses to write a program where the folder leads elsewhere: it must be a folder, and what lies
/// there files and folders, not links.
///
/// # Errors
/// Names the link.
pub fn check_outputs(folder: &Path) -> Result<()> {
    let refuse = |path: &Path| {
        Err(Error::Usage(format!(
            "{} is a link, or neither file nor folder: with --untrusted nothing is written there; \
             remove it, or give --build-dir",
            path.display()
        )))
    };
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Ok(meta) if meta.is_dir() => {}
        _ => return refuse(folder),
    }
    let entries = fs::read_dir(folder).map_err(|error| Error::file("read", folder, error))?;
    for entry in entries {
        let path = entry.map_err(|error| Error::file("read", folder, error))?.path();
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() || is_plain_file(&meta) => {}
            _ => return refuse(&path),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_plain_file(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    meta.is_file() && meta.nlink() == 1
}

#[cfg(not(unix))]
fn is_plain_file(meta: &fs::Metadata) -> bool {
    meta.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_change_code_alone_are_allowed() {
        for flag in [
            "-O3",
            "-g",
            "-g3",
            "-DX",
            "-DPATH=\"/a b\"",
            "-UX",
            "-std=gnu11",
            "-Wall",
            "-Wno-unused",
            "-Wframe-larger-than=512",
            "-funroll-loops",
            "-fno-inline",
            "-finline-limit=100",
            "-fno-builtin-memcpy",
            "-march=rv32imac",
            "-mabi=ilp32",
            "-ffp-contract=off",
            "-mno-relax",
            "-Werror=vla",
        ] {
            assert!(is_harmless(flag), "{flag}");
        }
    }

    #[test]
    fn options_that_run_read_or_write_something_are_not() {
        for flag in [
            "-wrapper",
            "sh,-c,id",
            "-fplugin=./evil.so",
            "-fplugin-arg-x=1",
            "-B.",
            "-B",
            "-specs=x",
            "--specs=x",
            "@flags",
            "-Wl,-plugin,./evil.so",
            "-Wa,-o,x",
            "-Wp,-MD,x",
            "-Xlinker",
            "-Xassembler",
            "-Xclang",
            "-o",
            "-ox",
            "-MD",
            "-MF",
            "-MFx",
            "-save-temps",
            "-dumpdir",
            "-fdump-tree-all",
            "-fprofile-generate",
            "-fprofile-use=x",
            "-fuse-ld=x",
            "-flto",
            "-flto=8",
            "-ffile-prefix-map=a=b",
            "-include",
            "-imacros",
            "-I/etc",
            "-L/x",
            "-T",
            "-Tx",
            "-x",
            "-E",
            "-D",
            "-U",
            "-W",
            "-f",
            "",
            "id",
            "-fno-",
            "-mllvm",
            "-march=x,y",
            "-std=",
            "-print-search-dirs",
            "-iplugindir=x",
            "-aux-info",
            "-no-canonical-prefixes",
            "-isystem",
            "-nostdlib",
            "-wrapper=x",
            "-fdiagnostics-format=sarif-file",
            "-fcallgraph-info",
            "-fstack-usage",
            "-ftime-trace=x",
            "-fmodules-cache-path=x",
        ] {
            assert!(!is_harmless(flag), "{flag}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_links() {
        use std::os::unix::fs::symlink;
        let dir = std::env::temp_dir().join(format!("pinion-untrusted-{}", std::process::id()));
        fs::create_dir_all(dir.join("build")).unwrap();
        fs::write(dir.join("mine"), "kept").unwrap();
        let (folder, elf) = (dir.join("build"), dir.join("build/a.elf"));
        let check = || check_outputs(&folder);
        assert!(check().is_ok(), "nothing there yet");
        fs::write(&elf, "").unwrap();
        assert!(check().is_ok());
        fs::remove_file(&elf).unwrap();
        symlink(dir.join("mine"), &elf).unwrap();
        assert!(check().unwrap_err().to_string().contains("a.elf is a link"));
        fs::remove_file(&elf).unwrap();
        fs::hard_link(dir.join("mine"), &elf).unwrap();
        assert!(check().is_err());
        fs::remove_dir_all(&folder).unwrap();
        symlink(&dir, &folder).unwrap();
        assert!(check().unwrap_err().to_string().contains("build is a link"));
        fs::remove_dir_all(dir).unwrap();
    }
}
