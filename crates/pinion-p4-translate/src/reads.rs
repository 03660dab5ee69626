//! Where code of a control may be entered, and what is read there. In: its operations. Out: by operation whether a
//! block begins with it, and by register whether its value is to be where others find it.

use std::collections::HashMap;

use pinion_p4::flat::{Control, Op, REGISTERS, Register, Site, index};

use crate::forms::{Request, Source};

/// What is known of a control's operations.
pub struct Reads {
    /// By operation: somebody jumps to it, or goes on there. The last is behind all of them.
    pub begins: Vec<bool>,
    /// By number from which the control goes on: the operation. It begins with the first.
    pub resumed: Vec<usize>,
    /// By operation: whoever comes there comes from one jump, so that what is at hand there is at hand here.
    pub comes_from_one: Vec<bool>,
    /// By register: others read it, or a block where it is not at hand.
    pub is_kept: Box<[bool; REGISTERS]>,
}

impl Reads {
    /// Looks at a control.
    pub fn of(control: &Control<'_>, sites: &[Site], requests: &[Option<Request>]) -> Self {
        let request = |site: u16| request(requests, site);
        let ops = control.ops;
        let mut begins = vec![false; ops.len() + 1];
        let mut resumed = vec![0];
        // By operation: how many others come before it.
        let mut comes = vec![0; ops.len() + 1];
        begins[ops.len()] = true;
        for (at, op) in ops.iter().enumerate() {
            for to in targets(control, *op) {
                begins[to] = true;
                comes[to] += 1;
            }
            match *op {
                Op::Ask { site } if request(site).is_some() => comes[at + 1] += 1,
                Op::Send { .. } if is_last(control, at) => {}
                Op::Ask { .. } | Op::Wide { .. } | Op::Send { .. } | Op::Watch { .. } => {
                    begins[at + 1] = true;
                    resumed.push(at + 1);
                    // From outside nothing is at hand.
                    comes[at + 1] += 2;
                }
                Op::Jump { .. } | Op::Switch { .. } => {}
                Op::Accept | Op::AcceptWith { .. } | Op::Reject => {}
                _ => comes[at + 1] += 1,
            }
        }
        let comes_from_one: Vec<bool> = comes.iter().map(|count| *count == 1).collect();
        let mut is_kept = control.is_read.clone();
        for (_, site) in (0..).zip(sites).filter(|(at, _)| request(*at).is_none()) {
            for register in site.request.iter().flatten() {
                // Of a wide value there are two.
                is_kept[index(*register)] = true;
                is_kept[index(*register + 1)] = true;
            }
        }
        // What is at hand, and by operation what is where the only jump there is.
        let mut written = Box::new([false; REGISTERS]);
        let mut at_jumps = HashMap::new();
        for (at, op) in ops.iter().enumerate() {
            if begins[at] {
                written = at_jumps.remove(&at).unwrap_or_else(|| Box::new([false; REGISTERS]));
            }
            for register in operands(control, *op).into_iter().flatten() {
                is_kept[index(register)] |= !written[index(register)];
            }
            if let Op::Ask { site } = op
                && let Some(request) = request(*site)
            {
                for (_, source) in &request.asked {
                    if let Source::Register(register) = source {
                        is_kept[index(*register)] |= !written[index(*register)];
                    }
                }
                for (_, register) in &request.told {
                    written[index(*register)] = true;
                }
            }
            if let Some(to) = op.written() {
                written[index(to)] = true;
            }
            for to in targets(control, *op).into_iter().filter(|to| comes_from_one[*to]) {
                at_jumps.insert(to, written.clone());
            }
        }
        Self { begins, resumed, comes_from_one, is_kept }
    }
}

/// Gives the request of a site, if it has a form.
pub fn request(requests: &[Option<Request>], site: u16) -> Option<&Request> {
    requests.get(usize::from(site)).and_then(Option::as_ref)
}

/// Tells whether nothing comes behind an operation.
pub fn is_last(control: &Control<'_>, at: usize) -> bool {
    matches!(control.ops.get(at + 1), Some(Op::Accept) | None)
}

/// Lists where an operation may jump to, each once.
pub fn targets(control: &Control<'_>, op: Op) -> Vec<usize> {
    let mut all: Vec<usize> = match op {
        Op::Switch { table, .. } => control.switch(table).iter().map(|to| (*to).into()).collect(),
        op => op.target().into_iter().map(usize::from).collect(),
    };
    all.iter_mut().for_each(|to| *to = (*to).min(control.ops.len()));
    all.sort_unstable();
    all.dedup();
    all
}

/// Lists the registers that an operation reads.
fn operands(control: &Control<'_>, op: Op) -> [Option<Register>; 3] {
    match op {
        Op::Move { from, .. } | Op::Slice { from, .. } => [Some(from), None, None],
        Op::Add { one, other, .. }
        | Op::Subtract { one, other, .. }
        | Op::And { one, other, .. }
        | Op::Or { one, other, .. }
        | Op::Xor { one, other, .. }
        | Op::ShiftLeft { one, other, .. }
        | Op::ShiftRight { one, other, .. }
        | Op::Equal { one, other, .. }
        | Op::Unequal { one, other, .. }
        | Op::Less { one, other, .. }
        | Op::LessEqual { one, other, .. }
        | Op::Join { one, other, .. }
        | Op::JumpIfEqual { one, other, .. }
        | Op::JumpUnlessEqual { one, other, .. }
        | Op::JumpIfLess { one, other, .. }
        | Op::JumpIfLessEqual { one, other, .. } => [Some(one), Some(other), None],
        Op::Choose { condition, pair, .. } => {
            let [one, other] = control.pair(pair);
            [condition, one, other].map(Some)
        }
        Op::SetBits { from, bits, .. } => [Some(from), Some(control.bits(bits).old), None],
        Op::JumpIfZero { condition, .. } | Op::JumpIfSet { condition, .. } => {
            [Some(condition), None, None]
        }
        Op::JumpIfClear { value, mask, .. } | Op::JumpIfAny { value, mask, .. } => {
            [Some(value), Some(mask), None]
        }
        Op::JumpIfFrameClear { mask, .. } => [Some(mask), None, None],
        Op::Watch { flag, .. } => [Some(flag), None, None],
        _ => [None; 3],
    }
}
