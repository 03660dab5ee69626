//! What each file of a recording must add up to: a line for each in the archive's last file. In: files' bytes as
//! they pass. Out: that text, and which file is not as it was recorded.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use crc32fast::Hasher;

/// Names the file; it comes last.
pub const FILE_NAME: &str = "checksums.txt";

/// Checksums (CRC-32) by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checksums(BTreeMap<String, u32>);

impl Checksums {
    /// Notes what a file has added up to.
    pub fn note(&mut self, name: &str, sum: Sum) {
        self.0.insert(name.to_owned(), sum.0.finalize());
    }

    /// Gives the file's text.
    pub fn text(&self) -> String {
        self.0.iter().map(|(name, sum)| format!("{sum:08x} {name}\n")).collect()
    }

    /// Holds what was found in an archive against its last file's text.
    ///
    /// # Errors
    /// Which file is another than was recorded, or not there.
    pub fn check(mut self, text: &str) -> Result<(), String> {
        self.0.remove(FILE_NAME);
        for line in text.lines() {
            let (sum, name) = line.split_once(' ').unwrap_or((line, ""));
            let Some(found) = self.0.remove(name) else {
                return Err(format!("its {FILE_NAME} names {name:?}, which is not there"));
            };
            if format!("{found:08x}") != sum {
                return Err(format!("{name} is not as it was recorded: its checksum is another"));
            }
        }
        match self.0.keys().next() {
            Some(name) => Err(format!("{name} is not in its {FILE_NAME}")),
            None => Ok(()),
        }
    }
}

/// What a file adds up to.
#[derive(Default)]
pub struct Sum(Hasher);

impl Sum {
    /// Adds up bytes that are there whole.
    pub fn of(bytes: &[u8]) -> Self {
        let mut sum = Self::default();
        sum.0.update(bytes);
        sum
    }
}

/// Adds up what passes.
pub struct Summed<'s, T>(pub T, pub &'s mut Sum);

impl<T: Read> Read for Summed<'_, T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(bytes)?;
        self.1.0.update(&bytes[..read]);
        Ok(read)
    }
}

impl<T: Write> Write for Summed<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        self.1.0.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_as_it_was_recorded_and_there() {
        let found = |second: &[u8]| {
            let mut found = Checksums::default();
            found.note("first", Sum::of(b"one"));
            found.note("app/second", Sum::of(second));
            found
        };
        let text = found(b"two").text();
        assert_eq!(found(b"two").check(&text), Ok(()));
        assert!(found(b"twe").check(&text).unwrap_err().starts_with("app/second is not as"));
        assert!(found(b"two").check(&text[..19]).unwrap_err().starts_with("first is not in its"));
        assert!(found(b"two").check("").unwrap_err().contains("is not in its"));
        assert!(Checksums::default().check(&text).unwrap_err().contains("is not there"));
    }
}
