//! Code that this computer executes, and who makes it.

use std::ffi::c_void;
use std::fmt;

use cranelift_frontend::FunctionBuilderContext;

use crate::Error;
use crate::code::{Compiler, Pages};
use crate::generate::function;
use crate::left::{Counts, Left, STEP_SHIFT};
use crate::region::Region;

/// Most steps of a region: their numbers fit an exit.
const MOST_STEPS: usize = 1 << (u64::BITS - STEP_SHIFT);

/// Whether code can be made here.
pub const AVAILABLE: bool = true;

/// What a block's code is, by [`Compiler::convention`].
#[cfg(target_arch = "x86_64")]
type Entry = extern "sysv64" fn(&mut [u32; 32], &mut [u8; 4], u64, &mut u64, &mut Counts) -> Left;
#[cfg(not(target_arch = "x86_64"))]
type Entry = extern "C" fn(&mut [u32; 32], &mut [u8; 4], u64, &mut u64, &mut Counts) -> Left;

/// Holds a region's code.
#[derive(Clone)]
pub struct Block {
    entry: Entry,
    /// Where that lies; it stays for as long as somebody may call it.
    _pages: Pages,
}

impl Block {
    /// Executes the region on a hart's registers, until it is left, which a jump does that ends `budget`
    /// cycles or more after its begin. The first step accesses `word`, if it [does so](crate::What::Touch).
    /// What is executed is added to `retired`.
    #[inline(always)]
    pub fn execute(
        &self,
        x: &mut [u32; 32],
        word: &mut [u8; 4],
        budget: u64,
        retired: &mut u64,
        counts: &mut Counts,
    ) -> Left {
        (self.entry)(x, word, budget, retired, counts)
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Block at {:#x}", self.entry as usize)
    }
}

impl Clone for Translator {
    fn clone(&self) -> Self {
        Self { compiler: self.compiler.clone(), builder: FunctionBuilderContext::new() }
    }
}

/// Makes blocks of regions.
pub struct Translator {
    compiler: Compiler,
    builder: FunctionBuilderContext,
}

impl fmt::Debug for Translator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Translator with {:?}", self.compiler)
    }
}

impl Translator {
    /// Makes a translator for this computer.
    ///
    /// # Errors
    /// When Cranelift does not know it.
    pub fn new() -> Result<Self, Error> {
        let compiler = Compiler::new(&[("opt_level", "none")])?;
        Ok(Self { compiler, builder: FunctionBuilderContext::new() })
    }

    /// Translates a region, which has a step at least.
    ///
    /// # Errors
    /// When there is nothing to translate, or no executable memory.
    pub fn translate(&mut self, region: &Region) -> Result<Block, Error> {
        if region.steps.is_empty() || region.steps.len() > MOST_STEPS {
            let problem = format!("a region of {} instructions", region.steps.len());
            return Err(Error::Generate(problem));
        }
        let function = function(region, self.compiler.convention(), &mut self.builder);
        let pages = self.compiler.compile(function)?;
        // SAFETY: the pages hold a whole function that Cranelift made of `region` for this computer, with
        // the parameters and results of `Entry`: pointers to 32 words, to the bytes of one, to a count and to
        // counts, which it reads and writes within their bounds alone. They are never written again, and
        // `_pages` keeps them.
        let entry = unsafe { std::mem::transmute::<*const c_void, Entry>(pages.entry()) };
        Ok(Block { entry, _pages: pages })
    }
}
