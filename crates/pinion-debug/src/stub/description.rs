//! The target description: which registers there are, under gdb's names and numbers.

use gdbstub::target::TargetResult;
use gdbstub::target::ext::target_description_xml_override::TargetDescriptionXmlOverride;

use super::Debugged;
use super::arch::{FIRST_CSR, FLOAT_CSRS, PRIVILEGE};
use crate::debuggee::Debuggee;
use crate::terms::Width;

/// Integer registers in the order of their numbers.
const NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// Names of the CSRs that gdb counts among those, in the order of their numbers.
const FLOAT_CSR_NAMES: [&str; 3] = ["fflags", "frm", "fcsr"];

/// Registers of floating point, likewise.
const FLOATS: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2",
    "fa3", "fa4", "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9",
    "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
];

fn description(machine: &dyn Debuggee) -> String {
    let (name, bits) = match machine.width() {
        Width::Rv32 => ("rv32", 32),
        Width::Rv64 => ("rv64", 64),
    };
    let mut text = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">\
         <architecture>riscv:{name}</architecture><osabi>none</osabi>\
         <feature name=\"org.gnu.gdb.riscv.cpu\">",
    );
    let register = |name: &str, bits: u32, kind: &str, number: usize| {
        format!("<reg name=\"{name}\" bitsize=\"{bits}\" type=\"{kind}\" regnum=\"{number}\"/>")
    };
    for (number, name) in NAMES.iter().enumerate() {
        let kind = match *name {
            "sp" | "gp" | "tp" | "fp" => "data_ptr",
            "ra" => "code_ptr",
            _ => "int",
        };
        text += &register(name, bits, kind, number);
    }
    text += &register("pc", bits, "code_ptr", NAMES.len());
    if machine.width() == Width::Rv64 {
        text += "</feature><feature name=\"org.gnu.gdb.riscv.fpu\">";
        for (number, name) in (NAMES.len() + 1..).zip(FLOATS) {
            text += &register(name, 64, "ieee_double", number);
        }
        for (name, number) in FLOAT_CSR_NAMES.into_iter().zip(FLOAT_CSRS) {
            text += &register(name, 32, "int", FIRST_CSR + usize::from(number));
        }
    }
    text += "</feature><feature name=\"org.gnu.gdb.riscv.csr\">";
    for (name, number) in machine.csrs() {
        if !FLOAT_CSRS.contains(number) {
            text += &register(name, bits, "int", FIRST_CSR + usize::from(*number));
        }
    }
    text += "</feature><feature name=\"org.gnu.gdb.riscv.virtual\">";
    text += &register("priv", 8, "int", PRIVILEGE);
    text += "</feature></target>";
    text
}

impl<const BYTES: usize> TargetDescriptionXmlOverride for Debugged<BYTES> {
    fn target_description_xml(
        &self,
        _: &[u8],
        offset: u64,
        length: usize,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let text = description(self.console.timeline.machine());
        let rest = text.as_bytes().get(offset as usize..).unwrap_or(&[]);
        let count = rest.len().min(length).min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}
