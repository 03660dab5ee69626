//! gdb on a NIC that runs: it stops, goes on, goes back, and stays when gdb leaves or is lost. Needs root, TAP
//! devices, a gdb that knows RISC-V and a compiler; says so and passes where one is missing.

#[allow(dead_code)]
mod outside;

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use outside::Folder;

/// A live run that ends with its owner, also when the test fails.
struct Running {
    process: Child,
    /// Kept open: it goes on to print.
    _output: BufReader<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pinion(folder: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinion"));
    command.current_dir(&folder.0).env("PINION_SDK", outside::sdk());
    command.env("PINION_NIC_DIR", folder.0.join("nics"));
    command
}

/// Starts an application on a device; `None`: something is missing here.
fn up(folder: &Folder, app: &str, device: &str, address: &str) -> Option<Running> {
    up_with(folder, app, device, address, &[])
}

/// Does the same, with more options.
fn up_with(
    folder: &Folder,
    app: &str,
    device: &str,
    address: &str,
    more: &[&str],
) -> Option<Running> {
    if pinion::debug::gdb::find().is_none() || !outside::has_gcc() {
        eprintln!("left out: a gdb that knows RISC-V or a compiler is missing");
        return None;
    }
    if !Path::new("/dev/net/tun").exists() {
        eprintln!("left out: there are no TAP devices here");
        return None;
    }
    let mut process = pinion(folder)
        .args(["up", app, "--tap", device, "--address", address, "--build-dir", "built"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    let mut greeting = String::new();
    while !greeting.contains("Ctrl-C ends") {
        if output.read_line(&mut greeting).unwrap() == 0 {
            let mut text = String::new();
            process.stderr.take().unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(process.wait().unwrap().code(), Some(2), "{greeting}{text}");
            eprintln!("left out: no live run here: {text}");
            return None;
        }
    }
    Some(Running { process, _output: output })
}

/// Has gdb do what is said on a NIC.
fn gdb(folder: &Folder, device: &str, name: &str, commands: &str) -> Child {
    gdb_at(folder, &["--nic", device], name, commands)
}

/// Has gdb do what is said, where some options say.
fn gdb_at(folder: &Folder, place: &[&str], name: &str, commands: &str) -> Child {
    folder.write(name, format!("set pagination off\nset width 0\n{commands}"));
    pinion(folder)
        .arg("debug")
        .args(place)
        .args(["--", "-nx", "-batch", "-x", name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn refused(folder: &Folder, arguments: &[&str], part: &str) {
    let output = pinion(folder).args(arguments).output().unwrap();
    let (_, problem) = said(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {problem}");
    assert!(problem.contains(part), "{arguments:?}: {problem}");
}

/// Sends to the NIC, and waits for the answer so long.
fn echo(socket: &UdpSocket, to: &str, text: &[u8], patience: Duration) -> bool {
    socket.set_read_timeout(Some(patience)).unwrap();
    socket.send_to(text, to).unwrap();
    let mut buffer = [0; 64];
    loop {
        match socket.recv(&mut buffer) {
            Ok(bytes) if &buffer[..bytes] == text => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(30);

#[test]
fn gdb_stops_a_live_nic_goes_back_in_it_and_leaves_it_running() {
    let folder = Folder::new("attach-gdb");
    let (device, nic) = ("pin-attach0", "10.254.79.2:9500");
    let app = outside::example("udp_echo");
    let Some(_running) = up(&folder, &app, device, "10.254.79.1/24") else { return };
    let socket = UdpSocket::bind("10.254.79.1:0").unwrap();
    assert!(echo(&socket, nic, b"before", LONG), "nobody is there yet");
    let commands = "info threads\n\
                    break udp_echo_ph\n\
                    shell touch attached\n\
                    continue\n\
                    shell touch stopped\n\
                    print args->task->pkt_mem_size > 20\n\
                    shell while test ! -e go-on; do sleep 0.05; done\n\
                    next\n\
                    reverse-next\n\
                    monitor cycle\n\
                    monitor why\n\
                    monitor why packet 99\n\
                    reverse-continue\n\
                    continue\n\
                    detach\n";
    let debugger = gdb(&folder, device, "first.gdb", commands);
    let is_there = |file: &str| {
        for _ in 0..600 {
            if folder.0.join(file).exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("gdb has not come to `{file}`");
    };
    is_there("attached");
    refused(&folder, &["debug", "--nic", device], "debugs the NIC already");
    // The handler stands in front of its first instruction, and so does time.
    assert!(!echo(&socket, nic, b"stands", SHORT));
    is_there("stopped");
    assert!(!echo(&socket, nic, b"waits", SHORT));
    folder.write("go-on", "");
    let output = debugger.wait_with_output().unwrap();
    let (printed, problem) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}{problem}");
    let mut rest = printed.as_str();
    for part in [
        "cluster 0 HPU 0: idle",
        "udp_echo_ph (args",
        "= 1",
        "No more reverse-execution",
        "udp_echo_ph (args",
        "detached",
    ] {
        let at = rest.find(part).unwrap_or_else(|| panic!("no `{part}` in {rest} of {printed}"));
        rest = &rest[at + part.len()..];
    }
    assert!(problem.contains("packet 1 of context echo"), "{problem}");
    // It is told to its end, which it has not come to.
    in_order(
        &problem,
        &["packet 1, message 1 of echo", "udp_echo_ph runs until it sends", "udp_echo_ph on HPU"],
    );
    in_order(&problem, &["--packet 99: ", "since the way back begins"]);
    // Both answers leave now, and the NIC goes on.
    let mut left = vec![b"stands".to_vec(), b"waits".to_vec()];
    socket.set_read_timeout(Some(LONG)).unwrap();
    while !left.is_empty() {
        let mut buffer = [0; 64];
        let bytes = socket.recv(&mut buffer).unwrap();
        left.retain(|text| text != &buffer[..bytes]);
    }
    assert!(echo(&socket, nic, b"after", LONG));
}

#[test]
fn a_nic_goes_on_when_its_debugger_is_lost() {
    let folder = Folder::new("attach-lost");
    let (device, nic) = ("pin-attach1", "10.254.80.2:9500");
    refused(&folder, &["debug", "--nic", "nobody"], "there is no NIC nobody");
    let app = outside::example("udp_echo");
    refused(&folder, &["debug", &app, "--nic", "a"], "cannot be used with");
    refused(&folder, &["debug", "--nic", "a", "--generate", "udp"], "--generate goes with");
    refused(&folder, &["debug", "--nic", "a", "--json", "a.json"], "--json goes with");
    let Some(_running) = up(&folder, &app, device, "10.254.80.1/24") else { return };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().to_string();
    refused(&folder, &["debug", "--nic", device, "--listen", &port], "the port is in use");
    let socket = UdpSocket::bind("10.254.80.1:0").unwrap();
    for speaks in [true, false] {
        let mut debugger = pinion(&folder)
            .args(["debug", "--nic", device, "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(debugger.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line.split("waiting for gdb on ").nth(1).unwrap();
        let address = address.split(": ").next().unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        if speaks {
            use std::io::Write as _;
            stream.write_all(b"$?#3f").unwrap();
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"+");
        }
        drop(stream);
        let output = debugger.wait_with_output().unwrap();
        let (_, problem) = said(&output);
        assert_eq!(output.status.code(), Some(2), "{problem}");
        assert!(problem.contains("the connection to the debugger was lost in cycle"), "{problem}");
        assert!(problem.contains("goes on"), "{problem}");
        assert!(echo(&socket, nic, b"goes on", LONG));
    }
}

/// Waits until gdb has come so far that it made a file.
fn comes_to(folder: &Folder, file: &str) {
    for _ in 0..600 {
        if folder.0.join(file).exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("gdb has not come to `{file}`");
}

/// Ends a live run as Ctrl-C does, and gives its summary.
fn interrupt(folder: &Folder, mut running: Running, summary: &str) -> serde_json::Value {
    let pid = running.process.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(running.process.wait().unwrap().code(), Some(130));
    let text = std::fs::read_to_string(folder.0.join(summary)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Checks that parts come one behind the other.
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("no `{part}` in {rest} of {text}"));
        rest = &rest[at + part.len()..];
    }
}

/// A message for a nanoPU whose transport is UDP.
const MESSAGE: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 49];

#[test]
fn a_live_nanoservice_stops_goes_back_and_is_recorded_as_it_went() {
    let folder = Folder::new("attach-nano");
    let (device, node) = ("pin-attach2", "10.254.81.2:47000");
    let app = outside::example("nanopu_echo");
    let more = ["--set", "transport.kind=udp", "--record", "live.rec", "--json", "live.json"];
    let running = up_with(&folder, &app, device, "10.254.81.1/24", &more);
    let Some(running) = running else { return };
    let socket = UdpSocket::bind("10.254.81.1:0").unwrap();
    assert!(echo(&socket, node, MESSAGE, LONG), "nobody is there yet");
    refused(&folder, &["debug", "--nic", device, "--node", "a"], "goes with clusters");
    let commands = "info threads\n\
                    monitor break message 1\n\
                    shell touch attached\n\
                    continue\n\
                    shell touch stopped\n\
                    info threads\n\
                    shell while test ! -e go-on; do sleep 0.05; done\n\
                    next\n\
                    monitor why\n\
                    monitor why message 0\n\
                    reverse-next\n\
                    reverse-continue\n\
                    detach\n";
    let debugger = gdb(&folder, device, "nano.gdb", commands);
    comes_to(&folder, "attached");
    assert!(!echo(&socket, node, MESSAGE, SHORT), "a message that is stopped at is not answered");
    comes_to(&folder, "stopped");
    folder.write("go-on", "");
    let output = debugger.wait_with_output().unwrap();
    let (printed, problem) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}{problem}");
    let parts = ["hart 0: idle", "hart 0: message 1 of context 0", "No more reverse", "detached"];
    in_order(&printed, &parts);
    // Of the first one nobody was there to hear.
    in_order(
        &problem,
        &[
            "message 1 of context 0, ",
            "hart 0: ",
            "--message 0 came before",
            "since the way back begins",
        ],
    );
    let mut buffer = [0; 64];
    socket.set_read_timeout(Some(LONG)).unwrap();
    assert_eq!(socket.recv(&mut buffer).unwrap(), MESSAGE.len(), "it is answered now");
    assert!(echo(&socket, node, MESSAGE, LONG));
    // What was gone back in is counted once, and comes again so.
    let summary = interrupt(&folder, running, "live.json");
    assert_eq!(summary["harts"][0]["messages"], 3, "{summary:#}");
    let replayed = pinion(&folder).args(["replay", "live.rec"]).output().unwrap();
    let (printed, problem) = said(&replayed);
    assert!(printed.contains("the same as recorded"), "{printed}{problem}");
}

#[test]
fn a_node_of_a_live_cluster_stops_and_all_others_with_it() {
    let folder = Folder::new("attach-cluster");
    let (device, nic, nano) = ("pin-attach3", "10.0.0.3:9500", "10.0.0.4:47000");
    let apps = ["udp_echo", "nanopu_echo"].map(outside::example);
    folder.write(
        "rack.toml",
        format!(
            "[cluster]\nname = \"rack\"\n[[node]]\nname = \"nic\"\napp = \"{}\"\ncount = 2\n\
             [[node]]\nname = \"service\"\napp = \"{}\"\nset = [\"transport.kind=udp\"]\n",
            apps[0], apps[1]
        ),
    );
    let more = ["--record", "rack.rec", "--json", "rack.json"];
    let running = up_with(&folder, "rack.toml", device, "10.0.0.1/29", &more);
    let Some(running) = running else { return };
    let socket = UdpSocket::bind("10.0.0.1:0").unwrap();
    assert!(echo(&socket, nic, b"before", LONG), "nobody is there yet");
    refused(&folder, &["debug", "--nic", device], "say with --node NAME");
    refused(&folder, &["debug", "--nic", device, "--node", "outside"], "runs no program");
    let commands = "break udp_echo_ph\n\
                    shell touch attached\n\
                    continue\n\
                    shell touch stopped\n\
                    info threads\n\
                    shell while test ! -e go-on; do sleep 0.05; done\n\
                    next\n\
                    monitor why\n\
                    reverse-next\n\
                    detach\n";
    let debugger = gdb_at(&folder, &["--nic", device, "--node", "nic.1"], "nic.gdb", commands);
    comes_to(&folder, "attached");
    assert!(echo(&socket, nano, MESSAGE, LONG), "the others go on");
    assert!(!echo(&socket, nic, b"stands", SHORT));
    comes_to(&folder, "stopped");
    assert!(!echo(&socket, nano, MESSAGE, SHORT), "the others stand");
    folder.write("go-on", "");
    let output = debugger.wait_with_output().unwrap();
    let (printed, problem) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}{problem}");
    in_order(&printed, &["udp_echo_ph (args", "packet 1 of context echo", "detached"]);
    in_order(&problem, &["packet 1, message 1 of echo", "udp_echo_ph runs until it sends"]);
    assert!(echo(&socket, nic, b"after", LONG) && echo(&socket, nano, MESSAGE, LONG));
    let summary = interrupt(&folder, running, "rack.json");
    let nodes = summary["nodes"].as_array().unwrap();
    let counts: Vec<_> = nodes.iter().map(|node| node["messages_in"].as_u64()).collect();
    assert_eq!(counts, [Some(0), Some(3), Some(3), Some(0)], "{summary:#}");
    let replayed = pinion(&folder).args(["replay", "rack.rec"]).output().unwrap();
    assert!(said(&replayed).0.contains("the same as recorded"), "{:?}", said(&replayed));
    // And the recording is debugged as it went.
    let commands =
        "break udp_echo_ph\ncontinue\ncontinue\ncontinue\ninfo threads\nreverse-continue\n";
    let place = ["rack.rec", "--node", "nic.1"];
    let output = gdb_at(&folder, &place, "again.gdb", commands).wait_with_output().unwrap();
    let (printed, problem) = said(&output);
    in_order(&printed, &["udp_echo_ph (args", "packet 2 of context echo", "udp_echo_ph (args"]);
    assert!(problem.contains("packet 1 of context echo") || problem.is_empty(), "{problem}");
}
