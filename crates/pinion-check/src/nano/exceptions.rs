//! Exceptions that end a nanoservice: an access to where no memory is, an instruction that is none.
//!
//! A program may come back from one: the SDK's runtime does from the first use of the floating-point
//! unit, a program's own trap handler from others. What a hart never came back from is a finding.

use pinion_isa::{Cause, Class, Instruction};
use pinion_nanopu::Cycle;
use pinion_observe::check::{Deed, Kind, Who};

use super::{NanoChecker, Step};

/// An exception.
#[derive(Clone, Copy, Debug)]
pub struct Exception {
    /// The cycle.
    pub at: Cycle,
    /// The instruction.
    pub pc: u64,
    /// `mcause`.
    pub cause: u32,
    /// `mtval`: for an access, its address.
    pub value: u64,
}

impl NanoChecker {
    /// Notes an exception, until the hart comes back from it.
    pub(super) fn excepted(&mut self, hart: usize, exception: Exception) {
        let cause = Cause::from_mcause(u64::from(exception.cause));
        let is_call = matches!(
            cause,
            Some(Cause::EnvironmentCallFromUser | Cause::EnvironmentCallFromMachine)
        );
        self.hands_over(hart);
        if !is_call {
            // What a handler of exceptions does wrong itself comes of the first.
            self.exceptions.entry(hart).or_insert(exception);
        }
    }

    /// Reports the exceptions that harts never came back from.
    pub(super) fn tell_exceptions(&mut self) {
        let mut taken: Vec<_> = self.exceptions.drain().collect();
        taken.sort_by_key(|(hart, exception)| (exception.at, *hart));
        for (hart, Exception { at, pc, cause, value }) in taken {
            let i = self.program.instruction(pc).unwrap_or(Instruction::illegal(0, 0));
            let step = Step { hart, at, pc: pc as u32, i, values: [0; 3], result: 0 };
            let known = Cause::from_mcause(u64::from(cause));
            let (deed, bytes) = match (known, i.class) {
                (Some(Cause::LoadAccessFault | Cause::LoadMisaligned), _) => {
                    (Deed::Read, u32::from(i.access_bytes()))
                }
                (Some(Cause::StoreAccessFault | Cause::StoreMisaligned), Class::Amo) => {
                    (Deed::Atomic, u32::from(i.access_bytes()))
                }
                (Some(Cause::StoreAccessFault | Cause::StoreMisaligned), _) => {
                    (Deed::Write, u32::from(i.access_bytes()))
                }
                _ => (Deed::Execute, 0),
            };
            let name = known.map_or_else(|| format!("cause {cause}"), |cause| cause.to_string());
            let memory = (bytes > 0).then_some((value, bytes));
            let mut seen = self.seen(&step, deed);
            if bytes == 0 {
                // Nobody's call led to code that is none: the place itself is what there is to say.
                seen.pc = pc;
            }
            debug_assert!(matches!(seen.who, Who::Hart { .. }));
            let lines = &self.program.lines;
            self.findings.add(lines, (Kind::Exception, memory), seen, None, || Some(name));
        }
    }
}
