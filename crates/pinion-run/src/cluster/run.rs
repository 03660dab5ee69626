//! A run of a cluster: a plan comes in; this rank's nodes are made, joined and run with those of all
//! ranks; a summary goes out at rank 0.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pinion_nanopu::event::Deaf;
use pinion_net::capture::{CaptureWriter, LinkType};
use pinion_net::fabric::{Fabric, Options, Outcome, Ranks, home};
use pinion_net::fault::FaultSpec;
use pinion_net::middleware::PortTap;
use pinion_net::topology::Place;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::end::End;
use super::frames_end::FramesEnd;
use super::load_end::LoadEnd;
use super::nano_end::NanoEnd;
use super::nothing;
use super::observe::Observed;
use super::plan::{FramesFrom, Plan, Target};
use super::rows::{CableRow, QueueTrace, SwitchRow};
use super::spin_end::SpinEnd;
use super::summary::{self, Ended, Share, Summary};
use super::tracing::{NodeTracer, Tracing};
use crate::watch::Observer;
use pinion_app::error::{Error, Result};
use pinion_app::traffic::Packets;
use pinion_observe::report::Ending;

/// Tells how to run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Number of threads; 0: as many as the host has processors. Results do not depend on it.
    pub threads: usize,
    /// Ends the run after so many cycles from reset.
    pub cycles: Option<u64>,
    /// Ends it when no message has moved for so many cycles, instead of the plan's number.
    pub patience: Option<u64>,
    /// The faults of every cable.
    pub faults: Option<FaultSpec>,
    /// Captures of cables: name and file.
    pub captures: Vec<(String, PathBuf)>,
    /// Names cables in front of which a switch's queue is watched; of one between two switches, the
    /// second's.
    pub queues: Vec<String>,
    /// The folder of a live run's tape: the run goes on as that one did. The plan is one of
    /// [`Plan::load_live`].
    #[cfg(target_os = "linux")]
    pub live: Option<PathBuf>,
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
    trace(plan, options, ranks, observer, Tracing::default())
}

/// Does the same, and has nodes and the network traced.
///
/// # Errors
/// As [`run`], and when the trace cannot be written.
pub fn trace(
    plan: &Plan,
    options: &RunOptions,
    ranks: &mut dyn Ranks,
    observer: &mut dyn Observer,
    tracing: Tracing<'_>,
) -> Result<Option<Summary>> {
    #[cfg(target_os = "linux")]
    if let Some(folder) = &options.live {
        return super::live::replay(plan, folder, options, observer, tracing).map(Some);
    }
    let ran = go(plan, options, ranks, observer, tracing)?;
    conclude(plan, options, ranks, ran)
}

/// What a rank has of a run that is over.
pub(super) struct Ran {
    /// The rows of its own nodes, cables and switches.
    pub share: Share,
    pub ended: Ended,
    host: Duration,
    threads: usize,
}

/// Runs this rank's nodes with those of all ranks.
pub(super) fn go(
    plan: &Plan,
    options: &RunOptions,
    ranks: &mut dyn Ranks,
    observer: &mut dyn Observer,
    tracing: Tracing<'_>,
) -> Result<Ran> {
    let begun = Instant::now();
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let mut fabric = build(plan, options, threads, ranks, tracing.nodes)?;
    if tracing.network.is_some() {
        fabric.follow();
    }
    let waits = plan.groups.iter().any(|group| group.ends);
    let patience = options.patience.unwrap_or(plan.patience);
    let mut watcher = Observed::new(observer, plan.clock, waits, patience);
    watcher.network = tracing.network;
    let until = options.cycles.unwrap_or(u64::MAX);
    let outcome = fabric.run(until, ranks, &mut watcher).map_err(failed)?;
    watcher.error.take().map_or(Ok(()), Err)?;
    let (ending, network) = (watcher.ending, watcher.network);
    let ending = match (outcome, ending) {
        (Outcome::Stopped, Some(ending)) => ending,
        (Outcome::Stopped, None) => Ending::Interrupted,
        (Outcome::Reached, _) => Ending::CycleLimit,
        (Outcome::Rests, _) if waits => Ending::Stuck(String::new()),
        (Outcome::Rests, _) => Ending::Finished,
    };
    let now = fabric.now();
    let ended = Ended { ending, rests: outcome == Outcome::Rests, at: now };
    complete(&mut fabric, now)?;
    let mut share = share_of_network(plan, options, &mut fabric);
    let nodes = fabric.finish().map_err(failed)?;
    // A node that is summed up leaves its memory to the next one's row.
    for (number, node) in nodes.into_iter().enumerate() {
        if let Some(node) = node {
            share.add_node(plan, number, &node, &ended);
        }
    }
    network.map_or(Ok(()), |mut network| network.finish())?;
    Ok(Ran { share, ended, host: begun.elapsed(), threads })
}

/// Sums up what all ranks have of a run; `None` at ranks other than 0.
pub(super) fn conclude(
    plan: &Plan,
    options: &RunOptions,
    ranks: &mut dyn Ranks,
    ran: Ran,
) -> Result<Option<Summary>> {
    let Ran { share, ended, host, threads } = ran;
    let Some(shares) = gather(ranks, share)? else { return Ok(None) };
    let workers = (threads, ranks.count());
    Ok(Some(sum_up(plan, options, join(shares), &ended, host, workers)))
}

/// Sums up all ranks' shares of a run.
pub(super) fn sum_up(
    plan: &Plan,
    options: &RunOptions,
    mut share: Share,
    ended: &Ended,
    host: Duration,
    workers: (usize, usize),
) -> Summary {
    let place = |trace: &QueueTrace| options.queues.iter().position(|name| *name == trace.cable);
    share.queues.sort_by_key(place);
    let mut summary = summary::sum_up(&plan.name, ended, plan.clock, share, workers);
    summary.host = host;
    summary.remarks = nothing::remarks(plan, &summary);
    summary
}

pub(super) fn failed(error: pinion_net::fabric::FabricError) -> Error {
    Error::part("the cluster cannot run", error)
}

/// Makes this rank's nodes and joins them.
///
/// # Errors
/// When a node cannot be made, or a capture not be written.
pub fn build<'a>(
    plan: &Plan,
    options: &RunOptions,
    threads: usize,
    ranks: &dyn Ranks,
    tracers: Vec<(usize, NodeTracer<'a>)>,
) -> Result<Fabric<End<'a>>> {
    let topology = plan.network.topology.clone();
    let is_ours = |node| home(&topology, Place::Node(node), ranks.count()) == ranks.rank();
    let mut tracers: BTreeMap<usize, NodeTracer<'a>> = tracers.into_iter().collect();
    let mut nodes = Vec::new();
    for node in 0..plan.nodes() {
        nodes.push(if is_ours(node) {
            Some(end(plan, node, tracers.remove(&node))?)
        } else {
            None
        });
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
        let cable = cable(plan, "--pcap", name)?;
        let owner = fabric.topology().cables[cable].ends[0].place;
        if home(fabric.topology(), owner, ranks.count()) == ranks.rank() {
            let writer = CaptureWriter::create(file, LinkType::Ethernet)?;
            fabric.tap(cable, PortTap::new(writer, plan.clock));
        }
    }
    for name in &options.queues {
        let (watched, port) = queue(plan, name)?;
        fabric.for_each_switch(|number, switch| {
            if number == watched {
                switch.watch(port);
            }
        });
    }
    Ok(fabric)
}

/// Finds a cable by its name.
fn cable(plan: &Plan, option: &str, name: &str) -> Result<usize> {
    let known = plan.network.cables.iter().position(|cable| cable == name);
    known.ok_or_else(|| Error::Usage(unknown_cable(option, name, &plan.network.cables)))
}

/// Finds the switch and its port in front of a cable.
fn queue(plan: &Plan, name: &str) -> Result<(usize, usize)> {
    let ends = plan.network.topology.cables[cable(plan, "--queue", name)?].ends;
    let switch = ends.iter().rev().find_map(|jack| match jack.place {
        Place::Switch(switch) => Some((switch, jack.port)),
        Place::Node(_) => None,
    });
    switch.ok_or_else(|| Error::Usage(format!("--queue {name}: no switch is at this cable")))
}

fn unknown_cable(option: &str, name: &str, cables: &[String]) -> String {
    /// More names than this nobody reads.
    const NAMED: usize = 8;
    let nearest = cables.iter().min_by_key(|known| strsim::damerau_levenshtein(name, known));
    let first: Vec<&str> = cables.iter().take(NAMED).map(String::as_str).collect();
    let more = if cables.len() > NAMED { ", …" } else { "" };
    format!(
        "{option} {name}=…: there is no cable `{name}`; the nearest is `{}`; there are {}{more}",
        nearest.map_or("", String::as_str),
        first.join(", ")
    )
}

/// Makes what stands at a node.
fn end<'a>(plan: &Plan, node: usize, tracer: Option<NodeTracer<'a>>) -> Result<End<'a>> {
    let Some((group, index)) = plan.group_of(node) else {
        return Err(Error::Usage(format!("the cluster has no node {node}")));
    };
    match &group.target {
        Target::Nanoservice { service, setup, arguments } => {
            let ip = plan.address(node);
            let (arguments, ends) = (&arguments[index], group.ends);
            Ok(match tracer {
                Some(NodeTracer::Nano(tracer)) => {
                    let end = NanoEnd::new(service, setup, ip, arguments, ends, tracer)?;
                    End::Traced(Box::new(end))
                }
                _ => {
                    let end = NanoEnd::new(service, setup, ip, arguments, ends, Deaf)?;
                    End::Nano(Box::new(end))
                }
            })
        }
        Target::Handlers { app } => {
            let tracer = match tracer {
                Some(NodeTracer::Spin(tracer)) => Some(tracer),
                _ => None,
            };
            Ok(End::Spin(Box::new(SpinEnd::new(app, plan.clock, tracer)?)))
        }
        Target::Load { specs } => {
            let tracer = match tracer {
                Some(NodeTracer::Load(tracer)) => Some(tracer),
                _ => None,
            };
            let end = LoadEnd::new(specs[index].clone(), plan.clock, tracer);
            let end = end.map_err(|error| Error::part("cannot make the load", error))?;
            Ok(End::Load(Box::new(end)))
        }
        Target::Frames { from } => {
            let packets = match from {
                // The device comes when the run begins.
                FramesFrom::Device { .. } => {
                    return Ok(End::Frames(Box::new(FramesEnd::of_device([0; 6]))));
                }
                FramesFrom::Capture { file, pace, .. } => Packets::from_capture(file, *pace)?,
                FramesFrom::Generator { spec, pace, .. } => {
                    Packets::of((**spec).clone(), None, *pace)?
                }
            };
            let end = FramesEnd::of_packets(packets, from.start(), plan.clock);
            Ok(End::Frames(Box::new(end)))
        }
    }
}

/// Lets who traces this rank's nodes write what is left of a run until cycle `now`.
pub(super) fn complete(fabric: &mut Fabric<End<'_>>, now: u64) -> Result<()> {
    let mut completed = Ok(());
    fabric.for_each_node(|_, end| {
        if completed.is_ok() {
            completed = end.complete(now);
        }
    });
    completed
}

/// Sums up this rank's cables and switches.
pub(super) fn share_of_network(
    plan: &Plan,
    options: &RunOptions,
    fabric: &mut Fabric<End<'_>>,
) -> Share {
    let mut share = Share::default();
    for (cable, back, counts) in fabric.wire_counts() {
        share.cables.push(CableRow::new(cable, &plan.network.cables[cable], back, &counts));
    }
    // Those that there are: a run does not begin without one of them.
    let watched = options.queues.iter().filter_map(|name| Some((name, queue(plan, name).ok()?)));
    let watched: Vec<_> = watched.collect();
    fabric.for_each_switch(|number, switch| {
        share.switches.push(SwitchRow::new(number, &switch.counts()));
        for (cable, (_, port)) in watched.iter().filter(|(_, (watched, _))| *watched == number) {
            let changes = switch.occupancy(*port).iter();
            let changes = changes.map(|at| (at.cycle, at.data_bytes, at.control_bytes));
            let changes = changes.collect();
            share.queues.push(QueueTrace { cable: (*cable).clone(), changes });
        }
    });
    share
}

impl Share {
    /// Sums up one of this rank's nodes, which follow in order.
    pub(super) fn add_node(&mut self, plan: &Plan, number: usize, node: &End<'_>, ended: &Ended) {
        let (row, load) = node.row(number, &plan.names[number], ended);
        self.nodes.push(row);
        self.loads.extend(load);
    }
}

/// Collects what each rank has at rank 0, in the order of ranks; `None` at the others.
pub(super) fn gather<T: Serialize + DeserializeOwned>(
    ranks: &mut dyn Ranks,
    own: T,
) -> Result<Option<Vec<T>>> {
    if ranks.count() == 1 {
        return Ok(Some(vec![own]));
    }
    let broken = |error: serde_json::Error| Error::part("cannot exchange results", error);
    let parcel = serde_json::to_vec(&own).map_err(broken)?;
    let Some(parcels) = ranks.gather(parcel).map_err(failed)? else { return Ok(None) };
    let all = parcels.iter().map(|parcel| serde_json::from_slice(parcel).map_err(broken));
    all.collect::<Result<_>>().map(Some)
}

/// Joins all ranks' shares, in the order in which one rank alone would list them.
fn join(shares: Vec<Share>) -> Share {
    let mut all = Share::default();
    for mut share in shares {
        all.nodes.append(&mut share.nodes);
        all.cables.append(&mut share.cables);
        all.switches.append(&mut share.switches);
        all.queues.append(&mut share.queues);
        all.loads.append(&mut share.loads);
    }
    all.nodes.sort_by_key(|row| row.node);
    all.cables.sort_by_key(|row| (row.number, row.back));
    all.switches.sort_by_key(|row| row.switch);
    all.loads.sort_by_key(|row| row.node);
    all
}
