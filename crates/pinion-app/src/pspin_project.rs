//! PsPIN projects as they are: a folder laid out as the published one, so that a project's own
//! Makefile finds headers, library and rules; and handlers compiled from sources alone.
//!
//! | `PSPIN_HW` = | `hw/` |
//! |---|---|
//! | `verilator_model/include/` | `pspinsim.h`, `spin.h`, `spin_hw_conf.h` |
//! | `verilator_model/lib/` | `libpspin.so`, `libpspin_debug.so`: libpinion_pspinsim |
//! | **`PSPIN_RT` =** | **`sw/`** |
//! | `runtime/include/` | the handler interface |
//! | `rules/spin-handlers.mk` | `make deploy` |

use std::env::consts;
use std::fs;
use std::path::{Path, PathBuf};

use crate::app;
use crate::assets;
use crate::build::{self, Built};
use crate::driver_library::DriverLibrary;
use crate::error::{Error, Result};
use crate::manifest::{self, Manifest, PacketStart};

/// Names under which projects link the library (`-lpspin`, `-lpspin_debug`).
const LIBRARY_NAMES: [&str; 2] = ["pspin", "pspin_debug"];

/// Tells how to compile a project's handlers.
#[derive(Debug, Clone)]
pub struct Compile {
    /// Name of the ELF.
    pub out: PathBuf,
    /// Lists C and assembly files.
    pub sources: Vec<PathBuf>,
    /// Lists options for the compiler.
    pub cflags: Vec<String>,
    /// Chooses the compiler: `gcc`, `zig` or a path.
    pub cc: Option<String>,
    /// Where a handler's packet starts.
    pub packet: PacketStart,
    /// Name of the machine.
    pub machine: String,
    /// Changes numbers of the machine.
    pub overrides: Vec<String>,
}

/// Compiles handlers that no manifest describes; headers are looked for in the current folder first.
///
/// # Errors
/// As [`build::build`]; a source that does not exist.
pub fn compile(job: &Compile) -> Result<Built> {
    if let Some(missing) = job.sources.iter().find(|source| !source.is_file()) {
        return Err(Error::Usage(format!("there is no source file {}", missing.display())));
    }
    let machine =
        crate::machine::load::<pinion_spin::Machine>(&job.machine, &job.overrides, false)?;
    let name = job.out.file_name().map(|name| name.to_string_lossy().into_owned());
    let manifest = Manifest::of_sources(manifest::App {
        name: name.unwrap_or_default(),
        sources: job.sources.clone(),
        elf: None,
        packet: job.packet,
        include_dirs: Vec::new(),
        defines: Vec::new(),
        cflags: job.cflags.clone(),
        cxxflags: Vec::new(),
        machine: job.machine.clone(),
        set: job.overrides.clone(),
    })?;
    let options = build::Options {
        cc: job.cc.clone(),
        out: Some(job.out.clone()),
        ..build::Options::default()
    };
    build::build(&manifest, &app::layout(&machine.value), &options)
}

/// Lays a folder out as projects expect it.
///
/// # Errors
/// No library to be found, files that cannot be written.
pub fn lay_out(folder: &Path, library: Option<&Path>) -> Result<()> {
    let library = DriverLibrary::find(library)?;
    lay_out_for(folder, &library, &PROJECT)
}

/// Says how trees of PsPIN and of FPsPIN differ.
#[derive(Debug, Clone, Copy)]
pub struct Flavour {
    /// Name of the folder of the SDK whose `packets.h` and further headers handlers include.
    pub headers: &'static str,
    /// Name of the folder of the SDK with the rules for Makefiles.
    pub rules: &'static str,
}

/// Packets begin with the IP header.
const PROJECT: Flavour = Flavour { headers: "include/pspin", rules: "pspinsim/rules" };

/// Lays out `hw/` and `sw/`.
pub fn lay_out_for(folder: &Path, library: &DriverLibrary, flavour: &Flavour) -> Result<()> {
    let sdk = assets::sdk_dir()?;
    let (hardware, software) = (folder.join("hw/verilator_model"), folder.join("sw"));
    copy_headers(&sdk.join("pspinsim/include"), &hardware.join("include"))?;
    copy_headers(&sdk.join("include"), &software.join("runtime/include"))?;
    copy_headers(&sdk.join(flavour.headers), &software.join("runtime/include"))?;
    let rules = "spin-handlers.mk";
    copy(&sdk.join(flavour.rules).join(rules), &software.join("rules").join(rules))?;
    for name in LIBRARY_NAMES {
        let file = format!("{}{name}{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
        library.write(&hardware.join("lib").join(file))?;
    }
    Ok(())
}

/// Copies the headers of a folder, not of those below.
fn copy_headers(from: &Path, to: &Path) -> Result<()> {
    let entries = fs::read_dir(from).map_err(|error| Error::file("read", from, error))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "h")
            && let Some(name) = path.file_name()
        {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// Copies a file; its folder is made where needed.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let parent = to.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|error| Error::file("create", parent, error))?;
    fs::copy(from, to).map_err(|error| Error::file("write", to, error))?;
    Ok(())
}
