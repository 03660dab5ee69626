//! Hears a nanoPU, instruction by instruction, and keeps the account of its harts' cycles.
//!
//! Between two instructions of a hart lie the earlier one's cycle, what was left out because there was
//! nothing to do, the later one's wait for its operands, and the rest: behind a jump or a wrongly
//! foretold branch; for an access that missed the cache; for the instruction itself.

use pinion_isa::Extensions;
use pinion_nanopu::Cycle;
use pinion_nanopu::event::{NanoPu, Retirements, Told, Waits};
use pinion_sim::probe::Hears;

use super::Setup;
use super::run::Settling;
use pinion_app::service::Service;
use pinion_observe::profile::{
    At, BEFORE, Cause, Class, CodeMap, Gap, Hart, Key, Ledger, Profile, ROOT,
};

/// Number of the only class of work.
const PROGRAM: u32 = BEFORE;

/// Keeps the account of a node's harts.
#[derive(Clone)]
pub struct HartProfile<'a> {
    service: &'a Service,
    machine: String,
    code: CodeMap<'a>,
    ledger: Ledger,
    /// Harts of a node.
    node_harts: usize,
    /// By hart: cycles with nothing to do, as far as they are known.
    idle: Vec<Cycle>,
    cycles: Cycle,
    /// Whether nobody heard what a hart did before its first instruction.
    is_partial: bool,
}

impl<'a> HartProfile<'a> {
    /// Makes a listener for a nanoservice's machine.
    pub fn new(service: &'a Service, setup: &Setup) -> Self {
        Self::of_nodes(service, setup, 1)
    }

    /// Makes a listener for so many nodes that run a nanoservice.
    pub fn of_nodes(service: &'a Service, setup: &Setup, nodes: usize) -> Self {
        let machine = &setup.machine.value;
        let node_harts = machine.core.count as usize;
        let harts = node_harts * nodes;
        Self {
            service,
            machine: machine.name.clone(),
            code: CodeMap::new(&service.image, Extensions::RV64GC),
            ledger: Ledger::new(harts),
            node_harts,
            idle: vec![0; harts],
            cycles: 0,
            is_partial: false,
        }
    }

    /// Takes note that it does not hear what happens for a while.
    pub fn pause(&mut self) {
        self.is_partial = true;
        self.ledger.interrupt();
    }

    /// Hears one of several nodes.
    pub fn hear_node(&mut self, node: usize, told: &Told<'_>) {
        if let Told::Retired { hart, at, pc, waits, .. } = *told {
            self.retired(node * self.node_harts + usize::from(hart), at, pc, waits);
        }
    }

    fn retired(&mut self, hart: usize, cycle: Cycle, pc: u64, waits: Waits) {
        let slot = self.code.number(pc);
        let at = At { class: PROGRAM, slot, cycle, traps: false };
        let last = self.ledger.last(hart);
        let before = std::mem::replace(&mut self.idle[hart], waits.idle);
        // A debugger may have gone back.
        let idle = waits.idle.saturating_sub(before);
        let gap = self.gap(last, at, idle, waits.operands);
        self.ledger.step(&self.code, hart, at, &gap);
    }

    /// Says what the cycles since a hart's last instruction went by.
    fn gap(&self, last: Option<At>, at: At, idle: Cycle, operands: Cycle) -> Gap {
        let mut gap = Gap::default();
        if self.is_partial && last.is_none() {
            return gap;
        }
        let mut left = at.cycle.saturating_sub(last.map_or(0, |last| last.cycle));
        let mut take = |most: Cycle| {
            let taken = most.min(left);
            left -= taken;
            taken
        };
        gap.later[Cause::Idle as usize] = take(idle);
        let Some(last) = last else {
            gap.later[Cause::Other as usize] = take(Cycle::MAX); // the boot
            return gap;
        };
        gap.earlier[Cause::Issue as usize] = take(1);
        gap.later[Cause::LoadUse as usize] = take(operands);
        let (before, now) = (self.code.slot(last.slot), self.code.slot(at.slot));
        if now.pc != before.pc + u64::from(before.length) {
            gap.earlier[Cause::Branch as usize] = take(Cycle::MAX);
        } else if now.is_access {
            gap.later[Cause::Remote as usize] = take(Cycle::MAX);
        } else {
            gap.later[Cause::Fetch as usize] = take(Cycle::MAX);
        }
        gap
    }

    /// Puts the profile of a run of so many cycles together.
    pub fn profile(mut self, cycles: Cycle) -> Profile<'a> {
        let harts = 0..self.ledger.harts();
        let last = harts.clone().filter_map(|hart| Some(self.ledger.last(hart)?.cycle)).max();
        self.cycles = cycles.max(last.unwrap_or(0));
        let none = Key { class: PROGRAM, chain: ROOT, slot: self.code.number(0) };
        for hart in harts.clone() {
            let left = self.cycles - self.ledger.last(hart).map_or(0, |last| last.cycle);
            self.ledger.close(hart, left, Cause::Idle, none);
        }
        let name = self.service.manifest.app.name.clone();
        Profile {
            app: name.clone(),
            elf: self.service.built.elf.clone(),
            file: None,
            machine: self.machine,
            hart_word: "hart",
            cycles: self.cycles,
            harts: harts.map(|hart| Hart { name: hart.to_string() }).collect(),
            classes: vec![Class { name, ..Class::default() }],
            packets: Vec::new(),
            code: self.code,
            ledger: self.ledger,
        }
    }
}

impl Hears<NanoPu> for HartProfile<'_> {
    fn interest(&self) -> Retirements {
        Retirements { retired: true, ..Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        self.hear_node(0, told);
    }
}

impl Settling for HartProfile<'_> {}

/// Keeps the account of a live node's harts while somebody looks at it.
pub struct Watched<'a> {
    profile: HartProfile<'a>,
    listens: bool,
}

impl<'a> Watched<'a> {
    /// Makes a listener that does not listen yet.
    pub fn new(service: &'a Service, setup: &Setup) -> Self {
        Self { profile: HartProfile::new(service, setup), listens: false }
    }
}

impl Hears<NanoPu> for Watched<'_> {
    fn interest(&self) -> Retirements {
        if self.listens { self.profile.interest() } else { Retirements::default() }
    }

    fn hear(&mut self, told: &Told<'_>) {
        if self.listens {
            self.profile.hear(told);
        }
    }
}

impl Settling for Watched<'_> {
    fn listen(&mut self, closely: bool) {
        if closely && !self.listens {
            self.profile.pause();
        }
        self.listens = closely;
    }

    fn profile(&self) -> Option<Profile<'_>> {
        Some(self.profile.clone().profile(0))
    }
}
