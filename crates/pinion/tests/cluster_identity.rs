//! A cluster's summary is the same whatever runs it: threads, and ranks that are threads themselves
//! here and tell each other all through channels. tests/cluster/identity.py does it with MPI.

mod ranks;

use std::path::Path;

use pinion::app::Options;
use pinion::cluster::{Plan, RunOptions, run};
use pinion::report::Report as _;
use pinion::watch::Unobserved;
use pinion_net::fabric::Ranks;
use ranks::with_ranks;

fn plan(example: &str, changes: &[&str]) -> Plan {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    let file = folder.join("cluster.toml");
    let overrides = changes.iter().map(|&text| text.to_owned()).collect();
    Plan::load(&file, &Options { overrides, ..Options::default() }).unwrap()
}

/// Runs a plan and gives its summary as text.
fn summary(plan: &Plan, threads: usize, ranks: usize, faults: Option<&str>) -> String {
    let faults = faults.map(|text| text.parse().unwrap());
    let options = RunOptions { threads, faults, ..RunOptions::default() };
    let summary = with_ranks(ranks, |ranks: &mut dyn Ranks| {
        run(plan, &options, ranks, &mut Unobserved).unwrap()
    });
    format!("{}{:#}", summary.section.console(), summary.to_json())
}

#[test]
fn a_summary_is_the_same_with_any_number_of_threads_and_ranks() {
    let faults = "loss=2%,dup=2%,reorder=5%,corrupt=2%,hold=1us,seed=3";
    for (example, change, faults) in [
        ("cluster_echo", "client.count=5", Some(faults)),
        ("cluster_rpc", "peer.count=9", None),
        ("cluster_rpc", "peer.count=9", Some(faults)),
        ("cluster_datacentre", "server.count=20", None),
    ] {
        let plan = plan(example, &[change]);
        let alone = summary(&plan, 1, 1, faults);
        assert!(alone.contains("answers"), "{alone}");
        for (threads, ranks) in [(2, 1), (4, 1), (1, 2), (1, 3), (2, 3)] {
            let other = summary(&plan, threads, ranks, faults);
            assert!(other == alone, "{example}: {threads} threads, {ranks} ranks: {other}");
        }
    }
}
