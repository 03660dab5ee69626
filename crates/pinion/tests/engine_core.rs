//! `--engine-core`: what it goes with, what refuses it and why, and that it changes no result.

#[allow(dead_code)]
mod outside;

use outside::{Folder, example};
use serde_json::Value;

#[test]
fn what_it_does_not_go_with_is_said() {
    let folder = Folder::new("engine-core-refused");
    let (app, service) = (example("icmp_echo"), example("nanopu_loopback"));
    let core = ["--engine-core", "interpreter"];
    let all = ["--engine-core", "every instruction is looked at"];
    let packets = ["--generate", "icmp,count=1"];
    for verb in ["trace", "profile", "why", "diff", "debug"] {
        folder.refuses(&[&[verb, &app][..], &core].concat(), &all);
    }
    folder.refuses(&[&["run", &app, "--check"][..], &core, &packets].concat(), &all);
    folder.refuses(&[&["build", &app][..], &core].concat(), &["--engine-core", "nothing is run"]);
    let native = [&["run", &app, "--engine", "native"][..], &core, &packets].concat();
    folder.refuses(&native, &["--engine-core", "--engine native has none"]);
    for verb in ["run", "sweep", "test"] {
        let words = ["--engine-core", "a nanoservice's harts"];
        folder.refuses(&[&[verb, &service][..], &core].concat(), &words);
    }
    let cluster = example("cluster_echo");
    folder.refuses(&[&["run", &cluster][..], &core].concat(), &["no node of this cluster"]);
    for verb in [&["sweep"][..], &["test"], &["up", "--tap", "pin0"]] {
        let words = [verb, &[&cluster], &core].concat();
        folder.refuses(&words, &["no node of this cluster"]);
    }
    folder.refuses(&[&["test", &app][..], &core].concat(), &all);
    folder.refuses(&[&["run", &app, "--html", "page.html"][..], &core, &packets].concat(), &all);
    folder
        .refuses(&[&["bench", &service][..], &core].concat(), &["no application here has either"]);
    let words = ["--engine-cores", "name an application"];
    folder.refuses(&["bench", &service, "--engine-cores"], &words);
}

#[test]
fn a_cluster_with_a_nic_takes_it() {
    let folder = Folder::new("engine-core-cluster");
    let (filter, echo) = (example("cluster_filter"), example("cluster_echo"));
    let sweep = |more: &[&str]| {
        let core = ["--engine-core", "interpreter", "--x", "nothing"];
        // What comes next is looked at: there is no such axis.
        folder.refuses(&[&["sweep"][..], more, &core].concat(), &["nothing"]);
    };
    sweep(&[&filter]);
    sweep(&[&echo, "--set", "server.app=../cluster_filter/filter"]);
}

/// Gives what a run of a nanoservice has come to, in more messages than a program of its transport is interpreted.
fn echoed(folder: &Folder, more: &[&str]) -> Value {
    let service = example("nanopu_loopback");
    let run =
        ["run", &service, "--set", "transport.kind=p4", "--load", "requests=9000,gap=exp:400"];
    let output = folder.pinion(&[&run[..], &["--quiet", "--json", "-"], more].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{more:?}: {said}");
    let mut summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_this_computer = ["host_seconds", "simulated_mips", "slowdown"];
    summary.as_object_mut().unwrap().retain(|key, _| !of_this_computer.contains(&key.as_str()));
    summary
}

#[test]
fn p4_programs_of_a_transport_take_it_and_results_are_the_same() {
    let folder = Folder::new("engine-core-p4");
    let expected = echoed(&folder, &["--engine-core", "interpreter"]);
    if pinion_translate::AVAILABLE {
        assert_eq!(echoed(&folder, &["--engine-core", "translated"]), expected);
    }
    assert_eq!(echoed(&folder, &[]), expected);
    // A cluster takes it for one node with programs; there is no such axis.
    let words =
        ["sweep", &example("cluster_echo"), "--engine-core", "interpreter", "--x", "nothing"];
    let set = ["--set", "machine.transport.kind=p4"];
    folder.refuses(&[&words[..], &set].concat(), &["nothing"]);
}

#[test]
fn results_are_the_same() {
    let folder = Folder::new("engine-core");
    let app = folder.calibration("words", "aggregate").display().to_string();
    let summary = |more: &[&str]| {
        let packets = "udp,size=1024,count=400,seed=3";
        let run =
            ["run", &app, "--generate", packets, "--quiet", "--json", "-", "--packets", "p.csv"];
        let output = folder.pinion(&[&run[..], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{more:?}: {said}");
        let mut summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        let of_this_computer = ["host_seconds", "simulated_mips", "slowdown"];
        summary.as_object_mut().unwrap().retain(|key, _| !of_this_computer.contains(&key.as_str()));
        (summary, std::fs::read(folder.0.join("p.csv")).unwrap())
    };
    let expected = summary(&["--engine-core", "interpreter"]);
    assert!(expected.0["instructions"].as_u64().unwrap() > 100_000, "{}", expected.0);
    for more in [&["--untrusted"][..], &[]] {
        assert!(summary(more) == expected, "{more:?}");
    }
    if pinion_translate::AVAILABLE {
        assert!(summary(&["--engine-core", "translated"]) == expected);
    }
}
