//! Which places matter. In: a program, and the places that somebody reads behind it. Out: which are read
//! at all, which always hold the same number, and which only repeat another one.

use crate::program::{Program, Slot, Step, StepKind, Value, ValueKind, visit};

/// Says what is known of each place.
#[derive(Debug)]
pub(super) struct Uses {
    /// It is read by something that matters.
    pub live: Vec<bool>,
    /// It always holds this number when it is read.
    pub constant: Vec<Option<u128>>,
    /// It holds what another one does.
    pub same_as: Vec<Option<Slot>>,
}

/// How a place is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Never,
    /// Always with this number.
    Constant(u128),
    /// Once, with another place's value.
    Slot(Slot),
    /// Otherwise.
    Somehow,
}

impl Uses {
    /// Looks at a whole program.
    pub(super) fn of(program: &Program, outputs: &[Slot]) -> Self {
        let count = program.slots.len();
        let mut written = vec![Written::Never; count];
        let mut extracted = vec![false; count];
        let blocks = || {
            let states = program.states.iter().map(|state| &state.steps[..]);
            states.chain([&program.control[..], &program.deparser[..]])
        };
        blocks().for_each(|steps| {
            visit(steps, &mut |step| note_write(program, step, &mut written, &mut extracted));
        });
        // The architecture has written metadata before.
        for (first, number) in &program.regions[1..] {
            for slot in *first..*first + *number {
                if written[slot as usize] != Written::Never {
                    written[slot as usize] = Written::Somehow;
                }
            }
        }
        let mut uses = Self {
            live: vec![false; count],
            constant: vec![None; count],
            same_as: vec![None; count],
        };
        for slot in 0..count {
            let info = &program.slots[slot];
            if info.may_be_unset || extracted[slot] || outputs.contains(&(slot as Slot)) {
                continue;
            }
            match written[slot] {
                Written::Constant(value) => uses.constant[slot] = Some(value),
                // The source must not change behind the copy: it comes with the packet, or from
                // the architecture.
                Written::Slot(source)
                    if written[source as usize] == Written::Never
                        && program.slots[source as usize].width == info.width =>
                {
                    uses.same_as[slot] = Some(source);
                }
                _ => {}
            }
        }
        uses.find_live(program, outputs);
        uses
    }

    /// Follows what is read from what matters: outputs, conditions, externs, headers that are sent.
    fn find_live(&mut self, program: &Program, outputs: &[Slot]) {
        let mut marks: Vec<Slot> = outputs.to_vec();
        watched_headers(program, &mut marks);
        let mut feeds: Vec<Vec<Slot>> = vec![Vec::new(); program.slots.len()];
        let states = program.states.iter().map(|state| &state.steps[..]);
        for steps in states.chain([&program.control[..], &program.deparser[..]]) {
            visit(steps, &mut |step| match &step.kind {
                StepKind::Set(slot, value) | StepKind::SetBits(slot, _, value) => {
                    value.reads(&mut |read| feeds[*slot as usize].push(read));
                }
                StepKind::Copy(from, to, count) => {
                    (0..*count).for_each(|n| feeds[(*to + n) as usize].push(*from + n));
                }
                StepKind::If(condition, ..) => condition.reads(&mut |read| marks.push(read)),
                StepKind::Apply(number, request, _) => {
                    let count = program.externs[*number as usize].request.len() as u32;
                    marks.extend(*request..*request + count);
                }
                StepKind::Emit(number, certain) => {
                    let header = &program.headers[*number as usize];
                    marks.extend(header.first..header.first + header.fields);
                    if !certain {
                        marks.push(header.valid);
                    }
                }
                _ => {}
            });
        }
        for state in &program.states {
            state.on.iter().for_each(|value| value.reads(&mut |read| marks.push(read)));
        }
        while let Some(slot) = marks.pop() {
            let at = slot as usize;
            if std::mem::replace(&mut self.live[at], true) {
                continue;
            }
            if self.constant[at].is_none() {
                marks.extend(&feeds[at]);
            }
        }
    }
}

/// Lists the validities that watched reads look at.
fn watched_headers(program: &Program, marks: &mut Vec<Slot>) {
    let mut note = |value: &Value| {
        value.visit(&mut |part| {
            if let ValueKind::Slot { slot, may_be_invalid: true, .. } = part.kind
                && let Some(header) = program.slots[slot as usize].header
            {
                marks.push(program.headers[header as usize].valid);
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

fn note_write(program: &Program, step: &Step, written: &mut [Written], extracted: &mut [bool]) {
    let mut note = |slot: Slot, how: Written| {
        let known = &mut written[slot as usize];
        *known = match (*known, how) {
            (Written::Never, how) => how,
            (Written::Constant(one), Written::Constant(other)) if one == other => how,
            _ => Written::Somehow,
        };
    };
    match &step.kind {
        StepKind::Set(slot, value) => note(
            *slot,
            match value.kind {
                ValueKind::Constant(value) => Written::Constant(value),
                ValueKind::Slot { slot, may_be_invalid: false, may_be_unset: false } => {
                    Written::Slot(slot)
                }
                _ => Written::Somehow,
            },
        ),
        StepKind::SetBits(slot, ..) => note(*slot, Written::Somehow),
        StepKind::Copy(_, to, count) => {
            (*to..*to + *count).for_each(|slot| note(slot, Written::Somehow))
        }
        StepKind::Validate(number, _) => {
            note(program.headers[*number as usize].valid, Written::Somehow);
        }
        StepKind::Extract(number) => {
            let header = &program.headers[*number as usize];
            note(header.valid, Written::Somehow);
            let fields = header.first as usize..(header.first + header.fields) as usize;
            extracted[fields].fill(true);
        }
        StepKind::Apply(number, _, response) => {
            let count = program.externs[*number as usize].response.len() as u32;
            (*response..*response + count).for_each(|slot| note(slot, Written::Somehow));
        }
        _ => {}
    }
}
