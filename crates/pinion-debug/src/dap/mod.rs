//! The Debug Adapter Protocol: what editors such as VS Code speak with a debugger, on the same run that
//! gdb's stub serves.
//!
//! HPUs are threads, numbered from 1. All of them stop together. Nothing can be written: a debugged run is
//! the run. An editor asks for a launch first; what it asks for before is refused in words.
//!
//! | part | file |
//! |---|---|
//! | messages | `wire.rs` |
//! | from the connection to the launch | `greeting.rs` |
//! | who answers which request | `requests.rs` |
//! | breakpoints of all kinds | `breakpoints.rs`; their conditions, `clauses.rs` |
//! | continue and pause, forward and back; what stopped it | `running.rs` |
//! | steps by line | `stepping.rs` |
//! | threads, calls, scopes | `frames.rs` |
//! | variables and expressions | `variables.rs` |
//! | memory and instructions | `memory.rs` |

mod breakpoints;
mod clauses;
mod frames;
mod greeting;
mod memory;
mod requests;
mod running;
mod stepping;
mod variables;
mod wire;

use std::io::{Read, Write};
use std::path::PathBuf;

use pinion_app::error::{Error, Result};
use pinion_isa::elf::Image;
use pinion_observe::fault::Program;
use pinion_observe::fault::program::Code;
use serde::Deserialize;

use crate::Timeline;
use crate::console::{Console, Why};
use crate::session::Ended;
use crate::symbols::Symbols;
use requests::Session;
use wire::Wire;

/// What an editor's launch configuration says.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Launch {
    /// The application's folder.
    pub app: String,
    /// Further words of `pinion debug`.
    #[serde(default)]
    pub args: Vec<String>,
    /// The folder that paths in it begin at.
    pub cwd: Option<PathBuf>,
    /// Whether to stop before anything has happened.
    #[serde(default)]
    stop_on_entry: bool,
    /// Whether to stop nowhere.
    #[serde(default)]
    no_debug: bool,
}

/// An application whose run is to be debugged.
pub struct Launched {
    /// The run.
    pub timeline: Timeline,
    /// The program's file.
    pub elf: PathBuf,
    /// What of it is loaded.
    pub image: Image,
    /// What its instructions are.
    pub code: Code,
    /// Addresses at which handlers begin.
    pub entries: Vec<u64>,
    /// Tells why a packet or message took so long.
    pub why: Why,
    /// What there is to say of it.
    pub notices: Vec<String>,
}

/// Makes of a launch configuration what is debugged.
pub type Launcher<'l> = dyn FnMut(&Launch) -> Result<Launched> + 'l;

/// Serves an editor until it ends the session.
///
/// # Errors
/// When what comes is not the protocol.
pub fn serve(
    input: impl Read + Send + 'static,
    out: impl Write + 'static,
    launcher: &mut Launcher<'_>,
) -> Result<Ended> {
    let mut wire = Wire::new(input, out);
    let (launch, launched) = match greeting::greet(&mut wire, launcher)? {
        greeting::Greeted::Launched(launch, launched) => (launch, launched),
        greeting::Greeted::Ended(ended) => return Ok(ended),
    };
    let Launched { timeline, elf, image, code, entries, why, notices } = *launched;
    let file = pinion_input::bytes(&elf).map_err(|error| Error::file("read", &elf, error))?;
    let program = Program::new(&image, file, code);
    let symbols = Symbols::new(&program);
    let console = Console::new(timeline, why);
    Session::new(console, &symbols, wire, entries, &launch).run(notices)
}
