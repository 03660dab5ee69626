//! P4 programs as packet pipelines: a front end for the P4-16 that the nanoPU's published transports are
//! written in.
//!
//! The nanoPU paper (§3.1) puts a programmable pipeline between pins and NIC; NanoTransport (SOSR 2021)
//! wrote NDP and Homa for it. Their programs have a parser, a control and a deparser, and externs that stand
//! for the NIC's units and for registers; ours may have match-action tables ([`table`]), and controls for events
//! other than a packet's arrival. This crate knows nothing of a NIC: it reads and checks such programs,
//! says how many stages they take, and makes them executable.
//!
//! The way of a program: [`preprocessor`] (files to words, by the [`lexer`]), [`parser`] (words to a
//! tree, [`syntax`]), [`check`] (the tree to a [`program`]), [`flow`] (what may be read where). Each
//! adds to the [`diagnostic`]s, and an error in one place keeps the rest from being looked at as
//! little as possible.
//!
//! ```
//! use pinion_p4::{library::Library, load};
//!
//! let checked = load("no_such.p4", &Library);
//! assert!(checked.is_err());
//! ```

pub mod check;
pub mod diagnostic;
pub mod explain;
pub mod flat;
pub mod flow;
pub mod graph;
pub mod lexer;
pub mod library;
pub mod lnic;
pub mod parser;
pub mod preprocessor;
pub mod program;
pub mod source;
pub mod stages;
pub mod syntax;
pub mod table;
pub mod types;

use diagnostic::{Diagnostic, Diagnostics};
use preprocessor::Files;
use program::Program;
use source::Sources;

/// A program that was read, with what is wrong with it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Its files.
    pub sources: Sources,
    /// What is wrong with it.
    pub found: Diagnostics,
    /// The program, if nothing is wrong with it and it has a `main`; a file of declarations has none.
    pub program: Option<Program>,
}

/// Reads and checks a program.
///
/// # Errors
/// What is in the way of reading the file itself; what is wrong in it stands in the result.
pub fn load(name: &str, files: &dyn Files) -> Result<Checked, String> {
    let (mut sources, mut found) = (Sources::default(), Diagnostics::default());
    let read = preprocessor::read(name, files, &mut sources, &mut found)?;
    let tree = parser::parse(&read.words, &mut found);
    if read.lacks_files {
        // What the file declares would be unknown wherever it is used, and nothing of that be worth reading.
        return Ok(Checked { sources, found, program: None });
    }
    let mut program = check::check(&tree, &mut found);
    if found.errors() == 0
        && let Some(program) = &mut program
    {
        follow(program, &mut found);
        program.events.iter_mut().for_each(|event| follow(&mut event.program, &mut found));
    }
    let program = program.filter(|_| found.errors() == 0);
    Ok(Checked { sources, found, program })
}

/// Follows the ways of a pipeline, or of an event's control, and finds its stages.
fn follow(program: &mut Program, found: &mut Diagnostics) {
    flow::check(program, found);
    match stages::stages(program) {
        Ok(stages) => program.stages = stages,
        Err(number) => {
            let external = &program.externs[number];
            let message = format!("{} waits for itself", external.name);
            let help = "ask the externs in the same order everywhere: a pipeline has one";
            found.push(Diagnostic::error(external.span, message).help(help));
        }
    }
}
