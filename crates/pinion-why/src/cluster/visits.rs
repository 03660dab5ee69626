//! What was worked at a request at the nodes that it came to: harts of nanoPUs and handlers of sPIN NICs,
//! heard again, each closely.

use std::collections::BTreeMap;

use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_app::service::Service;
use pinion_nanopu::Cycle;
use pinion_nanopu::event::NanoPu;
use pinion_observe::trace::Tracer;
use pinion_run::cluster::{NodeTracer, Plan, Target, Tracing};
use pinion_run::nanoservice::run::Settling;
use pinion_sim::probe::{Hears, Interest as _, Vocabulary};
use pinion_sim::{Clock, Time};
use pinion_spin::Spin;

use super::chain::Visited;
use super::ends::End;
use super::heard::{Heard, Journey};
use crate::handlers::{Lines, Witness};
use crate::locks::Spent;
use crate::nano::WorkLines;
use crate::way::LineShare;

/// Cycles for which a run is heard behind the end of what is asked about: nodes' clocks are no multiples of
/// each other.
const END_CYCLES: Cycle = 2;

/// Several that hear the same node.
struct Several<T>(Vec<T>);

impl<V: Vocabulary, T: Hears<V>> Hears<V> for Several<T> {
    fn interest(&self) -> V::Interest {
        self.0.iter().fold(V::Interest::default(), |all, one| all.with(one.interest()))
    }

    fn hear(&mut self, event: &V::Event<'_>) {
        self.0.iter_mut().filter(|one| one.interest().wants(event)).for_each(|one| one.hear(event));
    }
}

impl Settling for Several<WorkLines>
where
    Self: Hears<NanoPu>,
{
    fn settle(&mut self, cycle: Cycle) -> Result<()> {
        self.0.iter_mut().try_for_each(|one| one.settle(cycle))
    }
}

impl<T: Tracer> Tracer for Several<T>
where
    Self: Hears<Spin>,
{
    fn begin(&self) -> Time {
        self.0.iter().map(T::begin).min().unwrap_or(Time::ZERO)
    }

    fn comes_by_cable(&mut self, whole: Time) {
        self.0.iter_mut().for_each(|one| one.comes_by_cable(whole));
    }

    fn settle(&mut self, until: Time) -> Result<()> {
        self.0.iter_mut().try_for_each(|one| one.settle(until))
    }
}

/// Those who hear visits to nodes: by node, the visits' numbers among the trips, and who hears each.
type ByNode<T> = BTreeMap<usize, (Vec<usize>, Several<T>)>;

/// Hears the visits of a request.
pub struct Visits<'a> {
    plan: &'a Plan,
    works: ByNode<WorkLines>,
    witnesses: ByNode<Witness>,
    lines: ByNode<Lines>,
    /// When the request's way is over.
    end: Time,
}

/// What a hart did at a request.
#[derive(Clone, Debug)]
pub struct Work {
    /// The node.
    pub node: usize,
    /// The hart.
    pub hart: u8,
    /// What its lines took.
    pub lines: Vec<LineShare>,
}

impl<'a> Visits<'a> {
    /// Makes listeners for the visits of a request.
    pub fn new(plan: &'a Plan, heard: &Heard<'_>, journey: &Journey) -> Self {
        let nothing = (ByNode::new(), ByNode::new(), ByNode::new());
        let (works, witnesses, lines) = nothing;
        let mut visits = Self { plan, works, witnesses, lines, end: journey.end };
        for (before, trip) in journey.trips.iter().enumerate() {
            let number = before + 1;
            let next = journey.trips.get(number);
            if next.is_none() && journey.is_answered {
                break;
            }
            let (node, came) = trip.to;
            match &heard.ends[node] {
                End::Nano(_) => {
                    let Some(life) = heard.life_of(node, came) else { continue };
                    let written = next.and_then(|next| Some(heard.outgoing(next.from)?.written));
                    let until = written.or(life.ended);
                    let Some((service, _)) = visits.service(node) else { continue };
                    let work = until.and_then(|until| WorkLines::until(service, life, until));
                    visits.works.add(node, number, work);
                }
                End::Nic(nic) => {
                    let Some((packet, app)) = nic.packet(came).zip(visits.app(node)) else {
                        continue;
                    };
                    let begin = heard.first_flit(trip.from).unwrap_or(journey.begin);
                    let witness = Witness::of_packet(app, packet, begin);
                    visits.witnesses.add(node, number, Some(witness));
                }
                End::Load(_) | End::Frames => {}
            }
        }
        visits
    }

    fn app(&self, node: usize) -> Option<&'a App> {
        match &self.plan.group_of(node)?.0.target {
            Target::Handlers { app } => Some(app),
            _ => None,
        }
    }

    fn service(&self, node: usize) -> Option<(&'a Service, Clock)> {
        match &self.plan.group_of(node)?.0.target {
            Target::Nanoservice { service, setup, .. } => Some((service, setup.clock)),
            _ => None,
        }
    }

    /// Gives a cycle of the network's up to which the run must be heard; `None`: to its end, for handlers go
    /// on when what they sent has left.
    pub fn until(&self) -> Option<Cycle> {
        self.witnesses.is_empty().then(|| self.plan.clock.cycle_at(self.end) + END_CYCLES)
    }

    /// Gives those who hear harts, and the ways of packets through NICs; `None`: there is nobody.
    pub fn tracing(&mut self) -> Option<Tracing<'_>> {
        let nanos = self.works.iter_mut();
        let nanos = nanos.map(|(node, (_, all))| (*node, NodeTracer::Nano(Box::new(all))));
        let nics = self.witnesses.iter_mut();
        let nics = nics.map(|(node, (_, all))| (*node, NodeTracer::Spin(Box::new(all))));
        let nodes: Vec<_> = nanos.chain(nics).collect();
        (!nodes.is_empty()).then(|| Tracing { nodes, network: None })
    }

    /// Gives those who hear the handlers whose packets were heard before; `None`: there is nobody.
    pub fn tracing_handlers(&mut self) -> Option<Tracing<'_>> {
        for (node, (numbers, witnesses)) in &self.witnesses {
            let Some(app) = self.app(*node) else { continue };
            for (number, witness) in numbers.iter().zip(&witnesses.0) {
                self.lines.add(*node, *number, Lines::new(app, witness));
            }
        }
        let nodes = self.lines.iter_mut();
        let nodes = nodes.map(|(node, (_, all))| (*node, NodeTracer::Spin(Box::new(all))));
        let nodes: Vec<_> = nodes.collect();
        (!nodes.is_empty()).then(|| Tracing { nodes, network: None })
    }

    /// Gives what was heard: what harts did, in the order of the way, and the packets in NICs.
    pub fn heard(mut self) -> (Vec<Work>, Visited) {
        let (mut works, mut visited) = (Vec::new(), Visited::default());
        for (node, (numbers, all)) in &self.works {
            let Some((service, clock)) = self.service(*node) else { continue };
            for (number, work) in numbers.iter().zip(&all.0) {
                let (hart, Spent { lines, locks }) = (work.hart(), work.spent(service, clock));
                works.push((*number, Work { node: *node, hart, lines }));
                visited.locks.insert(*number, locks);
            }
        }
        works.sort_by_key(|(number, _)| *number);
        let mut spent = BTreeMap::new();
        for (node, (numbers, all)) in &self.lines {
            let Some(app) = self.app(*node) else { continue };
            spent.extend(numbers.iter().zip(&all.0).map(|(number, one)| (*number, one.spent(app))));
        }
        for (_, (numbers, all)) in std::mem::take(&mut self.witnesses) {
            for (number, witness) in numbers.into_iter().zip(all.0) {
                let spent = spent.remove(&number).unwrap_or_else(Spent::default);
                visited.nics.insert(number, (witness, spent));
            }
        }
        (works.into_iter().map(|(_, work)| work).collect(), visited)
    }
}

/// Adds somebody who hears a visit.
trait Add<T> {
    fn add(&mut self, node: usize, number: usize, one: Option<T>);
}

impl<T> Add<T> for ByNode<T> {
    fn add(&mut self, node: usize, number: usize, one: Option<T>) {
        if let Some(one) = one {
            let (numbers, all) =
                self.entry(node).or_insert_with(|| (Vec::new(), Several(Vec::new())));
            numbers.push(number);
            all.0.push(one);
        }
    }
}
