//! From steps to operations. Each way through a program is followed to its end with what is known on it:
//! a condition that was decided is not asked again, what nobody reads there is not computed. Ways that
//! part stay apart as long as there are few ([`MOST_SPLITS`]); beyond that they meet again behind each
//! `if`, so that a program's operations grow with its length and not with its ways.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::branch::Asked;
use super::reads::Reads;
use super::{Flat, Interface, Op, Register, Site};
use crate::graph::{Graph, Kind, NodeId};
use crate::program::{Program, Slot, Step, StepKind, Value, ValueKind, visit};

/// Places where ways may part for good.
const MOST_SPLITS: u32 = 256;
/// Bits of the first byte that a control asks about, of which a table is made: fewer are asked one by one, more
/// would make too many ways.
const LEAST_ASKED: usize = 2;
const MOST_ASKED: usize = 5;
/// Operations of a control with such a table, at most.
const MOST_SWITCHED: usize = 4096;
/// Operators on top of each other that wait until somebody wants their value.
pub(super) const DEEPEST: u32 = 24;

/// What is known on a way.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// By place, and by flag behind them: its value.
    pub values: Vec<NodeId>,
    /// Values that tests have told.
    pub facts: Vec<(NodeId, NodeId)>,
    /// Registers in which values stand already.
    pub placed: HashMap<NodeId, Register>,
    /// The first register that is free.
    pub next: Register,
    /// Bits of the packet that are taken, and bytes that it surely has.
    pub taken: u32,
    pub sure_bytes: u32,
    /// Fields that are to be sent.
    pub sent: Vec<NodeId>,
}

impl State {
    /// Forgets what is not known in another state, which begins where this one does.
    pub fn keep_common(&mut self, other: &Self) {
        self.facts.retain(|fact| other.facts.contains(fact));
        self.placed.retain(|node, register| other.placed.get(node) == Some(register));
        self.next = self.next.max(other.next);
    }
}

/// Lists the places that steps write.
pub(super) fn written(program: &Program, steps: &[Step]) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    visit(steps, &mut |step| match &step.kind {
        StepKind::Set(slot, _) | StepKind::SetBits(slot, ..) => slots.push(*slot),
        StepKind::Copy(_, to, count) => slots.extend(*to..*to + *count),
        StepKind::Begin(first, count) => slots.extend(*first..*first + *count),
        StepKind::Validate(number, _) => slots.push(program.headers[*number as usize].valid),
        StepKind::Extract(number) => {
            let header = &program.headers[*number as usize];
            slots.extend((header.first..header.first + header.fields).chain([header.valid]));
        }
        StepKind::Apply(number, _, response) => {
            let count = program.externs[*number as usize].response.len() as u32;
            slots.extend(*response..*response + count);
        }
        StepKind::If(..) | StepKind::Emit(..) | StepKind::Exit => {}
    });
    slots
}

/// The block at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Parser,
    Control,
    Deparser,
}

/// What is made so far.
pub(super) struct Compiler<'p> {
    pub(super) program: &'p Program,
    pub(super) interface: &'p Interface<'p>,
    pub(super) graph: Graph,
    pub(super) flat: Flat,
    /// Operations of the block at hand.
    pub(super) ops: Vec<Op>,
    pub(super) block: Block,
    /// Fixed registers stand behind all others: the lowest of them, and those of constants.
    pub(super) lowest_fixed: Register,
    pub(super) constants: HashMap<(u128, bool), Register>,
    /// By place: the register in which a block finds it when it begins.
    pub(super) inputs: BTreeMap<Slot, Register>,
    /// The first register that no way uses.
    pub(super) highest: Register,
    /// By place: the flag that tells whether it was set, of those whose reads are watched.
    pub(super) flags: HashMap<Slot, usize>,
    /// Values that somebody has wanted.
    pub(super) wanted: HashSet<NodeId>,
    /// By site: the values of its answer.
    answers: Vec<Vec<NodeId>>,
    pub(super) reads: Reads,
    pub(super) splits: u32,
    /// How many ways that must meet again are under way.
    pub(super) meetings: u32,
    unique: u32,
    pub(super) depth: u32,
    /// There are more registers than fit.
    pub(super) is_full: bool,
    /// Bits of the packet that ways part by.
    pub(super) asked: Vec<Asked>,
    /// Such bits whose values are told when the control begins, and those that were looked at since.
    pub(super) told: Vec<NodeId>,
    pub(super) looked: usize,
}

impl Flat {
    /// Compiles a program.
    ///
    /// # Errors
    /// The program has more operations or values than fit.
    pub fn compile(program: &Program, interface: &Interface) -> Result<Self, String> {
        // Ways that stay apart make faster and longer programs.
        let plain = Compiler::compile(program, interface, MOST_SPLITS, &[]);
        let Ok((flat, mut asked)) = plain else {
            return Compiler::compile(program, interface, 0, &[]).map(|(flat, _)| flat);
        };
        let Some(Op::JumpIfByteClear { at: first, .. } | Op::JumpIfByteAny { at: first, .. }) =
            flat.control.first()
        else {
            return Ok(flat);
        };
        asked.retain(|asked| asked.at == *first);
        if !(LEAST_ASKED..=MOST_ASKED).contains(&asked.len()) {
            return Ok(flat);
        }
        let switched = Compiler::compile(program, interface, MOST_SPLITS, &asked);
        let switched = switched.ok().filter(|(it, _)| it.control.len() <= MOST_SWITCHED);
        Ok(switched.map_or(flat, |(switched, _)| switched))
    }
}

impl<'p> Compiler<'p> {
    fn compile(
        program: &'p Program,
        interface: &'p Interface<'p>,
        splits: u32,
        asked: &[Asked],
    ) -> Result<(Flat, Vec<Asked>), String> {
        let mut compiler = Self {
            program,
            interface,
            graph: Graph::default(),
            flat: Flat::new(program),
            ops: Vec::new(),
            block: Block::Control,
            lowest_fixed: super::EXCHANGE as Register,
            constants: HashMap::new(),
            inputs: BTreeMap::new(),
            highest: 0,
            flags: HashMap::new(),
            wanted: HashSet::new(),
            answers: Vec::new(),
            reads: Reads::of(program, interface),
            splits,
            meetings: 0,
            unique: 0,
            depth: 0,
            is_full: false,
            asked: Vec::new(),
            told: Vec::new(),
            looked: 0,
        };
        compiler.find_flags();
        compiler.reserve();
        let begin = compiler.control_state();
        match asked {
            [] => _ = compiler.walk(begin, &program.control, None),
            asked => compiler.by_byte(&begin, asked),
        }
        compiler.flat.control = std::mem::take(&mut compiler.ops);
        compiler.block = Block::Parser;
        compiler.splits = splits;
        compiler.parser();
        compiler.flat.parser = std::mem::take(&mut compiler.ops);
        let asked = std::mem::take(&mut compiler.asked);
        compiler.finish().map(|flat| (flat, asked))
    }

    fn finish(mut self) -> Result<Flat, String> {
        for (site, answers) in self.flat.sites.iter_mut().zip(&self.answers) {
            for (register, node) in site.response.iter_mut().zip(answers) {
                *register = register.filter(|_| self.wanted.contains(node));
            }
        }
        let most = usize::from(u16::MAX);
        let longest = self.flat.operations().into_iter().max().unwrap_or(0);
        let flat = &self.flat;
        let lists = [flat.sites.len(), flat.wide.len(), flat.plans.len(), flat.keys.len()];
        let lists = lists.into_iter().chain([flat.pairs.len(), flat.bits.len()]);
        if lists.fold(longest, usize::max) >= most {
            return Err(format!("the program has more than {most} operations"));
        }
        if self.is_full || self.highest > self.lowest_fixed {
            let most = super::EXCHANGE;
            return Err(format!("the program holds more than {most} values of 64 bits at a time"));
        }
        self.flat.find_line();
        self.flat.find_sending();
        Ok(self.flat)
    }

    /// Makes a flag for each place of which a read may come before a write.
    fn find_flags(&mut self) {
        let program = self.program;
        let mut note = |value: &Value| {
            value.visit(&mut |part| {
                if let ValueKind::Slot { slot, may_be_unset: true, .. } = part.kind {
                    let next = program.slots.len() + self.flags.len();
                    self.flags.entry(slot).or_insert(next);
                }
            });
        };
        let states = program.states.iter().map(|state| &state.steps[..]);
        for steps in states.chain([&program.control[..], &program.deparser[..]]) {
            visit(steps, &mut |step| {
                if let StepKind::Set(_, value)
                | StepKind::SetBits(_, _, value)
                | StepKind::If(value, ..) = &step.kind
                {
                    note(value);
                }
            });
        }
        program.states.iter().flat_map(|state| &state.on).for_each(note);
    }

    /// Gives registers to what others read.
    fn reserve(&mut self) {
        self.flat.zero = self.constant(0, 64);
        for slot in self.interface.parsed {
            self.input(*slot);
        }
        for slot in self.interface.decided {
            let register = self.fixed(0, self.program.slots[*slot as usize].width);
            self.flat.decided.push((*slot, register));
        }
    }

    /// Says what is known when the control begins: what the parser has written stands in registers, and
    /// what the architecture tells; all else is 0.
    fn control_state(&mut self) -> State {
        let mut state = self.empty_state();
        let mut carried = self.interface.inputs.to_vec();
        for parser in &self.program.states {
            carried.extend(written(self.program, &parser.steps));
        }
        self.carry(&mut state, &carried);
        for (slot, bit) in self.interface.fields {
            let width = self.program.slots[*slot as usize].width;
            state.values[*slot as usize] = self.graph.number(Kind::Field(*bit), width);
            self.flag(&mut state, *slot, true);
        }
        for header in self.interface.valid {
            let slot = self.program.headers[*header as usize].valid;
            state.values[slot as usize] = self.graph.constant(1, 1);
        }
        state.sure_bytes = self.interface.record_bytes;
        state
    }

    /// Lets places, and their flags, hold what they do when the block begins.
    pub(super) fn carry(&mut self, state: &mut State, slots: &[Slot]) {
        for &slot in slots {
            for at in [Some(slot), self.flags.get(&slot).map(|flag| *flag as Slot)] {
                let Some(at) = at else { continue };
                let width = self.graph.width(state.values[at as usize]);
                state.values[at as usize] = self.graph.number(Kind::Input(at), width);
            }
        }
    }

    pub(super) fn empty_state(&mut self) -> State {
        let widths = self.program.slots.iter().map(|slot| slot.width);
        let mut values: Vec<NodeId> = widths.map(|width| self.graph.constant(0, width)).collect();
        let unset = self.graph.constant(0, 1);
        values.resize(values.len() + self.flags.len(), unset);
        State {
            values,
            facts: Vec::new(),
            placed: HashMap::new(),
            next: 0,
            taken: 0,
            sure_bytes: 0,
            sent: Vec::new(),
        }
    }

    /// Ends the block at hand.
    pub(super) fn end(&mut self, mut state: State) {
        if self.block == Block::Deparser {
            self.send(&mut state);
            self.ops.push(Op::Accept);
            return;
        }
        let mut decided = Vec::new();
        for (slot, register) in self.flat.decided.clone() {
            let value = state.values[slot as usize];
            let value = self.known(&state, value);
            if self.graph.as_constant(value) != Some(0) {
                decided.push((value, register));
            }
        }
        // One alone is not forgotten before.
        if let [(slot, to)] = self.flat.decided[..] {
            let value =
                decided.first().map_or(Some(0), |(value, _)| self.graph.as_constant(*value));
            if let Some(value) = value.and_then(|value| u16::try_from(value).ok())
                && !self.interface.deparses
            {
                self.ops.push(Op::AcceptWith { to, value });
                return;
            }
            if decided.is_empty() {
                let width = self.program.slots[slot as usize].width;
                decided.push((self.graph.constant(0, width), to));
            }
        }
        for (value, register) in decided {
            self.put(&mut state, value, register);
        }
        if !self.interface.deparses {
            self.ops.push(Op::Accept);
            return;
        }
        self.block = Block::Deparser;
        self.walk(state, &self.program.deparser, None);
        self.block = Block::Control;
    }

    pub(super) fn step(&mut self, state: &mut State, step: &'p Step) {
        match &step.kind {
            StepKind::Set(slot, value) => {
                let node = self.node(state, value);
                self.set(state, *slot, node);
            }
            StepKind::SetBits(slot, low, value) => {
                let new = self.node(state, value);
                let node = self.graph.set_bits(state.values[*slot as usize], new, *low);
                self.set(state, *slot, node);
            }
            StepKind::Copy(from, to, count) => {
                let row = *from as usize..(*from + *count) as usize;
                state.values.copy_within(row, *to as usize);
                (*to..*to + *count).for_each(|slot| self.flag(state, slot, true));
            }
            StepKind::Validate(number, valid) => {
                let slot = self.program.headers[*number as usize].valid;
                state.values[slot as usize] = self.graph.constant(u128::from(*valid), 1);
            }
            StepKind::Extract(number) => self.extract(state, *number),
            StepKind::Apply(number, request, response) => {
                self.apply(state, *number, *request, *response);
            }
            StepKind::Begin(first, count) => {
                for slot in *first..*first + *count {
                    let width = self.program.slots[slot as usize].width;
                    state.values[slot as usize] = self.graph.constant(0, width);
                    self.flag(state, slot, false);
                }
            }
            StepKind::Emit(number, _) => self.emit(state, *number),
            StepKind::If(..) | StepKind::Exit => unreachable!("ways part and end in `walk`"),
        }
    }

    fn set(&mut self, state: &mut State, slot: Slot, node: NodeId) {
        if self.graph.depth(node) > DEEPEST {
            self.place(state, node);
        }
        state.values[slot as usize] = node;
        self.flag(state, slot, true);
    }

    fn apply(&mut self, state: &mut State, number: u32, request: Slot, response: Slot) {
        let external = &self.program.externs[number as usize];
        let mut asks = Vec::new();
        for (n, slot) in (request..).take(external.request.len()).enumerate() {
            let at = (number as usize, n);
            let node = self.known(state, state.values[slot as usize]);
            let kind = self.graph.get(node).kind;
            let is_source = |source| {
                kind == Kind::Input(source)
                    || self
                        .interface
                        .fields
                        .iter()
                        .any(|of| kind == Kind::Field(of.1) && of.0 == source)
            };
            let mut known = self.interface.known.iter();
            let is_known =
                known.any(|(unit, field, source)| (*unit, *field) == at && is_source(*source));
            let is_told = !is_known && !self.interface.unread.contains(&at);
            asks.push(is_told.then(|| self.place(state, node)));
        }
        let (mut registers, mut nodes) = (Vec::new(), Vec::new());
        for slot in (response..).take(external.response.len()) {
            let width = self.program.slots[slot as usize].width;
            let register = self.fresh(state, width);
            let node = self.fixed_node(register, width);
            state.values[slot as usize] = node;
            self.flag(state, slot, true);
            registers.push(Some(register));
            nodes.push(node);
        }
        let site = self.flat.sites.len().min(usize::from(u16::MAX)) as u16;
        self.flat.sites.push(Site {
            external: number as usize,
            request: asks,
            response: registers,
        });
        self.answers.push(nodes);
        self.ops.push(Op::Ask { site });
    }

    /// Gives a node for what stands in a register from now on.
    pub(super) fn fixed_node(&mut self, register: Register, width: u32) -> NodeId {
        self.unique += 1;
        self.graph.number(Kind::Fixed(register, self.unique), width)
    }

    /// Takes note that a place is set, or not set any more.
    fn flag(&mut self, state: &mut State, slot: Slot, set: bool) {
        if let Some(flag) = self.flags.get(&slot) {
            state.values[*flag] = self.graph.constant(u128::from(set), 1);
        }
    }
}
