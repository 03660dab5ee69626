//! Who reads what when: where ways of a control meet, only what is read behind that is worth keeping. In: a
//! program, and the places that others read when its control has decided. Out: by place its last read.

use std::collections::HashMap;

use super::Interface;
use crate::program::{Program, Slot, Step, StepKind, Value, ValueKind};

/// Reads of a control's places, in the order of its steps: no step is done again, so that who reads a place
/// behind another step stands behind that.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// By place: one more than the number of the last step that reads it.
    last: Vec<usize>,
    /// By where steps begin: the number of the step behind them.
    ends: HashMap<*const Step, usize>,
    steps: usize,
}

impl Reads {
    /// Looks through a program's control, and what comes behind it.
    pub(super) fn of(program: &Program, interface: &Interface) -> Self {
        let mut reads = Self { last: vec![0; program.slots.len()], ..Self::default() };
        reads.visit(program, &program.control);
        if interface.deparses {
            reads.visit(program, &program.deparser);
        }
        for slot in interface.decided {
            reads.last[*slot as usize] = usize::MAX;
        }
        reads
    }

    /// Tells whether a place may be read behind these steps, of which all are the control's.
    pub(super) fn is_read_behind(&self, slot: Slot, ways: [&[Step]; 2]) -> bool {
        let end = |steps: &[Step]| self.ends.get(&steps.as_ptr()).filter(|_| !steps.is_empty());
        let end = ways.into_iter().filter_map(end).max();
        end.is_none_or(|end| self.last[slot as usize] > *end)
    }

    fn visit(&mut self, program: &Program, steps: &[Step]) {
        for step in steps {
            self.steps += 1;
            match &step.kind {
                StepKind::Set(_, value) => self.value(program, value),
                StepKind::SetBits(slot, _, value) => {
                    self.places(*slot..*slot + 1);
                    self.value(program, value);
                }
                StepKind::Copy(from, _, count) => self.places(*from..*from + *count),
                StepKind::If(condition, then, otherwise) => {
                    self.value(program, condition);
                    self.visit(program, then);
                    self.visit(program, otherwise);
                }
                StepKind::Emit(number, _) => {
                    let header = &program.headers[*number as usize];
                    self.places(header.first..header.first + header.fields);
                    self.places(header.valid..header.valid + 1);
                }
                StepKind::Apply(number, request, _) => {
                    let fields = program.externs[*number as usize].request.len() as u32;
                    self.places(*request..*request + fields);
                }
                StepKind::Validate(..) | StepKind::Extract(_) => {}
                StepKind::Begin(..) | StepKind::Exit => {}
            }
        }
        self.ends.insert(steps.as_ptr(), self.steps);
    }

    fn places(&mut self, slots: std::ops::Range<Slot>) {
        for slot in slots {
            self.last[slot as usize] = self.steps;
        }
    }

    fn value(&mut self, program: &Program, value: &Value) {
        value.visit(&mut |part| {
            let ValueKind::Slot { slot, .. } = part.kind else { return };
            self.places(slot..slot + 1);
            // Whether its header is valid may be looked at, too.
            if let Some(header) = program.slots[slot as usize].header {
                let valid = program.headers[header as usize].valid;
                self.places(valid..valid + 1);
            }
        });
    }
}
