//! A file that is written. In a test of a failing disk each call asks [`faults`] first.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::faults;

/// A file that is written.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    is_failing: bool,
}

impl OutputFile {
    /// Opens a file as `options` say.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn open(path: &Path, options: &OpenOptions) -> io::Result<Self> {
        let is_failing = faults::cover(path);
        if is_failing {
            faults::call()?;
        }
        Ok(Self { file: options.open(path)?, is_failing })
    }

    fn ask(&self) -> io::Result<()> {
        if self.is_failing { faults::call() } else { Ok(()) }
    }

    /// Creates a file, or empties the one that is there.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::open(path, OpenOptions::new().write(true).create(true).truncate(true))
    }

    /// Waits until what was written is on the disk.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn sync_data(&self) -> io::Result<()> {
        self.ask()?;
        self.file.sync_data()
    }

    /// Cuts the file off, or makes it longer.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.ask()?;
        self.file.set_len(bytes)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = if self.is_failing { faults::write(bytes.len())? } else { bytes.len() };
        self.file.write(&bytes[..most])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.ask()?;
        self.file.seek(to)
    }
}
