//! From steps to operations: registers for places, constants and what is computed on the way.

use std::collections::HashMap;

use super::analysis::Uses;
use super::value::{is_watched, unset_reads};
use super::wide::{Operand, WideKind, put_bits};
use super::{Flat, Op, Register, Site};
use crate::program::{Binary, Key, Program, Slot, Step, StepKind, Target, mask, visit};

/// What is made so far.
pub(super) struct Compiler<'p> {
    pub(super) program: &'p Program,
    pub(super) uses: Uses,
    pub(super) flat: Flat,
    /// Operations of the block at hand.
    pub(super) ops: Vec<Op>,
    /// Registers of constants.
    constants: HashMap<(u128, bool), Register>,
    /// Registers for what is computed on the way, used again in each step.
    temporaries: Vec<Register>,
    in_use: usize,
    /// By place: a register that tells whether it was set, of those whose reads are watched.
    pub(super) flags: HashMap<Slot, Register>,
}

impl Flat {
    /// Compiles a program; `outputs` are the places that somebody reads behind the control.
    ///
    /// # Errors
    /// The program has more operations or values than fit.
    pub fn compile(program: &Program, outputs: &[Slot]) -> Result<Self, String> {
        let mut compiler = Compiler {
            program,
            uses: Uses::of(program, outputs),
            flat: Self::default(),
            ops: Vec::new(),
            constants: HashMap::new(),
            temporaries: Vec::new(),
            in_use: 0,
            flags: HashMap::new(),
        };
        compiler.allocate();
        compiler.parser();
        compiler.flat.parser = std::mem::take(&mut compiler.ops);
        compiler.steps(&program.control);
        compiler.ops.push(Op::Accept);
        compiler.flat.control = std::mem::take(&mut compiler.ops);
        compiler.steps(&program.deparser);
        compiler.ops.push(Op::Accept);
        compiler.flat.deparser = std::mem::take(&mut compiler.ops);
        let flat = compiler.flat;
        let most = usize::from(u16::MAX);
        let longest = flat.operations().into_iter().max().unwrap_or(0);
        match longest.max(flat.initial.len()).max(flat.wide.len()) < most {
            true => Ok(flat),
            false => Err(format!("the program has more than {most} operations or values")),
        }
    }
}

impl Compiler<'_> {
    /// Makes a register that holds a number before the first packet.
    fn fresh(&mut self, value: u64) -> Register {
        self.flat.initial.push(value);
        // Too many are refused at the end.
        (self.flat.initial.len() - 1).min(usize::from(u16::MAX)) as Register
    }

    /// Gives each place that matters a register.
    fn allocate(&mut self) {
        let program = self.program;
        self.flat.registers = vec![None; program.slots.len()];
        let validities: Vec<Slot> = program.headers.iter().map(|header| header.valid).collect();
        for (slot, info) in program.slots.iter().enumerate() {
            let uses = &self.uses;
            let is_alone = uses.constant[slot].is_none() && uses.same_as[slot].is_none();
            if !is_alone || !uses.live[slot] {
                continue;
            }
            let register = self.fresh(0);
            if info.width > 64 {
                self.fresh(0);
            }
            self.flat.registers[slot] = Some(register);
            if info.may_be_unset || validities.contains(&(slot as Slot)) {
                self.flat.reset.push(register);
                if info.width > 64 {
                    self.flat.reset.push(register + 1);
                }
            }
        }
        for slot in 0..program.slots.len() {
            if let Some(source) = self.uses.same_as[slot] {
                self.flat.registers[slot] = self.flat.registers[source as usize];
            }
        }
        self.watch_flags();
    }

    /// Makes a flag for each place of which a read may come before a write.
    fn watch_flags(&mut self) {
        let mut wanted: Vec<Slot> = Vec::new();
        let states = self.program.states.iter();
        let blocks = states.map(|state| &state.steps[..]).chain([&self.program.control[..]]);
        for steps in blocks {
            visit(steps, &mut |step| {
                if let StepKind::Set(_, value)
                | StepKind::SetBits(_, _, value)
                | StepKind::If(value, ..) = &step.kind
                {
                    unset_reads(value, &mut wanted);
                }
            });
        }
        for state in &self.program.states {
            state.on.iter().for_each(|value| unset_reads(value, &mut wanted));
        }
        wanted.sort_unstable();
        wanted.dedup();
        for slot in wanted {
            let flag = self.fresh(0);
            self.flat.reset.push(flag);
            self.flags.insert(slot, flag);
        }
    }

    /// Gives the register of a constant.
    pub(super) fn constant(&mut self, value: u128, width: u32) -> Operand {
        let is_wide = width > 64;
        let register = match self.constants.get(&(value, is_wide)) {
            Some(register) => *register,
            None => {
                let register = self.fresh(value as u64);
                if is_wide {
                    self.fresh((value >> 64) as u64);
                }
                self.constants.insert((value, is_wide), register);
                register
            }
        };
        Operand { register, width }
    }

    pub(super) fn mask(&mut self, width: u32) -> Register {
        self.constant(mask(u128::MAX, width.min(64)), 64).register
    }

    /// Gives a register for something on the way.
    pub(super) fn temporary(&mut self, width: u32) -> Operand {
        if width > 64 {
            // Two in a row are made for it.
            let register = self.fresh(0);
            self.fresh(0);
            return Operand { register, width };
        }
        if self.in_use == self.temporaries.len() {
            let register = self.fresh(0);
            self.temporaries.push(register);
        }
        self.in_use += 1;
        Operand { register: self.temporaries[self.in_use - 1], width }
    }

    /// Gives where a place stands.
    pub(super) fn place(&mut self, slot: Slot) -> Operand {
        let width = self.program.slots[slot as usize].width;
        if let Some(value) = self.uses.constant[slot as usize] {
            return self.constant(value, width);
        }
        match self.flat.registers[slot as usize] {
            Some(register) => Operand { register, width },
            // Nobody reads it: what is written there is lost.
            None => self.temporary(width),
        }
    }

    /// Tells whether writes to a place matter.
    pub(super) fn matters(&self, slot: Slot) -> bool {
        let slot = slot as usize;
        self.uses.live[slot]
            && self.uses.constant[slot].is_none()
            && self.uses.same_as[slot].is_none()
    }

    /// Compiles steps.
    pub(super) fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.in_use = 0;
            self.step(step);
        }
    }

    fn step(&mut self, step: &Step) {
        match &step.kind {
            StepKind::Set(slot, value) => {
                if self.matters(*slot) || is_watched(value) {
                    let to = self.place(*slot);
                    let from = self.value(value, Some(to));
                    self.moved(from, Some(to));
                }
                self.flag(*slot, true);
            }
            StepKind::SetBits(slot, low, value) => {
                let (to, from) = (self.place(*slot), self.value(value, None));
                match to.is_wide() || from.is_wide() {
                    true => self.wide(to, WideKind::SetBits(from, *low)),
                    false => {
                        let bits = mask(u128::MAX, value.width) << *low;
                        let mask = self.constant(bits, 64).register;
                        let (to, from, low) = (to.register, from.register, *low as u16);
                        self.ops.push(Op::SetBits { to, from, low, mask });
                    }
                }
                self.flag(*slot, true);
            }
            StepKind::Copy(from, to, count) => {
                for n in 0..*count {
                    if self.matters(to + n) {
                        let (from, to) = (self.place(from + n), self.place(to + n));
                        self.moved(from, Some(to));
                    }
                    self.flag(to + n, true);
                }
            }
            StepKind::If(condition, then, otherwise) => {
                let jumps = self.jump_unless(condition);
                self.steps(then);
                let end = (!otherwise.is_empty()).then(|| self.jump());
                jumps.into_iter().for_each(|jump| self.land(jump));
                self.steps(otherwise);
                if let Some(end) = end {
                    self.land(end);
                }
            }
            StepKind::Validate(number, valid) => {
                let slot = self.program.headers[*number as usize].valid;
                self.set_flag(slot, *valid);
            }
            StepKind::Extract(number) => self.extract(*number),
            StepKind::Emit(number, certain) => self.emit(*number, *certain),
            StepKind::Apply(number, request, response) => {
                let external = &self.program.externs[*number as usize];
                let (asks, answers) =
                    (external.request.len() as u32, external.response.len() as u32);
                let request = (*request..*request + asks).map(|slot| self.place(slot).register);
                let request = request.collect();
                let answer = (*response..*response + answers).map(|slot| self.place(slot).register);
                let response_registers = answer.collect();
                let site = self.flat.sites.len().min(usize::from(u16::MAX)) as u16;
                let external = *number as usize;
                self.flat.sites.push(Site { external, request, response: response_registers });
                self.ops.push(Op::Ask { site });
                (*response..*response + answers).for_each(|slot| self.flag(slot, true));
            }
            StepKind::Begin(first, count) => {
                for slot in *first..*first + *count {
                    if self.program.slots[slot as usize].may_be_unset && self.matters(slot) {
                        let to = self.place(slot);
                        let zero = self.constant(0, to.width);
                        self.moved(zero, Some(to));
                    }
                    self.flag(slot, false);
                }
            }
            StepKind::Exit => self.ops.push(Op::Accept),
        }
    }

    /// Gives a bool place a constant, if anybody reads it.
    pub(super) fn set_flag(&mut self, slot: Slot, value: bool) {
        if self.matters(slot) {
            let (to, from) = (self.place(slot), self.constant(u128::from(value), 1));
            self.moved(from, Some(to));
        }
    }

    /// Compiles the parser's states, each with jumps to those that it leads to.
    fn parser(&mut self) {
        let program = self.program;
        let mut starts = vec![0; program.states.len()];
        let mut leads: Vec<(usize, usize)> = Vec::new();
        for (number, state) in program.states.iter().enumerate() {
            starts[number] = self.ops.len();
            self.steps(&state.steps);
            self.in_use = 0;
            let values: Vec<Operand> =
                state.on.iter().map(|value| self.value(value, None)).collect();
            for case in &state.cases {
                let mut misses = Vec::new();
                for (value, key) in values.iter().zip(&case.keys) {
                    misses.extend(self.miss(*value, *key));
                }
                match case.to {
                    Target::Accept => self.ops.push(Op::Accept),
                    Target::Reject => self.ops.push(Op::Reject),
                    Target::State(next) => {
                        let jump = self.jump();
                        leads.push((jump, next));
                    }
                }
                misses.into_iter().for_each(|jump| self.land(jump));
            }
            self.ops.push(Op::Reject);
        }
        for (jump, state) in leads {
            let start = starts[state].min(usize::from(u16::MAX)) as u16;
            self.ops[jump] = Op::Jump { to: start };
        }
    }

    /// Jumps, to a place that is not known yet, if a value does not fit a key.
    fn miss(&mut self, value: Operand, key: Key) -> Option<usize> {
        match key {
            Key::Any => return None,
            Key::Mask(number, bits) if value.is_wide() => {
                let bits_in = self.constant(bits, value.width);
                let masked = self.temporary(value.width);
                self.wide(masked, WideKind::Binary(Binary::And, value, bits_in));
                let (key, same) = (self.constant(number & bits, value.width), self.temporary(1));
                self.wide(same, WideKind::Binary(Binary::Equal, masked, key));
                self.ops.push(Op::JumpIfZero { condition: same.register, to: 0 });
            }
            Key::Mask(number, bits) => {
                let (mask, key) = (self.constant(bits, 64), self.constant(number & bits, 64));
                let (value, mask, key) = (value.register, mask.register, key.register);
                self.ops.push(Op::JumpUnlessKey { value, mask, key, to: 0 });
            }
            Key::Range(first, last) if value.is_wide() => {
                let (low, high) =
                    (self.constant(first, value.width), self.constant(last, value.width));
                let (above, below, both) =
                    (self.temporary(1), self.temporary(1), self.temporary(1));
                self.wide(above, WideKind::Binary(Binary::LessEqual, low, value));
                self.wide(below, WideKind::Binary(Binary::LessEqual, value, high));
                self.binary(Binary::And, above, below, both);
                self.ops.push(Op::JumpIfZero { condition: both.register, to: 0 });
            }
            Key::Range(first, last) => {
                let (first, last) = (self.constant(first, 64), self.constant(last, 64));
                let (value, first, last) = (value.register, first.register, last.register);
                self.ops.push(Op::JumpUnlessWithin { value, first, last, to: 0 });
            }
        }
        Some(self.ops.len() - 1)
    }

    /// Puts the constant fields of a header into its bytes.
    pub(super) fn template(&mut self, number: u32) -> u16 {
        let header = &self.program.headers[number as usize];
        let mut bytes = vec![0; header.bits.div_ceil(8) as usize];
        let mut at = 0;
        for slot in header.first..header.first + header.fields {
            let width = self.program.slots[slot as usize].width;
            if let Some(value) = self.uses.constant[slot as usize] {
                put_bits(&mut bytes, at, width as usize, value);
            }
            at += width as usize;
        }
        self.flat.templates.push(bytes);
        self.flat.templates.len() as u16 - 1
    }
}
