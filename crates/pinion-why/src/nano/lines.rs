//! Where a hart's cycles went while it worked at one message, by line of source, and which locks it waited
//! for. Each cycle counts for the instruction that ends it.

use pinion_app::service::Service;
use pinion_isa::elf::Image;
use pinion_isa::{Extensions, Instruction, decode};
use pinion_nanopu::Cycle;
use pinion_nanopu::event::{NanoPu, Retirements, Told};
use pinion_observe::trace::SourceLines;
use pinion_run::nanoservice::run::Settling;
use pinion_sim::Clock;
use pinion_sim::probe::Hears;
use rustc_hash::FxHashMap as HashMap;

use super::follower::Follower;
use super::life::Life;
use crate::locks::{Deed, Does, Locks, Spent};
use crate::way::shares;

/// What others do to words is kept from so many cycles before: who takes a lock seldom has it longer.
const EARLY_CYCLES: Cycle = 20_000;

/// Hears what a hart did from when it read a message's first word to when it began to answer, or was done.
pub struct WorkLines {
    image: Image,
    hart: u8,
    from: Cycle,
    to: Cycle,
    /// The cycle of the last instruction.
    last: Cycle,
    /// What its registers held then.
    registers: [u64; 32],
    /// By address: cycles and instructions.
    counts: HashMap<u64, (u64, u64)>,
    /// By hart: what its next instruction changes: an address, and what was there.
    stored: HashMap<u8, (u64, u64)>,
    locks: Locks,
    /// Number of accesses: they are heard in the order in which they are performed, and have the cycles in
    /// which their instructions retire.
    accesses: u64,
}

impl WorkLines {
    /// Makes a listener; `None`: no hart worked at the message.
    pub fn new(follower: &Follower, service: &Service, life: &Life) -> Option<Self> {
        let to = follower.reply(life).map(|reply| reply.written).or(life.ended)?;
        Self::until(service, life, to)
    }

    /// Makes one that hears until a cycle.
    pub fn until(service: &Service, life: &Life, to: Cycle) -> Option<Self> {
        let (from, (_, hart, _)) = (life.begun?, life.chosen?);
        Some(Self {
            image: service.image.clone(),
            hart,
            from,
            to,
            last: from,
            registers: [0; 32],
            counts: HashMap::default(),
            stored: HashMap::default(),
            locks: Locks::default(),
            accesses: 0,
        })
    }

    /// Gives the hart.
    pub fn hart(&self) -> u8 {
        self.hart
    }

    /// Gives what it spent its time with.
    pub fn spent(&self, service: &Service, clock: Clock) -> Spent {
        let counts = self.counts.iter().map(|(pc, sums)| (*pc, *sums));
        let source = SourceLines::read(&service.built.elf);
        let lines = shares((&source, &service.image), counts);
        let locks = self.locks.waits(clock, &source);
        Spent { lines, locks }
    }

    fn instruction(&self, pc: u64) -> Option<Instruction> {
        Some(decode(self.image.word_at(pc)?, Extensions::RV64GC))
    }

    /// Follows what an instruction does to memory; `own`: it is one of those that are asked about.
    fn access(&mut self, (hart, at, pc): (u8, Cycle, u64), registers: &[u64; 32], own: bool) {
        let stored = self.stored.remove(&hart);
        if stored.is_none() && !own {
            return;
        }
        let Some(i) = self.instruction(pc) else { return };
        let Some(does) = Does::of(&i) else { return };
        let result = registers.get(usize::from(i.rd)).copied().unwrap_or(0);
        let (address, found) = match (stored, does) {
            (Some(stored), _) => stored,
            (None, Does::Load) => {
                let base = self.registers.get(usize::from(i.rs1)).copied().unwrap_or(0);
                (base.wrapping_add(i.imm as i64 as u64), result)
            }
            // An SC that failed changes nothing.
            (None, _) => return,
        };
        let bits = 8 * u32::from(i.access_bytes());
        let found = if bits < u64::BITS { found & ((1 << bits) - 1) } else { found };
        let seat = (0, u32::from(hart));
        self.accesses += 1;
        let deed = Deed { order: self.accesses, cycle: at, seat, packet: None, found, does };
        self.locks.hear(address, pc, deed, own);
    }
}

impl Hears<NanoPu> for WorkLines {
    fn interest(&self) -> Retirements {
        Retirements { retired: true, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        match *told {
            Told::Stored { hart, address, found, .. } => {
                self.stored.insert(hart, (address, found));
            }
            Told::Retired { hart, at, pc, registers, .. } => {
                let is_within = at > self.from && at <= self.to;
                if at + EARLY_CYCLES > self.from && at <= self.to {
                    self.access((hart, at, pc), registers, is_within && hart == self.hart);
                } else {
                    self.stored.remove(&hart);
                }
                if hart != self.hart {
                    return;
                }
                if is_within {
                    let sum = self.counts.entry(pc).or_default();
                    let last = std::mem::replace(&mut self.last, at);
                    (sum.0, sum.1) = (sum.0 + at.saturating_sub(last), sum.1 + 1);
                }
                if at >= self.from && at <= self.to {
                    self.registers = *registers;
                }
            }
            _ => {}
        }
    }
}

impl Settling for WorkLines {}
