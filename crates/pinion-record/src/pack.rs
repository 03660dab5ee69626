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
}

/// A file that an option names.
pub type Input<'a> = (&'a str, &'a Path);

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
        live: Option<Live>,
    ) -> Result<Self> {
        let mut archive = match live {
            None => Writer::create(target)?,
            Some(_) => Writer::create_folder(target)?,
        };
        let (kind, name) = match subject {
            Subject::Handlers(app) => (Kind::Handlers, &app.manifest.app.name),
            Subject::Nanoservice(service, _) => (Kind::Nanoservice, &service.manifest.app.name),
            Subject::Cluster(plan, _) => (Kind::Cluster, &plan.name),
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
                recorder.application(APP, &app.manifest, &app.built.elf, &app.machine)?;
            }
            Subject::Nanoservice(service, setup) => {
                recorder.application(APP, &service.manifest, &service.built.elf, &setup.machine)?;
            }
            Subject::Cluster(plan, file) => recorder.cluster(plan, file)?,
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
        [tape::FRAMES, tape::STEPS].iter().for_each(|name| self.archive.note(name));
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

    /// Adds an application: a manifest that names a program instead of its sources, and a machine.
    fn application<M>(
        &mut self,
        folder: &str,
        manifest: &Manifest,
        elf: &Path,
        machine: &Loaded<M>,
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
        self.archive.add(&format!("{folder}/app.toml"), written(&table)?.as_bytes())?;
        for (name, path) in files {
            self.archive.add_file(&format!("{folder}/{name}"), &path)?;
        }
        let (text, base) = machine.texts();
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
            match plan.groups.get(number).map(|group| &group.target) {
                Some(Target::Nanoservice { service, setup, .. }) => {
                    self.application(
                        &folder,
                        &service.manifest,
                        &service.built.elf,
                        &setup.machine,
                    )?;
                }
                Some(Target::Handlers { app }) => {
                    self.application(&folder, &app.manifest, &app.built.elf, &app.machine)?;
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

/// Reads a text that has been read before.
pub fn read(text: &str, what: &str) -> Result<Table> {
    text.parse().map_err(|error| Error::part(format!("cannot read {what}"), error))
}

/// Writes a table as text.
pub fn written(table: &Table) -> Result<String> {
    toml::to_string(table).map_err(|error| Error::part("cannot describe the run", error))
}
