//! Code that this computer executes in place of micro-operations that are executed often.
//!
//! In: places that cores have come to, as they are noticed, and what changes in program memory. Out: blocks
//! by place. What cores do is looked at once in so much work ([`SAMPLE`]): how often one goes on from the
//! same place behind an access, and where a copy of one, executed by the interpreter, spends its time
//! up to the next access. That is translated, and after it what it leads to, for as long as all of this
//! takes a small part of the time that the run has taken so far ([`WORK_EACH`]): a short run has no
//! blocks, and none takes longer than without them by more than that. A block stands for everything that can be
//! reached from its first instruction on without an access and without an instruction that the
//! [lean loop](super::lean) leaves to others; it holds what these cost, as the loop counts it, and is
//! executed where all of it is within reach, so that nothing else can happen meanwhile. Tests hold it
//! against the loop and the interpreter in lock-step.

use std::ops::Range;

use pinion_isa::{Class, Instruction, Op};
use pinion_translate::{
    Block, Condition, Operand, Operation, Region, Step, Target, Translator, What,
};

use super::Core;
use super::code::{Code, Kind, MicroOp};
use super::costs::Costs;
use super::prefetch_buffer::Reach;
use super::run_ahead::Watch;

/// Work between two samples, in cycles of a core, in which a computer executes some forty instructions.
const SAMPLE: i64 = 4096;
/// Of which so much is not the simulated instructions: events, turns.
const AROUND: u64 = SAMPLE as u64 / 2;
/// Samples in which a place must be met to be translated.
const HOT: u16 = 8;
/// Fewest instructions behind a place that are worth a block, in one way of a core from an access to the
/// next, and the part of that way's which they must be.
const MUCH: u64 = 32;
const SHARE: u64 = 8;
/// Most places of such a way that are told apart.
const MOST_STRETCHES: usize = 64;
/// Work for each instruction of a way that is looked at, so that this takes a fiftieth at most, too.
const WORK_TO_LOOK: u64 = 128;
/// Marks a place that has been looked at and is not worth a block.
const GIVEN_UP: u16 = u16::MAX;
/// Work that a block must have been waited for, and what one costs, with each of its instructions: fifty
/// times what making it takes, so that this is a fiftieth of the time that a run has taken.
const WORK_EACH: i64 = 500_000;
const WORK_EACH_STEP: i64 = 60_000;
/// Most instructions of a block.
const MOST_STEPS: usize = 96;
/// Half words around its first instruction in which a block lies: a part of what is within reach.
const BEFORE: u32 = 64;
const BEHIND: u32 = 128;
/// Fewest half words that must be within a core's reach: a line's.
const FEWEST_PLACES: usize = 8;
/// Fewest instructions between a block's first and an access, lest entering it costs more than it saves.
const FEWEST_STEPS: usize = 2;
/// Cycles of an instruction that can be told of a block.
const MOST_CYCLES: u64 = 1000;

/// Holds what is executed in place of micro-operations.
#[derive(Clone, Debug)]
pub struct Translated {
    /// Work until the next sample.
    until_sample: i64,
    /// Work that no block has been made for.
    credit: i64,
    /// Simulated instructions up to the last sample.
    retired: u64,
    /// By number, less one; a number may be free.
    blocks: Vec<Option<Placed>>,
    /// By place: how often it was met.
    heat: Vec<u16>,
    /// Places that blocks lead to and that have none, the next one last.
    led_to: Vec<u32>,
    /// Who makes them, once something is to be made.
    translator: Option<Translator>,
}

/// Holds a block, and where it lies.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The code.
    pub block: Block,
    /// The first place of it.
    pub first: u32,
    /// The first behind it.
    pub end: u32,
    /// Its steps' places.
    pub places: Box<[u32]>,
    /// What its costs depend on lies between these places.
    depends: (u32, u32),
}

impl Placed {
    /// Says whether all of it is within reach.
    #[inline(always)]
    pub fn lies_within(&self, reach: Reach) -> bool {
        reach.first <= self.first && self.end <= reach.end
    }
}

impl Translated {
    /// Begins with nothing, for a program of so many places.
    pub fn new(places: usize) -> Self {
        Self {
            until_sample: SAMPLE,
            credit: 0,
            retired: 0,
            blocks: Vec::new(),
            heat: vec![0; places],
            led_to: Vec::new(),
            translator: None,
        }
    }

    /// Counts the blocks.
    pub fn count(&self) -> usize {
        self.blocks.iter().flatten().count()
    }

    /// Gives a block by its number, which is not 0.
    #[inline(always)]
    pub fn block(&self, number: u16) -> Option<&Placed> {
        self.blocks.get(usize::from(number) - 1)?.as_ref()
    }

    /// Forgets the blocks that depend on something between two places; gives where they began.
    pub fn forget(&mut self, first: u32, end: u32) -> Vec<u32> {
        let mut begun = Vec::new();
        for slot in &mut self.blocks {
            if let Some(placed) = slot
                && placed.depends.0 < end
                && first < placed.depends.1
            {
                begun.push(placed.places[0]);
                *slot = None;
            }
        }
        let places = self.heat.len();
        self.heat[places.min(first as usize)..places.min(end as usize)].fill(0);
        for &place in &begun {
            self.heat[place as usize] = 0;
        }
        begun
    }

    /// Counts work, in cycles; says whether a sample is due.
    #[inline(always)]
    pub fn is_sample_due(&mut self, work: u64) -> bool {
        self.until_sample -= work as i64;
        self.until_sample <= 0
    }

    /// Takes a sample, when all cores together have retired so many instructions; says whether the run
    /// has taken long enough for a block.
    pub fn sample(&mut self, retired: u64) -> bool {
        self.until_sample = SAMPLE;
        self.credit += (AROUND + retired.saturating_sub(self.retired)) as i64;
        self.retired = retired;
        self.credit >= WORK_EACH
    }

    /// Meets a place behind an access; says whether it has been met often.
    pub fn meet(&mut self, place: u32) -> bool {
        let Some(heat) = self.heat.get_mut(place as usize) else { return false };
        if *heat != GIVEN_UP {
            *heat = (*heat + 1).min(HOT);
        }
        *heat == HOT
    }

    /// Chooses what is to be translated of what a core went through, or of what blocks lead to.
    pub fn choose(&mut self, base: u32, went: &Went) -> Option<u32> {
        self.credit -= (went.instructions * WORK_TO_LOOK) as i64;
        let places = went.stretches.iter().filter_map(|&(pc, instructions)| {
            let place = pc.wrapping_sub(base) >> 1;
            let is_much = instructions >= MUCH && instructions >= went.instructions / SHARE;
            (is_much && self.is_new(place)).then_some((instructions, place))
        });
        if let Some((_, place)) = places.max() {
            return Some(place);
        }
        while let Some(place) = self.led_to.pop() {
            if self.is_new(place) {
                return Some(place);
            }
        }
        None
    }

    /// Says whether a place has not been looked at.
    fn is_new(&self, place: u32) -> bool {
        self.heat.get(place as usize).is_some_and(|&heat| heat != GIVEN_UP)
    }

    /// Keeps a block; gives its number.
    fn keep(&mut self, placed: Placed) -> Option<u16> {
        let free = self.blocks.iter().position(Option::is_none).unwrap_or(self.blocks.len());
        let number = u16::try_from(free + 1).ok()?;
        if free == self.blocks.len() {
            self.blocks.push(None);
        }
        self.blocks[free] = Some(placed);
        Some(number)
    }

    /// Translates what begins at a place and lies `within` these; gives the block's number, if it is worth
    /// one.
    pub fn translate(
        &mut self,
        code: &Code,
        costs: &Costs,
        place: u32,
        within: &Range<u32>,
    ) -> Option<u16> {
        if !self.is_new(place) {
            return None;
        }
        let heat = self.heat.get_mut(place as usize)?;
        if !within.contains(&place) || within.len() < FEWEST_PLACES {
            *heat = 0; // later, when more of it is there
            return None;
        }
        *heat = GIVEN_UP;
        let found = Found::new(code, costs, place, within)?;
        self.credit -= WORK_EACH + WORK_EACH_STEP * found.region.steps.len() as i64;
        // Where there is no executable memory, the loop goes on without.
        if self.translator.is_none() {
            self.translator = Translator::new().ok();
        }
        let block = self.translator.as_mut()?.translate(&found.region).ok()?;
        let places: Box<[u32]> = found.region.steps.iter().map(|step| step.place).collect();
        let first = places.iter().copied().min()?;
        let (end, depends) = (found.end, found.depends);
        let number = self.keep(Placed { block, first, end, places, depends })?;
        self.led_to.extend(found.leads_to);
        Some(number)
    }
}

/// What a core goes through: where it jumps to, or comes to behind what no block has, and how many
/// instructions it executes from there.
#[derive(Debug, Default)]
pub struct Went {
    stretches: Vec<(u32, u64)>,
    at: usize,
    instructions: u64,
}

impl Watch for Went {
    const WATCHES: bool = true;
    /// Where the next instruction of the stretch is; `None`: it ends.
    type Before = Option<u32>;

    fn before(&mut self, core: &Core, instruction: &Instruction) -> Option<u32> {
        let pc = core.hart.pc;
        if self.instructions == 0 {
            self.begin(pc);
        }
        (instruction.class != Class::Div).then(|| pc.wrapping_add(u32::from(instruction.length)))
    }

    fn executed(&mut self, next: Option<u32>, core: &Core, _: u64) {
        self.instructions += 1;
        if let Some((_, instructions)) = self.stretches.get_mut(self.at) {
            *instructions += 1;
        }
        if next != Some(core.hart.pc) {
            self.begin(core.hart.pc);
        }
    }
}

impl Went {
    /// Goes on from a place.
    fn begin(&mut self, pc: u32) {
        let known = self.stretches.iter().position(|&(other, _)| other == pc);
        self.at = known.unwrap_or(self.stretches.len());
        if known.is_none() && self.at < MOST_STRETCHES {
            self.stretches.push((pc, 0));
        }
    }
}

/// A region as it is found in a program.
struct Found {
    region: Region,
    end: u32,
    depends: (u32, u32),
    leads_to: Vec<u32>,
}

impl Found {
    /// Looks for what can be reached from a place; `None`: too little.
    fn new(code: &Code, costs: &Costs, first: u32, within: &Range<u32>) -> Option<Self> {
        let mut steps: Vec<Step> = Vec::new();
        let mut places = vec![first];
        let mut leads_to = Vec::new();
        let (mut end, mut depends) = (first, (first, first + 1));
        let mut at = 0;
        while let Some(&place) = places.get(at) {
            at += 1;
            let is_near = first.saturating_sub(BEFORE) <= place && place < first + BEHIND;
            let step = match code.micro().get(place as usize) {
                Some(one) if is_near && steps.len() < MOST_STEPS => step(code, costs, place, one),
                _ => None,
            };
            let is_there = |step: &Step| within.contains(&place) && step.next <= within.end;
            let Some(step) = step.filter(is_there) else {
                leads_to.push(place);
                continue;
            };
            end = end.max(step.next);
            depends = (depends.0.min(place), depends.1.max(step.next));
            let mut lead = |place: u32| {
                if !places.contains(&place) {
                    places.push(place);
                }
            };
            match step.what {
                What::Compute { .. } => lead(step.next),
                What::Branch { target, .. } => {
                    lead(step.next);
                    lead(target.place);
                }
                What::Jump { target, .. } => lead(target.place),
                What::Access => {}
            }
            if let What::Branch { target, .. } | What::Jump { target, .. } = step.what {
                // What a jump costs depends on how long the instruction is that it leads to.
                let place = target.place.min(code.micro().len() as u32);
                depends = (depends.0.min(place), depends.1.max(place + 1));
            }
            steps.push(step);
        }
        let straight = steps.iter().position(|step| step.what == What::Access);
        let is_enough = straight.unwrap_or(steps.len()) >= FEWEST_STEPS;
        is_enough.then_some(Self { region: Region { steps }, end, depends, leads_to })
    }
}

/// Makes the step of a micro-operation; `None`: the loop does not execute it itself, or it cannot be told.
fn step(code: &Code, costs: &Costs, place: u32, one: &MicroOp) -> Option<Step> {
    let next = place + u32::from(one.step);
    let [a, b] = [one.rs1, one.rs2].map(|register| Operand::Register(register as u8));
    let imm = Operand::Constant(one.imm);
    let rd = one.rd as u8;
    let compute = |operation, a, b| What::Compute { operation, rd, a, b, cycles: 1 };
    let branch = |condition| {
        let target = target(code, costs, one.imm, costs.branch_taken)?;
        let [a, b] = [one.rs1, one.rs2].map(|register| register as u8);
        Some(What::Branch { condition, a, b, target })
    };
    let long = |operation, cycles| {
        let cycles = u16::try_from(cycles).ok().filter(|&cycles| cycles > 0)?;
        (u64::from(cycles) <= MOST_CYCLES).then_some(What::Compute { operation, rd, a, b, cycles })
    };
    let what = match one.kind {
        kind if kind.accesses() => What::Access,
        Kind::Beq => branch(Condition::Eq)?,
        Kind::Bne => branch(Condition::Ne)?,
        Kind::Blt => branch(Condition::Lt)?,
        Kind::Bge => branch(Condition::Ge)?,
        Kind::Bltu => branch(Condition::Ltu)?,
        Kind::Bgeu => branch(Condition::Geu)?,
        Kind::Jal => {
            let link = code.base().wrapping_add(next << 1);
            What::Jump { rd, link, target: target(code, costs, one.imm, costs.jump)? }
        }
        Kind::Mul => long(Operation::Mul, costs.by_class[Class::Mul as usize])?,
        Kind::Long => {
            let operation = match code.at(place)?.op {
                Op::Mulh => Operation::Mulh,
                Op::Mulhsu => Operation::Mulhsu,
                Op::Mulhu => Operation::Mulhu,
                _ => return None, // a division, whose cycles depend on what is divided
            };
            long(operation, costs.by_class[Class::MulHigh as usize])?
        }
        Kind::Set => compute(Operation::Add, imm, Operand::Constant(0)),
        Kind::Addi => compute(Operation::Add, a, imm),
        Kind::Slti => compute(Operation::Slt, a, imm),
        Kind::Sltiu => compute(Operation::Sltu, a, imm),
        Kind::Xori => compute(Operation::Xor, a, imm),
        Kind::Ori => compute(Operation::Or, a, imm),
        Kind::Andi => compute(Operation::And, a, imm),
        Kind::Slli => compute(Operation::Sll, a, imm),
        Kind::Srli => compute(Operation::Srl, a, imm),
        Kind::Srai => compute(Operation::Sra, a, imm),
        Kind::Add => compute(Operation::Add, a, b),
        Kind::Sub => compute(Operation::Sub, a, b),
        Kind::Sll => compute(Operation::Sll, a, b),
        Kind::Slt => compute(Operation::Slt, a, b),
        Kind::Sltu => compute(Operation::Sltu, a, b),
        Kind::Xor => compute(Operation::Xor, a, b),
        Kind::Srl => compute(Operation::Srl, a, b),
        Kind::Sra => compute(Operation::Sra, a, b),
        Kind::Or => compute(Operation::Or, a, b),
        Kind::And => compute(Operation::And, a, b),
        _ => return None, // `jalr`, and what the interpreter executes
    };
    Some(Step { place, next, what })
}

/// Makes the target of a jump that takes `cycles` if it leads to one line.
fn target(code: &Code, costs: &Costs, place: u32, cycles: u64) -> Option<Target> {
    let pc = code.base().wrapping_add(place << 1);
    let fetch = costs.second_line_cycles(pc, code);
    let all = (1..=MOST_CYCLES).contains(&cycles).then_some(cycles + fetch)?;
    Some(Target { place, cycles: all as u16, fetch: fetch as u16 })
}
