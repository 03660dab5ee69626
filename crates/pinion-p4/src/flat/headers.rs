//! Headers on their way from the packet's bytes to values, and back.

use super::compile::{Compiler, State};
use super::send::{Copied, Plan, Put};
use super::wide::{Operand, WideKind, WideOp, put_bits};
use super::{Op, Register};
use crate::graph::Kind;

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
        plan.same.resize(plan.bytes.len() / 8, 0);
        let mut bit = 0;
        for node in sent {
            let (node, width) = (self.known(state, node), self.graph.width(node));
            let kind = self.graph.get(node).kind;
            if let Kind::Constant(value) = kind {
                put_bits(&mut plan.bytes, bit as usize, width as usize, value);
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
        plan.shorten();
        self.flat.plans.push(plan);
        let plan = (self.flat.plans.len() - 1).min(usize::from(u16::MAX)) as u16;
        self.ops.push(Op::Send { plan });
    }
}

impl Plan {
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
