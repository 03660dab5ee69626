//! The socket that host programs reach a NIC by: where it lies, who may use it, messages.
//!
//! A NIC holds a lock beside its socket as long as it lives, so that the socket of a dead one is
//! known for what it is and replaced. The folder belongs to the user alone; who connects is checked
//! by the credentials the kernel gives.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType,
    UnixAddr, bind, connect, getsockopt, listen, recvmsg, sendmsg, socket, sockopt,
};
use nix::unistd::{Gid, Group, Uid, User, geteuid, getgrouplist};

use pinion_app::error::{Error, Result};
use pinion_assets::own_folder::{self, OwnFolder};

use super::message::{Header, Kind};
use super::refusal::Code;

/// Programs that may wait to be let in.
const BACKLOG: i32 = 128;
/// Files that a message may carry (Linux: SCM_MAX_FD); all but the first are closed.
const FILES_MAX: usize = 253;

/// Gives the path of a device's socket: `/dev/pspin0` and `pspin0` mean the same, and what ends in
/// `.sock` is a path.
pub fn path(device: &str) -> PathBuf {
    if device.ends_with(".sock") {
        return PathBuf::from(device);
    }
    let name = device.rsplit('/').next().unwrap_or(device);
    folder().join(format!("{name}.sock"))
}

fn folder() -> PathBuf {
    match std::env::var_os("PINION_NIC_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => {
            let (base, name) = own_folder::runtime();
            base.join(name)
        }
    }
}

/// Says who may use a NIC besides the user it runs as, and root.
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    users: Vec<Uid>,
    groups: Vec<Gid>,
}

impl Allowed {
    /// Looks users and groups up, by name or number.
    ///
    /// # Errors
    /// A user or group that does not exist.
    pub fn new(users: &[String], groups: &[String]) -> Result<Self> {
        let missing = |what: &str, name: &str| Error::Usage(format!("there is no {what} `{name}`"));
        let user = |name: &String| match name.parse() {
            Ok(number) => Ok(Uid::from_raw(number)),
            Err(_) => match User::from_name(name) {
                Ok(Some(user)) => Ok(user.uid),
                _ => Err(missing("user", name)),
            },
        };
        let group = |name: &String| match name.parse() {
            Ok(number) => Ok(Gid::from_raw(number)),
            Err(_) => match Group::from_name(name) {
                Ok(Some(group)) => Ok(group.gid),
                _ => Err(missing("group", name)),
            },
        };
        Ok(Self {
            users: users.iter().map(user).collect::<Result<_>>()?,
            groups: groups.iter().map(group).collect::<Result<_>>()?,
        })
    }

    fn is_private(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty()
    }

    /// Tells whether a user may connect.
    fn allows(&self, owner: Uid, user: Uid, group: Gid) -> bool {
        user == owner
            || user.is_root()
            || self.users.contains(&user)
            || self.groups.contains(&group)
            || (!self.groups.is_empty() && is_member(user, group, &self.groups))
    }
}

/// Tells whether a user is in one of some groups, as the system's files say.
fn is_member(user: Uid, group: Gid, groups: &[Gid]) -> bool {
    let Ok(Some(user)) = User::from_uid(user) else { return false };
    let Ok(name) = std::ffi::CString::new(user.name) else { return false };
    let of_user = getgrouplist(&name, group).unwrap_or_default();
    of_user.iter().any(|group| groups.contains(group))
}

/// The open socket of a NIC.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
    allowed: Allowed,
    /// Is closed where the process may have no more files open, for as long as a visitor is turned away.
    spare: RefCell<Option<File>>,
    _lock: Flock<File>,
}

impl Door {
    /// Makes the socket of a device, replacing that of a dead NIC.
    ///
    /// # Errors
    /// When a living NIC has the name, or the folder is not ours alone.
    pub fn open(device: &str, allowed: Allowed) -> Result<Self> {
        let path = path(device);
        let folder = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let folder = prepare(folder.unwrap_or(Path::new(".")), &allowed)?;
        let path = folder.path().join(path.file_name().unwrap_or_default());
        let lock = lock(device, &path)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::file("replace", &path, error));
            }
            _ => {}
        }
        let refused = |errno: Errno| Error::file("create", &path, errno.into());
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let fd = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None).map_err(refused)?;
        let address = UnixAddr::new(&path).map_err(refused)?;
        bind(fd.as_raw_fd(), &address).map_err(refused)?;
        let mode = if allowed.is_private() { 0o600 } else { 0o666 };
        // Nobody else can have put a link there: the folder is ours alone.
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .map_err(|error| Error::file("protect", &path, error))?;
        listen(&fd, Backlog::new(BACKLOG).unwrap_or(Backlog::MAXCONN)).map_err(refused)?;
        let (listener, spare) = (UnixListener::from(fd), RefCell::new(spare()));
        Ok(Self { listener, path, allowed, spare, _lock: lock })
    }

    /// Lets a program in: its connection, and whether it may use the NIC.
    pub fn accept(&self) -> Option<(Connection, bool)> {
        let stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                let errno = error.raw_os_error().map(Errno::from_raw);
                if matches!(errno, Some(Errno::EMFILE | Errno::ENFILE)) {
                    self.turn_away();
                }
                return None;
            }
        };
        stream.set_nonblocking(true).ok()?;
        let connection = Connection::new(stream)?;
        let allowed = self.allowed.allows(geteuid(), connection.user, connection.group);
        Some((connection, allowed))
    }

    /// Tells a program for which there is no room so: left waiting, it would wait for as long as the others stay.
    fn turn_away(&self) {
        drop(self.spare.take());
        if let Ok((stream, _)) = self.listener.accept()
            && let Some(connection) = Connection::new(stream)
        {
            let header = Header::ask(Kind::Hello, 0).answer(Code::Limit as u32);
            // Who does not listen finds it closed.
            let _ = connection.send(&[&header.bytes(), FULL.as_bytes()], &[]);
        }
        self.spare.replace(spare());
    }
}

/// What is said to a program that cannot be let in.
const FULL: &str =
    "the NIC may have no more files open (`ulimit -n`), and so many programs are connected";

/// Opens a file that is none, to be closed in need.
fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes the folder, or checks that nobody else can put sockets there.
fn prepare(folder: &Path, allowed: &Allowed) -> Result<OwnFolder> {
    let opened = OwnFolder::at(folder);
    let folder = opened.map_err(|problem| {
        Error::Usage(format!(
            "the folder of NICs' sockets, {}, must be a folder of yours that nobody else can write \
             to, nor exchange: {problem}; set PINION_NIC_DIR to another",
            folder.display()
        ))
    })?;
    let mode = if allowed.is_private() { 0o700 } else { 0o711 };
    folder.set_mode(mode).map_err(|error| Error::file("protect", folder.path(), error))?;
    Ok(folder)
}

/// Takes the lock that a NIC holds as long as it lives.
fn lock(device: &str, path: &Path) -> Result<Flock<File>> {
    let path = path.with_extension("lock");
    let refused = |error| Error::file("use", &path, error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(OFlag::O_NOFOLLOW.bits());
    let file = options.open(&path).map_err(refused)?;
    let mut lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => lock,
        Err((mut file, Errno::EWOULDBLOCK)) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(Error::Usage(format!(
                "there is a NIC {device} already: process {}; end it, or choose another name with \
                 --device",
                holder.trim()
            )));
        }
        Err((_, errno)) => return Err(refused(errno.into())),
    };
    let text = format!("{} ({})\n", std::process::id(), program(std::process::id() as i32));
    let written = lock.set_len(0).and_then(|()| lock.rewind());
    written.and_then(|()| lock.write_all(text.as_bytes())).map_err(refused)?;
    Ok(lock)
}

/// Gives the name of a process.
fn program(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.chars().filter(|letter| !letter.is_control()).collect()
}

/// One end of a connection.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    /// The process at the other end.
    pub pid: i32,
    /// Its user.
    pub user: Uid,
    /// Its group.
    pub group: Gid,
    /// Its name.
    pub program: String,
}

impl Connection {
    fn new(stream: UnixStream) -> Option<Self> {
        let peer = getsockopt(&stream, sockopt::PeerCredentials).ok()?;
        let (user, group) = (Uid::from_raw(peer.uid()), Gid::from_raw(peer.gid()));
        Some(Self { stream, pid: peer.pid(), user, group, program: program(peer.pid()) })
    }

    /// Connects to a device.
    ///
    /// # Errors
    /// When no NIC is there.
    pub fn open(device: &str) -> Result<Self> {
        let path = path(device);
        let refused = |errno: Errno| match errno {
            Errno::ENOENT | Errno::ECONNREFUSED => Error::Usage(format!(
                "there is no NIC {device}: nobody serves {}; start one (pinion nic --machine \
                 fpspin --tap pin0) or set PINION_NIC_DIR to its folder",
                path.display()
            )),
            errno => Error::file("use", &path, errno.into()),
        };
        let flags = SockFlag::SOCK_CLOEXEC;
        let fd = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None).map_err(refused)?;
        let address = UnixAddr::new(&path).map_err(refused)?;
        connect(fd.as_raw_fd(), &address).map_err(refused)?;
        let gone = || Error::Usage(format!("the NIC {device} has hung up"));
        Self::new(UnixStream::from(fd)).ok_or_else(gone)
    }

    /// Sends a message of some parts, with files.
    ///
    /// # Errors
    /// What the system says; `WouldBlock` when the other end does not read.
    pub fn send(&self, parts: &[&[u8]], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let pieces: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let files: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&files)];
        let control = if files.is_empty() { &[][..] } else { &rights[..] };
        let flags = MsgFlags::MSG_NOSIGNAL;
        loop {
            match sendmsg::<UnixAddr>(self.stream.as_raw_fd(), &pieces, control, flags, None) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Receives a message into a buffer: its bytes (0: the other end has hung up) and the file that
    /// came with it.
    ///
    /// # Errors
    /// What the system says; `WouldBlock` when there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
        let mut control = nix::cmsg_space!([RawFd; FILES_MAX]);
        let mut pieces = [IoSliceMut::new(buffer)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let fd = self.stream.as_raw_fd();
        let message = recvmsg::<UnixAddr>(fd, &mut pieces, Some(&mut control), flags)?;
        let mut files = Vec::new();
        for part in message.cmsgs().into_iter().flatten() {
            if let ControlMessageOwned::ScmRights(fds) = part {
                // SAFETY: the kernel has just made these descriptors for us; nobody else has them.
                files.extend(fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        let is_cut = message.flags.contains(MsgFlags::MSG_TRUNC);
        // What is larger than any message is none: its beginning is not mistaken for one.
        let bytes = if is_cut { 1 } else { message.bytes };
        Ok((bytes, files.into_iter().next()))
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn only_the_owner_root_and_the_allowed_come_in() {
        let (owner, other) = (Uid::from_raw(1000), Uid::from_raw(64_999));
        let (own, group) = (Gid::from_raw(1000), Gid::from_raw(64_998));
        let closed = Allowed::default();
        assert!(closed.allows(owner, owner, own));
        assert!(closed.allows(owner, Uid::from_raw(0), own));
        assert!(!closed.allows(owner, other, own));
        let users = Allowed::new(&["64999".to_owned()], &[]).unwrap();
        assert!(users.allows(owner, other, group) && !users.is_private());
        let groups = Allowed::new(&[], &["64998".to_owned()]).unwrap();
        assert!(groups.allows(owner, other, group));
        assert!(!groups.allows(owner, other, own));
        assert!(Allowed::new(&["nobody-of-this-name".to_owned()], &[]).is_err());
    }

    #[test]
    fn devices_have_names_and_paths() {
        assert_eq!(path("/a/b.sock"), Path::new("/a/b.sock"));
        let name = |device| path(device).file_name().unwrap().to_owned();
        assert_eq!(name("/dev/pspin0"), "pspin0.sock");
        assert_eq!(path("/dev/pspin0"), path("pspin0"));
    }

    #[test]
    fn a_living_nic_keeps_its_name_and_a_dead_one_does_not() {
        let folder = std::env::temp_dir().join(format!("pinion-door-{}", std::process::id()));
        let device = folder.join("a.sock").display().to_string();
        let first = Door::open(&device, Allowed::default()).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        let error = Door::open(&device, Allowed::default()).unwrap_err().to_string();
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        // A NIC that is killed leaves its socket, and its lock is gone.
        let socket = first.path.clone();
        let copy = folder.join("copy");
        fs::hard_link(&socket, &copy).unwrap();
        drop(first);
        fs::rename(&copy, &socket).unwrap();
        let error = Connection::open(&device).unwrap_err().to_string();
        assert!(error.contains("there is no NIC"), "{error}");
        let second = Door::open(&device, Allowed::default()).unwrap();
        let program = Connection::open(&device).unwrap();
        let (connection, is_allowed) = second.accept().unwrap();
        assert!(is_allowed && connection.pid == std::process::id() as i32);
        program.send(&[b"ab", b"c"], &[copy_of_nothing().as_fd()]).unwrap();
        let mut buffer = [0; 16];
        let (bytes, file) = connection.receive(&mut buffer).unwrap();
        assert!(&buffer[..bytes] == b"abc" && file.is_some());
        program.send(&[&[7; 17]], &[]).unwrap();
        assert_eq!(connection.receive(&mut buffer).unwrap().0, 1, "too large");
        drop(program);
        assert_eq!(connection.receive(&mut buffer).unwrap().0, 0);
        drop(second);
        let _ = fs::remove_dir_all(folder);
    }

    fn copy_of_nothing() -> File {
        File::open("/dev/null").unwrap()
    }
}
