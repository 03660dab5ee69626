//! Code of this computer, and the pages that it lies in.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, lookup};
use cranelift_codegen::settings::{self, Configurable};
use memmap2::{Mmap, MmapMut};
use target_lexicon::Triple;

use crate::Error;

/// Makes code of Cranelift's functions.
pub struct Compiler {
    isa: OwnedTargetIsa,
    context: Context,
}

impl fmt::Debug for Compiler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Compiler to {}", self.isa.triple())
    }
}

impl Clone for Compiler {
    fn clone(&self) -> Self {
        Self { isa: self.isa.clone(), context: Context::new() }
    }
}

/// Holds the code of a function. It stays where it is for as long as somebody has it.
#[derive(Clone, Debug)]
pub struct Pages(Arc<Mmap>);

impl Pages {
    /// Gives where the function begins.
    pub fn entry(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

impl Compiler {
    /// Makes a compiler for this computer, with Cranelift's settings.
    ///
    /// # Errors
    /// When Cranelift does not know the computer, or a setting.
    pub fn new(set: &[(&str, &str)]) -> Result<Self, Error> {
        let failed = |problem: &dyn fmt::Display| Error::Generate(problem.to_string());
        let mut flags = settings::builder();
        for (name, value) in set.iter().chain(&[("enable_verifier", "false")]) {
            flags.set(name, value).map_err(|problem| failed(&problem))?;
        }
        let isa = lookup(Triple::host())
            .map_err(|problem| failed(&problem))?
            .finish(settings::Flags::new(flags))
            .map_err(|problem| failed(&problem))?;
        Ok(Self { isa, context: Context::new() })
    }

    /// Gives how functions are called: two words come back in registers. The convention is the same wherever
    /// Pinion runs on x86-64, `sysv64`; elsewhere it is C's.
    pub fn convention(&self) -> CallConv {
        match cfg!(target_arch = "x86_64") {
            true => CallConv::SystemV,
            false => self.isa.default_call_conv(),
        }
    }

    /// Makes the code of a function that refers to nothing beside itself.
    ///
    /// # Errors
    /// When it does, Cranelift refuses it, or there is no executable memory.
    pub fn compile(&mut self, function: Function) -> Result<Pages, Error> {
        self.context.clear();
        self.context.func = function;
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
        Ok(Pages(Arc::new(pages)))
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
