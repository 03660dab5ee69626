//! Where programs are built: in the user's cache or a chosen folder, never among the sources.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MANIFEST: &str = "[app]\nname = \"same\"\nsources = [\"a.c\"]\n\
                        [[context]]\nname = \"all\"\npayload = \"a_ph\"\n";
const TRAFFIC: [&str; 2] = ["--generate", "udp,size=64,count=10"];

/// A folder of its own with a cache in it, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("pinion-place-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
        Self(dir)
    }

    /// Makes an application whose handler counts from a number.
    fn app(&self, path: &str, number: u32) {
        let dir = self.0.join(path);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("app.toml"), MANIFEST).unwrap();
        let code = format!("#include <handler.h>\nvolatile int number = {number};\n");
        let handler = "__handler__ void a_ph(handler_args_t *args) { number++; }\n";
        fs::write(dir.join("a.c"), code + handler).unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk");
        command.current_dir(&self.0).env("PINION_SDK", sdk);
        command.env("XDG_CACHE_HOME", self.0.join("cache"));
        command
    }

    fn pinion(&self, arguments: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_pinion")).args(arguments).output().unwrap()
    }

    /// Builds an application and gives the ELF that is printed.
    fn build(&self, arguments: &[&str]) -> PathBuf {
        let text = succeeds(&self.pinion(&[&["build"], arguments].concat()));
        self.0.join(text.split_once(": ").unwrap().0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn succeeds(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn has_gcc() -> bool {
    Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_ok()
}

#[test]
fn a_folder_that_is_read_only_builds_and_runs() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("read-only");
    folder.app("app", 1);
    let app = folder.0.join("app");
    fs::set_permissions(&app, fs::Permissions::from_mode(0o555)).unwrap();
    let elf = folder.build(&["app"]);
    assert!(elf.starts_with(folder.0.join("cache/pinion/build")), "{}", elf.display());
    succeeds(&folder.pinion(&[&["run", "app"], &TRAFFIC[..]].concat()));
    assert_eq!(names(&app), BTreeSet::from(["a.c", "app.toml"].map(str::to_owned)));
    fs::set_permissions(&app, fs::Permissions::from_mode(0o755)).unwrap();
    // Root writes where modes forbid it, but not on what is mounted read-only.
    let script = "mount --bind app app && mount -o remount,ro,bind app || exit 77
                  touch app/written 2>/dev/null && exit 77
                  rm -rf cache; \"$0\" build app && exec \"$0\" run app --generate udp,count=3";
    let mut command = folder.command("unshare");
    command.args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_pinion")]);
    match command.output() {
        Ok(output) if output.status.code() != Some(77) && is_allowed(&output) => {
            succeeds(&output);
        }
        _ => {}
    }
}

/// Tells whether `unshare` was allowed to do what it was asked for.
fn is_allowed(output: &Output) -> bool {
    !String::from_utf8_lossy(&output.stderr).contains("unshare")
}

#[test]
fn the_same_sources_give_the_same_bytes() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("bytes");
    folder.app("app", 1);
    folder.app("service", 1);
    let service = "[app]\nname = \"same\"\nsources = [\"a.c\"]\n[nanoservice]\n";
    fs::write(folder.0.join("service/app.toml"), service).unwrap();
    fs::write(folder.0.join("service/a.c"), "int main(void) { return 0; }\n").unwrap();
    for app in ["app", "service"] {
        let [one, other] = [0, 1].map(|_| {
            let elf = folder.build(&[app, "--force"]);
            fs::read(elf).unwrap()
        });
        assert!(one == other, "{app}: a second build differs");
    }
}

#[test]
fn each_sdk_has_a_program_of_its_own() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("sdks");
    folder.app("app", 1);
    let build = |sdk: Option<&str>| {
        let mut command = folder.command(env!("CARGO_BIN_EXE_pinion"));
        if let Some(sdk) = sdk {
            command.env("PINION_SDK", folder.0.join(sdk));
        }
        let text = succeeds(&command.args(["build", "app"]).output().unwrap());
        let (elf, rest) = text.split_once(": ").unwrap();
        (elf.to_owned(), rest.to_owned())
    };
    let sdk = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk");
    let copied = Command::new("cp").args(["-r", sdk]).arg(folder.0.join("sdk")).status();
    assert!(copied.unwrap().success());
    let (first, _) = build(None);
    let (other, _) = build(Some("sdk"));
    assert_ne!(first, other);
    let (again, said) = build(None);
    assert_eq!(first, again);
    assert!(said.starts_with("up to date"), "{said}");
}

#[test]
fn namesakes_have_their_own() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("namesakes");
    folder.app("one/app", 1);
    folder.app("other/app", 2);
    for chosen in [&[][..], &["--build-dir", "chosen"]] {
        let [one, other] =
            ["one/app", "other/app"].map(|app| folder.build(&[&[app], chosen].concat()));
        assert_ne!(one, other);
        assert_ne!(fs::read(&one).unwrap(), fs::read(&other).unwrap());
        assert_eq!(one.starts_with(folder.0.join("chosen")), !chosen.is_empty());
        // The same folder by another path.
        assert_eq!(folder.build(&[&["one/../one/app"], chosen].concat()), one);
    }
    let both = folder.build(&["one/app", "--build-dir", "chosen", "--out", "a.elf"]);
    assert_eq!(both, folder.0.join("a.elf"));
}

#[test]
fn a_program_for_a_debugger_is_another_one() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("build-type");
    folder.app("app", 1);
    let manifest = fs::read_to_string(folder.0.join("app/app.toml")).unwrap();
    let optimised = manifest.replace("sources", "cflags = [\"-O3\"]\nsources");
    fs::write(folder.0.join("app/app.toml"), optimised).unwrap();
    let plain = folder.build(&["app"]);
    let debug = folder.build(&["app", "--build-type", "debug"]);
    assert_ne!(plain, debug, "both are kept");
    assert_eq!(plain, folder.build(&["app", "--build-type", "release"]));
    let flags = |elf: &Path| String::from_utf8_lossy(&fs::read(elf).unwrap()).into_owned();
    // What the compiler writes of its options into debug information.
    assert!(flags(&plain).contains("-O3") && !flags(&plain).contains("-Og"));
    assert!(flags(&debug).contains("-Og"), "behind the application's own");
    let run = ["run", "app", "--build-type", "debug", "--quiet"];
    let run = folder.pinion(&[&run[..], &TRAFFIC].concat());
    succeeds(&run);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(said.contains("another program, with other cycles"), "{said}");
    for (arguments, part) in [
        (&["run", "app", "--elf", "a.elf", "--build-type", "debug"][..], "--elf"),
        (
            &["sweep", "app", "--set", "cluster.count=1,2", "--build-type", "debug"],
            "none to compare",
        ),
    ] {
        let refused = folder.pinion(arguments);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn several_at_a_time_do_not_meet() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("several");
    folder.app("app", 1);
    let start = |machine: &str| {
        let mut command = folder.command(env!("CARGO_BIN_EXE_pinion"));
        command.args(["run", "app", "--quiet", "--machine", machine]).args(TRAFFIC);
        command.spawn().unwrap()
    };
    let mut running: Vec<_> = ["pspin", "fpspin", "pspin", "fpspin"].map(start).into();
    for run in &mut running {
        assert!(run.wait().unwrap().success());
    }
    let builds = folder.0.join("cache/pinion/build");
    let [app] = &names(&builds).into_iter().collect::<Vec<_>>()[..] else { panic!("one folder") };
    let variants = names(&builds.join(app));
    assert_eq!(variants.len(), 3, "a folder for each machine, and whose they are: {variants:?}");
    for variant in variants.iter().filter(|name| *name != "application") {
        let files = names(&builds.join(app).join(variant));
        assert!(files.contains("same.elf"), "{files:?}");
        assert!(!files.iter().any(|name| name.contains("partial")), "{files:?}");
    }
}

#[test]
fn a_cluster_is_built_whole_and_each_program_once() {
    let Ok(true) = Command::new("riscv64-unknown-elf-gcc")
        .arg("--version")
        .output()
        .map(|done| done.status.success())
    else {
        return;
    };
    let folder = Folder::new("cluster");
    let cluster = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster_filter");
    let cluster = cluster.to_str().unwrap();
    let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let built = lines(succeeds(&folder.pinion(&["build", cluster, "--build-dir", "here"])));
    assert_eq!(built.len(), 3, "{built:?}");
    assert!(built.iter().all(|line| line.contains(": built with ")), "{built:?}");
    let again = lines(succeeds(&folder.pinion(&["build", cluster, "--build-dir", "here"])));
    assert!(again.iter().all(|line| line.contains(": up to date")), "{again:?}");
    let refused = folder.pinion(&["build", cluster, "--slot", "1"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--slot goes with one application"));
}
