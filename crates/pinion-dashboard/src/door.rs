//! Who may ask. The page shows packets and programs, so it is for whoever started the run: it is served on
//! a loopback address alone, to requests that name that address as their host (another name that leads here
//! is another page's trick), that no other page's script sends, and that have the token which the run
//! printed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use pinion_app::error::{Error, Result};

use crate::http::{Answer, Request};

/// Names a token of the user's own choice, for who asks again and again, as Prometheus does.
const TOKEN: &str = "PINION_DASHBOARD_TOKEN";
/// Letters of such a token at least.
const TOKEN_LETTERS: usize = 16;

/// Lets requests in, or not.
pub struct Door {
    /// The names by which this address may be called, with the port.
    hosts: Vec<String>,
    token: String,
    cookie: String,
}

impl Door {
    /// Listens at an address: `127.0.0.1:PORT`, `[::1]:PORT` or `localhost:PORT`; port 0 is any.
    ///
    /// # Errors
    /// When the address is none of this computer alone, or is taken.
    pub fn open(address: &str) -> Result<(Self, TcpListener)> {
        let wrong = |why: String| Error::Usage(format!("--dashboard {address}: {why}"));
        let numbers = match address.strip_prefix("localhost:") {
            Some(port) => format!("{}:{port}", Ipv4Addr::LOCALHOST),
            None => address.to_owned(),
        };
        let parsed: SocketAddr = numbers.parse().map_err(|_| {
            wrong(
                "write an address of this computer and a port, for example 127.0.0.1:8080"
                    .to_owned(),
            )
        })?;
        if !parsed.ip().is_loopback() {
            let port = parsed.port();
            return Err(wrong(format!(
                "the page shows packets and programs and is served on this computer alone (127.0.0.1, \
                 [::1], localhost); from another one, `ssh -L {port}:localhost:{port} HOST` leads here"
            )));
        }
        let failed = |error| Error::part(format!("--dashboard {address}: cannot listen"), error);
        let listener = TcpListener::bind(parsed).map_err(failed)?;
        let own = listener.local_addr().map_err(failed)?;
        let token = match std::env::var(TOKEN) {
            Err(_) => random().map_err(|error| wrong(format!("there is no chance: {error}")))?,
            Ok(token) if is_token(&token) => token,
            Ok(_) => {
                return Err(Error::Usage(format!(
                    "{TOKEN}: a token has {TOKEN_LETTERS} or more of the letters a-z, A-Z, 0-9, - and _"
                )));
            }
        };
        Ok((Self::new(own, token), listener))
    }

    fn new(own: SocketAddr, token: String) -> Self {
        let port = own.port();
        let mut hosts = vec![own.to_string(), format!("localhost:{port}")];
        if own.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST) && port == 80 {
            hosts.extend(["127.0.0.1".to_owned(), "localhost".to_owned()]);
        }
        // Browsers tell cookies apart by host, not by port.
        Self { hosts, token, cookie: format!("pinion-{port}") }
    }

    /// Gives the page's address, with the token.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.hosts[0], self.token)
    }

    /// Refuses a request, or sends it to where its token is not in the address any more.
    pub fn check(&self, request: &Request) -> Option<Answer> {
        let host = request.header("host").unwrap_or_default();
        if !self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)) {
            let what = "this page goes by the address that the run printed, and by no other name";
            return Some(Answer::text("421 Misdirected Request", what));
        }
        let is_own = |origin: &str| {
            let origin = origin.strip_prefix("http://");
            origin.is_some_and(|host| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)))
        };
        let is_foreign = request.header("origin").is_some_and(|origin| !is_own(origin));
        let site = request.header("sec-fetch-site").unwrap_or("none");
        if is_foreign || !["none", "same-origin"].contains(&site) {
            return Some(Answer::text("403 Forbidden", "another page may not ask for this one"));
        }
        if request.method != "GET" {
            let mut answer = Answer::text("405 Method Not Allowed", "there is nothing but GET");
            answer.headers = "Allow: GET\r\n".to_owned();
            return Some(answer);
        }
        let given = request.query.split('&').find_map(|pair| pair.strip_prefix("token="));
        if given.is_some_and(|token| self.is_right(token)) {
            if request.path != "/" {
                return None;
            }
            let mut answer = Answer::text("303 See Other", "it is at /");
            answer.headers = format!(
                "Location: /\r\nSet-Cookie: {}={}; Path=/; HttpOnly; SameSite=Strict\r\n",
                self.cookie, self.token
            );
            return Some(answer);
        }
        let bearer = request.header("authorization").and_then(|text| text.strip_prefix("Bearer "));
        let cookies = request.header("cookie").unwrap_or_default().split(';');
        let mut cookies = cookies.filter_map(|pair| pair.trim().split_once('='));
        let cookie = cookies.find(|(name, _)| *name == self.cookie).map(|(_, value)| value);
        if [bearer, cookie].into_iter().flatten().any(|token| self.is_right(token)) {
            return None;
        }
        let what = "open the address that the run printed: it has the token that lets you in; Prometheus \
                    sends it as a bearer token";
        let mut answer = Answer::text("401 Unauthorized", what);
        answer.headers = "WWW-Authenticate: Bearer\r\n".to_owned();
        Some(answer)
    }

    /// Compares without telling by the time how much is right.
    fn is_right(&self, token: &str) -> bool {
        let differ =
            token.bytes().zip(self.token.bytes()).fold(0, |all, (one, own)| all | (one ^ own));
        token.len() == self.token.len() && differ == 0
    }
}

fn is_token(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    text.len() >= TOKEN_LETTERS && text.chars().all(is_letter)
}

/// Makes a token by chance.
fn random() -> std::result::Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(head: &str) -> Option<Answer> {
        let door = Door::new("127.0.0.1:9000".parse().unwrap(), "0123456789abcdef".to_owned());
        let text = format!("{}\r\n\r\n", head.replace('\n', "\r\n"));
        door.check(&Request::read(&mut text.as_bytes()).unwrap().unwrap())
    }

    fn status(head: &str) -> &'static str {
        asked(head).map_or("200", |answer| answer.status.split_once(' ').unwrap().0)
    }

    #[test]
    fn who_has_the_token_comes_in_and_nobody_else() {
        let with = "Authorization: Bearer 0123456789abcdef";
        let get = "GET /metrics HTTP/1.1\nHost: 127.0.0.1:9000";
        assert_eq!(status(&format!("{get}\n{with}")), "200");
        assert_eq!(status(&format!("{get}\nCookie: a=b; pinion-9000=0123456789abcdef")), "200");
        assert_eq!(status(&format!("{get}\n{with}\nOrigin: http://localhost:9000")), "200");
        for (more, refused) in [
            ("", "401"),
            ("Authorization: Bearer 0123456789abcdee", "401"),
            ("Authorization: Bearer 0123", "401"),
            ("Cookie: pinion-9001=0123456789abcdef", "401"),
            (&format!("{with}\nOrigin: http://evil.example"), "403"),
            (&format!("{with}\nOrigin: null"), "403"),
            (&format!("{with}\nOrigin: http://127.0.0.1:9001"), "403"),
            (&format!("{with}\nSec-Fetch-Site: cross-site"), "403"),
            (&format!("{with}\nSec-Fetch-Site: same-site"), "403"),
        ] {
            assert_eq!(status(format!("{get}\n{more}").trim_end()), refused, "{more}");
        }
        for host in
            ["evil.example:9000", "127.0.0.1:9001", "", "127.0.0.1:9000\nHost: localhost:9000"]
        {
            let head = format!("GET / HTTP/1.1\nHost: {host}\n{with}");
            assert_eq!(status(&head), "421", "{host}");
        }
        assert_eq!(status(&format!("POST / HTTP/1.1\nHost: localhost:9000\n{with}")), "405");
    }

    #[test]
    fn the_token_leaves_the_address() {
        let answer = asked("GET /?token=0123456789abcdef HTTP/1.1\nHost: localhost:9000").unwrap();
        assert!(answer.status.starts_with("303") && answer.headers.contains("SameSite=Strict"));
        assert_eq!(status("GET /?token=wrong HTTP/1.1\nHost: localhost:9000"), "401");
    }

    #[test]
    fn other_computers_addresses_are_refused() {
        for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"] {
            let error = Door::open(address).err().unwrap().to_string();
            assert!(error.contains("this computer alone"), "{error}");
        }
        for address in ["8080", "localhost", "127.0.0.1:99999", "example.org:80"] {
            let error = Door::open(address).err().unwrap().to_string();
            assert!(error.contains("127.0.0.1:8080"), "{error}");
        }
        let (door, listener) = Door::open("localhost:0").unwrap();
        assert!(listener.local_addr().unwrap().ip().is_loopback());
        assert!(door.url().starts_with("http://127.0.0.1:") && door.url().contains("?token="));
    }
}
