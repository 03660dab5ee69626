//! What a run reads goes into a recording: programs as they were built, manifests that name them,
//! machines, captures and messages.

use std::path::{Path, PathBuf};

use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_app::manifest::Manifest;
use pinion_app::service::Service;
use pinion_app::tape::{self, Tape};
use pinion_run::cluster::{Plan, Target};
use pinion_run::nanoservice::Setup;
use pinion_sim::config::Loaded;
use serde_json::Value as Json;
use toml::{Table, Value};

use crate::archive::Writer;
use crate::head::{self, FORMAT, Head, Kind, Live};

/// Names the document of what came of the run.
pub const OUTCOME: &str = "outcome.json";
/// Names the folder of an application that stands alone.
pub const APP: &str = "app";
/// Names a program beside its manifest.
const PROGRAM: &str = "program.elf";
/// Names a machine beside the manifest of who runs on it.
pub const MACHINE: &str = "machine.toml";
/// Names the file that a machine builds on.
pub const MACHINE_BASE: &str = "machine-base.toml";
/// What a key of a nanoPU's machine begins with that names a P4 program.
pub const TRANSPORT: &str = "transport.";
/// The keys of those and of their tables' entries, each the name beside the manifest as well.
pub const PIPELINES: [&str; 3] = ["ingress", "egress", "tables"];
/// What only a build wants to know.
const BUILDS: [&str; 5] = ["sources", "include_dirs", "defines", "cflags", "cxxflags"];

/// Says what is run.
#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// Packet handlers.
    Handlers(&'a App),
    /// A nanoservice on its machine.
    Nanoservice(&'a Service, &'a Setup),
    /// A cluster, and its file.
    Cluster(&'a Plan, &'a Path),
    /// A NIC with host programs: its machine, and its device's name.
    Nic(&'a Loaded<pinion_spin::Machine>, &'a str),
}

/// A file that an option names.
pub type Input<'a> = (&'a str, &'a Path);

/// What comes in while a live run goes on.
pub enum Incoming<'a> {
    /// Nothing: the run is none.
    Nothing,
    /// What the run's tape is going to keep.
    Now(Live),
    /// What another recording's tape has, in this folder.
    Again(Live, &'a Path),
}

/// Writes a recording while its run goes on.
pub struct Recorder {
    archive: Writer,
}

impl Recorder {
    /// Begins a recording: everything that the run reads is in it before the run begins.
    ///
    /// # Errors
    /// When something of it cannot be read, or the recording not be written.
    pub fn begin(
        target: &Path,
        subject: Subject<'_>,
        arguments: Vec<String>,
        inputs: &[Input<'_>],
        incoming: Incoming<'_>,
    ) -> Result<Self> {
        let mut archive = match incoming {
            Incoming::Nothing | Incoming::Again(..) => Writer::create(target)?,
            Incoming::Now(_) => Writer::create_folder(target)?,
        };
        let (live, tape) = match incoming {
            Incoming::Nothing => (None, None),
            Incoming::Now(live) => (Some(live), None),
            Incoming::Again(live, tape) => (Some(live), Some(tape)),
        };
        let (kind, name) = match subject {
            Subject::Handlers(app) => (Kind::Handlers, &app.manifest.app.name),
            Subject::Nanoservice(service, _) => (Kind::Nanoservice, &service.manifest.app.name),
            Subject::Cluster(plan, _) => (Kind::Cluster, &plan.name),
            Subject::Nic(_, device) => (Kind::Nic, &device.to_owned()),
        };
        let stored = |(option, path): &Input<'_>| {
            let ending =
                path.extension().map_or_else(String::new, |end| format!(".{}", end.display()));
            (option.to_string(), format!("inputs/{}{ending}", option.trim_start_matches('-')))
        };
        let head = Head {
            format: FORMAT,
            pinion: env!("CARGO_PKG_VERSION").to_owned(),
            kind,
            name: name.clone(),
            arguments,
            files: inputs.iter().map(stored).collect(),
            live,
        };
        let text = toml::to_string(&head)
            .map_err(|error| Error::part("cannot describe the run", error))?;
        archive.add(head::FILE_NAME, text.as_bytes())?;
        for ((_, name), (_, path)) in inputs.iter().map(stored).zip(inputs) {
            archive.add_file(&name, path)?;
        }
        let mut recorder = Self { archive };
        match subject {
            Subject::Handlers(app) => {
                recorder.application(
                    APP,
                    &app.manifest,
                    &app.built.elf,
                    &app.machine,
                    Vec::new(),
                )?;
            }
            Subject::Nanoservice(service, setup) => recorder.nanoservice(APP, service, setup)?,
            Subject::Cluster(plan, file) => recorder.cluster(plan, file)?,
            Subject::Nic(machine, _) => recorder.machine(APP, machine)?,
        }
        // Behind all else, where a live run's own tape comes to lie.
        for (folder, name) in tape.iter().flat_map(|folder| tape::NAMES.map(|name| (folder, name)))
        {
            let path = folder.join(name);
            if path.is_file() {
                recorder.archive.add_file(name, &path)?;
            }
        }
        Ok(recorder)
    }

    /// Begins the tape of a live run, in the recording itself; without one, no run is live.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn tape(&mut self) -> Result<Option<Tape>> {
        let Some(folder) = self.archive.folder() else { return Ok(None) };
        let tape = Tape::create(folder)?;
        tape::NAMES.iter().for_each(|name| self.archive.note(name));
        Ok(Some(tape))
    }

    /// Ends the recording with what came of the run, as [`outcome`](crate::outcome) has it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, outcome: &Json) -> Result<()> {
        let text = format!("{outcome:#}\n");
        self.archive.add(OUTCOME, text.as_bytes())?;
        self.archive.finish()
    }

    /// Adds a nanoservice, with the P4 programs of its transport.
    fn nanoservice(&mut self, folder: &str, service: &Service, setup: &Setup) -> Result<()> {
        let machine = &setup.machine;
        let programs = machine.value.transport.programs();
        let programs = programs.map_err(|(key, why)| Error::from(machine.error_at(key, why)))?;
        self.application(folder, &service.manifest, &service.built.elf, machine, programs)
    }

    /// Adds an application: a manifest that names a program instead of its sources, and a machine.
    fn application<M>(
        &mut self,
        folder: &str,
        manifest: &Manifest,
        elf: &Path,
        machine: &Loaded<M>,
        programs: Vec<(&str, String)>,
    ) -> Result<()> {
        let mut table = read(manifest.text(), "a manifest")?;
        let mut files = vec![(PROGRAM.to_owned(), elf.to_owned())];
        if let Some(app) = table.get_mut("app").and_then(Value::as_table_mut) {
            BUILDS.iter().for_each(|key| drop(app.remove(*key)));
            let named =
                [("name", manifest.app.name.as_str()), ("elf", PROGRAM), ("machine", MACHINE)];
            app.extend(named.map(|(key, value)| (key.to_owned(), value.into())));
        }
        let contexts = table.get_mut("context").and_then(Value::as_array_mut);
        for (number, context) in contexts.into_iter().flatten().enumerate() {
            let Some(context) = context.as_table_mut() else { continue };
            for key in ["handler_memory_image", "host_memory_image"] {
                let Some(path) = context.get(key).and_then(Value::as_str) else { continue };
                let name = format!("context-{number}-{key}");
                files.push((name.clone(), manifest.dir.join(path)));
                context.insert(key.to_owned(), name.into());
            }
        }
        let messages = manifest.dir.join(pinion_run::nanoservice::SCRIPT_NAME);
        if manifest.nanoservice().is_some() && messages.is_file() {
            files.push((pinion_run::nanoservice::SCRIPT_NAME.to_owned(), messages));
        }
        table
            .get_mut("nanoservice")
            .and_then(Value::as_table_mut)
            .into_iter()
            .for_each(forget_programs);
        if let Some(transport) = table.get_mut("transport").and_then(Value::as_table_mut) {
            let named = PIPELINES.iter().filter(|key| transport.remove(**key).is_some()).count();
            if named > 0 {
                transport.entry("kind").or_insert_with(|| "p4".into());
            }
        }
        self.archive.add(&format!("{folder}/app.toml"), written(&table)?.as_bytes())?;
        for (name, path) in files {
            self.archive.add_file(&format!("{folder}/{name}"), &path)?;
        }
        for (name, text) in programs {
            self.archive.add(&format!("{folder}/{name}.p4"), text.as_bytes())?;
        }
        self.machine(folder, machine)
    }

    /// Adds a machine, and what it builds on.
    fn machine<M>(&mut self, folder: &str, machine: &Loaded<M>) -> Result<()> {
        let (text, base) = machine.texts();
        let text = base.map_or(text.to_owned(), |_| with_base(text, Path::new(MACHINE_BASE)));
        self.archive.add(&format!("{folder}/{MACHINE}"), text.as_bytes())?;
        base.map_or(Ok(()), |base| {
            self.archive.add(&format!("{folder}/{MACHINE_BASE}"), base.as_bytes())
        })
    }

    /// Adds a cluster: its file, which names applications and captures of the recording.
    fn cluster(&mut self, plan: &Plan, file: &Path) -> Result<()> {
        let text =
            std::fs::read_to_string(file).map_err(|error| Error::file("read", file, error))?;
        let mut table = read(&text, "a cluster's file")?;
        let beside = file.parent().unwrap_or(Path::new(".")).to_owned();
        let mut captures: Vec<(String, PathBuf)> = Vec::new();
        let nodes = table.get_mut("node").and_then(Value::as_array_mut);
        for (number, node) in nodes.into_iter().flatten().enumerate() {
            let Some(node) = node.as_table_mut() else { continue };
            let folder = format!("apps/{number}");
            node.insert("app".to_owned(), folder.clone().into());
            node.insert("machine".to_owned(), MACHINE.into());
            forget_programs(node);
            match plan.groups.get(number).map(|group| &group.target) {
                Some(Target::Nanoservice { service, setup, .. }) => {
                    self.nanoservice(&folder, service, setup)?;
                }
                Some(Target::Handlers { app }) => {
                    let (elf, machine) = (&app.built.elf, &app.machine);
                    self.application(&folder, &app.manifest, elf, machine, Vec::new())?;
                }
                _ => {}
            }
        }
        let packets = table.get_mut("packets").and_then(Value::as_array_mut);
        for (number, packets) in packets.into_iter().flatten().enumerate() {
            let Some(packets) = packets.as_table_mut() else { continue };
            let Some(path) = packets.get("pcap").and_then(Value::as_str) else { continue };
            let name = format!("inputs/packets-{number}.pcap");
            captures.push((name.clone(), beside.join(path)));
            packets.insert("pcap".to_owned(), name.into());
        }
        self.archive.add(pinion_app::manifest::CLUSTER_FILE_NAME, written(&table)?.as_bytes())?;
        captures.iter().try_for_each(|(name, path)| self.archive.add_file(name, path))
    }
}

/// Lets a machine's file build on the file beside it.
pub fn with_base(machine: &str, base: &Path) -> String {
    let mut is_top = true;
    let lines = machine.lines().map(|line| {
        is_top &= !line.trim_start().starts_with('[');
        let is_base = is_top
            && line.strip_prefix("base").is_some_and(|rest| rest.trim_start().starts_with('='));
        if is_base {
            format!("base = {}\n", Value::from(base.display().to_string()))
        } else {
            format!("{line}\n")
        }
    });
    lines.collect()
}

/// Takes P4 programs out of a table's changes of a machine: they are in the recording.
fn forget_programs(table: &mut Table) {
    let Some(set) = table.get_mut("set").and_then(Value::as_array_mut) else { return };
    set.retain(|text| !text.as_str().is_some_and(names_program));
    if set.is_empty() {
        table.remove("set");
    }
}

/// Tells whether a change of a machine (`KEY=VALUE`) names a P4 program, which is in the recording.
pub fn names_program(text: &str) -> bool {
    let key = text.split('=').next().unwrap_or_default().trim();
    let (head, last) = key.rsplit_once('.').unwrap_or(("", key));
    PIPELINES.contains(&last) && format!("{head}.").ends_with(TRANSPORT)
}

/// Reads a text that has been read before.
pub fn read(text: &str, what: &str) -> Result<Table> {
    text.parse().map_err(|error| Error::part(format!("cannot read {what}"), error))
}

/// Writes a table as text.
pub fn written(table: &Table) -> Result<String> {
    toml::to_string(table).map_err(|error| Error::part("cannot describe the run", error))
}
