//! Who makes no blocks: this computer is not known, or Pinion is built without.

use crate::Error;
use crate::left::{Counts, Left};
use crate::region::Region;

/// Whether code can be made here.
pub const AVAILABLE: bool = false;

/// There is none.
#[derive(Clone, Debug)]
pub enum Block {}

impl Block {
    /// Cannot be called: there is no block.
    pub fn execute(
        &self,
        _: &mut [u32; 32],
        _: &mut [u8; 4],
        _: u64,
        _: &mut u64,
        _: &mut Counts,
    ) -> Left {
        match *self {}
    }
}

/// Makes none.
#[derive(Clone, Debug)]
pub enum Translator {}

impl Translator {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn new() -> Result<Self, Error> {
        Err(Error::Generate("Pinion makes code on x86-64 and AArch64, with its feature jit".into()))
    }

    /// Cannot be called: there is no translator.
    ///
    /// # Errors
    /// None.
    pub fn translate(&mut self, _: &Region) -> Result<Block, Error> {
        match *self {}
    }
}
