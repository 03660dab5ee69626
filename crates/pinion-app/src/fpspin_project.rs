//! Applications for FPsPIN as they are: a folder laid out as the published one, so that their own
//! Makefiles find the library of host programs, the handlers' headers and the rules; and host programs
//! compiled from sources alone. These are ordinary programs of this computer.
//!
//! | `lib/fpspin/` | `fpspin.h`, and the Makefile that builds `libfpspin.a` from `lib/*.c` |
//! |---|---|
//! | **`fpga/app/pspin/deps/pspin/`** | |
//! | `hw/`, `sw/` | as in PsPIN's tree (`pspin_project`), for packets that begin with Ethernet |
//! | `examples/generic_driver/` | `gdriver.mk`; applications lie beside it |
//! | `Makefile`, `include/` | the library as `libpinion_fpspin`, for Makefiles of one's own |

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::assets;
use crate::driver_library::DriverLibrary;
use crate::error::{Error, Result};
use crate::pspin_project::{Flavour, copy, lay_out_for};

/// Options of every compilation: how the library is written, and what programs for it expect.
const COMPILE: [&str; 5] = ["-std=gnu11", "-O2", "-g", "-Wall", "-pthread"];

/// Tells how to compile a host program.
#[derive(Debug, Clone)]
pub struct Compile {
    /// Name of the program.
    pub out: PathBuf,
    /// Lists C files.
    pub sources: Vec<PathBuf>,
    /// Lists options for the compiler, put behind the sources so that libraries are found.
    pub options: Vec<String>,
    /// Name of the compiler of this computer.
    pub cc: String,
}

/// Where PsPIN lies in FPsPIN's repository, and applications below it.
const PSPIN: &str = "fpga/app/pspin/deps/pspin";

/// Packets begin with the Ethernet header.
const PROJECT: Flavour = Flavour { headers: "include/fpspin", rules: "fpspin/rules" };

/// Holds the folders that applications' Makefiles are told of.
#[derive(Debug, Clone)]
pub struct Tree {
    /// `PSPIN_HW`.
    pub hardware: PathBuf,
    /// `PSPIN_RT`.
    pub runtime: PathBuf,
    /// Where applications are put.
    pub examples: PathBuf,
}

/// Lays a folder out as applications expect it: with the library of drivers that is named or belongs
/// to this executable.
///
/// # Errors
/// No library of drivers to be found, files that cannot be written.
pub fn lay_out(folder: &Path, library: Option<&Path>) -> Result<Tree> {
    let library = DriverLibrary::find(library)?;
    let from = library_dir()?;
    for part in ["include", "lib"] {
        copy_tree(&from.join(part), &folder.join(part))?;
    }
    copy_tree(&from.join("include/fpspin"), &folder.join("lib/fpspin"))?;
    copy(&from.join("Makefile"), &folder.join("Makefile"))?;
    let pspin = folder.join(PSPIN);
    lay_out_for(&pspin, &library, &PROJECT)?;
    let examples = pspin.join("examples");
    // An application's own files, copied here before, stay.
    let rules = examples.join("generic_driver/gdriver.mk");
    if !rules.exists() {
        copy(&from.join("generic_driver/gdriver.mk"), &rules)?;
    }
    Ok(Tree { hardware: pspin.join("hw"), runtime: pspin.join("sw"), examples })
}

/// Compiles a host program and the library into one executable; gives what the compiler wrote.
///
/// # Errors
/// A source that does not exist, no compiler, a compiler that refuses.
pub fn compile(job: &Compile) -> Result<Vec<u8>> {
    if let Some(missing) = job.sources.iter().find(|source| !source.is_file()) {
        return Err(Error::Usage(format!("there is no source file {}", missing.display())));
    }
    let library = library_dir()?;
    let include = format!("-I{}", library.join("include").display());
    let parent = job.out.parent().filter(|dir| !dir.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|error| Error::file("create", parent, error))?;
    let scratch = Scratch::new(parent)?;
    let objects = compile_library(job, &library, &include, &scratch.0)?;
    let partial = scratch.0.join("program");
    let mut linking = Command::new(&job.cc);
    linking.args(COMPILE).arg(&include).arg("-o").arg(&partial).args(&job.sources);
    linking.args(&objects).args(&job.options).arg("-lm");
    let messages = run(linking, job)?;
    fs::rename(&partial, &job.out).map_err(|error| Error::file("write", &job.out, error))?;
    Ok(messages)
}

/// Compiles the library's files, with the program's definitions and without its other options.
fn compile_library(
    job: &Compile,
    library: &Path,
    include: &str,
    scratch: &Path,
) -> Result<Vec<PathBuf>> {
    let is_source = |path: &PathBuf| path.extension() == Some(OsStr::new("c"));
    let mut sources: Vec<PathBuf> =
        entries(&library.join("lib"))?.into_iter().filter(is_source).collect();
    sources.sort();
    let mut compiling = Command::new(&job.cc);
    compiling.current_dir(scratch).args(COMPILE).arg(include);
    compiling.args(job.options.iter().filter(|option| option.starts_with("-D")));
    compiling.arg("-c").args(&sources);
    run(compiling, job)?;
    let object =
        |source: &PathBuf| scratch.join(source.file_name().unwrap_or_default()).with_extension("o");
    Ok(sources.iter().map(object).collect())
}

fn run(mut command: Command, job: &Compile) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            return Error::CompilerMissing(format!(
                "{}, which compiles host programs, is not installed: as root, apt-get install gcc; \
                 or give --cc COMMAND",
                job.cc
            ));
        }
        Error::part(format!("cannot run {}", job.cc), error)
    })?;
    let messages = [output.stdout, output.stderr].concat();
    if output.status.success() {
        return Ok(messages);
    }
    Err(Error::CompilerFailed {
        compiler: job.cc.clone(),
        app: job.out.display().to_string(),
        output: messages,
        hint: String::new(),
    })
}

/// A folder that is removed with everything in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: &Path) -> Result<Self> {
        let parent = parent.canonicalize().map_err(|error| Error::file("use", parent, error))?;
        let dir = parent.join(format!(".fpspin-{}", std::process::id()));
        fs::create_dir_all(&dir).map_err(|error| Error::file("create", &dir, error))?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn library_dir() -> Result<PathBuf> {
    let dir = assets::sdk_dir()?.join("fpspin");
    dir.canonicalize().map_err(|error| Error::file("use", &dir, error))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = fs::read_dir(folder).map_err(|error| Error::file("read", folder, error))?;
    Ok(listed.flatten().map(|entry| entry.path()).collect())
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(|error| Error::file("create", to, error))?;
    for path in entries(from)? {
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_tree(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(|error| Error::file("write", &target, error))?;
        }
    }
    Ok(())
}
