//! A program as hardware: a pipeline in plain SystemVerilog that takes a header in every cycle. In: a checked
//! program. Out: the text of a module, and its ports.
//!
//! A packet's headers come with `in_valid`; a word moves in a cycle in which `valid` and `ready` are both
//! up. Externs are ports to the units beside the pipeline, each with its request in the stage that `pinion p4
//! explain` tells; register arrays are inside. While a unit is not ready, or owes an answer, the
//! whole pipeline waits. Controls of events are modules beside it ([`Whole`]); a register array that
//! several controls reach stands between them, in a module around all.

mod arrays;
mod design;
mod names;
mod nic;
mod parser;
mod shared;
mod together;
mod values;
mod vectors;
mod verilog;
mod whole;

pub use nic::InNic;
pub use together::Together;
pub use vectors::Vectors;
pub use whole::{Around, Control, Whole};

use design::{Design, WORD_BITS};
use pinion_p4::program::{Program, Slot};
use shared::Shared;

/// The module of register arrays, which modules with any want beside them.
pub const REGISTER_ARRAY: &str = include_str!("../../../hardware/rtl/nanopu/register_array.sv");

/// Entries of a register array, unless a parameter says otherwise.
const ENTRIES: usize = 64;
/// What the paper's transport carries (nanoPU, §4.2: 200 Gbit/s), and how long a packet may take in it.
const PAPER_MBIT_S: u32 = 200_000;
const PAPER_NS: u32 = 10;

/// How an extern answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// By ports.
    Port,
    /// It does not: it is an event.
    None,
    /// The extern is part of the pipeline.
    Inside,
    /// A register array beside the pipeline, which others reach too: it moves as the pipeline does.
    Beside,
}

/// Ports of an extern.
#[derive(Clone, Debug)]
pub struct UnitPorts {
    /// Number of the extern.
    pub external: usize,
    /// Its name, with which those of its ports begin.
    pub name: String,
    /// Cycle of its request.
    pub from: u32,
    /// Cycle of its answer.
    pub to: u32,
    /// How it answers.
    pub answer: Answer,
    /// It is a register array.
    pub is_array: bool,
    /// Its request, by field: the port and its bits.
    pub request: Vec<(String, u32)>,
    /// Its answer.
    pub response: Vec<(String, u32)>,
}

impl UnitPorts {
    /// Tells whether it is reached by ports, `valid` and `ready`.
    pub fn is_port(&self) -> bool {
        matches!(self.answer, Answer::Port | Answer::None)
    }
}

/// Ports of a pipeline.
#[derive(Clone, Debug)]
pub struct Ports {
    /// Cycles from `in_valid` to `out_valid` if nobody waits.
    pub cycles: u32,
    /// Bits of `in_header`: the longest headers. If it is 0, packets come from inside.
    pub header_bits: u32,
    /// Metadata that is read: place, port, bits.
    pub inputs: Vec<(Slot, String, u32)>,
    /// Metadata that is written.
    pub outputs: Vec<(Slot, String, u32)>,
    /// Externs that are asked.
    pub units: Vec<UnitPorts>,
    /// Bits of `out_header`: all headers that the deparser may send.
    pub sent_bits: u32,
}

impl Ports {
    /// Tells whether there are register arrays inside.
    fn has_arrays(&self) -> bool {
        self.units.iter().any(|unit| unit.is_array && unit.answer == Answer::Inside)
    }
}

/// A program as hardware.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// Name of the module.
    pub module: String,
    /// Its text.
    pub text: String,
    /// Its ports.
    pub ports: Ports,
}

impl Hardware {
    /// Makes the hardware of a program, or of an event's control, as a module of this name; `shared` are
    /// register arrays that other controls reach, too.
    ///
    /// # Errors
    /// What of the program has no hardware.
    fn module(
        program: &Program,
        module: String,
        file: &str,
        shared: &[Shared],
    ) -> Result<Self, String> {
        let design = Design::of(program, shared)?;
        for (request, external) in design.requests.iter().zip(&program.externs) {
            let Some(request) = request else { continue };
            let known = |node: &u32| design.times[*node as usize] <= request.from;
            if !known(&request.asked) || !request.fields.iter().all(known) {
                return Err(format!("{} is asked before its request is known", external.name));
            }
        }
        let about = about(program, &module, file);
        let (text, ports) = verilog::write(program, &design, &module, &about, shared);
        Ok(Self { module, text, ports })
    }

    /// Tells whether it has register arrays, and wants [`REGISTER_ARRAY`] beside it.
    pub fn has_arrays(&self) -> bool {
        self.ports.has_arrays()
    }

    /// Gives the MHz from which a 64-byte word a cycle is the paper's 200 Gbit/s.
    pub fn rate_mhz(&self) -> u32 {
        PAPER_MBIT_S.div_ceil(WORD_BITS)
    }

    /// Gives the MHz above which a packet takes less than the paper's 10 ns.
    pub fn latency_mhz(&self) -> u32 {
        self.ports.cycles * (1000 / PAPER_NS)
    }
}

/// Makes a module's name of a file's: its folder's and its own.
fn module_name(file: &str) -> String {
    let mut parts = file.rsplit(['/', '\\']);
    let own = parts.next().unwrap_or("").trim_end_matches(".p4");
    let folder = parts.next().filter(|folder| !folder.is_empty() && !folder.starts_with('.'));
    let name = folder.map_or(own.to_owned(), |folder| format!("{folder}_{own}"));
    format!("p4_{}", names::plain(&name))
}

/// Writes what a module is, to its reader.
fn about(program: &Program, module: &str, file: &str) -> String {
    let [parser, control, deparser] = &program.blocks;
    let cycles = program.stages.cycles.max(1);
    let own = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let headers = match pinion_p4::stages::longest_headers(program) {
        0 => "packets come from inside, with their metadata.",
        _ => {
            "the first bytes of a frame in `in_header`, byte 0 the highest, and its bytes in `in_length`;\n\
             //          what is behind the frame's end is of no concern."
        }
    };
    let blocks = match parser.is_empty() {
        true => format!("{control}, which handles an event, and {deparser}"),
        false => format!("{parser}, {control} and {deparser}"),
    };
    format!(
        "// {module}: {blocks} of {own}, made by `pinion p4 hardware`.\n//\n\
         // In:      {headers}\n\
         //          `in_meta_params_…` must not change while packets are inside.\n\
         // Out:     {cycles} cycles later what the program made of it. Ports of externs: a request leaves\n\
         //          if `valid` and `ready` are up, and is answered in order, not before its cycle; `ready` must\n\
         //          not depend on `valid` in the same cycle.\n\
         // Latency: {cycles} cycles, a header a cycle, while nobody waits.\n"
    )
}
