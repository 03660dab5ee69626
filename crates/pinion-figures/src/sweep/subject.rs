//! What is swept: packet handlers, a nanoservice or a cluster. In: a path. Out: which it is, and what
//! is measured of it.

use std::path::{Path, PathBuf};

use pinion_app::error::Result;
use pinion_app::manifest::{self, Manifest};
use pinion_run::cluster;

use super::measure::{Numbers, OF_CLUSTERS, OF_HANDLERS, OF_NANOSERVICES};

/// Reads a cluster's name from its file, changed by overrides.
///
/// # Errors
/// When the file cannot be read, or it or an override is wrong.
pub(super) fn cluster_name(file: &Path, overrides: &[String]) -> Result<String> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| pinion_app::Error::file("read", file, error))?;
    cluster::name(&file.display().to_string(), &text, overrides)
}

/// What is swept.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Packet handlers on a sPIN NIC.
    Handlers(Manifest),
    /// A program on a nanoPU.
    Nanoservice(Manifest),
    /// Many nodes on one network: its name and its file.
    Cluster(String, PathBuf),
}

impl Subject {
    /// Finds out what a folder or a file holds.
    ///
    /// # Errors
    /// When it holds none of them.
    pub fn load(path: &Path) -> Result<Self> {
        if let Some(file) = cluster::locate(path) {
            return Ok(Self::Cluster(cluster_name(&file, &[])?, file));
        }
        let manifest = manifest::load(path)?;
        Ok(match manifest.nanoservice() {
            Some(_) => Self::Nanoservice(manifest),
            None => Self::Handlers(manifest),
        })
    }

    /// Gives its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Handlers(manifest) | Self::Nanoservice(manifest) => &manifest.app.name,
            Self::Cluster(name, _) => name,
        }
    }

    /// Gives what is measured of it.
    pub fn numbers(&self) -> &'static Numbers {
        match self {
            Self::Handlers(_) => &OF_HANDLERS,
            Self::Nanoservice(_) => &OF_NANOSERVICES,
            Self::Cluster(..) => &OF_CLUSTERS,
        }
    }

    /// Gives the manifest, of one program.
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            Self::Handlers(manifest) | Self::Nanoservice(manifest) => Some(manifest),
            Self::Cluster(..) => None,
        }
    }
}
