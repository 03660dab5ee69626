//! The process behind the walls: requests come in over the socket, events go out.

use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;

use pinion_spin::{Event, Hears, Interest, Spin};

use super::walls;
use super::wire::{Ask, Bounds, Reader, Writer};
use crate::engine::{Engine, Setup};

/// Sends a piece of an answer when so many bytes are collected.
const PIECE_BYTES: usize = 1 << 20;

/// Runs the engine until the other side has gone; never returns.
pub fn live(setup: Setup<'_>, socket: UnixStream) -> ! {
    let mut ears = Ears { socket, writer: Writer::default() };
    // A panic must not unwind into what the parent was doing.
    let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| serve(setup, &mut ears)));
    let status = if lived.is_ok() { 0 } else { 101 };
    // SAFETY: nothing of the parent's is to be ended here: no destructors, no output twice.
    unsafe { libc::_exit(status) }
}

fn serve(setup: Setup<'_>, ears: &mut Ears) {
    if let Err(error) = walls::enter(ears.socket.as_raw_fd()) {
        return ears.refuse(&format!("its walls cannot be put up: {error}"));
    }
    let bounds = Bounds::new(setup.machine, setup.contexts.len());
    let mut engine = match Engine::new(setup) {
        Ok(engine) => engine,
        Err(error) => return ears.refuse(&error.to_string()),
    };
    ears.end(&engine);
    loop {
        let mut head = [0; Ask::HEAD_BYTES];
        if ears.socket.read_exact(&mut head).is_err() {
            return;
        }
        let Some((ask, bytes)) = Ask::read(head) else { return };
        let mut request = vec![0; bytes];
        if ears.socket.read_exact(&mut request).is_err() {
            return;
        }
        let mut request = Reader::new(request, bounds);
        match ask {
            Ask::Frames | Ask::Settle => {
                engine.offer_all(request.frames(), ears);
                match ask {
                    Ask::Settle => engine.settle(ears),
                    _ => engine.poll(ears),
                }
            }
            Ask::ReadHost => {
                let Some((address, bytes)) = request.range() else { return };
                let mut copy = vec![0; bytes as usize];
                let is_there = engine.read_host(address, &mut copy);
                ears.memory(is_there, &copy);
            }
            Ask::WriteHost => {
                let Some((address, _)) = request.range() else { return };
                let is_there = engine.write_host(address, request.rest());
                ears.memory(is_there, &[]);
            }
        }
        ears.end(&engine);
    }
}

/// Writes what the engine tells.
struct Ears {
    socket: UnixStream,
    writer: Writer,
}

impl Ears {
    fn end(&mut self, engine: &Engine) {
        self.writer.done(&engine.totals(), engine.time());
        self.send();
    }

    fn refuse(&mut self, why: &str) {
        self.writer.refused(why);
        self.send();
    }

    /// Sends what a request for memory is answered, in pieces.
    fn memory(&mut self, is_there: bool, bytes: &[u8]) {
        self.writer.memory_head(is_there);
        for piece in bytes.chunks(PIECE_BYTES) {
            self.writer.memory_piece(piece);
            self.send();
        }
    }

    fn send(&mut self) {
        let piece = self.writer.take();
        let sent = self.socket.write_all(&(piece.len() as u32).to_le_bytes());
        if sent.and_then(|()| self.socket.write_all(&piece)).is_err() {
            // Nobody listens any more.
            // SAFETY: as above.
            unsafe { libc::_exit(0) }
        }
    }
}

impl Hears<Spin> for Ears {
    fn interest(&self) -> Interest {
        Interest::default()
    }

    fn hear(&mut self, event: &Event<'_>) {
        self.writer.event(event);
        if self.writer.len() >= PIECE_BYTES {
            self.send();
        }
    }
}
