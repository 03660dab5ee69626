//! Where cycles went: every cycle of every hart is counted once, the account agrees with what the machine
//! says of its handlers, and what cannot be shown is said plainly.

#[allow(dead_code)]
mod outside;

use std::path::Path;
use std::process::Command;

use outside::{Folder, example, has_gcc};
use pinion::app::{App, Options};
use pinion::profile::{Cause, HpuProfile, Profile, Rows, pprof_format};
use pinion::report::Outputs;
use pinion::traffic::Packets;
use pinion::watch::Unobserved;
use pinion_sim::random::Xorshift64;
use prost::Message as _;
use serde_json::Value;

/// Packets for `examples/to_host`.
const TO_HOST: &str = "udp,dport=9200,size=512,messages=1024,packets=1";

/// Profiles an application on packets, and gives what `look` makes of it.
fn profile<T>(app: &App, spec: &str, look: impl FnOnce(&Profile<'_>) -> T) -> T {
    let packets = Packets::generate(spec, None, None);
    let mut ears = HpuProfile::new(app);
    let outputs = Outputs::default();
    let ran = pinion::run::trace(app, packets.unwrap(), &outputs, &mut Unobserved, &mut ears);
    let summary = ran.unwrap().summary;
    let profile = ears.profile(summary.simulated);
    assert_eq!(profile.cycles, summary.cycles, "it ends with the run");
    look(&profile)
}

/// Everything adds up: the whole, harts, classes, functions, lines; handlers take what the machine says,
/// and nothing of it is unexplained.
fn check(profile: &Profile<'_>, what: &str) {
    let total = profile.total();
    assert!(total > 0, "{what}");
    assert_eq!(profile.sum().total(), total, "{what}");
    let harts: u64 = (0..profile.harts.len()).map(|hart| profile.of_hart(hart).total()).sum();
    assert_eq!(harts, total, "{what}: harts");
    for hart in 0..profile.harts.len() {
        assert_eq!(profile.of_hart(hart).total(), profile.cycles, "{what}: hart {hart}");
    }
    let rows = Rows::of(profile);
    let functions: u64 = rows.functions.iter().map(|row| row.count.total()).sum();
    let lines: u64 = rows.lines.iter().map(|row| row.count.total()).sum();
    assert_eq!((functions, lines), (total, total), "{what}: functions, lines");
    assert!(profile.classes.iter().any(|class| class.runs > 0), "{what}: no handler ran");
    for (index, class) in profile.classes.iter().enumerate().filter(|(_, class)| class.runs > 0) {
        let count = profile.of_class(index);
        assert_eq!(count.total(), class.cycles, "{what}: {}", class.name);
        assert_eq!(count.cycles[Cause::Other as usize], 0, "{what}: {}", class.name);
        assert_eq!(count.cycles[Cause::Idle as usize], 0, "{what}: {}", class.name);
    }
}

#[test]
fn every_cycle_of_every_hpu_is_counted_once() {
    let folder = Folder::new("profile-sums");
    let seed = std::env::var("PINION_PROFILE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(0x5eed_0043);
    let mut random = Xorshift64::new(seed);
    let programs = [("empty", "ph"), ("words", "reduce"), ("words", "aggregate"), ("move", "ph")];
    for round in 0..12 {
        let (program, handler) = programs[round % programs.len()];
        let path = folder.calibration(program, handler);
        let overrides = vec![
            format!("cluster.count={}", 1 << (random.draw() % 3)),
            format!("units.count={}", 1 + random.draw() % 2),
        ];
        let options = Options { overrides, ..Options::default() };
        let app = App::load(&path, &options).unwrap();
        let (size, count) = (64 + random.draw() % 960, 1 + random.draw() % 80);
        let spec = format!("udp,size={size},count={count},seed={}", random.draw() % 1000);
        let what = format!(
            "{program}, {spec}, {:?}; again with PINION_PROFILE_SEED={seed}",
            options.overrides
        );
        profile(&app, &spec, |profile| check(profile, &what));
    }
}

#[test]
fn handlers_of_examples_are_explained_to_the_cycle() {
    if !has_gcc() {
        return;
    }
    // Commands and far atomics; a copy by a handler; two tenants; a cache that misses.
    for (name, spec) in [
        ("to_host", TO_HOST),
        ("copy_from_host", "udp,dport=9400,size=512,messages=1024,packets=1"),
        ("multi_tenant", "udp,dport=9600,size=512,messages=256,packets=1"),
        ("filtering", "udp,size=512,messages=256,packets=1,src=10.12.0.0,sources=65536"),
        ("udp_echo", "udp,dport=9500,size=64,count=300"),
    ] {
        let app = App::load(Path::new(&example(name)), &Options::default()).unwrap();
        profile(&app, spec, |profile| check(profile, name));
    }
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.pinion(&[arguments, &["--json", "out.json", "--quiet"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&std::fs::read(folder.0.join("out.json")).unwrap()).unwrap()
}

fn cycles(value: &Value) -> u64 {
    value["cycles"].as_object().unwrap().values().map(|cycles| cycles.as_u64().unwrap()).sum()
}

#[test]
fn what_traps_is_not_executed_by_handler_nor_by_packet() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("profile-traps");
    let slmp = example("slmp");
    let packets = format!("{slmp}/traffic.pcap");
    let document = json(&folder, &["profile", &slmp, "--pcap-in", &packets]);
    let run = json(&folder, &["run", &slmp, "--pcap-in", &packets, "--handlers"]);
    let sum = |key: &str, of: fn(&Value) -> &Value| -> u64 {
        let rows = document[key].as_array().unwrap().iter();
        rows.filter(|row| !row["context"].is_null()).filter_map(|row| of(row).as_u64()).sum()
    };
    let counts: [fn(&Value) -> &Value; 2] =
        [|row| &row["cycles"]["issue"], |row| &row["instructions"]];
    for count in counts {
        assert_eq!(sum("classes", count), sum("packets", count));
    }
    let other: fn(&Value) -> &Value = |row| &row["cycles"]["other"];
    assert!(sum("classes", other) > 0, "something traps");
    assert_eq!(sum("classes", other), sum("packets", other));
    let handlers = run["handlers"].as_array().unwrap().iter();
    let retired: u64 = handlers.map(|row| row["instructions"].as_u64().unwrap()).sum();
    assert_eq!(sum("classes", counts[1]), retired);
}

#[test]
fn a_call_that_was_inlined_counts_calls_and_not_the_turns_of_its_loop() {
    if !has_gcc() {
        return;
    }
    let app = App::load(Path::new(&example("multi_tenant")), &Options::default()).unwrap();
    profile(&app, "udp,dport=9600,size=512,messages=256,packets=1", |profile| {
        let packets = profile.packets.iter().map(|row| row.packets).max().unwrap();
        let coverage = profile.coverage();
        let (file, lines) = coverage.iter().find(|(file, _)| file.ends_with("/ledger.c")).unwrap();
        let source = std::fs::read_to_string(file).unwrap();
        let line = 1 + source.lines().position(|line| line.contains("seal = seal_of(")).unwrap();
        assert_eq!(lines[&(line as u32)], packets, "{file}:{line}: {lines:?}");
    });
}

#[test]
fn harts_of_a_nanopu_and_nodes_of_a_cluster_add_up_too() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("profile-harts");
    let (echo, mica) = (example("nanopu_echo"), example("nanopu_mica"));
    let filter = example("cluster_filter");
    let cases: [&[&str]; 4] = [
        &["profile", &echo, "--load", "requests=50"],
        &["profile", &mica, "--load", "requests=200"],
        &["profile", &filter, "--node", "filter"],
        &["profile", &filter, "--node", "server"],
    ];
    for arguments in cases {
        let document = json(&folder, arguments);
        let total = document["total_cycles"].as_u64().unwrap();
        assert!(total > 0, "{arguments:?}");
        let sum: u64 = ["classes", "functions", "lines", "harts"]
            .map(|key| document[key].as_array().unwrap().iter().map(cycles).sum::<u64>())
            .into_iter()
            .inspect(|sum| assert_eq!(*sum, total, "{arguments:?}"))
            .sum();
        assert_eq!(sum, 4 * total);
    }
}

#[test]
fn an_unlocked_loop_shows_where_it_waits() {
    if !has_gcc() {
        return;
    }
    let app = App::load(Path::new(&example("to_host")), &Options::default()).unwrap();
    profile(&app, TO_HOST, |profile| {
        let sum = profile.sum();
        // Each packet fetches a ring's counter in another cluster's L1 or L2, and waits for its command.
        for cause in [Cause::Remote, Cause::Command] {
            let part = sum.cycles[cause as usize] * 100 / sum.busy();
            assert!(part > 5, "{}: {part} %", cause.name());
        }
        let rows = Rows::of(profile);
        let first = &rows.lines[0];
        assert!(first.count.cycles[Cause::Remote as usize] > first.count.busy() / 2, "{first:?}");
        let lcov = profile.to_lcov();
        assert!(lcov.contains("to_host.c\n"), "{lcov}");
        assert!(!lcov.contains("handler.h"), "the SDK is not the application's: {lcov}");
        let hit = lcov.lines().filter(|line| line.starts_with("DA:") && !line.ends_with(",0"));
        assert!(hit.count() > 5, "{lcov}");
    });
}

#[test]
fn files_are_what_their_readers_take() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("profile-files");
    let app = example("reduce");
    let output = folder.pinion(&[
        "profile",
        &app,
        "--flame",
        "f.svg",
        "--speedscope",
        "s.json",
        "--occupancy",
        "o.svg",
        "--lcov",
        "l.info",
        "--pprof",
        "p.pb",
        "--source",
        "--disassembly",
        "reduce_ph",
        "--quiet",
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("reduce.c") && text.contains("amoadd.w"), "{text}");
    let read = |name: &str| std::fs::read_to_string(folder.0.join(name)).unwrap();
    assert!(
        read("f.svg").contains("reduce_ph") && read("o.svg").contains("HPUs that run handlers")
    );
    // Sums of the profiles are their weights; frames are within the table.
    let speedscope: Value = serde_json::from_str(&read("s.json")).unwrap();
    let frames = speedscope["shared"]["frames"].as_array().unwrap().len() as u64;
    for profile in speedscope["profiles"].as_array().unwrap() {
        let weights = profile["weights"].as_array().unwrap();
        let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
        assert_eq!(Some(sum), profile["endValue"].as_u64());
        let samples = profile["samples"].as_array().unwrap();
        assert_eq!(samples.len(), weights.len());
        let all = samples.iter().flat_map(|sample| sample.as_array().unwrap());
        assert!(all.map(|frame| frame.as_u64().unwrap()).all(|frame| frame < frames));
    }
    // HPU-cycles of the chart are those of the account.
    let document = json(&folder, &["profile", &app]);
    let end = document["cycles"].as_u64().unwrap();
    assert_eq!(document["cycles"], json(&folder, &["run", &app])["cycles"], "it ends with the run");
    let busy = area(&read("o.csv"), "hpus_busy", end);
    let handlers = document["classes"].as_array().unwrap().iter();
    let handlers: u64 = handlers.filter(|class| class["kind"].is_string()).map(cycles).sum();
    assert!((busy - handlers as f64).abs() < 20.0, "{busy} and {handlers}");
    check_pprof(&folder, &document);
}

/// Adds up a column of a chart's table over the cycles of its rows.
fn area(table: &str, column: &str, end: u64) -> f64 {
    let head: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let column = head.iter().position(|name| *name == column).unwrap();
    let cells = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect();
    let rows: Vec<Vec<f64>> = table.lines().skip(1).map(cells).collect();
    let next = |row: usize| rows.get(row + 1).map_or(end as f64, |next| next[0]);
    (0..rows.len()).map(|row| (next(row) - rows[row][0]) * rows[row][column]).sum()
}

/// The weights of pprof's file are the run's cycles; every number in it leads somewhere; pprof itself, where
/// it is installed, adds up the same.
fn check_pprof(folder: &Folder, document: &Value) {
    let bytes = std::fs::read(folder.0.join("p.pb")).unwrap();
    let profile = pprof_format::Profile::decode(&bytes[..]).unwrap();
    let text = |number: i64| profile.string_table[usize::try_from(number).unwrap()].as_str();
    let types: Vec<&str> = profile.sample_type.iter().map(|value| text(value.r#type)).collect();
    assert_eq!(types, ["cycles", "work", "instructions"]);
    assert_eq!(text(0), "");
    let mut sums = [0; 3];
    for sample in &profile.sample {
        sums.iter_mut().zip(&sample.value).for_each(|(sum, value)| *sum += value);
        for id in &sample.location_id {
            let location = &profile.location[*id as usize - 1];
            assert_eq!(location.id, *id);
            assert!(!location.line.is_empty());
            for line in &location.line {
                assert!(!text(profile.function[line.function_id as usize - 1].name).is_empty());
            }
        }
        assert!(sample.label.iter().any(|label| text(label.key) == "cause"));
    }
    let of = |value: &Value| value.as_i64().unwrap();
    assert_eq!(sums[0], of(&document["total_cycles"]));
    let rows = |key: &str| document[key].as_array().unwrap().iter();
    let idle: i64 = rows("classes").filter_map(|class| class["cycles"]["idle"].as_i64()).sum();
    assert_eq!(sums[1], sums[0] - idle);
    assert_eq!(sums[2], rows("classes").map(|class| of(&class["instructions"])).sum::<i64>());
    let pprof = Command::new("go")
        .args(["tool", "pprof", "-top", "-unit=cycles", "-sample_index=cycles", "p.pb"])
        .current_dir(&folder.0)
        .output();
    if let Ok(output) = pprof
        && !String::from_utf8_lossy(&output.stderr).contains("no such tool")
    {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(&format!("of {}cycles total", sums[0])), "{text}");
    }
}

#[test]
fn a_nanopus_charts_hold_its_messages() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("profile-occupancy");
    let (echo, filter) = (example("nanopu_echo"), example("cluster_filter"));
    let cases: [&[&str]; 2] =
        [&["profile", &echo, "--load", "requests=100"], &["profile", &filter, "--node", "server"]];
    for arguments in cases {
        let document = json(&folder, &[arguments, &["--occupancy", "o.svg"]].concat());
        let end = document["cycles"].as_u64().unwrap();
        let table = std::fs::read_to_string(folder.0.join("o.csv")).unwrap();
        let columns = [
            "harts_busy",
            "messages_incomplete",
            "reassembly_buffers",
            "global_receive",
            "local_receive",
            "transmit_buffers",
            "in_gbit_s",
            "out_gbit_s",
        ];
        let areas = columns.map(|column| area(&table, column, end));
        assert!(areas.iter().all(|area| *area > 0.0), "{arguments:?}: {areas:?}");
        let [busy, incomplete, buffers, _, at_harts, ..] = areas;
        // A message is at its hart before the hart works at it, and is whole before it goes there.
        assert!(busy <= at_harts && incomplete <= buffers, "{arguments:?}: {areas:?}");
        let svg = std::fs::read_to_string(folder.0.join("o.svg")).unwrap();
        assert!(svg.contains("reassembly buffers that are taken"));
    }
    json(&folder, &["profile", &filter, "--node", "filter", "--occupancy", "o.svg"]);
    let table = std::fs::read_to_string(folder.0.join("o.csv")).unwrap();
    assert!(table.starts_with("cycle,ns,hpus_busy,"), "{table}");
}

#[test]
fn what_cannot_be_profiled_is_said() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("profile-refusals");
    let (reduce, echo, filter) =
        (example("reduce"), example("nanopu_echo"), example("cluster_filter"));
    folder.refuses(&["profile", &reduce, "--engine", "native"], &["--engine native", "cycles"]);
    folder.refuses(&["profile", &reduce, "--pcap-out", "x.pcap"], &["--pcap-out", "pinion run"]);
    folder.refuses(&["profile", &reduce, "--node", "a"], &["--node", "clusters"]);
    folder.refuses(&["profile", &reduce, "--disassembly", "nope"], &["nope", "no such function"]);
    folder.refuses(&["profile", &reduce, "--flame", "a.svg", "--lcov", "a.svg"], &["--lcov"]);
    folder.refuses(&["profile", &echo, "--occupancy", "o.svg", "--pprof", "o.svg"], &["--pprof"]);
    folder.refuses(&["profile", &filter], &["--node NAME", "profiled"]);
    folder.refuses(&["profile", &filter, "--node", "nobody"], &["nobody", "no such node"]);
    // A program without debug information still has functions; source is refused with the reason.
    let elf = folder.0.join("stripped.elf");
    let app = App::load(Path::new(&reduce), &Options::default()).unwrap();
    let strip = Command::new("riscv64-unknown-elf-strip")
        .args(["-g", "-o"])
        .args([&elf, &app.built.elf])
        .status();
    if strip.is_ok_and(|status| status.success()) {
        let elf = elf.to_str().unwrap();
        let output = folder.pinion(&["profile", &reduce, "--elf", elf, "--quiet"]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("reduce_ph"));
        folder.refuses(&["profile", &reduce, "--elf", elf, "--source"], &["-g", "--disassembly"]);
    }
}
