//! Where fields stand in a frame. In: a program. Out: by place the bit at which it stands in every frame
//! that the parser takes, as the parser leaves it.

use super::fields::HEAD_BYTES;
use crate::program::{Program, Slot, Step, StepKind, Target, visit};

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
        let mut may_extract = false;
        for step in &state.steps {
            if let StepKind::If(_, then, otherwise) = &step.kind {
                let mut note =
                    |step: &Step| may_extract |= matches!(step.kind, StepKind::Extract(_));
                visit(then, &mut note);
                visit(otherwise, &mut note);
            }
        }
        if may_extract {
            return none();
        }
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
            StepKind::Validate(number, _) => {
                let header = &program.headers[number as usize];
                at[header.first as usize..(header.first + header.fields) as usize].fill(None);
            }
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

/// Lists the fields that are sent, with the bit of the frame from which each is.
pub(super) fn sent(program: &Program) -> Vec<(Slot, u32)> {
    let (mut bit, mut places) = (0, Vec::new());
    visit(&program.deparser, &mut |step| {
        if let StepKind::Emit(number, _) = step.kind {
            let header = &program.headers[number as usize];
            for slot in header.first..header.first + header.fields {
                places.push((slot, bit));
                bit += program.slots[slot as usize].width;
            }
        }
    });
    places
}

/// What the control of a program finds in each frame that its parser takes.
#[derive(Default)]
pub(super) struct Head {
    /// Headers that are valid.
    pub valid: Vec<u32>,
    /// Their fields, with the bit of each, that are among the frame's first bytes and as they came.
    pub fields: Vec<(Slot, u32)>,
}

impl Head {
    /// Finds it, of places that [`places`] has found.
    pub(super) fn of(program: &Program, places: &[Option<u32>]) -> Self {
        let mut head = Self::default();
        for (number, header) in (0..).zip(&program.headers) {
            let slots = header.first..header.first + header.fields;
            let place = |slot: Slot| Some((slot, places[slot as usize]?));
            // A field of a header that some frames lack is at no bit of every frame, and a header that is made
            // otherwise than by taking it out of the frame has none that stands there.
            let all: Option<Vec<_>> = slots.map(place).collect();
            let Some(all) = all.filter(|all| !all.is_empty()) else { continue };
            let is_near = |(slot, bit): &(Slot, u32)| {
                bit + program.slots[*slot as usize].width <= 8 * HEAD_BYTES as u32
            };
            head.fields.extend(all.into_iter().filter(is_near));
            head.valid.push(number);
        }
        head
    }
}
