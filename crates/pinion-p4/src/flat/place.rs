//! Values: from what a program says to nodes, and from nodes to registers, where they are computed.

use std::collections::HashMap;

use super::branch::{Exits, Holds};
use super::compile::{Compiler, DEEPEST, State};
use super::wide::{Operand, WideKind, WideOp};
use super::{Op, Register, SomeBits, Watched, beside};
use crate::graph::{Kind, NodeId};
use crate::program::{Binary, Slot, Unary, Value, ValueKind, mask};

impl<'p> Compiler<'p> {
    /// Gives the node of a value; reads that are watched are counted here.
    pub(super) fn node(&mut self, state: &mut State, value: &Value) -> NodeId {
        let width = value.width;
        let node = match &value.kind {
            ValueKind::Constant(number) => return self.graph.constant(*number, width),
            ValueKind::Slot { slot, may_be_invalid, may_be_unset } => {
                if *may_be_invalid {
                    self.watch_validity(state, *slot, value);
                }
                if *may_be_unset && let Some(flag) = self.flags.get(slot).copied() {
                    let name = &self.program.slots[*slot as usize].name;
                    self.watch(state, flag, format!("{name}, which was not set"), value);
                }
                state.values[*slot as usize]
            }
            ValueKind::Resize(inner) => {
                let inner = self.node(state, inner);
                self.graph.resize(inner, width)
            }
            ValueKind::Slice(inner, low) => {
                let inner = self.node(state, inner);
                self.graph.slice(inner, *low, width)
            }
            ValueKind::Unary(operator, inner) => {
                let inner = self.node(state, inner);
                self.graph.unary(*operator, inner, width)
            }
            ValueKind::Binary(Binary::Both | Binary::Either, ..) if is_watched(value) => {
                return self.chosen(state, value, None);
            }
            ValueKind::Binary(operator, one, other) => {
                let (one, other) = (self.node(state, one), self.node(state, other));
                self.graph.binary(*operator, one, other, width)
            }
            ValueKind::Join(one, other) => {
                let (one, other) = (self.node(state, one), self.node(state, other));
                self.graph.join(one, other, width)
            }
            ValueKind::Choice(parts) if parts.iter().any(is_watched) => {
                return self.chosen(state, &parts[0], Some((&parts[1], &parts[2])));
            }
            ValueKind::Choice(parts) => {
                let parts = [0, 1, 2].map(|n| self.node(state, &parts[n]));
                self.graph.choice(parts, width)
            }
        };
        self.known(state, node)
    }

    /// Chooses one of two values by a condition, or true and false. Only what is chosen counts as read.
    fn chosen(
        &mut self,
        state: &mut State,
        condition: &Value,
        of: Option<(&Value, &Value)>,
    ) -> NodeId {
        let mut exits = Exits::default();
        let width = of.map_or(1, |(one, _)| one.width);
        let side = |compiler: &mut Self, state: &mut State, holds: bool| match of {
            Some((one, other)) => compiler.node(state, if holds { one } else { other }),
            None => compiler.graph.constant(u128::from(holds), 1),
        };
        let holds = self.test(state, condition, true, &mut exits);
        if holds != Holds::Depends {
            return side(self, state, holds == Holds::Yes);
        }
        let mut other = exits.state(&mut self.graph, state);
        let mut met = exits.met(state);
        met.next = state.next.max(other.next);
        let register = self.fresh(&mut met, width);
        (state.next, other.next) = (met.next, met.next);
        let node = side(self, state, true);
        self.put(state, node, register);
        let jump = self.jump();
        exits.land(&mut self.ops);
        let node = side(self, &mut other, false);
        self.put(&mut other, node, register);
        self.land(jump);
        *state = met;
        self.fixed_node(register, width)
    }

    /// Gives a value as far as tests have told it.
    pub(super) fn known(&mut self, state: &State, node: NodeId) -> NodeId {
        match state.facts.is_empty() {
            true => node,
            false => self.resolve(state, node, 2 * DEEPEST, &mut HashMap::new()),
        }
    }

    /// Gives what tests have told of a value.
    fn fact(&mut self, state: &State, node: NodeId) -> Option<NodeId> {
        let (_, value) = state.facts.iter().rfind(|(known, _)| *known == node)?;
        if let Some(told) = self.told.iter().position(|told| *told == node) {
            self.looked |= 1 << told;
        }
        Some(*value)
    }

    fn resolve(
        &mut self,
        state: &State,
        node: NodeId,
        deepest: u32,
        done: &mut HashMap<NodeId, NodeId>,
    ) -> NodeId {
        if let Some(value) = self.fact(state, node) {
            return value;
        }
        if let Some(known) = done.get(&node) {
            return *known;
        }
        let operands = self.graph.operands(node);
        if deepest == 0 || operands.is_empty() {
            return node;
        }
        let resolved: Vec<NodeId> =
            operands.iter().map(|of| self.resolve(state, *of, deepest - 1, done)).collect();
        let known = self.graph.with(node, &operands, &resolved);
        let known = self.fact(state, known).unwrap_or(known);
        done.insert(node, known);
        known
    }

    fn watch_validity(&mut self, state: &mut State, slot: Slot, value: &Value) {
        let info = &self.program.slots[slot as usize];
        let Some(header) = info.header else { return };
        let header = &self.program.headers[header as usize];
        let what = format!("{}, while {} is not valid", info.name, header.name);
        self.watch(state, header.valid as usize, what, value);
    }

    /// Counts a read if a bool says that there is nothing.
    fn watch(&mut self, state: &mut State, flag: usize, what: String, value: &Value) {
        let same = |known: &Watched| known.span == value.span && known.what == what;
        let known = self.flat.watched.iter().position(same);
        let site = known.unwrap_or(self.flat.watched.len());
        if known.is_none() {
            self.flat.watched.push(Watched { what, span: value.span });
        }
        let flag = self.known(state, state.values[flag]);
        if self.graph.as_constant(flag) != Some(1) {
            let flag = self.place(state, flag);
            let site = site.min(usize::from(u16::MAX)) as u16;
            self.ops.push(Op::Watch { flag, site });
        }
    }

    /// Gives a register that is free on this way: two for more than 64 bits.
    pub(super) fn fresh(&mut self, state: &mut State, width: u32) -> Register {
        let register = state.next;
        // Too many are refused at the end.
        state.next = state.next.saturating_add(words(width)).min(super::EXCHANGE as Register);
        self.highest = self.highest.max(state.next);
        register.min(super::EXCHANGE as Register - 2)
    }

    /// Gives a register of its own, which holds a number before the first packet.
    pub(super) fn fixed(&mut self, value: u128, width: u32) -> Register {
        match self.lowest_fixed.checked_sub(words(width)) {
            Some(register) => {
                self.lowest_fixed = register;
                self.flat.initial.push((register, value as u64));
                if width > 64 {
                    self.flat.initial.push((register + 1, (value >> 64) as u64));
                }
            }
            None => self.is_full = true,
        }
        self.lowest_fixed
    }

    /// Gives the register of a constant.
    pub(super) fn constant(&mut self, value: u128, width: u32) -> Register {
        let key = (value, width > 64);
        if let Some(register) = self.constants.get(&key) {
            return *register;
        }
        let register = self.fixed(value, width);
        self.constants.insert(key, register);
        register
    }

    /// Gives the register in which a place, or a flag, is found when a block begins.
    pub(super) fn input(&mut self, slot: Slot) -> Register {
        if let Some(register) = self.inputs.get(&slot) {
            return *register;
        }
        let width = self.program.slots.get(slot as usize).map_or(1, |info| info.width);
        let register = self.fixed(0, width);
        self.inputs.insert(slot, register);
        self.flat.note(slot, register);
        register
    }

    /// Gives the register in which a value stands, which is computed if it is not there yet.
    pub(super) fn place(&mut self, state: &mut State, node: NodeId) -> Register {
        let node = self.known(state, node);
        self.place_known(state, node)
    }

    fn place_known(&mut self, state: &mut State, node: NodeId) -> Register {
        self.wanted.insert(node);
        if let Some(register) = state.placed.get(&node) {
            return *register;
        }
        let width = self.graph.width(node);
        match self.graph.get(node).kind {
            Kind::Constant(value) => self.constant(value, width),
            Kind::Input(slot) => self.input(slot),
            Kind::Fixed(register, _) => register,
            // More bits hold the same number.
            Kind::Resize(inner) if width <= 64 => self.place_known(state, inner),
            _ => {
                let register = self.compute(state, node, None);
                state.placed.insert(node, register);
                register
            }
        }
    }

    /// Puts a value into a register.
    pub(super) fn put(&mut self, state: &mut State, node: NodeId, to: Register) {
        let node = self.known(state, node);
        let is_placed = state.placed.contains_key(&node)
            || matches!(
                self.graph.get(node).kind,
                Kind::Constant(_) | Kind::Input(_) | Kind::Fixed(..) | Kind::Resize(_)
            );
        if !is_placed {
            self.compute(state, node, Some(to));
            return;
        }
        let from = self.place(state, node);
        if from != to {
            (0..words(self.graph.width(node))).for_each(|word| {
                self.ops.push(Op::Move { to: to + word, from: from + word });
            });
        }
    }

    fn operand(&mut self, state: &mut State, node: NodeId) -> Operand {
        let register = self.place_known(state, node);
        // What is resized without an operation is as wide as before.
        let width = self.graph.width(node);
        Operand { register, width }
    }

    fn ones(&mut self, width: u32) -> Register {
        self.constant(mask(u128::MAX, width.min(64)), 64)
    }

    fn wide(&mut self, to: Operand, kind: WideKind) {
        self.flat.wide.push(WideOp { to, kind });
        let number = (self.flat.wide.len() - 1).min(usize::from(u16::MAX)) as u16;
        self.ops.push(Op::Wide { number });
    }

    /// Computes a value that stands nowhere yet into a register, or into a free one.
    fn compute(&mut self, state: &mut State, node: NodeId, to: Option<Register>) -> Register {
        let (kind, width) = (self.graph.get(node).kind, self.graph.width(node));
        if let Kind::Field(at) = kind {
            let to = to.unwrap_or_else(|| self.fresh(state, width));
            self.load(state, Operand { register: to, width }, at);
            return to;
        }
        // The low bits of a sum are the sum of its parts' low bits.
        if let Kind::Slice(sum, 0) = kind
            && let Kind::Binary(operator @ (Binary::Add | Binary::Subtract), one, other) =
                self.graph.get(sum).kind
            && !state.placed.contains_key(&sum)
            && self.graph.width(one) <= 64
        {
            let [one, other] = [one, other].map(|part| self.operand(state, part).register);
            let to = to.unwrap_or_else(|| self.fresh(state, width));
            let width = width as u8;
            self.ops.push(match operator {
                Binary::Add => Op::Add { to, one, other, width },
                _ => Op::Subtract { to, one, other, width },
            });
            return to;
        }
        let of: Vec<Operand> = match kind {
            Kind::Unary(_, of) | Kind::Slice(of, _) | Kind::Resize(of) => vec![of],
            Kind::Binary(_, one, other) | Kind::Join(one, other) | Kind::SetBits(one, other, _) => {
                vec![one, other]
            }
            Kind::Choice(condition, one, other) => vec![condition, one, other],
            Kind::Constant(_) | Kind::Input(_) | Kind::Field(_) | Kind::Fixed(..) => Vec::new(),
        }
        .into_iter()
        .map(|node| self.operand(state, node))
        .collect();
        let register = to.unwrap_or_else(|| self.fresh(state, width));
        let target = Operand { register, width };
        if target.is_wide() || of.iter().any(|operand| operand.is_wide()) {
            let kind = match (kind, &of[..]) {
                (Kind::Unary(operator, _), [of]) => WideKind::Unary(operator, *of),
                (Kind::Slice(_, low), [of]) => WideKind::Slice(*of, low),
                (Kind::Join(..), [one, other]) => WideKind::Join(*one, *other),
                (Kind::Binary(operator, ..), [one, other]) => {
                    WideKind::Binary(operator, *one, *other)
                }
                (Kind::SetBits(.., low), [old, new]) => WideKind::SetBits(*old, *new, low),
                (_, [condition, one, other]) => WideKind::Choose(*condition, *one, *other),
                _ => WideKind::Resize(of[0]),
            };
            self.wide(target, kind);
            return register;
        }
        let op = self.narrow(kind, &of, target);
        self.ops.push(op);
        register
    }

    /// Makes the operation of a value whose parts all have one register.
    fn narrow(&mut self, kind: Kind, of: &[Operand], target: Operand) -> Op {
        let (to, one) = (target.register, of[0].register);
        let other = of.get(1).map_or(one, |other| other.register);
        match kind {
            Kind::Unary(Unary::Not | Unary::Complement, _) => {
                Op::Xor { to, one, other: self.ones(target.width) }
            }
            Kind::Unary(Unary::Negate, _) => {
                let (zero, width) = (self.constant(0, 64), target.width as u8);
                Op::Subtract { to, one: zero, other: one, width }
            }
            Kind::Binary(operator, ..) => {
                let width = of[0].width as u8;
                match operator {
                    Binary::Add => Op::Add { to, one, other, width },
                    Binary::Subtract => Op::Subtract { to, one, other, width },
                    Binary::And | Binary::Both => Op::And { to, one, other },
                    Binary::Or | Binary::Either => Op::Or { to, one, other },
                    Binary::Xor => Op::Xor { to, one, other },
                    Binary::ShiftLeft => Op::ShiftLeft { to, one, other, width },
                    Binary::ShiftRight => Op::ShiftRight { to, one, other },
                    Binary::Equal => Op::Equal { to, one, other },
                    Binary::Unequal => Op::Unequal { to, one, other },
                    Binary::Less => Op::Less { to, one, other },
                    Binary::LessEqual => Op::LessEqual { to, one, other },
                }
            }
            Kind::Slice(_, low) => {
                Op::Slice { to, from: one, low: low as u8, width: target.width as u8 }
            }
            Kind::Join(..) => Op::Join { to, one, other, by: of[1].width as u8 },
            Kind::SetBits(.., low) => {
                let mask = (mask(u128::MAX, of[1].width) << low) as u64;
                let bits = SomeBits { old: one, low: low as u8, mask };
                Op::SetBits { to, from: other, bits: beside(&mut self.flat.bits, bits) }
            }
            Kind::Choice(..) => {
                let pair = beside(&mut self.flat.pairs, [other, of[2].register]);
                Op::Choose { to, condition: one, pair }
            }
            // The rest is no operation, or is made before.
            _ => Op::Move { to, from: one },
        }
    }
}

/// Counts the registers of a value.
pub(super) fn words(width: u32) -> Register {
    if width > 64 { 2 } else { 1 }
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
