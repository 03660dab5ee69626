//! How the command ends: interrupted, with a disk that is full, with JSON on standard output, with
//! numbers that no machine has. Nothing is left half written, and the status tells which it was.
#![cfg(unix)]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Is the status of everything that was interrupted.
const INTERRUPTED: i32 = 130;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with an application whose program is built already, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("pinion-ends-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let folder = Self(dir);
        for (app, matched) in [("app", "udp"), ("deaf", "icmp.echo")] {
            let dir = folder.0.join(app);
            fs::create_dir_all(&dir).unwrap();
            let manifest = format!(
                "[app]\nname = \"{app}\"\nelf = \"app.elf\"\n\n[[context]]\nname = \"all\"\n\
                 match = [\"{matched}\"]\npayload = \"ph\"\nhost_memory = \"4KiB\"\n"
            );
            fs::write(dir.join("app.toml"), manifest).unwrap();
            let elf = repository().join("tests/calibration/pspin/elf/empty.elf");
            fs::copy(elf, dir.join("app.elf")).unwrap();
        }
        folder
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinion"));
        command.args(arguments).current_dir(&self.0).env("PINION_SDK", repository().join("sdk"));
        signals::reset(&mut command);
        command
    }

    fn pinion(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs on a disk that takes 512 bytes of each file, or 1,024, as the shell counts.
    fn on_a_small_disk(&self, arguments: &[&str]) -> Output {
        Command::new("sh")
            .args(["-c", "ulimit -f 1; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_pinion"))
            .args(arguments)
            .current_dir(&self.0)
            .output()
            .unwrap()
    }

    /// Lists what lies in the folder beside the applications.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name != "app" && name != "deaf").collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Signals as a terminal's shell leaves them to a command, whatever ran the tests: `nohup` passes
/// SIGHUP on ignored, and a script's `&` SIGINT.
mod signals {
    use std::process::Command;

    #[cfg(target_os = "linux")]
    pub fn reset(command: &mut Command) {
        use std::os::unix::process::CommandExt as _;

        use nix::sys::signal::{SigHandler, Signal, signal};
        let reset = || {
            for each in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
                // SAFETY: the default runs no code of ours.
                unsafe { signal(each, SigHandler::SigDfl) }?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec it calls sigaction, which is allowed there, and nothing else.
        unsafe { command.pre_exec(reset) };
    }

    #[cfg(not(target_os = "linux"))]
    pub fn reset(_: &mut Command) {}
}

/// A running command that does not outlive its test.
struct Running(Child);

impl Running {
    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until it has worked for a while itself, however long a slow computer takes to get there; what a compiler that it
    /// started works does not count.
    fn is_under_way(&self) {
        const CLOCK_TICKS: u64 = 40; // of 10 ms
        let stat = format!("/proc/{}/stat", self.0.id());
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(20));
            // Behind the name: the state, ten numbers, time in user and in system mode.
            let Ok(text) = fs::read_to_string(&stat) else {
                return std::thread::sleep(Duration::from_secs(2));
            };
            let fields = text.rsplit(')').next().unwrap().split_whitespace();
            let worked: u64 =
                fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
            if worked >= CLOCK_TICKS {
                return;
            }
        }
    }

    /// Waits for the end, which must not take long.
    fn end(&mut self, what: &str) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{what} goes on");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Packets without a rate and without an end.
const FOR_EVER: [&str; 2] = ["--generate", "udp,size=64,count=100000000000"];
/// A few.
const FEW: [&str; 2] = ["--generate", "udp,size=64,count=64"];

#[test]
fn interrupted_runs_end_in_order_with_one_status() {
    let matched = ["run", "app", "--json", "out.json", "--packets", "out.csv"];
    let unmatched = ["run", "deaf", "--json", "out.json", "--packets", "out.csv"];
    let trace = ["trace", "deaf", "--out", "trace.txt", "--json", "out.json"];
    let sweep = ["sweep", "deaf", "--set", "cluster.count=1,2", "--out", "."];
    let why = ["why", "app", "--json", "out.json", "--svg", "way.svg"];
    let profile = ["profile", "app", "--json", "out.json"];
    for (arguments, signal, files) in [
        (&matched[..], "INT", &["out.csv", "out.json"][..]),
        (&matched, "TERM", &["out.csv", "out.json"]),
        (&unmatched, "INT", &["out.csv", "out.json"]),
        (&unmatched, "HUP", &["out.csv", "out.json"]),
        (&trace, "TERM", &["out.json", "trace.txt"]),
        (&sweep, "INT", &[]),
        (&why, "INT", &[]),
        (&profile, "INT", &["out.json"]),
    ] {
        let folder = Folder::new("interrupted");
        let mut command = folder.command(arguments);
        command.args(FOR_EVER).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        running.is_under_way();
        running.signal(signal);
        let what = format!("{arguments:?}, SIG{signal}");
        let status = running.end(&what);
        let (mut text, mut errors) = (String::new(), String::new());
        running.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        running.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!(status.code(), Some(INTERRUPTED), "{what}: {text}{errors}");
        match arguments[0] {
            "sweep" => continue, // its journal is kept
            "run" => assert!(text.contains("interrupted"), "{what}: {text}"),
            "why" => assert!(errors.contains("interrupted"), "{what}: {errors}"),
            _ => {}
        }
        assert_eq!(folder.files(), files, "{what}");
        if files.is_empty() {
            continue;
        }
        let json = fs::read_to_string(folder.0.join("out.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let says = json.to_string().contains("\"interrupted\"");
        assert!(says || arguments[0] == "profile" && errors.contains("interrupted"), "{what}");
    }
}

/// What `nohup` ignores stays ignored.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_that_closes_ends_no_run_that_nohup_started() {
    let folder = Folder::new("nohup");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_pinion")]);
    command.args(["run", "deaf"]).args(FOR_EVER).current_dir(&folder.0);
    signals::reset(&mut command);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = Running(command.spawn().unwrap());
    running.is_under_way();
    running.signal("HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert!(running.0.try_wait().unwrap().is_none(), "SIGHUP ended it");
    running.signal("INT");
    assert_eq!(running.end("nohup").code(), Some(INTERRUPTED));
}

/// What does not watch for interruptions ends at once, with the same status.
#[test]
fn a_calibration_is_interrupted_with_the_same_status() {
    let folder = Folder::new("calibration");
    let set = repository().join("tests/calibration/pspin");
    for signal in ["INT", "TERM"] {
        let mut command = folder.command(&["calibrate", "--jobs", "1"]);
        // Often enough that it is not through before the signal comes.
        for _ in 0..40 {
            command.arg("--set").arg(&set);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Running(command.spawn().unwrap());
        running.is_under_way();
        running.signal(signal);
        assert_eq!(running.end("calibrate").code(), Some(INTERRUPTED), "{signal}");
    }
}

/// Whoever waits for a compiler ends with the same status too, and takes away what it had begun.
#[test]
#[cfg(target_os = "linux")]
fn what_waits_for_a_compiler_is_interrupted_with_the_same_status() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("compiler");
    let slow = folder.0.join("app/riscv64-unknown-elf-gcc");
    fs::write(&slow, "#!/bin/sh\nsleep 2\nexit 1\n").unwrap();
    fs::set_permissions(&slow, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.0.join("app/host.c"), "int main(void) { return 0; }\n").unwrap();
    let cc = slow.to_str().unwrap();
    let host = ["fpspin", "compile", "--cc", cc, "-o", "out/host", "app/host.c"];
    for (arguments, signal) in [(&host[..], "TERM"), (&host, "INT"), (&["doctor"], "TERM")] {
        let mut command = folder.command(arguments);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", slow.parent().unwrap().display()));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Running(command.spawn().unwrap());
        std::thread::sleep(Duration::from_secs(1));
        running.signal(signal);
        assert_eq!(running.end(arguments[0]).code(), Some(INTERRUPTED), "{arguments:?}");
        let left = fs::read_dir(folder.0.join("out")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{arguments:?} left something");
    }
}

/// `timeout` sends its signal to the process and then to the process's group.
#[test]
fn a_signal_that_comes_twice_at_once_is_one() {
    for _ in 0..3 {
        let folder = Folder::new("twice");
        let mut command = folder.command(&["run", "app", "--json", "out.json"]);
        command.args(FOR_EVER).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Running(command.spawn().unwrap());
        running.is_under_way();
        let pid = running.0.id().to_string();
        let status = Command::new("kill").args(["-INT", &pid, &pid, &pid]).status().unwrap();
        assert!(status.success());
        assert_eq!(running.end("SIGINT three times").code(), Some(INTERRUPTED));
        assert!(folder.0.join("out.json").exists());
    }
}

#[test]
fn packets_that_come_too_late_are_refused() {
    let folder = Folder::new("late");
    let slow = ["run", "app", "--generate", "udp,rate=1bit/s,count=5000", "--quiet"];
    let output = folder.pinion(&slow);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("arrives more than 106 days behind the first"), "{errors}");
}

#[test]
fn standard_output_that_cannot_be_written_is_told() {
    if !Path::new("/dev/full").exists() {
        eprintln!("there is no /dev/full: nothing tested");
        return;
    }
    let folder = Folder::new("full");
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = [&["run", "app"][..], &FEW].concat();
    let json = [&["run", "app", "--json", "-"][..], &FEW].concat();
    let trace = [&["trace", "app"][..], &FEW].concat();
    let others = [&["machine", "show", "pspin"][..], &["--help"]];
    for arguments in [&run[..], &json, &trace, others[0], others[1]] {
        let output = folder.command(arguments).stdout(full()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains("No space left"), "{arguments:?}: {text}");
    }
    // Nor does standard error bring it down.
    let status = folder.command(&["run", "nowhere"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_full_disk_leaves_no_file() {
    let folder = Folder::new("disk");
    let outputs = [
        (vec!["trace", "app", "--out", "trace.txt"], "trace"),
        (vec!["trace", "app", "--perfetto", "trace.pftrace"], "trace"),
        (vec!["run", "app", "--packets", "out.csv"], "out.csv"),
        (vec!["run", "deaf", "--unmatched-out", "out.pcap"], "out.pcap"),
        (vec!["run", "app", "--json", "out.json"], "out.json"),
        (vec!["run", "app", "--host-dump", "all=dump.bin"], "dump.bin"),
        (vec!["new", "some/where/demo"], "demo"),
    ];
    for (mut arguments, name) in outputs {
        let takes_packets = arguments[0] != "new";
        arguments.extend(FEW.iter().filter(|_| takes_packets));
        let output = folder.on_a_small_disk(&arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(name) && text.contains("too large"), "{arguments:?}: {text}");
        assert_eq!(folder.files(), [""; 0], "{arguments:?}");
    }
}

#[test]
fn json_goes_to_standard_output_alone() {
    let folder = Folder::new("json");
    let set = repository().join("tests/calibration/pspin").display().to_string();
    let run = [&["run", "app", "--json", "-"][..], &FEW].concat();
    let trace = [&["trace", "app", "--out", "trace.txt", "--json", "-"][..], &FEW].concat();
    let calibrate = ["calibrate", "--set", &set, "--row", "div_ind", "--json", "-"];
    for arguments in [&run[..], &trace, &calibrate] {
        let output = folder.pinion(arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        let value: Result<serde_json::Value, _> = serde_json::from_str(&text);
        assert!(value.is_ok(), "{arguments:?}: {text}");
    }
    let summary = String::from_utf8_lossy(&folder.pinion(&run).stderr).into_owned();
    assert!(summary.contains("packets in"), "the text is still there: {summary}");
    let both = folder.pinion(&[&["trace", "app", "--json", "-"][..], &FEW].concat());
    assert_eq!(both.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&both.stderr).contains("--out FILE"));
    assert!(!folder.files().contains(&"-".to_owned()));
}

/// Every number of a cluster, where things break: nothing runs for long, and nothing panics.
#[test]
fn numbers_of_clusters_are_refused_or_run() {
    if Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_err() {
        eprintln!("riscv64-unknown-elf-gcc is not installed: nothing tested");
        return;
    }
    let folder = Folder::new("cluster");
    let example = repository().join("examples/cluster_echo").display().to_string();
    let keys = [
        "cluster.seed",
        "cluster.patience",
        "server.count",
        "client.count",
        "network.link.latency_cycles",
        "network.link.mac_ns",
        "network.link.queue_bytes",
        "network.switch.latency_cycles",
        "network.switch.data_queue_bytes",
        "network.switch.control_queue_bytes",
        "network.switch.ecn_bytes",
        "network.switch.priority_bands",
    ];
    let edges =
        ["0", "1", "2147483648", "4294967295", "9223372036854775807", "18446744073709551615", "-1"];
    for key in keys {
        for edge in edges {
            let set = format!("{key}={edge}");
            let output = folder.pinion(&["run", &example, "--set", &set, "--cycles", "30000"]);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let status = output.status.code();
            assert!(matches!(status, Some(0 | 2 | 3)), "--set {set}: {status:?} {text}");
            assert!(!text.contains("panicked"), "--set {set}: {text}");
            assert_eq!(status == Some(2), text.starts_with("pinion: "), "--set {set}: {text}");
        }
    }
    let most = "client.count=18446744073709551615";
    let output = folder.pinion(&["run", &example, "--set", most]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("in all"));
}
