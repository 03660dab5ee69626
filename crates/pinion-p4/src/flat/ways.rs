//! Ways: where they part, and where they meet again. Each is followed to its end as long as there are few;
//! beyond that they meet behind each condition, and what one of them has written stands in a register
//! then.

use super::Register;
use super::branch::{Exits, Holds};
use super::compile::{Block, Compiler, State, written};
use super::place::is_watched;
use crate::graph::{Kind, NodeId};
use crate::program::{Program, Slot, Step, StepKind, Value};

/// Ways that are followed inside each other.
const DEEPEST_WAYS: u32 = 100;

/// What comes behind the steps at hand.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a, 'p> {
    steps: &'p [Step],
    behind: Option<&'a Rest<'a, 'p>>,
}

impl Rest<'_, '_> {
    fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.behind.is_none_or(Rest::is_empty)
    }
}

/// A place where ways part.
enum Fork<'p> {
    If(&'p Value, &'p [Step], &'p [Step]),
    /// A header is sent if it is valid.
    Emit(u32),
}

impl<'p> Fork<'p> {
    /// Gives the steps of both ways.
    fn steps(&self) -> [&'p [Step]; 2] {
        match self {
            Self::If(_, then, otherwise) => [then, otherwise],
            Self::Emit(_) => [&[], &[]],
        }
    }

    /// Lists the places that either way writes.
    fn written(&self, program: &Program) -> Vec<Slot> {
        match self {
            Self::If(_, then, otherwise) => {
                let mut slots = written(program, then);
                slots.extend(written(program, otherwise));
                slots
            }
            Self::Emit(_) => Vec::new(),
        }
    }
}

impl<'p> Compiler<'p> {
    /// Follows steps, and what is behind them, to the end; gives what is known there if ways are to
    /// meet again.
    pub(super) fn walk(
        &mut self,
        mut state: State,
        mut steps: &'p [Step],
        mut rest: Option<&Rest<'_, 'p>>,
    ) -> Option<State> {
        let mut at = 0;
        loop {
            let Some(step) = steps.get(at) else {
                match rest {
                    Some(next) => (steps, rest, at) = (next.steps, next.behind, 0),
                    None if self.meetings > 0 => return Some(state),
                    None => {
                        self.end(state);
                        return None;
                    }
                }
                continue;
            };
            if let Some(atom) = self.atom_of(&mut state, step) {
                self.part(state, atom, &steps[at..], rest);
                return None;
            }
            at += 1;
            let fork = match &step.kind {
                StepKind::Exit => {
                    let meetings = std::mem::take(&mut self.meetings);
                    self.end(state);
                    self.meetings = meetings;
                    return None;
                }
                StepKind::If(condition, then, otherwise) => Fork::If(condition, then, otherwise),
                StepKind::Emit(number, false) => Fork::Emit(*number),
                _ => {
                    self.step(&mut state, step);
                    continue;
                }
            };
            state = self.fork(state, &fork, &Rest { steps: &steps[at..], behind: rest })?;
        }
    }

    /// Follows two ways that part by a bool, both with the same steps before them.
    fn part(
        &mut self,
        mut state: State,
        atom: NodeId,
        steps: &'p [Step],
        rest: Option<&Rest<'_, 'p>>,
    ) {
        let mut exits = Exits::default();
        self.test_node(&mut state, atom, true, &mut exits);
        let other = exits.state(&mut self.graph, &state);
        self.splits -= 1;
        self.depth += 1;
        self.walk(state, steps, rest);
        exits.land(&mut self.ops);
        self.walk(other, steps, rest);
        self.depth -= 1;
    }

    /// Finds a bool by which ways had better part before a step: a part of its condition, or what it
    /// chooses by, or tells a unit.
    fn atom_of(&mut self, state: &mut State, step: &Step) -> Option<NodeId> {
        let may_part = self.meetings == 0 && self.splits > 0 && self.depth < DEEPEST_WAYS;
        if !may_part || self.block == Block::Parser {
            return None;
        }
        match &step.kind {
            StepKind::If(condition, ..) if !is_watched(condition) => {
                let node = self.node(state, condition);
                self.graph.atom(node).filter(|atom| *atom != self.graph.positive(node))
            }
            StepKind::Set(_, value) if !is_watched(value) => {
                let node = self.node(state, value);
                self.graph.choice_atom(node)
            }
            StepKind::Apply(number, request, _) => {
                let external = &self.program.externs[*number as usize];
                (*request..).take(external.request.len()).enumerate().find_map(|(field, slot)| {
                    let node = self.known(state, state.values[slot as usize]);
                    let is_told = !self.interface.unread.contains(&(*number as usize, field));
                    let atom = self.graph.atom(node).filter(|_| is_told)?;
                    let is_ready = matches!(
                        self.graph.get(node).kind,
                        Kind::Input(_) | Kind::Fixed(..) | Kind::Field(_)
                    );
                    (!is_ready).then_some(atom)
                })
            }
            _ => None,
        }
    }

    /// Follows both ways that part here; gives what is known where they meet, if they do before the
    /// rest.
    fn fork(&mut self, mut state: State, fork: &Fork<'p>, rest: &Rest<'_, 'p>) -> Option<State> {
        // Behind the last condition ways need not meet.
        let is_last = rest.is_empty() && !(self.block == Block::Control && self.interface.deparses);
        let may_part = self.meetings == 0 && (self.splits > 0 || is_last);
        if self.block == Block::Deparser && !may_part {
            self.send(&mut state);
        }
        let mut exits = Exits::default();
        let holds = match fork {
            Fork::If(condition, ..) => self.test(&mut state, condition, true, &mut exits),
            Fork::Emit(number) => {
                let valid = self.program.headers[*number as usize].valid;
                let valid = state.values[valid as usize];
                self.test_node(&mut state, valid, true, &mut exits)
            }
        };
        if holds != Holds::Depends {
            return self.follow(state, fork, holds == Holds::Yes, may_part.then_some(rest));
        }
        let other = exits.state(&mut self.graph, &state);
        if !may_part {
            return self.meet(state, other, fork, &exits);
        }
        self.splits -= u32::from(!is_last && self.splits > 0);
        self.follow(state, fork, true, Some(rest));
        exits.land(&mut self.ops);
        self.follow(other, fork, false, Some(rest))
    }

    /// Follows one of two ways: to the end with the rest behind it, or to where they meet.
    fn follow(
        &mut self,
        mut state: State,
        fork: &Fork<'p>,
        holds: bool,
        rest: Option<&Rest<'_, 'p>>,
    ) -> Option<State> {
        let steps = match (fork, holds) {
            (Fork::If(_, then, _), true) => then,
            (Fork::If(_, _, otherwise), false) => otherwise,
            (Fork::Emit(number), true) => {
                self.emit(&mut state, *number);
                &[][..]
            }
            (Fork::Emit(_), false) => &[][..],
        };
        if rest.is_some() && self.depth < DEEPEST_WAYS {
            self.depth += 1;
            let end = self.walk(state, steps, rest);
            self.depth -= 1;
            return end;
        }
        self.meetings += 1;
        let end = self.walk(state, steps, None);
        self.meetings -= 1;
        match (end, rest) {
            (Some(end), Some(rest)) => self.walk(end, rest.steps, rest.behind),
            (end, _) => end,
        }
    }

    /// Follows both ways until they meet: what one of them has written stands in a register then.
    fn meet(
        &mut self,
        mut state: State,
        mut other: State,
        fork: &Fork<'p>,
        exits: &Exits,
    ) -> Option<State> {
        let mut met = exits.met(&state);
        met.next = state.next.max(other.next);
        let mut written = fork.written(self.program);
        if self.block == Block::Control {
            written.retain(|slot| self.reads.is_read_behind(*slot, fork.steps()));
        }
        let flags = written.iter().filter_map(|slot| Some(*self.flags.get(slot)? as Slot));
        let flags: Vec<Slot> = flags.collect();
        written.extend(flags);
        written.sort_unstable();
        written.dedup();
        let mut meeting = Vec::new();
        for slot in written {
            let width = self.graph.width(met.values[slot as usize]);
            meeting.push((slot, self.fresh(&mut met, width), width));
        }
        (state.next, other.next) = (met.next, met.next);
        let one = self.follow(state, fork, true, None);
        let one = one.map(|end| self.arrive(end, &meeting));
        let jump = one.is_some().then(|| self.jump());
        exits.land(&mut self.ops);
        let other = self.follow(other, fork, false, None);
        let other = other.map(|end| self.arrive(end, &meeting));
        if let Some(jump) = jump {
            self.land(jump);
        }
        let taken = match (one, other) {
            (None, None) => return None,
            (Some(end), None) | (None, Some(end)) => return Some(end),
            (Some(one), Some(_)) => one.taken,
        };
        for (slot, register, width) in meeting {
            met.values[slot as usize] = self.fixed_node(register, width);
        }
        met.taken = taken;
        Some(met)
    }

    /// Puts what a way has written where it is looked for behind the meeting.
    fn arrive(&mut self, mut end: State, meeting: &[(Slot, Register, u32)]) -> State {
        if self.block == Block::Deparser {
            self.send(&mut end);
        }
        for (slot, register, _) in meeting {
            let value = end.values[*slot as usize];
            self.put(&mut end, value, *register);
        }
        end
    }
}
