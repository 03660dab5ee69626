//! `pinion doctor`: what is installed, what is missing, how to get it.

use std::path::Path;
use std::process::Command;

use pinion::assets;
use pinion::build::toolchain::{self, on_path};
use pinion::build::{Part, Sdk};
use pinion::error::Result;

use super::Status;
use crate::output;

/// One line of the report.
struct Finding {
    what: &'static str,
    /// What was found, or what is missing and how to get it.
    state: std::result::Result<String, String>,
    /// What it is needed for.
    why: &'static str,
}

pub fn run() -> Result<Status> {
    let sdk = Sdk::find(Part::Handlers)?;
    let gcc = toolchain::find_gcc(&sdk);
    let zig = toolchain::find_zig(&sdk);
    let native = toolchain::find_gcc(&Sdk::find(Part::Native)?);
    let has_gcc = gcc.is_some();
    let findings = [
        Finding { what: "SDK", state: Ok(sdk.dir.display().to_string()), why: "headers, runtime" },
        Finding {
            what: "machines",
            state: Ok(assets::machines().join(", ")),
            why: "what is modelled",
        },
        Finding {
            what: "RISC-V gcc",
            state: gcc
                .map(|cc| version(&cc.command))
                .ok_or_else(|| apt("gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf")),
            why: "compiles handlers (default)",
        },
        Finding { what: "picolibc", state: picolibc(), why: "comes with the gcc above" },
        Finding {
            what: "zig",
            state: zig
                .as_ref()
                .map(ToString::to_string)
                .ok_or_else(|| toolchain::zig_instructions(&sdk)),
            why: "compiles handlers without root (--cc zig)",
        },
        Finding {
            what: "host compiler",
            state: native.map(|cc| version(&cc.command)).ok_or_else(|| apt("gcc")),
            why: "compiles handlers for this computer (--engine native)",
        },
        Finding {
            what: "gdb",
            state: pinion::debug::gdb::find()
                .map(|path| path.display().to_string())
                .ok_or_else(|| apt("gdb-multiarch")),
            why: "`pinion debug`",
        },
        Finding {
            what: "qemu",
            state: program("qemu-system-riscv32", "qemu-system-misc"),
            why: "the differential tests of the cores",
        },
        Finding {
            what: "Verilator",
            state: pinion::hardware::verilator::find()
                .map(|found| format!("{} ({})", found.program.display(), found.version))
                .map_err(|error| error.to_string()),
            why: "units as hardware (`pinion run --hardware`)",
        },
        Finding { what: "tshark", state: program("tshark", "tshark"), why: "the capture tests" },
        Finding { what: "TAP", state: tap(), why: "`pinion up`" },
    ];
    let row = |finding: &Finding| {
        let (mark, text) = match &finding.state {
            Ok(found) => ("ok", found.clone()),
            Err(missing) => ("--", format!("missing; {missing}")),
        };
        vec![mark.to_owned(), finding.what.to_owned(), finding.why.to_owned(), text]
    };
    let table = output::columns(&findings.iter().map(row).collect::<Vec<_>>());
    for line in table.lines() {
        let (mark, rest) = line.split_at(2);
        let style = if mark == "ok" { output::GOOD } else { output::REMARK };
        output::print(&format!("{}{rest}\n", output::paint(style, mark)));
    }
    let verdict = match (has_gcc, zig) {
        (true, _) => "Handlers can be compiled and run.\n".to_owned(),
        (false, Some(_)) => format!(
            "Handlers can be compiled and run, by zig. The SDK and the examples need no other compiler; \
             their\ncycles are not quite those of the book, which are gcc's. Programs written for gcc \
             may want what zig has\nnot; --cc gcc, once it is installed, has it:\n{}",
            toolchain::ZIG_LACKS.map(|(what, _)| format!("  {what}\n")).concat()
        ),
        (false, None) => {
            "No compiler for handlers: follow one of the two lines above. Existing ELF files run.\n"
                .to_owned()
        }
    };
    output::print(&verdict);
    Ok(Status::Success)
}

fn apt(packages: &str) -> String {
    format!("as root: apt-get install {packages}")
}

fn program(name: &str, package: &str) -> std::result::Result<String, String> {
    on_path(name).map(|path| path.display().to_string()).ok_or_else(|| apt(package))
}

fn picolibc() -> std::result::Result<String, String> {
    let folder = Path::new("/usr/lib/picolibc/riscv64-unknown-elf");
    match folder.is_dir() {
        true => Ok(folder.display().to_string()),
        false => Err(apt("picolibc-riscv64-unknown-elf")),
    }
}

/// Asks a compiler for the first line of its version.
fn version(command: &[String]) -> String {
    let output = Command::new(&command[0]).args(&command[1..]).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let first = text.ok().and_then(|text| text.lines().next().map(str::to_owned));
    first.unwrap_or_else(|| command.join(" "))
}

/// Tells whether this user may make a TAP device.
fn tap() -> std::result::Result<String, String> {
    let device = Path::new("/dev/net/tun");
    if !device.exists() {
        return Err("there is no /dev/net/tun; as root: modprobe tun".to_owned());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    const NET_ADMIN: u64 = 1 << 12;
    match bits & NET_ADMIN != 0 {
        true => Ok("this user may make devices".to_owned()),
        false => Err("this user may not make devices: run `sudo pinion up …`".to_owned()),
    }
}
