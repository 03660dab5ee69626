//! Traces of clusters: the same bytes with any number of threads, and what holds for each.

use std::path::Path;

use pinion_app::app::Options;
use pinion_net::fabric::Alone;
use pinion_run::cluster::{ClusterTrace, Plan, RunOptions, Tracing, trace};
use pinion_run::watch::Unobserved;

use crate::reading::{Read, read};

/// Traces an example; gives the bytes and the frames that its nodes got.
fn traced(plan: &Plan, threads: usize, faults: bool) -> (Vec<u8>, u64) {
    let mut bytes = Vec::new();
    let options = RunOptions {
        threads,
        faults: faults
            .then(|| "loss=0.03,dup=0.02,reorder=0.05,corrupt=0.02,seed=4".parse().unwrap()),
        ..RunOptions::default()
    };
    let (nodes, mut network) = ClusterTrace::begin(plan, (None, None), &mut bytes).unwrap();
    let tracing = Tracing { nodes, network: Some(Box::new(&mut network)) };
    let summary = trace(plan, &options, &mut Alone, &mut Unobserved, tracing).unwrap().unwrap();
    drop(network);
    (bytes, summary.section.nodes.iter().map(|node| node.frames_in).sum())
}

fn plan(name: &str) -> Option<Plan> {
    let gcc = "riscv64-unknown-elf-gcc";
    if std::process::Command::new(gcc).arg("--version").output().is_err() {
        eprintln!("{gcc} is not installed: nothing tested");
        return None;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    Some(Plan::load(&path.join("cluster.toml"), &Options::default()).unwrap())
}

fn on<'a>(read: &'a Read, track: &'a str) -> impl Iterator<Item = &'a crate::reading::Slice> {
    read.slices.iter().filter(move |slice| slice.track.starts_with(track))
}

#[test]
fn the_bytes_are_the_same_with_any_number_of_threads() {
    for name in ["cluster_echo", "cluster_filter"] {
        let Some(plan) = plan(name) else { return };
        for faults in [false, true] {
            let (alone, frames) = traced(&plan, 1, faults);
            for threads in [2, 4] {
                assert!(traced(&plan, threads, faults).0 == alone, "{name}, {threads} threads");
            }
            let read = read(&alone);
            assert_eq!(on(&read, "Pins, in").count() as u64, frames, "{name}");
            let bad = on(&read, "Cable").filter(|slice| slice.name.contains("lost")).count();
            assert_eq!(bad > 0, faults, "{name}");
        }
    }
}
