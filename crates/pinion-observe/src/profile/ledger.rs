//! The account of cycles: what each hart did from one instruction to the next comes in; cycles by
//! class of work, chain of calls, instruction and cause come out. Nothing is lost and nothing counted
//! twice: the cycles add up to those of all harts.

use rustc_hash::FxHashMap as HashMap;

use super::cause::{Cause, Cycles, add};
use super::code::CodeMap;
use super::stacks::{Flow, ROOT, Stacks};

/// Number of the class that a hart's cycles before its first instruction belong to.
pub const BEFORE: u32 = 0;

/// Cycles and instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of instructions that were executed.
    pub instructions: u64,
    /// Number of those that trapped instead.
    pub traps: u64,
    /// Cycles by cause.
    pub cycles: Cycles,
}

impl Count {
    /// Adds up its cycles.
    pub fn total(&self) -> u64 {
        self.cycles.iter().sum()
    }

    /// Adds up its cycles but for those without work.
    pub fn busy(&self) -> u64 {
        self.total() - self.cycles[Cause::Idle as usize]
    }

    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.traps += other.traps;
        add(&mut self.cycles, &other.cycles);
    }

    /// Counts an instruction.
    fn step(&mut self, at: At) {
        let count = if at.traps { &mut self.traps } else { &mut self.instructions };
        *count += 1;
    }
}

/// An instruction of a hart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Class of work that it belongs to, by its number.
    pub class: u32,
    /// Number of the instruction.
    pub slot: u32,
    /// Cycle in which it was issued.
    pub cycle: u64,
    /// Whether it trapped, and was not executed.
    pub traps: bool,
}

/// Where cycles are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Class of work.
    pub class: u32,
    /// Chain of calls.
    pub chain: u32,
    /// Instruction.
    pub slot: u32,
}

#[derive(Clone, Debug)]
struct Hart {
    last: Option<At>,
    chain: u32,
    /// Cell of the last instruction.
    cell: u32,
    /// By class.
    counts: Vec<Count>,
}

/// Counts.
#[derive(Clone, Debug)]
pub struct Ledger {
    harts: Vec<Hart>,
    stacks: Stacks,
    cells: Vec<(Key, Count)>,
    numbers: HashMap<Key, u32>,
}

/// What went by between an instruction and the next: on the earlier's account, and on the later's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gap {
    /// Cycles that the earlier one took.
    pub earlier: Cycles,
    /// Cycles that the later one waited.
    pub later: Cycles,
}

impl Ledger {
    /// Opens an account for so many harts; their first cycle is 0.
    pub fn new(harts: usize) -> Self {
        let hart = Hart { last: None, chain: ROOT, cell: u32::MAX, counts: Vec::new() };
        Self {
            harts: vec![hart; harts],
            stacks: Stacks::new(),
            cells: Vec::new(),
            numbers: HashMap::default(),
        }
    }

    /// Gives a hart's last instruction.
    #[inline]
    pub fn last(&self, hart: usize) -> Option<At> {
        self.harts[hart].last
    }

    /// Forgets where harts are: nobody hears what they do until their next instruction.
    pub fn interrupt(&mut self) {
        self.harts.iter_mut().for_each(|hart| (hart.last, hart.chain) = (None, ROOT));
    }

    /// Counts an instruction of a hart, and the cycles since its last one: they belong to the class of
    /// work that the last one was of.
    #[inline]
    pub fn step(&mut self, code: &CodeMap<'_>, hart: usize, at: At, gap: &Gap) {
        let function = code.slot(at.slot).function;
        let Hart { last, chain, cell, .. } = self.harts[hart];
        let is_same = last.is_some_and(|last| last.class == at.class);
        let flow = match last {
            Some(last) if is_same => code.slot(last.slot).flow,
            _ => Flow::Straight,
        };
        let chain = match is_same {
            true => self.stacks.step(chain, flow, function),
            false => self.stacks.child(ROOT, function),
        };
        let own = self.cell(Key { class: at.class, chain, slot: at.slot });
        self.cells[own as usize].1.step(at);
        if let Some(last) = last {
            add(&mut self.cells[cell as usize].1.cycles, &gap.earlier);
            let waited = match is_same {
                true => own,
                false => self.cell(Key { class: last.class, chain, slot: at.slot }),
            };
            add(&mut self.cells[waited as usize].1.cycles, &gap.later);
            let count = self.of_hart(hart, last.class);
            add(&mut count.cycles, &gap.earlier);
            add(&mut count.cycles, &gap.later);
        } else {
            // What went before belongs to no task.
            let waited = self.cell(Key { class: BEFORE, chain, slot: at.slot });
            add(&mut self.cells[waited as usize].1.cycles, &gap.later);
            add(&mut self.of_hart(hart, BEFORE).cycles, &gap.later);
        }
        self.of_hart(hart, at.class).step(at);
        let hart = &mut self.harts[hart];
        (hart.last, hart.chain, hart.cell) = (Some(at), chain, own);
    }

    /// Counts what is left of a hart's cycles until the run's end: on the account of its last
    /// instruction, or of none.
    pub fn close(&mut self, hart: usize, cycles: u64, cause: Cause, none: Key) {
        let (cell, class) = match self.harts[hart].last {
            Some(last) => (self.harts[hart].cell, last.class),
            None => (self.cell(none), none.class),
        };
        self.cells[cell as usize].1.cycles[cause as usize] += cycles;
        self.of_hart(hart, class).cycles[cause as usize] += cycles;
    }

    #[inline]
    fn cell(&mut self, key: Key) -> u32 {
        let next = self.cells.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.cells.push((key, Count::default()));
        }
        number
    }

    fn of_hart(&mut self, hart: usize, class: u32) -> &mut Count {
        let counts = &mut self.harts[hart].counts;
        let class = class as usize;
        if counts.len() <= class {
            counts.resize(class + 1, Count::default());
        }
        &mut counts[class]
    }

    /// Lists what was counted, by class, chain and instruction.
    pub fn cells(&self) -> &[(Key, Count)] {
        &self.cells
    }

    /// Gives what was counted of a hart, by class.
    pub fn hart(&self, hart: usize) -> &[Count] {
        &self.harts[hart].counts
    }

    /// Counts harts.
    pub fn harts(&self) -> usize {
        self.harts.len()
    }

    /// Gives the chains of calls.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }
}
