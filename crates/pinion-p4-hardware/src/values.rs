//! Values in their stages. In: a program's [`Design`]. Out: which values stand where, their names, and the
//! expressions that make them.
//!
//! Each value is computed in the first stage in which it is known, and stands in registers from there to the
//! last stage that wants it; one that is wider than what it is made of is computed where it is wanted
//! instead, so that less has to be kept.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::design::{Design, Part};
use super::names::{literal, plain};
use super::shared::Shared;
use pinion_p4::graph::{Kind, NodeId};
use pinion_p4::program::{Binary, Program, Slot, Unary};

/// How a value is there in a stage.
pub(super) enum Definition {
    /// It is computed there.
    Computed,
    /// It was there in the stage before.
    Kept,
    /// It comes from a port.
    Port,
}

/// Makes a module's text.
pub(super) struct Writer<'d> {
    pub program: &'d Program,
    pub design: &'d Design,
    pub module: &'d str,
    /// Register arrays that other controls reach, too.
    pub shared: &'d [Shared],
    /// The stage in which everything leaves.
    pub last: u32,
    pub names: HashMap<NodeId, String>,
    /// By stage and node.
    pub defined: BTreeMap<(u32, NodeId), Definition>,
    /// Bits of values that somebody has used.
    pub used: HashMap<(u32, NodeId), Vec<bool>>,
    pub text: String,
}

impl Writer<'_> {
    pub(super) fn width(&self, node: NodeId) -> u32 {
        self.design.graph.width(node)
    }

    pub(super) fn is_constant(&self, node: NodeId) -> bool {
        self.design.graph.as_constant(node).is_some()
    }

    /// Tells whether a value is one of the NIC's numbers, which stay the same.
    fn is_still(&self, node: NodeId) -> bool {
        match self.design.graph.get(node).kind {
            Kind::Constant(_) => true,
            Kind::Input(slot) => self
                .program
                .slots
                .get(slot as usize)
                .is_some_and(|slot| slot.name.starts_with("meta.params.")),
            _ => false,
        }
    }

    /// The request whose field an answer of a row of stages gives back.
    pub(super) fn delayed(&self, node: NodeId) -> Option<NodeId> {
        let Kind::Fixed(external, field) = self.design.graph.get(node).kind else { return None };
        let request = self.design.requests[usize::from(external)].as_ref()?;
        matches!(request.part, Part::Delay).then(|| request.fields[field as usize])
    }

    /// Says how a value is there in a stage.
    fn definition(&self, stage: u32, node: NodeId) -> Definition {
        let graph = &self.design.graph;
        let known = self.design.times[node as usize];
        if self.is_still(node) {
            return Definition::Port;
        }
        if self.delayed(node).is_some() {
            return Definition::Kept;
        }
        match graph.get(node).kind {
            Kind::Input(_) | Kind::Field(_) | Kind::Fixed(..) => match stage <= known {
                true => Definition::Port,
                false => Definition::Kept,
            },
            kind => {
                let mut of = graph.operands(node);
                of.sort_unstable();
                of.dedup();
                let kept = of.iter().filter(|of| !self.is_still(**of));
                let kept: u32 = kept.map(|of| graph.width(*of)).sum();
                let is_wiring = matches!(kind, Kind::Slice(..) | Kind::Resize(_) | Kind::Join(..));
                let width = graph.width(node) + u32::from(is_wiring);
                match stage <= known || kept < width {
                    true => Definition::Computed,
                    false => Definition::Kept,
                }
            }
        }
    }

    /// Lists what is wanted in the last stage and in those of requests, and what that is made of.
    pub(super) fn find(&mut self) {
        let design = self.design;
        let mut wanted: BTreeSet<(u32, NodeId)> = BTreeSet::new();
        let mut want = |stage, node| {
            if !self.is_constant(node) {
                wanted.insert((stage, node));
            }
        };
        for node in [design.taken, design.short, design.payload] {
            want(self.last, node);
        }
        design.outputs.iter().for_each(|(_, node)| want(self.last, *node));
        for (valid, fields) in &design.sent {
            want(self.last, *valid);
            fields.iter().for_each(|field| want(self.last, *field));
        }
        for request in design.requests.iter().flatten() {
            if matches!(request.part, Part::Delay) {
                continue;
            }
            want(request.from, request.asked);
            request.fields.iter().for_each(|field| want(request.from, *field));
            if matches!(request.part, Part::Port) && !request.is_event {
                want(request.to, request.asked);
            }
        }
        while let Some((stage, node)) = wanted.pop_last() {
            let definition = self.definition(stage, node);
            match definition {
                Definition::Kept => {
                    let before = match self.delayed(node) {
                        Some(given) if stage <= self.design.times[node as usize] => given,
                        _ => node,
                    };
                    if !self.is_constant(before) {
                        wanted.insert((stage - 1, before));
                    }
                }
                Definition::Computed => {
                    for of in design.graph.operands(node) {
                        if !self.is_constant(of) {
                            wanted.insert((stage, of));
                        }
                    }
                }
                Definition::Port => {}
            }
            self.defined.insert((stage, node), definition);
        }
    }

    /// Gives all values that stand anywhere different names.
    pub(super) fn choose_names(&mut self) {
        let mut taken: HashSet<String> = HashSet::new();
        let nodes: BTreeSet<NodeId> = self.defined.keys().map(|(_, node)| *node).collect();
        for node in nodes {
            let wish = match self.design.graph.get(node).kind {
                Kind::Input(slot) => self.input(slot),
                _ => self.design.names.get(&node).map_or("value".to_owned(), |name| plain(name)),
            };
            let mut name = wish.clone();
            let mut number = 2;
            while !taken.insert(name.clone()) {
                name = format!("{wish}_{}", if wish == "value" { node } else { number });
                number += 1;
            }
            self.names.insert(node, name);
        }
    }

    /// Gives what stands for a value in a stage.
    pub(super) fn name(&self, stage: u32, node: NodeId) -> String {
        match self.design.graph.get(node).kind {
            Kind::Constant(value) => literal(value, self.width(node)),
            Kind::Input(slot) if self.is_still(node) || stage == 0 => self.input(slot),
            _ => format!("s{stage}_{}", self.names[&node]),
        }
    }

    /// Names the port of a place, or of the frame's length.
    pub(super) fn input(&self, slot: Slot) -> String {
        match self.program.slots.get(slot as usize) {
            Some(info) => format!("in_{}", plain(&info.name)),
            None => "in_length".to_owned(),
        }
    }

    /// Uses all of a value.
    pub(super) fn all(&mut self, stage: u32, node: NodeId) -> String {
        if !self.is_constant(node) {
            let width = self.width(node) as usize;
            self.used.entry((stage, node)).or_default().resize(width, true);
            if let Some(bits) = self.used.get_mut(&(stage, node)) {
                bits.fill(true);
            }
        }
        self.name(stage, node)
    }

    /// Uses bits of a value.
    fn bits(&mut self, stage: u32, node: NodeId, low: u32, width: u32) -> String {
        let all = self.width(node);
        if width == all {
            return self.all(stage, node);
        }
        let bits = self.used.entry((stage, node)).or_default();
        bits.resize(all as usize, false);
        bits[low as usize..(low + width) as usize].fill(true);
        let name = self.name(stage, node);
        match width {
            1 => format!("{name}[{low}]"),
            _ => format!("{name}[{}:{low}]", low + width - 1),
        }
    }

    /// Writes how a value is computed.
    pub(super) fn expression(&mut self, stage: u32, node: NodeId) -> String {
        let width = self.width(node);
        match self.design.graph.get(node).kind {
            Kind::Unary(operator, of) => {
                let of = self.all(stage, of);
                let sign = match operator {
                    Unary::Not | Unary::Complement => "~",
                    Unary::Negate => "-",
                };
                format!("{sign}{of}")
            }
            Kind::Binary(operator, one, other) => {
                let (one, other) = (self.all(stage, one), self.all(stage, other));
                format!("{one} {} {other}", sign(operator))
            }
            Kind::Slice(of, low) => self.bits(stage, of, low, width),
            Kind::Resize(of) => {
                let zeros = literal(0, width - self.width(of));
                format!("{{{zeros}, {}}}", self.all(stage, of))
            }
            Kind::Join(one, other) => {
                format!("{{{}, {}}}", self.all(stage, one), self.all(stage, other))
            }
            Kind::Choice(condition, one, other) => {
                let [condition, one, other] = [condition, one, other].map(|of| self.all(stage, of));
                format!("{condition} ? {one} : {other}")
            }
            // `replace` makes these of slices.
            Kind::SetBits(..) => unreachable!("bits are joined"),
            Kind::Constant(_) | Kind::Input(_) | Kind::Field(_) | Kind::Fixed(..) => {
                self.name(stage, node)
            }
        }
    }
}

fn sign(operator: Binary) -> &'static str {
    match operator {
        Binary::Add => "+",
        Binary::Subtract => "-",
        Binary::And | Binary::Both => "&",
        Binary::Or | Binary::Either => "|",
        Binary::Xor => "^",
        Binary::ShiftLeft => "<<",
        Binary::ShiftRight => ">>",
        Binary::Equal => "==",
        Binary::Unequal => "!=",
        Binary::Less => "<",
        Binary::LessEqual => "<=",
    }
}
