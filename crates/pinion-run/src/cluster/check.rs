//! A run of a cluster that is checked: each node by itself, with the order that messages bring between
//! nanoPUs; what is found with the node's name.

use std::collections::BTreeMap;
use std::sync::Arc;

use pinion_check::{Checker, Lines, NanoChecker, Post, Program, Verdict};
use pinion_net::fabric::Alone;

use super::plan::{Plan, Target};
use super::rows::NodeRow;
use super::run::{RunOptions, trace};
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

/// Runs a cluster as [`run`](super::run::run) does, on this process alone, and checks its nodes.
///
/// # Errors
/// As [`run`](super::run::run).
pub fn check(plan: &Plan, options: &RunOptions, observer: &mut dyn Observer) -> Result<Summary> {
    let mut checkers = checkers(plan);
    let nodes = checkers.iter_mut().map(|(node, checker)| (*node, checker.tracer())).collect();
    let tracing = Tracing { nodes, network: None };
    let summary = trace(plan, options, &mut Alone, observer, tracing)?;
    let mut summary = summary.expect("a rank that is alone sums up");
    let mut verdict = Verdict::default();
    for (node, checker) in checkers {
        let row = summary.section.nodes.iter().find(|row| row.node == node);
        if let Some((row, (group, _))) = row.zip(plan.group_of(node)) {
            verdict.add_node(&plan.names[node], checker.verdict(&group.target, row));
        }
    }
    summary.check = Some(verdict);
    Ok(summary)
}

/// Makes a checker for each node that runs a program; nodes with the same share what is known of it.
fn checkers(plan: &Plan) -> Vec<(usize, NodeChecker)> {
    let mut programs: BTreeMap<*const Service, Arc<Program>> = BTreeMap::new();
    let mut lines: BTreeMap<*const App, Arc<Lines>> = BTreeMap::new();
    let latencies = plan.network.topology.cables.iter().map(|cable| cable.link.latency_cycles);
    let post = Post::new(latencies.min().unwrap_or(1));
    let checker = |node: usize| {
        let (group, _) = plan.group_of(node)?;
        let checker = match &group.target {
            Target::Nanoservice { service, setup, .. } => {
                let program = programs.entry(Arc::as_ptr(service));
                let program = program.or_insert_with(|| Arc::new(Program::of(service)));
                let (machine, ip) = (&setup.machine.value, plan.address(node));
                let checker = NanoChecker::new(program, machine, ip, setup.clock).with_post(&post);
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
    (0..plan.nodes()).filter_map(checker).collect()
}
