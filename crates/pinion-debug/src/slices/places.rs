//! What is looked at in a run in slices: a nanoPU alone, or a node of a cluster.

use std::rc::Rc;
use std::sync::Arc;

use pinion_app::error::{Error, Result};
use pinion_app::service::Service;
use pinion_app::tape::Played;
use pinion_nanopu::node::Node;
use pinion_net::tap::InterfaceAddress;
use pinion_run::cluster::live::Live as LiveCluster;
use pinion_run::cluster::{NodeTracer, Plan, RunOptions, Target, Tracing};
use pinion_run::live::guest::Lends;
use pinion_run::nanoservice::live::{Live as LiveService, node_ip};
use pinion_run::nanoservice::{Outputs, Setup};
use pinion_sim::Clock;

use super::{GoesOn, Place, Slices};
use crate::among::Kind;
use crate::debuggee::Debuggee;
use crate::hearer::Hearer;
use crate::nano::{Interpreter, Nano};
use crate::nic;
use crate::tap::Tap;

type OwnService = LiveService<Arc<Service>, Tap<Interpreter>>;

impl Place<Interpreter> for OwnService {
    fn look<R>(&self, _: usize, look: impl FnOnce(&Node) -> R) -> R {
        look(&self.end.node)
    }

    fn others(&self) -> u64 {
        0
    }
}

impl<K: Kind> Place<K> for LiveCluster<'static> {
    fn look<R>(&self, number: usize, look: impl FnOnce(&K::Node) -> R) -> R {
        let found = self.fabric().look(number, |end| K::of(end).map(look)).flatten();
        found.expect("the node was made with what listens to it")
    }

    fn others(&self) -> u64 {
        self.fabric().topology().nodes as u64 - 1
    }
}

/// Where a run in slices comes from.
pub enum Origin<'a> {
    /// What came in live was recorded.
    Recorded(Box<Played>),
    /// It goes on in the place of nodes that are live.
    Live(&'a mut dyn Lends),
}

/// A run in slices: what is debugged of it, the cycle of that which it has come to, and the run for whoever has
/// it go on.
pub struct Begun {
    /// What is debugged.
    pub debuggee: Box<dyn Debuggee>,
    /// Its cycle.
    pub cycle: u64,
    /// The run.
    pub run: Rc<dyn GoesOn>,
}

/// Debugs a nanoservice that is or was live, with a kernel's side at addresses.
///
/// # Errors
/// When the program does not fit, or the recording is damaged.
pub fn service(
    service: Arc<Service>,
    setup: &Setup,
    (kernel, peer): (Option<InterfaceAddress>, [u8; 6]),
    origin: Origin<'_>,
) -> Result<Begun> {
    let mut setup = setup.clone();
    let tap = Tap::new(Interpreter::new(&setup.machine.value, &service.image));
    let at = (node_ip(&setup, kernel), peer);
    let live = OwnService::new(service, &mut setup, at, &Outputs::default(), tap.clone())?;
    let slices = begin(live, 0, (setup.clock, setup.clock), tap.clone(), origin)?;
    let contexts = setup.machine.value.hart_interface.contexts;
    let nano = Nano::new(slices.clone(), tap, (contexts, setup.clock), String::new());
    Ok(Begun { debuggee: Box::new(nano), cycle: slices.cycle(), run: Rc::new(slices) })
}

/// Debugs a node of a cluster that is or was live, whose wire's other side has a hardware address; `None`: it
/// runs no program.
///
/// # Errors
/// When a node cannot be made, or the recording is damaged.
pub fn node(
    plan: &Plan,
    options: &RunOptions,
    (number, peer): (usize, [u8; 6]),
    origin: Origin<'_>,
) -> Result<Option<Begun>> {
    let Some((group, _)) = plan.group_of(number) else { return Ok(None) };
    let Some(outside) = plan.outside() else {
        return Err(Error::Usage("the cluster was not loaded for a live run".to_owned()));
    };
    let live = |tracer| {
        let tracing = Tracing { nodes: vec![(number, tracer)], network: None };
        LiveCluster::new(plan, options, Some((outside, peer)), tracing)
    };
    let label = format!("{} ", plan.names[number]);
    Ok(match &group.target {
        Target::Nanoservice { service, setup, .. } => {
            let tap = Tap::new(Interpreter::new(&setup.machine.value, &service.image));
            let live = live(NodeTracer::Nano(Box::new(tap.clone())))?;
            let slices = begin(live, number, (plan.clock, plan.clock), tap.clone(), origin)?;
            let contexts = setup.machine.value.hart_interface.contexts;
            let nano = Nano::new(slices.clone(), tap, (contexts, plan.clock), label);
            Some(Begun { debuggee: Box::new(nano), cycle: slices.cycle(), run: Rc::new(slices) })
        }
        Target::Handlers { app } => {
            let shape = Arc::new(nic::shape(app, app.nic()?.machine()));
            let tap = Tap::new(nic::Interpreter::new(Arc::clone(&shape)));
            let live = live(NodeTracer::Spin(Box::new(tap.clone())))?;
            let slices = begin(live, number, (plan.clock, shape.clock), tap, origin)?;
            let nic = nic::Nic::new(app, shape, slices.clone(), label);
            Some(Begun { debuggee: Box::new(nic), cycle: slices.cycle(), run: Rc::new(slices) })
        }
        Target::Load { .. } | Target::Frames { .. } => None,
    })
}

fn begin<I: Place<K>, K: Hearer>(
    inside: I,
    number: usize,
    clocks: (Clock, Clock),
    tap: Tap<K>,
    origin: Origin<'_>,
) -> Result<Slices<I, K>> {
    match origin {
        Origin::Recorded(played) => Slices::recorded(inside, number, clocks, tap, *played),
        Origin::Live(nodes) => Slices::ongoing(inside, number, clocks, tap, nodes),
    }
}
