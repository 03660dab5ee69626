//! `--untrusted` from outside: a folder that asks for more than code is refused by every verb before a
//! compiler runs, and nothing is written where it leads elsewhere.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const MANIFEST: &str = "sources = [\"a.c\"]\n[[context]]\nname = \"all\"\npayload = \"a_ph\"\n";

/// A folder of its own, removed at the end, with an application and a compiler that leaves a trace.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, keys: &str) -> Self {
        let dir =
            std::env::temp_dir().join(format!("pinion-untrusted-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("app")).unwrap();
        let folder = Self(dir);
        folder.manifest(keys);
        fs::write(folder.0.join("app/a.c"), "void a_ph(void) {}\n").unwrap();
        fs::write(folder.0.join("cc"), "#!/bin/sh\necho \"$@\" >>\"$0.ran\"\nexit 1\n").unwrap();
        fs::set_permissions(folder.0.join("cc"), fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    fn manifest(&self, keys: &str) {
        fs::write(self.0.join("app/app.toml"), format!("[app]\n{keys}{MANIFEST}")).unwrap();
    }

    /// Runs the command; gives its status and what it said.
    fn pinion(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk");
        let output = Command::new(env!("CARGO_BIN_EXE_pinion"))
            .args(arguments)
            .current_dir(&self.0)
            .env("PINION_SDK", sdk)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Tells what the compiler was asked for, if it ran.
    fn compiled(&self) -> Option<String> {
        fs::read_to_string(self.0.join("cc.ran")).ok()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const VERBS: [&[&str]; 5] = [
    &["build", "app", "--cc", "./cc"],
    &["run", "app", "--cc", "./cc", "--generate", "udp,count=1"],
    &["trace", "app", "--cc", "./cc", "--generate", "udp,count=1"],
    &["sweep", "app", "--cc", "./cc", "--generate", "udp,count=1", "--set", "cluster.count=1"],
    &["up", "app", "--cc", "./cc", "--tap", "none"],
];

#[test]
fn every_verb_refuses_options_that_run_something() {
    for flags in ["[\"-wrapper\", \"sh,-c,id\"]", "[\"-O2\", \"-fplugin=./a.so\"]", "[\"@more\"]"] {
        let folder = Folder::new("flags", &format!("cflags = {flags}\n"));
        for verb in VERBS {
            let (status, said) = folder.pinion(&[verb, &["--untrusted"]].concat());
            assert_eq!(status, Some(2), "{verb:?}: {said}");
            let part = "--untrusted does not allow the compiler option";
            assert!(said.contains(part) && said.contains("app.toml, line 2"), "{verb:?}: {said}");
            assert_eq!(folder.compiled(), None, "{verb:?}");
        }
        // Without it they reach the compiler: this is what it keeps away.
        folder.pinion(VERBS[0]);
        assert!(folder.compiled().is_some());
    }
}

#[test]
fn harmless_options_reach_the_compiler() {
    let folder = Folder::new("harmless", "cflags = [\"-O1\", \"-funroll-loops\", \"-DX=1\"]\n");
    let (_, said) = folder.pinion(&[VERBS[0], &["--untrusted"]].concat());
    assert!(said.contains("could not build"), "{said}");
    assert!(folder.compiled().unwrap().contains("-O1 -funroll-loops -DX=1"));
}

/// With walls it is compiled like anything else; without them it is refused before.
#[test]
fn the_native_engine_needs_walls() {
    let folder = Folder::new("native", "");
    for verb in [VERBS[1], VERBS[4]] {
        let (status, said) =
            folder.pinion(&[verb, &["--untrusted", "--engine", "native"]].concat());
        assert_eq!(status, Some(2), "{said}");
        match said.contains("wants walls around them") {
            true => assert_eq!(folder.compiled(), None),
            false => assert!(said.contains("could not build"), "{said}"),
        }
    }
}

#[test]
fn verbs_that_run_host_programs_do_not_have_it() {
    let folder = Folder::new("host", "");
    let verbs: [&[&str]; 3] = [
        &["nic", "--tap", "none"],
        &["fpspin", "compile", "app/a.c", "-o", "x"],
        &["pspin", "compile", "app/a.c", "--out", "x"],
    ];
    for verb in verbs {
        let (status, said) = folder.pinion(&[verb, &["--untrusted"]].concat());
        assert_eq!(status, Some(2), "{verb:?}: {said}");
        assert!(said.contains("--untrusted"), "{verb:?}: {said}");
    }
    assert!(!folder.0.join("x").exists());
}

#[test]
fn files_lie_in_the_folder() {
    let folder = Folder::new("paths", "");
    fs::write(folder.0.join("secret.c"), "int secret;\n").unwrap();
    symlink("../secret.c", folder.0.join("app/link.c")).unwrap();
    let refused = |key: &str, keys: &str| {
        folder.manifest(keys);
        let (status, said) = folder.pinion(&[VERBS[0], &["--untrusted"]].concat());
        assert_eq!(status, Some(2), "{keys}: {said}");
        assert!(said.contains(key) && said.contains("lies outside"), "{keys}: {said}");
        assert_eq!(folder.compiled(), None);
    };
    refused("include_dirs", "include_dirs = [\"/usr\"]\n");
    refused("include_dirs", "include_dirs = [\"..\"]\n");
    for source in ["../secret.c", "link.c"] {
        let text = format!("[app]\nsources = [\"{source}\"]\n[[context]]\nname = \"a\"\n");
        fs::write(folder.0.join("app/app.toml"), text + "payload = \"a_ph\"\n").unwrap();
        let (status, said) = folder.pinion(&[VERBS[0], &["--untrusted"]].concat());
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("app.sources") && said.contains("lies outside"), "{said}");
    }
    assert_eq!(folder.compiled(), None);
}

#[test]
fn nothing_is_written_through_links() {
    let folder = Folder::new("links", "name = \"app\"\n");
    fs::write(folder.0.join("mine"), "kept").unwrap();
    let verb = [VERBS[0], &["--untrusted", "--build-dir", "app/build"]].concat();
    folder.pinion(&verb);
    let mut place = folder.0.join("app/build");
    for _ in ["the application", "the way to build it"] {
        place = fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
    }
    fs::remove_file(folder.0.join("cc.ran")).unwrap();
    for name in ["app.lock", "app.ld", "app.stamp", "app.elf"] {
        let link = place.join(name);
        let _ = fs::remove_file(&link);
        symlink(folder.0.join("mine"), &link).unwrap();
        let (status, said) = folder.pinion(&verb);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(name) && said.contains("is a link"), "{said}");
        assert_eq!(fs::read_to_string(folder.0.join("mine")).unwrap(), "kept", "{name}");
        fs::remove_file(link).unwrap();
    }
    assert_eq!(folder.compiled(), None);
}

#[test]
fn nothing_is_written_into_the_folder() {
    let folder = Folder::new("inside", "name = \"app\"\n");
    symlink("..", folder.0.join("app/build")).unwrap();
    let (_, said) = folder.pinion(&[VERBS[0], &["--untrusted"]].concat());
    assert!(said.contains("could not build"), "{said}");
    let names = |path: &str| fs::read_dir(folder.0.join(path)).unwrap().count();
    assert_eq!(
        (names("app"), names(".")),
        (3, 3),
        "sources and link; the folder, cc and its trace"
    );
}

#[test]
fn what_never_ends_is_not_read() {
    let folder = Folder::new("endless", "");
    let manifest = folder.0.join("app/app.toml");
    let run = ["run", "app", "--untrusted", "--generate", "udp,count=1"];
    let refuses = |part: &str| {
        let (status, said) = folder.pinion(&run);
        assert!(status == Some(2) && said.contains(part), "{said}");
    };
    let made = Command::new("mkfifo").arg(folder.0.join("app/pipe")).status().unwrap();
    assert!(made.success());
    let context = "[[context]]\nname = \"all\"\npayload = \"a_ph\"\n";
    fs::write(&manifest, format!("[app]\nname = \"app\"\nelf = \"pipe\"\n{context}")).unwrap();
    refuses("neither file nor folder");
    let sparse = fs::File::create(folder.0.join("app/large")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    fs::write(&manifest, format!("[app]\nname = \"app\"\nelf = \"large\"\n{context}")).unwrap();
    refuses("longer than 256 MiB");
    for endless in ["/dev/zero", "pipe"] {
        fs::remove_file(&manifest).unwrap();
        symlink(endless, &manifest).unwrap();
        refuses("no plain file");
    }
}
