//! What `pinion nic status` and `pinion nic log` ask a running NIC.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;

use serde_json::{Value, json};

use super::message::{Body, Builder, Header, Kind, MESSAGE_BYTES};
use super::socket::Connection;
use pinion_app::error::{Error, Result};
use pinion_observe::document::Document;
use pinion_sim::Time;

pub fn gone(device: &str) -> Error {
    Error::Usage(format!("the NIC {device} has hung up"))
}

/// Sends a question and gives the first answer's body.
fn ask(device: &str, kind: Kind, body: &[u8]) -> Result<(Connection, Vec<u8>)> {
    let connection = Connection::open(device)?;
    // A refusal comes unasked for: it is read below.
    let _ = connection.send(&[&Header::ask(kind, 1).bytes(), body], &[]);
    let answer = receive(device, &connection)?.ok_or_else(|| gone(device))?;
    Ok((connection, answer))
}

/// Receives a message's body; `None`: the NIC has hung up.
fn receive(device: &str, connection: &Connection) -> Result<Option<Vec<u8>>> {
    receive_with_file(device, connection).map(|received| received.map(|(body, _)| body))
}

/// Receives a message's body, and the file that came with it; `None`: the NIC has hung up.
pub fn receive_with_file(
    device: &str,
    connection: &Connection,
) -> Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
    let mut buffer = vec![0; MESSAGE_BYTES];
    let mut was_reset = false;
    let (bytes, file) = loop {
        match connection.receive(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A NIC that hangs up with our question unread resets the connection: that is told
            // once, before what it said last.
            Err(error) if error.kind() == ErrorKind::ConnectionReset && !was_reset => {
                was_reset = true;
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            received => {
                break received.map_err(|error| Error::part("cannot ask the NIC", error))?;
            }
        }
    };
    if bytes == 0 {
        return Ok(None);
    }
    let (header, body) = Header::parse(&buffer[..bytes])
        .ok_or_else(|| Error::Usage(format!("what serves {device} is no Pinion NIC")))?;
    if header.status != 0 {
        return Err(Error::Usage(String::from_utf8_lossy(body).into_owned()));
    }
    Ok(Some((body.to_vec(), file)))
}

/// Asks a NIC for its state, as JSON.
///
/// # Errors
/// When there is no such NIC, or it refuses.
pub fn status(device: &str) -> Result<Value> {
    let (_, body) = ask(device, Kind::Status, &[])?;
    serde_json::from_slice(&body).map_err(|error| Error::part("the NIC's answer is no JSON", error))
}

/// Gives a line of the log, as [`Lines::line`] has it, as a document: a reader may join at any line.
pub fn log_line_json(time_ps: u64, (cluster, hpu): (u32, u32), text: &str, lost: u64) -> Value {
    json!({
        "document": Document::NicLogLine.head(),
        "simulated_ns": Time::from_ps(time_ps).ns(),
        "cluster": cluster,
        "hpu": hpu,
        "text": text,
        "lost_before": lost,
    })
}

/// Turns a NIC's state into lines for people.
pub fn status_text(status: &Value) -> String {
    super::status::text(status)
}

/// Takes lines that handlers printed.
pub trait Lines {
    /// Takes a line: simulated time in picoseconds, cluster, HPU, text, and how many lines before
    /// it were lost. Answers whether to go on.
    fn line(&mut self, time_ps: u64, hpu: (u32, u32), text: &str, lost: u64) -> bool;
}

/// Gives the lines that a NIC's handlers printed, and if wanted those to come.
///
/// # Errors
/// When there is no such NIC, or it refuses.
pub fn log_lines(device: &str, follows: bool, lines: &mut dyn Lines) -> Result<()> {
    let connection = Connection::open(device)?;
    let body = Builder::default().u32(u32::from(follows)).u32(0);
    let _ = connection.send(&[&Header::ask(Kind::Log, 1).bytes(), &body.0], &[]);
    while let Some(body) = receive(device, &connection)? {
        let mut body = Body(&body);
        let (Some(time_ps), Some(lost)) = (body.u64(), body.u64()) else { continue };
        let (Some(cluster), Some(hpu)) = (body.u32(), body.u32()) else { continue };
        if !lines.line(time_ps, (cluster, hpu), &String::from_utf8_lossy(body.0), lost) {
            break;
        }
    }
    Ok(())
}
