//! Values, and jumps by what they say.

use super::compile::Compiler;
use super::wide::{Operand, WideKind, WideOp};
use super::{Op, Register, Watched};
use crate::program::{Binary, Slot, Unary, Value, ValueKind};

impl Compiler<'_> {
    pub(super) fn wide(&mut self, to: Operand, kind: WideKind) {
        self.flat.wide.push(WideOp { to, kind });
        let number = (self.flat.wide.len() - 1).min(usize::from(u16::MAX)) as u16;
        self.ops.push(Op::Wide { number });
    }

    /// Computes a value into a register: `to`, or any.
    pub(super) fn value(&mut self, value: &Value, to: Option<Operand>) -> Operand {
        let width = value.width;
        match &value.kind {
            ValueKind::Constant(number) => {
                let from = self.constant(*number, width);
                self.moved(from, to)
            }
            ValueKind::Slot { slot, may_be_invalid, may_be_unset } => {
                if *may_be_invalid {
                    self.watch_validity(*slot, value);
                }
                if *may_be_unset && let Some(flag) = self.flags.get(slot).copied() {
                    let name = &self.program.slots[*slot as usize].name;
                    self.watch(flag, format!("{name}, which was not set"), value);
                }
                let from = self.place(*slot);
                self.moved(from, to)
            }
            ValueKind::Resize(inner) => {
                let from = self.value(inner, None);
                if from.width <= width && !to.is_some_and(Operand::is_wide) && width <= 64 {
                    return self.moved(Operand { width, ..from }, to);
                }
                let to = to.unwrap_or_else(|| self.temporary(width));
                match from.is_wide() || to.is_wide() {
                    true => self.wide(to, WideKind::Resize(from)),
                    false => {
                        let mask = self.mask(width);
                        self.ops.push(Op::And { to: to.register, one: from.register, other: mask });
                    }
                }
                to
            }
            ValueKind::Slice(inner, low) => {
                let from = self.value(inner, None);
                let to = to.unwrap_or_else(|| self.temporary(width));
                match from.is_wide() || to.is_wide() {
                    true => self.wide(to, WideKind::Slice(from, *low)),
                    false => {
                        let (mask, low) = (self.mask(width), *low as u16);
                        let (to, from) = (to.register, from.register);
                        self.ops.push(Op::Slice { to, from, low, mask });
                    }
                }
                to
            }
            ValueKind::Unary(operator, inner) => self.unary(*operator, inner, width, to),
            ValueKind::Binary(Binary::Both | Binary::Either, ..) if is_watched(value) => {
                self.by_jumps(value, to)
            }
            ValueKind::Binary(operator, one, other) => {
                let (one, other) = (self.value(one, None), self.value(other, None));
                let to = to.unwrap_or_else(|| self.temporary(width));
                self.binary(*operator, one, other, to);
                to
            }
            ValueKind::Join(one, other) => {
                let (one, other) = (self.value(one, None), self.value(other, None));
                let to = to.unwrap_or_else(|| self.temporary(width));
                match to.is_wide() {
                    true => self.wide(to, WideKind::Join(one, other)),
                    false => {
                        let by = other.width as u16;
                        let (to, one, other) = (to.register, one.register, other.register);
                        self.ops.push(Op::Join { to, one, other, by });
                    }
                }
                to
            }
            ValueKind::Choice(parts) => self.choice(parts, width, to),
        }
    }

    pub(super) fn moved(&mut self, from: Operand, to: Option<Operand>) -> Operand {
        let Some(to) = to.filter(|to| *to != from) else { return from };
        match from.is_wide() || to.is_wide() {
            true => self.wide(to, WideKind::Resize(from)),
            false => self.ops.push(Op::Move { to: to.register, from: from.register }),
        }
        to
    }

    fn unary(
        &mut self,
        operator: Unary,
        inner: &Value,
        width: u32,
        to: Option<Operand>,
    ) -> Operand {
        let from = self.value(inner, None);
        let to = to.unwrap_or_else(|| self.temporary(width));
        if to.is_wide() {
            self.wide(to, WideKind::Unary(operator, from));
            return to;
        }
        let (target, one) = (to.register, from.register);
        match operator {
            Unary::Not | Unary::Complement => {
                let other = self.mask(width);
                self.ops.push(Op::Xor { to: target, one, other });
            }
            Unary::Negate => {
                let (zero, mask) = (self.constant(0, 64).register, self.mask(width));
                self.ops.push(Op::Subtract { to: target, one: zero, other: one, mask });
            }
        }
        to
    }

    pub(super) fn binary(&mut self, operator: Binary, one: Operand, other: Operand, to: Operand) {
        if one.is_wide() || other.is_wide() || to.is_wide() {
            self.wide(to, WideKind::Binary(operator, one, other));
            return;
        }
        let mask = self.mask(one.width);
        let (to, one, other) = (to.register, one.register, other.register);
        self.ops.push(match operator {
            Binary::Add => Op::Add { to, one, other, mask },
            Binary::Subtract => Op::Subtract { to, one, other, mask },
            Binary::And | Binary::Both => Op::And { to, one, other },
            Binary::Or | Binary::Either => Op::Or { to, one, other },
            Binary::Xor => Op::Xor { to, one, other },
            Binary::ShiftLeft => Op::ShiftLeft { to, one, other, mask },
            Binary::ShiftRight => Op::ShiftRight { to, one, other },
            Binary::Equal => Op::Equal { to, one, other },
            Binary::Unequal => Op::Unequal { to, one, other },
            Binary::Less => Op::Less { to, one, other },
            Binary::LessEqual => Op::LessEqual { to, one, other },
        });
    }

    fn choice(&mut self, parts: &[Value; 3], width: u32, to: Option<Operand>) -> Operand {
        let to_any = to.unwrap_or_else(|| self.temporary(width));
        if parts.iter().any(is_watched) {
            // Only what is chosen counts as read.
            let otherwise = self.jump_unless(&parts[0]);
            let one = self.value(&parts[1], None);
            self.moved(one, Some(to_any));
            let end = self.jump();
            otherwise.into_iter().for_each(|jump| self.land(jump));
            let other = self.value(&parts[2], None);
            self.moved(other, Some(to_any));
            self.land(end);
            return to_any;
        }
        let [condition, one, other] = [0, 1, 2].map(|n| self.value(&parts[n], None));
        match to_any.is_wide() {
            true => self.wide(to_any, WideKind::Choose(condition, one, other)),
            false => {
                let (to, condition) = (to_any.register, condition.register);
                let (one, other) = (one.register, other.register);
                self.ops.push(Op::Choose { to, condition, one, other });
            }
        }
        to_any
    }

    /// Computes a bool whose right part is only looked at if the left one says so.
    fn by_jumps(&mut self, value: &Value, to: Option<Operand>) -> Operand {
        let to = to.unwrap_or_else(|| self.temporary(1));
        let (zero, one) = (self.constant(0, 1), self.constant(1, 1));
        let jumps = self.jump_unless(value);
        self.moved(one, Some(to));
        let end = self.jump();
        jumps.into_iter().for_each(|jump| self.land(jump));
        self.moved(zero, Some(to));
        self.land(end);
        to
    }

    /// Jumps, to a place that is not known yet, unless a condition holds; gives the jumps.
    pub(super) fn jump_unless(&mut self, condition: &Value) -> Vec<usize> {
        match &condition.kind {
            ValueKind::Binary(Binary::Both, one, other) => {
                let mut jumps = self.jump_unless(one);
                jumps.extend(self.jump_unless(other));
                jumps
            }
            ValueKind::Binary(Binary::Either, one, other) => {
                // The first says no, and then the second: else go on behind both.
                let not_one = self.jump_unless(one);
                let holds = self.jump();
                not_one.into_iter().for_each(|jump| self.land(jump));
                let jumps = self.jump_unless(other);
                self.land(holds);
                jumps
            }
            ValueKind::Binary(operator @ (Binary::Equal | Binary::Unequal), one, other)
                if other.as_constant() == Some(0) && one.width <= 64 =>
            {
                let condition = self.value(one, None).register;
                self.ops.push(match operator {
                    Binary::Equal => Op::JumpIfSet { condition, to: 0 },
                    _ => Op::JumpIfZero { condition, to: 0 },
                });
                vec![self.ops.len() - 1]
            }
            ValueKind::Unary(Unary::Not, inner) => {
                let condition = self.value(inner, None).register;
                self.ops.push(Op::JumpIfSet { condition, to: 0 });
                vec![self.ops.len() - 1]
            }
            _ => {
                let condition = self.value(condition, None).register;
                self.ops.push(Op::JumpIfZero { condition, to: 0 });
                vec![self.ops.len() - 1]
            }
        }
    }

    /// Jumps to a place that is not known yet.
    pub(super) fn jump(&mut self) -> usize {
        self.ops.push(Op::Jump { to: 0 });
        self.ops.len() - 1
    }

    /// Lets a jump lead here.
    pub(super) fn land(&mut self, jump: usize) {
        let here = self.ops.len().min(usize::from(u16::MAX)) as u16;
        match &mut self.ops[jump] {
            Op::Jump { to }
            | Op::JumpIfZero { to, .. }
            | Op::JumpIfSet { to, .. }
            | Op::JumpUnlessKey { to, .. }
            | Op::JumpUnlessWithin { to, .. } => *to = here,
            _ => unreachable!("only jumps are kept to be landed"),
        }
    }

    fn watch(&mut self, flag: Register, what: String, value: &Value) {
        let site = self.flat.watched.len().min(usize::from(u16::MAX)) as u16;
        self.flat.watched.push(Watched { what, span: value.span });
        self.ops.push(Op::Watch { flag, site });
    }

    fn watch_validity(&mut self, slot: Slot, value: &Value) {
        let info = &self.program.slots[slot as usize];
        let Some(header) = info.header else { return };
        let header = &self.program.headers[header as usize];
        let what = format!("{}, while {} is not valid", info.name, header.name);
        let flag = self.place(header.valid).register;
        self.watch(flag, what, value);
    }

    /// Takes note that a place is set, or not set any more.
    pub(super) fn flag(&mut self, slot: Slot, set: bool) {
        if let Some(flag) = self.flags.get(&slot).copied() {
            let from = self.constant(u128::from(set), 1).register;
            self.ops.push(Op::Move { to: flag, from });
        }
    }
}

/// Tells whether a value has reads that are watched.
pub(super) fn is_watched(value: &Value) -> bool {
    let mut is_watched = false;
    value.visit(&mut |part| {
        if let ValueKind::Slot { may_be_invalid, may_be_unset, .. } = part.kind {
            is_watched |= may_be_invalid || may_be_unset;
        }
    });
    is_watched
}

/// Lists the places of which a read may come before a write.
pub(super) fn unset_reads(value: &Value, list: &mut Vec<Slot>) {
    value.visit(&mut |part| {
        if let ValueKind::Slot { slot, may_be_unset: true, .. } = part.kind {
            list.push(slot);
        }
    });
}
