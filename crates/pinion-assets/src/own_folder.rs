//! Folders that are ours alone (Linux): what lies there was put there by this user or root. In: where
//! one should be. Out: the folder, open, made if need be; or who else could put something there.
//!
//! The way from the root down is walked folder by folder, without following links: each must be
//! root's or this user's, and writable by nobody else, unless it is one like /tmp, where everybody
//! removes their own alone (sticky). Only what leads to the place that was asked for may be a link
//! (~/.cache, /var/run): the walk is where it leads.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};
use std::{env, io};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat, mkdirat};
use nix::unistd::geteuid;

const WRITABLE_BY_GROUP: u32 = 0o020;
const WRITABLE_BY_OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;
const PRIVATE: Mode = Mode::S_IRWXU;

/// Says why a folder is not used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct NotOurs {
    /// Name of the folder, or what stands in its way.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// A folder that is ours alone.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    file: OwnedFd,
}

impl OwnFolder {
    /// Opens the folders `names`, one in the other, in a base that nobody else can exchange; makes
    /// what is missing, for this user alone.
    ///
    /// # Errors
    /// What of it is a link, somebody else's, or writable by others; or cannot be made.
    pub fn open(base: &Path, names: &[&OsStr]) -> Result<Self, NotOurs> {
        let failed = |path: &Path, error: io::Error| NotOurs {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let made = DirBuilder::new().recursive(true).mode(PRIVATE.bits()).create(base);
        made.map_err(|error| failed(base, error))?;
        let base = base.canonicalize().map_err(|error| failed(base, error))?;
        let mut path = PathBuf::from("/");
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = open("/", flags, Mode::empty());
        let mut file = opened.map_err(|errno| failed(&path, errno.into()))?;
        for part in base.components() {
            if let Component::Normal(name) = part {
                path.push(name);
                let opened = openat(&file, name, flags, Mode::empty());
                file = opened.map_err(|errno| failed(&path, errno.into()))?;
            }
            check(&path, &file, is_safe)?;
        }
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        for name in names {
            path.push(name);
            match mkdirat(&file, *name, PRIVATE) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(errno) => return Err(failed(&path, errno.into())),
            }
            file = openat(&file, *name, flags, Mode::empty()).map_err(|errno| match errno {
                Errno::ELOOP | Errno::ENOTDIR => {
                    NotOurs { path: path.clone(), reason: "it is a link, or no folder".to_owned() }
                }
                errno => failed(&path, errno.into()),
            })?;
            check(&path, &file, is_ours_alone)?;
        }
        Ok(Self { path, file })
    }

    /// Opens or makes the folder of this path.
    ///
    /// # Errors
    /// As [`OwnFolder::open`].
    pub fn at(path: &Path) -> Result<Self, NotOurs> {
        let failed =
            |error: io::Error| NotOurs { path: path.to_owned(), reason: error.to_string() };
        let path = std::path::absolute(path).map_err(failed)?;
        if let (Some(base), Some(name)) = (path.parent(), path.file_name()) {
            return Self::open(base, &[name]);
        }
        let folder = Self::open(&path, &[])?;
        check(&folder.path, &folder.file, is_ours_alone)?;
        Ok(folder)
    }

    /// Gives its path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes who may enter it.
    ///
    /// # Errors
    /// When that is refused.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(fchmod(&self.file, Mode::from_bits_truncate(mode))?)
    }
}

impl AsFd for OwnFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn check(path: &Path, file: &OwnedFd, is_good: fn(&FileStat) -> bool) -> Result<(), NotOurs> {
    let problem = |reason: String| NotOurs { path: path.to_owned(), reason };
    let found = fstat(file).map_err(|errno| problem(errno.to_string()))?;
    if is_good(&found) {
        return Ok(());
    }
    Err(problem(format!(
        "others can put something there (it is user {}'s, mode {:o})",
        found.st_uid,
        found.st_mode & 0o7777
    )))
}

/// Tells whether nobody else can exchange what lies in a folder.
fn is_safe(found: &FileStat) -> bool {
    let is_mine = found.st_uid == geteuid().as_raw();
    // Most systems give each user a group, which nobody else is in.
    let is_own_group = is_mine && found.st_gid == nix::unistd::getegid().as_raw();
    let by_others = WRITABLE_BY_OTHERS | if is_own_group { 0 } else { WRITABLE_BY_GROUP };
    let is_kept = found.st_mode & by_others == 0 || found.st_mode & STICKY != 0;
    is_kept && (is_mine || found.st_uid == 0 || Some(found.st_uid) == unmapped_root())
}

/// Tells whether a folder is this user's and nobody else writes there.
fn is_ours_alone(found: &FileStat) -> bool {
    let is_mine = found.st_uid == geteuid().as_raw();
    is_mine && found.st_mode & (WRITABLE_BY_GROUP | WRITABLE_BY_OTHERS) == 0
}

/// Gives what root is shown as in a user namespace that does not have it.
fn unmapped_root() -> Option<u32> {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    let ranges: Vec<Vec<u32>> = map
        .lines()
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    let has_root = |range: &Vec<u32>| matches!(range[..], [_, 0, count] if count > 0);
    if ranges.iter().any(has_root) {
        return None;
    }
    fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?.trim().parse().ok()
}

/// Gives this user's number outside of the user namespace: `unshare --map-root-user` makes nobody
/// root.
fn user() -> u32 {
    let own = geteuid().as_raw();
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    outer_user(&map, own).unwrap_or(own)
}

fn outer_user(map: &str, own: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut words = line.split_whitespace().map(str::parse::<u32>);
        let (inside, outside, count) =
            (words.next()?.ok()?, words.next()?.ok()?, words.next()?.ok()?);
        let offset = own.checked_sub(inside).filter(|offset| *offset < count)?;
        outside.checked_add(offset)
    })
}

/// Gives base and name of the folder for what lives as long as a run, sockets and records: `pinion` in
/// `XDG_RUNTIME_DIR`, if that is this user's; root's is in /run, others' in /run/user/UID, and where
/// there is none /tmp/pinion-UID. Host programs look in the same places (`sdk/fpspin/lib`).
pub fn runtime() -> (PathBuf, String) {
    let own = "pinion".to_owned();
    let is_mine = |folder: &PathBuf| {
        fs::metadata(folder).is_ok_and(|found| found.uid() == geteuid().as_raw())
    };
    let given = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    if let Some(folder) = given.filter(|folder| folder.is_absolute()).filter(is_mine) {
        return (folder, own);
    }
    let user = user();
    if user == 0 {
        return (PathBuf::from("/run"), own);
    }
    let session = PathBuf::from(format!("/run/user/{user}"));
    if is_mine(&session) {
        return (session, own);
    }
    (PathBuf::from("/tmp"), format!("pinion-{user}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = env::temp_dir().join(format!("pinion-own-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            Self(path.canonicalize().unwrap())
        }

        fn open(&self, names: &[&str]) -> Result<OwnFolder, NotOurs> {
            let names: Vec<&OsStr> = names.iter().map(OsStr::new).collect();
            OwnFolder::open(&self.0, &names)
        }

        fn set_mode(&self, name: &str, mode: u32) {
            fs::set_permissions(self.0.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_missing_is_made_for_us_alone() {
        let place = Place::new("made");
        let folder = place.open(&["a", "b"]).unwrap();
        assert_eq!(folder.path(), place.0.join("a/b"));
        for name in ["a", "a/b"] {
            assert_eq!(fs::metadata(place.0.join(name)).unwrap().mode() & 0o777, 0o700);
        }
        folder.set_mode(0o711).unwrap();
        assert!(place.open(&["a", "b"]).is_ok(), "others may enter, not write");
    }

    #[test]
    fn links_are_not_followed() {
        let place = Place::new("link");
        fs::create_dir(place.0.join("real")).unwrap();
        symlink(place.0.join("real"), place.0.join("link")).unwrap();
        symlink(place.0.join("nowhere"), place.0.join("dangling")).unwrap();
        fs::write(place.0.join("file"), "").unwrap();
        for name in ["link", "dangling", "file"] {
            let error = place.open(&[name]).unwrap_err();
            assert!(error.reason.contains("a link, or no folder"), "{error}");
        }
        assert!(!place.0.join("nowhere").exists());
        assert!(OwnFolder::at(&place.0.join("link")).is_err());
        // What leads to the base may be one.
        let base = place.0.join("link");
        assert_eq!(OwnFolder::open(&base, &[]).unwrap().path(), place.0.join("real"));
    }

    #[test]
    fn folders_that_others_write_are_refused() {
        let place = Place::new("open");
        place.open(&["a", "b"]).unwrap();
        for (name, mode) in [("a/b", 0o777), ("a/b", 0o770), ("a", 0o1777)] {
            place.set_mode(name, mode);
            let error = place.open(&["a", "b"]).unwrap_err();
            assert_eq!(error.path, place.0.join(name));
            assert!(error.reason.contains(&format!("mode {mode:o}")), "{error}");
            place.set_mode(name, 0o700);
        }
        place.set_mode("", 0o777);
        assert!(place.open(&["a"]).is_err(), "the base");
        place.set_mode("", 0o1777);
        assert!(place.open(&["a"]).is_ok(), "a base like /tmp");
        assert!(OwnFolder::at(&place.0).is_err());
    }

    #[test]
    fn somebody_elses_folder_is_refused() {
        if !geteuid().is_root() {
            return;
        }
        let place = Place::new("squatted");
        place.open(&["a", "b"]).unwrap();
        std::os::unix::fs::chown(place.0.join("a"), Some(64_999), None).unwrap();
        let error = place.open(&["a", "b"]).unwrap_err();
        assert!(error.reason.contains("user 64999's"), "{error}");
        let below = OwnFolder::open(&place.0.join("a"), &[OsStr::new("b")]).unwrap_err();
        assert_eq!(below.path, place.0.join("a"));
    }

    #[test]
    fn a_user_namespace_makes_nobody_root() {
        assert_eq!(outer_user("         0          0 4294967295\n", 0), Some(0));
        assert_eq!(outer_user("         0       1000          1\n", 0), Some(1000));
        assert_eq!(outer_user("0 1000 1\n1 100000 65536\n", 5), Some(100_004));
        assert_eq!(outer_user("0 1000 1\n", 7), None);
        assert_eq!(outer_user("", 0), None);
    }
}
