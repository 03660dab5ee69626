//! Where programs lie. In: an application's folder. Out: a folder for what is built of it, in the user's
//! cache or in a folder that was chosen, never the application's own: that may be read-only.
//!
//! Its name is that of the application's folder and a digest of the whole path, so that namesakes do
//! not meet; in it, builds that differ by more than their sources (compiler, options, machine) have a
//! folder each, so that two commands at a time do not exchange each other's program. What was built of
//! applications that are gone leaves the cache when another one comes.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::assets::{self, fnv1a};
use crate::error::{Error, Result};

/// File in each folder of the cache with its application's path.
const APPLICATION: &str = "application";
/// Says what to do where there is no cache.
const INSTEAD: &str = "or choose any with --build-dir DIR";

/// Finds the folder for what is built of an application.
///
/// # Errors
/// The application's folder is not there; the cache is not ours alone, or cannot be made.
pub fn of_application(application: &Path, chosen: Option<&Path>) -> Result<PathBuf> {
    let path = match application.as_os_str().is_empty() {
        true => Path::new("."),
        false => application,
    };
    let path = fs::canonicalize(path).map_err(|error| Error::file("use", path, error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let digest = fnv1a(path.as_os_str().as_encoded_bytes().iter().copied());
    let name = format!("{name}-{digest:016x}");
    if let Some(folder) = chosen {
        return Ok(folder.join(name));
    }
    let cache = assets::cache_dir("build programs in", INSTEAD)?.join("build");
    let folder = cache.join(name);
    if !folder.join(APPLICATION).exists() {
        forget_the_gone(&cache);
        // Without it the folder stays when its application goes: no more than that.
        let _ = note(&folder, &path);
    }
    Ok(folder)
}

/// Writes down whose a folder of the cache is, complete or not at all.
fn note(folder: &Path, application: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let partial = folder.join(format!("{APPLICATION}.{}", std::process::id()));
    fs::write(&partial, application.as_os_str().as_encoded_bytes())?;
    fs::rename(partial, folder.join(APPLICATION))
}

/// Removes from the cache what was built of applications that are not there any more.
fn forget_the_gone(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let folder = entry.path();
        // A path that is no text is left alone.
        let Ok(application) = fs::read_to_string(folder.join(APPLICATION)) else { continue };
        if matches!(Path::new(&application).try_exists(), Ok(false)) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namesakes_do_not_meet() {
        let root = std::env::temp_dir().join(format!("pinion-place-{}", std::process::id()));
        let paths = ["a/app", "b/app"].map(|name| root.join(name));
        for path in &paths {
            fs::create_dir_all(path).unwrap();
        }
        let of = |path: &Path| of_application(path, Some(Path::new("/chosen"))).unwrap();
        let [one, other] = paths.each_ref().map(|path| of(path));
        assert_ne!(one, other);
        assert!(one.starts_with("/chosen"), "{}", one.display());
        assert_eq!(of(&root.join("b/../a/app")), one, "the same folder by another path");
        assert!(of_application(&root.join("gone"), None).is_err());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn what_was_built_of_applications_that_are_gone_is_removed() {
        let root = std::env::temp_dir().join(format!("pinion-gone-{}", std::process::id()));
        let (app, cache) = (root.join("app"), root.join("cache"));
        fs::create_dir_all(&app).unwrap();
        let [kept, gone] = ["kept", "gone"].map(|name| cache.join(name));
        note(&kept, &app).unwrap();
        note(&gone, &root.join("removed")).unwrap();
        fs::create_dir_all(cache.join("foreign")).unwrap();
        forget_the_gone(&cache);
        assert!(kept.is_dir() && cache.join("foreign").is_dir() && !gone.exists());
        fs::remove_dir_all(root).unwrap();
    }
}
