//! HTTP/1.1, as far as a page for one reader wants it. In: the bytes of a request. Out: its head; and an
//! answer's bytes. What is no GET with a small head is refused.

use std::io::{self, Read, Write};

/// Bytes of a request's head at most.
const HEAD_BYTES: usize = 8192;
/// Lines of a request's head at most.
const HEADERS: usize = 64;

/// What browsers may do with whatever is answered: keep it to themselves.
const ALWAYS: &str = "Cache-Control: no-store\r\n\
                      Referrer-Policy: no-referrer\r\n\
                      X-Content-Type-Options: nosniff\r\n\
                      X-Frame-Options: DENY\r\n\
                      Cross-Origin-Resource-Policy: same-origin\r\n\
                      Connection: close\r\n";

/// The head of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Its method.
    pub method: String,
    /// The path that it asks for.
    pub path: String,
    /// What stands behind the question mark.
    pub query: String,
    headers: Vec<(String, String)>,
}

impl Request {
    /// Reads a request's head; `None`: it is none.
    ///
    /// # Errors
    /// When it cannot be read, in time.
    pub fn read(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let (mut bytes, mut piece) = (Vec::new(), [0; 1024]);
        while bytes.len() < HEAD_BYTES {
            let count = stream.read(&mut piece)?;
            bytes.extend_from_slice(&piece[..count]);
            match Self::parse(&bytes) {
                Parsed::Whole(request) => return Ok(Some(request)),
                Parsed::Part if count > 0 => {}
                Parsed::Part | Parsed::Wrong => return Ok(None),
            }
        }
        Ok(None)
    }

    fn parse(bytes: &[u8]) -> Parsed {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Parsed::Part,
            Err(_) => return Parsed::Wrong,
        }
        let target = request.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = request.headers.iter();
        Parsed::Whole(Self {
            method: request.method.unwrap_or_default().to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: headers.map(|one| (one.name.to_lowercase(), text(one.value))).collect(),
        })
    }

    /// Gives what a header says; one that is there twice says nothing that can be trusted, and is given as
    /// text that fits nothing.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(own, _)| own == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value.trim()),
            (Some(_), Some(_)) => Some(""),
            (None, _) => None,
        }
    }
}

enum Parsed {
    Whole(Request),
    Part,
    Wrong,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status and reason.
    pub status: &'static str,
    /// The kind of its body.
    pub kind: &'static str,
    /// Further headers, whole lines.
    pub headers: String,
    /// Its body.
    pub body: String,
}

impl Answer {
    /// Says something in a line.
    pub fn text(status: &'static str, body: &str) -> Self {
        let kind = "text/plain; charset=utf-8";
        Self { status, kind, headers: String::new(), body: format!("{body}\n") }
    }

    /// Gives a body.
    pub fn of(kind: &'static str, body: &str) -> Self {
        Self { status: "200 OK", kind, headers: String::new(), body: body.to_owned() }
    }

    /// Sends it.
    ///
    /// # Errors
    /// When nobody takes it.
    pub fn write(&self, stream: &mut impl Write) -> io::Result<()> {
        let Self { status, kind, headers, body } = self;
        let bytes = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {bytes}\r\n\
             {ALWAYS}{headers}\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_and_what_is_none_is_refused() {
        let read = |text: &[u8]| Request::read(&mut &*text).unwrap();
        let request =
            read(b"GET /metrics?a=b HTTP/1.1\r\nHost: localhost:80\r\nX: 1\r\nx: 2\r\n\r\n");
        let request = request.unwrap();
        assert_eq!((&*request.path, &*request.query), ("/metrics", "a=b"));
        assert_eq!(request.header("host"), Some("localhost:80"));
        assert_eq!((request.header("x"), request.header("y")), (Some(""), None));
        for wrong in [&b""[..], b"GET", b"\x16\x03\x01", b"GET / HTTP/1.1\r\nHost: a\r\n"] {
            assert_eq!(read(wrong), None);
        }
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(2 * HEAD_BYTES));
        assert_eq!(read(long.as_bytes()), None);
    }
}
