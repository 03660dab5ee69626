//! Where cycles go in a live cluster while somebody looks at it. In: instructions of its nodes. Out: a profile for
//! each group, of all its nodes together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pinion_nanopu::event::{NanoPu, Retirements, Told};
use pinion_sim::probe::Hears;
use pinion_spin::{Event, Interest, Spin};

use super::plan::{Plan, Target};
use super::tracing::NodeTracer;
use crate::nanoservice::HartProfile;
use crate::nanoservice::run::Settling;
use pinion_observe::profile::{HpuProfile, Profile};
use pinion_observe::trace::Tracer;

/// What hears a cluster's nodes, whether it does at the moment or not.
#[derive(Default)]
pub struct Watched<'a> {
    listens: Arc<AtomicBool>,
    /// By group that runs a program: its name, and its account.
    groups: Vec<(&'a str, Account<'a>)>,
}

/// The account of a group's nodes.
#[derive(Clone)]
enum Account<'a> {
    Nano(Arc<Mutex<HartProfile<'a>>>),
    Spin(Arc<Mutex<HpuProfile<'a>>>),
}

/// Hears a node.
struct Ear<P> {
    listens: Arc<AtomicBool>,
    account: Arc<Mutex<P>>,
    /// The node's place in its group.
    node: usize,
}

impl<'a> Watched<'a> {
    /// Makes what hears a plan's nodes, and who does for each.
    pub fn new(plan: &'a Plan) -> (Self, Vec<(usize, NodeTracer<'a>)>) {
        let (mut watched, mut tracers) = (Self::default(), Vec::new());
        for group in &plan.groups {
            let account = match &group.target {
                Target::Nanoservice { service, setup, .. } => {
                    let account = HartProfile::of_nodes(service, setup, group.count);
                    Account::Nano(Arc::new(Mutex::new(account)))
                }
                Target::Handlers { app } => {
                    let account = HpuProfile::of_nodes(app, group.count);
                    Account::Spin(Arc::new(Mutex::new(account)))
                }
                Target::Load { .. } | Target::Frames { .. } => continue,
            };
            for node in 0..group.count {
                tracers.push((group.first + node, account.ear(&watched.listens, node)));
            }
            watched.groups.push((&group.name, account));
        }
        (watched, tracers)
    }

    /// Listens from now on, or no longer.
    pub fn listen(&self, closely: bool) {
        if self.listens.swap(closely, Ordering::Relaxed) || !closely {
            return;
        }
        for (_, account) in &self.groups {
            match account {
                Account::Nano(account) => locked(account).pause(),
                Account::Spin(account) => locked(account).pause(),
            }
        }
    }

    /// Gives where cycles went, by group.
    pub fn profiles(&self) -> Vec<Profile<'_>> {
        let of = |(name, account): &(&str, Account<'a>)| {
            let profile = match account {
                Account::Nano(account) => locked(account).clone().profile(0),
                Account::Spin(account) => locked(account).so_far(),
            };
            Profile { app: (*name).to_owned(), ..profile }
        };
        self.groups.iter().map(of).collect()
    }
}

impl<'a> Account<'a> {
    fn ear(&self, listens: &Arc<AtomicBool>, node: usize) -> NodeTracer<'a> {
        let listens = Arc::clone(listens);
        match self {
            Self::Nano(account) => {
                NodeTracer::Nano(Box::new(Ear { listens, account: Arc::clone(account), node }))
            }
            Self::Spin(account) => {
                NodeTracer::Spin(Box::new(Ear { listens, account: Arc::clone(account), node }))
            }
        }
    }
}

impl<P> Ear<P> {
    fn listens(&self) -> bool {
        self.listens.load(Ordering::Relaxed)
    }
}

fn locked<P>(account: &Mutex<P>) -> MutexGuard<'_, P> {
    account.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hears<NanoPu> for Ear<HartProfile<'_>> {
    fn interest(&self) -> Retirements {
        Retirements { retired: self.listens(), ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        if self.listens() {
            locked(&self.account).hear_node(self.node, told);
        }
    }
}

impl Settling for Ear<HartProfile<'_>> {}

impl Hears<Spin> for Ear<HpuProfile<'_>> {
    fn interest(&self) -> Interest {
        Interest { instructions: self.listens(), ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        if let Event::Instruction(record) = event
            && self.listens()
        {
            locked(&self.account).instruction(self.node, record);
        }
    }
}

impl Tracer for Ear<HpuProfile<'_>> {}
