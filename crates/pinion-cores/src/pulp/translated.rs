//! Code that this computer executes in place of micro-operations that are executed often.
//!
//! In: places that cores have come to, as they are noticed, and what changes in program memory. Out: blocks
//! by place. What cores do is looked at once in so much work ([`SAMPLE`]): how often one goes on from the
//! same place behind an access, and where a copy of one, executed by the interpreter, spends its time
//! up to the next access. That is translated, and after it what it leads to, for as long as all of this
//! takes a small part of the time that the run has taken so far ([`WORK_EACH`]): a short run has no
//! blocks, and none takes longer than without them by more than that. A block stands for everything that can be
//! reached from its first instruction, which may be an access, without another one and without an instruction that the
//! [lean loop](super::lean) leaves to others; it holds what these cost, as the loop counts it, and is
//! executed where all of it is within reach, so that nothing else can happen meanwhile. Tests hold it
//! against the loop and the interpreter in lock-step.

use std::ops::Range;

use pinion_isa::{Class, Op};
use pinion_translate::{
    Block, Condition, Left, Operand, Operation, Region, Step, Target, Touch, Translator, What,
};

use super::Core;
use super::code::{Code, Kind, MicroOp};
use super::costs::Costs;
use super::micro_op::asks_whether_it_waits;
use super::prefetch_buffer::Reach;
use super::run_ahead::RUN_AHEAD_CYCLES;
use super::went::Went;
use crate::port::HeldLines;

/// Work between two samples, in cycles of a core, in which a computer executes some forty instructions.
const SAMPLE: i64 = 4096;
/// Of which so much is not the simulated instructions: events, turns.
const AROUND: u64 = SAMPLE as u64 / 2;
/// Samples in which a place must be met to be translated.
const HOT: u16 = 8;
/// Accesses that are begun with: those that are more than one of so many. A program that has many, each seldom, as an
/// unrolled loop, would jump to another block for each, which the computer does not foresee.
const MOST_ACCESSES: u32 = 12;
/// Fewest instructions behind a place that are worth a block, in one way of a core from an access to the
/// next, and the part of that way's which they must be.
const MUCH: u64 = 32;
const SHARE: u64 = 8;
/// Work for each instruction of a way that is looked at, so that this takes a fiftieth at most, too.
const WORK_TO_LOOK: u64 = 128;
/// Marks a place that has been looked at and is not worth a block.
const GIVEN_UP: u16 = u16::MAX;
/// Work that a block must have been waited for, and what one costs, with each of its instructions: thirty
/// times what making it takes, so that this is a thirtieth of the time that a run has taken.
const WORK_EACH: i64 = 100_000;
const WORK_EACH_STEP: i64 = 40_000;
/// Most instructions of a block.
const MOST_STEPS: usize = 96;
/// Half words around its first instruction in which a block lies: a part of what is within reach.
const BEFORE: u32 = 64;
const BEHIND: u32 = 128;
/// Fewest half words that must be within a core's reach: a line's.
const FEWEST_PLACES: usize = 8;
/// Fewest instructions between a block's first and an access.
pub const FEWEST_STEPS: usize = 2;
/// Fewest with which entering it does not cost more than it saves, unless it is a loop, which is entered once for all
/// its turns: behind many accesses it is one of many blocks, and the computer does not foresee which.
pub const FEWEST_WORTH_IT: usize = 6;
/// Half words of the two instructions behind an access, which decide what is to be remembered of it.
const REACHED_BEHIND: u32 = 4;
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
    /// How often any was.
    met: u32,
    /// Places that blocks lead to and that have none, the next one last.
    led_to: Vec<u32>,
    /// Who makes them, once something is to be made.
    translator: Option<Translator>,
}

/// Holds a block, and where it lies.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The code.
    block: Block,
    /// Cycles that a core may run ahead from its begin, if that is an access.
    pub budget: u64,
    /// What comes behind that.
    pub behind: Behind,
    /// The first place of it.
    pub first: u32,
    /// The first behind it.
    pub end: u32,
    /// Its steps' places.
    pub places: Box<[u32]>,
    /// What its costs depend on lies between these places.
    depends: (u32, u32),
}

/// Says what comes behind an access that a block begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Another access.
    Access,
    /// A jump, which costs less behind an access that waits.
    Jump,
    /// Something that does not ask whether it waited.
    Other,
}

impl Placed {
    /// Says whether all of it is within reach, and what is behind it too: see [`lean`](super::lean).
    #[inline(always)]
    pub(super) fn lies_within(&self, reach: Reach) -> bool {
        reach.first <= self.first && self.end < reach.end
    }

    /// Executes it on a core; see [`Block::execute`].
    #[inline(always)]
    pub fn execute(&self, core: &mut Core, word: &mut [u8; 4], budget: u64) -> Left {
        let (hart, counts) = (&mut core.hart, &mut core.stalls.pipeline);
        self.block.execute(&mut hart.x, word, budget, &mut hart.instret, counts)
    }

    /// Says whether the access that it begins with may have waited: a jump directly behind it would ask.
    pub fn may_wait(&self) -> bool {
        self.behind != Behind::Jump
    }

    /// Says whether all of it is within a core's reach, in a program from `base` on.
    #[inline(always)]
    pub fn is_reached(&self, core: &Core, port: &impl HeldLines, base: u32) -> bool {
        self.lies_within(core.buffer.reach(port, base))
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
            met: 0,
            led_to: Vec::new(),
            translator: None,
        }
    }

    /// Counts the blocks.
    pub fn count(&self) -> usize {
        self.blocks.iter().flatten().count()
    }

    /// Gives the blocks, by their numbers less one.
    #[inline(always)]
    pub fn blocks(&self) -> &[Option<Placed>] {
        &self.blocks
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

    /// Meets an access; says whether it has been met often.
    pub fn meet(&mut self, place: u32) -> bool {
        let Some(heat) = self.heat.get_mut(place as usize) else { return false };
        self.met = self.met.saturating_add(1);
        if *heat < GIVEN_UP - 1 {
            *heat += 1;
        }
        (HOT..GIVEN_UP).contains(heat)
    }

    /// Says whether an access was met so often that there are few such.
    pub fn is_one_of_few(&self, place: u32) -> bool {
        let heat = self.heat.get(place as usize).map_or(0, |&heat| u32::from(heat));
        heat >= u32::from(HOT) && heat.saturating_mul(MOST_ACCESSES) >= self.met
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
    /// one: if it has so many steps in front of an access, or is a loop.
    pub fn translate(
        &mut self,
        code: &Code,
        costs: &Costs,
        (place, fewest): (u32, usize),
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
        let found = Found::new(code, costs, (place, fewest), within)?;
        self.credit -= WORK_EACH + WORK_EACH_STEP * found.region.steps.len() as i64;
        // Where there is no executable memory, the loop goes on without.
        if self.translator.is_none() {
            self.translator = Translator::new().ok();
        }
        let block = self.translator.as_mut()?.translate(&found.region).ok()?;
        let places: Box<[u32]> = found.region.steps.iter().map(|step| step.place).collect();
        let first = places.iter().copied().min()?;
        let (end, depends) = (found.end, found.depends);
        let behind = match found.region.steps.get(1).map(|step| step.what) {
            Some(What::Access { .. }) => Behind::Access,
            Some(What::Jump { .. }) => Behind::Jump,
            _ => Behind::Other,
        };
        let budget = found.region.budget;
        let number = self.keep(Placed { block, budget, behind, first, end, places, depends })?;
        self.led_to.extend(found.leads_to);
        Some(number)
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
    /// Looks for what can be reached from a place, an access or what is behind one; `None`: too little.
    fn new(
        code: &Code,
        costs: &Costs,
        (first, fewest): (u32, usize),
        within: &Range<u32>,
    ) -> Option<Self> {
        let mut steps: Vec<Step> = Vec::new();
        let mut places = vec![first];
        let mut leads_to = Vec::new();
        let mut loops = false;
        let (mut end, mut depends) = (first, (first, first + 1));
        let (mut at, mut budget) = (0, 0);
        if let Some(one) = code.micro().get(first as usize)
            && one.kind.accesses()
        {
            let access = touch(costs, first, one).filter(|step| step.next <= within.end)?;
            // It says whether somebody soon jumps to what it loads.
            (end, depends.1) = (access.next, access.next + REACHED_BEHIND);
            places = vec![access.next];
            steps.push(access);
            budget = 1 + costs.response + RUN_AHEAD_CYCLES;
        }
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
                What::Compute { cycles: 2.., .. } => {
                    depends.1 = depends.1.max(step.next + 1);
                    lead(step.next);
                }
                What::Compute { .. } | What::Touch { .. } => lead(step.next),
                What::Branch { target, .. } => {
                    lead(step.next);
                    lead(target.place);
                }
                What::Jump { target, .. } => lead(target.place),
                What::Access { .. } => {}
            }
            if let What::Branch { target, .. } | What::Jump { target, .. } = step.what {
                loops |= target.place == place || steps.iter().any(|it| it.place == target.place);
                // What a jump costs depends on how long the instruction is that it leads to.
                let place = target.place.min(code.micro().len() as u32);
                depends = (depends.0.min(place), depends.1.max(place + 1));
            }
            steps.push(step);
        }
        let is_access = |step: &Step| matches!(step.what, What::Access { .. });
        let straight = steps.iter().position(is_access).unwrap_or(steps.len());
        let begins_with_access = budget != 0;
        // Behind an access at the front something must come that the block knows, be it another one.
        let fewest = if loops { FEWEST_STEPS } else { fewest };
        let is_enough = if begins_with_access { steps.len() > 1 } else { straight >= fewest };
        is_enough.then_some(Self { region: Region { steps, budget }, end, depends, leads_to })
    }
}

/// Makes the step of an access that a block begins with; `None`: the machine does more than that.
fn touch(costs: &Costs, place: u32, one: &MicroOp) -> Option<Step> {
    let touch = match one.kind {
        Kind::Lb => Touch::Lb,
        Kind::Lbu => Touch::Lbu,
        Kind::Lh => Touch::Lh,
        Kind::Lhu => Touch::Lhu,
        Kind::Lw => Touch::Lw,
        Kind::Sb => Touch::Sb,
        Kind::Sh => Touch::Sh,
        Kind::Sw => Touch::Sw,
        Kind::AmoAdd => Touch::Add,
        Kind::AmoSwap => Touch::Swap,
        Kind::AmoXor => Touch::Xor,
        Kind::AmoAnd => Touch::And,
        Kind::AmoOr => Touch::Or,
        Kind::AmoMin => Touch::Min,
        Kind::AmoMax => Touch::Max,
        Kind::AmoMinu => Touch::Minu,
        Kind::AmoMaxu => Touch::Maxu,
        _ => return None,
    };
    let waited = costs.response + one.flags.stalls_next() * costs.load_use;
    let cycles =
        u16::try_from(1 + waited).ok().filter(|&cycles| u64::from(cycles) <= MOST_CYCLES)?;
    let is_store = matches!(touch, Touch::Sb | Touch::Sh | Touch::Sw);
    let rd = if is_store { 0 } else { one.rd as u8 };
    let load_use = cycles - 1;
    let what = What::Touch { touch, rd, rs2: one.rs2 as u8, cycles, load_use };
    let is_plain = !one.flags.is_jumped_to(); // that is remembered
    is_plain.then_some(Step { place, next: place + u32::from(one.step), what })
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
        if cycles > 1 && asks_whether_it_waits(code.micro().get(next as usize)) {
            return None;
        }
        (u64::from(cycles) <= MOST_CYCLES).then_some(What::Compute { operation, rd, a, b, cycles })
    };
    let what = match one.kind {
        kind if kind.accesses() => What::Access { base: one.rs1 as u8, offset: one.imm },
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
