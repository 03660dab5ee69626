//! Code that this computer executes, and who makes it.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, lookup};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use memmap2::{Mmap, MmapMut};
use target_lexicon::Triple;

use crate::Error;
use crate::generate::function;
use crate::left::{Counts, Left, STEP_SHIFT};
use crate::region::Region;

/// Most steps of a region: their numbers fit an exit.
const MOST_STEPS: usize = 1 << (u64::BITS - STEP_SHIFT);

/// Whether code can be made here.
pub const AVAILABLE: bool = true;

/// What a block's code is. The convention is the same wherever Pinion runs on x86-64, so that two words
/// come back in registers.
#[cfg(target_arch = "x86_64")]
type Entry = extern "sysv64" fn(&mut [u32; 32], u64, u64, &mut Counts) -> Left;
#[cfg(not(target_arch = "x86_64"))]
type Entry = extern "C" fn(&mut [u32; 32], u64, u64, &mut Counts) -> Left;

/// Holds a region's code.
#[derive(Clone)]
pub struct Block {
    entry: Entry,
    /// Where that lies; it stays for as long as somebody may call it.
    _pages: Arc<Mmap>,
}

impl Block {
    /// Executes the region on a hart's registers from cycle `now` on, until it is left, which a jump
    /// does that ends at `yields_at` or later.
    #[inline(always)]
    pub fn execute(
        &self,
        x: &mut [u32; 32],
        now: u64,
        yields_at: u64,
        counts: &mut Counts,
    ) -> Left {
        (self.entry)(x, now, yields_at, counts)
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Block at {:#x}", self.entry as usize)
    }
}

impl Clone for Translator {
    fn clone(&self) -> Self {
        let (context, builder) = (Context::new(), FunctionBuilderContext::new());
        Self { isa: self.isa.clone(), context, builder }
    }
}

/// Makes blocks of regions.
pub struct Translator {
    isa: OwnedTargetIsa,
    context: Context,
    builder: FunctionBuilderContext,
}

impl fmt::Debug for Translator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Translator to {}", self.isa.triple())
    }
}

impl Translator {
    /// Makes a translator for this computer.
    ///
    /// # Errors
    /// When Cranelift does not know it.
    pub fn new() -> Result<Self, Error> {
        let failed = |problem: &dyn fmt::Display| Error::Generate(problem.to_string());
        let mut flags = settings::builder();
        for (name, value) in [("opt_level", "none"), ("enable_verifier", "false")] {
            flags.set(name, value).map_err(|problem| failed(&problem))?;
        }
        let isa = lookup(Triple::host())
            .map_err(|problem| failed(&problem))?
            .finish(settings::Flags::new(flags))
            .map_err(|problem| failed(&problem))?;
        Ok(Self { isa, context: Context::new(), builder: FunctionBuilderContext::new() })
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
        let convention = match cfg!(target_arch = "x86_64") {
            true => CallConv::SystemV,
            false => self.isa.default_call_conv(),
        };
        self.context.clear();
        self.context.func = function(region, convention, &mut self.builder);
        let mut control = ControlPlane::default();
        let code = self
            .context
            .compile(&*self.isa, &mut control)
            .map_err(|problem| Error::Generate(format!("{:?}", problem.inner)))?;
        if !code.buffer.relocs().is_empty() {
            return Err(Error::Generate("the code refers to something beside itself".to_owned()));
        }
        let bytes = code.code_buffer();
        let mut pages = MmapMut::map_anon(bytes.len())?;
        pages[..bytes.len()].copy_from_slice(bytes);
        let pages = pages.make_exec()?;
        forget_stale(&pages);
        // SAFETY: the pages hold a whole function that Cranelift made of `region` for this computer, with
        // the parameters and results of `Entry`: pointers to 32 words and to counts, which it reads and
        // writes within their bounds alone. They are never written again, and `_pages` keeps them.
        let entry = unsafe { std::mem::transmute::<*const c_void, Entry>(pages.as_ptr().cast()) };
        Ok(Block { entry, _pages: Arc::new(pages) })
    }
}

/// Sees to it that no processor executes what was at the pages' addresses before.
#[cfg(target_arch = "aarch64")]
fn forget_stale(pages: &Mmap) {
    // SAFETY: the compiler's own runtime library has it, with these parameters, on every AArch64.
    unsafe extern "C" {
        fn __clear_cache(start: *const c_void, end: *const c_void);
    }
    let range = pages.as_ptr_range();
    // SAFETY: the range is that of the pages, which are mapped; nothing in them changes.
    unsafe { __clear_cache(range.start.cast(), range.end.cast()) }
}

/// Sees to nothing: these processors do that themselves.
#[cfg(not(target_arch = "aarch64"))]
fn forget_stale(_: &Mmap) {}
