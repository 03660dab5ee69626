//! What can be in the way of a lab.

use std::io;
use std::path::PathBuf;

use pinion_assets::own_folder::NotOurs;

impl From<LabError> for pinion_app::Error {
    fn from(error: LabError) -> Self {
        Self::Other(Box::new(error))
    }
}

/// Says what is in the way of a lab and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The name is of the wrong form.
    #[error(
        "`{name}` is no name for a lab: it is `pinion`, or `pinion-` and letters, digits or `-`, \
         24 characters at most"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// Somebody else has a namespace of the name.
    #[error(
        "the network namespace `{space}` exists and is not this lab's: it is left alone; take \
         another name with --name pinion-…, or remove it with `ip netns delete {space}`"
    )]
    Taken {
        /// The namespace.
        space: String,
    },
    /// No namespace could be made.
    #[error(
        "cannot make the network namespace `{space}`: {reason}; run the command as root, or in a \
         shell of `unshare --user --map-root-user --net`"
    )]
    NoNamespace {
        /// The namespace.
        space: String,
        /// Why not.
        reason: String,
    },
    /// There is no lab.
    #[error("the lab `{lab}` is not up: `pinion lab up` makes it")]
    NotUp {
        /// The lab.
        lab: String,
    },
    /// A namespace of the lab cannot be entered.
    #[error("cannot enter the network namespace {}: {source}", path.display())]
    Enter {
        /// The namespace.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The tool `ip` is missing or cannot be run.
    #[error("cannot run `ip`: {source}; it comes with the package iproute2")]
    NoTool {
        /// Why not.
        source: io::Error,
    },
    /// The tool `ip` refused.
    #[error("setting up `{space}` failed: {output}")]
    Refused {
        /// The namespace.
        space: String,
        /// What the tool wrote.
        output: String,
    },
    /// No TAP device could be made.
    #[error(
        "no TAP device can be made in `{space}`: {output}; /dev/net/tun must exist and be open to \
         you (`sudo modprobe tun`; a container needs `--device /dev/net/tun`; in `unshare` without \
         root it is root's until `sudo chmod 666 /dev/net/tun`)"
    )]
    NoTap {
        /// The namespace.
        space: String,
        /// What the tool wrote.
        output: String,
    },
    /// The record of what was made cannot be kept.
    #[error("cannot {action} {}: {source}; PINION_LAB_DIR names another folder", path.display())]
    Record {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The record of what was made says nothing.
    #[error("{} is damaged ({reason}): remove it, then what `ip netns list` shows", path.display())]
    BadRecord {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The folder of records is not this user's alone.
    #[error(
        "the folder of labs' records must be yours alone: {problem}; PINION_LAB_DIR names another"
    )]
    ForeignFolder {
        /// Why not.
        problem: NotOurs,
    },
}
