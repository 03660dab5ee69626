//! Network namespaces (Linux): work that is done inside one. In: a name, as `ip netns` has it, or
//! the path of a namespace, such as `/proc/123/ns/net`. Out: what the work gives. Holds nothing;
//! the caller stays where it is, a thread goes in and ends there.

use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Where `ip netns` keeps namespaces by name.
pub const NAMED: &str = "/run/netns";

/// Finds a namespace: a name in [`NAMED`], or with a `/` the path of one.
pub fn path_of(name: &str) -> PathBuf {
    if name.contains('/') { PathBuf::from(name) } else { Path::new(NAMED).join(name) }
}

/// Does work on a thread inside a network namespace.
///
/// Sockets and TAP devices that it opens belong to that namespace for good, wherever they are used;
/// programs that it starts run inside.
///
/// # Errors
/// When the namespace does not exist or may not be entered.
///
/// # Panics
/// When the work does.
pub fn inside<T: Send>(namespace: &Path, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let file = File::open(namespace)?;
    let enter_and_work = || {
        setns(&file, CloneFlags::CLONE_NEWNET)?;
        Ok(work())
    };
    std::thread::scope(|scope| {
        let inside = std::thread::Builder::new().spawn_scoped(scope, enter_and_work)?;
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Brings this thread into a network namespace, for a program that it is about to become.
///
/// # Errors
/// When the namespace does not exist or may not be entered.
pub fn enter(namespace: &Path) -> io::Result<()> {
    Ok(setns(File::open(namespace)?, CloneFlags::CLONE_NEWNET)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_where_ip_netns_keeps_them() {
        assert_eq!(path_of("lab"), Path::new("/run/netns/lab"));
        assert_eq!(path_of("/proc/7/ns/net"), Path::new("/proc/7/ns/net"));
    }

    #[test]
    fn a_namespace_that_is_not_there_is_an_error() {
        let missing = inside(&path_of("pinion-no-such-namespace"), || ()).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_none_cannot_be_entered() {
        assert!(inside(Path::new("/dev/null"), || ()).is_err());
    }
}
