//! A host program that computes while messages arrive: it sets the NIC up, multiplies matrices, then
//! polls for what is not there yet.

use pinion_host::HostModel;
use pinion_host::model::to_ps;

use super::world::{Actor, World};

const COMPUTED: u64 = 0;
const LOOKED: u64 = 1;
const COMPUTE: u64 = 2;

/// Says what the program does.
#[derive(Clone, Debug)]
pub struct ComputePlan {
    /// How many words of NIC memory it writes before: the layout, a slot's state per message.
    pub setup_words: u64,
    /// How long the multiplication lasts, in ps.
    pub compute_ps: u64,
    /// Holds host addresses of the messages' results; one is there when it is not zero.
    pub results: Vec<u64>,
}

/// Computes, then polls.
#[derive(Debug)]
pub struct Compute {
    model: HostModel,
    plan: ComputePlan,
    began_ps: u64,
    poll_ps: u64,
    found: bool,
}

impl Compute {
    /// Makes a program.
    pub fn new(model: &HostModel, plan: ComputePlan) -> Self {
        Self { model: model.clone(), plan, began_ps: 0, poll_ps: 0, found: false }
    }

    /// Gives the time that setting up takes, in ps; messages come from then on.
    pub fn setup_ps(&self) -> u64 {
        self.plan.setup_words * to_ps(self.model.program.push_ns)
    }

    /// Gives the time spent on setting up and polling, in ps; `None`: a message never came.
    pub fn poll_ps(&self) -> Option<u64> {
        self.found.then(|| self.setup_ps() + self.poll_ps)
    }

    /// Gives the overlap ratio: computing, of computing, setting up and polling.
    pub fn overlap(&self) -> Option<f64> {
        let compute = self.plan.compute_ps as f64;
        self.poll_ps().map(|poll_ps| compute / (compute + poll_ps as f64))
    }

    /// Looks at every message's result once.
    fn look(&self, world: &mut World<'_>) {
        let looks = self.plan.results.len().max(1) as f64;
        world.at(world.now_ps() + to_ps(self.model.program.poll_ns * looks), LOOKED);
    }
}

impl Actor for Compute {
    fn start(&mut self, world: &mut World<'_>) {
        world.at(self.setup_ps(), COMPUTE);
    }

    fn timer(&mut self, token: u64, world: &mut World<'_>) {
        match token {
            COMPUTE => world.at(world.now_ps() + self.plan.compute_ps, COMPUTED),
            COMPUTED => {
                self.began_ps = world.now_ps();
                self.look(world);
            }
            _ => {
                let is_there = |address: &u64| {
                    let mut result = [0; 8];
                    world.read_host(*address, &mut result);
                    result != [0; 8]
                };
                self.found = self.plan.results.iter().all(is_there);
                if !self.found {
                    return self.look(world);
                }
                self.poll_ps = world.now_ps() - self.began_ps;
                world.stop();
            }
        }
    }
}
