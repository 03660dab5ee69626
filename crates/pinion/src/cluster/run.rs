//! A run of a cluster: a plan comes in; this rank's nodes are made, joined and run with those of all
//! ranks; a summary goes out at rank 0.

use std::path::PathBuf;
use std::time::Instant;

use pinion_net::capture::{CaptureWriter, LinkType};
use pinion_net::fabric::{Fabric, Options, Outcome, Place, Ranks, home};
use pinion_net::fault::FaultSpec;
use pinion_net::link::PortTap;

use super::end::End;
use super::nano_end::NanoEnd;
use super::observe::Observed;
use super::plan::{Plan, Target};
use super::rows::{CableRow, SwitchRow};
use super::summary::{Ended, Ending, Share, Summary};
use crate::error::{Error, Result};
use crate::nanoservice::run::Observer;

/// Tells how to run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Counts threads; 0: as many as the host has processors. Results do not depend on it.
    pub threads: usize,
    /// Ends the run after so many cycles from reset.
    pub cycles: Option<u64>,
    /// Ends it when no message has moved for so many cycles, instead of the plan's number.
    pub patience: Option<u64>,
    /// Are the faults of every cable.
    pub faults: Option<FaultSpec>,
    /// Are captures of cables: name and file.
    pub captures: Vec<(String, PathBuf)>,
}

/// Runs a cluster with all ranks; `None` at ranks other than 0.
///
/// # Errors
/// When a node cannot be made, a capture not be written, or another rank fails.
pub fn run(
    plan: &Plan,
    options: &RunOptions,
    ranks: &mut dyn Ranks,
    observer: &mut dyn Observer,
) -> Result<Option<Summary>> {
    let begun = Instant::now();
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let mut fabric = build(plan, options, threads, ranks)?;
    let waits = plan.groups.iter().any(|group| group.ends);
    let patience = options.patience.unwrap_or(plan.patience);
    let mut watcher = Observed::new(observer, plan.clock, waits, patience);
    let until = options.cycles.unwrap_or(u64::MAX);
    let outcome = fabric.run(until, ranks, &mut watcher).map_err(failed)?;
    let ending = match (outcome, watcher.ending) {
        (Outcome::Stopped, Some(ending)) => ending,
        (Outcome::Stopped, None) => Ending::Interrupted,
        (Outcome::Reached, _) => Ending::CycleLimit,
        (Outcome::Rests, _) if waits => Ending::Stuck,
        (Outcome::Rests, _) => Ending::Finished,
    };
    let now = fabric.now();
    let ended = Ended { ending, rests: outcome == Outcome::Rests, at: now };
    let share = share(plan, fabric, ended)?;
    let Some(share) = gather(ranks, share)? else { return Ok(None) };
    Ok(Some(Summary {
        name: plan.name.clone(),
        ending,
        cycles: now,
        clock: plan.clock,
        nodes: share.nodes,
        cables: share.cables,
        switches: share.switches,
        host: begun.elapsed(),
        workers: (threads, ranks.count()),
    }))
}

fn failed(error: pinion_net::fabric::FabricError) -> Error {
    Error::part("the cluster cannot run", error)
}

/// Makes this rank's nodes and joins them.
fn build(
    plan: &Plan,
    options: &RunOptions,
    threads: usize,
    ranks: &dyn Ranks,
) -> Result<Fabric<End>> {
    let topology = plan.network.topology.clone();
    let is_ours = |node| home(&topology, Place::Node(node), ranks.count()) == ranks.rank();
    let mut nodes = Vec::new();
    for node in 0..plan.nodes() {
        nodes.push(if is_ours(node) { Some(end(plan, node)?) } else { None });
    }
    let fabric = Options {
        threads,
        clock: plan.clock,
        faults: options.faults.clone(),
        addresses: plan.addresses(),
    };
    let switch = &plan.network.switch;
    let mut fabric = Fabric::new(topology, switch, nodes, &fabric, ranks).map_err(failed)?;
    for (name, file) in &options.captures {
        let known = plan.network.cables.iter().position(|cable| cable == name);
        let Some(cable) = known else {
            return Err(Error::Usage(unknown_cable(name, &plan.network.cables)));
        };
        let owner = fabric.topology().cables[cable].ends[0].place;
        if home(fabric.topology(), owner, ranks.count()) == ranks.rank() {
            let writer = CaptureWriter::create(file, LinkType::Ethernet)?;
            fabric.tap(cable, PortTap::new(writer, plan.clock));
        }
    }
    Ok(fabric)
}

fn unknown_cable(name: &str, cables: &[String]) -> String {
    /// More names than this nobody reads.
    const NAMED: usize = 8;
    let nearest = cables.iter().min_by_key(|known| strsim::damerau_levenshtein(name, known));
    let first: Vec<&str> = cables.iter().take(NAMED).map(String::as_str).collect();
    let more = if cables.len() > NAMED { ", …" } else { "" };
    format!(
        "--pcap {name}=…: there is no cable `{name}`; the nearest is `{}`; there are {}{more}",
        nearest.map_or("", String::as_str),
        first.join(", ")
    )
}

/// Makes what stands at a node.
fn end(plan: &Plan, node: usize) -> Result<End> {
    let Some((group, index)) = plan.group_of(node) else {
        return Err(Error::Usage(format!("the cluster has no node {node}")));
    };
    match &group.target {
        Target::Nanoservice { service, setup, arguments } => {
            let ip = plan.addresses()[node];
            let end = NanoEnd::new(service, setup, ip, &arguments[index], group.ends)?;
            Ok(End::Nano(Box::new(end)))
        }
    }
}

/// Sums up this rank's share.
fn share(plan: &Plan, mut fabric: Fabric<End>, ended: Ended) -> Result<Share> {
    let mut share = Share::default();
    for (cable, back, counts) in fabric.wire_counts() {
        share.cables.push(CableRow::new(cable, &plan.network.cables[cable], back, &counts));
    }
    fabric.for_each_switch(|number, _| share.switches.push(SwitchRow { switch: number }));
    let nodes = fabric.finish().map_err(failed)?;
    for (number, node) in nodes.into_iter().enumerate() {
        let Some(node) = node else { continue };
        share.nodes.push(node.row(number, &plan.names[number], ended));
    }
    Ok(share)
}

/// Collects all ranks' shares at rank 0, in the order in which one rank alone would list them.
fn gather(ranks: &mut dyn Ranks, share: Share) -> Result<Option<Share>> {
    if ranks.count() == 1 {
        return Ok(Some(share));
    }
    let broken = |error: serde_json::Error| Error::part("cannot exchange results", error);
    let parcel = serde_json::to_vec(&share).map_err(broken)?;
    let Some(parcels) = ranks.gather(parcel).map_err(failed)? else { return Ok(None) };
    let mut all = Share::default();
    for parcel in parcels {
        let mut share: Share = serde_json::from_slice(&parcel).map_err(broken)?;
        all.nodes.append(&mut share.nodes);
        all.cables.append(&mut share.cables);
        all.switches.append(&mut share.switches);
    }
    all.nodes.sort_by_key(|row| row.node);
    all.cables.sort_by_key(|row| (row.number, row.back));
    all.switches.sort_by_key(|row| row.switch);
    Ok(Some(all))
}
