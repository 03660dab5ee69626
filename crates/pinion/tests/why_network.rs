//! Why a request took so long across a whole cluster: its parts have no gap, and add up to what loads and
//! nodes have counted themselves, with faults and trimming, at every number of threads; what was lost on
//! the way has one cause.

#[allow(dead_code)]
mod outside;

use std::path::Path;

use outside::{Folder, example, has_gcc};
use pinion::app::Options;
use pinion::cluster::{FILE_NAME, Plan, RunOptions, Summary, trace};
use pinion::watch::Unobserved;
use pinion::why::cluster::{Ears, Heard, Journey};
use pinion::why::way::Way;
use pinion_net::fabric::Alone;
use pinion_net::fault::FaultSpec;
use pinion_sim::random::Xorshift64;
use serde_json::Value;

fn options(threads: usize, faults: Option<&str>) -> RunOptions {
    let faults = faults.map(|spec| spec.parse::<FaultSpec>().unwrap());
    RunOptions { threads, faults, ..RunOptions::default() }
}

fn hear<'a>(plan: &'a Plan, options: &RunOptions) -> (Heard<'a>, Summary) {
    let mut ears = Ears::new(plan);
    let run = trace(plan, options, &mut Alone, &mut Unobserved, ears.tracing());
    let summary = run.unwrap().unwrap();
    (ears.heard(plan), summary)
}

/// A cluster of echo servers on a switch, asked by generators with a load.
fn loaded(servers: u64, generators: u64, queue: u64, spec: &str) -> Plan {
    let text = format!(
        "[cluster]\nname = \"loaded\"\n[network]\ntopology = {{ kind = \"star\" }}\n\
         link = {{ latency_cycles = 140 }}\nswitch = {{ data_queue_bytes = {queue} }}\n\
         [[node]]\nname = \"server\"\napp = \"{}\"\ncount = {servers}\n\
         [[load]]\nname = \"load\"\nto = \"server\"\ncount = {generators}\nspec = \"{spec}\"\n",
        example("nanopu_echo")
    );
    let origin = "cluster.toml";
    Plan::from_text(&text, origin, Path::new("."), &Options::default()).unwrap()
}

/// The parts follow each other from begin to end.
fn check(way: &Way, journey: &Journey, what: &str) {
    assert!(!way.parts.is_empty(), "{what}");
    assert_eq!(way.begin(), journey.begin, "{what}: {way:#?}");
    for (one, next) in way.parts.iter().zip(&way.parts[1..]) {
        assert_eq!(one.to, next.from, "{what}: {way:#?}");
    }
    assert_eq!(way.parts.last().unwrap().to, journey.end, "{what}: {way:#?}");
    let took = journey.end.since(journey.begin).ps();
    assert_eq!(way.ps(), took, "{what}: {way:#?}");
}

#[test]
fn the_parts_of_every_request_add_up_to_what_its_load_has_counted() {
    if !has_gcc() {
        return;
    }
    let seed = std::env::var("PINION_WHY_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(0x5eed_0043);
    let mut random = Xorshift64::new(seed);
    let (mut again, mut answered) = (0, 0);
    for round in 0..6 {
        let (servers, generators) = (1 + random.draw() % 3, 1 + random.draw() % 4);
        let size = [16, 64, 700, 2000][(random.draw() % 4) as usize];
        // Enough for the servers' cables, so that queues fill and empty again.
        let gap = (200 + size / 2) * generators + random.draw() % 500;
        let spec = format!("requests=40,gap=exp:{gap},size={size}");
        let queue = [3_000, 9_000, 92_480][(random.draw() % 3) as usize];
        let faults = format!(
            "loss={}%,dup={}%,reorder=2%,corrupt=1%,hold=200ns,seed={}",
            random.draw() % 3,
            random.draw() % 3,
            random.draw() % 1000
        );
        let faults = (round % 2 == 1).then_some(faults);
        let plan = loaded(servers, generators, queue, &spec);
        let threads = 1 + (random.draw() % 3) as usize;
        let what = format!(
            "{servers} servers, {generators} loads of {spec}, queues of {queue} B, {faults:?}, \
             {threads} threads; again with PINION_WHY_SEED={seed}"
        );
        let (heard, summary) = hear(&plan, &options(threads, faults.as_deref()));
        let journeys = heard.journeys();
        for row in &summary.section.loads {
            let own: Vec<&Journey> =
                journeys.iter().filter(|journey| journey.origin() == row.node).collect();
            assert_eq!(own.len() as u64, row.report["answered"].as_u64().unwrap(), "{what}");
            let mut times = Vec::new();
            for journey in own {
                let way = heard.way(journey);
                check(&way, journey, &what);
                let waits = |part: &&pinion::why::way::Part| part.what.contains(": frame");
                again += way.parts.iter().filter(waits).count();
                times.push(way.ps() as f64 / 1e3);
            }
            answered += times.len();
            if times.is_empty() {
                continue;
            }
            let of = &row.report["response_ns"];
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let longest = times.iter().copied().fold(0.0, f64::max);
            let near = |own: f64, key: &str| (own - of[key].as_f64().unwrap()).abs() < 0.01;
            assert!(near(mean, "mean") && near(longest, "max"), "{what}: {mean}, {longest}: {of}");
        }
    }
    assert!(answered > 200, "{answered} requests were answered");
    assert!(again > 5, "packets went again {again} times: their waits name what became of them");
}

#[test]
fn what_passes_a_server_is_what_the_server_has_counted() {
    if !has_gcc() {
        return;
    }
    for (name, node, overrides) in [
        ("cluster_echo", "server", vec![]),
        ("cluster_echo", "server", vec!["client.count=9".to_owned()]),
        ("cluster_filter", "filter", vec![]),
    ] {
        let options_of = Options { overrides, ..Options::default() };
        let file = Path::new(&example(name)).join(FILE_NAME);
        let plan = Plan::load(&file, &options_of).unwrap();
        let mut ways = Vec::new();
        for threads in [1, 3] {
            let (heard, summary) = hear(&plan, &options(threads, None));
            let journeys = heard.journeys();
            let all: Vec<Way> = journeys.iter().map(|journey| heard.way(journey)).collect();
            journeys.iter().zip(&all).for_each(|(journey, way)| check(way, journey, name));
            assert!(journeys.iter().filter(|journey| journey.is_answered).count() > 100, "{name}");
            ways.push(all);
            if name != "cluster_echo" {
                continue;
            }
            let at = |way: &Way| -> u64 {
                let own = way.parts.iter().filter(|part| part.place.as_deref() == Some(node));
                own.map(pinion::why::way::Part::ps).sum()
            };
            let times: Vec<f64> = ways[0].iter().map(|way| at(way) as f64 / 1e3).collect();
            let row = summary.section.nodes.iter().find(|row| row.name == node).unwrap();
            let counted = row.latency_ns.unwrap();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            assert!((mean - counted.mean).abs() < 0.01, "{name}: {mean}, {counted:?}");
        }
        let parts =
            |ways: &Vec<Way>| -> Vec<_> { ways.iter().flat_map(|way| way.parts.clone()).collect() };
        assert_eq!(parts(&ways[0]), parts(&ways[1]), "{name}: threads do not matter");
    }
}

#[test]
fn what_is_lost_between_nodes_has_one_cause() {
    if !has_gcc() {
        return;
    }
    let spec = "requests=60,gap=exp:2000,size=2000";
    let plan = loaded(1, 4, 3_000, spec);
    let (heard, summary) = hear(&plan, &options(2, Some("loss=2%,corrupt=2%,seed=4")));
    let losses = heard.losses();
    let of = |reason: &str| losses.iter().filter(|(_, why)| *why == reason).count() as u64;
    let cables = &summary.section.cables;
    assert_eq!(of("lost"), cables.iter().map(|row| row.lost).sum::<u64>());
    assert_eq!(of("damaged"), cables.iter().map(|row| row.damaged).sum::<u64>());
    let switches = &summary.section.switches;
    assert_eq!(of("trimmed"), switches.iter().map(|row| row.trimmed).sum::<u64>());
    assert_eq!(of("dropped"), switches.iter().map(|row| row.dropped).sum::<u64>());
    assert!(
        of("lost") > 0 && of("damaged") > 0 && of("trimmed") > 0,
        "{:?}",
        summary.section.cables
    );
    assert!(losses.is_sorted_by_key(|(time, _)| *time));
    let first = losses.iter().position(|(_, why)| *why == "trimmed").unwrap() as u64;
    let trimmed = heard.find_lost(first).unwrap();
    assert_eq!((trimmed.all, trimmed.same), (losses.len() as u64, of("trimmed")));
    assert!(trimmed.place.starts_with("switch 0's queue to "), "{trimmed:?}");
    assert!(!trimmed.behind.is_empty(), "{trimmed:?}");
    let error = heard.find_lost(trimmed.all).unwrap_err().to_string();
    assert!(error.contains("were dropped"), "{error}");
}

#[test]
fn an_incast_is_told_from_the_write_to_the_last_read() {
    if !has_gcc() {
        return;
    }
    let file = Path::new(&example("nanopu_incast")).join(FILE_NAME);
    let overrides = vec!["client.count=80".to_owned()];
    let plan = Plan::load(&file, &Options { overrides, ..Options::default() }).unwrap();
    let (heard, summary) = hear(&plan, &options(2, None));
    let journeys = heard.journeys();
    assert_eq!(journeys.len(), 80, "a message of each client");
    let mut trimmed = 0;
    for journey in &journeys {
        let way = heard.way(journey);
        check(&way, journey, "incast");
        trimmed += u64::from(way.parts.iter().any(|part| part.what.contains("was trimmed")));
    }
    assert_eq!(trimmed, summary.section.switches[0].trimmed);
}

/// Whatever programs do with each other: an incast that is trimmed, a fan-out, chains; and packets that
/// are lost on top of it.
#[test]
fn the_parts_add_up_through_incasts_fan_outs_and_chains() {
    if !has_gcc() {
        return;
    }
    let lossy = "loss=2%,dup=1%,reorder=2%,seed=11";
    for (name, faults) in [
        ("nanopu_incast", None),
        ("nanopu_incast", Some("loss=1%,seed=3")),
        ("nanopu_chain", None),
        ("nanopu_sets", None),
        ("nanopu_sets", Some(lossy)),
        ("cluster_rpc", None),
        ("cluster_rpc", Some(lossy)),
        ("cluster_filter", Some(lossy)),
    ] {
        let file = Path::new(&example(name)).join(FILE_NAME);
        let plan = Plan::load(&file, &Options::default()).unwrap();
        let (heard, _) = hear(&plan, &options(2, faults));
        let journeys = heard.journeys();
        assert!(!journeys.is_empty(), "{name}");
        for journey in &journeys {
            check(&heard.way(journey), journey, &format!("{name}, {faults:?}"));
        }
    }
}

#[test]
fn the_command_tells_of_a_request_in_text_json_and_a_picture() {
    if !has_gcc() {
        return;
    }
    let folder = Folder::new("why-network");
    let cluster = example("cluster_filter");
    let asked = |threads: &str, more: &[&str]| {
        let ask = ["why", &cluster, "--threads", threads, "--json", "why.json"];
        let output = folder.pinion(&[&ask[..], more].concat());
        assert!(output.status.success(), "{output:?}");
        let document = std::fs::read_to_string(folder.0.join("why.json")).unwrap();
        (String::from_utf8(output.stdout).unwrap(), document)
    };
    let (slowest, document) = asked("1", &["--slowest"]);
    assert_eq!(asked("3", &["--slowest"]), (slowest.clone(), document));
    assert!(slowest.contains("0 of 352 requests took longer"), "{slowest}");
    // The filter answers most by itself, and hands what it does not know to the server.
    let (_, document) = (0..100)
        .map(|number| asked("2", &["--message", &number.to_string(), "--svg", "why.svg"]))
        .find(|(text, _)| text.contains(" → filter → server → client."))
        .expect("requests that go to the server");
    let document: Value = serde_json::from_str(&document).unwrap();
    let request = &document["request"];
    let ps = |value: &Value| (value.as_f64().unwrap() * 1e3).round() as u64;
    let spans = request["spans"].as_array().unwrap();
    assert_eq!(spans.iter().map(|span| ps(&span["ns"])).sum::<u64>(), ps(&request["ns"]));
    assert!(request["nics"][0]["handlers"][0]["instructions"].as_u64() > Some(0), "{request:#}");
    assert!(request["harts"][0]["lines"][0]["cycles"].as_u64() > Some(0), "{request:#}");
    let picture = std::fs::read_to_string(folder.0.join("why.svg")).unwrap();
    assert!(picture.contains("filter") && picture.contains("cable"), "{picture}");
    let (text, _) = asked("2", &["--dropped", "--link", "loss=3%,seed=2"]);
    assert!(text.contains("A fault of the cable lost it"), "{text}");
    folder.refuses(&["why", &cluster, "--packet", "3"], &["--packet goes with --node"]);
    folder.refuses(&["why", &cluster, "--message", "99999"], &["requests 0 to"]);
    folder.refuses(&["why", &cluster, "--dropped"], &["no frame was dropped"]);
}
