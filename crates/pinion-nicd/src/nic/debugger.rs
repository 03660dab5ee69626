//! What `pinion debug --nic` says to a running NIC: it takes the NIC, gets the programs on it, and hands over
//! gdb's connection.

use std::fs::File;
use std::io::Read as _;
use std::net::TcpStream;
use std::os::fd::AsFd as _;

use pinion_app::error::{Error, Result};

use super::ask::{gone, receive_with_file};
use super::message::{Body, Builder, Header, Kind};
use super::socket::Connection;
use super::visitor::{BEGIN, Known};

/// A NIC that is taken for a debugger.
pub struct Attachment {
    device: String,
    connection: Connection,
    /// The programs on it.
    pub programs: Vec<Known>,
}

/// Takes a NIC, or a node of a cluster, for a debugger, and gets its programs. It goes on until the debugger is
/// there.
///
/// # Errors
/// When there is no such NIC, somebody debugs it already, or it refuses.
pub fn attach(device: &str, node: Option<&str>) -> Result<Attachment> {
    let connection = Connection::open(device)?;
    let mut programs: Vec<Known> = Vec::new();
    loop {
        let body = Builder::default().u32(programs.len() as u32);
        let body = node.into_iter().fold(body, Builder::name);
        // A refusal comes unasked for: it is read below.
        let _ = connection.send(&[&Header::ask(Kind::Debug, 1).bytes(), &body.0], &[]);
        let received = receive_with_file(device, &connection)?;
        let (body, file) = received.ok_or_else(|| gone(device))?;
        let mut body = Body(&body);
        let count = body.u32().unwrap_or(0);
        let (Some(name), Some(file)) = (body.name(), file) else { break };
        let mut elf = Vec::new();
        let read = File::from(file).read_to_end(&mut elf);
        read.map_err(|error| Error::part("cannot read the NIC's program", error))?;
        programs.push(Known { name, elf });
        if programs.len() >= count as usize {
            break;
        }
    }
    Ok(Attachment { device: device.to_owned(), connection, programs })
}

impl Attachment {
    /// Hands over gdb's connection, for a node if it is a cluster's: what runs stands from now on.
    ///
    /// # Errors
    /// When it is gone, or cannot.
    pub fn begin(&self, stream: &TcpStream, node: Option<&str>) -> Result<()> {
        let body = Builder::default().u32(BEGIN);
        let body = node.into_iter().fold(body, Builder::name);
        let header = Header::ask(Kind::Debug, 2).bytes();
        let _ = self.connection.send(&[&header, &body.0], &[stream.as_fd()]);
        let received = receive_with_file(&self.device, &self.connection)?;
        received.map(drop).ok_or_else(|| gone(&self.device))
    }

    /// Waits until the debugger has left the NIC, which goes on.
    ///
    /// # Errors
    /// When the debugger was lost, or the NIC has ended.
    pub fn wait(&self) -> Result<()> {
        let device = &self.device;
        let ended = || Error::Usage(format!("the NIC {device} has ended while it was debugged"));
        match receive_with_file(device, &self.connection) {
            Ok(received) => received.map(drop).ok_or_else(ended),
            Err(error) => Err(Error::Usage(format!("{error}; the NIC {device} goes on"))),
        }
    }
}
