//! The target description: which registers there are, under gdb's names and numbers.

use std::fmt::Write as _;

use gdbstub::target::TargetResult;
use gdbstub::target::ext::target_description_xml_override::TargetDescriptionXmlOverride;

use super::Debugged;
use crate::view::CSRS;

/// Integer registers in the order of their numbers.
const NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// Number of CSR 0 among gdb's registers of RISC-V, and that of the privilege.
const FIRST_CSR: u32 = 65;
const PRIVILEGE: u32 = FIRST_CSR + 4096;

fn description() -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">\
         <architecture>riscv:rv32</architecture><osabi>none</osabi><feature name=\"org.gnu.gdb.riscv.cpu\">",
    );
    for (number, name) in NAMES.iter().enumerate() {
        let kind = match *name {
            "sp" | "gp" | "tp" | "fp" => "data_ptr",
            "ra" => "code_ptr",
            _ => "int",
        };
        let _ = write!(
            text,
            "<reg name=\"{name}\" bitsize=\"32\" type=\"{kind}\" regnum=\"{number}\"/>"
        );
    }
    text += "<reg name=\"pc\" bitsize=\"32\" type=\"code_ptr\" regnum=\"32\"/></feature>\
             <feature name=\"org.gnu.gdb.riscv.csr\">";
    for (name, number) in CSRS {
        let number = FIRST_CSR + u32::from(number);
        let _ =
            write!(text, "<reg name=\"{name}\" bitsize=\"32\" type=\"int\" regnum=\"{number}\"/>");
    }
    let _ = write!(
        text,
        "</feature><feature name=\"org.gnu.gdb.riscv.virtual\"><reg name=\"priv\" bitsize=\"8\" \
         type=\"int\" regnum=\"{PRIVILEGE}\"/></feature></target>"
    );
    text
}

impl TargetDescriptionXmlOverride for Debugged<'_> {
    fn target_description_xml(
        &self,
        _: &[u8],
        offset: u64,
        length: usize,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let text = description();
        let rest = text.as_bytes().get(offset as usize..).unwrap_or(&[]);
        let count = rest.len().min(length).min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}
