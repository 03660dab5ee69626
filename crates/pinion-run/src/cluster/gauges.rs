//! The gauges of a whole cluster: those of each node that runs a program and those of the network, in order
//! of one time. Nodes may run on several threads; each hands its changes over after every window.

use pinion_net::fabric::Journal;
use pinion_net::topology::Place;

use super::plan::{Plan, Target};
use super::tracing::{NetworkTracer, NodeTracer};
use pinion_app::error::Result;
use pinion_observe::gauges::{
    Feed, Follower, Gauge, Gauged, Gauges, NanoGauges, NetworkGauges, NicGauges, Sink, Timeline,
};

/// Who hears the nodes, by their numbers.
type Nodes<'a> = Vec<(usize, NodeTracer<'a>)>;

/// Hears a cluster's network, and puts the gauges of all in order.
pub struct ClusterGauges<F> {
    network: NetworkGauges,
    feeds: Vec<Feed>,
    /// The network's own.
    own: Feed,
    timeline: Timeline<F>,
}

impl<F: Follower> ClusterGauges<F> {
    /// Begins with who follows the gauges; also gives who hears the nodes.
    ///
    /// # Errors
    /// When the follower cannot begin.
    pub fn begin<'a>(
        plan: &'a Plan,
        follower: impl FnOnce(&[Gauge]) -> Result<F>,
    ) -> Result<(Nodes<'a>, Self)> {
        let (mut all, mut feeds, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for (node, name) in plan.names.iter().enumerate() {
            let Some((group, _)) = plan.group_of(node) else { continue };
            let feed = Feed::new(all.len());
            let tracer = match &group.target {
                Target::Nanoservice { setup, .. } => {
                    let gauges = NanoGauges::new(setup.clock, setup.machine.value.core.count);
                    all.extend(within(name, gauges.gauges()));
                    NodeTracer::Nano(Box::new(Gauged::new(gauges, feed.clone())))
                }
                Target::Handlers { app } => {
                    let gauges = NicGauges::new(app, false);
                    all.extend(within(name, gauges.gauges()));
                    NodeTracer::Spin(Box::new(Gauged::new(gauges, feed.clone())))
                }
                Target::Load { .. } | Target::Frames { .. } => continue,
            };
            nodes.push((node, tracer));
            feeds.push(feed);
        }
        let network = NetworkGauges::new(plan.clock, &plan.network.topology, &plan.names);
        let own = Feed::new(all.len());
        all.extend_from_slice(network.gauges());
        let timeline = Timeline::new(&all, follower(&all)?);
        Ok((nodes, Self { network, feeds, own, timeline }))
    }

    /// Gives who followed.
    pub fn into_follower(self) -> F {
        self.timeline.follower
    }

    /// Brings together what all have said.
    fn gather(&mut self) {
        self.network.hand_over(&mut self.own);
        for feed in self.feeds.iter().chain([&self.own]) {
            feed.empty_into(&mut self.timeline);
        }
    }
}

/// Puts a node's name in front of its gauges' units.
fn within<'a>(node: &'a str, gauges: &'a [Gauge]) -> impl Iterator<Item = Gauge> + 'a {
    gauges
        .iter()
        .map(move |gauge| Gauge { unit: format!("{node}.{}", gauge.unit), ..gauge.clone() })
}

impl<F: Follower> NetworkTracer for ClusterGauges<F> {
    fn passed(&mut self, place: Place, journal: &Journal) {
        self.network.passed(place, journal);
    }

    fn settle(&mut self, now: u64) -> Result<()> {
        self.gather();
        self.timeline.settle(self.network.time(now))
    }

    fn finish(&mut self) -> Result<()> {
        self.gather();
        self.timeline.finish(self.network.last())
    }
}
