//! Files that a run reads whole. In: the name of a file. Out: its bytes or its text, or an error where there are more
//! than anybody means to give, as of a device that never ends: memory is not what it is read until.
//!
//! Files that are read piece by piece, captures and recordings, are read where they are understood.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Bytes of a file at most: programs with all their debug information are some ten MiB.
pub const MOST_BYTES: u64 = 256 << 20;

/// Bytes of a text at most. What is understood of one takes some ten times as much memory.
pub const MOST_TEXT: u64 = 64 << 20;

/// Reads a file.
///
/// # Errors
/// When it cannot be read, or has more than [`MOST_BYTES`].
pub fn bytes(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    whole(File::open(path)?, MOST_BYTES)
}

/// Reads a text.
///
/// # Errors
/// When it cannot be read, has more than [`MOST_TEXT`] bytes, or is not UTF-8.
pub fn text(path: impl AsRef<Path>) -> Result<String> {
    let not_text = |_| Error::new(ErrorKind::InvalidData, "it is no text (UTF-8)");
    String::from_utf8(whole(File::open(path)?, MOST_TEXT)?).map_err(not_text)
}

/// Reads what is opened already, of so many bytes at most.
///
/// # Errors
/// When it cannot be read, or has more.
pub fn whole(mut file: impl Read, most: u64) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    // One more would be too many.
    file.by_ref().take(most + 1).read_to_end(&mut found)?;
    if found.len() as u64 > most {
        let problem = format!("it has more than {} MiB, or never ends", most >> 20);
        return Err(Error::new(ErrorKind::FileTooLarge, problem));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read() {
        let error = text("/dev/zero").unwrap_err();
        assert_eq!(error.to_string(), "it has more than 64 MiB, or never ends");
        assert_eq!(bytes("/dev/zero").unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(whole(&b"four"[..], 4).unwrap(), b"four");
        assert!(whole(&b"four"[..], 3).is_err());
    }

    #[test]
    fn files_are_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "Zwölf").unwrap();
        assert_eq!((text(&file).unwrap(), bytes(&file).unwrap().len()), ("Zwölf".to_owned(), 6));
        std::fs::write(&file, [0xff]).unwrap();
        assert_eq!(text(&file).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(text(folder.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
