//! The connection to gdb: bytes in and out, and notices beside the answers.

use std::io::{self, ErrorKind, Read as _};
use std::net::TcpStream;
use std::time::Duration;

use gdbstub::conn::{Connection, ConnectionExt};

/// A connection over TCP; the end of it is an error, told apart from others.
pub struct Wire {
    stream: TcpStream,
    /// What was sent by the stub and has to leave at once.
    out: Vec<u8>,
    /// The packet that is coming in.
    packet: Vec<u8>,
    /// The thread that the next order backwards is for, as gdb named it.
    named: Option<usize>,
}

impl Wire {
    /// Takes a connection that was accepted.
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, out: Vec::new(), packet: Vec::new(), named: None }
    }

    /// Gives the thread that the next order backwards is for, if gdb has named one: `bc` and `bs` do
    /// not, and what named it before is not told by `gdbstub`.
    pub fn named(&self) -> Option<usize> {
        self.named
    }

    /// Waits until something has come in, for so long at most; tells whether something has.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn wait(&mut self, patience: Duration) -> io::Result<bool> {
        self.look(patience).map(|byte| byte.is_some())
    }

    /// Gives the next byte without taking it, waiting for so long at most.
    fn look(&mut self, patience: Duration) -> io::Result<Option<u8>> {
        self.flush()?;
        let is_patient = !patience.is_zero();
        match is_patient {
            true => self.stream.set_read_timeout(Some(patience))?,
            false => self.stream.set_nonblocking(true)?,
        }
        let mut byte = [0];
        let peeked = self.stream.peek(&mut byte);
        match is_patient {
            true => self.stream.set_read_timeout(None)?,
            false => self.stream.set_nonblocking(false)?,
        }
        match peeked {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(Some(byte[0])),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Looks at a byte that comes in.
    fn notice(&mut self, byte: u8) {
        match byte {
            b'$' => self.packet.clear(),
            b'#' => {
                if let Some(thread) = self.packet.strip_prefix(b"Hc") {
                    self.named = thread_number(thread);
                }
            }
            _ => self.packet.push(byte),
        }
    }

    /// Has gdb print a text; only while the run goes on.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        // Not more than a packet's bytes at a time.
        for part in text.as_bytes().chunks(1024) {
            let hex: String = part.iter().map(|byte| format!("{byte:02x}")).collect();
            let packet = format!("O{hex}");
            let sum = packet.bytes().fold(0_u8, u8::wrapping_add);
            self.out.extend_from_slice(format!("${packet}#{sum:02x}").as_bytes());
        }
        self.flush()
    }
}

/// Reads the number of a thread, `p1.2` or `2`, hexadecimal; `None`: it names no single one.
fn thread_number(text: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(text).ok()?;
    let number = text.rsplit_once('.').map_or(text, |(_, thread)| thread);
    usize::from_str_radix(number, 16).ok().filter(|number| *number > 0)
}

/// Tells whether an error means that the other end is gone.
pub fn is_lost(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
    )
}

impl Connection for Wire {
    type Error = io::Error;

    fn write(&mut self, byte: u8) -> io::Result<()> {
        self.out.push(byte);
        Ok(())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let out = std::mem::take(&mut self.out);
        io::Write::write_all(&mut self.stream, &out)
    }

    fn on_session_start(&mut self) -> io::Result<()> {
        self.stream.set_nodelay(true)
    }
}

impl ConnectionExt for Wire {
    fn read(&mut self) -> io::Result<u8> {
        // An acknowledgement has no answer that would take it along.
        self.flush()?;
        self.stream.set_nonblocking(false)?;
        let mut byte = [0];
        self.stream.read_exact(&mut byte)?;
        self.notice(byte[0]);
        Ok(byte[0])
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        self.look(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::thread_number;

    #[test]
    fn threads_are_told_from_all_and_any() {
        let numbers =
            [("p1.1f", Some(0x1f)), ("3", Some(3)), ("p1.-1", None), ("-1", None), ("0", None)];
        for (text, number) in numbers {
            assert_eq!(thread_number(text.as_bytes()), number, "{text}");
        }
    }
}
