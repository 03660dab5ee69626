//! What is swept: packet handlers, a nanoservice or a cluster. In: a path. Out: which it is, and what
//! is measured of it.

use std::path::{Path, PathBuf};

use pinion_app::error::Result;
use pinion_app::manifest::{self, Manifest};
use pinion_run::cluster;

use super::measure::{Numbers, OF_CLUSTERS, OF_HANDLERS, OF_NANOSERVICES};

/// A cluster: its name, its file and what stands in it.
#[derive(Clone, Debug)]
pub struct ClusterFile {
    /// Name of the cluster.
    pub name: String,
    /// Path of its file.
    pub path: PathBuf,
    /// Text of the file, as it was when the sweep was planned.
    pub text: String,
}

impl ClusterFile {
    fn read(path: PathBuf) -> Result<Self> {
        let text = pinion_input::text(&path);
        let text = text.map_err(|error| pinion_app::Error::file("read", &path, error))?;
        let name = cluster::name(&path.display().to_string(), &text, &[])?;
        Ok(Self { name, path, text })
    }

    /// Checks that overrides fit.
    ///
    /// # Errors
    /// When one does not.
    pub(super) fn check(&self, overrides: &[String]) -> Result<()> {
        cluster::name(&self.path.display().to_string(), &self.text, overrides).map(|_| ())
    }
}

/// What is swept.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Packet handlers on a sPIN NIC.
    Handlers(Manifest),
    /// A program on a nanoPU.
    Nanoservice(Manifest),
    /// Many nodes on one network.
    Cluster(ClusterFile),
}

impl Subject {
    /// Finds out what a folder or a file holds.
    ///
    /// # Errors
    /// When it holds none of them.
    pub fn load(path: &Path) -> Result<Self> {
        if let Some(file) = cluster::locate(path) {
            return ClusterFile::read(file).map(Self::Cluster);
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
            Self::Cluster(cluster) => &cluster.name,
        }
    }

    /// Gives what is measured of it.
    pub fn numbers(&self) -> &'static Numbers {
        match self {
            Self::Handlers(_) => &OF_HANDLERS,
            Self::Nanoservice(_) => &OF_NANOSERVICES,
            Self::Cluster(_) => &OF_CLUSTERS,
        }
    }

    /// Gives the manifest, of one program.
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            Self::Handlers(manifest) | Self::Nanoservice(manifest) => Some(manifest),
            Self::Cluster(_) => None,
        }
    }
}
