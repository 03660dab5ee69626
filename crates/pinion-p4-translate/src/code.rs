//! Code of a control, and who makes it.

use std::ffi::c_void;
use std::sync::Arc;

use cranelift_frontend::FunctionBuilderContext;
use pinion_p4::flat::{Code, Entry, Flat};
use pinion_p4::lnic::unit::Unit;
use pinion_translate::{Compiler, Error};

use crate::forms::Request;
use crate::generate::function;

/// Whether code can be made here.
pub const AVAILABLE: bool = true;

/// Cranelift's settings. Indices of its tables are numbers of operations, none of somebody else's secrets.
const SETTINGS: [(&str, &str); 2] =
    [("opt_level", "speed"), ("enable_table_access_spectre_mitigation", "false")];

/// Translates a program.
pub fn translate(flat: &Flat, asked: &[Unit]) -> Result<(), Error> {
    let requests: Vec<_> = asked.iter().map(Request::of).collect();
    let control = flat.control();
    let mut compiler = Compiler::new(&SETTINGS)?;
    let mut context = FunctionBuilderContext::new();
    let (function, record_bytes) =
        function(&control, (&flat.sites, &requests), compiler.convention(), &mut context);
    let pages = compiler.compile(function)?;
    // SAFETY: the pages hold a whole function that Cranelift made of `control` for this computer, with the
    // parameters and results of `Entry`. It reads and writes words of the registers, whose numbers are below
    // their count, and reads the first `record_bytes` bytes of the record, of which `Packet` sees to it that
    // they are there. What it calls are the first `FORMS` functions that its third parameter, a `Call`, begins
    // with, with that and the registers, which nobody else has meanwhile. The pages are never written again, and
    // `Code` keeps them.
    let entry = unsafe { std::mem::transmute::<*const c_void, Entry>(pages.entry()) };
    flat.set_code(Code::new(entry, record_bytes, Arc::new(pages)));
    Ok(())
}
