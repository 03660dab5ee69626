//! A live run from outside: the kernel pings the NIC through a TAP device. Needs root, TAP devices,
//! `ping` and a compiler; says so and passes where one is missing.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

const DEVICE: &str = "pinion-test0";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn succeeds(command: &str, arguments: &[&str]) -> bool {
    let output = Command::new(command).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

fn what_is_missing() -> Option<&'static str> {
    let user = Command::new("id").arg("-u").output();
    let is_root = user.is_ok_and(|output| output.stdout.starts_with(b"0\n"));
    [
        ("root", is_root),
        ("/dev/net/tun", Path::new("/dev/net/tun").exists()),
        ("ping", succeeds("ping", &["-V"])),
        ("riscv64-unknown-elf-gcc", succeeds("riscv64-unknown-elf-gcc", &["--version"])),
    ]
    .into_iter()
    .find_map(|(name, there)| (!there).then_some(name))
}

/// A live run that ends with its owner, also when the test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Repeats a recorded live run, twice: the same comes of it, packet by packet, without the device.
fn repeats(recording: &Path, per_packet: bool) {
    let csv = recording.with_extension("csv");
    let replay = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pinion"));
        command.arg("replay").arg(recording).env("PINION_SDK", repository().join("sdk"));
        if per_packet {
            command.arg("--packets").arg(&csv);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}{why}");
        assert!(said.contains("the same as recorded"), "{said}{why}");
        per_packet.then(|| std::fs::read(&csv).unwrap())
    };
    assert_eq!(replay(), replay());
    let _ = std::fs::remove_file(csv);
    // A run of a recording is recorded like any other.
    let again = recording.with_extension("again");
    look(recording, "run", &["--quiet", "--record", again.to_str().unwrap()]);
    let bytes = [recording, &again].map(|path| std::fs::read(path).unwrap());
    assert!(bytes[0] == bytes[1], "what is recorded again is the same");
    let _ = std::fs::remove_file(again);
}

/// Looks into a recorded live run, and gives what is said.
fn look(recording: &Path, verb: &str, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pinion"))
        .args([verb, recording.to_str().unwrap()])
        .args(arguments)
        .current_dir(recording.parent().unwrap())
        .env("PINION_SDK", repository().join("sdk"))
        .output()
        .unwrap();
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{verb} {arguments:?}: {why}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Starts a live run and waits until it says that the device is there; `None`: none can be made here,
/// which must be said with exit status 2.
fn start(app: &Path, arguments: &[&str]) -> Option<(Running, BufReader<ChildStdout>, String)> {
    let child = Command::new(env!("CARGO_BIN_EXE_pinion"))
        .arg("up")
        .arg(app)
        .args(arguments)
        .env("PINION_SDK", repository().join("sdk"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let child = &mut running.0;
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut greeting = String::new();
    while !greeting.contains("Ctrl-C ends") {
        if output.read_line(&mut greeting).unwrap() == 0 {
            let mut text = String::new();
            child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(2), "{greeting}{text}");
            eprintln!("no live run here, nothing tested: {text}");
            return None;
        }
    }
    Some((running, output, greeting))
}

/// Starts the program that answers pings, as it was built.
fn up(elf: &Path) -> Option<(Running, BufReader<ChildStdout>)> {
    let app = repository().join("examples/icmp_echo");
    let device = ["--tap", DEVICE, "--address", "10.254.77.1/24"];
    let recording = elf.with_extension("rec");
    let program = ["--elf", elf.to_str().unwrap(), "--record", recording.to_str().unwrap()];
    let arguments = [&device[..], &program].concat();
    let (running, output, greeting) = start(&app, &arguments)?;
    assert_eq!(greeting.lines().count(), 1, "{greeting}");
    Some((running, output))
}

#[test]
fn the_kernel_pings_the_nic() {
    if let Some(missing) = what_is_missing() {
        eprintln!("{missing} is missing, nothing tested");
        return;
    }
    let elf = std::env::temp_dir().join(format!("pinion-live-{}.elf", std::process::id()));
    let built = Command::new(env!("CARGO_BIN_EXE_pinion"))
        .arg("build")
        .arg(repository().join("examples/icmp_echo"))
        .arg("--out")
        .arg(&elf)
        .env("PINION_SDK", repository().join("sdk"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let Some((mut running, mut output)) = up(&elf) else { return };
    let ping = Command::new("ping")
        .args(["-c", "10", "-i", "0.05", "-W", "5", "10.254.77.2"])
        .output()
        .unwrap();
    let interrupted = succeeds("kill", &["-INT", &running.0.id().to_string()]);
    let mut summary = String::new();
    output.read_to_string(&mut summary).unwrap();
    let status = running.0.wait().unwrap();
    repeats(&elf.with_extension("rec"), true);
    let why = Command::new(env!("CARGO_BIN_EXE_pinion"))
        .args(["why", "--packet", "5"])
        .arg(elf.with_extension("rec"))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&why.stdout).starts_with("packet 5, "), "{why:?}");
    for suffix in ["elf", "ld", "stamp", "rec"] {
        let _ = std::fs::remove_file(elf.with_extension(suffix));
    }
    let ping = String::from_utf8_lossy(&ping.stdout).into_owned();
    assert!(interrupted && status.code() == Some(130), "{status}: {summary}");
    assert!(ping.contains("10 received"), "{ping}{summary}");
    let fastest = ping.lines().last().and_then(|line| line.split(['=', '/']).nth(4));
    let fastest_ms: f64 = fastest.and_then(|text| text.trim().parse().ok()).unwrap();
    assert!(fastest_ms < 1.0, "{ping}");
    assert!(summary.contains("HER to completion"), "{summary}");
    assert!(summary.contains("times slower than the hardware"), "{summary}");
    assert!(summary.contains("ARP requests answered"), "{summary}");
}

#[test]
fn a_nanoservice_answers_datagrams() {
    if let Some(missing) = what_is_missing() {
        eprintln!("{missing} is missing: nothing tested");
        return;
    }
    let repository = repository();
    let folder = std::env::temp_dir().join(format!("pinion-live-service-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let json = folder.join("summary.json");
    let child = Command::new(env!("CARGO_BIN_EXE_pinion"))
        .arg("up")
        .arg(repository.join("examples/nanopu_loopback"))
        .args(["--tap", "pinion-test1", "--address", "10.254.78.1/24", "--duration", "20s"])
        .args(["--set", "transport.kind=udp", "--json"])
        .arg(&json)
        .arg("--record")
        .arg(folder.join("live.rec"))
        .env("PINION_SDK", repository.join("sdk"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let mut output = BufReader::new(running.0.stdout.take().unwrap());
    let mut greeting = String::new();
    output.read_line(&mut greeting).unwrap();
    if greeting.is_empty() {
        let mut said = String::new();
        running.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        eprintln!("no live run here, nothing tested: {said}");
        return;
    }
    assert!(greeting.contains("the node is 10.254.78.2"), "{greeting}");
    let socket = std::net::UdpSocket::bind("10.254.78.1:0").unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    for number in 0..20u64 {
        let message = [number.to_be_bytes(), (2 * number).to_be_bytes()].concat();
        socket.send_to(&message, "10.254.78.2:47000").unwrap();
        let mut answer = [0; 64];
        let (bytes, from) = socket.recv_from(&mut answer).unwrap();
        assert_eq!((bytes, from.port()), (16, 47_000));
        let expected = [(number + 1).to_be_bytes(), (2 * number + 1).to_be_bytes()].concat();
        assert_eq!(answer[..16], expected);
    }
    let process = running.0.id().to_string();
    assert!(succeeds("kill", &["-INT", &process]));
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    let summary = std::fs::read_to_string(&json).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["messages"]["in"], 20, "{summary}");
    let recording = folder.join("live.rec");
    repeats(&recording, true);
    // Each look hears the run as it was: all of its messages and cycles.
    let trace = look(&recording, "trace", &["--no-instructions"]);
    assert_eq!(trace.matches("first flit of a frame left").count(), 20, "{trace}");
    let profile = look(&recording, "profile", &["--top", "1"]);
    assert!(profile.starts_with("nanopu_loopback on nanopu"), "{profile}");
    look(&recording, "profile", &["--json", "profile.json"]);
    let profile = std::fs::read_to_string(folder.join("profile.json")).unwrap();
    let profile: serde_json::Value = serde_json::from_str(&profile).unwrap();
    assert_eq!(profile["cycles"], summary["cycles"]);
    let why = look(&recording, "why", &["--message", "19"]);
    assert!(why.starts_with("message 19 of context 0"), "{why}");
    look(&recording, "trace", &["--vcd", "live.vcd", "--to", "1000"]);
    assert!(folder.join("live.vcd").is_file());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Nothing of a run is lost that is killed: what had run is repeated from the recording's folder.
#[test]
fn a_run_that_is_killed_is_repeated_up_to_there() {
    if let Some(missing) = what_is_missing() {
        eprintln!("{missing} is missing: nothing tested");
        return;
    }
    let folder = std::env::temp_dir().join(format!("pinion-live-killed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let service = repository().join("examples/nanopu_loopback");
    let recording = folder.join("live.rec");
    let device = ["--tap", "pinion-test5", "--address", "10.254.81.1/24", "--duration", "60s"];
    let more = ["--set", "transport.kind=udp", "--record", recording.to_str().unwrap()];
    let arguments = [&device[..], &more[..]].concat();
    let Some((mut running, _, _)) = start(&service, &arguments) else { return };
    let socket = std::net::UdpSocket::bind("10.254.81.1:0").unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    for number in 0..5u64 {
        let message = [number.to_be_bytes(), number.to_be_bytes()].concat();
        socket.send_to(&message, "10.254.81.2:47000").unwrap();
        socket.recv_from(&mut [0; 64]).unwrap();
    }
    // The last answer is there before its slice is over.
    std::thread::sleep(std::time::Duration::from_millis(500));
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    assert!(!recording.exists());
    let left = folder.join("live.rec.unfinished");
    let said = look(&left, "replay", &["--json", "run.json"]);
    assert!(said.contains("the recorded run was cut off"), "{said}");
    let summary = std::fs::read_to_string(folder.join("run.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["messages"]["in"], 5, "{summary}");
    let trace = look(&left, "trace", &["--no-instructions"]);
    assert_eq!(trace.matches("first flit of a frame left").count(), 5, "{trace}");
    let refused = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pinion"))
            .args(arguments)
            .env("PINION_SDK", repository().join("sdk"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused(&["replay", recording.to_str().unwrap()]);
    assert!(said.contains("its run did not end") && said.contains(".unfinished"), "{said}");
    // A byte that is another, in a file that was there at the beginning.
    let program = left.join("app/program.elf");
    let whole = std::fs::read(&program).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    std::fs::write(&program, changed).unwrap();
    let said = refused(&["replay", left.to_str().unwrap()]);
    assert!(said.contains("app/program.elf is not as it was recorded"), "{said}");
    std::fs::write(&program, whole).unwrap();
    // And in one that has grown.
    let frames = left.join("live.pcap");
    let mut changed = std::fs::read(&frames).unwrap();
    changed[60] ^= 1;
    std::fs::write(&frames, changed).unwrap();
    let said = refused(&["replay", left.to_str().unwrap()]);
    assert!(said.contains("the recording is damaged: live."), "{said}");
    // What is there is not written over.
    let again = [&["up", service.to_str().unwrap()], &arguments[..]].concat();
    assert!(refused(&again).contains("live.rec.unfinished is there"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Copies a folder's files, so that what is built does not lie in the repository.
fn copy(name: &str) -> PathBuf {
    let to = std::env::temp_dir().join(format!("pinion-live-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir(repository().join("tests/faults").join(name)).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    to
}

#[test]
fn handlers_that_fail_are_told_of_when_they_do() {
    if let Some(missing) = what_is_missing() {
        eprintln!("{missing} is missing: nothing tested");
        return;
    }
    let folder = copy("handlers");
    let device = ["--tap", "pinion-test2", "--address", "10.254.79.1/24", "--duration", "60s"];
    for engine in ["simulator", "native"] {
        let arguments = [&device[..], &["--engine", engine]].concat();
        let Some((mut running, mut output, _)) = start(&folder, &arguments) else { break };
        let socket = std::net::UdpSocket::bind("10.254.79.1:0").unwrap();
        let mut errors = BufReader::new(running.0.stderr.take().unwrap());
        socket.send_to(b"first", "10.254.79.2:9600").unwrap();
        // While the run goes on.
        let mut told = String::new();
        while !told.contains("packet of ") {
            assert!(errors.read_line(&mut told).unwrap() > 0, "{engine}: {told}");
        }
        assert!(running.0.try_wait().unwrap().is_none());
        assert!(told.contains("a handler was ended: "), "{engine}: {told}");
        assert!(told.contains("a null pointer") && told.contains("null_ph"), "{engine}: {told}");
        for _ in 0..2 {
            socket.send_to(b"again", "10.254.79.2:9600").unwrap();
        }
        std::thread::sleep(std::time::Duration::from_secs(2));
        assert!(succeeds("kill", &["-INT", &running.0.id().to_string()]));
        let mut summary = String::new();
        output.read_to_string(&mut summary).unwrap();
        errors.read_to_string(&mut told).unwrap();
        assert_eq!(told.matches("a handler was ended").count(), 1, "{engine}: {told}");
        assert!(summary.contains("3 times, the first is shown"), "{engine}: {summary}");
        running.0.wait().unwrap();
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_nanoservice_that_fails_ends_its_run_and_says_why() {
    if let Some(missing) = what_is_missing() {
        eprintln!("{missing} is missing: nothing tested");
        return;
    }
    let folder = copy("service");
    let manifest = folder.join("app.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"null\"", "\"message\"")).unwrap();
    let device = ["--tap", "pinion-test3", "--address", "10.254.80.1/24", "--duration", "60s"];
    let arguments = [&device[..], &["--set", "transport.kind=udp"]].concat();
    if let Some((mut running, mut output, _)) = start(&folder, &arguments) {
        let socket = std::net::UdpSocket::bind("10.254.80.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        socket.send_to(&[0; 16], "10.254.80.2:47000").unwrap();
        let mut summary = String::new();
        output.read_to_string(&mut summary).unwrap();
        assert_eq!(running.0.wait().unwrap().code(), Some(3), "{summary}");
        assert!(summary.contains("a null pointer"), "{summary}");
        let message = format!("message: 16 B from 10.254.80.1, port {port}");
        assert!(summary.contains(&message), "{summary}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Runs a cluster live in a network of its own, where its addresses are nobody else's, and pings both its
/// nodes.
const PING_A_CLUSTER: &str = r#"
"$PINION" up "$FOLDER" --tap pinion-test4 --address 10.0.0.1/24 --duration 60s \
    --json "$FOLDER/summary.json" --record "$FOLDER/live.rec" > "$FOLDER/said" 2>&1 &
for turn in $(seq 300); do
    grep -q 'Ctrl-C ends' "$FOLDER/said" && break
    kill -0 $! 2> /dev/null || break
    sleep 0.1
done
for node in 2 3; do
    ping -c 5 -i 0.05 -W 5 10.0.0.$node
done
kill -INT $!
wait $!
echo "status $?"
cat "$FOLDER/said"
"#;

#[test]
fn the_kernel_pings_the_nodes_of_a_cluster() {
    if let Some(missing) = what_is_missing() {
        eprintln!("{missing} is missing: nothing tested");
        return;
    }
    if !succeeds("unshare", &["--net", "true"]) {
        eprintln!("there is no network of one's own here: nothing tested");
        return;
    }
    let folder = std::env::temp_dir().join(format!("pinion-live-cluster-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let echo = repository().join("examples/icmp_echo");
    let text = format!(
        "[cluster]\nname = \"rack\"\n[[node]]\nname = \"nic\"\napp = \"{}\"\ncount = 2\n",
        echo.display()
    );
    std::fs::write(folder.join("cluster.toml"), text).unwrap();
    let done = Command::new("unshare")
        .args(["--net", "sh", "-c", PING_A_CLUSTER])
        .env("PINION", env!("CARGO_BIN_EXE_pinion"))
        .env("FOLDER", &folder)
        .env("PINION_SDK", repository().join("sdk"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    if said.contains("/dev/net/tun") {
        eprintln!("no TAP device can be made here, nothing tested: {said}");
        return;
    }
    assert_eq!(said.matches("5 received").count(), 2, "{said}");
    assert!(said.contains("status 130"), "{said}");
    assert!(said.contains("the host is 10.0.0.1/24, nodes nic.0 to nic.1 are"), "{said}");
    let summary = std::fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    for node in 0..2 {
        assert_eq!(summary["nodes"][node]["messages_out"], 5, "{summary:#}");
    }
    assert_eq!(summary["nodes"][2]["name"], "outside");
    let recording = folder.join("live.rec");
    repeats(&recording, false);
    let node = ["--node", "nic.1"];
    let trace = look(&recording, "trace", &[&node[..], &["--no-instructions"]].concat());
    assert_eq!(trace.matches("icmp_echo_ph begins").count(), 5, "{trace}");
    let profile = look(&recording, "profile", &node);
    assert!(profile.contains("icmp_echo_ph (payload of echo)"), "{profile}");
    look(&recording, "trace", &["--vcd", "live.vcd"]);
    let waves = std::fs::read_to_string(folder.join("live.vcd")).unwrap();
    assert!(waves.contains("module outside_to_switch_0 "), "the device is a node");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_does_not_apply_to_a_live_cluster_is_refused() {
    let folder = repository().join("examples/cluster_echo");
    let refused = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pinion"))
            .arg("up")
            .arg(&folder)
            .args(["--tap", "pinion-test5"])
            .args(arguments)
            .env("PINION_SDK", repository().join("sdk"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (arguments, why) in [
        (&[][..], "needs --address"),
        (&["--address", "192.168.0.1/24"], "the nodes are 10.0.0.2 to"),
        (&["--address", "10.0.0.2/24"], "the nodes are 10.0.0.2 to"),
        (&["--address", "10.0.0.1/24", "--host-tap", "x"], "has no host side"),
        (&["--address", "10.0.0.1/24", "--pcap-out", "x"], "--pcap-out goes with one node"),
        (&["--address", "10.0.0.1/24", "--engine", "native"], "--engine native goes with one node"),
    ] {
        let told = refused(arguments);
        assert!(told.contains(why), "{arguments:?}: {told}");
    }
}
