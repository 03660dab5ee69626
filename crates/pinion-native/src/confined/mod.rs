//! The engine behind walls: the same frames in and the same events out, with handlers in a process of their
//! own that can touch nothing of this computer.
//!
//! Handlers are machine code that could call the kernel, or write into whoever runs them so that it does.
//! So the whole engine runs in a process that has nothing to lose: no files and no network (namespaces of
//! its own, the root of its file system an empty folder, no descriptor but a socket to us), and of the
//! kernel's calls those that memory, threads and time need (`walls.rs`). A call that a handler makes is not
//! done but told as its fault. What comes back over the socket is taken for what a stranger says (`wire.rs`).

mod child;
mod walls;
mod wire;

use std::io::{self, Read as _, Write as _};
use std::os::fd::{FromRawFd as _, IntoRawFd as _};
use std::os::unix::net::UnixStream;

use pinion_sim::Time;
use pinion_sim::probe::Deaf;
use pinion_spin::{Listener, Totals};

use crate::engine::{Engine, Incoming, Setup};
use crate::error::NativeError;
use wire::{Ask, Bounds, Reader, Request};

use walls::Walls;

/// Hands frames over when so many bytes are collected, or as many frames.
const BATCH_BYTES: usize = 1 << 20;
const BATCH_FRAMES: u32 = 256;
/// The longest piece of an answer.
const PIECE_BYTES: u32 = 64 << 20;

/// An engine in a process of its own.
pub struct Confined {
    socket: UnixStream,
    process: libc::pid_t,
    request: Request,
    bounds: Bounds,
    totals: Totals,
    time: Time,
    lost: Option<NativeError>,
    has_ended: bool,
}

impl Confined {
    /// Says why this computer has no walls, if it has none. With `untrusted` they must be whole.
    ///
    /// # Errors
    /// [`NativeError::Untrusted`] when they are not, and must be.
    pub fn missing(untrusted: bool) -> Result<Option<String>, NativeError> {
        match walls::probe() {
            Walls::Whole => Ok(None),
            Walls::CallsOnly(_) if !untrusted => Ok(None),
            Walls::None(why) if !untrusted => Ok(Some(why)),
            Walls::CallsOnly(why) | Walls::None(why) => Err(NativeError::Untrusted(why)),
        }
    }

    /// Starts the process and, in it, the engine.
    ///
    /// # Errors
    /// As [`Engine::new`], and [`NativeError::NoWalls`].
    pub fn new(setup: Setup<'_>) -> Result<Self, NativeError> {
        let bounds = Bounds::new(setup.machine, setup.contexts.len());
        let (ours, theirs) = UnixStream::pair().map_err(NativeError::NoWalls)?;
        // SAFETY: the child goes on with memory of its own, calls nothing that another thread of ours
        // could have locked but the allocator, which the C library keeps usable, and ends by `_exit`.
        let process = unsafe { libc::fork() };
        if process < 0 {
            return Err(NativeError::NoWalls(io::Error::last_os_error()));
        }
        if process == 0 {
            drop(ours);
            // SAFETY: the descriptor is ours alone from here on.
            child::live(setup, unsafe { UnixStream::from_raw_fd(theirs.into_raw_fd()) });
        }
        drop(theirs);
        let mut confined = Self {
            socket: ours,
            process,
            request: Request::default(),
            bounds,
            totals: Totals::default(),
            time: Time::ZERO,
            lost: None,
            has_ended: false,
        };
        // The first answer says whether the engine is there.
        confined.answer(&mut Deaf);
        confined.lost.take().map_or(Ok(confined), Err)
    }

    /// Takes a frame; it is handed over with others.
    pub fn offer(&mut self, frame: Incoming<'_>, listener: &mut dyn Listener) {
        self.request.frame(frame);
        if self.request.frames >= BATCH_FRAMES || self.request.bytes.len() >= BATCH_BYTES {
            self.ask(Ask::Frames, listener);
        }
    }

    /// Hands over what is collected, and tells what came out so far.
    pub fn poll(&mut self, listener: &mut dyn Listener) {
        self.ask(Ask::Frames, listener);
    }

    /// Waits until no packet is inside.
    pub fn settle(&mut self, listener: &mut dyn Listener) {
        self.ask(Ask::Settle, listener);
    }

    /// Gives the counters as of the last answer.
    pub fn totals(&self) -> Totals {
        self.totals.clone()
    }

    /// Gives the time since the engine began, as of the last answer.
    pub fn time(&self) -> Time {
        self.time
    }

    /// Copies host memory out; `false`: it lies outside the contexts' windows, or the process has ended.
    pub fn read_host(&mut self, address: u64, to: &mut [u8]) -> bool {
        let mut memory = wire::Memory { to, is_there: false };
        self.request.range(address, memory.to.len() as u64);
        self.exchange(Ask::ReadHost, &mut Deaf, Some(&mut memory));
        memory.is_there
    }

    /// Copies into host memory; `false`: it lies outside the contexts' windows, or the process has ended.
    pub fn write_host(&mut self, address: u64, from: &[u8]) -> bool {
        let mut memory = wire::Memory { to: &mut [], is_there: false };
        self.request.range(address, from.len() as u64);
        self.request.bytes.extend_from_slice(from);
        self.exchange(Ask::WriteHost, &mut Deaf, Some(&mut memory));
        memory.is_there
    }

    /// Takes why the process is there no more, if it is not.
    pub fn take_error(&mut self) -> Option<NativeError> {
        self.lost.take()
    }

    fn ask(&mut self, ask: Ask, listener: &mut dyn Listener) {
        self.exchange(ask, listener, None);
    }

    fn exchange(
        &mut self,
        ask: Ask,
        listener: &mut dyn Listener,
        memory: Option<&mut wire::Memory<'_>>,
    ) {
        if self.has_ended {
            self.request.clear();
            return;
        }
        let head = self.request.head(ask);
        let written = self.socket.write_all(&head);
        let written = written.and_then(|()| self.socket.write_all(&self.request.bytes));
        self.request.clear();
        match written {
            Ok(()) => self.answer_with(listener, memory),
            Err(error) => self.lose(&error),
        }
    }

    fn answer(&mut self, listener: &mut dyn Listener) {
        self.answer_with(listener, None);
    }

    /// Reads pieces of an answer until the last one, which has the counters.
    fn answer_with(
        &mut self,
        listener: &mut dyn Listener,
        mut memory: Option<&mut wire::Memory<'_>>,
    ) {
        loop {
            let mut piece = match self.piece() {
                Ok(piece) => Reader::new(piece, self.bounds),
                Err(error) => return self.lose(&error),
            };
            match piece.tell(listener, memory.as_deref_mut()) {
                Some(wire::Said::More) => {}
                Some(wire::Said::Done { totals, time }) => {
                    (self.totals, self.time) = (*totals, time);
                    return;
                }
                Some(wire::Said::Refused(why)) => {
                    self.end();
                    self.lost = Some(NativeError::Confined(why));
                    return;
                }
                None => {
                    let error = io::Error::new(io::ErrorKind::InvalidData, "what it says is wrong");
                    return self.lose(&error);
                }
            }
        }
    }

    fn piece(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.socket.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > PIECE_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it says too much"));
        }
        let mut piece = vec![0; length as usize];
        self.socket.read_exact(&mut piece)?;
        Ok(piece)
    }

    /// Notes that the process is there no more, or not worth listening to.
    fn lose(&mut self, error: &io::Error) {
        let status = self.end();
        let why = match status {
            Some(signal) if signal != libc::SIGKILL => format!("it was ended by signal {signal}"),
            _ => error.to_string(),
        };
        self.lost.get_or_insert(NativeError::Lost(why));
    }

    /// Ends the process; gives the signal that had ended it, if one had.
    fn end(&mut self) -> Option<i32> {
        if std::mem::replace(&mut self.has_ended, true) {
            return None;
        }
        let mut status = 0;
        // SAFETY: a child of ours that nobody else waits for.
        unsafe {
            libc::kill(self.process, libc::SIGKILL);
            libc::waitpid(self.process, &mut status, 0);
        }
        libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status))
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        self.end();
    }
}

/// The engine, with walls or without.
pub enum Runner {
    /// In this process.
    Bare(Box<Engine>),
    /// In a process of its own.
    Confined(Box<Confined>),
}

impl Runner {
    /// Starts an engine; `is_confined` puts it behind walls.
    ///
    /// # Errors
    /// As [`Engine::new`] and [`Confined::new`].
    pub fn new(setup: Setup<'_>, is_confined: bool) -> Result<Self, NativeError> {
        Ok(match is_confined {
            true => Self::Confined(Box::new(Confined::new(setup)?)),
            false => Self::Bare(Box::new(Engine::new(setup)?)),
        })
    }

    /// Takes a frame; what becomes of it is told now or later.
    pub fn offer(&mut self, frame: Incoming<'_>, listener: &mut dyn Listener) {
        match self {
            Self::Bare(engine) => engine.offer(frame, listener),
            Self::Confined(engine) => engine.offer(frame, listener),
        }
    }

    /// Takes frames as if they were offered one after the other: what short handlers cost is least where there
    /// are many.
    pub fn offer_all<'a>(
        &mut self,
        frames: impl IntoIterator<Item = Incoming<'a>>,
        listener: &mut dyn Listener,
    ) {
        match self {
            Self::Bare(engine) => engine.offer_all(frames, listener),
            Self::Confined(engine) => {
                frames.into_iter().for_each(|frame| engine.offer(frame, listener));
            }
        }
    }

    /// Lets workers get on with what they have; tells what came out so far.
    pub fn poll(&mut self, listener: &mut dyn Listener) {
        match self {
            Self::Bare(engine) => engine.poll(listener),
            Self::Confined(engine) => engine.poll(listener),
        }
    }

    /// Waits until no packet is inside.
    pub fn settle(&mut self, listener: &mut dyn Listener) {
        match self {
            Self::Bare(engine) => engine.settle(listener),
            Self::Confined(engine) => engine.settle(listener),
        }
    }

    /// Gives the counters.
    pub fn totals(&self) -> Totals {
        match self {
            Self::Bare(engine) => engine.totals(),
            Self::Confined(engine) => engine.totals(),
        }
    }

    /// Copies host memory out; `false`: it is not there.
    pub fn read_host(&mut self, address: u64, to: &mut [u8]) -> bool {
        match self {
            Self::Bare(engine) => engine.read_host(address, to),
            Self::Confined(engine) => engine.read_host(address, to),
        }
    }

    /// Copies into host memory; `false`: it is not there.
    pub fn write_host(&mut self, address: u64, from: &[u8]) -> bool {
        match self {
            Self::Bare(engine) => engine.write_host(address, from),
            Self::Confined(engine) => engine.write_host(address, from),
        }
    }

    /// Takes why the engine is there no more, if it is not.
    pub fn take_error(&mut self) -> Option<NativeError> {
        match self {
            Self::Bare(_) => None,
            Self::Confined(engine) => engine.take_error(),
        }
    }
}
