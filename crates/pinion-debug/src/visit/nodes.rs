//! A debugger's visit to a live nanoPU or cluster. A copy of it goes on in its place, with the debugger as its
//! listener, and at the end it comes to where the copy is; so nothing listens where nobody debugs.

use std::net::TcpStream;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pinion_app::error::{Error, Result};
use pinion_app::service::Service;
use pinion_nanopu::waypoint::Met;
use pinion_net::tap::InterfaceAddress;
use pinion_run::cluster::{NodeTracer, Plan, RunOptions, Target};
use pinion_run::live::Standing;
use pinion_run::live::guest::Lends;
use pinion_run::nanoservice::Setup;
use pinion_sim::Time;

use super::KEPT_BYTES;
use crate::Timeline;
use crate::console::{Console, Why};
use crate::log::Target as Asked;
use crate::session::{self, Ended, Turns};
use crate::slices::{self, Begun, Done, GoesOn, Origin, Origins, Passed};
use crate::terms::Said;

/// Cycles behind which no core is ahead any more with what nobody heard.
const AHEAD_CYCLES: u64 = 2_000;

/// What is visited.
#[derive(Clone)]
pub enum Nodes {
    /// A nanoPU alone, with a kernel's address on its wire.
    Nanoservice(Arc<Service>, Box<Setup>, Option<InterfaceAddress>),
    /// A cluster.
    Cluster(Arc<Plan>, Box<RunOptions>),
}

/// Has somebody hear what is kept of a node's run, from where it is kept on; `true`: to its end.
pub type HearNode<'h> = dyn FnMut(NodeTracer<'_>) -> Result<bool> + 'h;

/// Tells why a packet or message took as long as it did in a node, the number of which stands there for a
/// cluster, of which that is known.
pub type TellOfNode = fn(&Nodes, usize, Asked, &Met, &mut HearNode<'_>) -> Said<String>;

/// A visit that goes on.
pub struct NodesVisit {
    session: Box<dyn Turns>,
    run: Rc<dyn GoesOn>,
}

/// How a turn of a visit ended.
pub struct NodesTurn {
    /// How the visit has ended, if it has.
    pub ended: Option<Result<Ended>>,
    /// Where slices of the run ended that were new.
    pub slices: Vec<u64>,
    /// What the nodes have done for the first time, as far as the debugger has passed it.
    pub done: Vec<Done>,
    /// The simulated time that they have come to, from when frames were taken first.
    pub reached: Time,
}

impl NodesVisit {
    /// Begins a visit to nodes that are lent, whose wire's other side has a hardware address: they stand.
    ///
    /// # Errors
    /// When the connection cannot be used, there is no such node, or they cannot go on.
    pub fn begin(
        what: &Nodes,
        node: Option<&str>,
        (lent, peer): (&mut dyn Lends, [u8; 6]),
        stream: TcpStream,
        tell: TellOfNode,
    ) -> Result<Self> {
        let origin = Origin::Live(&mut *lent);
        let mut number = 0;
        let (Begun { debuggee, cycle, run }, origins) = match what {
            Nodes::Nanoservice(service, setup, kernel) => (
                slices::service(Arc::clone(service), setup, (*kernel, peer), origin)?,
                Origins::Service(Arc::clone(service), setup.clone(), *kernel),
            ),
            Nodes::Cluster(plan, options) => {
                number = find(plan, node)?;
                let begun = slices::node(plan, options, (number, peer), origin)?;
                let begun = begun.ok_or_else(|| runs_nothing(&plan.names[number]))?;
                (begun, Origins::Cluster(Arc::clone(plan), options.clone(), number))
            }
        };
        let (what, heard) = (what.clone(), Rc::clone(&run));
        let why: Why = Box::new(move |target| {
            let kept = heard.kept();
            let met = origins.met(&kept, peer).map_err(|error| error.to_string())?;
            let hear =
                &mut |tracer: NodeTracer<'_>| origins.hear(&kept, peer, tracer).map(|()| true);
            tell(&what, number, target, &met, hear)
        });
        let begun = Timeline::attach(debuggee, cycle, AHEAD_CYCLES)
            .and_then(|timeline| session::begin(Console::new(timeline, why), stream));
        match begun {
            Ok(session) => Ok(Self { session, run }),
            Err(error) => run.give_back(lent).and(Err(error)),
        }
    }

    /// Tells whether frames are taken: the nodes are to go on, from where they were never before.
    pub fn takes_frames(&self) -> bool {
        self.session.goes_on() && self.run.is_at_edge()
    }

    /// Lets the visit go on for a turn with frames that have come, and wait for others until a moment; waits
    /// for gdb so long at most, if there is nothing else to do.
    ///
    /// # Errors
    /// When the nodes cannot be given back.
    pub fn turn(
        &mut self,
        lent: &mut dyn Lends,
        (frames, limit): (Vec<Vec<u8>>, Time),
        patience: Duration,
    ) -> Result<NodesTurn> {
        self.run.put(frames);
        self.run.wait_until(limit);
        let mut ended = self.session.turn(patience).transpose();
        if ended.is_some() {
            ended = self.leave(lent).err().map(Err).or(ended);
        } else if self.run.is_full(KEPT_BYTES) && self.run.is_at_edge() {
            self.run.forget()?;
            self.session.timeline().forget()?;
        }
        let (reached, cycle) = self.run.edge();
        let (goes_on, timeline) = (self.session.goes_on(), self.session.timeline());
        let passed = match (goes_on, timeline.rests()) {
            _ if ended.is_some() => Passed::Everything,
            (true, true) => Passed::Everything,
            (true, false) => Passed::AllButLast,
            (false, _) => Passed::UpTo(timeline.position().cycle),
        };
        if ended.is_none() {
            let is_busy = passed == Passed::AllButLast;
            let standing = if is_busy { Standing::Works } else { Standing::Idle };
            lent.stand_for(Some((standing, cycle)));
        }
        let (slices, done) = (self.run.take_ends(), self.run.take_done(passed));
        Ok(NodesTurn { ended, slices, done, reached })
    }

    /// Leaves: the nodes come to where they were never before, and go on until they have taken the frames that
    /// were put in their way.
    ///
    /// # Errors
    /// When what comes in cannot be read, or they are no others.
    pub fn leave(&mut self, lent: &mut dyn Lends) -> Result<()> {
        let (timeline, run) = (self.session.timeline(), &self.run);
        let went = timeline.go_to_present();
        let went = went.and_then(|()| timeline.go_on_while(|| !run.has_taken_all()));
        self.run.give_back(lent)?;
        went
    }

    /// Takes what was done for the first time since the last turn, and where slices ended.
    pub fn take_done(&self) -> (Vec<u64>, Vec<Done>) {
        (self.run.take_ends(), self.run.take_done(Passed::Everything))
    }
}

/// Finds the node of a cluster that somebody wants to see, which runs a program.
///
/// # Errors
/// That it was not named, is not there, or runs none.
pub fn find(plan: &Plan, node: Option<&str>) -> Result<usize> {
    let number = named(plan, node)?;
    match plan.group_of(number).map(|(group, _)| &group.target) {
        Some(Target::Nanoservice { .. } | Target::Handlers { .. }) => Ok(number),
        _ => Err(runs_nothing(&plan.names[number])),
    }
}

fn named(plan: &Plan, node: Option<&str>) -> Result<usize> {
    let number = node.and_then(|node| plan.names.iter().position(|name| name == node));
    number.ok_or_else(|| {
        let mut names: Vec<&str> = plan.names.iter().map(String::as_str).collect();
        names.truncate(8);
        let more = if plan.names.len() > names.len() { ", …" } else { "" };
        let names = names.join(", ");
        Error::Usage(match node {
            None => format!("say with --node NAME which node is debugged: {names}{more}"),
            Some(node) => format!("there is no node `{node}`, but {names}{more}"),
        })
    })
}

fn runs_nothing(name: &str) -> Error {
    Error::Usage(format!(
        "--node {name}: it runs no program; debug a node that its packets are for"
    ))
}
