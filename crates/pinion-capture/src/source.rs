//! A window onto the bytes of a capture. In: a reader. Out: at least as many contiguous bytes as
//! asked for, or what is left. Holds at most one record and one read-ahead; waits for the file.

use std::io::{self, Read};

/// Bytes read ahead at a time.
const CHUNK_BYTES: usize = 64 * 1024;

pub(super) struct Source {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    exhausted: bool,
}

impl Source {
    pub(super) fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { reader, buffer: Vec::new(), start: 0, exhausted: false }
    }

    /// Tries to have `bytes` bytes in the window and returns all the window has.
    pub(super) fn fill(&mut self, bytes: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.start < bytes && !self.exhausted {
            self.read_chunk()?;
        }
        Ok(&self.buffer[self.start..])
    }

    /// Forgets the first bytes of the window.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.buffer.len());
    }

    fn read_chunk(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let have = self.buffer.len();
        self.buffer.resize(have + CHUNK_BYTES, 0);
        let result = loop {
            match self.reader.read(&mut self.buffer[have..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let got = *result.as_ref().unwrap_or(&0);
        self.buffer.truncate(have + got);
        self.exhausted = result? == 0;
        Ok(())
    }
}
