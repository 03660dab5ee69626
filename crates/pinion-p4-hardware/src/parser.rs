//! The parser as a circuit: each state once for each place in the packet at which it may begin, so that every
//! field stands at a place that is known.

use std::collections::BTreeMap;

use super::design::{Builder, Design, LENGTH_BITS, State, WORD_BITS};
use pinion_p4::flow::order;
use pinion_p4::graph::{Kind, NodeId};
use pinion_p4::program::{Binary, Key, StepKind, Target, mask};
use pinion_p4::stages::fewest_headers;

/// Most pairs of a state and a place that it begins at.
const MOST_PLACES: usize = 1024;

impl Builder<'_> {
    /// Follows the parser; gives what is known of a packet that it takes.
    pub(super) fn parse(&mut self) -> Result<State, String> {
        let program = self.program;
        let begin = self.begin();
        let fewest = fewest_headers(program);
        let (mut chosen, mut accepted) = (self.constant(1, 1), None);
        if fewest > 0 {
            self.short = self.is_shorter(fewest);
            chosen = self.not(self.short);
        }
        let mut arriving = BTreeMap::from([((0, 0), (chosen, begin.clone()))]);
        let mut places = 0;
        for number in order(&program.states) {
            // A state leads to later ones alone.
            let (first, last) = ((number, 0), (number, u32::MAX));
            let here: Vec<_> = arriving.range(first..=last).map(|(key, _)| *key).collect();
            for key in here {
                places += 1;
                if places > MOST_PLACES {
                    return Err(format!(
                        "its parser begins states at more than {MOST_PLACES} places of a packet; let ways \
                         with the same headers meet"
                    ));
                }
                let Some((chosen, state)) = arriving.remove(&key) else { continue };
                for (target, chosen, at, state) in self.state(number, key.1, chosen, state)? {
                    match target {
                        Target::Reject => {}
                        Target::State(next) => {
                            let before = arriving.remove(&(next, at));
                            let met = self.join(before, chosen, state);
                            arriving.insert((next, at), met);
                        }
                        Target::Accept => {
                            let bytes = self.constant((at / 8).into(), LENGTH_BITS);
                            self.payload = match accepted {
                                None => bytes,
                                Some(_) => self.choice(chosen, bytes, self.payload),
                            };
                            accepted = Some(self.join(accepted, chosen, state));
                        }
                    }
                }
            }
        }
        let (taken, state) = accepted.unwrap_or((self.constant(0, 1), begin));
        self.taken = taken;
        self.name(self.taken, "is_taken");
        self.name(self.short, "is_short");
        self.note_times();
        Ok(state)
    }

    fn join(
        &mut self,
        before: Option<(NodeId, State)>,
        chosen: NodeId,
        state: State,
    ) -> (NodeId, State) {
        match before {
            None => (chosen, state),
            Some((also, other)) => {
                let state = self.meet(chosen, &state, &other);
                (self.or(also, chosen), state)
            }
        }
    }

    fn is_shorter(&mut self, bits: u32) -> NodeId {
        let length = self.graph.number(Kind::Input(Design::length(self.program)), LENGTH_BITS);
        let bytes = self.constant((bits / 8).into(), LENGTH_BITS);
        self.graph.binary(Binary::Less, length, bytes, 1)
    }

    /// Follows a state that begins at a place; gives where it leads, on which condition, and what is
    /// known there.
    #[allow(clippy::type_complexity)]
    fn state(
        &mut self,
        number: usize,
        mut at: u32,
        mut chosen: NodeId,
        mut values: State,
    ) -> Result<Vec<(Target, NodeId, u32, State)>, String> {
        let program = self.program;
        let state = &program.states[number];
        let fewest = fewest_headers(program);
        self.floor = (at.saturating_sub(1) / WORD_BITS).min(program.stages.parser);
        for step in &state.steps {
            let StepKind::Extract(number) = step.kind else {
                self.steps(std::slice::from_ref(step), &mut values, chosen)?;
                continue;
            };
            let header = &program.headers[number as usize];
            values.values[header.valid as usize] = self.constant(1, 1);
            for slot in header.first..header.first + header.fields {
                let info = &program.slots[slot as usize];
                let node = self.graph.number(Kind::Field(at), info.width);
                self.name(node, &info.name);
                values.values[slot as usize] = node;
                at += info.width;
            }
            self.floor = (at.saturating_sub(1) / WORD_BITS).min(program.stages.parser);
            if at > fewest {
                let is_short = self.is_shorter(at);
                let is_missed = self.and(chosen, is_short);
                self.short = self.or(self.short, is_missed);
                let is_there = self.not(is_short);
                chosen = self.and(chosen, is_there);
            }
        }
        let on: Vec<NodeId> = state.on.iter().map(|value| self.value(value, &values)).collect();
        let mut leads = Vec::new();
        for case in &state.cases {
            let mut fits = self.constant(1, 1);
            for (key, of) in case.keys.iter().zip(&on) {
                let one = self.fits(*key, *of);
                fits = self.and(fits, one);
            }
            let taken = self.and(chosen, fits);
            leads.push((case.to, taken, at, values.clone()));
            let missed = self.not(fits);
            chosen = self.and(chosen, missed);
        }
        self.note_times();
        Ok(leads)
    }

    /// Compares a value with a key.
    fn fits(&mut self, key: Key, of: NodeId) -> NodeId {
        let width = self.graph.width(of);
        let all = mask(u128::MAX, width);
        match key {
            Key::Any => self.constant(1, 1),
            Key::Mask(number, bits) => {
                let bits = bits & all;
                let mask = self.constant(bits, width);
                let masked = self.graph.binary(Binary::And, of, mask, width);
                let number = self.constant(number & bits, width);
                self.graph.binary(Binary::Equal, masked, number, 1)
            }
            Key::Range(first, last) => {
                let (lowest, highest) = (self.constant(first, width), self.constant(last, width));
                let yes = self.constant(1, 1);
                let above = match first {
                    0 => yes,
                    _ => self.graph.binary(Binary::LessEqual, lowest, of, 1),
                };
                let below = match last < all {
                    true => self.graph.binary(Binary::LessEqual, of, highest, 1),
                    false => yes,
                };
                self.and(above, below)
            }
        }
    }
}
