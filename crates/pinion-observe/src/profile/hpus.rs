//! Hears a sPIN NIC, instruction by instruction, and keeps the account of its HPUs' cycles.
//!
//! Between two instructions of an HPU lie the earlier one's cycle, what the core lost, by reason, and, in
//! the runtime's loop, the wait for a task. Each reason is on the account of the instruction that is to
//! blame: branches and arithmetic of the earlier one, waits for an instruction, an operand, a bank or a
//! command of the later; the way of an access far away of the access.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use rustc_hash::FxHashMap as HashMap;

use pinion_isa::Extensions;
use pinion_isa::elf::Image;
use pinion_sim::{Clock, Time};
use pinion_spin::{
    ContextId, Event, HandlerKind, HandlerRecord, Hears, InstructionRecord, Interest, Machine,
    PacketRecord, RunningTask, Spin, Stalls,
};

use super::cause::{Cause, Cycles};
use super::code::CodeMap;
use super::ledger::{At, BEFORE, Gap, Key, Ledger};
use super::stacks::ROOT;
use super::{Class, Hart, PacketRow, Profile};
use crate::trace::{Tracer, handler_name};
use crate::words::kind_name;
use pinion_app::app::App;

/// Number of the class of what HPUs do between tasks.
const RUNTIME: u32 = BEFORE;

/// Keeps the account of a NIC's HPUs.
#[derive(Clone)]
pub struct HpuProfile<'a> {
    /// The application, where it is one's.
    app: Option<&'a App>,
    machine: String,
    clock: Clock,
    /// HPUs of a cluster, and of a NIC.
    cores: u32,
    hpus: u32,
    code: CodeMap<'a>,
    ledger: Ledger,
    /// By HPU: what it had lost by its last instruction, and what of it no cycle was found for yet.
    lost: Vec<(Stalls, Cycles)>,
    runs: HashMap<(ContextId, HandlerKind), (u64, u64)>,
    /// Cycles of handlers, by the packet they ran for.
    handled: HashMap<u64, u64>,
    packets: BTreeMap<(ContextId, u32), PacketRow>,
    /// Whether nobody heard what an HPU did before its first instruction.
    is_partial: bool,
}

impl<'a> HpuProfile<'a> {
    /// Makes a listener for an application's machine.
    pub fn new(app: &'a App) -> Self {
        Self::of_nodes(app, 1)
    }

    /// Makes a listener for so many NICs that run an application.
    pub fn of_nodes(app: &'a App, nodes: usize) -> Self {
        let image = Cow::Borrowed(&app.image);
        Self { app: Some(app), ..Self::of(&app.machine.value, image, nodes) }
    }

    /// Makes a listener for a machine whose programs others have loaded.
    pub fn of_image(machine: &Machine, image: Image) -> HpuProfile<'static> {
        HpuProfile::of(machine, Cow::Owned(image), 1)
    }

    fn of(machine: &Machine, image: Cow<'a, Image>, nodes: usize) -> Self {
        let cores = machine.cluster.cores;
        let hpus = machine.units.count.max(1) * machine.cluster.count * cores;
        let harts = hpus as usize * nodes;
        let extensions = match machine.core.xpulp {
            true => Extensions::PSPIN.with(Extensions::XPULP),
            false => Extensions::PSPIN,
        };
        Self {
            app: None,
            machine: machine.name.clone(),
            clock: Clock::from_hz(machine.clock.frequency_mhz * 1_000_000),
            cores,
            hpus,
            code: CodeMap::of(image, extensions),
            ledger: Ledger::new(harts),
            lost: vec![(Stalls::default(), [0; Cause::COUNT]); harts],
            runs: HashMap::default(),
            handled: HashMap::default(),
            packets: BTreeMap::new(),
            is_partial: false,
        }
    }

    /// Takes note that it does not hear what happens for a while.
    pub fn pause(&mut self) {
        self.is_partial = true;
        self.ledger.interrupt();
        self.lost.fill((Stalls::default(), [0; Cause::COUNT]));
        self.handled.clear();
    }

    /// Puts together what it has heard so far.
    pub fn so_far(&self) -> Profile<'a> {
        self.clone().put_together(0)
    }

    /// Hears an instruction of one of several NICs.
    pub fn instruction(&mut self, node: usize, record: &InstructionRecord) {
        let hart = node * self.hpus as usize + (record.cluster * self.cores + record.hpu) as usize;
        let class = record.task.map_or(RUNTIME, |task| class_of(&task));
        let slot = self.code.number(u64::from(record.pc));
        let at = At { class, slot, cycle: record.cycle, traps: record.trap.is_some() };
        let last = self.ledger.last(hart);
        let since = record.cycle.saturating_sub(last.map_or(0, |last| last.cycle));
        let gap = self.gap(hart, last, at, (since, &record.stalls));
        self.ledger.step(&self.code, hart, at, &gap);
    }

    /// Says what the cycles since an HPU's last instruction went by.
    fn gap(
        &mut self,
        hart: usize,
        last: Option<At>,
        at: At,
        (mut left, lost): (u64, &Stalls),
    ) -> Gap {
        let (before, open) = &mut self.lost[hart];
        if is_reset(before, lost) {
            (*before, *open) = (Stalls::default(), [0; Cause::COUNT]);
        }
        let mut gap = Gap::default();
        // An access far away has lost its cycles before it is told: an instruction's own come first.
        let issue = if last.is_some() { left.min(1) } else { 0 };
        left -= issue;
        let is_far = last.is_some_and(|last| self.code.slot(last.slot).is_access);
        for (cause, now, then) in reasons(lost, before) {
            open[cause as usize] += now.saturating_sub(then);
            let spent = open[cause as usize].min(left);
            open[cause as usize] -= spent;
            left -= spent;
            let is_earlier = match cause {
                Cause::Branch | Cause::Arithmetic => true,
                Cause::Remote => is_far && !self.code.slot(at.slot).is_access,
                _ => false,
            };
            let side = if is_earlier { &mut gap.earlier } else { &mut gap.later };
            side[cause as usize] += spent;
        }
        *before = *lost;
        let Some(last) = last else {
            if self.is_partial {
                return Gap::default();
            }
            gap.later[Cause::Idle as usize] = left; // the machine was ready: the HPU waited
            return gap;
        };
        // As the machine counts: nothing is issued that is not executed.
        let cause = if last.traps { Cause::Other } else { Cause::Issue };
        gap.earlier[cause as usize] = issue;
        let cause = if last.class == RUNTIME { Cause::Idle } else { Cause::Other };
        gap.later[cause as usize] = left;
        gap
    }

    fn handler(&mut self, record: &HandlerRecord) {
        let cycles = self.clock.cycle_at(record.end) - self.clock.cycle_at(record.start);
        let run = self.runs.entry((record.context, record.kind)).or_default();
        (run.0, run.1) = (run.0 + 1, run.1 + cycles);
        *self.handled.entry(record.packet).or_default() += cycles;
    }

    fn packet(&mut self, record: &PacketRecord) {
        let handler = self.handled.remove(&record.packet).unwrap_or(0);
        let to = record.bytes.max(1).next_power_of_two();
        let Some(app) = self.app else { return };
        let context = &app.contexts[record.context.0 as usize].name;
        let row = self.packets.entry((record.context, to)).or_insert_with(|| PacketRow {
            context: context.clone(),
            to_bytes: to,
            ..PacketRow::default()
        });
        row.packets += 1;
        row.count.instructions += record.instructions;
        row.count.cycles[Cause::Issue as usize] += record.instructions;
        for (cause, lost, _) in reasons(&record.stalls, &Stalls::default()) {
            row.count.cycles[cause as usize] += lost;
        }
        let known = record.instructions + record.stalls.total();
        row.count.cycles[Cause::Other as usize] += handler.saturating_sub(known);
    }

    /// Puts the profile of a run together that has ended then.
    pub fn profile(mut self, end: Time) -> Profile<'a> {
        let harts = 0..self.ledger.harts();
        // Of a run that was cut off, an HPU may be a little ahead.
        let last = harts.clone().filter_map(|hart| Some(self.ledger.last(hart)?.cycle)).max();
        let cycles = self.clock.cycle_at(end).max(last.unwrap_or(0));
        for hart in harts {
            let last = self.ledger.last(hart);
            let left = cycles - last.map_or(0, |last| last.cycle);
            let is_idle = last.is_none_or(|last| last.class == RUNTIME);
            let cause = if is_idle { Cause::Idle } else { Cause::Other };
            let none = Key { class: RUNTIME, chain: ROOT, slot: self.code.number(0) };
            self.ledger.close(hart, left, cause, none);
        }
        self.put_together(cycles)
    }

    fn put_together(self, cycles: u64) -> Profile<'a> {
        let mut classes = vec![Class { name: "runtime, between tasks".into(), ..Class::default() }];
        let contexts = self.app.map_or(&[][..], |app| &app.contexts);
        for (index, context) in contexts.iter().enumerate() {
            let id = ContextId(index as u32);
            for kind in KINDS {
                let (runs, cycles) = self.runs.get(&(id, kind)).copied().unwrap_or_default();
                classes.push(Class {
                    name: self.app.map_or("", |app| handler_name(app, id, kind)).to_owned(),
                    context: Some(context.name.clone()),
                    kind: Some(kind_name(kind)),
                    runs,
                    cycles,
                });
            }
        }
        let name = |hart: u32| format!("{}.{}", hart / self.cores, hart % self.cores);
        let harts = (0..self.ledger.harts() as u32).map(|hart| Hart { name: name(hart) });
        Profile {
            app: self.app.map_or_else(String::new, |app| app.manifest.app.name.clone()),
            elf: self.app.map_or_else(PathBuf::new, |app| app.built.elf.clone()),
            file: None,
            machine: self.machine,
            hart_word: "HPU",
            cycles,
            harts: harts.collect(),
            classes,
            packets: self.packets.into_values().collect(),
            code: self.code,
            ledger: self.ledger,
        }
    }
}

/// Every kind of handler, in the order of their classes.
const KINDS: [HandlerKind; 3] =
    [HandlerKind::Header, HandlerKind::Payload, HandlerKind::Completion];

fn class_of(task: &RunningTask) -> u32 {
    let kind = match task.kind {
        HandlerKind::Header => 0,
        HandlerKind::Payload => 1,
        HandlerKind::Completion => 2,
    };
    1 + task.context.0 * KINDS.len() as u32 + kind
}

/// Names what was lost, and what had been before.
fn reasons(now: &Stalls, then: &Stalls) -> [(Cause, u64, u64); 7] {
    [
        (Cause::Fetch, now.fetch, then.fetch),
        (Cause::L1, now.l1, then.l1),
        (Cause::Remote, now.remote, then.remote),
        (Cause::Command, now.command, then.command),
        (Cause::LoadUse, now.load_use, then.load_use),
        (Cause::Branch, now.branch, then.branch),
        (Cause::Arithmetic, now.arithmetic, then.arithmetic),
    ]
}

/// Tells whether the count began anew: the HPU has taken a task.
fn is_reset(then: &Stalls, now: &Stalls) -> bool {
    reasons(now, then).iter().any(|(_, now, then)| now < then)
}

impl Hears<Spin> for HpuProfile<'_> {
    fn interest(&self) -> Interest {
        Interest { handlers: true, instructions: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Instruction(record) => self.instruction(0, record),
            Event::HandlerDone(record) => self.handler(record),
            Event::PacketDone(record) => self.packet(record),
            _ => {}
        }
    }
}

impl Tracer for HpuProfile<'_> {}
