//! Recordings: a run is repeated exactly from its file alone, and a file that is damaged, foreign or of
//! another version is refused with what and where.

#[allow(dead_code)]
mod outside;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use outside::{Folder, example};

const GENERATE: &str = "udp,size=64:3/1024:1,messages=8,packets=25,seed=3";

/// Everything that a command said.
fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

/// Files of an archive, by name: read here without the code under test, as `tar` would.
fn files(path: &Path) -> Vec<(String, Vec<u8>)> {
    let bytes = fs::read(path).unwrap();
    let (mut at, mut files) = (0, Vec::new());
    while bytes[at] != 0 {
        let field = |from: usize, long: usize| {
            let field = &bytes[at + from..at + from + long];
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(long);
            String::from_utf8(field[..end].to_vec()).unwrap()
        };
        let size = usize::from_str_radix(field(124, 12).trim(), 8).unwrap();
        files.push((field(0, 100), bytes[at + 512..at + 512 + size].to_vec()));
        at += 512 + size.next_multiple_of(512);
    }
    files
}

/// Writes an archive, as `tar` would.
fn pack(path: &Path, files: &[(String, Vec<u8>)]) {
    let mut all = Vec::new();
    for (name, bytes) in files {
        let mut head = [0; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[100..108].copy_from_slice(b"0000644\0");
        head[124..136].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
        head[148..156].copy_from_slice(b"        ");
        head[156] = b'0';
        head[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        all.extend(head);
        all.extend(bytes);
        all.resize(all.len().next_multiple_of(512), 0);
    }
    all.resize(all.len() + 1024, 0);
    fs::write(path, all).unwrap();
}

/// Changes a file of a recording, and gives the changed recording.
fn changed(path: &Path, name: &str, change: impl Fn(&str) -> String) -> PathBuf {
    let mut all = files(path);
    let (_, bytes) = all.iter_mut().find(|(found, _)| found == name).unwrap();
    *bytes = change(std::str::from_utf8(bytes).unwrap()).into_bytes();
    // As somebody would who means it.
    let sum = format!("{:08x} {name}", crc32fast::hash(bytes));
    let (_, sums) = all.iter_mut().find(|(found, _)| found == "checksums.txt").unwrap();
    let text = String::from_utf8(std::mem::take(sums)).unwrap();
    let ends = format!(" {name}");
    let lines = text.lines().map(|line| if line.ends_with(&ends) { &sum } else { line });
    *sums = lines.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes();
    let out = path.with_extension("changed");
    pack(&out, &all);
    out
}

fn recorded(folder: &Folder) -> PathBuf {
    let app = folder.calibration("words", "reduce");
    let app = app.display().to_string();
    let output = folder.pinion(&["run", &app, "--generate", GENERATE, "--record", "run.rec"]);
    assert!(output.status.success(), "{}", text(&output));
    folder.0.join("run.rec")
}

#[test]
fn a_damaged_byte_is_found() {
    let folder = Folder::new("record-damaged");
    let whole = fs::read(recorded(&folder)).unwrap();
    let path = folder.0.join("damaged.rec");
    let files = files(&folder.0.join("run.rec"));
    // A byte of each file's head, and some of what is in it.
    let (mut at, mut places) = (0, Vec::new());
    for (_, bytes) in &files {
        places.push(at + 130);
        places.extend(
            [0, bytes.len() / 3, bytes.len() / 2, bytes.len() - 1].map(|byte| at + 512 + byte),
        );
        at += 512 + bytes.len().next_multiple_of(512);
    }
    let refused = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        let output = folder.pinion(&["replay", "damaged.rec"]);
        assert_eq!(output.status.code(), Some(2), "{what}: {}", text(&output));
        assert!(text(&output).contains("damaged.rec"), "{what}: {}", text(&output));
    };
    for place in places {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 7);
        refused(&bytes, &format!("byte {place}"));
    }
    // Cut off between two files, too.
    for length in (0..at).step_by(512) {
        refused(&whole[..length], &format!("{length} bytes"));
    }
}

#[test]
fn a_run_is_repeated_from_its_file_alone() {
    let folder = Folder::new("record-handlers");
    let path = recorded(&folder);
    let again = fs::read(&path).unwrap();
    recorded(&folder);
    assert_eq!(again, fs::read(&path).unwrap(), "the same run gives the same file");
    let app = folder.0.join("words-reduce").display().to_string();
    let arguments = ["--generate", GENERATE, "--packets", "first.csv"];
    folder.pinion(&[&["run", &app][..], &arguments].concat());
    fs::remove_dir_all(&app).unwrap();
    let output = folder.pinion(&["replay", "run.rec", "--packets", "second.csv"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("the same as recorded"), "{}", text(&output));
    let read = |name: &str| fs::read(folder.0.join(name)).unwrap();
    assert_eq!(read("first.csv"), read("second.csv"));
    // Whatever looks into runs takes it, and `pinion run` takes it changed.
    let output = folder.pinion(&["why", "run.rec", "--slowest"]);
    assert!(text(&output).contains("from arrival to"), "{}", text(&output));
    let output =
        folder.pinion(&["run", "run.rec", "--set", "cluster.count=1", "--json", "one.json"]);
    assert!(output.status.success(), "{}", text(&output));
    let cycles = |bytes: &[u8]| {
        serde_json::from_slice::<serde_json::Value>(bytes).unwrap()["cycles"].as_u64().unwrap()
    };
    let outcome = files(&path).into_iter().find(|(name, _)| name == "outcome.json").unwrap().1;
    assert!(cycles(&read("one.json")) > cycles(&outcome));
}

#[test]
fn captures_machines_images_nanoservices_and_clusters_are_repeated() {
    let folder = Folder::new("record-kinds");
    let ping = example("icmp_echo/ping.pcap");
    let cases: [(&str, &[&str]); 6] = [
        ("icmp_echo", &["--machine", "fpspin", "--pcap-in", &ping, "--set", "cluster.count=1"]),
        ("icmp_echo", &["--pcap-in", &ping, "--link", "loss=5%,dup=5%,seed=7", "--faithful"]),
        (
            "nanopu_service",
            &["--load", "requests=500,gap=exp:900,service=500", "--set", "core.count=8"],
        ),
        ("nanopu_echo", &[]),
        ("cluster_echo", &["--seed", "9"]),
        ("cluster_rpc", &["--link", "loss=1%,seed=4", "--threads", "2"]),
    ];
    for (number, (name, options)) in cases.into_iter().enumerate() {
        let (app, file) = (example(name), format!("{number}.rec"));
        let output = folder.pinion(&[&["run", &app, "--record", &file][..], options].concat());
        assert!(output.status.success(), "{name}: {}", text(&output));
        let output = folder.pinion(&["replay", &file]);
        assert!(output.status.success(), "{name}: {}", text(&output));
        assert!(text(&output).contains("the same as recorded"), "{name}: {}", text(&output));
    }
}

/// Programs of a transport are kept as they were, whatever they include and whoever names them.
#[test]
fn programs_of_a_transport_are_repeated() {
    let folder = Folder::new("record-p4");
    fs::copy(example("../sdk/p4/ndp/ingress.p4"), folder.0.join("body.p4")).unwrap();
    let whole =
        "#define OWN\n#ifdef OWN\n#include \"body.p4\"\n#else\n#include \"none.p4\"\n#endif";
    fs::write(folder.0.join("own.p4"), whole).unwrap();
    let service = example("nanopu_echo");
    let set = ["--set", "transport.kind=p4", "--set", "transport.ingress=own.p4"];
    let run = [&["run", &service, "--record", "one.rec"][..], &set].concat();
    let output = folder.pinion(&run);
    assert!(output.status.success(), "{}", text(&output));
    let cluster = example("cluster_echo");
    let set = ["--set", "machine.transport.kind=p4", "--set", "machine.transport.ingress=own.p4"];
    let run = [&["run", &cluster, "--record", "many.rec"][..], &set].concat();
    let output = folder.pinion(&run);
    assert!(output.status.success(), "{}", text(&output));
    fs::remove_file(folder.0.join("own.p4")).unwrap();
    fs::remove_file(folder.0.join("body.p4")).unwrap();
    for (name, program) in [("one.rec", "app/ingress.p4"), ("many.rec", "apps/0/ingress.p4")] {
        let output = folder.pinion(&["replay", name]);
        assert!(output.status.success(), "{name}: {}", text(&output));
        assert!(text(&output).contains("the same as recorded"), "{}", text(&output));
        // It is the recorded program that is run.
        let broken =
            changed(&folder.0.join(name), program, |text| text.replace("parser", "nothing"));
        let output = folder.pinion(&["replay", &broken.display().to_string()]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", text(&output));
        folder.refuses(&["trace", name, "--record", "again.rec"], &["--record goes with"]);
        folder.refuses(&["trace", name, "--html", "page.html"], &["--html goes with"]);
        // A recording of the recording is the same run.
        let output = folder.pinion(&["run", name, "--record", "again.rec"]);
        assert!(output.status.success(), "{name}: {}", text(&output));
        assert_eq!(files(&folder.0.join(name)), files(&folder.0.join("again.rec")));
    }
}

#[test]
fn what_came_otherwise_is_told() {
    let folder = Folder::new("record-otherwise");
    let path = recorded(&folder);
    let one_more = |text: &str| text.replace("\"cycles\": ", "\"cycles\": 1");
    let other = changed(&path, "outcome.json", one_more);
    let output = folder.pinion(&["replay", &other.display().to_string()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("cycles: recorded 1"), "{}", text(&output));
    // Another program is another run.
    let app = example("udp_echo");
    let run = ["run", &app, "--generate", "udp,dport=9500,count=20", "--record", "echo.rec"];
    assert!(folder.pinion(&run).status.success());
    let output = folder.pinion(&["replay", "echo.rec"]);
    assert!(output.status.success(), "{}", text(&output));
    let fewer = changed(&folder.0.join("echo.rec"), "recording.toml", |text| {
        text.replace("count=20", "count=19")
    });
    let output = folder.pinion(&["replay", &fewer.display().to_string()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("bytes.in: recorded 10240, now 9728"), "{}", text(&output));
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = Folder::new("record-refused");
    let path = recorded(&folder);
    let refuses = |arguments: &[&str], part: &str| folder.refuses(arguments, &[part]);
    refuses(&["replay", "none.rec"], "does not exist");
    folder.write("text.rec", "words");
    refuses(&["replay", "text.rec"], "is no recording");
    // Root reads what nobody may.
    let closed = folder.0.join("closed.rec");
    folder.write("closed.rec", fs::read(&path).unwrap());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&closed).is_err() {
        refuses(&["replay", "closed.rec"], "cannot read closed.rec: ");
    }
    let whole = fs::read(&path).unwrap();
    for end in [513, 2000, whole.len() / 2] {
        folder.write("cut.rec", &whole[..end]);
        refuses(&["replay", "cut.rec"], "the recording");
    }
    for (file, from, to, part) in [
        ("recording.toml", "format = 2", "format = 3", "reads format 2"),
        ("recording.toml", "name = ", "nom = ", "damaged: recording.toml"),
        ("recording.toml", "--generate=", "--engine=native --generate=", "none of this pinion's"),
        (
            "recording.toml",
            "[files]",
            "[files]\n\"--pcap-in\" = \"/etc/hostname\"",
            "no file of its own",
        ),
        (
            "recording.toml",
            "[files]",
            "[files]\n\"--messages\" = \"../other\"",
            "no file of its own",
        ),
        ("recording.toml", "[files]", "[files]\n\"--pcap-in\" = \"\"", "no file of its own"),
        ("app/app.toml", "elf = \"program.elf\"", "sources = [\"evil.c\"]", "names no program"),
        ("app/app.toml", "elf = \"program.elf\"", "elf = \"../../../bin/sh\"", "--untrusted"),
        ("app/machine.toml", "frequency_mhz =", "frequency_mhx =", "frequency_mhx"),
        ("outcome.json", "{", "", "damaged: outcome.json"),
    ] {
        let other = changed(&path, file, |text| text.replacen(from, to, 1));
        let other = other.display().to_string();
        let output = folder.pinion(&["replay", &other]);
        assert_eq!(output.status.code(), Some(2), "{file}: {}", text(&output));
        assert!(text(&output).contains(part), "{file}: {}", text(&output));
    }
    let mut all = files(&path);
    all.push(("../evil".to_owned(), b"evil".to_vec()));
    pack(&folder.0.join("evil.rec"), &all);
    refuses(&["replay", "evil.rec"], "no plain file of its own");
    refuses(&["replay", "run.rec", "--set", "cluster.count=1"], "--set goes with `pinion run`");
    refuses(&["run", "run.rec", "--generate", "udp"], "--generate goes with an application");
    refuses(&["run", "run.rec", "--pcap-out", "run.rec"], "would overwrite");
    let app = folder.0.join("words-reduce").display().to_string();
    let run = ["run", &app, "--generate", GENERATE, "--record", "no/such/folder.rec"];
    refuses(&run, "cannot write");
    refuses(&["why", &app, "--record", "x.rec"], "--record goes with `pinion run`");
}
