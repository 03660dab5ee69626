//! The library that PsPIN's drivers link, as a file for them: the one that was built beside this
//! executable, or the copy inside it, so that a copied executable needs nothing else.

use std::env::{self, consts};
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Says where the library comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriverLibrary {
    /// A file.
    File(PathBuf),
    /// The executable.
    Embedded(&'static [u8]),
}

impl DriverLibrary {
    /// Takes a named file, or finds the library that belongs to this executable.
    ///
    /// # Errors
    /// The named file does not exist; there is none to be found.
    pub fn find(named: Option<&Path>) -> Result<Self> {
        match named {
            Some(file) if file.is_file() => Ok(Self::File(file.to_owned())),
            Some(file) => Err(Error::Usage(format!("there is no library {}", file.display()))),
            None => beside()
                .map(Self::File)
                .or_else(|| pinion_assets::driver_library().map(Self::Embedded))
                .ok_or_else(|| Error::Usage(missing())),
        }
    }

    /// Writes the library as a file; its folder is made where needed.
    ///
    /// # Errors
    /// Files that cannot be read or written.
    pub fn write(&self, to: &Path) -> Result<()> {
        let parent = to.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(|error| Error::file("create", parent, error))?;
        let written = match self {
            Self::File(from) => fs::copy(from, to).map(|_| ()),
            Self::Embedded(bytes) => fs::write(to, bytes),
        };
        written.map_err(|error| Error::file("write", to, error))
    }
}

fn file_name() -> String {
    format!("{}pinion_pspinsim{}", consts::DLL_PREFIX, consts::DLL_SUFFIX)
}

/// Finds the library that cargo built with this executable.
fn beside() -> Option<PathBuf> {
    let executable = env::current_exe().and_then(|path| path.canonicalize()).ok()?;
    let dir = executable.parent()?;
    // Cargo puts it beside the executable, or below when it builds tests.
    let found = ["", "deps", "../lib"].map(|place| dir.join(place).join(file_name()));
    let age = |path: &PathBuf| path.metadata().and_then(|meta| meta.modified()).ok();
    found.into_iter().filter(|path| path.is_file()).max_by_key(age)
}

fn missing() -> String {
    let why = match cfg!(debug_assertions) {
        true => "which is a debug build",
        false => "whose build said why",
    };
    format!(
        "{} is neither in this executable, {why}, nor beside it: use a release build (make install, \
         cargo install without --debug), build the library beside it (cargo build -p \
         pinion-pspinsim), or give --library FILE",
        file_name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_libraries_must_exist() {
        let error = DriverLibrary::find(Some(Path::new("/nowhere/lib.so"))).unwrap_err();
        assert_eq!(error.to_string(), "there is no library /nowhere/lib.so");
    }

    #[test]
    fn embedded_libraries_are_written_as_they_are() {
        let dir = env::temp_dir().join(format!("pinion-library-{}", std::process::id()));
        let file = dir.join("lib/libpspin.so");
        DriverLibrary::Embedded(b"\x7fELF").write(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"\x7fELF");
        DriverLibrary::File(file.clone()).write(&dir.join("copy")).unwrap();
        assert_eq!(fs::read(dir.join("copy")).unwrap(), b"\x7fELF");
        fs::remove_dir_all(dir).unwrap();
    }

    /// Optimised builds carry the library, so that a copied executable can lay trees out.
    #[test]
    fn optimised_builds_carry_the_library() {
        assert!(
            cfg!(debug_assertions)
                || pinion_assets::driver_library()
                    .is_some_and(|bytes| bytes.starts_with(b"\x7fELF"))
        );
    }
}
