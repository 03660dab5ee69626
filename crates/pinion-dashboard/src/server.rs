//! Answers requests while the run goes on. In: connections. Out: the page, its parts, metrics, the summary.
//! Threads take the requests; the run's own thread is asked for what to show, and lays it on the desk between
//! two of its turns.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::door::Door;
use crate::http::{Answer, Request};

/// How long nobody is let in after a connection could not be taken.
const PAUSE: Duration = Duration::from_millis(50);
/// Waits so long for the run to show how it stands.
const PATIENCE: Duration = Duration::from_secs(5);
/// Gives a request so long to come whole.
const LONGEST_TALK: Duration = Duration::from_secs(5);
/// Gives its reader so long to take the answer: a long page through a slow tunnel, at worst.
const LONGEST_ANSWER: Duration = Duration::from_secs(30);
/// Who has not asked for so long does not follow the run any more; a page asks once a second.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// Answers at a time, and connections that have not said yet who they are.
const MOST_TALKS: usize = 16;

/// What is shown.
pub struct Shown {
    /// The page.
    pub page: String,
    /// Its parts, as JSON.
    pub parts: String,
    /// Metrics for Prometheus.
    pub metrics: String,
    /// The summary, as JSON.
    pub document: String,
}

/// Where requests wait for what the run shows.
#[derive(Clone, Default)]
pub struct Desk(Arc<(Mutex<Tray>, Condvar)>);

#[derive(Default)]
struct Tray {
    is_asked: bool,
    /// When a page asked last.
    asked: Option<Instant>,
    /// How often something was shown.
    times: u64,
    shown: Option<Arc<Shown>>,
}

impl Desk {
    /// Tells whether somebody waits.
    pub fn is_asked(&self) -> bool {
        self.tray().is_asked
    }

    /// Tells whether somebody follows the run.
    pub fn is_followed(&self) -> bool {
        self.tray().asked.is_some_and(|asked| asked.elapsed() < LONGEST_PAUSE)
    }

    /// Shows how the run stands.
    pub fn show(&self, shown: Shown) {
        let mut tray = self.tray();
        (tray.is_asked, tray.shown) = (false, Some(Arc::new(shown)));
        tray.times += 1;
        self.0.1.notify_all();
    }

    /// Waits for what is shown next, for somebody who follows the run or not; `None`: the run does not get to it.
    fn ask(&self, is_followed: bool) -> Option<Arc<Shown>> {
        let mut tray = self.tray();
        tray.is_asked = true;
        if is_followed {
            tray.asked = Some(Instant::now());
        }
        let before = tray.times;
        let waited = self.0.1.wait_timeout_while(tray, PATIENCE, |tray| tray.times == before);
        let (tray, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        tray.shown.clone().filter(|_| !timeout.timed_out())
    }

    fn tray(&self) -> MutexGuard<'_, Tray> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes requests until it is dropped.
pub struct Server {
    ends: Arc<AtomicBool>,
    address: Option<std::net::SocketAddr>,
}

/// Connections whose requests are still to come, the oldest first. Anybody of this computer may make as many as
/// he likes, and say nothing on them: so a new one is heard, and the oldest goes.
#[derive(Clone, Default)]
struct Waiting(Arc<Mutex<VecDeque<(u64, TcpStream)>>>);

impl Waiting {
    fn all(&self) -> MutexGuard<'_, VecDeque<(u64, TcpStream)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, number: u64, stream: &TcpStream) -> io::Result<()> {
        let mut all = self.all();
        if all.len() >= MOST_TALKS
            && let Some((_, oldest)) = all.pop_front()
        {
            // Its thread finds it closed.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        all.push_back((number, stream.try_clone()?));
        Ok(())
    }

    fn remove(&self, number: u64) {
        self.all().retain(|(own, _)| *own != number);
    }
}

/// A connection that is there until a moment, however slowly the other side takes or gives.
struct Until<'s>(&'s TcpStream, Instant);

impl Until<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.1.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.set_read_timeout(Some(self.left()?))?;
        self.0.read(bytes)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set_write_timeout(Some(self.left()?))?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Server {
    /// Begins to take requests.
    ///
    /// # Errors
    /// When the computer gives no thread for it.
    pub fn start(listener: TcpListener, door: Door, desk: Desk) -> io::Result<Self> {
        let (ends, address) = (Arc::new(AtomicBool::new(false)), listener.local_addr().ok());
        let over = Arc::clone(&ends);
        let serve = move || {
            let (door, talks) = (Arc::new(door), Arc::new(AtomicUsize::new(0)));
            let waiting = Waiting::default();
            for (number, stream) in (0..).zip(listener.incoming()) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else {
                    // No more files may be open: the next try would fail as soon.
                    thread::sleep(PAUSE);
                    continue;
                };
                if waiting.add(number, &stream).is_err() {
                    continue;
                }
                let (door, desk, talks) = (Arc::clone(&door), desk.clone(), Arc::clone(&talks));
                let (waiting, gone) = (waiting.clone(), waiting.clone());
                let serve = move || {
                    let request = Request::read(&mut Until(&stream, Instant::now() + LONGEST_TALK));
                    waiting.remove(number);
                    // Who hangs up is not answered.
                    let _ = request.and_then(|it| talk(&stream, it.as_ref(), &door, &desk, &talks));
                };
                // For whom there is no thread, the connection closes.
                if thread::Builder::new().spawn(serve).is_err() {
                    gone.remove(number);
                }
            }
        };
        thread::Builder::new().spawn(serve)?;
        Ok(Self { ends, address })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // It waits for a connection; here is one.
        let _ = self.address.map(TcpStream::connect);
    }
}

fn talk(
    stream: &TcpStream,
    request: Option<&Request>,
    door: &Door,
    desk: &Desk,
    talks: &AtomicUsize,
) -> io::Result<()> {
    let answer = match request {
        None => Answer::text("400 Bad Request", "this is no request"),
        Some(request) => door.check(request).unwrap_or_else(|| {
            let answer = match talks.fetch_add(1, Ordering::Relaxed) >= MOST_TALKS {
                true => Answer::text("503 Service Unavailable", "too many ask at a time"),
                false => answer(&request.path, desk),
            };
            talks.fetch_sub(1, Ordering::Relaxed);
            answer
        }),
    };
    answer.write(&mut Until(stream, Instant::now() + LONGEST_ANSWER))
}

fn answer(path: &str, desk: &Desk) -> Answer {
    type Of = fn(&Shown) -> &str;
    let (kind, of): (_, Of) = match path {
        "/" => ("text/html; charset=utf-8", |shown| &shown.page),
        "/parts" => ("application/json", |shown| &shown.parts),
        "/document" => ("application/json", |shown| &shown.document),
        "/metrics" => ("text/plain; version=0.0.4; charset=utf-8", |shown| &shown.metrics),
        _ => {
            let what = "there are /, /metrics and /document";
            return Answer::text("404 Not Found", what);
        }
    };
    match desk.ask(matches!(path, "/" | "/parts")) {
        Some(shown) => Answer::of(kind, of(&shown)),
        None => Answer::text("503 Service Unavailable", "the run does not get to it; ask again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_the_run() {
        let (door, listener) = Door::open("127.0.0.1:0").unwrap();
        let (url, own) = (door.url(), listener.local_addr().unwrap());
        let token = url.split_once("token=").unwrap().1.to_owned();
        let desk = Desk::default();
        let _server = Server::start(listener, door, desk.clone()).unwrap();
        let asker = thread::spawn(move || {
            let mut stream = TcpStream::connect(own).unwrap();
            let head = format!("GET /metrics?token={token} HTTP/1.1\r\nHost: {own}\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).unwrap();
            said
        });
        while !desk.is_asked() {
            thread::sleep(Duration::from_millis(1));
        }
        let text = |text: &str| text.to_owned();
        let (page, parts, metrics, document) = (text("p"), text("[]"), text("m 1\n"), text("{}"));
        desk.show(Shown { page, parts, metrics, document });
        let said = asker.join().unwrap();
        assert!(
            said.starts_with("HTTP/1.1 200 OK\r\n") && said.ends_with("\r\n\r\nm 1\n"),
            "{said}"
        );
        // Metrics are no page.
        assert!(!desk.is_asked() && !desk.is_followed());
    }

    #[test]
    fn who_says_nothing_keeps_nobody_out() {
        let (door, listener) = Door::open("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap();
        let _server = Server::start(listener, door, Desk::default()).unwrap();
        let silent: Vec<TcpStream> = (0..200)
            .map(|_| {
                let mut stream = TcpStream::connect(own).unwrap();
                // The oldest are closed already.
                let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
                stream
            })
            .collect();
        let mut said = String::new();
        let mut stream = TcpStream::connect(own).unwrap();
        stream.set_read_timeout(Some(LONGEST_TALK / 2)).unwrap();
        let head = format!("GET /metrics HTTP/1.1\r\nHost: {own}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 401"), "{said}");
        drop(silent);
    }
}
