//! A program as a circuit: all ways at once, where ways meet a choice. In: a checked program. Out: the value of
//! everything that leaves the pipeline, as a graph, with the stage from which each is known.

use std::collections::HashMap;

use super::shared::Shared;
use pinion_p4::graph::{Graph, Kind, NodeId};
use pinion_p4::lnic::unit::{Array, Unit};
use pinion_p4::program::{Binary, Program, Slot, Step, StepKind, Unary, Value, ValueKind};

/// Bits of a word of the datapath, of which one comes in a cycle (RTL `NET_DP_BITS`).
pub(super) const WORD_BITS: u32 = 512;
/// Bits of a frame's length.
pub(super) const LENGTH_BITS: u32 = 16;

/// What an extern is in hardware.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Ports to a unit beside the pipeline.
    Port,
    /// A register array inside.
    Array(Array),
    /// One that other controls reach, too.
    Shared(Array),
    /// Stages that pass something on.
    Delay,
}

/// An extern: its requests at all places of the program, of which a packet takes one.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub part: Part,
    /// Its cycles.
    pub from: u32,
    pub to: u32,
    pub is_event: bool,
    /// The packet asks.
    pub asked: NodeId,
    pub fields: Vec<NodeId>,
}

/// A program as a circuit.
#[derive(Debug)]
pub(super) struct Design {
    pub graph: Graph,
    /// By node: the first stage in which it is known.
    pub times: Vec<u32>,
    /// By node: what to call it.
    pub names: HashMap<NodeId, String>,
    /// The parser takes the packet; it ends before its headers do; the first byte behind those.
    pub taken: NodeId,
    pub short: NodeId,
    pub payload: NodeId,
    /// Places that leave the pipeline otherwise than they came.
    pub outputs: Vec<(Slot, NodeId)>,
    /// By extern; none for one that is never asked.
    pub requests: Vec<Option<Request>>,
    /// Headers that are sent, with the condition of each.
    pub sent: Vec<(NodeId, Vec<NodeId>)>,
}

impl Design {
    /// Makes the circuit of a program.
    ///
    /// # Errors
    /// What of the program has no hardware.
    pub fn of(program: &Program, shared: &[Shared]) -> Result<Self, String> {
        let mut builder = Builder::new(program, shared);
        let mut state = builder.parse()?;
        builder.floor = program.stages.parser;
        let taken = builder.taken;
        builder.steps(&program.control, &mut state, taken)?;
        let mut outputs = Vec::new();
        for (first, count) in &program.regions[1..] {
            for slot in *first..*first + *count {
                let node = state.values[slot as usize];
                if builder.graph.get(node).kind != Kind::Input(slot) {
                    outputs.push((slot, node));
                }
            }
        }
        state.exited = builder.graph.constant(0, 1);
        builder.steps(&program.deparser, &mut state, taken)?;
        builder.note_times();
        Ok(Self {
            graph: builder.graph,
            times: builder.times,
            names: builder.names,
            taken,
            short: builder.short,
            payload: builder.payload,
            outputs,
            requests: builder.requests,
            sent: builder.sent,
        })
    }

    /// Gives the place that stands for the frame's length, which the program does not know.
    pub fn length(program: &Program) -> Slot {
        program.slots.len() as Slot
    }
}

/// What is known at a point of the program.
#[derive(Clone)]
pub(super) struct State {
    pub values: Vec<NodeId>,
    /// The block has ended before.
    exited: NodeId,
}

pub(super) struct Builder<'p> {
    pub program: &'p Program,
    shared: &'p [Shared],
    pub graph: Graph,
    times: Vec<u32>,
    /// The first stage in which new values are computed.
    pub floor: u32,
    names: HashMap<NodeId, String>,
    pub taken: NodeId,
    pub short: NodeId,
    pub payload: NodeId,
    requests: Vec<Option<Request>>,
    sent: Vec<(NodeId, Vec<NodeId>)>,
}

impl<'p> Builder<'p> {
    fn new(program: &'p Program, shared: &'p [Shared]) -> Self {
        let mut graph = Graph::default();
        let (no, payload) = (graph.constant(0, 1), graph.constant(0, LENGTH_BITS));
        Self {
            program,
            shared,
            graph,
            times: Vec::new(),
            floor: 0,
            names: HashMap::new(),
            taken: no,
            short: no,
            payload,
            requests: vec![None; program.externs.len()],
            sent: Vec::new(),
        }
    }

    /// Takes note of when values are known that are new since the last time.
    pub(super) fn note_times(&mut self) {
        for id in self.times.len()..self.graph.next_node() {
            let node = self.graph.get(id as NodeId);
            let known = match node.kind {
                Kind::Constant(_) | Kind::Input(_) | Kind::Field(_) => 0,
                Kind::Fixed(external, _) => {
                    self.requests[usize::from(external)].as_ref().map_or(0, |asked| asked.to)
                }
                _ => {
                    let of = node.operands().map(|of| self.times[of as usize]);
                    of.fold(self.floor, u32::max)
                }
            };
            self.times.push(known);
        }
    }

    pub(super) fn constant(&mut self, value: u128, width: u32) -> NodeId {
        self.graph.constant(value, width)
    }

    pub(super) fn and(&mut self, one: NodeId, other: NodeId) -> NodeId {
        self.graph.binary(Binary::And, one, other, 1)
    }

    pub(super) fn or(&mut self, one: NodeId, other: NodeId) -> NodeId {
        self.graph.binary(Binary::Or, one, other, 1)
    }

    pub(super) fn not(&mut self, of: NodeId) -> NodeId {
        self.graph.unary(Unary::Not, of, 1)
    }

    /// Chooses; a choice of bools is an operator.
    pub(super) fn choice(&mut self, condition: NodeId, one: NodeId, other: NodeId) -> NodeId {
        let width = self.graph.width(one);
        if width == 1 {
            match (self.graph.as_constant(one), self.graph.as_constant(other)) {
                (Some(0), _) => {
                    let otherwise = self.not(condition);
                    return self.and(otherwise, other);
                }
                (Some(_), _) => return self.or(condition, other),
                (_, Some(0)) => return self.and(condition, one),
                (_, Some(_)) => {
                    let otherwise = self.not(condition);
                    return self.or(otherwise, one);
                }
                _ => {}
            }
        }
        self.graph.choice([condition, one, other], width)
    }

    /// Lets all places hold what they do on one of two ways.
    pub(super) fn meet(&mut self, condition: NodeId, one: &State, other: &State) -> State {
        let mut values = one.values.clone();
        for (slot, (value, other)) in values.iter_mut().zip(&other.values).enumerate() {
            if value != other {
                *value = self.choice(condition, *value, *other);
                self.name(*value, &self.program.slots[slot].name);
            }
        }
        let exited = self.choice(condition, one.exited, other.exited);
        self.note_times();
        State { values, exited }
    }

    /// What places hold when a packet comes: what the architecture says, and else 0.
    pub(super) fn begin(&mut self) -> State {
        let program = self.program;
        let mut values = Vec::new();
        for (number, slot) in program.slots.iter().enumerate() {
            let number = number as Slot;
            let is_told = program.regions[1..]
                .iter()
                .chain([&program.told])
                .any(|(first, count)| (*first..*first + *count).contains(&number));
            values.push(match is_told {
                true => self.graph.number(Kind::Input(number), slot.width),
                false => self.constant(0, slot.width),
            });
        }
        State { values, exited: self.constant(0, 1) }
    }

    pub(super) fn value(&mut self, value: &Value, state: &State) -> NodeId {
        let width = value.width;
        match &value.kind {
            ValueKind::Constant(number) => self.constant(*number, width),
            ValueKind::Slot { slot, .. } => state.values[*slot as usize],
            ValueKind::Unary(operator, inner) => {
                let inner = self.value(inner, state);
                self.graph.unary(*operator, inner, width)
            }
            ValueKind::Binary(operator, one, other) => {
                let (one, other) = (self.value(one, state), self.value(other, state));
                self.graph.binary(*operator, one, other, width)
            }
            ValueKind::Slice(inner, low) => {
                let inner = self.value(inner, state);
                self.graph.slice(inner, *low, width)
            }
            ValueKind::Resize(inner) => {
                let inner = self.value(inner, state);
                self.graph.resize(inner, width)
            }
            ValueKind::Join(one, other) => {
                let (one, other) = (self.value(one, state), self.value(other, state));
                self.graph.join(one, other, width)
            }
            ValueKind::Choice(parts) => {
                let [condition, one, other] = [0, 1, 2].map(|n| self.value(&parts[n], state));
                self.choice(condition, one, other)
            }
        }
    }

    pub(super) fn name(&mut self, node: NodeId, slot: &str) {
        if !matches!(self.graph.get(node).kind, Kind::Constant(_) | Kind::Input(_)) {
            self.names.entry(node).or_insert_with(|| slot.to_owned());
        }
    }

    /// Gives a place a value, unless the block has ended before.
    fn set(&mut self, state: &mut State, slot: Slot, node: NodeId) {
        let old = state.values[slot as usize];
        let node = self.choice(state.exited, old, node);
        self.name(node, &self.program.slots[slot as usize].name);
        state.values[slot as usize] = node;
    }

    /// Follows steps that are done if a condition holds.
    pub(super) fn steps(
        &mut self,
        steps: &[Step],
        state: &mut State,
        when: NodeId,
    ) -> Result<(), String> {
        let program = self.program;
        for step in steps {
            match &step.kind {
                StepKind::Set(slot, value) => {
                    let node = self.value(value, state);
                    self.set(state, *slot, node);
                }
                StepKind::SetBits(slot, low, value) => {
                    let new = self.value(value, state);
                    let node = self.replace(state.values[*slot as usize], new, *low);
                    self.set(state, *slot, node);
                }
                StepKind::Copy(from, to, count) => {
                    let row = *from as usize..(*from + *count) as usize;
                    let copied = state.values[row].to_vec();
                    for (node, slot) in copied.into_iter().zip(*to..) {
                        self.set(state, slot, node);
                    }
                }
                StepKind::Validate(number, valid) => {
                    let node = self.constant(u128::from(*valid), 1);
                    self.set(state, program.headers[*number as usize].valid, node);
                }
                StepKind::Begin(first, count) => {
                    for slot in *first..*first + *count {
                        let node = self.constant(0, program.slots[slot as usize].width);
                        self.set(state, slot, node);
                    }
                }
                StepKind::If(condition, then, otherwise) => {
                    let condition = self.value(condition, state);
                    let mut other = state.clone();
                    let yes = self.and(when, condition);
                    self.steps(then, state, yes)?;
                    let no = self.not(condition);
                    let no = self.and(when, no);
                    self.steps(otherwise, &mut other, no)?;
                    *state = self.meet(condition, state, &other);
                }
                StepKind::Apply(number, request, response) => {
                    self.ask(*number, (*request, *response), state, when)?;
                }
                StepKind::Exit => state.exited = self.constant(1, 1),
                StepKind::Emit(number, _) => {
                    let header = &program.headers[*number as usize];
                    let first = header.first as usize;
                    let fields = first..first + header.fields as usize;
                    let fields = state.values[fields].to_vec();
                    let goes_on = self.not(state.exited);
                    let valid = self.and(goes_on, state.values[header.valid as usize]);
                    // What becomes of a packet that was not taken is of no concern.
                    let valid = match when == self.taken {
                        true => valid,
                        false => self.and(when, valid),
                    };
                    // What is never valid is never sent.
                    if self.graph.as_constant(valid) != Some(0) {
                        self.sent.push((valid, fields));
                    }
                }
                StepKind::Extract(number) => {
                    let name = &program.headers[*number as usize].name;
                    return Err(format!(
                        "it extracts {name} under a condition; let `transition select` decide"
                    ));
                }
            }
            self.note_times();
        }
        Ok(())
    }

    /// Replaces bits of a value.
    fn replace(&mut self, old: NodeId, new: NodeId, low: u32) -> NodeId {
        let (width, bits) = (self.graph.width(old), self.graph.width(new));
        let (mut node, mut have) = (new, bits);
        if low > 0 {
            let below = self.graph.slice(old, 0, low);
            have += low;
            node = self.graph.join(node, below, have);
        }
        if have < width {
            let above = self.graph.slice(old, have, width - have);
            node = self.graph.join(above, node, width);
        }
        node
    }

    /// Asks an extern: what is asked elsewhere holds if it is not asked here.
    fn ask(
        &mut self,
        number: u32,
        (request, response): (Slot, Slot),
        state: &mut State,
        when: NodeId,
    ) -> Result<(), String> {
        let program = self.program;
        let external = &program.externs[number as usize];
        let goes_on = self.not(state.exited);
        let asked = self.and(when, goes_on);
        let first = request as usize;
        let fields = state.values[first..first + external.request.len()].to_vec();
        self.note_times();
        let request = match self.requests[number as usize].take() {
            None => {
                let cycles = program.stages.externs[number as usize];
                let cycles = cycles.ok_or_else(|| format!("{} has no stage", external.name))?;
                let part = match Unit::bind(external) {
                    Ok(Unit::Array(array)) if Shared::find(self.shared, external).is_some() => {
                        Part::Shared(array)
                    }
                    Ok(Unit::Array(array)) => Part::Array(array),
                    Ok(Unit::Delay { .. }) => Part::Delay,
                    _ => Part::Port,
                };
                let (from, to, is_event) = (cycles.from, cycles.to, cycles.is_event);
                Request { part, from, to, is_event, asked, fields }
            }
            Some(before) => {
                let fields = fields.into_iter().zip(&before.fields);
                let fields = fields.map(|(one, other)| self.choice(asked, one, *other)).collect();
                let asked = self.or(asked, before.asked);
                Request { asked, fields, ..before }
            }
        };
        for (field, node) in request.fields.iter().enumerate() {
            self.name(*node, &format!("{}.{}", external.name, external.request[field].0));
        }
        self.name(request.asked, &format!("{}.asked", external.name));
        self.requests[number as usize] = Some(request);
        for (field, (name, width)) in external.response.iter().enumerate() {
            let node = self.graph.number(Kind::Fixed(number as u16, field as u32), *width);
            self.name(node, &format!("{}.{name}", external.name));
            self.set(state, response + field as Slot, node);
        }
        self.note_times();
        Ok(())
    }
}
