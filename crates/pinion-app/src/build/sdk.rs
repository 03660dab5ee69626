//! The SDK's own description of itself, `sdk/sdk.toml` for handlers, `sdk/native/sdk.toml` for
//! handlers on the native engine and `sdk/nanopu/sdk.toml` for nanoservices: runtime sources, include folders, flags per compiler.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pinion_sim::config::{self, Loaded};
use serde::Deserialize;

use crate::error::Result;
use crate::manifest::{Manifest, PacketStart, Target};

/// Names a part of the SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What handlers are built with.
    Handlers,
    /// What nanoservices are built with.
    Nanoservices,
    /// What handlers are built with for the native engine.
    Native,
}

impl Part {
    /// Tells which part an application is built with.
    pub fn of(manifest: &Manifest) -> Self {
        match manifest.target {
            Target::Handlers(_) => Self::Handlers,
            Target::Nanoservice(_) => Self::Nanoservices,
        }
    }
}

/// Holds a `sdk.toml` and the folder it lies in.
#[derive(Debug)]
pub struct Sdk {
    /// The folder.
    pub dir: PathBuf,
    /// Which part of the SDK it is.
    pub part: Part,
    pub(super) file: Loaded<SdkFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SdkFile {
    pub runtime: Runtime,
    pub include: BTreeMap<String, Vec<PathBuf>>,
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
    #[serde(default)]
    pub cxx_sources: Vec<PathBuf>,
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
    pub c: Vec<String>,
    pub cxx: Vec<String>,
    pub link: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CompilerFlags {
    pub command: Vec<String>,
    pub wheel: Option<String>,
    pub flags: Vec<String>,
    pub debug: Vec<String>,
    #[serde(default)]
    pub cxx_flags: Vec<String>,
    pub libraries: Vec<String>,
}

impl Sdk {
    /// Loads a part of the SDK found by [`crate::assets::sdk_dir`].
    ///
    /// # Errors
    /// When there is none, or its `sdk.toml` is wrong.
    pub fn find(part: Part) -> Result<Self> {
        let dir = match part {
            Part::Handlers => crate::assets::sdk_dir()?,
            Part::Nanoservices => crate::assets::sdk_dir()?.join("nanopu"),
            Part::Native => crate::assets::sdk_dir()?.join("native"),
        };
        let file = config::load_file(&dir.join("sdk.toml"), &[])?;
        Ok(Self { dir, part, file })
    }

    /// Names the pinned wheel that brings the zig compiler, if the SDK pins one.
    pub fn zig_wheel(&self) -> Option<&str> {
        self.file.value.zig.wheel.as_deref()
    }

    pub(super) fn runtime_sources(&self) -> impl Iterator<Item = PathBuf> {
        self.file.value.runtime.sources.iter().map(|path| self.dir.join(path))
    }

    /// Lists what is linked to programs that have C++.
    pub(super) fn cxx_runtime_sources(&self) -> impl Iterator<Item = PathBuf> {
        self.file.value.runtime.cxx_sources.iter().map(|path| self.dir.join(path))
    }

    /// Lists the folders that an application's own come before.
    pub(super) fn include_dirs(&self, packet: PacketStart) -> Vec<PathBuf> {
        self.folders(match (self.part, packet) {
            (Part::Nanoservices, _) => "service",
            (_, PacketStart::Ethernet) => "ethernet",
            (_, PacketStart::Ip) => "ip",
        })
    }

    /// Lists the folders of the C library's headers.
    pub(super) fn system_dirs(&self) -> Vec<PathBuf> {
        self.folders("system")
    }

    /// Lists the folders of the C++ library's headers, which come before those of the C library.
    pub(super) fn cxx_dirs(&self) -> Vec<PathBuf> {
        self.folders("cxx")
    }

    fn folders(&self, purpose: &str) -> Vec<PathBuf> {
        let folders = self.file.value.include.get(purpose).into_iter().flatten();
        folders.map(|dir| self.dir.join(dir)).collect()
    }

    pub(super) fn link_template(&self) -> PathBuf {
        self.dir.join(&self.file.value.link.template)
    }

    pub(super) fn origin(&self) -> &Path {
        Path::new(&self.file.origin)
    }
}
