//! The record of what a lab made: a file per lab and user namespace. In: what is about to be made,
//! and what was. Out: what `down` may remove. Holds a lock while a command works on the lab.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg, OFlag};
use serde::{Deserialize, Serialize};

use super::space::Space;
use super::{LabError, LabName};
use pinion_assets::own_folder::{self, OwnFolder};

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
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).custom_flags(OFlag::O_NOFOLLOW.bits());
        let lock = options.open(&lock_path).map_err(failed)?;
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

/// Finds the folder of records and makes it: `PINION_LAB_DIR`, or `lab` in the user's runtime folder.
/// It must be ours alone.
fn folder() -> Result<PathBuf, LabError> {
    let given = std::env::var_os("PINION_LAB_DIR").filter(|value| !value.is_empty());
    let opened = match given.map(PathBuf::from) {
        Some(folder) => OwnFolder::at(&folder),
        None => {
            let (base, name) = own_folder::runtime();
            OwnFolder::open(&base, &[name.as_ref(), "lab".as_ref()])
        }
    };
    let opened = opened.map_err(|problem| LabError::ForeignFolder { problem })?;
    Ok(opened.path().to_owned())
}
