//! Where a hart's cycles went while it worked at one message, by line of source. Each cycle counts for the
//! instruction that ends it.

use pinion_app::service::Service;
use pinion_nanopu::Cycle;
use pinion_nanopu::event::{NanoPu, Retirements, Told};
use pinion_run::nanoservice::run::Settling;
use pinion_sim::probe::Hears;
use rustc_hash::FxHashMap as HashMap;

use super::follower::Follower;
use super::life::Life;
use crate::way::{LineShare, shares};

/// Hears what a hart did from when it read a message's first word to when it began to answer, or was done.
pub struct WorkLines {
    hart: u8,
    from: Cycle,
    to: Cycle,
    /// The cycle of the last instruction.
    last: Cycle,
    /// By address: cycles and instructions.
    counts: HashMap<u64, (u64, u64)>,
}

impl WorkLines {
    /// Makes a listener; `None`: no hart worked at the message.
    pub fn new(follower: &Follower, life: &Life) -> Option<Self> {
        let to = follower.reply(life).map(|reply| reply.written).or(life.ended)?;
        Self::until(life, to)
    }

    /// Makes one that hears until a cycle.
    pub fn until(life: &Life, to: Cycle) -> Option<Self> {
        let (from, (_, hart, _)) = (life.begun?, life.chosen?);
        Some(Self { hart, from, to, last: from, counts: HashMap::default() })
    }

    /// Gives the hart.
    pub fn hart(&self) -> u8 {
        self.hart
    }

    /// Gives what each line took, the longest first.
    pub fn shares(&self, service: &Service) -> Vec<LineShare> {
        let counts = self.counts.iter().map(|(pc, sums)| (*pc, *sums));
        shares((&service.built.elf, &service.image), counts)
    }
}

impl Hears<NanoPu> for WorkLines {
    fn interest(&self) -> Retirements {
        Retirements { retired: true, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        let Told::Retired { hart, at, pc, .. } = *told else { return };
        if hart == self.hart && at > self.from && at <= self.to {
            let sum = self.counts.entry(pc).or_default();
            let last = std::mem::replace(&mut self.last, at);
            (sum.0, sum.1) = (sum.0 + at.saturating_sub(last), sum.1 + 1);
        }
    }
}

impl Settling for WorkLines {}
