//! Waveforms, read back by a reader of VCD that is not ours and held against what the same run's summary
//! and profile say.

#[allow(dead_code)]
mod outside;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use outside::{Folder, example, has_gcc};
use serde_json::Value as Json;
use vcd::{Command, Parser, ScopeItem, Value};

/// The values of a signal: from when on it has which; `None`: none.
type Wave = Vec<(u64, Option<u64>)>;

/// A file of waveforms: signals by their scopes and names, and the last time.
struct Waves {
    signals: BTreeMap<String, Wave>,
    end: u64,
}

impl Waves {
    fn read(folder: &Folder, name: &str) -> Self {
        let mut parser = Parser::new(BufReader::new(File::open(folder.0.join(name)).unwrap()));
        let header = parser.parse_header().unwrap();
        assert_eq!(header.timescale.unwrap().0, 1);
        let mut names = BTreeMap::new();
        collect(&header.items, "", &mut names);
        let mut signals: BTreeMap<String, Wave> = BTreeMap::new();
        let (mut now, mut end) = (None, 0);
        for command in parser {
            let (code, value) = match command.unwrap() {
                Command::Timestamp(time) => {
                    assert!(now.is_none_or(|now| now < time), "time goes on: {now:?}, {time}");
                    (now, end) = (Some(time), time);
                    continue;
                }
                Command::ChangeScalar(code, value) => (code, number([value])),
                Command::ChangeVector(code, values) => (code, number(values.iter())),
                Command::Begin(_) | Command::End(_) => continue,
                other => panic!("{other:?}"),
            };
            let wave = signals.entry(names[&code].clone()).or_default();
            assert_ne!(wave.last().map(|(_, value)| *value), Some(value), "{}", names[&code]);
            wave.push((now.unwrap(), value));
        }
        assert_eq!(signals.len(), names.len(), "each has a value at first");
        Self { signals, end }
    }

    fn of(&self, name: &str) -> &Wave {
        self.signals.get(name).unwrap_or_else(|| panic!("{name} of {:?}", self.signals.keys()))
    }

    fn last(&self, name: &str) -> u64 {
        self.of(name).last().unwrap().1.unwrap()
    }

    /// Lists the signals whose names end so.
    fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a String, &'a Wave)> {
        self.signals.iter().filter(move |(name, _)| name.ends_with(end))
    }

    /// Adds a signal's value up over the time, in ps.
    fn area(&self, wave: &Wave) -> u64 {
        let ends = wave.iter().skip(1).map(|(at, _)| *at).chain([self.end]);
        wave.iter().zip(ends).map(|((at, value), end)| (end - at) * value.unwrap_or(0)).sum()
    }
}

fn collect(items: &[ScopeItem], within: &str, names: &mut BTreeMap<vcd::IdCode, String>) {
    for item in items {
        match item {
            ScopeItem::Scope(scope) => {
                collect(&scope.items, &format!("{within}{}.", scope.identifier), names);
            }
            ScopeItem::Var(var) => {
                names.insert(var.code, format!("{within}{}", var.reference));
            }
            _ => {}
        }
    }
}

fn number(values: impl IntoIterator<Item = Value>) -> Option<u64> {
    values.into_iter().try_fold(0, |number, value| match value {
        Value::V0 => Some(number << 1),
        Value::V1 => Some(number << 1 | 1),
        Value::X | Value::Z => None,
    })
}

fn run(folder: &Folder, arguments: &[&str]) {
    let output = folder.pinion(&[arguments, &["--quiet"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn json(folder: &Folder, name: &str) -> Json {
    serde_json::from_slice(&std::fs::read(folder.0.join(name)).unwrap()).unwrap()
}

#[test]
fn a_nics_waves_say_what_its_summary_and_its_profile_say() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("vcd-nic");
    for (name, more) in
        [("reduce", &[][..]), ("udp_echo", &[]), ("filtering", &["--set", "units.count=2"])]
    {
        let app = example(name);
        let all = [&["trace", &app, "--vcd", "w.vcd", "--json", "run.json"], more].concat();
        run(&folder, &all);
        run(&folder, &[&["profile", &app, "--json", "profile.json"], more].concat());
        let (waves, summary) = (Waves::read(&folder, "w.vcd"), json(&folder, "run.json"));
        let profile = json(&folder, "profile.json");
        let packets = &summary["packets"];
        assert_eq!(waves.last(&format!("{name}.inbound.bytes")), summary["bytes"]["in"], "{name}");
        assert_eq!(waves.last(&format!("{name}.outbound.bytes")), summary["bytes"]["out"]);
        let dropped = waves.last(&format!("{name}.inbound.dropped"));
        assert_eq!(dropped, packets["dropped"].as_u64().unwrap_or(0), "{name}");
        // What handlers took, by the account of cycles.
        let busy: u64 = waves
            .ending(".busy")
            .filter(|(name, _)| name.contains("hpu"))
            .map(|(_, wave)| waves.area(wave))
            .sum();
        let classes = profile["classes"].as_array().unwrap().iter();
        let handlers = classes.filter(|class| class["kind"].is_string());
        let cycles: u64 = handlers
            .flat_map(|class| class["cycles"].as_object().unwrap().values())
            .map(|cycles| cycles.as_u64().unwrap())
            .sum();
        assert!(cycles > 0);
        assert_eq!(busy, cycles * 1000, "{name}: cycles of 1 ns");
        // All is over at the end, and there never was less than nothing.
        for end in
            ["packets", "occupied_bytes", "waiting", "tasks", "transfers", "commands", "busy"]
        {
            for (name, wave) in waves.ending(&format!(".{end}")) {
                assert_eq!(wave.last().unwrap().1, Some(0), "{name}");
            }
        }
        // An HPU has a packet while it is busy, and only then.
        for (name, wave) in waves.ending(".packet") {
            let busy = waves.of(&name.replace(".packet", ".busy"));
            let has = |wave: &Wave, at| {
                let before = wave.iter().take_while(|(from, _)| *from <= at);
                before.last().unwrap().1.filter(|_| true)
            };
            for (at, value) in busy {
                assert_eq!(has(wave, *at).is_some(), *value == Some(1), "{name} at {at}");
            }
        }
    }
}

#[test]
fn a_nanopus_waves_count_its_messages() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("vcd-nano");
    let echo = example("nanopu_echo");
    run(
        &folder,
        &["trace", &echo, "--load", "requests=80", "--vcd", "w.vcd", "--json", "run.json"],
    );
    let (waves, summary) = (Waves::read(&folder, "w.vcd"), json(&folder, "run.json"));
    assert_eq!(waves.last("nanopu_echo.pins.in.bytes"), summary["bytes"]["in"]);
    assert_eq!(waves.last("nanopu_echo.pins.out.bytes"), summary["bytes"]["out"]);
    for (hart, row) in summary["harts"].as_array().unwrap().iter().enumerate() {
        let wave = waves.of(&format!("nanopu_echo.hart_{hart}.message"));
        let begun = wave.iter().filter(|(_, message)| message.is_some()).count() as u64;
        assert_eq!(Some(begun), row["messages"].as_u64(), "hart {hart}");
    }
    for name in [
        "receive.message_table.incomplete",
        "receive.reassembly.buffers",
        "receive.global.messages",
        "transmit.messages",
        "pins.in.busy",
        "pins.out.busy",
    ] {
        let wave = waves.of(&format!("nanopu_echo.{name}"));
        assert!(wave.len() > 80, "{name} moves: {}", wave.len());
        assert_eq!(wave.last().unwrap().1, Some(0), "{name}");
    }
}

#[test]
fn a_clusters_waves_are_the_same_at_every_number_of_threads() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("vcd-cluster");
    let filter = example("cluster_filter");
    for threads in ["1", "2", "4"] {
        let file = format!("{threads}.vcd");
        run(
            &folder,
            &["trace", &filter, "--vcd", &file, "--threads", threads, "--json", "run.json"],
        );
    }
    let read = |name: &str| std::fs::read(folder.0.join(name)).unwrap();
    assert!(read("1.vcd") == read("2.vcd") && read("1.vcd") == read("4.vcd"));
    let (waves, summary) = (Waves::read(&folder, "1.vcd"), json(&folder, "run.json"));
    // A NIC and nanoPUs, and what lies between them; cables carry their frames' flits.
    assert!(waves.ending("hpu_0.packet").count() > 0 && waves.ending("hart_0.message").count() > 0);
    let busy: u64 = waves
        .ending(".busy")
        .filter(|(name, _)| name.contains(".network."))
        .map(|(_, wave)| waves.area(wave))
        .sum();
    assert!(busy > 0, "{summary}");
    // One node alone says the same as among all.
    run(&folder, &["trace", &filter, "--vcd", "one.vcd", "--node", "filter"]);
    let one = Waves::read(&folder, "one.vcd");
    let packets = |waves: &Waves| {
        let all = waves.ending("packet_buffer.packets");
        all.map(|(_, wave)| wave.clone()).collect::<Vec<Wave>>()
    };
    assert_eq!(packets(&one), packets(&waves));
}

#[test]
fn a_span_is_cut_out_of_the_whole() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("vcd-span");
    let app = example("reduce");
    run(&folder, &["trace", &app, "--vcd", "whole.vcd"]);
    run(&folder, &["trace", &app, "--vcd", "part.vcd", "--from", "10us", "--to", "20us"]);
    let (whole, part) = (Waves::read(&folder, "whole.vcd"), Waves::read(&folder, "part.vcd"));
    assert!((19_000_000..=20_000_000).contains(&part.end), "{}", part.end);
    for (name, wave) in &whole.signals {
        let (from, to) = (10_000_000, 20_000_000);
        let at_first = wave.iter().take_while(|(at, _)| *at <= from).last().unwrap().1;
        let mut expected = vec![(from, at_first)];
        expected.extend(wave.iter().filter(|(at, _)| *at > from && *at < to));
        assert_eq!(part.of(name), &expected, "{name}");
    }
}

#[test]
fn what_does_not_go_with_waves_is_refused() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("vcd-refusals");
    let (reduce, filter) = (example("reduce"), example("cluster_filter"));
    for option in [&["--packet", "1"][..], &["--hpu", "0"], &["--perfetto", "p"], &["--no-events"]]
    {
        let output = folder.pinion(&[&["trace", &reduce, "--vcd", "w.vcd"], option].concat());
        assert_eq!(output.status.code(), Some(2), "{option:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("--vcd") && text.contains(option[0]), "{text}");
        assert!(folder.files().is_empty());
    }
    let span = ["--from", "20", "--to", "10"];
    folder.refuses(&[&["trace", &reduce, "--vcd", "w.vcd"], &span[..]].concat(), &["--to"]);
    folder.refuses(&[&["trace", &filter, "--vcd", "w.vcd"], &span[..]].concat(), &["--to"]);
    folder.refuses(&["trace", &reduce, "--vcd", "w", "--json", "w"], &["--vcd", "--json"]);
}
