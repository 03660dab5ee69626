//! Headers on their way from the packet's bytes to values, and back.

use super::compile::{Compiler, State};
use super::send::{Copied, Plan, Put};
use super::wide::{Operand, WideKind, WideOp, put_bits};
use super::{Op, Register, Said, SaidValue};
use crate::graph::{Kind, NodeId};
use crate::program::{Binary, mask};

impl Compiler<'_> {
    /// Takes a header out of the packet: its fields are loaded when somebody wants them.
    pub(super) fn extract(&mut self, state: &mut State, number: u32) {
        let header = &self.program.headers[number as usize];
        let (first, fields, valid) = (header.first, header.fields, header.valid);
        let end = (state.taken + header.bits) / 8;
        if end > state.sure_bytes {
            self.ops.push(Op::Need { bytes: end.min(u32::from(u16::MAX)) as u16 });
            state.sure_bytes = end;
        }
        state.values[valid as usize] = self.graph.constant(1, 1);
        for slot in first..first + fields {
            let width = self.program.slots[slot as usize].width;
            state.values[slot as usize] = self.graph.number(Kind::Field(state.taken), width);
            state.taken += width;
            if let Some(flag) = self.flags.get(&slot) {
                state.values[*flag] = self.graph.constant(1, 1);
            }
        }
    }

    /// Loads bits of the packet.
    pub(super) fn load(&mut self, state: &State, target: Operand, bit: u32) {
        let (to, width) = (target.register, target.width);
        let start = bit / 8;
        let at = start.min(u32::from(u16::MAX)) as u16;
        let window = state.sure_bytes.checked_sub(8).map(|last| last.min(start));
        let dropped = window.and_then(|window| (8 * (window + 8)).checked_sub(bit + width));
        let op = match (bit % 8, width, window, dropped) {
            (0, 8, ..) => Op::Load8 { to, at },
            (0, 16, ..) => Op::Load16 { to, at },
            (0, 32, ..) => Op::Load32 { to, at },
            (0, 48, ..) => Op::Load48 { to, at },
            (_, 0..=64, Some(window), Some(drop)) => {
                Op::LoadBits { to, at: window as u16, drop: drop as u8, width: width as u8 }
            }
            _ => {
                self.flat.wide.push(WideOp { to: target, kind: WideKind::Load(bit) });
                Op::Wide { number: (self.flat.wide.len() - 1).min(usize::from(u16::MAX)) as u16 }
            }
        };
        self.ops.push(op);
    }

    /// Takes note of a header that is to be sent.
    pub(super) fn emit(&mut self, state: &mut State, number: u32) {
        let header = &self.program.headers[number as usize];
        let fields = header.first as usize..(header.first + header.fields) as usize;
        state.sent.extend(&state.values[fields]);
    }

    /// Sends what was taken note of: bytes that are always the same, and fields put between them.
    pub(super) fn send(&mut self, state: &mut State) {
        let sent = std::mem::take(&mut state.sent);
        let bits: u32 = sent.iter().map(|node| self.graph.width(*node)).sum();
        let bytes = bits.div_ceil(8);
        if bytes == 0 {
            return;
        }
        let mut plan = Plan { length: bytes as usize, ..Plan::default() };
        plan.bytes.resize(bytes as usize + 8, 0);
        plan.constant.resize(plan.bytes.len(), 0);
        plan.same.resize(plan.bytes.len() / 8, 0);
        let mut bit = 0;
        for node in sent {
            let (node, width) = (self.known(state, node), self.graph.width(node));
            let kind = self.graph.get(node).kind;
            if self.is_said(state, node, bit) {
                (bit / 8..(bit + width) / 8).for_each(|byte| plan.copy(byte, byte));
            } else if let Kind::Constant(value) = kind {
                put_bits(&mut plan.bytes, bit as usize, width as usize, value);
                put_bits(&mut plan.constant, bit as usize, width as usize, mask(u128::MAX, width));
            } else if let Kind::Field(from) = kind
                && (from % 8, bit % 8, width % 8) == (0, 0, 0)
            {
                let bytes = (0..width / 8).map(|n| (from / 8 + n, bit / 8 + n));
                bytes.for_each(|(from, at)| plan.copy(from, at));
            } else {
                let register = self.place(state, node);
                match width.checked_sub(64) {
                    Some(high @ 1..) => {
                        plan.put(bit, high, register + 1);
                        plan.put(bit + high, 64, register);
                    }
                    _ => plan.put(bit, width, register),
                }
            }
            bit += width;
        }
        plan.leave_constants(self.interface.said);
        plan.shorten();
        self.flat.plans.push(plan);
        let plan = (self.flat.plans.len() - 1).min(usize::from(u16::MAX)) as u16;
        self.ops.push(Op::Send { plan });
    }
}

impl Compiler<'_> {
    /// Tells whether the record says this value at the bit from which it is sent.
    fn is_said(&mut self, state: &State, node: NodeId, bit: u32) -> bool {
        let width = self.graph.width(node);
        let said = self.interface.said.iter().filter(|said| (said.bit, said.width) == (bit, width));
        bit.is_multiple_of(8)
            && width.is_multiple_of(8)
            && said.into_iter().any(|said| {
                let is_same = match said.value {
                    SaidValue::Number(value) => self.graph.as_constant(node) == Some(value),
                    SaidValue::Field(at) => self.graph.get(node).kind == Kind::Field(at),
                    SaidValue::Sum(at, number) => self.is_sum(node, at, number),
                };
                is_same && said.when.is_none_or(|(bit, is_set)| self.is_bit(state, bit, is_set))
            })
    }

    /// Tells whether a value is the sum of a field and a number.
    fn is_sum(&self, node: NodeId, at: u32, number: u128) -> bool {
        let Kind::Binary(Binary::Add, one, other) = self.graph.get(node).kind else { return false };
        let is = |field, constant| {
            self.graph.get(field).kind == Kind::Field(at)
                && self.graph.as_constant(constant) == Some(number)
        };
        is(one, other) || is(other, one)
    }

    /// Tells whether a bit of the record is known to be set, or not to be.
    fn is_bit(&mut self, state: &State, bit: u32, is_set: bool) -> bool {
        let fields = self
            .interface
            .fields
            .iter()
            .map(|(slot, first)| (*first, self.program.slots[*slot as usize].width));
        let Some((first, width)) =
            fields.into_iter().find(|(first, width)| (*first..first + width).contains(&bit))
        else {
            return false;
        };
        let field = self.graph.number(Kind::Field(first), width);
        let mask = self.graph.constant(1 << (first + width - 1 - bit), width);
        let zero = self.graph.constant(0, width);
        let masked = self.graph.binary(Binary::And, field, mask, width);
        [(Binary::Unequal, is_set), (Binary::Equal, !is_set)].into_iter().any(
            |(operator, holds)| {
                let test = self.graph.binary(operator, masked, zero, 1);
                let test = self.known(state, test);
                self.graph.as_constant(test) == Some(holds.into())
            },
        )
    }
}

impl Plan {
    /// Leaves bytes to the record that are always the same and that it has anyway.
    fn leave_constants(&mut self, said: &[Said]) {
        let mut always = vec![0; self.bytes.len()];
        for said in said.iter().filter(|said| said.when.is_none()) {
            let SaidValue::Number(value) = said.value else { continue };
            if said.bit + said.width <= 8 * always.len() as u32 {
                put_bits(&mut always, said.bit as usize, said.width as usize, value);
                let bytes = said.bit as usize / 8..(said.bit + said.width) as usize / 8;
                let is_sent = bytes.clone().all(|byte| self.constant[byte] == u8::MAX);
                if is_sent && self.bytes[bytes.clone()] == always[bytes.clone()] {
                    self.bytes[bytes.clone()].fill(0);
                    bytes.for_each(|byte| self.copy(byte as u32, byte as u32));
                }
            }
        }
    }

    fn put(&mut self, bit: u32, width: u32, register: Register) {
        self.puts.extend(Put::parts(bit, width, register, self.bytes.len()));
    }

    /// Copies a byte of the record: with the one before it if there is room in its eight bytes.
    fn copy(&mut self, from: u32, at: u32) {
        if from == at
            && let Some(word) = self.same.get_mut(at as usize / 8)
        {
            let mut bytes = word.to_ne_bytes();
            bytes[at as usize % 8] = u8::MAX;
            *word = u64::from_ne_bytes(bytes);
            return;
        }
        if let Some(last) = self.copies.last_mut()
            && let (Some(byte), Some(source)) =
                (at.checked_sub(last.at.into()), from.checked_sub(last.from.into()))
            && byte == source
            && byte < 8
        {
            last.mask |= u64::to_be(0xff << (8 * (7 - byte)));
            return;
        }
        // Both have eight bytes more than anybody names.
        self.copies.push(Copied { from: from as u16, at: at as u16, mask: u64::to_be(0xff << 56) });
    }
}
