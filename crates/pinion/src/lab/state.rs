//! The record of what a lab made: a file per lab and user namespace. In: what is about to be made,
//! and what was. Out: what `down` may remove. Holds a lock while a command works on the lab.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use super::space::Space;
use super::{LabError, LabName};

/// What was made, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The namespaces; what lies in them goes with them.
    #[serde(default, rename = "namespace")]
    pub spaces: Vec<Space>,
}

impl Record {
    /// Tells whether a process is recorded as a holder, in the record as it is now.
    pub fn has_holder(path: &Path, pid: u32) -> bool {
        let text = fs::read_to_string(path).unwrap_or_default();
        let record: Self = serde_json::from_str(&text).unwrap_or_default();
        record.spaces.iter().any(|space| space.holder.as_ref().is_some_and(|h| h.pid == pid))
    }
}

/// The file, locked.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    _lock: Flock<File>,
}

impl Store {
    /// Opens the record of a lab as this process sees it: in another user namespace (`unshare`) a
    /// lab of the same name is another one.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn open(name: &LabName) -> Result<Self, LabError> {
        let folder = folder()?;
        let here = fs::metadata("/proc/self/ns/user").map_or(0, |found| found.ino());
        let path = folder.join(format!("{}-{here}.json", name.as_str()));
        let lock_path = folder.join("lock");
        let failed = |source| LabError::Record { action: "lock", path: lock_path.clone(), source };
        let lock = File::create(&lock_path).map_err(failed)?;
        let locked = Flock::lock(lock, FlockArg::LockExclusive);
        let lock = locked.map_err(|(_, errno)| failed(errno.into()))?;
        Ok(Self { path, _lock: lock })
    }

    /// Gives the file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the record; an empty one when there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn load(&self) -> Result<Record, LabError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Record::default()),
            Err(source) => return Err(self.failed("read", source)),
        };
        serde_json::from_str(&text).map_err(|error| LabError::BadRecord {
            path: self.path.clone(),
            reason: error.to_string(),
        })
    }

    /// Writes the record, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, record: &Record) -> Result<(), LabError> {
        let text = serde_json::to_string_pretty(record).expect("a record is plain");
        let beside = self.path.with_extension("new");
        fs::write(&beside, text).map_err(|source| self.failed("write", source))?;
        fs::rename(&beside, &self.path).map_err(|source| self.failed("write", source))
    }

    /// Removes the record: there is no lab.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn forget(&self) -> Result<(), LabError> {
        match fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(self.failed("remove", e)),
            _ => Ok(()),
        }
    }

    fn failed(&self, action: &'static str, source: io::Error) -> LabError {
        LabError::Record { action, path: self.path.clone(), source }
    }
}

/// Finds the folder of records and makes it: `PINION_LAB_DIR`, or `pinion/lab` in
/// `XDG_RUNTIME_DIR`, or `/tmp/pinion-UID/lab`. It must be ours alone.
fn folder() -> Result<PathBuf, LabError> {
    let mine = fs::metadata("/proc/self").map_or(0, |found| found.uid());
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = match (given("PINION_LAB_DIR"), given("XDG_RUNTIME_DIR")) {
        (Some(folder), _) => PathBuf::from(folder),
        (None, Some(runtime)) => Path::new(&runtime).join("pinion/lab"),
        (None, None) => PathBuf::from(format!("/tmp/pinion-{mine}/lab")),
    };
    let failed = |source| LabError::Record { action: "make", path: folder.clone(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
    let found = fs::symlink_metadata(&folder).map_err(failed)?;
    if found.uid() != mine || !found.is_dir() || found.permissions().mode() & 0o022 != 0 {
        return Err(LabError::ForeignFolder { path: folder });
    }
    Ok(folder)
}
