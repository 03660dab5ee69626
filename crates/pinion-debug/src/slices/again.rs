//! A live run in slices that is heard again, by somebody else than the debugger: from where it is kept on, with
//! the frames that came, and as it would go on if no more came.

use std::sync::Arc;

use pinion_app::error::{Error, Result};
use pinion_app::service::Service;
use pinion_nanopu::event::Deaf;
use pinion_nanopu::waypoint::Met;
use pinion_net::tap::InterfaceAddress;
use pinion_run::cluster::live::Live as LiveCluster;
use pinion_run::cluster::{End, NodeTracer, Plan, RunOptions, Tracing};
use pinion_run::live::{Cycles, Inside, Standing};
use pinion_run::nanoservice::live::{Live as LiveService, node_ip};
use pinion_run::nanoservice::{Outputs, Setup};
use pinion_sim::Clock;
use pinion_sim::node::Saved;

/// Cycles of a slice behind what is kept, and for how many such slices it goes on at most.
const SLICE_CYCLES: u64 = 1_000;
const FURTHER_SLICES: u64 = 1_000;

/// What is kept of a run that goes on: where it begins, and its slices, with the cycles that they end in
/// front of.
#[derive(Clone)]
pub struct Kept {
    /// The nodes.
    pub beginning: Saved,
    /// Frames that came at the beginning of each, and its end.
    pub slices: Vec<(Vec<Vec<u8>>, u64)>,
}

impl Kept {
    /// Has nodes that are built alike go on from where it begins.
    fn begin<I: Inside>(&self, inside: I, clock: Clock) -> Result<Cycles<I>> {
        let mut cycles = Cycles::new(inside, clock, 0);
        let restored = cycles.restore(&self.beginning);
        restored.map(|()| cycles).map_err(|error| Error::part("cannot repeat the run", error))
    }

    /// Has them do what is kept, and what would come of it, until nobody wants to hear more.
    fn repeat<I: Inside>(&self, inside: I, clock: Clock) -> Result<()> {
        let mut cycles = self.begin(inside, clock)?;
        for (frames, until) in &self.slices {
            cycles.slice(frames.iter().cloned(), *until, &mut |_| {})?;
            if cycles.inside.is_unheard() {
                return Ok(());
            }
        }
        for _ in 0..FURTHER_SLICES {
            if cycles.standing() != Standing::Works || cycles.inside.is_unheard() {
                break;
            }
            cycles.slice(None, cycles.now + SLICE_CYCLES, &mut |_| {})?;
        }
        Ok(())
    }
}

/// A live run whose nodes can be built again.
#[derive(Clone)]
pub enum Origins {
    /// Of a nanoPU alone, with a kernel's address on its wire.
    Service(Arc<Service>, Box<Setup>, Option<InterfaceAddress>),
    /// Of a cluster, and the number of the node that is asked about.
    Cluster(Arc<Plan>, Box<RunOptions>, usize),
}

impl Origins {
    /// Tells what somebody has to know of the node, if it is a nanoPU, who begins to listen where it is kept on;
    /// `peer` is the hardware address of the wire's other side.
    ///
    /// # Errors
    /// When the nodes cannot be built.
    pub fn met(&self, kept: &Kept, peer: [u8; 6]) -> Result<Met> {
        match self {
            Self::Service(service, setup, kernel) => {
                let live = live_service(service, setup, (*kernel, peer), Deaf)?;
                let cycles = kept.begin(live, setup.clock)?;
                let contexts = setup.machine.value.hart_interface.contexts;
                Ok(cycles.inside.end.met(contexts))
            }
            Self::Cluster(plan, options, number) => {
                let live = live_cluster(plan, options, peer, Tracing::default())?;
                let cycles = kept.begin(live, plan.clock)?;
                let met = cycles.inside.fabric().look(*number, |end| match end {
                    End::Nano(end) => end.met(),
                    _ => Met::default(),
                });
                Ok(met.unwrap_or_default())
            }
        }
    }

    /// Has somebody hear what is kept of the node's run.
    ///
    /// # Errors
    /// When the nodes cannot be built.
    pub fn hear(&self, kept: &Kept, peer: [u8; 6], tracer: NodeTracer<'_>) -> Result<()> {
        match self {
            Self::Service(service, setup, kernel) => match tracer {
                NodeTracer::Nano(tracer) => {
                    let live = live_service(service, setup, (*kernel, peer), tracer)?;
                    kept.repeat(live, setup.clock)
                }
                _ => Ok(()),
            },
            Self::Cluster(plan, options, number) => {
                let tracing = Tracing { nodes: vec![(*number, tracer)], network: None };
                kept.repeat(live_cluster(plan, options, peer, tracing)?, plan.clock)
            }
        }
    }
}

fn live_service<L: pinion_observe::settling::Settling>(
    service: &Arc<Service>,
    setup: &Setup,
    (kernel, peer): (Option<InterfaceAddress>, [u8; 6]),
    listener: L,
) -> Result<LiveService<Arc<Service>, L>> {
    let mut setup = setup.clone();
    let at = (node_ip(&setup, kernel), peer);
    LiveService::new(Arc::clone(service), &mut setup, at, &Outputs::default(), listener)
}

fn live_cluster<'t>(
    plan: &Plan,
    options: &RunOptions,
    peer: [u8; 6],
    tracing: Tracing<'t>,
) -> Result<LiveCluster<'t>> {
    let outside = plan
        .outside()
        .ok_or_else(|| Error::Usage("the cluster was not loaded for a live run".to_owned()))?;
    LiveCluster::new(plan, options, Some((outside, peer)), tracing)
}
