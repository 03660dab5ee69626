//! Makes code of a region: the registers it touches are the host's own while it executes.
//!
//! The function that comes out is `(x, word, budget, retired, counts) -> (passed, exit)`. Cycles and counts are added
//! where somebody jumps or the region is left, so that an instruction costs what it computes and nothing
//! else. As long as only one way has led to where it is left they are constants.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, Function, InstBuilder, MemFlags, Signature, UserFuncName, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use crate::dataflow::{Dataflow, Registers, touched};
use crate::left::{ACCESS, ADDRESS_SHIFT, CYCLES_SHIFT, Counts, JUMPED, STEP_SHIFT, YIELDS};
use crate::operate::{access, comparison, compute};
use crate::region::{Operand, Region, Step, Target, What};

/// How much is counted.
const COUNTS: usize = 1 + size_of::<Counts>() / size_of::<u64>();
/// Bytes of a hart's register.
const REGISTER_BYTES: i32 = 4;

/// Makes the function of a region, which has a step at least.
pub fn function(
    region: &Region,
    convention: CallConv,
    context: &mut FunctionBuilderContext,
) -> Function {
    let mut signature = Signature::new(convention);
    signature.params.extend([I64; 5].map(AbiParam::new));
    signature.returns.extend([I64; 2].map(AbiParam::new));
    let mut function = Function::with_name_signature(UserFuncName::default(), signature);
    let builder = FunctionBuilder::new(&mut function, context);
    Generator::new(builder, region).generate();
    function
}

/// Names what is counted: instructions, and what [`Counts`] has, in that order.
#[derive(Clone, Copy)]
enum Count {
    Retired,
    LoadUse,
    Branch,
    Arithmetic,
    Fetch,
}

/// Counts what has passed since the variables were told: known while code is made, so that an
/// instruction costs nothing but what it computes.
#[derive(Clone, Copy, Default)]
struct Pending {
    cycles: u64,
    counts: [u64; COUNTS],
}

impl Pending {
    fn count(&mut self, what: Count, more: u16) {
        self.counts[what as usize] += u64::from(more);
    }
}

/// Says where a region is left, and after what.
struct Exit {
    written: Registers,
    /// What is accessed next: a register's number and an offset.
    access: Option<(u8, u32)>,
    /// Place and what the last instruction did, as [`Left`](crate::Left) tells them apart.
    code: u64,
}

struct Generator<'a> {
    builder: FunctionBuilder<'a>,
    region: &'a Region,
    dataflow: Dataflow,
    /// By step: the block that begins with it, if somebody jumps there.
    blocks: Vec<Option<Block>>,
    registers: [Variable; 32],
    cycles: Variable,
    counts: [Variable; COUNTS],
    /// Which of those the region counts at all.
    counted: [bool; COUNTS],
    /// Whether nothing has been added to the cycles and counts yet: all of it is known.
    is_known: bool,
    /// Whether a jump may come to the end of the budget.
    may_yield: bool,
    /// Cycles and address, and place and last instruction, where the region is left.
    passed: Variable,
    code: Variable,
    /// Where it is left, by the registers that are given back.
    tails: Vec<(Registers, Block)>,
    x: Value,
    word: Value,
    budget: Value,
    retired: Value,
    told: Value,
}

impl<'a> Generator<'a> {
    fn new(mut builder: FunctionBuilder<'a>, region: &'a Region) -> Self {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let parameters: [Value; 5] = std::array::from_fn(|at| builder.block_params(entry)[at]);
        let [x, word, budget, retired, told] = parameters;
        let registers = std::array::from_fn(|_| builder.declare_var(I32));
        let counts = std::array::from_fn(|_| builder.declare_var(I64));
        let [cycles, passed, code] = [(); 3].map(|()| builder.declare_var(I64));
        let dataflow = Dataflow::new(region);
        let blocks: Vec<Option<Block>> =
            dataflow.begins.iter().map(|begins| begins.then(|| builder.create_block())).collect();
        let zero = builder.ins().iconst(I64, 0);
        for count in counts.into_iter().chain([cycles]) {
            builder.def_var(count, zero);
        }
        for (register, variable) in registers.iter().enumerate() {
            if dataflow.needed >> register & 1 == 1 {
                let offset = register as i32 * REGISTER_BYTES;
                let value = builder.ins().load(I32, MemFlags::trusted(), x, offset);
                builder.def_var(*variable, value);
            }
        }
        let may_yield = dataflow.loops || most_cycles(region) >= region.budget;
        Self {
            builder,
            region,
            dataflow,
            blocks,
            registers,
            cycles,
            counts,
            counted: counted(region),
            is_known: !may_yield,
            may_yield,
            passed,
            code,
            tails: Vec::new(),
            x,
            word,
            budget,
            retired,
            told,
        }
    }

    fn generate(mut self) {
        match self.blocks[0] {
            Some(block) => {
                self.builder.ins().jump(block, &[]);
            }
            None => self.straight(0, Pending::default()),
        }
        self.is_known = false;
        for at in 0..self.region.steps.len() {
            if let Some(block) = self.blocks[at] {
                self.builder.switch_to_block(block);
                self.straight(at, Pending::default());
            }
        }
        for (written, block) in std::mem::take(&mut self.tails) {
            self.builder.switch_to_block(block);
            self.give_back(written);
        }
        self.builder.seal_all_blocks();
        self.builder.finalize();
    }

    /// Makes a step, and those behind it up to one that is jumped to.
    fn straight(&mut self, mut at: usize, mut pending: Pending) {
        while let Some(next) = self.step(at, &mut pending) {
            at = next;
        }
    }

    /// Makes a step; gives the one that comes next if nobody else leads to that.
    fn step(&mut self, at: usize, pending: &mut Pending) -> Option<usize> {
        let step = self.region.steps[at];
        let written = self.dataflow.written[at] | touched(&step).1;
        let cycles = match step.what {
            What::Compute { operation, rd, a, b, cycles } => {
                if rd != 0 {
                    let (a, b) = (self.operand(a), self.operand(b));
                    let value = compute(&mut self.builder, operation, a, b);
                    self.builder.def_var(self.registers[usize::from(rd & 31)], value);
                }
                pending.count(Count::Retired, 1);
                pending.count(Count::Arithmetic, cycles - 1);
                cycles
            }
            What::Branch { condition, a, b, target } => {
                let (a, b) = (self.register(a), self.register(b));
                let condition = self.builder.ins().icmp(comparison(condition), a, b);
                let [taken, straight] = [(); 2].map(|()| self.builder.create_block());
                pending.count(Count::Retired, 1);
                self.builder.ins().brif(condition, taken, &[], straight, &[]);
                self.begin(taken);
                self.jump(at, &target, written, *pending);
                self.begin(straight);
                1
            }
            What::Jump { rd, link, target } => {
                if rd != 0 {
                    let link = self.constant(link);
                    self.builder.def_var(self.registers[usize::from(rd & 31)], link);
                }
                pending.count(Count::Retired, 1);
                self.jump(at, &target, written, *pending);
                return None;
            }
            What::Access { base, offset } => {
                let code = u64::from(step.place) | ACCESS;
                let written = self.dataflow.written[at];
                self.leave(&Exit { written, access: Some((base, offset)), code }, *pending);
                return None;
            }
            What::Touch { touch, rd, rs2, cycles, load_use } => {
                let operand = self.register(rs2);
                let value = access(&mut self.builder, self.word, touch, operand);
                if rd != 0 {
                    self.builder.def_var(self.registers[usize::from(rd & 31)], value);
                }
                pending.count(Count::Retired, 1);
                pending.count(Count::LoadUse, load_use);
                cycles
            }
        };
        pending.cycles += u64::from(cycles);
        match self.dataflow.index.get(&step.next) {
            Some(&next) if self.blocks[next].is_none() => Some(next),
            _ => {
                self.go(step.next, &after(at, written, cycles, 0), *pending);
                None
            }
        }
    }

    /// Goes elsewhere, unless the last cycle has come by then.
    fn jump(&mut self, at: usize, target: &Target, written: Registers, mut pending: Pending) {
        pending.count(Count::Branch, lost(target));
        pending.count(Count::Fetch, target.fetch);
        pending.cycles += u64::from(target.cycles);
        let exit = after(at, written, target.cycles, JUMPED);
        if !self.may_yield {
            return self.go(target.place, &exit, pending);
        }
        self.tell(&mut pending);
        let passed = self.builder.use_var(self.cycles);
        let is_over =
            self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, passed, self.budget);
        let [over, on] = [(); 2].map(|()| self.builder.create_block());
        self.builder.set_cold_block(over);
        self.builder.ins().brif(is_over, over, &[], on, &[]);
        self.begin(over);
        let code = exit.code | YIELDS | u64::from(target.place);
        self.leave(&Exit { code, ..exit }, pending);
        self.begin(on);
        self.go(target.place, &exit, pending);
    }

    /// Goes to a place that somebody jumps to, or out of the region by an exit.
    fn go(&mut self, place: u32, exit: &Exit, mut pending: Pending) {
        let block = self.dataflow.index.get(&place).and_then(|&at| self.blocks[at]);
        if let Some(block) = block {
            self.tell(&mut pending);
            self.builder.ins().jump(block, &[]);
        } else {
            self.leave(&Exit { code: exit.code | u64::from(place), ..*exit }, pending);
        }
    }

    /// Leaves the region.
    fn leave(&mut self, exit: &Exit, mut pending: Pending) {
        if self.is_known {
            return self.leave_known(exit, &pending);
        }
        self.tell(&mut pending);
        let cycles = self.builder.use_var(self.cycles);
        let passed = match self.address(exit) {
            Some(address) => self.builder.ins().bor(address, cycles),
            None => cycles,
        };
        self.builder.def_var(self.passed, passed);
        let code = self.builder.ins().iconst(I64, exit.code as i64);
        self.builder.def_var(self.code, code);
        let tail = self.tails.iter().find(|(written, _)| *written == exit.written);
        let tail = match tail {
            Some((_, tail)) => *tail,
            None => {
                let tail = self.builder.create_block();
                self.tails.push((exit.written, tail));
                tail
            }
        };
        self.builder.ins().jump(tail, &[]);
    }

    /// Leaves it where all that has passed is known.
    fn leave_known(&mut self, exit: &Exit, pending: &Pending) {
        self.give_back_registers(exit.written);
        for (at, more) in pending.counts.into_iter().enumerate().filter(|(_, more)| *more > 0) {
            let more = self.builder.ins().iconst(I64, more as i64);
            self.give_back_count(at, more);
        }
        let passed = match self.address(exit) {
            Some(address) => self.builder.ins().bor_imm(address, pending.cycles as i64),
            None => self.builder.ins().iconst(I64, pending.cycles as i64),
        };
        let code = self.builder.ins().iconst(I64, exit.code as i64);
        self.builder.ins().return_(&[passed, code]);
    }

    /// Gives what is accessed next, where it stands in what is told.
    fn address(&mut self, exit: &Exit) -> Option<Value> {
        let (base, offset) = exit.access?;
        let base = self.register(base);
        let address = match offset {
            0 => base,
            offset => self.builder.ins().iadd_imm(base, i64::from(offset as i32)),
        };
        let address = self.builder.ins().uextend(I64, address);
        Some(self.builder.ins().ishl_imm(address, i64::from(ADDRESS_SHIFT)))
    }

    /// Gives back what is the hart's, and what was counted.
    fn give_back(&mut self, written: Registers) {
        self.give_back_registers(written);
        for (at, variable) in self.counts.into_iter().enumerate() {
            if self.counted[at] {
                let more = self.builder.use_var(variable);
                self.give_back_count(at, more);
            }
        }
        let passed = self.builder.use_var(self.passed);
        let code = self.builder.use_var(self.code);
        self.builder.ins().return_(&[passed, code]);
    }

    fn give_back_registers(&mut self, written: Registers) {
        for register in (1..32).filter(|register| written >> register & 1 == 1) {
            let value = self.builder.use_var(self.registers[register as usize]);
            let offset = register * REGISTER_BYTES;
            self.builder.ins().store(MemFlags::trusted(), value, self.x, offset);
        }
    }

    fn give_back_count(&mut self, at: usize, more: Value) {
        let (counts, offset) = match at {
            0 => (self.retired, 0),
            at => (self.told, ((at - 1) * size_of::<u64>()) as i32),
        };
        let flags = MemFlags::trusted();
        let before = self.builder.ins().load(I64, flags, counts, offset);
        let sum = self.builder.ins().iadd(before, more);
        self.builder.ins().store(flags, sum, counts, offset);
    }

    /// Begins a block that nobody else leads to.
    fn begin(&mut self, block: Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
    }

    /// Brings the variables up to date.
    fn tell(&mut self, pending: &mut Pending) {
        self.add(self.cycles, pending.cycles);
        for at in 0..COUNTS {
            self.add(self.counts[at], pending.counts[at]);
        }
        *pending = Pending::default();
    }

    fn add(&mut self, variable: Variable, more: u64) {
        if more > 0 {
            let sum = if self.is_known {
                self.builder.ins().iconst(I64, more as i64)
            } else {
                let before = self.builder.use_var(variable);
                self.builder.ins().iadd_imm(before, more as i64)
            };
            self.builder.def_var(variable, sum);
        }
    }

    fn constant(&mut self, value: u32) -> Value {
        self.builder.ins().iconst(I32, i64::from(value))
    }

    fn register(&mut self, number: u8) -> Value {
        match number & 31 {
            0 => self.constant(0),
            number => self.builder.use_var(self.registers[usize::from(number)]),
        }
    }

    fn operand(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Register(number) => self.register(number),
            Operand::Constant(value) => self.constant(value),
        }
    }
}

/// Says what a region counts at all.
fn counted(region: &Region) -> [bool; COUNTS] {
    let mut counted = [false; COUNTS];
    for step in &region.steps {
        counted[Count::Retired as usize] |= !matches!(step.what, What::Access { .. });
        match step.what {
            What::Compute { cycles, .. } => counted[Count::Arithmetic as usize] |= cycles > 1,
            What::Branch { target, .. } | What::Jump { target, .. } => {
                counted[Count::Branch as usize] |= lost(&target) > 0;
                counted[Count::Fetch as usize] |= target.fetch > 0;
            }
            What::Touch { load_use, .. } => counted[Count::LoadUse as usize] |= load_use > 0,
            What::Access { .. } => {}
        }
    }
    counted
}

/// Gives the cycles in which a region ends at the latest, if no step of it is executed twice.
fn most_cycles(region: &Region) -> u64 {
    let cycles = |step: &Step| match step.what {
        What::Compute { cycles, .. } | What::Touch { cycles, .. } => cycles,
        What::Branch { target, .. } | What::Jump { target, .. } => target.cycles,
        What::Access { .. } => 0,
    };
    region.steps.iter().map(|step| u64::from(cycles(step))).sum()
}

/// Gives the cycles that are counted as lost by a jump.
fn lost(target: &Target) -> u16 {
    target.cycles - 1 - target.fetch
}

/// Makes the exit behind a step; where it goes is not known yet.
fn after(at: usize, written: Registers, cycles: u16, flags: u64) -> Exit {
    let last = (at as u64) << STEP_SHIFT | u64::from(cycles) << CYCLES_SHIFT;
    Exit { written, access: None, code: last | flags }
}
