//! Writes a capture. In: frames and their times. Out: a classic pcap file with nanosecond
//! timestamps. Holds a write buffer.
//!
//! The file gets its final name in [`CaptureWriter::finish`], so the final name never holds half a run. A
//! writer that is dropped unfinished removes what it wrote ([`Partial`]).

use super::{CaptureError, LinkType};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use pinion_output::{OutputFile, Partial};

/// Magic number of a pcap file with nanosecond timestamps.
const MAGIC_NS: u32 = 0xa1b2_3c4d;
/// Largest packet the header announces; what tcpdump announces too.
const SNAP_BYTES: u32 = 262_144;
/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;
/// Nanoseconds in a second.
const NS_PER_S: u128 = 1_000_000_000;

/// Writes frames to a pcap file; complete only after [`CaptureWriter::finish`].
pub struct CaptureWriter {
    path: PathBuf,
    /// `None`: it has its final name.
    partial: Option<Partial>,
    out: BufWriter<OutputFile>,
    base_ns: u64,
    packets_written: u64,
}

impl CaptureWriter {
    /// Creates the temporary file next to `path` and writes the header.
    ///
    /// # Errors
    /// [`CaptureError::Write`] when the folder is missing or not writable.
    pub fn create(path: impl AsRef<Path>, link: LinkType) -> Result<Self, CaptureError> {
        let (file, partial) = Partial::create(path.as_ref())?;
        let mut header = Vec::with_capacity(24);
        header.extend(MAGIC_NS.to_le_bytes());
        header.extend(2u16.to_le_bytes());
        header.extend(4u16.to_le_bytes());
        header.extend([0; 8]); // time zone and accuracy, always 0
        header.extend(SNAP_BYTES.to_le_bytes());
        header.extend(link.number().to_le_bytes());
        let mut writer = Self {
            path: partial.target().to_owned(),
            partial: Some(partial),
            out: BufWriter::with_capacity(64 * 1024, file),
            base_ns: 0,
            packets_written: 0,
        };
        writer.put(&[&header])?;
        Ok(writer)
    }

    /// Sets the absolute time, in nanoseconds since 1970, that stands for `time_ps` 0.
    pub fn base_unix_ns(mut self, base_ns: u64) -> Self {
        self.base_ns = base_ns;
        self
    }

    /// Appends one packet; its time is truncated to whole nanoseconds.
    ///
    /// # Errors
    /// [`CaptureError::Write`] when the system refuses, [`CaptureError::Unwritable`] when the
    /// packet or its time does not fit the format.
    pub fn write(&mut self, time_ps: u64, bytes: &[u8]) -> Result<(), CaptureError> {
        let ns = u128::from(self.base_ns) + u128::from(time_ps / PS_PER_NS);
        let Ok(seconds) = u32::try_from(ns / NS_PER_S) else {
            return Err(self.unwritable("its time is beyond the year 2106, where pcap ends"));
        };
        let length = bytes.len() as u32;
        if bytes.len() > SNAP_BYTES as usize {
            return Err(self.unwritable("it has more than 262,144 bytes"));
        }
        let mut head = [0; 16];
        head[..4].copy_from_slice(&seconds.to_le_bytes());
        head[4..8].copy_from_slice(&((ns % NS_PER_S) as u32).to_le_bytes());
        head[8..12].copy_from_slice(&length.to_le_bytes());
        head[12..].copy_from_slice(&length.to_le_bytes());
        self.put(&[&head, bytes])?;
        self.packets_written += 1;
        Ok(())
    }

    /// Gives the file its final name now: it grows under it, up to the last [`CaptureWriter::flush`].
    ///
    /// # Errors
    /// [`CaptureError::Write`].
    pub fn under_its_name(mut self) -> Result<Self, CaptureError> {
        self.partial.take().map_or(Ok(()), Partial::keep)?;
        Ok(self)
    }

    /// Lets the file have every packet so far.
    ///
    /// # Errors
    /// [`CaptureError::Write`] when the system refuses.
    pub fn flush(&mut self) -> Result<(), CaptureError> {
        self.out.flush().map_err(|source| CaptureError::Write { path: self.path.clone(), source })
    }

    /// Returns the number of packets written so far.
    pub fn packets_written(&self) -> u64 {
        self.packets_written
    }

    /// Completes the file, gives it its final name and returns the number of packets in it.
    ///
    /// # Errors
    /// [`CaptureError::Write`]; the final name is then untouched.
    pub fn finish(mut self) -> Result<u64, CaptureError> {
        self.flush()?;
        self.partial.take().map_or(Ok(()), Partial::keep)?;
        Ok(self.packets_written)
    }

    fn put(&mut self, parts: &[&[u8]]) -> Result<(), CaptureError> {
        for part in parts {
            self.out
                .write_all(part)
                .map_err(|source| CaptureError::Write { path: self.path.clone(), source })?;
        }
        Ok(())
    }

    fn unwritable(&self, detail: &str) -> CaptureError {
        let number = self.packets_written + 1;
        CaptureError::Unwritable { path: self.path.clone(), number, detail: detail.to_string() }
    }
}
