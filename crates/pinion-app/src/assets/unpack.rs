//! Unpacks what is embedded into the user's cache, once. In: a folder's name. Out: the folder, every
//! file of which is as it was when this executable was built.
//!
//! What lies there names compilers and is compiled into programs, so that it is used only from a
//! folder that is ours alone, and after a look at each of its files. What has changed is replaced.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{env, fs};

use super::fnv1a;
use crate::error::{Error, Result};

/// Finds an embedded folder in the cache, or unpacks it, under a name made of all contents.
///
/// # Errors
/// When no folder is ours alone, or it cannot be written.
pub fn folder(name: &str) -> Result<PathBuf> {
    let instead = "or PINION_SDK to an SDK";
    let target = cache("unpack the SDK to", instead)?.join(format!("{name}-{:016x}", digest()));
    let files: Vec<_> = pinion_assets::embedded().filter_map(|entry| inside(name, entry)).collect();
    if is_intact(&target, &files) {
        return Ok(target);
    }
    let staging = staging_folder(&target)?;
    for (name, bytes) in &files {
        let path = staging.join(name);
        let parent = path.parent().unwrap_or(&staging);
        fs::create_dir_all(parent).map_err(|error| Error::file("create", parent, error))?;
        fs::write(&path, bytes).map_err(|error| Error::file("write", &path, error))?;
    }
    let mut renamed = fs::rename(&staging, &target);
    if renamed.is_err() && !is_intact(&target, &files) {
        // What is there was altered: it makes way.
        let aside = staging.with_extension("altered");
        let _ = fs::rename(&target, &aside);
        renamed = fs::rename(&staging, &target);
        let _ = fs::remove_file(&aside).or_else(|_| fs::remove_dir_all(&aside));
    }
    let _ = fs::remove_dir_all(&staging);
    match renamed {
        // Another process may have been faster; its copy is the same.
        Err(error) if !is_intact(&target, &files) => Err(Error::file("create", &target, error)),
        _ => Ok(target),
    }
}

/// Gives a file's name in a folder, and its bytes; `None`: it is elsewhere.
fn inside(
    folder: &str,
    (name, bytes): (&'static str, &'static [u8]),
) -> Option<(&'static str, &'static [u8])> {
    Some((name.strip_prefix(folder)?.strip_prefix('/')?, bytes))
}

/// Tells whether a folder holds files byte for byte as they are to be, nothing else, and no links.
fn is_intact(folder: &Path, files: &[(&str, &[u8])]) -> bool {
    let mut found = BTreeSet::new();
    if !list(folder, folder, &mut found) {
        return false;
    }
    let wanted: BTreeSet<PathBuf> = files.iter().map(|(name, _)| PathBuf::from(name)).collect();
    let is_as_built = |(name, bytes): &(&str, &[u8])| {
        fs::read(folder.join(name)).is_ok_and(|found| found == *bytes)
    };
    found == wanted && files.iter().all(is_as_built)
}

/// Lists the files in a folder and those below; `false`: something there is neither file nor folder,
/// or is not ours alone.
fn list(root: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) -> bool {
    let is_good = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| is_ours(&meta));
    let Ok(entries) = fs::read_dir(folder) else { return false };
    if !is_good(folder) {
        return false;
    }
    for entry in entries {
        let Ok(entry) = entry else { return false };
        let path = entry.path();
        if !is_good(&path) {
            return false;
        }
        if !path.is_dir() {
            found.insert(path.strip_prefix(root).unwrap_or(&path).to_owned());
        } else if !list(root, &path, found) {
            return false;
        }
    }
    true
}

/// Tells whether something is a file or folder of ours; who may write it does not matter where nobody
/// else gets to.
#[cfg(target_os = "linux")]
fn is_ours(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let is_mine = meta.uid() == nix::unistd::geteuid().as_raw();
    is_mine && (meta.is_file() || meta.is_dir())
}

#[cfg(not(target_os = "linux"))]
fn is_ours(meta: &fs::Metadata) -> bool {
    meta.is_file() || meta.is_dir()
}

/// Makes a folder beside another that nobody else has, not even another thread.
fn staging_folder(target: &Path) -> Result<PathBuf> {
    for number in 0.. {
        let folder = target.with_extension(format!("{}-{number}", std::process::id()));
        match make(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::file("create", &folder, error)),
        }
    }
    unreachable!("some number is free")
}

#[cfg(unix)]
fn make(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make(folder: &Path) -> std::io::Result<()> {
    fs::create_dir(folder)
}

/// Finds the cache: `pinion` in the first of the folders for caches where it is, or can be, ours alone.
pub(super) fn cache(purpose: &str, instead: &str) -> Result<PathBuf> {
    let mut problems = Vec::new();
    for base in bases(|name| env::var_os(name), home()) {
        match open(&base) {
            Ok(folder) => return Ok(folder),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        problems.push("this user has no home".to_owned());
    }
    Err(Error::Usage(format!(
        "there is no folder of yours alone to {purpose}: {}; set XDG_CACHE_HOME to one, {instead}",
        problems.join("; ")
    )))
}

#[cfg(target_os = "linux")]
fn open(base: &Path) -> std::result::Result<PathBuf, String> {
    let folder = pinion_assets::own_folder::OwnFolder::open(base, &[OsStr::new("pinion")]);
    let folder = folder.map_err(|problem| problem.to_string())?;
    // Nobody else gets in: what lies there need not be looked at for who may write it.
    let closed = folder.set_mode(0o700);
    closed.map_err(|error| format!("{}: {error}", folder.path().display()))?;
    Ok(folder.path().to_owned())
}

#[cfg(not(target_os = "linux"))]
fn open(base: &Path) -> std::result::Result<PathBuf, String> {
    let folder = base.join(OsStr::new("pinion"));
    let made = fs::create_dir_all(&folder);
    made.map(|()| folder).map_err(|error| format!("{}: {error}", base.display()))
}

/// Lists the folders for caches, the one to be preferred first: that of the environment, then that of
/// the user's own home, which is another under `sudo`.
fn bases(set: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Vec<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let given = |name| set(name).map(PathBuf::from).and_then(absolute);
    let below = |home: PathBuf| home.join(".cache");
    let home = home.and_then(absolute).map(below);
    let mut bases: Vec<PathBuf> =
        [given("XDG_CACHE_HOME"), given("HOME").map(below), home].into_iter().flatten().collect();
    bases.dedup();
    bases
}

/// Gives the home that the system has for this user.
#[cfg(target_os = "linux")]
fn home() -> Option<PathBuf> {
    use nix::unistd::{User, geteuid};
    User::from_uid(geteuid()).ok().flatten().map(|user| user.dir)
}

#[cfg(not(target_os = "linux"))]
fn home() -> Option<PathBuf> {
    None
}

/// Digests the embedded files.
fn digest() -> u64 {
    let files = pinion_assets::embedded();
    fnv1a(files.flat_map(|(name, bytes)| name.bytes().chain(bytes.iter().copied())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_that_is_none_is_not_the_current_folder() {
        let with = |cache: &'static str, home: &'static str| {
            let set = move |name: &str| match name {
                "XDG_CACHE_HOME" => Some(cache.into()),
                "HOME" => Some(home.into()),
                _ => None,
            };
            bases(set, Some("/home/me".into()))
        };
        let own = PathBuf::from("/home/me/.cache");
        assert_eq!(with("", ""), std::slice::from_ref(&own));
        assert_eq!(with("cache", "."), std::slice::from_ref(&own));
        assert_eq!(with("", "/home/me"), std::slice::from_ref(&own));
        assert_eq!(with("/cache", "/home/you")[0], Path::new("/cache"));
        assert_eq!(with("", "/home/you"), [PathBuf::from("/home/you/.cache"), own]);
        assert!(bases(|_| None, None).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn what_has_changed_is_noticed() {
        use std::os::unix::fs::symlink;
        let folder = env::temp_dir().join(format!("pinion-intact-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("a")).unwrap();
        let files: [(&str, &[u8]); 2] = [("a/one", b"1"), ("two", b"2")];
        let restore = || files.iter().for_each(|(n, b)| fs::write(folder.join(n), b).unwrap());
        restore();
        let is_intact = || is_intact(&folder, &files);
        assert!(is_intact());
        fs::write(folder.join("two"), "3").unwrap();
        assert!(!is_intact(), "content");
        restore();
        fs::write(folder.join("a/three"), "").unwrap();
        assert!(!is_intact(), "a further file");
        fs::remove_file(folder.join("a/three")).unwrap();
        fs::remove_file(folder.join("two")).unwrap();
        assert!(!is_intact(), "a file less");
        symlink("a/one", folder.join("two")).unwrap();
        assert!(!is_intact(), "a link");
        fs::remove_file(folder.join("two")).unwrap();
        restore();
        assert!(is_intact());
        fs::remove_dir_all(folder).unwrap();
    }
}
