//! The Debug Adapter Protocol's messages on a pair of streams: a header with the length, then JSON. What
//! comes in is read by a thread of its own, so that a run goes on until something is there.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Bytes that a message may have.
const MESSAGE_MAX: usize = 16 << 20;
/// Bytes that a line of a header may have.
const HEADER_MAX: u64 = 4096;

/// A request of the editor.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its number.
    pub number: i64,
    /// What is asked for.
    pub command: String,
    /// The rest of the question.
    pub arguments: Value,
}

/// Something that came in.
#[derive(Debug)]
pub enum Incoming {
    /// A request.
    Request(Request),
    /// A message that is none of the protocol's, and why; others may follow it.
    Foreign(String),
    /// Nothing more will come: the stream has ended or cannot be understood any further.
    End(Option<String>),
}

/// Both directions of a connection.
pub struct Wire {
    incoming: Receiver<Incoming>,
    out: Box<dyn Write>,
    sent: i64,
}

impl Wire {
    /// Begins to read.
    pub fn new(input: impl Read + Send + 'static, out: impl Write + 'static) -> Self {
        let (sender, incoming) = channel();
        let unheard = sender.clone();
        let reader = move || read_all(BufReader::new(input), &sender);
        if let Err(error) = std::thread::Builder::new().spawn(reader) {
            let _ = unheard.send(Incoming::End(Some(format!("nothing can be read: {error}"))));
        }
        Self { incoming, out: Box::new(out), sent: 0 }
    }

    /// Waits for what comes next.
    pub fn receive(&self) -> Incoming {
        self.incoming.recv().unwrap_or(Incoming::End(None))
    }

    /// Takes what has come, if something has.
    pub fn look(&self) -> Option<Incoming> {
        match self.incoming.recv_timeout(Duration::ZERO) {
            Ok(incoming) => Some(incoming),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Incoming::End(None)),
        }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn answer(&mut self, request: &Request, answer: Result<Value, String>) -> io::Result<()> {
        let mut message = json!({
            "type": "response",
            "request_seq": request.number,
            "command": request.command,
            "success": answer.is_ok(),
        });
        match answer {
            Ok(Value::Null) => {}
            Ok(body) => message["body"] = body,
            Err(problem) => {
                message["message"] = json!(problem);
                // Braces would be taken for names of variables.
                let variables = json!({ "problem": problem });
                let error = json!({ "id": 1, "format": "{problem}", "variables": variables });
                message["body"] = json!({ "error": error });
            }
        }
        self.send(message)
    }

    /// Tells of something that has happened.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn tell(&mut self, event: &str, body: Value) -> io::Result<()> {
        self.send(json!({ "type": "event", "event": event, "body": body }))
    }

    fn send(&mut self, mut message: Value) -> io::Result<()> {
        self.sent += 1;
        message["seq"] = json!(self.sent);
        let text = message.to_string();
        write!(self.out, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.out.flush()
    }
}

fn read_all(mut input: impl BufRead, sender: &Sender<Incoming>) {
    loop {
        let incoming = match read_message(&mut input) {
            Ok(Some(bytes)) => understand(&bytes),
            Ok(None) => Incoming::End(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Incoming::End(Some(error.to_string()))
            }
            Err(_) => Incoming::End(None),
        };
        let is_last = matches!(incoming, Incoming::End(_));
        if sender.send(incoming).is_err() || is_last {
            return;
        }
    }
}

fn foreign(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// Reads a message's bytes; `None`: the stream ends before one.
fn read_message(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        input.by_ref().take(HEADER_MAX).read_until(b'\n', &mut line)?;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if line.is_empty() {
            return Ok(None);
        }
        if text.is_empty() {
            break;
        }
        let shown: String = text.chars().take(40).collect();
        let (name, value) = text
            .split_once(':')
            .ok_or_else(|| foreign(format!("`{shown}` is no line of a header")))?;
        if name.eq_ignore_ascii_case("content-length") {
            let count = value.trim().parse().ok().filter(|count| *count <= MESSAGE_MAX);
            length = Some(count.ok_or_else(|| foreign(format!("`{shown}` is no length")))?);
        }
    }
    let length = length.ok_or_else(|| foreign("a header without Content-Length"))?;
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

fn understand(bytes: &[u8]) -> Incoming {
    let message: Value = match serde_json::from_slice(bytes) {
        Ok(message) => message,
        Err(error) => return Incoming::Foreign(format!("a message is no JSON: {error}")),
    };
    if message["type"] == "response" || message["type"] == "event" {
        return Incoming::Foreign("only requests are understood".to_owned());
    }
    match (message["seq"].as_i64(), message["command"].as_str()) {
        (Some(number), Some(command)) => Incoming::Request(Request {
            number,
            command: command.to_owned(),
            arguments: message["arguments"].clone(),
        }),
        _ => Incoming::Foreign("a message is no request: `seq` or `command` is missing".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Incoming> {
        let (sender, incoming) = channel();
        read_all(text.as_bytes(), &sender);
        drop(sender);
        incoming.iter().collect()
    }

    #[test]
    fn messages_are_told_from_what_is_none() {
        let request = r#"{"seq":3,"type":"request","command":"threads"}"#;
        let text = format!(
            "Content-Length: {}\r\n\r\n{request}Content-Length: 2\r\nother: x\r\n\r\n{{]",
            request.len()
        );
        let found = read(&text);
        let [Incoming::Request(first), Incoming::Foreign(why), Incoming::End(None)] = &found[..]
        else {
            panic!("{found:?}")
        };
        assert_eq!((first.number, first.command.as_str()), (3, "threads"));
        assert!(why.contains("no JSON"), "{why}");
    }

    #[test]
    fn what_cannot_be_followed_ends_it() {
        for (text, part) in [
            ("GET / HTTP/1.1\r\n\r\n", "no line of a header"),
            ("Content-Length: -1\r\n\r\n", "no length"),
            ("Content-Length: 99999999999\r\n\r\n", "no length"),
            ("Host: a\r\n\r\n", "without Content-Length"),
        ] {
            let found = read(text);
            let [Incoming::End(Some(why))] = &found[..] else { panic!("{text}: {found:?}") };
            assert!(why.contains(part), "{why}");
        }
        assert!(matches!(read("Content-Length: 9\r\n\r\n{}")[..], [Incoming::End(None)]));
    }
}
