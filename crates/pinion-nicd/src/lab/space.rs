//! One network namespace of a lab. In: its name. Out: a namespace that stays, either by name
//! (`ip netns`, which mounts it: root, or `unshare` with a mount namespace) or, where nothing may
//! be mounted, held by a process of ours ([`super::hold`]).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pinion_net::namespace;
use serde::{Deserialize, Serialize};

use super::LabError;
use super::hold::{self, Holder, Starting};
use super::network::{self, ip};
use super::state::Store;

/// A namespace as the record has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// Its name.
    pub name: String,
    /// Which namespace the system means; none while it is about to be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// The process that keeps it, when it is not mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
}

/// Refuses a name that `ip netns` has.
pub fn refuse_taken(name: &str) -> Result<(), LabError> {
    match fs::symlink_metadata(namespace::path_of(name)) {
        Ok(_) => Err(LabError::Taken { space: name.to_owned() }),
        Err(_) => Ok(()),
    }
}

/// Makes a namespace: by name if this process may, else held by a process, which is yet to be
/// released.
pub fn make(name: &str, store: &Store) -> Result<(Space, Option<Starting>), LabError> {
    let mut space = Space::intended(name);
    let Err(reason) = ip(&["netns", "add", name], "")? else {
        space.inode = inode_of(&space.path());
        return Ok((space, None));
    };
    // What it leaves behind when it may make the file and not the mount.
    let _ = fs::remove_file(namespace::path_of(name));
    let starting = hold::start(store.path()).map_err(|source| LabError::NoNamespace {
        space: name.to_owned(),
        reason: format!("{reason}; {source}"),
    })?;
    space.holder = Some(starting.holder.clone());
    space.inode = inode_of(&space.path());
    Ok((space, Some(starting)))
}

fn inode_of(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.ino())
}

impl Space {
    /// Makes the note that a namespace is about to be made.
    pub fn intended(name: &str) -> Self {
        Self { name: name.to_owned(), inode: None, holder: None }
    }

    /// Gives where it is found.
    pub fn path(&self) -> PathBuf {
        match &self.holder {
            Some(holder) => PathBuf::from(format!("/proc/{}/ns/net", holder.pid)),
            None => namespace::path_of(&self.name),
        }
    }

    /// Tells whether it is there and the one that was made.
    pub fn is_there(&self) -> bool {
        let is_held = self.holder.as_ref().is_none_or(Holder::is_alive);
        is_held && self.inode.is_some() && inode_of(&self.path()) == self.inode
    }

    /// Removes it; tells what was done.
    pub fn remove(&self) -> Result<Vec<String>, LabError> {
        let path = self.path();
        // The name was free when the note was made: what has it now was being made for us.
        let was_begun = self.inode.is_none() && self.holder.is_none() && path.exists();
        if !self.is_there() && !was_begun {
            return Ok(self.remarks_when_gone());
        }
        let mut done = Vec::new();
        if self.is_there() {
            network::take_down(self);
            let inside = self.processes();
            if !inside.is_empty() {
                let inside: Vec<String> =
                    inside.iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
                done.push(format!(
                    "{}: still inside, now without a network: {}",
                    self.name,
                    inside.join(", ")
                ));
            }
        }
        match &self.holder {
            Some(holder) => holder.end(),
            None => self.unmount()?,
        }
        done.push(format!("removed {}", self.name));
        Ok(done)
    }

    fn unmount(&self) -> Result<(), LabError> {
        let refused = |output| LabError::Refused { space: self.name.clone(), output };
        match ip(&["netns", "delete", &self.name], "")? {
            Ok(_) => Ok(()),
            // An empty file without a mount: `ip` was ended before it mounted.
            Err(output) => match fs::remove_file(self.path()) {
                Ok(()) => Ok(()),
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(_) => Err(refused(output)),
            },
        }
    }

    fn remarks_when_gone(&self) -> Vec<String> {
        match self.holder.is_none() && self.path().exists() {
            true => vec![format!("{}: another namespace has this name now, left alone", self.name)],
            false => vec![format!("{} was gone already", self.name)],
        }
    }

    /// Finds the processes inside, but for the holder: process id and name.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let holder = self.holder.as_ref().map(|holder| holder.pid);
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut found: Vec<(u32, String)> = pids
            .filter(|pid| Some(*pid) != holder)
            .filter(|pid| inode_of(Path::new(&format!("/proc/{pid}/ns/net"))) == self.inode)
            .map(|pid| {
                let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                (pid, name.trim().to_owned())
            })
            .collect();
        found.sort_unstable();
        found
    }
}
