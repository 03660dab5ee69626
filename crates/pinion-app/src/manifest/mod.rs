//! The application manifest `app.toml`: a folder comes in, what to compile and for which machine go
//! out, all checked: for handlers, which functions they are, which packets they get and how much
//! memory; for a nanoservice, how many harts run it. The keys are described in `sdk/MANIFEST.md`.

mod nanoservice;
mod raw;
mod traffic;

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use pinion_sim::config::{self, ConfigError, Duration, Loaded};
use pinion_spin::matching::{self, EndOfMessage, Layout, Limits, MessageId, Mode, Rule};
use serde::Deserialize;

use crate::assets;

pub use nanoservice::Nanoservice;
use raw::{Define, RawApp, RawContext, RawManifest, RawMode};
pub use traffic::StandardTraffic;

/// Names the manifest inside an application's folder.
pub const FILE_NAME: &str = "app.toml";
/// Names the file that makes a folder a cluster.
pub const CLUSTER_FILE_NAME: &str = "cluster.toml";
/// Lists the endings of C++ sources.
const ENDINGS: [&str; 3] = ["cc", "cpp", "cxx"];

/// Takes every rule: what the machine's matching engine takes is checked when it is known.
const ANY_MATCHER: Limits =
    Limits { rulesets: u32::MAX, rules: u32::MAX, reach_bytes: u32::MAX, flows: u32::MAX };

/// Holds a checked manifest.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The folder the manifest lies in; its paths are relative to it.
    pub dir: PathBuf,
    /// Describes what to compile.
    pub app: App,
    /// What the program is: handlers or a nanoservice.
    pub target: Target,
    /// Describes the packets it is run on when no others are given.
    pub traffic: Option<StandardTraffic>,
    loaded: Loaded<()>,
}

/// Tells what an application's program is, and with it on which kind of machine it runs.
#[derive(Debug, Clone)]
pub enum Target {
    /// Packet handlers on a sPIN NIC; the execution contexts in order of priority.
    Handlers(Vec<Context>),
    /// A program on a nanoPU.
    Nanoservice(Nanoservice),
}

/// Describes what to compile.
#[derive(Debug, Clone)]
pub struct App {
    /// Name of the application and its ELF.
    pub name: String,
    /// Lists C, C++ and assembly files.
    pub sources: Vec<PathBuf>,
    /// Name of an ELF made elsewhere, instead of sources.
    pub elf: Option<PathBuf>,
    /// Where a handler's packet starts.
    pub packet: PacketStart,
    /// Lists further folders with headers.
    pub include_dirs: Vec<PathBuf>,
    /// Lists preprocessor definitions, as `NAME=value`.
    pub defines: Vec<String>,
    /// Lists compiler options appended last.
    pub cflags: Vec<String>,
    /// Lists compiler options appended behind these for C++ alone.
    pub cxxflags: Vec<String>,
    /// Name of the machine the application is meant for, or the path of its file.
    pub machine: String,
    /// Lists numbers of the machine that handlers want changed, as `key=value`.
    pub set: Vec<String>,
}

/// Tells where a handler's packet starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PacketStart {
    /// At the Ethernet header, as FPsPIN gives it.
    #[default]
    Ethernet,
    /// At the IP header, as PsPIN alone gives it.
    Ip,
}

/// Describes one execution context.
#[derive(Debug, Clone)]
pub struct Context {
    /// Name of the context.
    pub name: String,
    /// The comparisons of the matching engine.
    pub rules: Vec<Rule>,
    /// How they combine.
    pub mode: Mode,
    /// Which packets make a message.
    pub message: MessageId,
    /// Which packet is a message's last.
    pub end_of_message: EndOfMessage,
    /// Name of the header handler.
    pub header: Option<String>,
    /// Name of the payload handler.
    pub payload: Option<String>,
    /// Name of the completion handler.
    pub completion: Option<String>,
    /// Number of bytes of L2 handler memory.
    pub handler_memory_bytes: u64,
    /// Name of a file copied to the start of the handler memory.
    pub handler_memory_image: Option<PathBuf>,
    /// Number of bytes of host memory.
    pub host_memory_bytes: u64,
    /// Name of a file copied to the start of the host memory.
    pub host_memory_image: Option<PathBuf>,
    /// Number of bytes of scratchpad in every cluster.
    pub scratchpad_bytes: u64,
    /// Number of bytes of each packet copied to L1; `None` copies all.
    pub l1_bytes: Option<u64>,
    /// Limits a handler's time; zero does not.
    pub watchdog: Watchdog,
}

impl Context {
    /// Lists the handlers as (key in the manifest, symbol).
    pub fn handlers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("header", &self.header), ("payload", &self.payload), ("completion", &self.completion)]
            .into_iter()
            .filter_map(|(kind, symbol)| symbol.as_deref().map(|symbol| (kind, symbol)))
    }
}

/// Limits a handler's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watchdog {
    /// In cycles of the machine's core clock.
    Cycles(u64),
    /// In time.
    Time(Duration),
}

/// Stands for a file that says nothing.
#[derive(Deserialize)]
struct Nothing {}

impl Manifest {
    /// Lists the files and folders that it names, each with its key.
    pub fn files(&self) -> Vec<(String, &Path)> {
        let app = &self.app;
        let mut paths: Vec<(String, &Path)> = Vec::new();
        paths.extend(app.sources.iter().map(|path| ("app.sources".to_owned(), path.as_path())));
        paths.extend(
            app.include_dirs.iter().map(|path| ("app.include_dirs".to_owned(), path.as_path())),
        );
        paths.extend(app.elf.iter().map(|path| ("app.elf".to_owned(), path.as_path())));
        let is_file = assets::is_path(&app.machine);
        paths.extend(is_file.then(|| ("app.machine".to_owned(), Path::new(&app.machine))));
        for (index, context) in self.contexts().iter().enumerate() {
            let images = [
                ("handler_memory_image", &context.handler_memory_image),
                ("host_memory_image", &context.host_memory_image),
            ];
            let named = images.into_iter().filter_map(|(key, path)| Some((key, path.as_deref()?)));
            paths.extend(named.map(|(key, path)| (format!("context[{index}].{key}"), path)));
        }
        if let Some(service) = self.nanoservice() {
            let programs = [
                ("ingress", &service.ingress),
                ("egress", &service.egress),
                ("tables", &service.tables),
            ];
            let named =
                programs.into_iter().filter_map(|(key, path)| Some((key, path.as_deref()?)));
            paths.extend(named.map(|(key, path)| (format!("transport.{key}"), path)));
        }
        paths
    }

    /// Describes handlers that are known by their sources alone: they can be compiled, not run.
    ///
    /// # Errors
    /// None that a caller could cause.
    pub fn of_sources(app: App) -> Result<Self, ConfigError> {
        let loaded: Loaded<Nothing> = config::load("command line", "", &[])?;
        Ok(Self {
            dir: PathBuf::from("."),
            app,
            target: Target::Handlers(Vec::new()),
            traffic: None,
            loaded: loaded.map(|_| ()),
        })
    }
}

/// Finds the manifest of `app`, which is a folder or the manifest itself.
pub fn locate(app: &Path) -> PathBuf {
    if app.is_dir() { app.join(FILE_NAME) } else { app.to_owned() }
}

/// Bytes of a manifest at most.
const LARGEST_BYTES: u64 = 4 << 20;

/// Leaves `folder/..` out of a path, where the rest leads to the same place: an application that a cluster names beside
/// itself is called as everybody calls it, so that its program is not built anew for each name.
fn without_detours(path: &Path) -> Cow<'_, Path> {
    if !path.components().any(|part| part == Component::ParentDir) {
        return Cow::Borrowed(path);
    }
    let mut parts = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::ParentDir, Some(Component::Normal(_))) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let shorter: PathBuf = parts.into_iter().collect();
    let is_same = || Some(shorter.canonicalize().ok()? == path.canonicalize().ok()?);
    let is_used = !shorter.as_os_str().is_empty() && is_same() == Some(true); // a folder may be a link
    if is_used { Cow::Owned(shorter) } else { Cow::Borrowed(path) }
}

/// Loads and checks the manifest of `app`, which is a folder or the manifest itself.
///
/// # Errors
/// Everything that is wrong with the file, with its place; the handlers are checked when the
/// program is there.
pub fn load(app: &Path) -> Result<Manifest, ConfigError> {
    let path = locate(&without_detours(app));
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = dir.unwrap_or(Path::new(".")).to_owned();
    if !path.is_file() && dir.join(CLUSTER_FILE_NAME).is_file() {
        let problem = "the folder holds a cluster, which `pinion run`, `build`, `sweep` and `trace` \
                       take; name one of its applications";
        let source = std::io::Error::other(problem);
        return Err(ConfigError::Read { path: path.display().to_string(), source });
    }
    // Somebody else's may be a pipe, or a device that never ends.
    if std::fs::metadata(&path).is_ok_and(|meta| !meta.is_file() || meta.len() > LARGEST_BYTES) {
        let problem = format!("it is no plain file, or longer than {} MiB", LARGEST_BYTES >> 20);
        let source = std::io::Error::other(problem);
        return Err(ConfigError::Read { path: path.display().to_string(), source });
    }
    let mut raw = None;
    let loaded = config::load_file::<RawManifest>(&path, &[])?.map(|value| raw = Some(value));
    let raw = raw.expect("the loader gave a value");
    let is_nanoservice = raw.nanoservice.is_some();
    if is_nanoservice && !raw.context.is_empty() {
        let problem = "give either [[context]]s with handlers or [nanoservice], not both";
        return Err(loaded.error_at("context[0].name", problem));
    }
    if is_nanoservice && raw.app.packet.is_some() {
        let problem = "packet is for handlers alone: a nanoservice reads messages";
        return Err(loaded.error_at("app.packet", problem));
    }
    if is_nanoservice && raw.app.set.is_some() {
        let problem = "a nanoservice changes its machine in [nanoservice]: move set there";
        return Err(loaded.error_at("app.set", problem));
    }
    if !is_nanoservice && raw.transport.is_some() {
        let problem = "[transport] goes with [nanoservice]: a sPIN NIC has none";
        return Err(loaded.error_at("transport", problem));
    }
    let machine = if is_nanoservice { nanoservice::DEFAULT_MACHINE } else { "pspin" };
    let app = check_app(&loaded, raw.app, &dir, machine)?;
    let target = match raw.nanoservice {
        Some(service) => {
            Target::Nanoservice(nanoservice::check(&loaded, service, raw.transport, &dir)?)
        }
        None => Target::Handlers(check_contexts(&loaded, raw.context, &dir)?),
    };
    let traffic = traffic::check(&loaded, raw.traffic, is_nanoservice)?;
    Ok(Manifest { dir, app, target, traffic, loaded })
}

fn check_contexts(
    loaded: &Loaded<()>,
    raw: Vec<RawContext>,
    dir: &Path,
) -> Result<Vec<Context>, ConfigError> {
    if raw.is_empty() {
        let problem = "there is no [[context]]: add one with name, match and payload; or \
                       [nanoservice] for a program on a nanoPU";
        return Err(loaded.error_at("app", problem));
    }
    let mut contexts: Vec<Context> = Vec::new();
    for (index, context) in raw.into_iter().enumerate() {
        if contexts.iter().any(|other| other.name == context.name) {
            let problem = format!("there are two contexts named `{}`", context.name);
            return Err(loaded.error_at(&format!("context[{index}].name"), problem));
        }
        contexts.push(check_context(loaded, index, context, dir)?);
    }
    Ok(contexts)
}

impl Manifest {
    /// Lists the execution contexts; none for a nanoservice.
    pub fn contexts(&self) -> &[Context] {
        match &self.target {
            Target::Handlers(contexts) => contexts,
            Target::Nanoservice(_) => &[],
        }
    }

    /// Gives what the manifest says about a nanoservice, if it describes one.
    pub fn nanoservice(&self) -> Option<&Nanoservice> {
        match &self.target {
            Target::Handlers(_) => None,
            Target::Nanoservice(service) => Some(service),
        }
    }

    /// Gives the manifest's text.
    pub fn text(&self) -> &str {
        self.loaded.texts().0
    }

    /// Makes an error that points at a key of the manifest (`app.sources`, `context[0].payload`).
    pub fn error_at(&self, key: &str, problem: impl Into<String>) -> ConfigError {
        self.loaded.error_at(key, problem)
    }
}

fn check_app(
    loaded: &Loaded<()>,
    raw: RawApp,
    dir: &Path,
    machine: &str,
) -> Result<App, ConfigError> {
    let name = match raw.name {
        Some(name) => name,
        None => folder_name(dir),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        let problem = format!("`{name}` is no name: use letters, digits, _ and -");
        return Err(loaded.error_at("app.name", problem));
    }
    let sources: Vec<PathBuf> = raw.sources.unwrap_or_default();
    match (&raw.elf, sources.is_empty()) {
        (Some(_), false) => {
            let problem = "give either sources or an elf made elsewhere, not both";
            return Err(loaded.error_at("app.elf", problem));
        }
        (None, true) => {
            return Err(
                loaded.error_at("app", "sources is missing: list at least one .c or .cc file")
            );
        }
        _ => {}
    }
    for source in &sources {
        let known = source.extension().is_some_and(|ext| ext == "c" || ext == "S" || ext == "s");
        if !known && !is_cxx(source) {
            let name = source.display();
            let problem =
                format!("`{name}` is neither C (.c), C++ (.cc, .cpp, .cxx) nor assembly (.S)");
            return Err(loaded.error_at("app.sources", problem));
        }
        if !dir.join(source).is_file() {
            let problem = format!("there is no file `{}`", dir.join(source).display());
            return Err(loaded.error_at("app.sources", problem));
        }
    }
    Ok(App {
        name,
        sources: sources.iter().map(|path| dir.join(path)).collect(),
        elf: raw.elf.map(|path| dir.join(path)),
        packet: raw.packet.unwrap_or_default(),
        include_dirs: raw.include_dirs.iter().map(|path| dir.join(path)).collect(),
        defines: raw.defines.into_iter().filter_map(define).collect(),
        cflags: raw.cflags,
        cxxflags: raw.cxxflags,
        machine: assets::named_in(dir, raw.machine.as_deref().unwrap_or(machine)),
        set: raw.set.unwrap_or_default(),
    })
}

fn folder_name(dir: &Path) -> String {
    let absolute = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    absolute.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn define((name, value): (String, Define)) -> Option<String> {
    match value {
        Define::Flag(false) => None,
        Define::Flag(true) => Some(format!("{name}=1")),
        Define::Number(number) => Some(format!("{name}={number}")),
        Define::Text(text) => Some(format!("{name}={text}")),
    }
}

fn check_context(
    loaded: &Loaded<()>,
    index: usize,
    raw: RawContext,
    dir: &Path,
) -> Result<Context, ConfigError> {
    let at =
        |key: &str, problem: String| loaded.error_at(&format!("context[{index}].{key}"), problem);
    let rules = raw.rules.map_or_else(|| vec!["all".to_owned()], |rules| rules.0);
    if rules.is_empty() {
        return Err(at("match", "the list is empty; write [\"all\"] or [\"none\"]".to_owned()));
    }
    let mode = match raw.mode {
        RawMode::And => Mode::And,
        RawMode::Or => Mode::Or,
    };
    let rules = matching::compile_rules(&rules, mode, &ANY_MATCHER, Layout::Ethernet)
        .map_err(|error| at("match", error.to_string()))?;
    let message = raw.message.as_deref().unwrap_or("packet");
    let message = MessageId::parse(message).map_err(|error| at("message", error.to_string()))?;
    let end_of_message = match (&raw.end_of_message, message) {
        (Some(text), _) => EndOfMessage::parse(text, Layout::Ethernet)
            .map_err(|error| at("end_of_message", error.to_string()))?,
        (None, MessageId::PerPacket) => EndOfMessage::Always,
        (None, _) => {
            let problem = "end_of_message is missing: a message of several packets needs it \
                           (always, never, packets=N or a rule)";
            return Err(at("message", problem.to_owned()));
        }
    };
    let context = Context {
        name: raw.name,
        rules,
        mode,
        message,
        end_of_message,
        header: raw.header,
        payload: raw.payload,
        completion: raw.completion,
        handler_memory_bytes: raw.handler_memory.map_or(64 << 10, |size| size.0),
        handler_memory_image: raw.handler_memory_image.map(|path| dir.join(path)),
        host_memory_bytes: raw.host_memory.map_or(1 << 20, |size| size.0),
        host_memory_image: raw.host_memory_image.map(|path| dir.join(path)),
        scratchpad_bytes: raw.scratchpad.map_or(4 << 10, |size| size.0),
        l1_bytes: raw.l1_bytes.and_then(|bytes| bytes.0),
        watchdog: raw.watchdog.unwrap_or(Watchdog::Time(Duration { ps: 1_000_000_000 })),
    };
    if context.handlers().next().is_none() {
        let problem = "there is no handler: name a function as header, payload or completion";
        return Err(at("name", problem.to_owned()));
    }
    check_image(&context.handler_memory_image, context.handler_memory_bytes)
        .map_err(|problem| at("handler_memory_image", problem))?;
    check_image(&context.host_memory_image, context.host_memory_bytes)
        .map_err(|problem| at("host_memory_image", problem))?;
    Ok(context)
}

/// Refuses an image that is not there or does not fit.
fn check_image(image: &Option<PathBuf>, limit: u64) -> Result<(), String> {
    let Some(path) = image else { return Ok(()) };
    let size = std::fs::metadata(path)
        .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?
        .len();
    if size > limit {
        return Err(format!(
            "`{}` has {size} bytes, and the memory it fills has {limit}",
            path.display()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

/// Tells whether a source is C++.
pub fn is_cxx(source: &Path) -> bool {
    source.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}
