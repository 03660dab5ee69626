//! Makes an application's program: a manifest and a machine's layout come in, an ELF goes out.
//!
//! The ELF lies in a folder of the user's cache ([`place`]) unless told otherwise, never among the
//! sources, and is made again only when something it is made from has changed; what was told
//! otherwise is a copy. It appears under its name complete or not at all.

mod apart;
mod cxx;
mod inputs;
pub mod layout;
pub mod network_registers;
pub mod place;
pub mod sdk;
pub mod toolchain;
pub mod untrusted;

use std::ffi::OsStr;
use std::fs;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::manifest::is_cxx;
pub use layout::Layout;
pub use sdk::{Part, Sdk};
pub use toolchain::{Compiler, Family};

#[cfg(target_os = "linux")]
use nix::fcntl::{Flock, FlockArg};

use crate::assets::fnv1a;
use crate::error::{Error, Result};
use crate::manifest::Manifest;

use cxx::{Cxx, Objects};

/// Says what a program is compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BuildType {
    /// To run: optimised as the SDK and the application say.
    #[default]
    Release,
    /// To be looked at in a debugger: so that variables are there. Another program, with other cycles.
    Debug,
}

/// Tells how to build.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Chooses the compiler: `gcc`, `zig` or a path.
    pub cc: Option<String>,
    /// Name of the ELF, a copy of the one in `folder`.
    pub out: Option<PathBuf>,
    /// Name of the folder for programs, instead of `pinion/build` in the user's cache.
    pub folder: Option<PathBuf>,
    /// What the program is compiled for.
    pub build_type: BuildType,
    /// Builds even when nothing has changed.
    pub force: bool,
    /// Builds handlers for this computer, for the native engine.
    pub native: bool,
    /// Builds for one of the places that programs can lie at beside each other.
    pub slot: Option<u32>,
    /// Lets a folder ask for nothing that could harm who builds it.
    pub untrusted: bool,
}

impl Options {
    /// Builds into a folder; `None`: into the user's cache.
    pub fn into_folder(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(Path::to_owned), ..Self::default() }
    }

    /// Tells whether they choose what only a program that is built has.
    pub fn chooses(&self) -> bool {
        self.cc.is_some()
            || self.out.is_some()
            || self.folder.is_some()
            || self.build_type != BuildType::Release
            || self.force
    }
}

/// Says why they are refused where a program is not built.
pub const MADE_ELSEWHERE: &str = "the program was made elsewhere: --cc, --build-type, --build-dir, \
                                  --out and --force do not apply";

/// Tells what a build did.
#[derive(Debug, Default)]
pub struct Built {
    /// Name of the ELF.
    pub elf: PathBuf,
    /// Name of the compiler and its first arguments; `None` when nothing had to be done.
    pub compiler: Option<String>,
    /// What the compiler wrote (warnings), unaltered.
    pub messages: Vec<u8>,
    /// What the program was compiled for.
    pub build_type: BuildType,
}

impl Built {
    /// Takes a program that was made elsewhere.
    pub fn elsewhere(elf: PathBuf) -> Self {
        Self { elf, ..Self::default() }
    }
}

/// Makes the program of an application, or finds it up to date.
///
/// # Errors
/// No compiler, a compiler that refuses, files that cannot be written.
pub fn build(manifest: &Manifest, layout: &Layout, options: &Options) -> Result<Built> {
    untrusted::check(manifest, options)?;
    if let Some(elf) = &manifest.app.elf {
        return Ok(Built::elsewhere(elf.clone()));
    }
    let part = if options.native { Part::Native } else { Part::of(manifest) };
    let sdk = Sdk::find(part)?;
    let compiler = match options.untrusted {
        true => Compiler::find_elsewhere(options.cc.as_deref(), &sdk)?,
        false => Compiler::find(options.cc.as_deref(), &sdk)?,
    };
    let job = Job::new(manifest, layout, &sdk, &compiler, options.build_type)?;
    let suffix = match (options.native, options.slot) {
        (true, _) => "native.elf".to_owned(),
        (false, Some(slot)) => format!("slot{slot}.elf"),
        (false, None) => "elf".to_owned(),
    };
    let place = place::of_application(&manifest.dir, options.folder.as_deref())?;
    let folder = place.join(format!("{:016x}", job.variant()));
    let elf = folder.join(format!("{}.{suffix}", manifest.app.name));
    let stamp = with_suffix(&elf, "stamp");
    if options.untrusted {
        untrusted::check_outputs(&folder)?;
    }
    let _alone = alone(&folder, &elf);
    let digest = format!("{:016x}\n", job.digest());
    let is_stamped = fs::read_to_string(&stamp).is_ok_and(|found| found == digest);
    let is_current = is_stamped && elf.is_file() && !options.force;
    let mut messages = Vec::new();
    if !is_current {
        fs::create_dir_all(&folder).map_err(|error| Error::file("create", &folder, error))?;
        messages = job.run(&elf)?;
        fs::write(&stamp, digest).map_err(|error| Error::file("write", &stamp, error))?;
    }
    let is_copied = options.out.as_deref().map_or(Ok(false), |out| copy(&elf, out))?;
    let compiler = (!is_current || is_copied).then(|| compiler.to_string());
    let elf = options.out.clone().unwrap_or(elf);
    Ok(Built { elf, compiler, messages, build_type: options.build_type })
}

/// Copies a program to where it is wanted; tells whether it was not there yet.
fn copy(elf: &Path, out: &Path) -> Result<bool> {
    let bytes = fs::read(elf).map_err(|error| Error::file("read", elf, error))?;
    if out.is_file() && fs::read(out).is_ok_and(|there| there == bytes) {
        return Ok(false);
    }
    if let Some(folder) = out.parent() {
        fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
    }
    pinion_output::write_whole(out, &bytes)?;
    Ok(true)
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
    /// Compiles the SDK's own sources, first, where the application has namesakes of their headers.
    apart: Option<Cxx>,
    /// Compiles what is C++, before the rest.
    cxx: Option<Cxx>,
    search: Vec<PathBuf>,
    /// Where the SDK lies.
    sdk: PathBuf,
    libraries: Vec<String>,
    script: String,
}

impl<'a> Job<'a> {
    fn new(
        manifest: &'a Manifest,
        layout: &Layout,
        sdk: &Sdk,
        compiler: &'a Compiler,
        build_type: BuildType,
    ) -> Result<Self> {
        let app = &manifest.app;
        let flags = compiler.flags(sdk);
        let common = &sdk.file.value.flags;
        let mut options: Vec<String> = common.compile.iter().chain(&common.c).cloned().collect();
        options.extend(flags.flags.iter().chain(&common.link).cloned());
        let machine_defines = layout.defines(sdk)?;
        let defines: Vec<String> =
            machine_defines.iter().chain(&app.defines).map(|text| format!("-D{text}")).collect();
        options.extend(defines.iter().cloned());
        let own = std::iter::once(&manifest.dir).chain(&app.include_dirs).cloned();
        let user: Vec<PathBuf> = own.clone().chain(sdk.include_dirs(app.packet)).collect();
        let own: Vec<PathBuf> = own.chain(apart::named_folders(&app.cflags)).collect();
        let mut system = sdk.system_dirs();
        options.extend(user.iter().map(|dir| format!("-I{}", dir.display())));
        options.extend(as_system(&system));
        // What chooses an instruction set is meant for the NIC's cores.
        let applies = |flag: &&String| sdk.part != Part::Native || !flag.starts_with("-m");
        // Behind the application's own: of several levels of optimisation the last one counts.
        let last = match build_type {
            BuildType::Release => &[][..],
            BuildType::Debug => &flags.debug,
        };
        options.extend(app.cflags.iter().filter(applies).chain(last).cloned());
        let sdk_dirs: Vec<PathBuf> =
            sdk.include_dirs(app.packet).into_iter().chain(sdk.system_dirs()).collect();
        let apart = apart::find_namesake(&own, &sdk_dirs).map(|_| {
            let folders = sdk.include_dirs(app.packet);
            let places = folders.iter().map(|dir| format!("-I{}", dir.display()));
            let places = places.chain(as_system(&system));
            let given = apart::for_runtime(app.cflags.iter().filter(applies).chain(last));
            let options = common.compile.iter().chain(&common.c).chain(&flags.flags);
            let options = apart::for_runtime(options).into_iter();
            let options = options.chain(defines.iter().cloned()).chain(places).chain(given);
            Cxx { options: options.collect(), sources: sdk.runtime_sources().collect() }
        });
        let (cxx_sources, sources): (Vec<PathBuf>, Vec<PathBuf>) =
            app.sources.iter().cloned().partition(|source| is_cxx(source));
        let cxx = (!cxx_sources.is_empty()).then(|| {
            system.splice(..0, sdk.cxx_dirs());
            let folders = user.iter().map(|dir| format!("-I{}", dir.display()));
            let places = folders.chain(as_system(&system));
            let given = app.cflags.iter().filter(|flag| cxx::applies(flag));
            let given = given.chain(&app.cxxflags).filter(applies).chain(last).cloned();
            let options = common.compile.iter().chain(&common.cxx).chain(&flags.flags);
            let options = options.chain(&flags.cxx_flags).filter(|flag| cxx::applies(flag));
            let options = options.chain(&defines).cloned().chain(places).chain(given).collect();
            let sources = sdk.cxx_runtime_sources().chain(cxx_sources).collect();
            Cxx { options, sources }
        });
        Ok(Self {
            app: &app.name,
            part: sdk.part,
            compiler,
            options,
            sources: match apart {
                Some(_) => sources,
                None => sdk.runtime_sources().chain(sources).collect(),
            },
            apart,
            cxx,
            search: user.into_iter().chain(system).collect(),
            sdk: sdk.dir.canonicalize().unwrap_or_else(|_| sdk.dir.clone()),
            libraries: flags.libraries.clone(),
            script: layout.linker_script(sdk)?,
        })
    }

    /// Lists the compiler, all its options and the linker script: builds for which they are the same
    /// make the same of the same sources.
    fn command(&self) -> Vec<String> {
        let mut command = self.compiler.command.clone();
        command.extend(self.options.iter().chain(&self.libraries).cloned());
        command.push(self.script.clone());
        let apart = self.apart.iter().chain(&self.cxx);
        command.extend(apart.flat_map(|part| part.options.iter().cloned()));
        command
    }

    /// Digests what makes another program of the same sources: all of the command but folders of
    /// headers, which are sources too, and may be spelled in several ways; and the SDK, so that two
    /// installations do not each build anew what the other has built.
    fn variant(&self) -> u64 {
        let command = self.command();
        let mut words = command.iter();
        let sdk = self.sdk.to_string_lossy();
        let mut kept = vec![&*sdk];
        while let Some(word) = words.next() {
            match word.as_str() {
                "-I" | "-isystem" => drop(words.next()),
                word if word.starts_with("-I") => {}
                word => kept.push(word),
            }
        }
        fnv1a(kept.join("\0").bytes())
    }

    fn digest(&self) -> u64 {
        let mut command = self.command();
        let mut sources = self.sources.clone();
        let apart = self.apart.iter().chain(&self.cxx);
        sources.extend(apart.flat_map(|part| part.sources.iter().cloned()));
        if let Some(meta) = self.compiler.executable().and_then(|path| fs::metadata(path).ok()) {
            command.push(format!("{} {:?}", meta.len(), meta.modified().ok()));
        }
        inputs::digest(&sources, &self.search, &command)
    }

    /// Runs the compiler and gives what it wrote.
    fn run(&self, elf: &Path) -> Result<Vec<u8>> {
        let script = with_suffix(elf, "ld");
        fs::write(&script, &self.script).map_err(|error| Error::file("write", &script, error))?;
        let partial = with_suffix(elf, &format!("{}.partial", std::process::id()));
        let mut objects = Objects::default();
        let mut messages = Vec::new();
        for part in self.apart.iter().chain(&self.cxx) {
            for source in &part.sources {
                let object = objects.add(elf);
                let output = &[OsStr::new("-c"), OsStr::new("-o"), object.as_os_str()];
                messages.extend(self.compile(&part.options, output, [source.as_os_str()])?);
            }
        }
        let output = &["-T".as_ref(), script.as_os_str(), "-o".as_ref(), partial.as_os_str()];
        // The SDK's own come first, C++ last.
        let first = self.apart.as_ref().map_or(0, |apart| apart.sources.len());
        let sources = self.sources.iter().map(PathBuf::as_path);
        let parts = objects.paths().take(first).chain(sources).chain(objects.paths().skip(first));
        let parts = parts.map(Path::as_os_str).chain(self.libraries.iter().map(OsStr::new));
        let linked = self.compile(&self.options, output, parts).inspect_err(|_| {
            let _ = fs::remove_file(&partial);
        })?;
        messages.extend(linked);
        if self.part == Part::Nanoservices {
            network_registers::check_file(&partial, elf).inspect_err(|_| {
                let _ = fs::remove_file(&partial);
            })?;
        }
        fs::rename(&partial, elf).map_err(|error| Error::file("write", elf, error))?;
        Ok(messages)
    }

    /// Calls the compiler once and gives what it wrote.
    fn compile<'s>(
        &self,
        options: &[String],
        output: &[&OsStr],
        sources: impl IntoIterator<Item = &'s OsStr>,
    ) -> Result<Vec<u8>> {
        let called = Command::new(&self.compiler.command[0])
            .args(&self.compiler.command[1..])
            .args(options)
            .args(output)
            .args(sources)
            .env(toolchain::PYTHON_SAFE_PATH, "1")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::part(format!("cannot run {}", self.compiler), error))?;
        let output = [called.stdout, called.stderr].concat();
        if !called.status.success() {
            let (compiler, app) = (self.compiler.to_string(), self.app.to_owned());
            let hint = self.compiler.lacking(&output);
            return Err(Error::CompilerFailed { compiler, app, output, hint });
        }
        Ok(output)
    }
}

/// Makes options of the folders that are searched last.
fn as_system(folders: &[PathBuf]) -> impl Iterator<Item = String> {
    folders.iter().flat_map(|dir| ["-isystem".to_owned(), dir.display().to_string()])
}

/// Appends a suffix to a file name (`a/app.elf` and `ld` give `a/app.ld`).
fn with_suffix(elf: &Path, suffix: &str) -> PathBuf {
    elf.with_extension(suffix)
}
