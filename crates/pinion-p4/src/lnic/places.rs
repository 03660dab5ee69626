//! Where fields stand in a frame. In: a program. Out: by place the bit at which it stands in every frame
//! that the parser takes, as the parser leaves it.

use crate::program::{Program, StepKind, Target, visit};

/// Most ways through the parser that are looked at; beyond that nothing is known.
const MOST_WAYS: usize = 64;

/// Finds the bit of each field that is at the same one on all ways.
pub(super) fn places(program: &Program) -> Vec<Option<u32>> {
    let none = || vec![None; program.slots.len()];
    let mut all: Option<Vec<Option<u32>>> = None;
    let mut open = vec![(0, 0, none())];
    let mut ended = 0;
    while let Some((number, mut bit, mut at)) = open.pop() {
        let Some(state) = program.states.get(number) else { return none() };
        visit(&state.steps, &mut |step| match step.kind {
            StepKind::Extract(number) => {
                let header = &program.headers[number as usize];
                for slot in header.first..header.first + header.fields {
                    at[slot as usize] = Some(bit);
                    bit += program.slots[slot as usize].width;
                }
            }
            StepKind::Set(slot, _) | StepKind::SetBits(slot, ..) => at[slot as usize] = None,
            StepKind::Copy(_, to, count) => at[to as usize..(to + count) as usize].fill(None),
            _ => {}
        });
        for case in &state.cases {
            match case.to {
                Target::State(next) => open.push((next, bit, at.clone())),
                Target::Reject => {}
                Target::Accept => {
                    ended += 1;
                    all = Some(match all {
                        None => at.clone(),
                        Some(before) => {
                            let both = before.into_iter().zip(&at);
                            both.map(|(one, other)| one.filter(|_| one == *other)).collect()
                        }
                    });
                }
            }
        }
        if ended + open.len() > MOST_WAYS {
            return none();
        }
    }
    all.unwrap_or_else(none)
}
