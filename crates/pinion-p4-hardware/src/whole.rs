//! All controls of a program as hardware: a module for its packets, one for each event, and, if register arrays
//! have ports to several of them, a module around all, in which these arrays stand. In: a checked program. Out: modules.

use super::names::range;
use super::shared::{ORDER, Shared};
use super::verilog::{self, Port};
use super::{Answer, ENTRIES, Hardware, module_name};
use pinion_p4::program::Program;

/// A control, as a module of its own.
#[derive(Clone, Debug)]
pub struct Control<'p> {
    /// What it does.
    pub program: &'p Program,
    /// What it handles: `packet`, or the event's name.
    pub name: &'static str,
    /// The module.
    pub hardware: Hardware,
}

/// The module around all controls.
#[derive(Clone, Debug)]
pub struct Around {
    /// Its name.
    pub module: String,
    /// Its text.
    pub text: String,
    /// Register arrays in it.
    pub arrays: usize,
    /// By array: the controls that reach it, and the extern there.
    pub(super) shared: Vec<Vec<(usize, usize)>>,
}

/// All controls of a program as hardware.
#[derive(Clone, Debug)]
pub struct Whole<'p> {
    /// The packets' control, and those of events in the order in which the model lets them happen in one cycle.
    pub controls: Vec<Control<'p>>,
    /// What stands around them, if any register array is reached by several.
    pub around: Option<Around>,
}

impl<'p> Whole<'p> {
    /// Makes the hardware of a program from a file of this name.
    ///
    /// # Errors
    /// What of the program has no hardware.
    pub fn of(program: &'p Program, file: &str) -> Result<Self, String> {
        let own = module_name(file);
        let mut named = vec![(program, "packet", own.clone())];
        for kind in ORDER {
            for event in program.events.iter().filter(|event| event.kind == kind) {
                named.push((&event.program, kind.name(), format!("{own}_on_{}", kind.name())));
            }
        }
        let programs: Vec<&Program> = named.iter().map(|(program, ..)| *program).collect();
        let shared = Shared::of(&programs)?;
        let mut controls = Vec::new();
        for (program, name, module) in named {
            let hardware = Hardware::module(program, module, file, &shared)?;
            controls.push(Control { program, name, hardware });
        }
        let around = (!shared.is_empty()).then(|| around(&controls, &shared, &own, file));
        Ok(Self { controls, around })
    }

    /// Tells whether it has register arrays, and wants [`REGISTER_ARRAY`](super::REGISTER_ARRAY) beside it.
    pub fn has_arrays(&self) -> bool {
        self.around.is_some() || self.controls.iter().any(|one| one.hardware.has_arrays())
    }
}

/// Writes the module around all controls.
fn around(controls: &[Control], shared: &[Shared], own: &str, file: &str) -> Around {
    let module = format!("{own}_all");
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let mut lists = Vec::new();
    for control in controls {
        let list = verilog::port_list(&control.hardware.ports, shared, control.program);
        lists.push(list);
    }
    let is_own = |name: &str| name != "clock" && name != "reset";
    let mut ports = vec![Port::outer("input ", 1, "clock"), Port::outer("input ", 1, "reset")];
    for (control, list) in controls.iter().zip(&lists) {
        for port in list.iter().filter(|port| is_own(&port.name) && !port.is_inner) {
            let name = format!("{}_{}", control.name, port.name);
            ports.push(Port::outer(port.way, port.bits, &name));
        }
    }
    let mut text = format!(
        "// {module}: all controls of {file}, with the register arrays that several of them reach; made by\n\
         // `pinion p4 hardware`.\n//\n\
         // In:      of each control what its module wants, under its name: packets, events in the cycle in which they\n\
         //          happen.\n\
         // Out:     what each control makes of it.\n\
         // Latency: as its module's. What controls do to a register in one cycle follows in the order of these:\n\
         //          {}.\n\
         `default_nettype none\n\n\
         module {module} #(\n    // Entries of each register array.\n    parameter integer ENTRIES = {ENTRIES}\n) (\n",
        controls.iter().map(|control| control.name).collect::<Vec<_>>().join(", ")
    );
    text += &verilog::declarations(&ports);
    for (control, list) in controls.iter().zip(&lists) {
        for port in list.iter().filter(|port| port.is_inner) {
            text += &format!("    wire {}{}_{};\n", range(port.bits), control.name, port.name);
        }
    }
    for (control, list) in controls.iter().zip(&lists) {
        let parameters = match control.hardware.has_arrays() {
            true => " #(\n        .ENTRIES(ENTRIES)\n    )",
            false => "",
        };
        text += &format!("\n    {}{parameters} {} (\n", control.hardware.module, control.name);
        let connected = list.iter().map(|port| match is_own(&port.name) {
            true => format!("        .{0}({1}_{0})", port.name, control.name),
            false => format!("        .{0}({0})", port.name),
        });
        text += &(connected.collect::<Vec<_>>().join(",\n") + "\n    );\n");
    }
    for array in shared {
        text += &format!(
            "\n    register_array #(\n        {}\n    ) {} (\n        .clock(clock), .reset(reset)",
            array.parameters(),
            array.name
        );
        // The last stands highest.
        let of_all = |port: &str| {
            let wires = array.ports.iter().rev().map(|(control, external)| {
                let control = &controls[*control];
                let units = &control.hardware.ports.units;
                let unit = units.iter().find(|unit| unit.external == *external);
                let unit = unit.map_or("", |unit| unit.name.as_str());
                format!("{}_{unit}_{port}", control.name)
            });
            wires.collect::<Vec<_>>().join(", ")
        };
        for (port, _) in array.request() {
            text += &format!(",\n        .{port}({{{}}})", of_all(port));
        }
        text += &format!(",\n        .new_value({{{}}})\n    );\n", of_all("new_value"));
    }
    text += "endmodule\n\n`default_nettype wire\n";
    let ports = shared.iter().map(|array| array.ports.clone()).collect();
    Around { module, text, arrays: shared.len(), shared: ports }
}

impl Control<'_> {
    /// Tells whether it reaches register arrays that others reach, too.
    pub fn shares(&self) -> bool {
        self.hardware.ports.units.iter().any(|unit| unit.answer == Answer::Beside)
    }
}
