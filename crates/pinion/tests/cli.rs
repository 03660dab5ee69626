//! The command from outside: every mistake gives one paragraph, status 2 and no output file.

#[allow(dead_code)]
mod outside;

use std::fs;
use std::path::Path;
use std::process::Command;

use outside::{Folder, HANDLERS, MANIFEST, example, has_gcc, program, sdk};

/// Outputs whose names must stay free.
const OUTPUTS: [&str; 8] = [
    "--pcap-out",
    "out.pcap",
    "--json",
    "out.json",
    "--packets",
    "out.csv",
    "--handlers",
    "--quiet",
];

#[test]
fn mistakes_in_the_arguments() {
    let folder = Folder::new("arguments");
    folder.app(MANIFEST);
    folder.refuses(&["run", "app"], &["--pcap-in", "--generate"]);
    folder.refuses(&["run", "app", "--generate", "udp,sise=4"], &["sise"]);
    folder
        .refuses(&["run", "app", "--generate", "udp", "--pace", "fast"], &["--pace fast", "100g"]);
    folder.refuses(&["run", "app", "--generate", "udp", "--pace", "recorded"], &["--pcap-in"]);
    folder.refuses(
        &["run", "app", "--generate", "udp", "--machine", "pspim"],
        &["no machine `pspim`", "pspin"],
    );
    folder.refuses(
        &["run", "app", "--generate", "udp", "--set", "cluster.cont=8"],
        &["cluster.cont", "nearest valid key: `cluster.count`"],
    );
    folder.refuses(
        &["run", "app", "--generate", "udp", "--set", "cluster.count=many"],
        &["override `cluster.count=many`", "invalid type"],
    );
    folder.refuses(
        &["run", "app", "--generate", "udp", "--set", "cluster.count=0"],
        &["override `cluster.count=0`", "outside 1 to 16"],
    );
    folder.refuses(
        &["run", "app", "--generate", "udp", "--host-dump", "none=x.bin"],
        &["no context `none`", "all"],
    );
    let both = ["--pcap-out", "a.x", "--json", "./a.x"];
    folder.refuses(
        &[&["run", "app", "--generate", "udp"], &both[..]].concat(),
        &["--pcap-out", "--json", "a file of its own"],
    );
    folder.write("in.pcap", "kept");
    folder.refuses(
        &["run", "app", "--pcap-in", "in.pcap", "--pcap-out", "app/../in.pcap"],
        &["overwrite", "--pcap-in"],
    );
    folder.refuses(&["run", "gone", "--generate", "udp"], &["cannot read gone"]);
    folder.refuses(&["machine", "show", "pspin", "--set", "mpq"], &["KEY=VALUE"]);
    folder.refuses(&["calibrate", "--set", "gone"], &["gone", "rows.csv"]);
    folder.refuses(&["new", "app"], &["app exists already"]);
    folder.refuses(&["new", "8ball"], &["cannot name an application"]);
}

#[test]
fn mistakes_in_what_to_trace() {
    let folder = Folder::new("trace");
    folder.app(MANIFEST);
    let trace = |more: &[&'static str], parts: &[&str]| {
        folder.refuses(&[&["trace", "app", "--generate", "udp"], more].concat(), parts);
    };
    trace(&["--hpu", "0.8"], &["--hpu 0.8", "from 0.0 to 3.7"]);
    trace(&["--handler", "god_ph", "--out", "x.txt"], &["--handler god_ph", "good_ph"]);
    trace(&["--context", "any"], &["--context any", "all"]);
    trace(&["--from", "9", "--to", "9"], &["later than --from"]);
    trace(&["--to", "tomorrow"], &["neither a cycle"]);
    trace(&["--hart", "0"], &["--hart", "has packet handlers"]);
    trace(&["--handlers"], &["--json"]);
    trace(&["--host-dump", "all=x"], &["pinion run"]);
    let elsewhere = [["--record", "x.rec"], ["--html", "x.html"]];
    let forms = [&[][..], &["--perfetto", "x.pftrace"], &["--vcd", "x.vcd"]];
    for (option, form) in elsewhere.iter().flat_map(|option| forms.map(|form| (option, form))) {
        trace(&[&option[..], form].concat(), &[option[0], "goes with `pinion run`"]);
        for kind in ["nanopu_echo", "cluster_echo"] {
            let app = example(kind);
            let asked = [&["trace", &app][..], option, form].concat();
            folder.refuses(&asked, &[option[0], "goes with `pinion run`"]);
        }
    }
    trace(&["--perfetto", "a.x", "--json", "a.x"], &["--perfetto", "a file of its own"]);
}

/// The lines of source that a trace gives are those the instructions were compiled from.
#[test]
fn a_trace_has_the_lines_of_source() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("lines");
    let source = fs::read_to_string(format!("{}/reduce.c", example("reduce"))).unwrap();
    let source: Vec<&str> = source.lines().collect();
    let spec = "slmp,size=2100,packets=16,syn=none";
    let output = folder.pinion(&[
        "trace",
        &example("reduce"),
        "--generate",
        spec,
        "--handler",
        "reduce_ph",
        "--hpu",
        "0.0",
        "--no-events",
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let from_main_file: Vec<(&str, usize)> = text
        .lines()
        .filter_map(|line| {
            let place = line.split_whitespace().find(|word| word.starts_with("reduce.c:"))?;
            Some((line, place.split_once(':')?.1.parse().ok()?))
        })
        .collect();
    assert!(from_main_file.len() > 20, "{text}");
    let misaligned = from_main_file.iter().find(|(line, _)| line.contains("amoadd.w"));
    for (line, number) in from_main_file.iter().filter(|(line, _)| line.contains("amoadd.w")) {
        assert!(source[number - 1].contains("amo_add"), "{line}: {}", source[number - 1]);
    }
    let additions = text.lines().filter(|line| line.contains("amoadd.w")).count();
    assert!(additions > 0 && (misaligned.is_some() || text.contains("pspin.h:")), "{text}");
    assert!(text.lines().skip(1).all(|line| line.split_whitespace().nth(2) == Some("0.0")));
}

#[test]
fn mistakes_in_programs() {
    let folder = Folder::new("programs");
    let run = |extra: &[&str], parts: &[&str]| {
        let arguments =
            [&["run", "app", "--generate", "icmp,count=4"], &OUTPUTS[..], extra].concat();
        folder.refuses(&arguments, parts);
    };
    let own = std::env::current_exe().unwrap().display().to_string();
    folder.app(MANIFEST);
    run(&["--cc", "gcc"], &["line 3", "--build-dir, --out and --force do not apply"]);
    run(&["--elf", "gone.elf"], &["cannot read gone.elf"]);
    run(&["--elf", &own], &["this core"]);
    folder.write("text.elf", "#!/bin/sh\n");
    run(&["--elf", "text.elf"], &["text.elf is not an ELF file"]);
    folder.write("cut.elf", &program(&HANDLERS)[..100]);
    run(&["--elf", "cut.elf"], &["cut.elf is truncated"]);
    run(&["--set", "program.base=0x1d100000"], &["outside program memory"]);
    let reset = ["--set", "program.bytes=1024", "--set", "program.reset_offset=0"];
    folder.write("large.elf", program_at(0x1d00_03f0));
    run(&[&["--elf", "large.elf"], &reset[..]].concat(), &["too large", "1024 bytes"]);
    folder.app(&MANIFEST.replace("good_ph", "god_ph"));
    run(&[], &["line 8", "no symbol `god_ph`", "did you mean `good_ph`"]);
    folder.app(&MANIFEST.replace("good_ph", "table"));
    run(&[], &["line 8", "0x1c000000", "outside program memory"]);
}

/// The prebuilt program, linked elsewhere.
fn program_at(address: u32) -> Vec<u8> {
    let mut file = program(&HANDLERS);
    file[60..64].copy_from_slice(&address.to_le_bytes());
    file[64..68].copy_from_slice(&address.to_le_bytes());
    file
}

#[test]
fn mistakes_in_manifests_and_machine_files() {
    let folder = Folder::new("manifests");
    let run = |extra: &[&str], parts: &[&str]| {
        let arguments =
            [&["run", "app", "--generate", "icmp,count=4"], &OUTPUTS[..], extra].concat();
        folder.refuses(&arguments, parts);
    };
    folder.app(&MANIFEST.replace("payload", "paylaod"));
    run(&[], &["app.toml, line 8, column 1", "nearest valid key: `payload`"]);
    folder.app(&MANIFEST.replace("\"all\"", "7"));
    run(&[], &["line 6", "expected a string"]);
    folder.app(&MANIFEST.replace("icmp.echo", "u32(40, 1, 1, 1)"));
    run(&[], &["line 7", "u32(40", "sees the first"]);
    let rules: Vec<String> = (0..9).map(|word| format!("\"u32({word}, 1, 1, 1)\"")).collect();
    let many = format!("match = [{}]", rules.join(", "));
    folder.app(&MANIFEST.replace("match = [\"icmp.echo\"]", &many));
    run(&[], &["line 7", "comparisons", "matching.rules"]);
    folder.app(&MANIFEST.replace("payload", "handler_memory = \"2MiB\"\npayload"));
    run(&[], &["line 8", "do not fit"]);
    folder.app(MANIFEST);
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/pspin.toml");
    let machine = fs::read_to_string(machine).unwrap();
    folder.write("odd.toml", machine.replace("frequency_mhz", "frequenzy_mhz"));
    run(&["--machine", "odd.toml"], &["odd.toml, line", "nearest valid key: `frequency_mhz`"]);
    folder.write("odd.toml", machine.replace("[clock]", "[clock"));
    run(&["--machine", "odd.toml"], &["odd.toml, line"]);
}

#[test]
fn mistakes_in_captures() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("captures");
    let app = example("icmp_echo");
    let elf = folder.0.join("app.elf").display().to_string();
    let built = folder.pinion(&["build", &app, "--out", &elf]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let refuses = |extra: &[&str], parts: &[&str]| {
        let arguments = [&["run", &app, "--elf", &elf], &OUTPUTS[..], extra].concat();
        folder.refuses(&arguments, parts);
    };
    let good = fs::read(Path::new(&app).join("ping.pcap")).unwrap();
    refuses(&["--pcap-in", "gone.pcap"], &["cannot open the capture gone.pcap"]);
    folder.write("foreign.pcap", "GIF89a, which is no capture at all");
    refuses(&["--pcap-in", "foreign.pcap"], &["foreign.pcap is not a pcap"]);
    folder.write("header.pcap", &good[..20]);
    refuses(&["--pcap-in", "header.pcap"], &["ends within the capture's header"]);
    folder.write("cut.pcap", &good[..good.len() - 10]);
    refuses(&["--pcap-in", "cut.pcap"], &["ends within packet 100", "99 whole packets"]);
    refuses(
        &["--generate", "icmp,size=3000,count=4"],
        &["3000 bytes", "up to 2048", "inbound.max_packet_bytes"],
    );
}

#[test]
fn a_missing_or_failing_compiler() {
    let folder = Folder::new("compilers");
    folder.write("app/app.toml", MANIFEST.replace("elf = \"app.elf\"", "sources = [\"app.c\"]"));
    folder.write("app/app.c", "int broken(void) { return missing; }\n");
    folder.refuses(&["build", "app", "--cc", "/nowhere/gcc"], &["/nowhere/gcc", "--cc takes"]);
    let bare = Command::new(env!("CARGO_BIN_EXE_pinion"))
        .args(["build", "app"])
        .current_dir(&folder.0)
        .env("PINION_SDK", sdk())
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&bare.stderr);
    assert_eq!(bare.status.code(), Some(2), "{text}");
    assert!(
        text.contains("apt-get install gcc-riscv64-unknown-elf") || text.contains("zig"),
        "{text}"
    );
    if !has_gcc() {
        return;
    }
    let output = folder.pinion(&["build", "app", "--out", "out/app.elf"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("app.c:1:27: error: 'missing' undeclared"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("pinion: "), "{text}");
    assert!(!folder.0.join("out/app.elf").exists());
    folder.write(
        "app/app.c",
        "__attribute__((used)) int big(void) { asm(\".space 65536\"); return 0; }\n",
    );
    let output = folder.pinion(&["build", "app"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
}

#[test]
fn a_device_without_permission_tells_what_to_run() {
    use std::os::unix::process::CommandExt as _;
    let folder = Folder::new("tap");
    folder.app(MANIFEST);
    let output = Command::new(env!("CARGO_BIN_EXE_pinion"))
        .args(["up", "app", "--tap", "pinion-cli0", "--address", "10.254.0.1/24"])
        .current_dir(&folder.0)
        .env("PINION_SDK", sdk())
        .uid(65_534)
        .output();
    // Without root the user cannot be changed (and lacks the right anyway); a folder that others
    // cannot enter hides the executable from them.
    let Ok(output) = output else { return };
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("TAP"), "{text}");
}

#[test]
fn a_new_application_builds_and_runs() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("new");
    let made = folder.pinion(&["new", "my_filter"]);
    assert!(made.status.success());
    let built = folder.pinion(&["build", "my_filter"]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert!(built.stderr.is_empty(), "{}", String::from_utf8_lossy(&built.stderr));
    let again = folder.pinion(&["build", "my_filter"]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("up to date"));
    let spec = "udp,size=512,count=1000,messages=10,rate=400g";
    let run = folder.pinion(
        &[
            &["run", "my_filter", "--generate", spec],
            &OUTPUTS[..],
            &["--host-dump", "my_filter=host.bin"],
        ]
        .concat(),
    );
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stderr));
    assert!(text.contains("HER to completion") && text.contains("handlers"), "{text}");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.0.join("out.json")).unwrap()).unwrap();
    assert_eq!(json["packets"]["in"], 1000);
    assert_eq!(json["packets"]["processed"], 1000);
    assert_eq!(json["packets"]["out"], 1000);
    let lines = fs::read_to_string(folder.0.join("out.csv")).unwrap().lines().count();
    assert_eq!(lines, 1001);
    assert!(folder.0.join("host.bin").metadata().unwrap().len() == 1 << 20);
}

#[test]
fn machines_are_shown_with_their_sources() {
    let folder = Folder::new("machine");
    let shown = folder.pinion(&["machine", "show", "pspin", "--set", "cluster.count=8"]);
    let text = String::from_utf8_lossy(&shown.stdout);
    let line = text.lines().find(|line| line.starts_with("cluster.count ")).unwrap();
    assert!(line.contains("8*") && line.contains("set on the command line"), "{line}");
    assert!(text.lines().any(|line| line.starts_with("cluster.cores ") && line.contains("paper")));
    let list = folder.pinion(&["machine", "list"]).stdout;
    let list = String::from_utf8_lossy(&list).into_owned();
    assert!(
        ["nanopu", "pspin"].iter().all(|name| list.lines().any(|line| line == *name)),
        "{list}"
    );
    assert!(folder.pinion(&["doctor"]).status.success());
}
