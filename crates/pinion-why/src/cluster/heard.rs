//! A cluster's run as it was heard: its nodes, and the frames between them. Which requests were answered,
//! and by which messages, comes out.

use std::sync::Arc;

use pinion_app::error::{Error, Result};
use pinion_run::cluster::{Plan, Tracing};
use pinion_sim::Time;
use rustc_hash::FxHashMap as HashMap;

use super::chain::{Chain, Visited};
use super::ends::End;
use super::web::{Steps, Web};
use crate::find::{self, Pick, Standing, Through, Which};
use crate::nano::{Fate, Life, Outgoing};
use crate::way::Way;

/// Trips of a way that are followed at most.
const MOST_TRIPS: usize = 64;

/// A frame's trip from node to node: the sender and its n-th frame, the receiver and the n-th that reached
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// The node that sent it, and which of its frames it is.
    pub from: (usize, u64),
    /// The node that it reached, and which of the frames it is that came there.
    pub to: (usize, u64),
}

/// A request's way: trip after trip, to the node that sent it or, where nothing came back, to the first
/// node that it reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journey {
    /// Its trips.
    pub trips: Vec<Trip>,
    /// When it began.
    pub begin: Time,
    /// When it was over.
    pub end: Time,
    /// Whether it came back.
    pub is_answered: bool,
}

impl Journey {
    /// Gives the node that sent it.
    pub fn origin(&self) -> usize {
        self.trips[0].from.0
    }

    fn took_ps(&self) -> u64 {
        self.end.ps().saturating_sub(self.begin.ps())
    }
}

/// Hears a cluster.
pub struct Ears {
    ends: Vec<End>,
    web: Web,
}

impl Ears {
    /// Makes listeners for all nodes of a cluster and its network.
    pub fn new(plan: &Plan) -> Self {
        let ends = (0..plan.nodes()).map(|node| End::new(plan, node)).collect();
        Self { ends, web: Web::new(plan) }
    }

    /// Gives them as a run takes them.
    pub fn tracing(&mut self) -> Tracing<'_> {
        let nodes = self.ends.iter_mut().enumerate();
        let nodes = nodes.filter_map(|(node, end)| Some((node, end.tracer()?))).collect();
        Tracing { nodes, network: Some(Box::new(&mut self.web)) }
    }

    /// Gives what they have heard.
    pub fn heard(self, plan: &Plan) -> Heard<'_> {
        let Self { mut ends, web } = self;
        for end in &mut ends {
            if let End::Nic(nic) = end {
                nic.settle();
            }
        }
        let names = plan.names.iter().map(|name| Arc::from(name.as_str())).collect();
        Heard { plan, names, ends, steps: web.into_steps() }
    }
}

/// What was heard of a cluster's run.
pub struct Heard<'a> {
    pub(super) plan: &'a Plan,
    pub(super) names: Vec<Arc<str>>,
    pub(super) ends: Vec<End>,
    pub(super) steps: Steps,
}

/// A request, and how long its way is among all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    /// Its number, from 0, in the order in which they began.
    pub number: u64,
    /// Its way.
    pub journey: Journey,
    /// How long that is.
    pub standing: Standing,
}

impl Heard<'_> {
    /// Gives the message to a nanoPU that a frame completed.
    pub(super) fn life_of(&self, node: usize, frame: u64) -> Option<&Life> {
        let End::Nano(follower) = &self.ends[node] else { return None };
        let (_, fate) = follower.arrival(frame)?.found?;
        match fate {
            Fate::Packet(message, _) => follower.life(message),
            _ => None,
        }
    }

    /// Gives the frame that made a node send another.
    fn cause(&self, (node, frame): (usize, u64), serving: &Serving) -> Option<u64> {
        match &self.ends[node] {
            End::Nano(follower) => {
                let message = follower.left().get(frame as usize)?.message?;
                let work = follower.outgoing(message)?.work?;
                let serves = serving.get(&(node, work)).copied().unwrap_or(false);
                let (_, completes) = follower.life(work)?.complete?;
                serves.then_some(completes)
            }
            End::Nic(nic) => nic.brought(nic.departed(frame)?.packet),
            End::Load(_) | End::Frames => None,
        }
    }

    /// Follows a frame back to who sent it first; `None`: whom it reached is not in its way.
    fn back(&self, origin: usize, frame: u64, serving: &Serving) -> Option<Vec<Trip>> {
        let mut trips = Vec::new();
        let mut to = (origin, frame);
        while trips.len() < MOST_TRIPS {
            let from = self.steps.sender(self.steps.reached(to.0, to.1)?);
            trips.push(Trip { from, to });
            if from.0 == origin {
                trips.reverse();
                return Some(trips);
            }
            to = (from.0, self.cause(from, serving)?);
        }
        None
    }

    /// Gives the requests that are through, in the order in which they began.
    pub fn journeys(&self) -> Vec<Journey> {
        let mut journeys = Vec::new();
        let serving = self.of_messages(&mut journeys);
        let mut others = Vec::new();
        for (node, end) in self.ends.iter().enumerate() {
            match end {
                End::Nano(_) => {}
                End::Nic(nic) => others.extend(nic.done.iter().filter_map(|(packet, time)| {
                    self.one_way((node, nic.brought(*packet)?), *time)
                })),
                End::Load(load) => {
                    others.extend(load.answers.iter().filter_map(|(frame, sample)| {
                        let trips = self.back(node, *frame, &serving)?;
                        let clock = self.plan.clock;
                        let begin = clock.time(sample.sent_cycle);
                        let end = clock.time(sample.sent_cycle + sample.response_cycles);
                        Some(Journey { trips, begin, end, is_answered: true })
                    }))
                }
                End::Frames => {
                    others.extend(self.steps.all_reached(node).filter_map(|(frame, last)| {
                        let trips = self.back(node, frame, &serving)?;
                        let begin = self.first_flit(trips[0].from)?;
                        let end = self.plan.clock.time(self.steps.step(last).to);
                        Some(Journey { trips, begin, end, is_answered: true })
                    }))
                }
            }
        }
        journeys.extend(others);
        journeys.sort_by_key(|journey| (journey.begin, journey.trips[0].from));
        journeys
    }

    /// Finds the ways of messages to nanoPUs, in the order in which harts read them; gives whom those who
    /// work at them serve.
    fn of_messages(&self, journeys: &mut Vec<Journey>) -> Serving {
        let mut lives: Vec<(u64, usize, &Life)> = Vec::new();
        for (node, end) in self.ends.iter().enumerate() {
            if let End::Nano(follower) = end {
                lives.extend(follower.lives().filter_map(|life| Some((life.begun?, node, life))));
            }
        }
        lives.sort_by_key(|(begun, node, life)| (*begun, *node, life.message));
        let clock = self.plan.clock;
        let mut serving = Serving::default();
        for (begun, node, life) in lives {
            let Some((_, frame)) = life.complete else { continue };
            let trips = self.back(node, frame, &serving);
            let asked = trips.as_ref().and_then(|trips| self.outgoing(trips[0].from));
            // Who has got what he asked for goes on with what he asked it for.
            let serves = match asked {
                None => true,
                Some(asked) => {
                    asked.work.is_some_and(|work| serving.get(&(node, work)) == Some(&true))
                }
            };
            serving.insert((node, life.message), serves);
            match (trips, asked, life.ended) {
                (Some(trips), Some(asked), _) => {
                    let (begin, end) = (clock.time(asked.written), clock.time(begun));
                    journeys.push(Journey { trips, begin, end, is_answered: true });
                }
                (_, _, Some(ended)) if life.reply.is_none() => {
                    journeys.extend(self.one_way((node, frame), clock.time(ended)));
                }
                _ => {}
            }
        }
        serving
    }

    /// Gives the way of something that nothing answers: its last trip.
    fn one_way(&self, to: (usize, u64), end: Time) -> Option<Journey> {
        let from = self.steps.sender(self.steps.reached(to.0, to.1)?);
        let begin = match self.outgoing(from) {
            Some(outgoing) => self.plan.clock.time(outgoing.written),
            None => self.first_flit(from)?,
        };
        Some(Journey { trips: vec![Trip { from, to }], begin, end, is_answered: false })
    }

    /// Gives the message of a nanoPU that a frame carried.
    pub(super) fn outgoing(&self, (node, frame): (usize, u64)) -> Option<&Outgoing> {
        let End::Nano(follower) = &self.ends[node] else { return None };
        follower.outgoing(follower.left().get(frame as usize)?.message?)
    }

    /// Gives when the first flit of a frame was on its sender's pins.
    pub(super) fn first_flit(&self, (node, frame): (usize, u64)) -> Option<Time> {
        let first = self.steps.step(self.steps.left(node, frame)?);
        Some(self.plan.clock.time(first.from))
    }

    /// Gives a request's way, without what happened inside sPIN NICs: that has to be heard once more.
    pub fn way(&self, journey: &Journey) -> Way {
        Way { parts: Chain::parts(self, journey, &Visited::default()) }
    }

    /// Finds the request that is meant.
    ///
    /// # Errors
    /// When there is none such.
    pub fn find(&self, which: Which) -> Result<Meant> {
        let journeys = self.journeys();
        let through = (0..).zip(&journeys).map(|(number, journey)| Through {
            number,
            took_ps: journey.took_ps(),
            is_answered: journey.is_answered,
        });
        let pick = match which {
            Which::Message(message) => Pick::Number(u64::from(message)),
            Which::Percentile99 => Pick::Percentile99,
            Which::Slowest | Which::Packet(_) | Which::Dropped(_) => Pick::Slowest,
        };
        let count = journeys.len();
        let (found, standing) = find::pick(through.collect(), pick).ok_or_else(|| {
            Error::Usage(match (count, which) {
                (0, _) => "no request was answered and no message got through: `pinion run` says \
                           what became of frames"
                    .to_owned(),
                (_, Which::Message(message)) => format!(
                    "--message {message}: requests 0 to {} got through, counted as they began in \
                     the whole cluster",
                    count - 1
                ),
                _ => "no request got through".to_owned(),
            })
        })?;
        let journey = journeys[found.number as usize].clone();
        Ok(Meant { number: found.number, journey, standing })
    }
}

/// By node and message: whether who works at it serves somebody, and has not got what he asked for.
pub(super) type Serving = HashMap<(usize, u64), bool>;
