//! Why a packet took so long: its way has no gap and no overlap, whatever the run, and what cannot be
//! asked is said plainly.

#[allow(dead_code)]
mod outside;

use outside::Folder;
use pinion::app::{App, Options};
use pinion::report::Outputs;
use pinion::trace::Tracer;
use pinion::traffic::Packets;
use pinion::watch::Unobserved;
use pinion::why::{Answer, Census, Found, Lines, Spent, Which, Witness};
use pinion_sim::random::Xorshift64;
use serde_json::Value;

fn hear(app: &App, spec: &str, tracer: &mut dyn Tracer) {
    let packets = Packets::generate(spec, None, None).unwrap();
    pinion::run::trace(app, packets, &Outputs::default(), &mut Unobserved, tracer).unwrap();
}

fn census(app: &App, spec: &str) -> Census {
    let mut census = Census::default();
    hear(app, spec, &mut census);
    census
}

/// Asks why, as the command does; gives the document.
fn why(app: &App, spec: &str, found: &Found) -> Value {
    let mut witness = Witness::new(app, found);
    hear(app, spec, &mut witness);
    let mut spent = Spent::default();
    if let Some(mut lines) = Lines::new(app, &witness) {
        hear(app, spec, &mut lines);
        spent = lines.spent(app);
    }
    Answer::new(app, found, &witness, spent).to_json()
}

fn ps(value: &Value) -> u64 {
    (value.as_f64().expect("a number") * 1e3).round() as u64
}

/// The parts follow each other from arrival to end, and so add up; the lines' cycles are the handlers'.
fn check(document: &Value, found: &Found, what: &str) {
    let Found::Done(target) = found else { panic!("{what}: it got through") };
    let packet = &document["packet"];
    let mut at = 0;
    for span in packet["spans"].as_array().unwrap() {
        assert_eq!(ps(&span["at_ns"]), at, "{what}: {packet:#}");
        assert!(ps(&span["ns"]) > 0, "{what}: {packet:#}");
        at += ps(&span["ns"]);
    }
    assert_eq!(at, target.end.since(target.arrival).ps(), "{what}: {packet:#}");
    assert_eq!(ps(&packet["ns"]), at, "{what}");
    let handlers = packet["handlers"].as_array().unwrap();
    let ran: u64 = handlers.iter().map(|handler| ps(&handler["ns"])).sum();
    let lines = packet["lines"].as_array().unwrap();
    let cycles: u64 = lines.iter().map(|line| line["cycles"].as_u64().unwrap()).sum();
    assert_eq!(cycles * 1000, ran, "{what}: at 1 GHz a cycle is 1 ns: {packet:#}");
    let all: u64 = handlers.iter().map(|handler| handler["instructions"].as_u64().unwrap()).sum();
    let of_lines: u64 = lines.iter().map(|line| line["instructions"].as_u64().unwrap()).sum();
    assert!(of_lines >= all, "{what}: {of_lines} of {all}");
}

#[test]
fn the_parts_of_any_packet_add_up() {
    let folder = Folder::new("why-sums");
    let programs = [("empty", "ph"), ("words", "reduce"), ("words", "aggregate"), ("move", "ph")];
    let programs = programs.map(|(program, handler)| folder.calibration(program, handler));
    let seed = std::env::var("PINION_WHY_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(0x5eed_0042);
    let mut random = Xorshift64::new(seed);
    for round in 0..16 {
        let path = &programs[round % programs.len()];
        let (size, count) = (64 + random.draw() % 960, 1 + random.draw() % 60);
        let overrides = vec![
            format!("cluster.count={}", 1 << (random.draw() % 3)),
            format!("mpq.count={}", 8 << (random.draw() % 3)),
        ];
        let options = Options { overrides, ..Options::default() };
        let app = App::load(path, &options).unwrap();
        let spec = format!("udp,size={size},count={count},seed={}", random.draw() % 1000);
        let census = census(&app, &spec);
        let packet = random.draw() % count;
        for which in [Which::Packet(packet), Which::Slowest, Which::Percentile99] {
            let found = census.find(which).unwrap();
            let what = format!(
                "{}, {spec}, {:?}, {which:?}; again with PINION_WHY_SEED={seed}",
                path.display(),
                options.overrides
            );
            check(&why(&app, &spec, &found), &found, &what);
        }
    }
}

#[test]
fn who_waits_for_an_hpu_names_who_has_it() {
    let folder = Folder::new("why-behind");
    let path = folder.calibration("words", "reduce");
    let overrides = vec!["cluster.count=1".to_owned()];
    let options = Options { overrides, ..Options::default() };
    let app = App::load(&path, &options).unwrap();
    let spec = "udp,size=1024,count=40";
    let found = census(&app, spec).find(Which::Slowest).unwrap();
    let document = why(&app, spec, &found);
    let spans = document["packet"]["spans"].as_array().unwrap();
    let waits = spans.iter().find(|span| span["step"] == "hpu_wait").expect("it waits");
    let behind = waits["behind"].as_array().unwrap();
    assert!(!behind.is_empty() && behind.iter().all(|who| who["hpu"].is_string()), "{waits:#}");
    let longest = spans.iter().max_by_key(|span| ps(&span["ns"])).unwrap();
    let cause = document["cause"].as_str().unwrap();
    assert!(cause.contains(longest["what"].as_str().unwrap()), "{cause}");
}

/// Handlers that all want the same lock, one for each cluster, and keep it for a while.
const LOCKED: &str = "#include <handler.h>

typedef struct {
    spin_lock_t lock;
    volatile uint32_t count;
} state_t;

__handler__ void locked_ph(handler_args_t *args)
{
    state_t *state = (state_t *)args->task->scratchpad[args->cluster_id];

    spin_lock_lock(&state->lock);
    for (int i = 0; i < 40; i++)
        state->count++;
    spin_lock_unlock(&state->lock);
}
";

#[test]
fn who_waits_for_a_lock_names_who_had_it() {
    if !outside::has_gcc() {
        return;
    }
    let folder = Folder::new("why-locks");
    folder.write("locked/locked.c", LOCKED);
    folder.write(
        "locked/app.toml",
        "[app]\nname = \"locked\"\nsources = [\"locked.c\"]\n[[context]]\nname = \"all\"\n\
         match = [\"udp\"]\npayload = \"locked_ph\"\nscratchpad = \"4KiB\"\n",
    );
    let overrides = vec!["cluster.count=1".to_owned()];
    let app = App::load(&folder.0.join("locked"), &Options { overrides, ..Options::default() });
    let app = app.unwrap();
    let spec = "udp,size=64,count=40";
    let census = census(&app, spec);
    let mut waited = 0;
    for packet in 0..40 {
        let found = census.find(Which::Packet(packet)).unwrap();
        let document = why(&app, spec, &found);
        check(&document, &found, &format!("packet {packet}"));
        let spans = document["packet"]["spans"].as_array().unwrap();
        let Some(wait) = spans.iter().find(|span| span["step"] == "lock_wait") else { continue };
        waited += 1;
        assert!(wait["what"].as_str().unwrap().starts_with("waits for the lock at 0x"), "{wait:#}");
        let holders = wait["behind"].as_array().unwrap();
        assert!(!holders.is_empty(), "{wait:#}");
        for holder in holders {
            assert_ne!(holder["packet"].as_u64(), Some(packet), "{wait:#}");
            // Nobody keeps it for longer than 40 turns of his loop take.
            let held = holder["held_ns"].as_f64();
            assert!(held.is_none_or(|ns| (80.0..2000.0).contains(&ns)), "{wait:#}");
            assert!(holder["hpu"].is_string(), "{wait:#}");
        }
        assert!(ps(&wait["ns"]) >= 50_000, "somebody counted meanwhile: {wait:#}");
    }
    assert!(waited >= 30, "{waited} of 40 packets waited for the lock");
}

#[test]
fn a_dropped_packet_has_one_cause() {
    let folder = Folder::new("why-dropped");
    let path = folder.calibration("words", "reduce");
    let app = path.display().to_string();
    let run = ["--generate", "udp,size=1024,count=60", "--set", "inbound.when_full=\"drop\""];
    let small =
        ["--set", "mpq.count=4", "--set", "mpq.static_cells=1", "--set", "mpq.shared_cells=4"];
    let arguments =
        [&["why", &app, "--dropped", "--json", "why.json"], &run[..], &small[..]].concat();
    let output = folder.pinion(&arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{problem}");
    let document: Value =
        serde_json::from_slice(&std::fs::read(folder.0.join("why.json")).unwrap()).unwrap();
    let dropped = &document["dropped"];
    assert!(document["packet"].is_null() && dropped["all"].as_u64() > Some(0), "{document:#}");
    assert!(text.contains(dropped["reason"].as_str().unwrap()), "{text}");
    let inside = dropped["inside"]["packets"].as_u64().unwrap();
    assert!((1..60).contains(&inside), "{document:#}");
    let all = dropped["all"].as_u64().unwrap();
    // The last one: none of those that were dropped before it, nor itself, is inside.
    let last = (all - 1).to_string();
    let mut arguments = arguments;
    arguments.insert(3, &last);
    assert_eq!(folder.pinion(&arguments).status.code(), Some(0));
    let document: Value =
        serde_json::from_slice(&std::fs::read(folder.0.join("why.json")).unwrap()).unwrap();
    let inside = document["dropped"]["inside"]["packets"].as_u64().unwrap();
    assert!(inside + all <= 60, "{inside} inside, {all} dropped");
    folder.refuses(
        &[&["why", &app, "--dropped", "9999"], &run[..], &small[..]].concat(),
        &["--dropped 9999", "were dropped"],
    );
}

/// The run is heard no further than the packet's end, where no event need be.
#[test]
fn a_packet_in_the_middle_of_a_long_run_is_told_of() {
    if !outside::has_gcc() {
        return;
    }
    let folder = Folder::new("why-long");
    let echo = outside::example("udp_echo");
    let output =
        folder.pinion(&["why", &echo, "--generate", "udp,dport=9500,count=20000", "--p99"]);
    let (said, why) = (&output.stdout, &output.stderr);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(why));
    assert!(String::from_utf8_lossy(said).contains("from arrival to departure"));
}

#[test]
fn what_cannot_be_asked_is_said() {
    let folder = Folder::new("why-refused");
    let path = folder.calibration("empty", "ph");
    let app = path.display().to_string();
    let run = ["--generate", "udp,size=64,count=5"];
    let ask = |more: &[&'static str]| [&["why", app.as_str()], more, &run[..]].concat();
    folder.refuses(&ask(&["--packet", "5"]), &["--packet 5", "packets 0 to 4"]);
    folder.refuses(&ask(&["--message", "77777"]), &["--message 77777"]);
    folder.refuses(&ask(&["--dropped"]), &["no packet was dropped"]);
    folder.refuses(&ask(&["--engine", "native"]), &["--engine native"]);
    folder.refuses(&ask(&["--pcap-out", "out.pcap"]), &["--pcap-out goes with `pinion run`"]);
    folder.refuses(&ask(&["--threads", "2"]), &["--threads"]);
    folder.refuses(&ask(&["--dropped", "--svg", "way.svg"]), &["--svg", "has none"]);
    let cluster = outside::example("cluster_echo");
    folder.refuses(&["why", &cluster, "--node", "x"], &["there is no such node"]);
    let output = folder.pinion(&ask(&["--packet", "3", "--svg", "way.svg"]));
    assert_eq!(output.status.code(), Some(0));
    let picture = std::fs::read_to_string(folder.0.join("way.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("ph runs"), "{picture}");
}
