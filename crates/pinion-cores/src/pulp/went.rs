//! Where a core spends its time on its way to the next access.

use pinion_isa::{Class, Instruction};

use super::Core;
use super::run_ahead::Watch;

/// Most stretches of such a way that are told apart.
const MOST_STRETCHES: usize = 64;

/// What a core goes through: where it jumps to, or comes to behind what no block has, and how many
/// instructions it executes from there.
#[derive(Debug, Default)]
pub struct Went {
    /// Where each stretch begins, and its instructions.
    pub stretches: Vec<(u32, u64)>,
    at: usize,
    /// All instructions.
    pub instructions: u64,
}

impl Watch for Went {
    const WATCHES: bool = true;
    /// Where the next instruction of the stretch is; `None`: it ends.
    type Before = Option<u32>;

    fn before(&mut self, core: &Core, instruction: &Instruction) -> Option<u32> {
        let pc = core.hart.pc;
        if self.instructions == 0 {
            self.begin(pc);
        }
        (instruction.class != Class::Div).then(|| pc.wrapping_add(u32::from(instruction.length)))
    }

    fn executed(&mut self, next: Option<u32>, core: &Core, _: u64) {
        self.instructions += 1;
        if let Some((_, instructions)) = self.stretches.get_mut(self.at) {
            *instructions += 1;
        }
        if next != Some(core.hart.pc) {
            self.begin(core.hart.pc);
        }
    }
}

impl Went {
    /// Goes on from a place.
    fn begin(&mut self, pc: u32) {
        let known = self.stretches.iter().position(|&(other, _)| other == pc);
        self.at = known.unwrap_or(self.stretches.len());
        if known.is_none() && self.at < MOST_STRETCHES {
            self.stretches.push((pc, 0));
        }
    }
}
