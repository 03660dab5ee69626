//! Where two runs part: the place is the one at which their whole traces differ first, sums add up, and
//! what cannot be compared is said plainly.

#[allow(dead_code)]
mod outside;

use std::process::Output;

use outside::{Folder, example};
use serde_json::Value;

/// Everything that a command said.
fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

/// Compares two runs; gives the document.
fn diff(folder: &Folder, arguments: &[&str], status: i32) -> Value {
    let output = folder.pinion(&[&["diff"], arguments, &["--json", "diff.json"]].concat());
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", text(&output));
    serde_json::from_slice(&std::fs::read(folder.0.join("diff.json")).unwrap()).unwrap()
}

/// The lines of a trace, without the title.
fn trace(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let output = folder.pinion(&[&["trace"], arguments].concat());
    assert!(output.status.success(), "{}", text(&output));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().skip(1).map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn runs_part_where_their_traces_do() {
    let folder = Folder::new("diff-traces");
    let app = folder.calibration("words", "reduce").display().to_string();
    let packets = ["--generate", "udp,size=128,messages=4,packets=8"];
    for change in ["cluster.count=2", "l1.latency_cycles=2", "mpq.count=2", "command.slots=1"] {
        let own = [&[app.as_str()], &packets[..]].concat();
        let changed = [&own[..], &["--set", change]].concat();
        if !folder.pinion(&[&["run"], &changed[..]].concat()).status.success() {
            // The machine has no such number, or not this one.
            continue;
        }
        let (one, other) = (trace(&folder, &own), trace(&folder, &changed));
        let same = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
        let is_same = same == one.len() && same == other.len();
        let found =
            diff(&folder, &[&own[..], &["--other-set", change]].concat(), i32::from(!is_same));
        assert_eq!(found["events"]["same"], same, "{change}");
        if !is_same {
            let first = &found["events"]["parting"]["first"];
            assert_eq!(first[0].as_str(), one.get(same).map(String::as_str), "{change}");
            let second = &found["events"]["parting"]["second"];
            assert_eq!(second[0].as_str(), other.get(same).map(String::as_str), "{change}");
        }
        // Parts add up to the whole.
        let rows = found["latency"].as_array().unwrap();
        for side in 0..2 {
            let ns = |row: &Value| row["ns"][side].as_f64().unwrap();
            let sum: f64 = rows[..rows.len() - 4].iter().map(ns).sum();
            assert!((sum - ns(&rows[rows.len() - 4])).abs() < 1e-6, "{change}: {rows:#?}");
        }
    }
    assert!(
        diff(&folder, &[&app, packets[0], packets[1]], 0)["events"]["same"].as_u64() > Some(1000)
    );
}

#[test]
fn recordings_seeds_nanoservices_and_clusters_are_compared() {
    let folder = Folder::new("diff-kinds");
    let app = folder.calibration("words", "reduce").display().to_string();
    let run = ["run", &app, "--generate", "udp,size=256,count=40", "--record", "run.rec"];
    assert!(folder.pinion(&run).status.success());
    // The application gets the recording's packets.
    assert_eq!(diff(&folder, &["run.rec", &app], 0)["packets"]["longer"], 0);
    assert_eq!(diff(&folder, &[&app, "run.rec"], 0)["numbers"].as_array().map(Vec::len), Some(0));
    let other = folder.calibration("empty", "ph").display().to_string();
    let found = diff(&folder, &["run.rec", &other], 1);
    assert!(found["events"]["what"].as_str().unwrap().starts_with("what units do"), "{found}");
    assert_eq!(found["packets"]["shorter"], 40, "{found}");
    let load = ["--load", "requests=100,gap=exp:900,service=500"];
    let service = example("nanopu_service");
    let found = diff(&folder, &[&service, load[0], load[1], "--other-set", "core.count=6"], 1);
    assert!(found["events"]["same"].as_u64() > Some(0), "{found}");
    let named = |found: &Value, start: &str| {
        let states = found["states"].as_array().unwrap();
        states.iter().filter(|state| state["name"].as_str().unwrap().starts_with(start)).count()
    };
    // A message that stays longer in reassembly is there and not yet in the global receive queues.
    let change = "receive.reassembly.deliver_cycles=40";
    let found = diff(&folder, &[&service, load[0], load[1], "--other-set", change], 1);
    assert_eq!((named(&found, "receive."), named(&found, "hart.")), (2, 0), "{found}");
    diff(&folder, &[&service, load[0], load[1]], 0);
    let cluster = example("cluster_rpc");
    diff(&folder, &[&cluster], 0);
    let one = diff(
        &folder,
        &[&cluster, "--other-set", "network.link.latency_cycles=99", "--threads", "1"],
        1,
    );
    let two = diff(
        &folder,
        &[&cluster, "--other-set", "network.link.latency_cycles=99", "--threads", "2"],
        1,
    );
    assert_eq!(one["events"], two["events"]);
    assert_eq!(one["states"], two["states"]);
    assert!(named(&one, "") > 0, "{one}");
    let change = "network.link.latency_cycles=99";
    let echo = example("cluster_echo");
    let found = diff(&folder, &[&echo, "--node", "server", "--other-set", change], 1);
    // What it holds is named as in a node that stands alone.
    assert_eq!((named(&found, "pins.in."), named(&found, "server.")), (2, 0), "{found}");
    let found = diff(&folder, &[&example("cluster_echo"), "--node", "server"], 0);
    assert!(found["events"]["what"].as_str().unwrap().starts_with("instructions"), "{found}");
}

#[test]
fn what_has_nothing_in_common_is_refused() {
    let folder = Folder::new("diff-refused");
    let app = folder.calibration("words", "reduce").display().to_string();
    let service = example("nanopu_echo");
    let packets = ["--generate", "udp,count=4"];
    folder.refuses(&["diff", &app, &service], &["packet handlers", "a nanoservice", "in common"]);
    folder.refuses(
        &["diff", &app, "--node", "x", packets[0], packets[1]],
        &["--node goes with clusters"],
    );
    let cluster = example("cluster_echo");
    folder.refuses(&["diff", &cluster, "--node", "x"], &["--node x", "there are server"]);
    folder.refuses(&["diff", &app, "--engine", "native"], &["simulated machine"]);
    folder.refuses(&["diff", &app, "--pcap-out", "x.pcap"], &["--pcap-out goes with `pinion run`"]);
    folder.refuses(&["diff", &app, "nowhere"], &["nowhere"]);
    folder.write("in.pcap", []);
    let drawn = "--seed goes with packets that are drawn";
    folder.refuses(&["diff", &app, "--pcap-in", "in.pcap", "--other-seed", "1"], &[drawn]);
    folder.refuses(&["diff", &service, "--other-seed", "1"], &[drawn]);
    let load = ["--load", "requests=5,seed=2", "--other-seed", "1"];
    folder.refuses(&[&["diff", &service], &load[..]].concat(), &["a seed of its own"]);
    folder
        .refuses(&["diff", &app, packets[0], packets[1], "--other-set", "no.such=1"], &["no.such"]);
}
