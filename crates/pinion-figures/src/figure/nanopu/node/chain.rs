//! A chain of replicas that a client writes to: the example's cluster, its arguments made of what the
//! figure asks for. Out: how long each write took by the client's clock, and how much of that it spent
//! itself: before a request's first flit left, and behind that of its answer.

use std::collections::BTreeMap;
use std::path::Path;

use pinion_net::capture::CaptureReader;
use pinion_net::fabric::Alone;
use pinion_net::frame::lnic::{Flags, Header, NDP_PROTOCOL};

use super::super::{Chain, ChainReport};
use super::store::MEMORY;
use crate::figure::Setting;
use pinion_app::app::Options;
use pinion_app::error::{Error, Result};
use pinion_app::{assets, build};
use pinion_observe::report::Report as _;
use pinion_run::cluster::{FILE_NAME, Plan, RunOptions, run};
use pinion_run::watch::Unobserved;

/// The cluster; its programs' sources say what the arguments mean.
const CLUSTER: &str = "nanopu_chain";
/// Retransmission timeout of the published runs (artifact, FireSim settings for chain replication).
const TIMEOUT: &str = "machine.transmit.timer.timeout_cycles=4480";
/// Words of a request and of an answer that hold the write's tag (`chain.h`).
const REQUEST_TAG: usize = 2;
const ANSWER_TAG: usize = 1;
/// Bytes of a write, and of its answer.
const REQUEST_BYTES: u16 = 136;
const ANSWER_BYTES: u16 = 24;

/// Runs the chain.
pub(super) fn chain(asked: &Chain, setting: &Setting<'_>) -> Result<ChainReport> {
    let arguments = format!(
        "client.args=[\"{{replica}}\", \"{{replica.count}}\", \"{{address}}\", \"{{index}}\", \
         \"{}\", \"measure\", \"{}\", \"{}\", \"{}\"]",
        setting.seed >> 1,
        asked.writes,
        asked.pairs,
        asked.gap_cycles
    );
    let mut overrides = vec![
        format!("replica.count={}", asked.replicas),
        format!("replica.args=[\"{}\"]", asked.pairs),
        "client.count=1".to_owned(),
        arguments,
        format!("network.link.latency_cycles={}", asked.link_cycles),
        TIMEOUT.to_owned(),
    ];
    overrides.extend(MEMORY.iter().map(|text| format!("machine.{text}")));
    overrides.extend(setting.machine.iter().map(|text| format!("machine.{text}")));
    let build = build::Options::into_folder(setting.build_dir);
    let options = Options { overrides, build, ..Options::default() };
    let plan = Plan::load(&assets::example_dir(CLUSTER)?.join(FILE_NAME), &options)?;
    // A thread makes one run at a time.
    let own = format!("pinion-chain-{}-{:?}", std::process::id(), std::thread::current().id());
    let file = std::env::temp_dir().join(own);
    let options = RunOptions {
        threads: 1,
        captures: vec![("client".to_owned(), file.clone())],
        ..RunOptions::default()
    };
    let summary = run(&plan, &options, &mut Alone, &mut Unobserved);
    let away = away(&file);
    let _ = std::fs::remove_file(&file);
    let summary = summary?.ok_or_else(|| wrong("there is no summary".to_owned()))?;
    let away = away?;
    let console = summary.section.nodes.iter().find(|node| node.name == "client");
    let console = console.map(|node| node.console.as_str()).unwrap_or_default();
    if summary.has_failures() {
        return Err(wrong(format!("it ended {}: {console}", summary.ending.name())));
    }
    let latencies_cycles: Vec<u64> =
        console.lines().filter_map(|line| line.strip_prefix("l ")?.parse().ok()).collect();
    if latencies_cycles.len() as u64 != asked.writes {
        return Err(wrong(format!("{} writes were answered", latencies_cycles.len())));
    }
    if away.len() as u64 != asked.writes {
        return Err(wrong(format!("{} writes were seen on the client's cable", away.len())));
    }
    let mean = |all: &mut dyn Iterator<Item = f64>| all.sum::<f64>() / asked.writes as f64;
    let took = mean(&mut latencies_cycles.iter().map(|&cycles| cycles as f64));
    let away = mean(&mut away.values().map(|&ps| ps as f64)) / summary.section.clock.period_ps();
    Ok(ChainReport { latencies_cycles, client_cycles: took - away })
}

fn wrong(problem: String) -> Error {
    Error::Usage(format!("the cluster {CLUSTER}: {problem}"))
}

/// Gives, by tag, the time from a write's first flit on the client's cable to its answer's.
fn away(file: &Path) -> Result<BTreeMap<u64, u64>> {
    let failed = |error| Error::part("capture of the client", error);
    let mut reader = CaptureReader::open(file).map_err(failed)?;
    let mut sent = BTreeMap::new();
    let mut away = BTreeMap::new();
    while let Some(frame) = reader.next_frame().map_err(failed)? {
        let Ok((header, payload)) = Header::parse(&frame.bytes, NDP_PROTOCOL) else { continue };
        let word = |place: usize| {
            let bytes = payload.as_chunks::<8>().0.get(place)?;
            Some(u64::from_be_bytes(*bytes))
        };
        if !header.flags.has(Flags::DATA) {
            continue;
        }
        if header.msg_len == REQUEST_BYTES
            && let Some(tag) = word(REQUEST_TAG)
        {
            sent.entry(tag).or_insert(frame.time_ps);
        } else if header.msg_len == ANSWER_BYTES
            && let Some(tag) = word(ANSWER_TAG)
            && let Some(&begun) = sent.get(&tag)
        {
            away.entry(tag).or_insert(frame.time_ps - begun);
        }
    }
    Ok(away)
}
