//! A recording comes in; a folder with everything that its run reads goes out.

use std::fs;
use std::path::{Component, Path, PathBuf};

use pinion_app::error::{Error, Result};
use pinion_app::manifest::CLUSTER_FILE_NAME;
use pinion_app::tape;
use serde_json::Value as Json;
use tempfile::TempDir;
use toml::{Table, Value};

use crate::archive;
use crate::checksums;
use crate::head::{self, FORMAT, Head, Kind};
use crate::pack::{
    APP, MACHINE, MACHINE_BASE, OUTCOME, PIPELINES, TRANSPORT, read, with_base, written,
};

/// Where a tar header's first entry has its magic, and which.
const MAGIC: (usize, &[u8]) = (257, b"ustar");

/// Tells whether a file is a recording, by its beginning, or a folder one whose run did not end.
pub fn is_recording(path: &Path) -> bool {
    let name = head::FILE_NAME.as_bytes();
    if path.is_dir() {
        return path.join(head::FILE_NAME).is_file();
    }
    let begins = |bytes: &[u8]| bytes.starts_with(name) && bytes.get(name.len()) == Some(&0);
    path.is_file()
        && archive::beginning(path, MAGIC.0 + MAGIC.1.len())
            .is_some_and(|bytes| begins(&bytes) && bytes[MAGIC.0.min(bytes.len())..] == *MAGIC.1)
}

/// A recording that is open: its files lie in a folder of their own, until this is dropped.
#[derive(Debug)]
pub struct Recording {
    head: Head,
    folder: TempDir,
    path: PathBuf,
    slices: Option<usize>,
}

impl Recording {
    /// Opens a recording.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, is of a later format, or holds what a recording does not.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("pinion-recording-").tempdir();
        let folder = folder.map_err(|error| {
            Error::part(
                "cannot make a folder for the recording's files (TMPDIR chooses where)",
                error,
            )
        })?;
        let is_unfinished = path.is_dir();
        let sums = match is_unfinished {
            false => archive::unpack(path, folder.path())?,
            true => archive::copy(path, folder.path())?,
        };
        let text = text_of(&folder.path().join(head::FILE_NAME))?;
        let head = read_head(path, &text)?;
        let slices = match is_unfinished {
            true if !folder.path().join(tape::STEPS).is_file() => Some(0),
            true => Some(tape::verify(folder.path())?),
            false => None,
        };
        if slices == Some(0) {
            return Err(Error::Usage(format!(
                "the recording {} was cut off before anything had run",
                path.display()
            )));
        }
        let text = fs::read_to_string(folder.path().join(checksums::FILE_NAME));
        let text = text.map_err(|error| format!("its {}: {error}", checksums::FILE_NAME));
        let damaged = |why| format!("the recording {} is damaged: {why}", path.display());
        text.and_then(|text| sums.check(&text)).map_err(|why| Error::Usage(damaged(why)))?;
        // Anybody may have made it: it names nothing of this computer's.
        let is_plain = |name: &String| {
            let mut parts = Path::new(name).components();
            !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        if let Some((option, name)) = head.files.iter().find(|(_, name)| !is_plain(name)) {
            return Err(Error::Usage(format!(
                "the recording {} is damaged: {}: {option} names {name}, which is no file of its own",
                path.display(),
                head::FILE_NAME
            )));
        }
        let recording = Self { head, folder, path: path.to_owned(), slices };
        match recording.head.kind {
            Kind::Handlers | Kind::Nanoservice => recording.place_application(APP)?,
            Kind::Cluster => recording.place_cluster()?,
            Kind::Nic => place_machine(&recording.app())?,
        }
        Ok(recording)
    }

    /// Gives what the recording says of itself.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Gives the number of slices that are there of a live run that was cut off; `None`: it was not.
    pub fn slices_before_cut(&self) -> Option<usize> {
        self.slices
    }

    /// Gives the file of the machine, where there is one for all.
    pub fn machine(&self) -> PathBuf {
        self.app().join(MACHINE)
    }

    /// Gives the application's folder, or the cluster's.
    pub fn app(&self) -> PathBuf {
        match self.head.kind {
            Kind::Handlers | Kind::Nanoservice | Kind::Nic => self.folder.path().join(APP),
            Kind::Cluster => self.folder.path().to_owned(),
        }
    }

    /// Gives the folder where all its files lie.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Gives the file that an option named.
    pub fn file(&self, option: &str) -> Option<PathBuf> {
        let name = self.head.files.get(option)?;
        Some(self.folder.path().join(name))
    }

    /// Gives what came of the recorded run.
    ///
    /// # Errors
    /// When it is missing or damaged.
    pub fn outcome(&self) -> Result<Json> {
        let text = text_of(&self.folder.path().join(OUTCOME))?;
        serde_json::from_str(&text).map_err(|error| self.damaged(OUTCOME, &error))
    }

    /// Lets an application's manifest name its machine where it lies now.
    fn place_application(&self, name: &str) -> Result<()> {
        let folder = self.folder.path().join(name);
        let file = folder.join("app.toml");
        let mut table = self.table(&file, &format!("{name}/app.toml"))?;
        let app = table.get_mut("app").and_then(Value::as_table_mut);
        let elf = app.as_ref().and_then(|app| app.get("elf"));
        if elf.is_none() || app.as_ref().is_some_and(|app| app.contains_key("sources")) {
            let why = "it names no program";
            return Err(self.damaged(&format!("{name}/app.toml"), &why));
        }
        let machine = folder.join(MACHINE);
        if let Some(app) = app {
            app.insert("machine".to_owned(), text(&machine));
        }
        place_programs(&folder, &mut table);
        write(&file, &written(&table)?)?;
        place_machine(&folder)
    }

    /// Lets a cluster's file name machines where they lie now.
    fn place_cluster(&self) -> Result<()> {
        let file = self.folder.path().join(CLUSTER_FILE_NAME);
        let mut table = self.table(&file, CLUSTER_FILE_NAME)?;
        let nodes = table.get_mut("node").and_then(Value::as_array_mut);
        for (number, node) in nodes.into_iter().flatten().enumerate() {
            let Some(node) = node.as_table_mut() else { continue };
            let name = format!("apps/{number}");
            self.place_application(&name)?;
            node.insert("app".to_owned(), name.clone().into());
            let machine = self.folder.path().join(name).join(MACHINE);
            node.insert("machine".to_owned(), text(&machine));
        }
        write(&file, &written(&table)?)
    }

    fn table(&self, file: &Path, name: &str) -> Result<Table> {
        read(&text_of(file)?, name).map_err(|error| self.damaged(name, &error))
    }

    fn damaged(&self, name: &str, why: &dyn std::fmt::Display) -> Error {
        let path = self.path.display();
        Error::Usage(format!("the recording {path} is damaged: {name}: {why}"))
    }
}

/// Lets a nanoservice's manifest name its transport's programs where they lie now.
fn place_programs(folder: &Path, table: &mut Table) {
    let Some(service) = table.get_mut("nanoservice").and_then(Value::as_table_mut) else { return };
    let programs = PIPELINES.map(|key| (key, folder.join(format!("{key}.p4"))));
    for (key, program) in programs.iter().filter(|(_, program)| program.is_file()) {
        let set = service.entry("set").or_insert_with(|| Value::Array(Vec::new()));
        let Some(set) = set.as_array_mut() else { return };
        set.push(format!("{TRANSPORT}{key}={}", text(program)).into());
    }
}

/// Lets a machine's file name what it builds on where that lies now.
fn place_machine(folder: &Path) -> Result<()> {
    let (machine, base) = (folder.join(MACHINE), folder.join(MACHINE_BASE));
    match base.is_file() {
        true => write(&machine, &with_base(&text_of(&machine)?, &base)),
        false => Ok(()),
    }
}

fn read_head(path: &Path, text: &str) -> Result<Head> {
    let path = path.display();
    let damaged = |error: toml::de::Error| {
        let why = error.message();
        Error::Usage(format!("the recording {path} is damaged: {}: {why}", head::FILE_NAME))
    };
    // The version first: a later one may say more than this one knows.
    let table: Table = text.parse().map_err(damaged)?;
    let format = table.get("format").and_then(Value::as_integer).unwrap_or(0);
    if format != i64::from(FORMAT) {
        let made = table.get("pinion").and_then(Value::as_str).unwrap_or("unknown");
        return Err(Error::Usage(format!(
            "the recording {path} has format {format}, made by pinion {made}; this one, {}, reads \
             format {FORMAT}",
            env!("CARGO_PKG_VERSION")
        )));
    }
    table.try_into().map_err(damaged)
}

fn text(path: &Path) -> Value {
    path.display().to_string().into()
}

fn text_of(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| {
        let name = path.file_name().unwrap_or_default().display();
        Error::part(format!("the recording is damaged: its {name} cannot be read"), error)
    })
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Error::file("write", path, error))
}
