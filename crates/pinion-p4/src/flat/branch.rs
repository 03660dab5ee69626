//! Conditions: what is known is not tested, what is tested is known behind it.

use super::compile::{Compiler, State};
use super::place::is_watched;
use super::{Op, beside};
use crate::graph::{Graph, Kind, NodeId};
use crate::program::{Binary, Key, Unary, Value, ValueKind, mask};

/// Says whether the way goes on behind a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Yes,
    No,
    Depends,
}

/// Jumps away from a way, all to one place that is not known yet.
#[derive(Debug, Default)]
pub(super) struct Exits {
    jumps: Vec<usize>,
    /// What is known at all of them.
    state: Option<State>,
    /// What the only jump tells.
    fact: Option<(NodeId, u128)>,
}

impl Exits {
    fn leave(&mut self, jump: usize, state: &State, fact: Option<(NodeId, u128)>) {
        self.fact = if self.jumps.is_empty() { fact } else { None };
        self.jumps.push(jump);
        match &mut self.state {
            Some(known) => known.keep_common(state),
            None => self.state = Some(state.clone()),
        }
    }

    /// Gives what is known where the jumps lead.
    pub(super) fn state(&mut self, graph: &mut Graph, otherwise: &State) -> State {
        let mut state = self.state.clone().unwrap_or_else(|| otherwise.clone());
        if let Some((node, value)) = self.fact {
            let value = graph.constant(value, graph.width(node));
            state.facts.push((node, value));
        }
        state
    }

    /// Gives what is known where the jumps meet those who have not left.
    pub(super) fn met(&self, others: &State) -> State {
        let mut state = others.clone();
        if let Some(known) = &self.state {
            state.keep_common(known);
        }
        state
    }

    /// Lets the jumps lead to the end of these operations.
    pub(super) fn land(&self, ops: &mut [Op]) {
        self.jumps.iter().for_each(|jump| land(ops, *jump));
    }
}

/// Lets a jump lead to the end of these operations.
pub(super) fn land(ops: &mut [Op], jump: usize) {
    let here = ops.len().min(usize::from(u16::MAX)) as u16;
    let to = ops[jump].target_mut().expect("only jumps are kept to be landed");
    *to = here;
}

impl<'p> Compiler<'p> {
    /// Goes on if a condition is as wanted, else by one of the exits.
    pub(super) fn test(
        &mut self,
        state: &mut State,
        condition: &Value,
        wanted: bool,
        exits: &mut Exits,
    ) -> Holds {
        let (one, other, both) = match &condition.kind {
            ValueKind::Unary(Unary::Not, inner) => {
                return self.test(state, inner, !wanted, exits);
            }
            ValueKind::Binary(Binary::Both, one, other) => (one, other, true),
            ValueKind::Binary(Binary::Either, one, other) => (one, other, false),
            _ => {
                let node = self.node(state, condition);
                return self.test_node(state, node, wanted, exits);
            }
        };
        if !is_watched(condition) {
            // It may be known as a whole, by a test before.
            let node = self.node(state, condition);
            if let Some(value) = self.graph.as_constant(node) {
                return if (value != 0) == wanted { Holds::Yes } else { Holds::No };
            }
        }
        if both == wanted {
            // Both must be as wanted.
            let first = self.test(state, one, wanted, exits);
            if first == Holds::No {
                return Holds::No;
            }
            return match self.test(state, other, wanted, exits) {
                Holds::Yes => first,
                Holds::No if first == Holds::Depends => {
                    let jump = self.jump();
                    exits.leave(jump, state, None);
                    Holds::Depends
                }
                second => second,
            };
        }
        // One is enough: the second is only looked at where the first is not as wanted.
        let mut enough = Exits::default();
        match self.test(state, one, !wanted, &mut enough) {
            Holds::No => return Holds::Yes,
            Holds::Yes => return self.test(state, other, wanted, exits),
            Holds::Depends => {}
        }
        if self.test(state, other, wanted, exits) == Holds::No {
            let jump = self.jump();
            exits.leave(jump, state, None);
            // Nobody comes here but those for whom the first is enough.
            let next = state.next;
            *state = State { next, ..enough.state(&mut self.graph, state) };
        } else {
            *state = enough.met(state);
        }
        enough.land(&mut self.ops);
        Holds::Depends
    }

    /// The same of a bool that is made.
    pub(super) fn test_node(
        &mut self,
        state: &mut State,
        node: NodeId,
        wanted: bool,
        exits: &mut Exits,
    ) -> Holds {
        let node = self.known(state, node);
        if let Some(value) = self.graph.as_constant(node) {
            return if (value != 0) == wanted { Holds::Yes } else { Holds::No };
        }
        if let Kind::Unary(Unary::Not, inner) = self.graph.get(node).kind {
            return self.test_node(state, inner, !wanted, exits);
        }
        let op = self.jump_op(state, node, wanted);
        self.ops.push(op);
        exits.leave(self.ops.len() - 1, state, Some((node, u128::from(!wanted))));
        let value = self.graph.constant(u128::from(wanted), 1);
        state.facts.push((node, value));
        Holds::Depends
    }

    /// Makes the jump that leaves if a bool is not as wanted.
    fn jump_op(&mut self, state: &mut State, node: NodeId, wanted: bool) -> Op {
        if let Kind::Binary(operator @ (Binary::Equal | Binary::Unequal), one, other) =
            self.graph.get(node).kind
            && self.graph.width(one) <= 64
        {
            let if_equal = (operator == Binary::Unequal) == wanted;
            if self.graph.as_constant(other) == Some(0) {
                if let Kind::Binary(Binary::And, value, bits) = self.graph.get(one).kind
                    && let Some(bits) = self.graph.as_constant(bits)
                {
                    if let Some((at, mask)) = self.in_byte(state, value, bits) {
                        self.note_byte(value, bits, (at, mask));
                        return match if_equal {
                            true => Op::JumpIfByteClear { at, mask, to: 0 },
                            false => Op::JumpIfByteAny { at, mask, to: 0 },
                        };
                    }
                    if let Some((at, bits)) = self.in_frame(state, value, bits) {
                        return match if_equal {
                            true => {
                                let mask = self.constant(bits, 64);
                                Op::JumpIfFrameClear { at, mask, to: 0 }
                            }
                            false => {
                                let key = beside(&mut self.flat.keys, [bits as u64, 0]);
                                Op::JumpUnlessFrame { at, key, to: 0 }
                            }
                        };
                    }
                    let value = self.place(state, value);
                    let mask = self.constant(bits, 64);
                    return match if_equal {
                        true => Op::JumpIfClear { value, mask, to: 0 },
                        false => Op::JumpIfAny { value, mask, to: 0 },
                    };
                }
                let condition = self.place(state, one);
                return match if_equal {
                    true => Op::JumpIfZero { condition, to: 0 },
                    false => Op::JumpIfSet { condition, to: 0 },
                };
            }
            let (one, other) = (self.place(state, one), self.place(state, other));
            return match if_equal {
                true => Op::JumpIfEqual { one, other, to: 0 },
                false => Op::JumpUnlessEqual { one, other, to: 0 },
            };
        }
        if let Kind::Binary(operator @ (Binary::Less | Binary::LessEqual), one, other) =
            self.graph.get(node).kind
            && self.graph.width(one) <= 64
            && !state.placed.contains_key(&node)
        {
            let (one, other) = (self.place(state, one), self.place(state, other));
            return match (operator == Binary::Less, wanted) {
                (true, true) => Op::JumpIfLessEqual { one: other, other: one, to: 0 },
                (true, false) => Op::JumpIfLess { one, other, to: 0 },
                (false, true) => Op::JumpIfLess { one: other, other: one, to: 0 },
                (false, false) => Op::JumpIfLessEqual { one, other, to: 0 },
            };
        }
        if self.graph.width(node) == 1
            && let Some((at, mask)) = self.in_byte(state, node, 1)
        {
            return match wanted {
                true => Op::JumpIfByteClear { at, mask, to: 0 },
                false => Op::JumpIfByteAny { at, mask, to: 0 },
            };
        }
        let condition = self.place(state, node);
        match wanted {
            true => Op::JumpIfZero { condition, to: 0 },
            false => Op::JumpIfSet { condition, to: 0 },
        }
    }

    /// Takes note of a bit of the packet that is asked for.
    fn note_byte(&mut self, value: NodeId, bits: u128, (at, mask): (u16, u8)) {
        if let Kind::Field(bit) = self.graph.get(value).kind {
            let asked = Asked { at, mask, bit, width: self.graph.width(value), bits };
            if mask.is_power_of_two() && !self.asked.contains(&asked) {
                self.asked.push(asked);
            }
        }
    }

    /// Finds bits of a value in one byte of the packet, if it has not been loaded.
    fn in_byte(&self, state: &State, value: NodeId, bits: u128) -> Option<(u16, u8)> {
        let (at, bits) = self.in_frame(state, value, bits)?;
        let byte = bits.leading_zeros().checked_sub(64)? / 8;
        let behind = 56 - 8 * byte;
        let mask = u8::try_from(bits >> behind).ok()?;
        (u128::from(mask) << behind == bits && mask != 0).then_some((at + byte as u16, mask))
    }

    /// Finds bits of a value in eight bytes of the packet, if it has not been loaded.
    fn in_frame(&self, state: &State, value: NodeId, bits: u128) -> Option<(u16, u128)> {
        let (Kind::Field(at), width) = (self.graph.get(value).kind, self.graph.width(value)) else {
            return None;
        };
        if width > 57 || state.placed.contains_key(&value) {
            return None;
        }
        let start = (at / 8).min(state.sure_bytes.checked_sub(8)?);
        let behind = (8 * (start + 8)).checked_sub(at + width)?;
        Some((start.try_into().ok()?, mask(bits, width) << behind))
    }

    /// Goes on if values fit a case's keys. Fields that stand close in the packet are compared at once.
    pub(super) fn fits(
        &mut self,
        state: &mut State,
        on: &[NodeId],
        keys: &[Key],
        exits: &mut Exits,
    ) -> Holds {
        let mut holds = Holds::Yes;
        let mut fields: Vec<Compared> = Vec::new();
        let mut tests: Vec<NodeId> = Vec::new();
        for (&node, key) in on.iter().zip(keys) {
            let width = self.graph.width(node);
            match (*key, self.graph.get(node).kind) {
                (Key::Any, _) => {}
                (Key::Mask(number, bits), Kind::Field(at))
                    if width <= 57 && state.sure_bytes >= 8 =>
                {
                    let bits = mask(bits, width);
                    fields.push(Compared { at, width, bits, number: number & bits });
                }
                (Key::Mask(number, bits), _) => {
                    let bits_node = self.graph.constant(bits, width);
                    let masked = self.graph.binary(Binary::And, node, bits_node, width);
                    let number = self.graph.constant(number & bits, width);
                    tests.push(self.graph.binary(Binary::Equal, masked, number, 1));
                }
                (Key::Range(first, last), _) => {
                    let (first, last) =
                        (self.graph.constant(first, width), self.graph.constant(last, width));
                    tests.push(self.graph.binary(Binary::LessEqual, first, node, 1));
                    tests.push(self.graph.binary(Binary::LessEqual, node, last, 1));
                }
            }
        }
        for test in tests {
            match self.test_node(state, test, true, exits) {
                Holds::Yes => {}
                Holds::Depends => holds = Holds::Depends,
                Holds::No if holds == Holds::Yes => return Holds::No,
                Holds::No => {
                    let jump = self.jump();
                    exits.leave(jump, state, None);
                    return Holds::Depends;
                }
            }
        }
        fields.sort_unstable_by_key(|field| field.at);
        let mut fields = &fields[..];
        while let Some(first) = fields.first() {
            // Eight bytes that the packet surely has.
            let start = (first.at / 8).min(state.sure_bytes - 8);
            let end = 8 * (start + 8);
            let count = fields.iter().take_while(|field| field.at + field.width <= end).count();
            let (near, far) = fields.split_at(count);
            let (mut bits, mut key) = (0, 0);
            for field in near {
                let shift = end - field.at - field.width;
                bits |= field.bits << shift;
                key |= field.number << shift;
            }
            if bits != 0 {
                let key = beside(&mut self.flat.keys, [bits as u64, key as u64]);
                self.ops.push(Op::JumpUnlessFrame { at: start as u16, key, to: 0 });
                exits.leave(self.ops.len() - 1, state, None);
                holds = Holds::Depends;
            }
            fields = far;
        }
        holds
    }

    /// Jumps to a place that is not known yet.
    pub(super) fn jump(&mut self) -> usize {
        self.ops.push(Op::Jump { to: 0 });
        self.ops.len() - 1
    }

    /// Lets a jump lead here.
    pub(super) fn land(&mut self, jump: usize) {
        land(&mut self.ops, jump);
    }
}

/// A bit of the packet that is asked for: of a byte, and of the field that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub at: u16,
    pub mask: u8,
    bit: u32,
    width: u32,
    bits: u128,
}

impl<'p> Compiler<'p> {
    /// Follows the control once for each value that bits of a byte may have, as far as it asks for them: where it
    /// goes by several, the byte is looked at once.
    pub(super) fn by_byte(&mut self, begin: &State, asked: &[Asked]) {
        let Some(first) = asked.first() else { return };
        let splits = self.splits;
        let table = beside(&mut self.flat.switches, [0; 256]);
        self.ops.push(Op::Switch { at: first.at, table });
        for asked in asked {
            let field = self.graph.number(Kind::Field(asked.bit), asked.width);
            let bits = self.graph.constant(asked.bits, asked.width);
            let masked = self.graph.binary(Binary::And, field, bits, asked.width);
            self.told.push(masked);
        }
        // By value of all bits: whether there is a way for it.
        let mut is_done = vec![false; 1 << asked.len()];
        for set in 0..is_done.len() {
            if is_done[set] {
                continue;
            }
            let start = self.ops.len().min(usize::from(u16::MAX)) as u16;
            let mut state = begin.clone();
            for (n, (asked, masked)) in asked.iter().zip(self.told.clone()).enumerate() {
                let value = if set >> n & 1 != 0 { asked.bits } else { 0 };
                let value = self.graph.constant(value, asked.width);
                state.facts.push((masked, value));
            }
            (self.splits, self.looked) = (splits, 0);
            self.walk(state, &self.program.control, None);
            // Bits that nobody looked at may be anything.
            for (other, is_done) in is_done.iter_mut().enumerate() {
                *is_done |= (other ^ set) & self.looked == 0;
            }
            let mask_of = |bits: usize| {
                let chosen = asked.iter().enumerate().filter(|(n, _)| bits >> n & 1 != 0);
                chosen.fold(0, |all, (_, asked)| all | asked.mask)
            };
            let (looked, wanted) = (mask_of(self.looked), mask_of(set & self.looked));
            for (value, to) in (0..=u8::MAX).zip(&mut self.flat.switches[usize::from(table)]) {
                if value & looked == wanted {
                    *to = start;
                }
            }
        }
    }
}

/// A field of the packet that is compared.
struct Compared {
    at: u32,
    width: u32,
    bits: u128,
    number: u128,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_land_behind_the_last_operation() {
        let mut ops = vec![Op::Jump { to: 0 }, Op::Accept];
        land(&mut ops, 0);
        assert_eq!(ops[0], Op::Jump { to: 2 });
    }
}
