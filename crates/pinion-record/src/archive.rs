//! A recording as a file: a tar archive, so that everything in it can be looked at without Pinion.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write as _};
use std::path::{Component, Path};

use pinion_app::error::{Error, Result};
use pinion_observe::report::Partial;
use tar::{Archive, Builder, EntryType, Header};

/// Writes an archive under a temporary name.
pub struct Writer {
    builder: Builder<BufWriter<File>>,
    partial: Partial,
    target: std::path::PathBuf,
}

impl Writer {
    /// Creates the file.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(target: &Path) -> Result<Self> {
        let (file, partial) = Partial::create(target)?;
        let builder = Builder::new(BufWriter::new(file));
        Ok(Self { builder, partial, target: target.to_owned() })
    }

    /// Adds a file. Nobody's name and no time goes in: the same run gives the same bytes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut header = header(bytes.len() as u64);
        self.builder.append_data(&mut header, name, bytes).map_err(|error| self.failed(error))
    }

    /// Adds a file as it lies somewhere.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn add_file(&mut self, name: &str, path: &Path) -> Result<()> {
        let unread = |error| Error::file("read", path, error);
        let file = File::open(path).map_err(unread)?;
        let bytes = file.metadata().map_err(unread)?.len();
        let mut header = header(bytes);
        // Whoever writes to it meanwhile makes it no longer than it was.
        let added = self.builder.append_data(&mut header, name, file.take(bytes));
        added.map_err(|error| self.failed(error))
    }

    /// Ends the archive and gives the file its name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> Result<()> {
        let Self { builder, partial, target } = self;
        let written = builder.into_inner().and_then(|mut file| file.flush());
        written.map_err(|error| Error::file("write", &target, error))?;
        partial.keep()
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::file("write", &self.target, error)
    }
}

/// Describes a file of so many bytes.
fn header(bytes: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(0);
    header
}

/// Puts the files of an archive into a folder; only plain files with plain names.
///
/// # Errors
/// When the archive cannot be read, is damaged, or holds anything else.
pub fn unpack(path: &Path, folder: &Path) -> Result<()> {
    let file = File::open(path).map_err(|error| Error::file("read", path, error))?;
    let damaged = |error: std::io::Error| {
        Error::Usage(format!("the recording {} is damaged: {error}", path.display()))
    };
    let mut archive = Archive::new(BufReader::new(file));
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = entry.path().map_err(damaged)?.into_owned();
        let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain
            || name.as_os_str().is_empty()
            || entry.header().entry_type() != EntryType::Regular
        {
            return Err(Error::Usage(format!(
                "the recording {} holds {}, which is no plain file of its own; it was not made by pinion",
                path.display(),
                name.display()
            )));
        }
        let target = folder.join(&name);
        let parent = target.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| Error::file("create", parent, error))?;
        let size = entry.size();
        let mut out =
            File::create(&target).map_err(|error| Error::file("create", &target, error))?;
        let copied = std::io::copy(&mut entry, &mut out).map_err(damaged)?;
        if copied != size {
            return Err(Error::Usage(format!(
                "the recording {} is cut off in {}: it was not written whole, or not copied whole",
                path.display(),
                name.display()
            )));
        }
    }
    Ok(())
}

/// Reads the beginning of a file; fewer bytes where it has fewer.
pub fn beginning(path: &Path, bytes: usize) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let mut read = Vec::new();
    file.take(bytes as u64).read_to_end(&mut read).ok()?;
    Some(read)
}
