//! A run of a cluster that is checked: each node by itself, with the order that messages bring between
//! nanoPUs; what is found with the node's name. Each rank checks its own nodes, and what harts know of
//! each other goes from rank to rank with the frames.

use std::collections::BTreeMap;
use std::sync::Arc;

use pinion_check::{Checker, Lines, NanoChecker, Post, Program, Verdict};
use pinion_net::fabric::{Ranks, home};
use pinion_net::topology::Place;

use super::mail::Mail;
use super::plan::{Plan, Target};
use super::rows::NodeRow;
use super::run::{RunOptions, conclude, gather, go};
use super::summary::Summary;
use super::tracing::{NodeTracer, Tracing};
use crate::watch::Observer;
use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_app::service::Service;

/// Checks a node.
enum NodeChecker {
    Nano(Box<NanoChecker>),
    Spin(Box<Checker>),
}

impl NodeChecker {
    fn tracer(&mut self) -> NodeTracer<'_> {
        match self {
            Self::Nano(checker) => NodeTracer::Nano(Box::new(&mut **checker)),
            Self::Spin(checker) => NodeTracer::Spin(Box::new(&mut **checker)),
        }
    }

    /// Says what was found in a node of such a target, which ended so.
    fn verdict(self, target: &Target, row: &NodeRow) -> Verdict {
        match (self, target) {
            (Self::Nano(checker), Target::Nanoservice { service, .. }) => {
                let rests = ["finished", "stuck"].contains(&row.ending.as_str());
                checker.verdict(service, rests)
            }
            (Self::Spin(checker), Target::Handlers { app }) => checker.verdict(app),
            _ => Verdict::default(),
        }
    }
}

/// Runs a cluster as [`run`](super::run::run) does, and checks its nodes; `None` at ranks other than 0.
///
/// # Errors
/// As [`run`](super::run::run).
pub fn check(
    plan: &Plan,
    options: &RunOptions,
    ranks: &mut dyn Ranks,
    observer: &mut dyn Observer,
) -> Result<Option<Summary>> {
    let latencies = plan.network.topology.cables.iter().map(|cable| cable.link.latency_cycles);
    let post = Post::new(latencies.min().unwrap_or(1));
    let mut checkers = checkers(plan, &post, ranks);
    let nodes = checkers.iter_mut().map(|(node, checker)| (*node, checker.tracer())).collect();
    let tracing = Tracing { nodes, network: None };
    #[cfg(target_os = "linux")]
    if let Some(folder) = &options.live {
        let mut summary = super::live::replay(plan, folder, options, observer, tracing)?;
        let verdicts = verdicts(plan, checkers, &summary.section.nodes);
        summary.check = Some(joined(plan, verdicts));
        return Ok(Some(summary));
    }
    let ran = go(plan, options, &mut Mail::new(plan, ranks, &post), observer, tracing)?;
    let verdicts = verdicts(plan, checkers, &ran.share.nodes);
    let summary = conclude(plan, options, ranks, ran)?;
    let all = gather(ranks, verdicts)?;
    Ok(summary.zip(all).map(|(mut summary, all)| {
        summary.check = Some(joined(plan, all.into_iter().flatten().collect()));
        summary
    }))
}

/// By node, what was found there.
type Verdicts = Vec<(usize, Verdict)>;

/// Says what was found in nodes, which ended as their rows say.
fn verdicts(plan: &Plan, checkers: Vec<(usize, NodeChecker)>, rows: &[NodeRow]) -> Verdicts {
    let verdict = |(node, checker): (usize, NodeChecker)| {
        let row = rows.iter().find(|row| row.node == node)?;
        let (group, _) = plan.group_of(node)?;
        Some((node, checker.verdict(&group.target, row)))
    };
    checkers.into_iter().filter_map(verdict).collect()
}

/// Joins what was found in nodes, in their order.
fn joined(plan: &Plan, mut verdicts: Verdicts) -> Verdict {
    verdicts.sort_by_key(|(node, _)| *node);
    let mut joined = Verdict::default();
    verdicts.into_iter().for_each(|(node, found)| joined.add_node(&plan.names[node], found));
    joined
}

/// Makes a checker for each node of this rank's that runs a program; nodes with the same share what is
/// known of it.
fn checkers(plan: &Plan, post: &Post, ranks: &dyn Ranks) -> Vec<(usize, NodeChecker)> {
    let mut programs: BTreeMap<*const Service, Arc<Program>> = BTreeMap::new();
    let mut lines: BTreeMap<*const App, Arc<Lines>> = BTreeMap::new();
    let topology = &plan.network.topology;
    let is_ours = |node: &usize| home(topology, Place::Node(*node), ranks.count()) == ranks.rank();
    let checker = |node: usize| {
        let (group, _) = plan.group_of(node)?;
        let checker = match &group.target {
            Target::Nanoservice { service, setup, .. } => {
                let program = programs.entry(Arc::as_ptr(service));
                let program = program.or_insert_with(|| Arc::new(Program::of(service)));
                let (machine, ip) = (&setup.machine.value, plan.address(node));
                let checker = NanoChecker::new(program, machine, ip, setup.clock).with_post(post);
                NodeChecker::Nano(Box::new(checker))
            }
            Target::Handlers { app } => {
                let lines = lines.entry(Arc::as_ptr(app));
                let lines = lines.or_insert_with(|| Arc::new(Checker::lines(app)));
                NodeChecker::Spin(Box::new(Checker::with_lines(app, lines)))
            }
            Target::Load { .. } | Target::Frames { .. } => return None,
        };
        Some((node, checker))
    };
    (0..plan.nodes()).filter(is_ours).filter_map(checker).collect()
}
