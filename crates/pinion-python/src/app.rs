//! Applications. In: a folder, or source in a string. Out: what a run builds and runs; its compiler is
//! found as the command finds it.

use std::fs;
use std::path::{Path, PathBuf};

use pinion_app::app::Options;
use pinion_app::assets::{cache_dir, fnv1a};
use pinion_app::build::BuildType;
use pinion_app::service::AnyApp;
use pinion_app::{Error, manifest};
use pinion_python_guard::guarded;
use pinion_run::cluster::{self, Plan};
use pinion_run::nanoservice::Setup;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::again::{Origin, made_by};
use crate::machine::{Machine, Newargs, text_of_path};
use crate::{again, errors};

/// What an application is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Packet handlers, for a sPIN NIC.
    Handlers,
    /// A program for a nanoPU.
    Nanoservice,
    /// Many nodes on a network.
    Cluster,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Handlers => "handlers",
            Self::Nanoservice => "nanoservice",
            Self::Cluster => "cluster",
        }
    }

    /// Says in an error what goes with it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Handlers => "packet handlers",
            Self::Nanoservice => "nanoservices",
            Self::Cluster => "clusters",
        }
    }
}

/// Packet handlers, a nanoservice or a cluster.
#[pyclass(frozen, module = "pinion", from_py_object)]
#[derive(Clone)]
pub struct App {
    /// Its folder or file.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its program, if that was built elsewhere.
    pub elf: Option<PathBuf>,
    cc: Option<String>,
    debug: bool,
    build_dir: Option<PathBuf>,
}

/// A program that was built.
#[pyclass(frozen, module = "pinion")]
pub struct Program {
    /// The ELF.
    elf: PathBuf,
    /// The compiler; `None` when the program was up to date or made elsewhere.
    compiler: Option<String>,
    /// What the compiler wrote.
    messages: String,
    origin: Origin,
}

made_by!(Program, |it| it.origin);
made_by!(App, |it| Origin::of(it.in_python()));

/// What an application is made of that is written in a string.
struct Text<'t> {
    source: &'t str,
    file: &'t str,
    manifest: String,
}

#[guarded]
#[pymethods]
impl App {
    #[new]
    #[pyo3(signature = (path, *, elf=None, cc=None, debug=false, build_dir=None))]
    fn new(
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        elf: Option<PathBuf>,
        cc: Option<String>,
        debug: bool,
        build_dir: Option<PathBuf>,
    ) -> PyResult<Self> {
        let given = text_of_path(path)?;
        let path = PathBuf::from(&given);
        errors::detached_as(py, &["pinion", "build", &given], || {
            let (kind, name) = what(&path)?;
            Ok(Self { path, kind, name, elf, cc, debug, build_dir })
        })
    }

    /// Makes an application of source in a string; it lies in a folder of the user's cache.
    #[staticmethod]
    #[pyo3(signature = (
        source, *, header=None, payload=None, completion=None, r#match=None, harts=None, machine=None,
        name="app", language="c", manifest=None, cc=None, debug=false
    ))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn from_source(
        py: Python<'_>,
        source: &str,
        header: Option<&str>,
        payload: Option<&str>,
        completion: Option<&str>,
        r#match: Option<Vec<String>>,
        harts: Option<u32>,
        machine: Option<&str>,
        name: &str,
        language: &str,
        manifest: Option<String>,
        cc: Option<String>,
        debug: bool,
    ) -> PyResult<Self> {
        let texts = [
            ("header", header),
            ("payload", payload),
            ("completion", completion),
            ("machine", machine),
            ("name", Some(name)),
            ("language", Some(language)),
            ("manifest", manifest.as_deref()),
            ("cc", cc.as_deref()),
        ];
        let mut again = vec![again::text(source)];
        again.extend(
            texts.iter().filter_map(|(key, text)| Some(format!("{key}={}", again::text((*text)?)))),
        );
        again.extend(r#match.as_ref().map(|rules| {
            let rules: Vec<_> = rules.iter().map(|rule| again::text(rule)).collect();
            format!("match=[{}]", rules.join(", "))
        }));
        again.extend(harts.map(|harts| format!("harts={harts}")));
        again.extend(debug.then(|| "debug=True".to_owned()));
        let again = || again::script(&[format!("pinion.App.from_source({})", again.join(", "))]);
        let file = match language {
            "c" => "app.c",
            "c++" => "app.cc",
            "asm" => "app.S",
            other => {
                let what = format!("language={other}: write c, c++ or asm");
                return Err(errors::usage(py, &what));
            }
        };
        let handlers = [("header", header), ("payload", payload), ("completion", completion)];
        let handlers = handlers.into_iter().filter_map(|(kind, symbol)| Some((kind, symbol?)));
        let handlers: Vec<_> = handlers.collect();
        let ways = usize::from(!handlers.is_empty())
            + usize::from(harts.is_some())
            + usize::from(manifest.is_some());
        if ways != 1 {
            let what = "say what runs: handlers by name (header=, payload=, completion=), or harts= of \
                        a nanoservice, or manifest= with all of an app.toml";
            return Err(errors::usage(py, what));
        }
        if manifest.is_some() && (machine.is_some() || r#match.is_some()) {
            let what = "manifest= says all: machine= and match= go into it";
            return Err(errors::usage(py, what));
        }
        if harts.is_some() && r#match.is_some() {
            return Err(errors::usage(py, "match= goes with handlers; a nanoservice takes all"));
        }
        let manifest = manifest.unwrap_or_else(|| {
            let mut text = head(name, file, machine);
            match harts {
                Some(harts) => text.push_str(&format!("\n[nanoservice]\nharts = {harts}\n")),
                None => text.push_str(&context(&handlers, r#match.as_deref())),
            }
            text
        });
        errors::detached(py, again, || {
            let path = Text { source, file, manifest }.keep()?;
            let (kind, name) = what(&path)?;
            Ok(Self { path, kind, name, elf: None, cc, debug, build_dir: None })
        })
    }

    /// Its folder, or its file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// `"handlers"`, `"nanoservice"` or `"cluster"`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// Builds its program unless it is up to date, and checks that it fits the machine; a cluster's, all.
    #[pyo3(signature = (machine=None))]
    fn build(&self, py: Python<'_>, machine: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Program>> {
        let options = self.options(machine)?;
        let machine = machine.map(again::shown).unwrap_or_default();
        let made = format!("{}.build({machine})", self.in_python());
        errors::detached_as(py, &["pinion", "build", &self.path.display().to_string()], || {
            if self.kind == Kind::Cluster {
                let plan = Plan::load(&self.cluster_file()?, &options)?;
                let built = (0..).zip(plan.built());
                return Ok(built.map(|(place, built)| Program::of(built, &made, place)).collect());
            }
            let app = AnyApp::load(&self.path, &options)?;
            if let AnyApp::Nanoservice(service) = &app {
                Setup::new(service, &options)?;
            }
            Ok(vec![Program::of(app.built(), &made, 0)])
        })
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<Newargs<'py>> {
        let Self { path, elf, cc, debug, build_dir, .. } = self.clone().absolute()?;
        let keywords = PyDict::new(py);
        keywords.set_item("elf", elf)?;
        keywords.set_item("cc", cc)?;
        keywords.set_item("debug", debug)?;
        keywords.set_item("build_dir", build_dir)?;
        Ok(((path,).into_pyobject(py)?, keywords))
    }

    fn __repr__(&self) -> String {
        format!("<pinion.App {}: {}, {}>", self.name, self.kind.name(), self.path.display())
    }
}

impl App {
    /// Takes an application, or what makes one: its path.
    pub fn of(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        match given.extract::<Self>() {
            Ok(app) => Ok(app),
            Err(_) => {
                let made = given.py().get_type::<Self>().call1((given,))?;
                let app: Self = made.extract()?;
                Ok(app)
            }
        }
    }

    /// Gives how it is to be loaded, for a machine that is a name or a [`Machine`].
    pub fn options(&self, machine: Option<&Bound<'_, PyAny>>) -> PyResult<Options> {
        let mut options = Options { elf: self.elf.clone(), ..Options::default() };
        options.build.cc.clone_from(&self.cc);
        options.build.folder.clone_from(&self.build_dir);
        if self.debug {
            options.build.build_type = BuildType::Debug;
        }
        if let Some(machine) = machine {
            match machine.extract::<Machine>() {
                Ok(machine) => machine.choose(&mut options),
                Err(_) => options.machine = Some(text_of_path(machine)?),
            }
        }
        Ok(options)
    }

    /// Writes what makes it, in Python.
    fn in_python(&self) -> String {
        let path = |path: &Path| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            again::text(&path.display().to_string())
        };
        let Self { elf, cc, build_dir, .. } = self;
        let given = [
            Some(path(&self.path)),
            elf.as_ref().map(|elf| format!("elf={}", path(elf))),
            cc.as_ref().map(|cc| format!("cc={}", again::text(cc))),
            self.debug.then(|| "debug=True".to_owned()),
            build_dir.as_ref().map(|folder| format!("build_dir={}", path(folder))),
        ];
        format!("pinion.App({})", given.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    /// Gives the same, wherever the working directory is.
    pub fn absolute(self) -> PyResult<Self> {
        let absolute = |path: Option<PathBuf>| path.map(std::path::absolute).transpose();
        let (elf, build_dir) = (absolute(self.elf)?, absolute(self.build_dir)?);
        Ok(Self { path: std::path::absolute(self.path)?, elf, build_dir, ..self })
    }

    /// Refuses what was compiled for a debugger, whose cycles are none to compare.
    pub fn check_release(&self, verb: &str) -> pinion_app::Result<()> {
        match self.debug {
            true => Err(Error::Usage(format!(
                "debug=True is another program with other cycles, none that {verb} could compare"
            ))),
            false => Ok(()),
        }
    }

    /// Finds the file of a cluster.
    pub fn cluster_file(&self) -> pinion_app::Result<PathBuf> {
        cluster::locate(&self.path)
            .ok_or_else(|| Error::Usage(format!("{} is no cluster any more", self.path.display())))
    }
}

impl Program {
    fn of(built: &pinion_app::build::Built, made: &str, place: usize) -> Self {
        let messages = String::from_utf8_lossy(&built.messages).into_owned();
        let origin = Origin::of(format!("{made}[{place}]"));
        Self { elf: built.elf.clone(), compiler: built.compiler.clone(), messages, origin }
    }
}

#[guarded]
#[pymethods]
impl Program {
    /// The ELF.
    #[getter]
    fn elf(&self) -> PathBuf {
        self.elf.clone()
    }

    /// The compiler; `None` when the program was up to date or made elsewhere.
    #[getter]
    fn compiler(&self) -> Option<&str> {
        self.compiler.as_deref()
    }

    /// What the compiler wrote.
    #[getter]
    fn messages(&self) -> &str {
        &self.messages
    }

    fn __repr__(&self) -> String {
        format!("<pinion.Program {}>", self.elf.display())
    }
}

/// Tells what lies at a path, and its name.
fn what(path: &Path) -> pinion_app::Result<(Kind, String)> {
    if let Some(file) = cluster::locate(path) {
        let text = pinion_input::text(&file).map_err(|error| Error::file("read", &file, error))?;
        let name = cluster::name(&file.display().to_string(), &text, &[])?;
        return Ok((Kind::Cluster, name));
    }
    let manifest = manifest::load(path)?;
    let kind = match manifest.nanoservice() {
        Some(_) => Kind::Nanoservice,
        None => Kind::Handlers,
    };
    Ok((kind, manifest.app.name))
}

/// Writes text as TOML has it between quotes.
fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => written.extend(['\\', letter]),
            letter if letter.is_control() => {
                written.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => written.push(letter),
        }
    }
    written + "\""
}

fn head(name: &str, file: &str, machine: Option<&str>) -> String {
    let machine = machine.map(|name| format!("machine = {}\n", quoted(name)));
    let machine = machine.unwrap_or_default();
    format!("[app]\nname = {}\nsources = [{}]\n{machine}", quoted(name), quoted(file))
}

fn context(handlers: &[(&str, &str)], rules: Option<&[String]>) -> String {
    let mut text = String::from("\n[[context]]\nname = \"main\"\n");
    if let Some(rules) = rules {
        let rules: Vec<String> = rules.iter().map(|rule| quoted(rule)).collect();
        text.push_str(&format!("match = [{}]\n", rules.join(", ")));
    }
    for (kind, symbol) in handlers {
        text.push_str(&format!("{kind} = {}\n", quoted(symbol)));
    }
    text
}

impl Text<'_> {
    /// Keeps it in a folder of the cache that is named after what it holds, so that the same text is
    /// built once. Gives the folder.
    fn keep(&self) -> pinion_app::Result<PathBuf> {
        let parts =
            [self.manifest.as_bytes(), &[0], self.file.as_bytes(), &[0], self.source.as_bytes()];
        let digest = fnv1a(parts.concat());
        let cache = cache_dir("keep sources in", "or write them into a folder and give its path")?;
        let folder = cache.join("sources").join(format!("{digest:016x}"));
        fs::create_dir_all(&folder).map_err(|error| Error::file("create", &folder, error))?;
        for (name, text) in [(self.file, self.source), ("app.toml", &self.manifest)] {
            let file = folder.join(name);
            // Left alone when it is there: somebody may be compiling it.
            if pinion_input::text(&file).is_ok_and(|found| found == text) {
                continue;
            }
            pinion_observe::report::write_whole(&file, text.as_bytes())?;
        }
        Ok(folder)
    }
}
