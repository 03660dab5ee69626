//! Values as a graph: each is made once, folded as far as it is known, and computed only where somebody
//! wants it. In: operators and their operands. Out: numbers of nodes, the same number for the same value.

use std::collections::HashMap;

use crate::program::{Binary, Slot, Unary, binary, mask, unary};

/// Operators below which no bool is looked for.
const DEEPEST_ATOM: u32 = 64;

/// Number of a node.
pub type NodeId = u32;

/// What gives a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number.
    Constant(u128),
    /// What a place holds when the block begins.
    Input(Slot),
    /// Bits of the packet, from this one on.
    Field(u32),
    /// What stands in a register: an answer, or what one way or another has left. The number tells
    /// apart what stands there at different times. In hardware: an extern's answer, and which field.
    Fixed(u16, u32),
    /// An operator of one operand.
    Unary(Unary, NodeId),
    /// An operator of two.
    Binary(Binary, NodeId, NodeId),
    /// Bits from this one on.
    Slice(NodeId, u32),
    /// The same number in other bits.
    Resize(NodeId),
    /// The first one's bits before the second's.
    Join(NodeId, NodeId),
    /// The second if the first is true, else the third.
    Choice(NodeId, NodeId, NodeId),
    /// The first, with the bits from this one on replaced by the second.
    SetBits(NodeId, NodeId, u32),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// What gives it.
    pub kind: Kind,
    /// Its bits.
    pub width: u32,
}

impl Node {
    /// Lists the values that it is made of.
    pub fn operands(&self) -> impl Iterator<Item = NodeId> {
        let of = match self.kind {
            Kind::Constant(_) | Kind::Input(_) | Kind::Field(_) | Kind::Fixed(..) => [None; 3],
            Kind::Unary(_, of) | Kind::Slice(of, _) | Kind::Resize(of) => [Some(of), None, None],
            Kind::Binary(_, one, other) | Kind::Join(one, other) | Kind::SetBits(one, other, _) => {
                [Some(one), Some(other), None]
            }
            Kind::Choice(condition, one, other) => [Some(condition), Some(one), Some(other)],
        };
        of.into_iter().flatten()
    }
}

/// All values of a program.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    /// By node: operators on top of each other.
    depths: Vec<u32>,
    /// By node: the condition of a choice inside it.
    chosen_by: Vec<Option<NodeId>>,
    numbers: HashMap<Node, NodeId>,
}

impl Graph {
    /// Gives the number that the next node gets.
    pub fn next_node(&self) -> usize {
        self.nodes.len()
    }

    /// Gives a value.
    pub fn get(&self, id: NodeId) -> Node {
        self.nodes[id as usize]
    }

    /// Gives a value's bits.
    pub fn width(&self, id: NodeId) -> u32 {
        self.get(id).width
    }

    /// Gives a value's number if it is constant.
    pub fn as_constant(&self, id: NodeId) -> Option<u128> {
        match self.get(id).kind {
            Kind::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Makes a number.
    pub fn constant(&mut self, value: u128, width: u32) -> NodeId {
        self.number(Kind::Constant(mask(value, width)), width)
    }

    /// Gives the node of something that cannot be folded.
    pub fn number(&mut self, kind: Kind, width: u32) -> NodeId {
        let node = Node { kind, width };
        let next = self.nodes.len() as NodeId;
        let number = *self.numbers.entry(node).or_insert(next);
        if number == next {
            let below = node.operands().map(|id| self.depth(id)).max();
            self.depths.push(below.map_or(0, |depth| depth + 1));
            self.chosen_by.push(match kind {
                Kind::Choice(condition, ..) => Some(condition),
                _ => node.operands().find_map(|id| self.chosen_by[id as usize]),
            });
            self.nodes.push(node);
        }
        number
    }

    /// Counts the operators on top of each other.
    pub fn depth(&self, id: NodeId) -> u32 {
        self.depths[id as usize]
    }

    /// Makes an operator of one operand.
    pub fn unary(&mut self, operator: Unary, of: NodeId, width: u32) -> NodeId {
        if let Some(value) = self.as_constant(of) {
            return self.constant(unary(operator, value, width), width);
        }
        match self.get(of).kind {
            Kind::Unary(inner, from) if inner == operator => from,
            _ => self.number(Kind::Unary(operator, of), width),
        }
    }

    /// Makes an operator of two operands.
    pub fn binary(&mut self, operator: Binary, one: NodeId, other: NodeId, width: u32) -> NodeId {
        let bits = self.width(one);
        let all = mask(u128::MAX, bits);
        let folded = match (self.as_constant(one), self.as_constant(other)) {
            (Some(one), Some(other)) => {
                return self.constant(binary(operator, one, other, bits), width);
            }
            (_, Some(number)) => self.by_constant(operator, one, number, all),
            (Some(number), _) if commutes(operator) => {
                self.by_constant(operator, other, number, all)
            }
            _ => None,
        };
        match (folded, operator) {
            (Some(Folded::Other(id)), _) => id,
            (Some(Folded::Number(number)), _) => self.constant(number, width),
            (None, Binary::Equal | Binary::LessEqual) if one == other => self.constant(1, width),
            (None, Binary::Unequal | Binary::Less | Binary::Subtract | Binary::Xor)
                if one == other =>
            {
                self.constant(0, width)
            }
            (None, Binary::Add | Binary::Subtract) => {
                let sum = self.sum(operator, one, other, all);
                sum.unwrap_or_else(|| self.number(Kind::Binary(operator, one, other), width))
            }
            (None, _) => self.number(Kind::Binary(operator, one, other), width),
        }
    }

    /// Adds a constant to a sum of which one part is constant already, or takes one off.
    fn sum(&mut self, operator: Binary, of: NodeId, other: NodeId, all: u128) -> Option<NodeId> {
        let width = self.width(of);
        let signed = |operator, number: u128| match operator {
            Binary::Subtract => number.wrapping_neg() & all,
            _ => number,
        };
        let more = signed(operator, self.as_constant(other)?);
        let Kind::Binary(inner @ (Binary::Add | Binary::Subtract), one, known) = self.get(of).kind
        else {
            return None;
        };
        let known = signed(inner, self.as_constant(known)?);
        let sum = self.constant(known.wrapping_add(more) & all, width);
        Some(self.binary(Binary::Add, one, sum, width))
    }

    /// Folds an operator with a constant as one of its operands.
    fn by_constant(&self, operator: Binary, of: NodeId, number: u128, all: u128) -> Option<Folded> {
        let is_bool = self.width(of) == 1;
        Some(match (operator, number) {
            (Binary::And | Binary::Both, 0) => Folded::Number(0),
            (Binary::Or | Binary::Either, number) if number == all => Folded::Number(all),
            (Binary::And | Binary::Both, number) if number == all => Folded::Other(of),
            (
                Binary::Or
                | Binary::Either
                | Binary::Xor
                | Binary::Add
                | Binary::Subtract
                | Binary::ShiftLeft
                | Binary::ShiftRight,
                0,
            ) => Folded::Other(of),
            (Binary::Unequal, 0) | (Binary::Equal, 1) if is_bool => Folded::Other(of),
            _ => return None,
        })
    }

    /// Takes bits of a value.
    pub fn slice(&mut self, of: NodeId, low: u32, width: u32) -> NodeId {
        if let Some(value) = self.as_constant(of) {
            return self.constant(value.checked_shr(low).unwrap_or(0), width);
        }
        match self.get(of).kind {
            _ if low == 0 && self.width(of) == width => of,
            // Part of a field is a field.
            Kind::Field(at) => self.number(Kind::Field(at + self.width(of) - low - width), width),
            _ => self.number(Kind::Slice(of, low), width),
        }
    }

    /// Gives a value other bits.
    pub fn resize(&mut self, of: NodeId, width: u32) -> NodeId {
        match self.width(of) {
            own if own == width => of,
            own if own > width => self.slice(of, 0, width),
            _ => match self.as_constant(of) {
                Some(value) => self.constant(value, width),
                None => self.number(Kind::Resize(of), width),
            },
        }
    }

    /// Joins two values' bits.
    pub fn join(&mut self, one: NodeId, other: NodeId, width: u32) -> NodeId {
        let by = self.width(other);
        match (self.as_constant(one), self.as_constant(other)) {
            (Some(one), Some(other)) => {
                self.constant(one.checked_shl(by).unwrap_or(0) | other, width)
            }
            _ => self.number(Kind::Join(one, other), width),
        }
    }

    /// Makes a choice.
    pub fn choice(&mut self, parts: [NodeId; 3], width: u32) -> NodeId {
        let [condition, one, other] = parts;
        match self.as_constant(condition) {
            Some(0) => other,
            Some(_) => one,
            None if one == other => one,
            None => self.number(Kind::Choice(condition, one, other), width),
        }
    }

    /// Replaces bits of a value.
    pub fn set_bits(&mut self, old: NodeId, new: NodeId, low: u32) -> NodeId {
        let (width, bits) = (self.width(old), self.width(new));
        match (self.as_constant(old), self.as_constant(new)) {
            _ if bits == width => new,
            (Some(old), Some(new)) => {
                let kept = old & !(mask(u128::MAX, bits) << low);
                self.constant(kept | new << low, width)
            }
            _ => self.number(Kind::SetBits(old, new, low), width),
        }
    }
}

impl Graph {
    /// Takes negations away.
    pub fn positive(&self, mut id: NodeId) -> NodeId {
        while let Kind::Unary(Unary::Not, inner) = self.get(id).kind {
            id = inner;
        }
        id
    }

    /// Finds a bool that a bool is made of, itself if it is made of none or of very many.
    pub fn atom(&self, id: NodeId) -> Option<NodeId> {
        let node = self.get(id);
        match node.kind {
            _ if node.width != 1 => None,
            Kind::Constant(_) => None,
            _ if self.depth(id) > DEEPEST_ATOM => Some(id),
            Kind::Unary(_, inner) => self.atom(inner),
            Kind::Binary(_, one, other) if self.width(one) == 1 => {
                self.atom(one).or_else(|| self.atom(other))
            }
            Kind::Choice(condition, ..) => self.atom(condition),
            _ => Some(id),
        }
    }

    /// Finds a bool by which something inside a value is chosen.
    pub fn choice_atom(&self, id: NodeId) -> Option<NodeId> {
        self.atom(self.chosen_by[id as usize]?)
    }

    /// Lists the nodes that a node is made of.
    pub fn operands(&self, id: NodeId) -> Vec<NodeId> {
        self.get(id).operands().collect()
    }

    /// Makes a node anew of other operands.
    pub fn with(&mut self, id: NodeId, old: &[NodeId], new: &[NodeId]) -> NodeId {
        if new == old {
            return id;
        }
        let node = self.get(id);
        match (node.kind, new) {
            (Kind::Unary(operator, _), [of]) => self.unary(operator, *of, node.width),
            (Kind::Slice(_, low), [of]) => self.slice(*of, low, node.width),
            (Kind::Resize(_), [of]) => self.resize(*of, node.width),
            (Kind::Binary(operator, ..), [one, other]) => {
                self.binary(operator, *one, *other, node.width)
            }
            (Kind::Join(..), [one, other]) => self.join(*one, *other, node.width),
            (Kind::SetBits(.., low), [old, new]) => self.set_bits(*old, *new, low),
            (Kind::Choice(..), [condition, one, other]) => {
                self.choice([*condition, *one, *other], node.width)
            }
            _ => id,
        }
    }
}

/// What an operator comes to.
enum Folded {
    Number(u128),
    Other(NodeId),
}

fn commutes(operator: Binary) -> bool {
    !matches!(
        operator,
        Binary::Subtract
            | Binary::ShiftLeft
            | Binary::ShiftRight
            | Binary::Less
            | Binary::LessEqual
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_folded() {
        let mut graph = Graph::default();
        let x = graph.number(Kind::Input(1), 8);
        let [zero, all] = [0, 0xff].map(|value| graph.constant(value, 8));
        for (operator, number, is) in [
            (Binary::And, zero, zero),
            (Binary::And, all, x),
            (Binary::Or, all, all),
            (Binary::Or, zero, x),
            (Binary::Add, zero, x),
            (Binary::Xor, zero, x),
        ] {
            assert_eq!(graph.binary(operator, x, number, 8), is, "{operator:?}");
            assert_eq!(graph.binary(operator, number, x, 8), is, "{operator:?}");
        }
        assert_ne!(graph.binary(Binary::Subtract, zero, x, 8), x);
        assert_eq!(graph.binary(Binary::Subtract, x, x, 8), zero);
        let bit = graph.number(Kind::Input(2), 1);
        let no = graph.constant(0, 1);
        assert_eq!(graph.binary(Binary::Unequal, bit, no, 1), bit);
        let negated = graph.unary(Unary::Not, bit, 1);
        assert_eq!(graph.unary(Unary::Not, negated, 1), bit);
        let field = graph.number(Kind::Field(32), 16);
        assert_eq!(graph.slice(field, 0, 8), graph.number(Kind::Field(40), 8));
    }
}
