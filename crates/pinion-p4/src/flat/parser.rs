//! The parser: each way through its states is followed with the places of its headers known. If there are
//! too many ways, each state is made once, and what it has taken out is put where the others look for it.

use super::Op;
use super::branch::{Exits, Holds};
use super::compile::{Block, Compiler, State, written};
use crate::graph::{Kind, NodeId};
use crate::program::{Program, Slot, StepKind, Target, visit};
use crate::stages::fewest_headers;

/// Most ways through the parser that are followed one by one.
const MOST_WAYS: u64 = 64;

/// A way that is still to be followed.
struct Job {
    exits: Exits,
    state: State,
    number: usize,
    /// What the state's transition looks at, and the case that is tried next; none if the state has not
    /// begun.
    on: Option<(Vec<NodeId>, usize)>,
}

impl Job {
    fn begin(number: usize, state: State) -> Self {
        Self { exits: Exits::default(), state, number, on: None }
    }
}

impl Compiler<'_> {
    pub(super) fn parser(&mut self) {
        debug_assert_eq!(self.block, Block::Parser);
        self.flat.fewest_bytes = fewest_headers(self.program) as usize / 8;
        let mut begin = self.empty_state();
        let inputs = self.interface.inputs;
        self.carry(&mut begin, inputs);
        if ways(self.program) <= MOST_WAYS {
            begin.sure_bytes = self.flat.fewest_bytes as u32;
            self.follow_states(vec![Job::begin(0, begin)], None);
            return;
        }
        // What states read that others have set has a register, which is 0 at first.
        for state in &self.program.states {
            let mut reads: Vec<Slot> = Vec::new();
            visit(&state.steps, &mut |step| {
                if let StepKind::Set(_, value) | StepKind::SetBits(_, _, value) = &step.kind {
                    value.reads(&mut |slot| reads.push(slot));
                }
                if let StepKind::SetBits(slot, ..) = &step.kind {
                    reads.push(*slot);
                }
                if let StepKind::Copy(from, _, count) = &step.kind {
                    reads.extend(*from..*from + *count);
                }
            });
            state.on.iter().for_each(|value| value.reads(&mut |slot| reads.push(slot)));
            for slot in reads {
                self.input(slot);
                if let Some(header) = self.program.slots[slot as usize].header {
                    self.input(self.program.headers[header as usize].valid);
                }
                if let Some(flag) = self.flags.get(&slot).copied() {
                    self.input(flag as Slot);
                }
            }
        }
        let mut any = begin.clone();
        for state in &self.program.states {
            let slots = written(self.program, &state.steps);
            self.carry(&mut any, &slots);
        }
        self.spill(&mut begin, &any.values);
        let jobs = (0..self.program.states.len()).rev();
        let jobs = jobs.map(|number| Job::begin(number, any.clone())).collect();
        self.follow_states(jobs, Some(vec![0; self.program.states.len()]));
    }

    /// Follows ways through states; each state is made once if there are places for their beginnings.
    fn follow_states(&mut self, mut jobs: Vec<Job>, mut starts: Option<Vec<usize>>) {
        let mut leads: Vec<(usize, usize)> = Vec::new();
        while let Some(job) = jobs.pop() {
            job.exits.land(&mut self.ops);
            let (mut state, mut number, mut on) = (job.state, job.number, job.on);
            let program = self.program;
            loop {
                let (values, case) = match on.take() {
                    Some(on) => on,
                    None => {
                        if let Some(starts) = &mut starts {
                            starts[number] = self.ops.len();
                        }
                        self.meetings += 1;
                        let end = self.walk(state, &program.states[number].steps, None);
                        self.meetings -= 1;
                        let Some(end) = end else { break };
                        state = end;
                        let on = &program.states[number].on;
                        let on = on.iter().map(|value| self.node(&mut state, value)).collect();
                        (on, 0)
                    }
                };
                let Some(next) = program.states[number].cases.get(case) else {
                    self.ops.push(Op::Reject);
                    break;
                };
                let mut exits = Exits::default();
                let holds = self.fits(&mut state, &values, &next.keys, &mut exits);
                if holds == Holds::No {
                    on = Some((values, case + 1));
                    continue;
                }
                if holds == Holds::Depends {
                    let missed = exits.state(&mut self.graph, &state);
                    jobs.push(Job { exits, state: missed, number, on: Some((values, case + 1)) });
                }
                match next.to {
                    Target::Reject => {
                        self.ops.push(Op::Reject);
                        break;
                    }
                    Target::Accept => {
                        self.leave(state);
                        self.ops.push(Op::Accept);
                        break;
                    }
                    Target::State(next) if starts.is_some() => {
                        self.leave(state);
                        leads.push((self.jump(), next));
                        break;
                    }
                    Target::State(next) => number = next,
                }
            }
        }
        for (jump, number) in leads {
            let start = starts.as_ref().map_or(0, |starts| starts[number]);
            self.ops[jump] = Op::Jump { to: start.min(usize::from(u16::MAX)) as u16 };
        }
    }

    /// Leaves what was taken out where others look for it.
    fn leave(&mut self, mut state: State) {
        let inputs: Vec<Slot> = self.inputs.keys().copied().collect();
        let mut target = state.values.clone();
        for slot in inputs {
            let width = self.graph.width(target[slot as usize]);
            target[slot as usize] = self.graph.number(Kind::Input(slot), width);
        }
        self.spill(&mut state, &target);
        if state.taken > 0 {
            let bytes = (state.taken / 8).min(u32::from(u16::MAX)) as u16;
            self.ops.push(Op::Take { bytes });
        }
    }

    /// Puts values into the registers of those places that are looked for there.
    fn spill(&mut self, state: &mut State, wanted: &[NodeId]) {
        let moved: Vec<(NodeId, Slot)> = wanted
            .iter()
            .zip(&state.values)
            .filter(|(wanted, value)| wanted != value)
            .filter_map(|(wanted, value)| match self.graph.get(*wanted).kind {
                Kind::Input(slot) if self.inputs.contains_key(&slot) => Some((*value, slot)),
                _ => None,
            })
            .collect();
        // First all is computed, so that nothing is overwritten before it was read.
        let mut moves = Vec::new();
        for (node, slot) in moved {
            let node = self.known(state, node);
            let node = match self.graph.get(node).kind {
                Kind::Constant(_) | Kind::Field(_) => node,
                _ => {
                    let width = self.graph.width(node);
                    let register = self.fresh(state, width);
                    self.put(state, node, register);
                    self.fixed_node(register, width)
                }
            };
            moves.push((node, slot));
        }
        for (node, slot) in moves {
            let register = self.input(slot);
            self.put(state, node, register);
        }
    }
}

/// Counts the ways through a parser.
fn ways(program: &Program) -> u64 {
    let mut known: Vec<Option<u64>> = vec![None; program.states.len()];
    let mut open = vec![0];
    while let Some(&number) = open.last() {
        let cases = &program.states[number].cases;
        let unknown = cases.iter().find_map(|case| match case.to {
            Target::State(next) if known[next].is_none() && !open.contains(&next) => Some(next),
            _ => None,
        });
        if let Some(next) = unknown {
            open.push(next);
            continue;
        }
        let count = cases.iter().fold(1u64, |sum, case| {
            sum.saturating_add(match case.to {
                Target::State(next) => known[next].unwrap_or(1),
                _ => 0,
            })
        });
        known[number] = Some(count);
        open.pop();
    }
    known[0].unwrap_or(1)
}
