//! Which steps of a region are jumped to, which registers it must read before it begins, and which it has
//! written where it is left.

use std::collections::HashMap;

use crate::region::{Operand, Region, Step, What};

/// A bit for each register.
pub type Registers = u32;

/// Holds what is known of a region's registers.
pub struct Dataflow {
    /// By place: which step it is.
    pub index: HashMap<u32, usize>,
    /// By step: whether somebody jumps to it, or several come to it.
    pub begins: Vec<bool>,
    /// By step: registers that may have been written before it.
    pub written: Vec<Registers>,
    /// Registers whose values the region needs as they are when it begins.
    pub needed: Registers,
    /// Whether a step may be executed twice.
    pub loops: bool,
}

/// Gives the bit of a register; x0 has none.
fn bit(register: u8) -> Registers {
    (1 << (register & 31)) & !1
}

/// Gives the registers that a step reads, and those it writes.
pub fn touched(step: &Step) -> (Registers, Registers) {
    let read = |operand: Operand| match operand {
        Operand::Register(register) => bit(register),
        Operand::Constant(_) => 0,
    };
    match step.what {
        What::Compute { rd, a, b, .. } => (read(a) | read(b), bit(rd)),
        What::Branch { a, b, .. } => (bit(a) | bit(b), 0),
        What::Jump { rd, .. } => (0, bit(rd)),
        What::Access { base, .. } => (bit(base), 0),
        What::Touch { rd, rs2, .. } => (bit(rs2), bit(rd)),
    }
}

/// Gives the places that may follow a step.
fn successors(step: &Step) -> impl Iterator<Item = u32> {
    let places = match step.what {
        What::Compute { .. } | What::Touch { .. } => [Some(step.next), None],
        What::Branch { target, .. } => [Some(target.place), Some(step.next)],
        What::Jump { target, .. } => [Some(target.place), None],
        What::Access { .. } => [None, None],
    };
    places.into_iter().flatten()
}

/// Says whether a step may lead to itself: whoever has no predecessor left goes, until nobody is left.
fn loops(steps: &[Step], index: &HashMap<u32, usize>) -> bool {
    let behind = |step: &Step| -> Vec<usize> {
        successors(step).filter_map(|place| index.get(&place).copied()).collect()
    };
    let mut before = vec![0; steps.len()];
    for next in steps.iter().flat_map(behind) {
        before[next] += 1;
    }
    let mut free: Vec<usize> = (0..steps.len()).filter(|&at| before[at] == 0).collect();
    let mut gone = 0;
    while let Some(at) = free.pop() {
        gone += 1;
        for next in behind(&steps[at]) {
            before[next] -= 1;
            if before[next] == 0 {
                free.push(next);
            }
        }
    }
    gone < steps.len()
}

impl Dataflow {
    /// Looks at a region.
    pub fn new(region: &Region) -> Self {
        let steps = &region.steps;
        // Nobody comes back to the access at the front: it would be another one.
        let goes_on = |(_, step): &(usize, &Step)| !matches!(step.what, What::Touch { .. });
        let numbered = steps.iter().enumerate().filter(goes_on);
        let index: HashMap<u32, usize> = numbered.map(|(at, step)| (step.place, at)).collect();
        let mut begins = vec![false; steps.len()];
        let mut comes = vec![false; steps.len()];
        comes[0] = true;
        for step in steps {
            let straight = !matches!(step.what, What::Jump { .. } | What::Access { .. });
            let next = index.get(&step.next).filter(|_| straight);
            if let Some(&next) = next {
                begins[next] |= std::mem::replace(&mut comes[next], true);
            }
            if let What::Branch { target, .. } | What::Jump { target, .. } = step.what
                && let Some(&at) = index.get(&target.place)
            {
                begins[at] = true;
            }
        }
        let mut written = vec![0; steps.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (at, step) in steps.iter().enumerate() {
                let after = written[at] | touched(step).1;
                for next in successors(step).filter_map(|place| index.get(&place)) {
                    changed |= written[*next] | after != written[*next];
                    written[*next] |= after;
                }
            }
        }
        // Who leaves writes back what may have been written, and needs its value.
        let mut live: Vec<Registers> = vec![0; steps.len()];
        changed = true;
        while changed {
            changed = false;
            for (at, step) in steps.iter().enumerate().rev() {
                let (reads, writes) = touched(step);
                let leaving = written[at] | writes;
                let behind = match step.what {
                    What::Access { .. } => leaving,
                    _ => successors(step)
                        .map(|place| index.get(&place).map_or(leaving, |&next| live[next]))
                        .fold(0, |all, one| all | one),
                };
                // A jump that reaches its last cycle leaves, wherever it goes.
                let behind = match step.what {
                    What::Branch { .. } | What::Jump { .. } => behind | leaving,
                    _ => behind,
                };
                let before = reads | behind & !writes;
                changed |= before != live[at];
                live[at] = before;
            }
        }
        let loops = loops(steps, &index);
        let needed = live.first().copied().unwrap_or(0);
        Self { index, begins, written, needed, loops }
    }
}
