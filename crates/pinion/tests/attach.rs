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
    folder.write(name, format!("set pagination off\nset width 0\n{commands}"));
    pinion(folder)
        .args(["debug", "--nic", device, "--", "-nx", "-batch", "-x", name])
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
    assert!(problem.contains("--record FILE"), "{problem}");
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
