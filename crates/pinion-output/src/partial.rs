//! A file under its temporary name, until it is complete.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{OutputFile, faults};

/// Temporary names that are tried: others may have left theirs behind.
const NAMES: u32 = 1000;

/// Says which file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}", path = path.display())]
pub struct OutputError {
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

/// A file under its temporary name; removed unless it is kept. A target that exists and is no regular file (a
/// FIFO, `/dev/null`) is written directly; what a symbolic link points to is replaced, not the link.
#[derive(Debug)]
pub struct Partial {
    temporary: Option<PathBuf>,
    target: PathBuf,
}

impl Partial {
    /// Creates the file.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(target: &Path) -> Result<(OutputFile, Self), OutputError> {
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_path_buf());
        let opened = open(&target);
        let (file, temporary) =
            opened.map_err(|source| OutputError { path: target.clone(), source })?;
        Ok((file, Self { temporary, target }))
    }

    /// Gives the file's final name.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the file its final name: it is complete, or grows under it from now on.
    ///
    /// # Errors
    /// When it cannot have it; the final name is then untouched.
    pub fn keep(mut self) -> Result<(), OutputError> {
        let Some(temporary) = &self.temporary else { return Ok(()) };
        let may = if faults::cover(temporary) { faults::call() } else { Ok(()) };
        let named = may.and_then(|()| fs::rename(temporary, &self.target));
        named.map_err(|source| OutputError { path: self.target.clone(), source })?;
        open_partials().remove(temporary);
        self.temporary = None;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nobody is left to tell; a leftover under a temporary name does no harm.
            let _ = fs::remove_file(temporary);
            open_partials().remove(temporary);
        }
    }
}

fn open(target: &Path) -> io::Result<(OutputFile, Option<PathBuf>)> {
    match fs::metadata(target) {
        Ok(meta) if meta.is_dir() => {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        Ok(meta) if !meta.is_file() => {
            return Ok((OutputFile::open(target, OpenOptions::new().write(true))?, None));
        }
        _ => {}
    }
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let process = std::process::id();
    for attempt in 0..NAMES {
        let temporary = target.with_file_name(format!(".{name}.{process}-{attempt}.partial"));
        // Whoever removes what is not complete must not come between a file's making and its name in the list.
        let mut partials = open_partials();
        match OutputFile::open(&temporary, OpenOptions::new().write(true).create_new(true)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                partials.insert(temporary.clone());
                return Ok((file, Some(temporary)));
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Lists the files of this process that have their temporary names: an end of the process that
/// unwinds nothing must remove them.
static OPEN_PARTIALS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn open_partials() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    OPEN_PARTIALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every file that is not complete, for a process that ends at once: nobody makes another one from here on.
pub fn remove_partials() {
    let partials = open_partials();
    remove(&partials);
    std::mem::forget(partials);
}

/// Removes them for a process that cannot go on: without asking for memory, or waiting for another thread.
pub fn try_remove_partials() {
    if let Ok(open) = OPEN_PARTIALS.try_lock() {
        remove(&open);
    }
}

fn remove(paths: &BTreeSet<PathBuf>) {
    for path in paths {
        // Nobody is left to tell.
        let _ = fs::remove_file(path);
    }
}

/// Writes a whole file at once, under its final name only when complete.
///
/// # Errors
/// When it cannot be written.
pub fn write_whole(target: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let (mut file, partial) = Partial::create(target)?;
    let written = file.write_all(bytes);
    written.map_err(|source| OutputError { path: partial.target.clone(), source })?;
    partial.keep()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Fault, fail};

    #[test]
    fn a_file_is_whole_or_not_there_whatever_call_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let all = fail(folder.path(), 0, Fault::Full);
        write_whole(&path, b"whole").unwrap();
        let calls = all.calls();
        drop(all);
        assert_eq!(calls, 3, "it is created, written and named");
        for at in 1..=calls {
            for fault in [Fault::Full, Fault::FullOnce] {
                let _planned = fail(folder.path(), at, fault);
                let error = write_whole(&path, b"another").unwrap_err();
                assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
                assert_eq!((fs::read(&path).unwrap(), names()), (b"whole".to_vec(), 1));
            }
            for (fault, text) in [(Fault::Short, "short"), (Fault::Interrupted, "again")] {
                let _planned = fail(folder.path(), at, fault);
                write_whole(&path, text.as_bytes()).unwrap();
                assert_eq!((fs::read(&path).unwrap(), names()), (text.into(), 1));
            }
            write_whole(&path, b"whole").unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_points_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "before").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let (file, partial) = Partial::create(&link).unwrap();
        drop((file, partial));
        assert_eq!(fs::read(&real).unwrap(), b"before");
        write_whole(&link, b"behind").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"behind");
    }
}
