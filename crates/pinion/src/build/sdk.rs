//! The SDK's own description of itself, `sdk/sdk.toml`: runtime sources, include folders, flags per
//! compiler.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinion_sim::config::{self, Loaded};
use serde::Deserialize;

use crate::error::Result;
use crate::manifest::PacketStart;

/// Holds `sdk.toml` and the folder it lies in.
#[derive(Debug)]
pub struct Sdk {
    /// Is the SDK's folder.
    pub dir: PathBuf,
    pub(super) file: Loaded<SdkFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SdkFile {
    pub runtime: Runtime,
    pub include: Include,
    pub link: Link,
    pub defines: BTreeMap<String, String>,
    pub flags: Flags,
    pub gcc: CompilerFlags,
    pub zig: CompilerFlags,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Runtime {
    pub sources: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Include {
    pub ethernet: Vec<PathBuf>,
    pub ip: Vec<PathBuf>,
    pub system: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    pub template: PathBuf,
    pub values: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Flags {
    pub compile: Vec<String>,
    pub link: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CompilerFlags {
    pub command: Vec<String>,
    pub wheel: Option<String>,
    pub flags: Vec<String>,
    pub libraries: Vec<String>,
}

impl Sdk {
    /// Loads the SDK found by [`crate::assets::sdk_dir`].
    ///
    /// # Errors
    /// When there is none, or its `sdk.toml` is wrong.
    pub fn find() -> Result<Self> {
        let dir = crate::assets::sdk_dir()?;
        let file = config::load_file(&dir.join("sdk.toml"), &[])?;
        Ok(Self { dir, file })
    }

    /// Names the pinned wheel that brings the zig compiler, if the SDK pins one.
    pub fn zig_wheel(&self) -> Option<&str> {
        self.file.value.zig.wheel.as_deref()
    }

    pub(super) fn runtime_sources(&self) -> impl Iterator<Item = PathBuf> {
        self.file.value.runtime.sources.iter().map(|path| self.dir.join(path))
    }

    pub(super) fn include_dirs(&self, packet: PacketStart) -> Vec<PathBuf> {
        let include = &self.file.value.include;
        let dirs = match packet {
            PacketStart::Ethernet => &include.ethernet,
            PacketStart::Ip => &include.ip,
        };
        dirs.iter().map(|dir| self.dir.join(dir)).collect()
    }

    pub(super) fn system_dirs(&self) -> Vec<PathBuf> {
        self.file.value.include.system.iter().map(|dir| self.dir.join(dir)).collect()
    }

    pub(super) fn link_template(&self) -> PathBuf {
        self.dir.join(&self.file.value.link.template)
    }

    pub(super) fn origin(&self) -> &Path {
        Path::new(&self.file.origin)
    }
}
