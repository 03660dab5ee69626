//! Makes an application's program: a manifest and a machine's layout come in, an ELF goes out.
//!
//! The ELF lies in `build/` beside the manifest unless told otherwise, and is made again only when
//! something it is made from has changed. It appears under its name complete or not at all.

mod inputs;
pub mod layout;
pub mod network_registers;
pub mod sdk;
pub mod toolchain;

use std::fs;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use layout::Layout;
pub use sdk::{Part, Sdk};
pub use toolchain::{Compiler, Family};

#[cfg(target_os = "linux")]
use nix::fcntl::{Flock, FlockArg};

use crate::error::{Error, Result};
use crate::manifest::Manifest;

/// Tells how to build.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Chooses the compiler: `gcc`, `zig` or a path.
    pub cc: Option<String>,
    /// Names the ELF, instead of `build/NAME.elf` beside the manifest.
    pub out: Option<PathBuf>,
    /// Builds even when nothing has changed.
    pub force: bool,
    /// Builds handlers for this computer, for the native engine.
    pub native: bool,
    /// Builds for one of the places that programs can lie at beside each other.
    pub slot: Option<u32>,
}

/// Tells what a build did.
#[derive(Debug)]
pub struct Built {
    /// Names the ELF.
    pub elf: PathBuf,
    /// Names the compiler and its first arguments; `None` when nothing had to be done.
    pub compiler: Option<String>,
    /// Holds what the compiler wrote (warnings), unaltered.
    pub messages: Vec<u8>,
}

/// Makes the program of an application, or finds it up to date.
///
/// # Errors
/// No compiler, a compiler that refuses, files that cannot be written.
pub fn build(manifest: &Manifest, layout: &Layout, options: &Options) -> Result<Built> {
    if let Some(elf) = &manifest.app.elf {
        let elf = elf.clone();
        return Ok(Built { elf, compiler: None, messages: Vec::new() });
    }
    let part = if options.native { Part::Native } else { Part::of(manifest) };
    let sdk = Sdk::find(part)?;
    let compiler = Compiler::find(options.cc.as_deref(), &sdk)?;
    let elf = options.out.clone().unwrap_or_else(|| {
        let suffix = match (options.native, options.slot) {
            (true, _) => "native.elf".to_owned(),
            (false, Some(slot)) => format!("slot{slot}.elf"),
            (false, None) => "elf".to_owned(),
        };
        manifest.dir.join("build").join(format!("{}.{suffix}", manifest.app.name))
    });
    let job = Job::new(manifest, layout, &sdk, &compiler)?;
    let folder = elf.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _alone = alone(folder, &elf);
    let stamp = with_suffix(&elf, "stamp");
    let digest = format!("{:016x}\n", job.digest());
    let is_current = fs::read_to_string(&stamp).is_ok_and(|found| found == digest);
    if is_current && elf.is_file() && !options.force {
        return Ok(Built { elf, compiler: None, messages: Vec::new() });
    }
    fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
    let messages = job.run(&elf)?;
    fs::write(&stamp, digest).map_err(|error| Error::file("write", &stamp, error))?;
    Ok(Built { elf, compiler: Some(compiler.to_string()), messages })
}

/// Waits until nobody else, in this process or another, builds or looks at the same ELF: it, its
/// linker script and its stamp belong together. Where nothing can be written nobody builds.
#[cfg(target_os = "linux")]
fn alone(folder: &Path, elf: &Path) -> Option<Flock<File>> {
    fs::create_dir_all(folder).ok()?;
    let lock = File::create(with_suffix(elf, "lock")).ok()?;
    Flock::lock(lock, FlockArg::LockExclusive).ok()
}

#[cfg(not(target_os = "linux"))]
fn alone(_folder: &Path, _elf: &Path) {}

/// Everything one call of the compiler needs.
struct Job<'a> {
    app: &'a str,
    part: Part,
    compiler: &'a Compiler,
    options: Vec<String>,
    sources: Vec<PathBuf>,
    search: Vec<PathBuf>,
    libraries: Vec<String>,
    script: String,
}

impl<'a> Job<'a> {
    fn new(
        manifest: &'a Manifest,
        layout: &Layout,
        sdk: &Sdk,
        compiler: &'a Compiler,
    ) -> Result<Self> {
        let app = &manifest.app;
        let flags = compiler.flags(sdk);
        let common = &sdk.file.value.flags;
        let mut options: Vec<String> =
            common.compile.iter().chain(&flags.flags).chain(&common.link).cloned().collect();
        let machine_defines = layout.defines(sdk)?;
        options.extend(machine_defines.iter().chain(&app.defines).map(|text| format!("-D{text}")));
        let own = std::iter::once(&manifest.dir).chain(&app.include_dirs).cloned();
        let user: Vec<PathBuf> = own.chain(sdk.include_dirs(app.packet)).collect();
        let system = sdk.system_dirs();
        options.extend(user.iter().map(|dir| format!("-I{}", dir.display())));
        options.extend(
            system.iter().flat_map(|dir| ["-isystem".to_owned(), dir.display().to_string()]),
        );
        // What chooses an instruction set is meant for the NIC's cores.
        let applies = |flag: &&String| sdk.part != Part::Native || !flag.starts_with("-m");
        options.extend(app.cflags.iter().filter(applies).cloned());
        Ok(Self {
            app: &app.name,
            part: sdk.part,
            compiler,
            options,
            sources: sdk.runtime_sources().chain(app.sources.iter().cloned()).collect(),
            search: user.into_iter().chain(system).collect(),
            libraries: flags.libraries.clone(),
            script: layout.linker_script(sdk)?,
        })
    }

    fn digest(&self) -> u64 {
        let mut command = self.compiler.command.clone();
        command.extend(self.options.iter().chain(&self.libraries).cloned());
        command.push(self.script.clone());
        if let Some(meta) = self.compiler.executable().and_then(|path| fs::metadata(path).ok()) {
            command.push(format!("{} {:?}", meta.len(), meta.modified().ok()));
        }
        inputs::digest(&self.sources, &self.search, &command)
    }

    /// Runs the compiler and gives what it wrote.
    fn run(&self, elf: &Path) -> Result<Vec<u8>> {
        let script = with_suffix(elf, "ld");
        fs::write(&script, &self.script).map_err(|error| Error::file("write", &script, error))?;
        let partial = with_suffix(elf, &format!("{}.partial", std::process::id()));
        let output = Command::new(&self.compiler.command[0])
            .args(&self.compiler.command[1..])
            .args(&self.options)
            .arg("-T")
            .arg(&script)
            .arg("-o")
            .arg(&partial)
            .args(&self.sources)
            .args(&self.libraries)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::part(format!("cannot run {}", self.compiler), error))?;
        let messages = [output.stdout, output.stderr].concat();
        if !output.status.success() {
            let _ = fs::remove_file(&partial);
            return Err(Error::CompilerFailed {
                compiler: self.compiler.to_string(),
                app: self.app.to_owned(),
                output: messages,
            });
        }
        if self.part == Part::Nanoservices {
            network_registers::check_file(&partial, elf).inspect_err(|_| {
                let _ = fs::remove_file(&partial);
            })?;
        }
        fs::rename(&partial, elf).map_err(|error| Error::file("write", elf, error))?;
        Ok(messages)
    }
}

/// Appends a suffix to a file name (`a/app.elf` and `ld` give `a/app.ld`).
fn with_suffix(elf: &Path, suffix: &str) -> PathBuf {
    elf.with_extension(suffix)
}
