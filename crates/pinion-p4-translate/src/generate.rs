//! Makes code of a control: `(registers, record, call, from) -> (what, next)`.
//!
//! A value stays in a register of the computer until somebody may jump in between; only what is read beyond
//! that, or by others, is put where the program's registers stand.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockCall, Function, InstBuilder, JumpTableData, MemFlags, SigRef, Signature,
    Type, UserFuncName, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder, FunctionBuilderContext, Switch};
use pinion_p4::flat::{Control, Left, Op, REGISTERS, Register, Site, SomeBits, index, ones};

use crate::forms::{Request, Source};
use crate::reads::{Reads, is_last, request, targets};

/// Makes the function of a control; gives also how many bytes of the record it may read.
pub fn function(
    control: &Control<'_>,
    (sites, requests): (&[Site], &[Option<Request>]),
    convention: CallConv,
    context: &mut FunctionBuilderContext,
) -> (Function, usize) {
    let mut signature = Signature::new(convention);
    signature.params.extend([I64; 4].map(AbiParam::new));
    signature.returns.extend([I64; 2].map(AbiParam::new));
    let mut function = Function::with_name_signature(UserFuncName::default(), signature);
    let builder = FunctionBuilder::new(&mut function, context);
    let record_bytes = Generator::new(builder, control, (sites, requests), convention).generate();
    (function, record_bytes)
}

struct Generator<'a> {
    builder: FunctionBuilder<'a>,
    control: &'a Control<'a>,
    /// By site: its request, if it has a form.
    requests: &'a [Option<Request>],
    /// How those who answer are called.
    answers: SigRef,
    call: Value,
    /// By register: somebody may read it where its value is not at hand.
    is_kept: Box<[bool; REGISTERS]>,
    constants: HashMap<Register, u64>,
    /// By operation: the block that begins with it, if somebody jumps there. The last is behind all of them.
    blocks: Vec<Option<Block>>,
    /// By number from which the control goes on: where that is.
    resumed: Vec<usize>,
    /// By operation: whoever comes there comes from one jump.
    comes_from_one: Vec<bool>,
    /// By such an operation: values at hand where the jump is.
    at_jumps: HashMap<usize, HashMap<Register, Value>>,
    /// Values at hand.
    values: HashMap<Register, Value>,
    registers: Value,
    record: Value,
    record_bytes: usize,
}

impl<'a> Generator<'a> {
    fn new(
        mut builder: FunctionBuilder<'a>,
        control: &'a Control<'a>,
        (sites, requests): (&[Site], &'a [Option<Request>]),
        convention: CallConv,
    ) -> Self {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let [registers, record, call, from]: [Value; 4] =
            std::array::from_fn(|at| builder.block_params(entry)[at]);
        let mut signature = Signature::new(convention);
        signature.params.extend([I64; 2].map(AbiParam::new));
        let answers = builder.import_signature(signature);
        let reads = Reads::of(control, sites, requests);
        let blocks: Vec<Option<Block>> =
            reads.begins.iter().map(|begins| begins.then(|| builder.create_block())).collect();
        // Most come from the beginning.
        let first = builder.create_block();
        if reads.resumed.len() > 1 {
            let mut switch = Switch::new();
            for (number, at) in (1..).zip(&reads.resumed[1..]) {
                let block = blocks[*at].expect("who goes on begins a block");
                switch.set_entry(number, block);
            }
            switch.emit(&mut builder, from, first);
        } else {
            builder.ins().jump(first, &[]);
        }
        builder.switch_to_block(first);
        Self {
            builder,
            control,
            requests,
            answers,
            call,
            is_kept: reads.is_kept,
            constants: control.constants.iter().copied().collect(),
            blocks,
            resumed: reads.resumed,
            comes_from_one: reads.comes_from_one,
            at_jumps: HashMap::new(),
            values: HashMap::new(),
            registers,
            record,
            record_bytes: 0,
        }
    }

    fn generate(mut self) -> usize {
        for register in &self.control.cleared {
            let zero = self.number(0);
            self.store(*register, zero);
        }
        let mut is_open = true;
        for (at, op) in self.control.ops.iter().enumerate() {
            is_open = self.begin(at, is_open);
            if is_open {
                for to in targets(self.control, *op) {
                    if self.comes_from_one[to] {
                        self.at_jumps.insert(to, self.values.clone());
                    }
                }
                is_open = self.operation(at, *op);
            }
        }
        if self.begin(self.control.ops.len(), is_open) {
            self.leave(Left::DECIDED, 0, 0);
        }
        self.builder.seal_all_blocks();
        self.builder.finalize();
        self.record_bytes
    }

    /// Begins a block, if there begins one; tells whether anybody comes here.
    fn begin(&mut self, at: usize, is_open: bool) -> bool {
        let Some(block) = self.blocks[at] else { return is_open };
        if is_open {
            self.builder.ins().jump(block, &[]);
        }
        self.builder.switch_to_block(block);
        self.values = self.at_jumps.remove(&at).unwrap_or_default();
        true
    }

    /// Makes code of an operation; tells whether the next one follows.
    fn operation(&mut self, at: usize, op: Op) -> bool {
        match op {
            Op::Move { to, from } => {
                let value = self.read(from);
                self.write(to, value);
            }
            Op::Add { to, one, other, width } => {
                let sum = self.both(one, other, |ins, a, b| ins.iadd(a, b));
                self.write_bits(to, sum, width);
            }
            Op::Subtract { to, one, other, width } => {
                let difference = self.both(one, other, |ins, a, b| ins.isub(a, b));
                self.write_bits(to, difference, width);
            }
            Op::And { to, one, other } => {
                let value = self.both(one, other, |ins, a, b| ins.band(a, b));
                self.write(to, value);
            }
            Op::Or { to, one, other } => {
                let value = self.both(one, other, |ins, a, b| ins.bor(a, b));
                self.write(to, value);
            }
            Op::Xor { to, one, other } => {
                let value = self.both(one, other, |ins, a, b| ins.bxor(a, b));
                self.write(to, value);
            }
            Op::ShiftLeft { to, one, other, width } => {
                let shifted = self.shift(one, other, |ins, a, b| ins.ishl(a, b));
                self.write_bits(to, shifted, width);
            }
            Op::ShiftRight { to, one, other } => {
                let shifted = self.shift(one, other, |ins, a, b| ins.ushr(a, b));
                self.write(to, shifted);
            }
            Op::Equal { to, one, other } => self.compare(to, IntCC::Equal, one, other),
            Op::Unequal { to, one, other } => self.compare(to, IntCC::NotEqual, one, other),
            Op::Less { to, one, other } => self.compare(to, IntCC::UnsignedLessThan, one, other),
            Op::LessEqual { to, one, other } => {
                self.compare(to, IntCC::UnsignedLessThanOrEqual, one, other);
            }
            Op::Slice { to, from, low, width } => {
                let from = self.read(from);
                let value = self.builder.ins().ushr_imm(from, i64::from(low));
                self.write_bits(to, value, width);
            }
            Op::Join { to, one, other, by } => {
                let (one, other) = (self.read(one), self.read(other));
                let high = self.builder.ins().ishl_imm(one, i64::from(by));
                let value = self.builder.ins().bor(high, other);
                self.write(to, value);
            }
            Op::Choose { to, condition, pair } => {
                let [one, other] = self.control.pair(pair);
                let (condition, one, other) =
                    (self.read(condition), self.read(one), self.read(other));
                let value = self.builder.ins().select(condition, one, other);
                self.write(to, value);
            }
            Op::SetBits { to, from, bits } => {
                let SomeBits { old, low, mask } = self.control.bits(bits);
                let (old, from) = (self.read(old), self.read(from));
                let rest = self.builder.ins().band_imm(old, !mask as i64);
                let new = self.builder.ins().ishl_imm(from, i64::from(low));
                let new = self.builder.ins().band_imm(new, mask as i64);
                let value = self.builder.ins().bor(rest, new);
                self.write(to, value);
            }
            Op::Load8 { to, at } => {
                let value = self.load(I8, at.into());
                let value = self.builder.ins().uextend(I64, value);
                self.write(to, value);
            }
            Op::Load16 { to, at } | Op::Load32 { to, at } => {
                let bytes = if matches!(op, Op::Load16 { .. }) { I16 } else { I32 };
                let value = self.load_number(bytes, at.into());
                self.write(to, value);
            }
            Op::Load48 { to, at } => {
                let high = self.load_number(I32, at.into());
                let low = self.load_number(I16, usize::from(at) + 4);
                let high = self.builder.ins().ishl_imm(high, 16);
                let value = self.builder.ins().bor(high, low);
                self.write(to, value);
            }
            Op::LoadBits { to, at, drop, width } => {
                let value = self.load_number(I64, at.into());
                let value = self.builder.ins().ushr_imm(value, i64::from(drop));
                self.write_bits(to, value, width);
            }
            Op::Watch { flag, site } => {
                let flag = self.read(flag);
                let miss = self.builder.create_block();
                let next = self.block(at + 1);
                self.builder.set_cold_block(miss);
                self.builder.ins().brif(flag, next, &[], miss, &[]);
                self.builder.switch_to_block(miss);
                self.leave(Left::MISS, site, at + 1);
                return false;
            }
            Op::Ask { site } => match request(self.requests, site) {
                Some(request) => self.ask(request),
                None => {
                    self.leave(Left::ASK, site, at + 1);
                    return false;
                }
            },
            Op::Wide { number } => {
                self.leave(Left::WIDE, number, at + 1);
                return false;
            }
            Op::Send { plan } => {
                match is_last(self.control, at) {
                    true => self.leave(Left::SEND_LAST, plan, 0),
                    false => self.leave(Left::SEND, plan, at + 1),
                }
                return false;
            }
            Op::Accept | Op::Reject => {
                self.leave(Left::DECIDED, 0, 0);
                return false;
            }
            Op::AcceptWith { to, value } => {
                let value = self.number(value.into());
                self.write(to, value);
                self.leave(Left::DECIDED, 0, 0);
                return false;
            }
            // Only parsers have them.
            Op::Need { .. } | Op::Take { .. } => {}
            Op::Switch { at: byte, table } => {
                self.switch(byte, table);
                return false;
            }
            Op::Jump { to } => {
                let to = self.block(to.into());
                self.builder.ins().jump(to, &[]);
                return false;
            }
            jump => return self.jump_if(at, jump),
        }
        true
    }

    /// Makes code of a jump that depends on something; tells whether the next operation follows.
    fn jump_if(&mut self, at: usize, op: Op) -> bool {
        // What is looked at, and whether it leads elsewhere if it is set, or if it is not.
        let (value, if_set, to) = match op {
            Op::JumpIfZero { condition, to } => (self.read(condition), false, to),
            Op::JumpIfSet { condition, to } => (self.read(condition), true, to),
            Op::JumpIfClear { value, mask, to } => {
                (self.both(value, mask, |ins, a, b| ins.band(a, b)), false, to)
            }
            Op::JumpIfAny { value, mask, to } => {
                (self.both(value, mask, |ins, a, b| ins.band(a, b)), true, to)
            }
            Op::JumpIfEqual { one, other, to } => (self.is(IntCC::Equal, one, other), true, to),
            Op::JumpUnlessEqual { one, other, to } => {
                (self.is(IntCC::Equal, one, other), false, to)
            }
            Op::JumpIfLess { one, other, to } => {
                (self.is(IntCC::UnsignedLessThan, one, other), true, to)
            }
            Op::JumpIfLessEqual { one, other, to } => {
                (self.is(IntCC::UnsignedLessThanOrEqual, one, other), true, to)
            }
            Op::JumpIfFrameClear { at: from, mask, to } => {
                let bytes = self.load_number(I64, from.into());
                let mask = self.read(mask);
                (self.builder.ins().band(bytes, mask), false, to)
            }
            Op::JumpIfByteClear { at: from, mask, to } => {
                let byte = self.load(I8, from.into());
                (self.builder.ins().band_imm(byte, i64::from(mask)), false, to)
            }
            Op::JumpIfByteAny { at: from, mask, to } => {
                let byte = self.load(I8, from.into());
                (self.builder.ins().band_imm(byte, i64::from(mask)), true, to)
            }
            Op::JumpUnlessFrame { at: from, key, to } => {
                let [mask, key] = self.control.key(key);
                let bytes = self.load(I64, from.into());
                let bits = self.builder.ins().band_imm(bytes, mask.swap_bytes() as i64);
                let key = self.number(key.swap_bytes());
                (self.builder.ins().icmp(IntCC::Equal, bits, key), false, to)
            }
            _ => unreachable!("all others are no jumps"),
        };
        let to = self.block(to.into());
        let (next, is_own) = match self.blocks[at + 1] {
            Some(next) => (next, false),
            None => (self.builder.create_block(), true),
        };
        let [set, clear] = if if_set { [to, next] } else { [next, to] };
        self.builder.ins().brif(value, set, &[], clear, &[]);
        if is_own {
            self.builder.switch_to_block(next);
        }
        is_own
    }

    /// Calls whoever answers requests of a form.
    fn ask(&mut self, request: &Request) {
        for (place, source) in &request.asked {
            let value = match source {
                Source::Register(register) => self.read(*register),
                Source::Number(number) => self.number(*number),
            };
            self.store(*place as Register, value);
        }
        let flags = MemFlags::trusted();
        let functions = self.builder.ins().load(I64, flags, self.call, 0);
        let function = self.builder.ins().load(I64, flags, functions, 8 * request.form as i32);
        let arguments = [self.call, self.registers];
        self.builder.ins().call_indirect(self.answers, function, &arguments);
        for (place, register) in &request.told {
            let offset = 8 * *place as i32;
            let value = self.builder.ins().load(I64, flags, self.registers, offset);
            self.write(*register, value);
        }
    }

    /// Goes on where a table says for a byte.
    fn switch(&mut self, byte: u16, table: u16) {
        let table = self.control.switch(table);
        let value = self.load(I8, byte.into());
        let value = self.builder.ins().uextend(I32, value);
        let blocks: Vec<BlockCall> = table
            .iter()
            .map(|to| {
                let block = self.block(usize::from(*to));
                BlockCall::new(block, [], &mut self.builder.func.dfg.value_lists)
            })
            .collect();
        // There is no other byte.
        let table = self.builder.create_jump_table(JumpTableData::new(blocks[0], &blocks));
        self.builder.ins().br_table(value, table);
    }

    /// Gives the block that begins with an operation.
    fn block(&self, at: usize) -> Block {
        let at = at.min(self.control.ops.len());
        self.blocks[at].expect("where somebody jumps to begins a block")
    }

    /// Leaves off.
    fn leave(&mut self, kind: u64, number: u16, next: usize) {
        let next = self.resumed.iter().position(|at| *at == next).unwrap_or(0);
        let what = self.number(kind | u64::from(number) << Left::KIND_BITS);
        let next = self.number(next as u64);
        self.builder.ins().return_(&[what, next]);
    }

    fn number(&mut self, value: u64) -> Value {
        self.builder.ins().iconst(I64, value as i64)
    }

    fn read(&mut self, register: Register) -> Value {
        if let Some(value) = self.values.get(&register) {
            return *value;
        }
        let value = match self.constants.get(&register) {
            Some(value) => self.number(*value),
            None => {
                let offset = 8 * index(register) as i32;
                self.builder.ins().load(I64, MemFlags::trusted(), self.registers, offset)
            }
        };
        self.values.insert(register, value);
        value
    }

    fn write(&mut self, register: Register, value: Value) {
        self.values.insert(register, value);
        if self.is_kept[index(register)] {
            self.store(register, value);
        }
    }

    fn store(&mut self, register: Register, value: Value) {
        let offset = 8 * index(register) as i32;
        self.builder.ins().store(MemFlags::trusted(), value, self.registers, offset);
    }

    /// Writes the lowest bits of a value.
    fn write_bits(&mut self, register: Register, value: Value, width: u8) {
        let value = match ones(width) {
            u64::MAX => value,
            mask => self.builder.ins().band_imm(value, mask as i64),
        };
        self.write(register, value);
    }

    fn both(
        &mut self,
        one: Register,
        other: Register,
        make: impl FnOnce(FuncInstBuilder<'_, 'a>, Value, Value) -> Value,
    ) -> Value {
        let (one, other) = (self.read(one), self.read(other));
        make(self.builder.ins(), one, other)
    }

    fn compare(&mut self, to: Register, condition: IntCC, one: Register, other: Register) {
        let is = self.is(condition, one, other);
        let is = self.builder.ins().uextend(I64, is);
        self.write(to, is);
    }

    fn is(&mut self, condition: IntCC, one: Register, other: Register) -> Value {
        self.both(one, other, |ins, a, b| ins.icmp(condition, a, b))
    }

    /// Shifts by a number of bits; 64 and more leave nothing.
    fn shift(
        &mut self,
        one: Register,
        other: Register,
        make: impl FnOnce(FuncInstBuilder<'_, 'a>, Value, Value) -> Value,
    ) -> Value {
        let (one, by) = (self.read(one), self.read(other));
        let zero = self.number(0);
        match self.constants.get(&other) {
            Some(by) if *by >= 64 => zero,
            Some(_) => make(self.builder.ins(), one, by),
            None => {
                let shifted = make(self.builder.ins(), one, by);
                let is_near = self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, by, 64);
                self.builder.ins().select(is_near, shifted, zero)
            }
        }
    }

    /// Loads bytes of the record as they stand there.
    fn load(&mut self, bytes: Type, at: usize) -> Value {
        self.record_bytes = self.record_bytes.max(at + bytes.bytes() as usize);
        // It may begin anywhere.
        let flags = MemFlags::new().with_notrap();
        self.builder.ins().load(bytes, flags, self.record, at as i32)
    }

    /// Loads a number of the record, its highest byte first.
    fn load_number(&mut self, bytes: Type, at: usize) -> Value {
        let value = self.load(bytes, at);
        let value = self.builder.ins().bswap(value);
        match bytes {
            I64 => value,
            _ => self.builder.ins().uextend(I64, value),
        }
    }
}
