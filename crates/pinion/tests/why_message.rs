//! Why a message took so long: its parts have no gap, and add up to the time from wire to wire that the
//! run itself has counted, for every message of several services; what cannot be asked is said plainly.

#[allow(dead_code)]
mod outside;

use std::path::Path;

use outside::{Folder, example, has_gcc};
use pinion::app::Options;
use pinion::nanoservice::run::{RunOptions, run};
use pinion::nanoservice::{Outputs, Setup, Traffic};
use pinion::service::Service;
use pinion::watch::Unobserved;
use pinion::why::nano::{Answer, Follower, Found, Life};
use pinion::why::{Spent, Which};
use serde_json::Value;

fn ps(value: &Value) -> u64 {
    (value.as_f64().expect("a number") * 1e3).round() as u64
}

/// The times from wire to wire of a table of frames, in ps, shortest first.
fn wire_to_wire(path: &Path) -> Vec<u64> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let column =
        reader.headers().unwrap().iter().position(|name| name == "wire_to_wire_ns").unwrap();
    let rows = reader.records().map(|row| row.unwrap()[column].to_owned());
    let ns = rows.filter(|cell| !cell.is_empty()).map(|cell| cell.parse::<f64>().unwrap());
    let mut times: Vec<u64> = ns.map(|ns| (ns * 1e3).round() as u64).collect();
    times.sort_unstable();
    times
}

#[test]
fn the_parts_of_every_message_add_up_to_its_time_on_the_wires() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("why-messages");
    for (name, load) in [
        ("nanopu_service", "requests=400,gap=exp:900,service=500"),
        // More than the harts can do, and services of all lengths.
        ("nanopu_service", "requests=400,gap=exp:150,service=exp:500,seed=5"),
        ("nanopu_echo", "requests=300,gap=exp:60,seed=2"),
        ("nanopu_echo", "requests=200,gap=exp:400,size=2000"),
        ("nanopu_echo", "requests=200,outstanding=8"),
        ("nanopu_mica", "requests=200,gap=exp:800,startup=4,store=10000:512,contexts=uniform:4"),
    ] {
        let options = Options::default();
        let service = Service::load(Path::new(&example(name)), &options).unwrap();
        let setup = Setup::new(&service, &options).unwrap();
        let Ok(traffic) = Traffic::load(load, None, &setup, true) else { panic!("{name}: {load}") };
        let table = folder.0.join("frames.csv");
        let outputs = Outputs { packets: Some(table.clone()), ..Outputs::default() };
        let mut follower = Follower::new(&setup);
        // A store is filled before it is ready.
        let of = RunOptions { patience: 40_000_000, ..RunOptions::of(traffic) };
        run(&service, &setup, of, &outputs, &mut Unobserved, &mut follower).unwrap();
        let mut all = Vec::new();
        let has_answered = |life: &&Life| follower.reply(life).is_some_and(|r| r.left().is_some());
        for life in follower.lives().filter(has_answered) {
            let found = follower.find(Which::Message(life.message as u32)).unwrap();
            let answer = Answer::new([name, "nanopu"], &found, &follower, Spent::default());
            let message = &answer.to_json()["message"];
            let mut at = 0;
            for span in message["spans"].as_array().unwrap() {
                assert_eq!(ps(&span["at_ns"]), at, "{name}, {load}: {message:#}");
                assert!(ps(&span["ns"]) > 0, "{name}, {load}: {message:#}");
                at += ps(&span["ns"]);
            }
            assert_eq!(ps(&message["ns"]), at, "{name}, {load}");
            all.push(at);
        }
        all.sort_unstable();
        let counted = wire_to_wire(&table);
        assert!(all.len() >= 200, "{name}, {load}: {}", all.len());
        assert_eq!(all.len(), counted.len(), "{name}, {load}");
        // A cycle is no whole number of picoseconds, which parts are rounded to.
        let differs = all.iter().zip(&counted).find(|(own, counted)| own.abs_diff(**counted) > 1);
        assert_eq!(differs, None, "{name}, {load}");
        let Found::Done(slowest, standing) = follower.find(Which::Slowest).unwrap() else {
            panic!()
        };
        assert_eq!((standing.longer, standing.all), (0, all.len() as u64), "{name}: {slowest:?}");
    }
}

#[test]
fn who_was_in_the_way_and_which_lines_took_long_is_told() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("why-message-text");
    let app = example("nanopu_service");
    let load = ["--load", "requests=400,gap=exp:150,service=500,seed=2"];
    let asked = |more: &[&str]| {
        let output = folder.pinion(&[&["why", &app, load[0], load[1]], more].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = asked(&["--slowest", "--json", "why.json", "--svg", "why.svg"]);
    assert!(
        text.contains("waits in the global receive queue of context 0, behind messages"),
        "{text}"
    );
    let document = std::fs::read_to_string(folder.0.join("why.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let message = &document["message"];
    let cycles: u64 = message["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["cycles"].as_u64().unwrap())
        .sum();
    let spans = message["spans"].as_array().unwrap();
    let work = spans.iter().find(|span| span["step"] == "work").unwrap();
    // At 3.2 GHz a cycle is 312.5 ps. The last instruction heard is the one that begins the answer.
    let work = (ps(&work["ns"]) as f64 / 312.5).round() as u64;
    assert!(cycles.abs_diff(work) <= 2, "{cycles} of {work}: {message:#}");
    assert!(std::fs::read_to_string(folder.0.join("why.svg")).unwrap().contains("message"));
    assert!(asked(&["--message", "3"]).starts_with("message 3 of context 0"));
    // Frames are counted as they come, control frames among them.
    let of_frames: Vec<String> =
        (0..5).map(|frame| asked(&["--packet", &frame.to_string()])).collect();
    let is = |begin: &str| of_frames.iter().any(|text| text.starts_with(begin));
    assert!(is("frame 4 of message 0 of context 0"), "{of_frames:?}");
    let control = of_frames.iter().any(|text| text.contains("is a control frame"));
    assert!(control, "{of_frames:?}");
    // A context that no hart has bound.
    let none = example("nanopu_echo");
    let stray = ["why", &none, "--load", "requests=3,contexts=1", "--dropped"];
    let output = folder.pinion(&stray);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("No hart had bound its context."), "{text}{output:?}");
}

/// Four harts want one lock, which a message's hart keeps for a while.
const LOCKED: &str = "#include <lnic.h>

static volatile uint32_t lock;

bool is_single_core(void) { return false; }

int core_main(int argc, char **argv, int cid, int nc)
{
    uint64_t words[8];

    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read(), count = lnic_words(lnic_header_bytes(header));

        for (uint64_t i = 0; i < count; i++)
            words[i] = lnic_read();
        while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) /* the lock */
            ;
        for (volatile int i = 0; i < 60; i++)
            ;
        __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
        lnic_write_r(header);
        for (uint64_t i = 0; i < count; i++)
            lnic_write_r(words[i]);
        lnic_msg_done();
    }
}
";

#[test]
fn a_hart_that_waits_for_a_lock_names_whose_message_has_it() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("why-message-lock");
    folder.write("locked/locked.c", LOCKED);
    let manifest = "[app]\nname = \"locked\"\nsources = [\"locked.c\"]\n[nanoservice]\nharts = 4\n";
    folder.write("locked/app.toml", manifest);
    let line = 1 + LOCKED.lines().position(|line| line.contains("the lock")).unwrap();
    let (mut waited, mut held) = (0, 0);
    for message in 0..24 {
        let message = message.to_string();
        let asked = ["why", "locked", "--load", "requests=24,gap=exp:300,seed=4", "--message"];
        let output = folder.pinion(&[&asked[..], &[&message, "--json", "why.json"]].concat());
        assert!(output.status.success(), "{output:?}");
        let document = std::fs::read_to_string(folder.0.join("why.json")).unwrap();
        let document: Value = serde_json::from_str(&document).unwrap();
        let told = &document["message"];
        let spans = told["spans"].as_array().unwrap();
        let sum: u64 = spans.iter().map(|span| ps(&span["ns"])).sum();
        assert_eq!(sum, ps(&told["ns"]), "{told:#}");
        for span in spans.iter().filter(|span| span["step"] == "lock_wait") {
            let place = format!("locked.c:{line}");
            assert!(span["what"].as_str().unwrap().contains(&place), "{span:#}");
            let behind = span["behind"].as_array().unwrap();
            assert!(behind.iter().all(|one| one["hart"] != told["hart"]), "{told:#}");
            waited += 1;
            held += usize::from(!behind.is_empty());
        }
    }
    assert!(waited >= 5, "{waited} waited");
    assert_eq!(held, waited, "each knows behind whom");
}

#[test]
fn a_node_of_a_cluster_is_asked_and_threads_do_not_matter() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("why-message-node");
    for (name, node, begins) in [
        ("cluster_echo", "server", "message "),
        ("cluster_filter", "filter", "packet "),
        ("cluster_filter", "server", "message "),
    ] {
        let cluster = example(name);
        let asked = |threads: &str| {
            let ask = ["why", &cluster, "--node", node, "--p99", "--threads", threads];
            let output = folder.pinion(&[&ask[..], &["--json", "why.json"]].concat());
            assert!(output.status.success(), "{name}: {output:?}");
            let document = std::fs::read_to_string(folder.0.join("why.json")).unwrap();
            (String::from_utf8(output.stdout).unwrap(), document)
        };
        let (text, document) = asked("1");
        assert!(text.starts_with(begins), "{name}: {text}");
        assert_eq!(asked("2"), (text, document.clone()), "{name}");
        let document: Value = serde_json::from_str(&document).unwrap();
        let way =
            [&document["message"], &document["packet"]].into_iter().find(|way| way.is_object());
        let way = way.unwrap();
        let spans = way["spans"].as_array().unwrap();
        assert_eq!(spans.iter().map(|span| ps(&span["ns"])).sum::<u64>(), ps(&way["ns"]), "{name}");
    }
}

#[test]
fn what_cannot_be_asked_of_messages_is_refused() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("why-message-refused");
    let app = example("nanopu_echo");
    let load = ["--load", "requests=5"];
    let refuses = |more: &[&str], part: &str| {
        folder.refuses(&[&["why", &app, load[0], load[1]], more].concat(), &[part]);
    };
    refuses(&["--packet", "999"], "--packet 999: frames 0 to");
    refuses(&["--message", "99"], "the run has messages 0 to 4");
    refuses(&["--dropped"], "no frame was dropped");
    refuses(&["--pcap-out", "x.pcap"], "--pcap-out goes with `pinion run`");
    folder.refuses(&["why", &app, "--pcap", "a=b"], &["--pcap goes with clusters"]);
}
