//! Lets debuggers in to `pinion up`: the door of a live run whose application came with it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use pinion_app::error::{Error, Result};
use pinion_debug::visit::{Host, Lent as StandIn};
use pinion_net::capture::LinkType;
use pinion_observe::report::{Collector, Links, Outputs};
use pinion_run::live::guest::{Guest, Handlers, Lent};
use pinion_run::live::{Outside, Passing};
use pinion_run::watch::Observer;

use super::message::{Body, Header, Kind, MESSAGE_BYTES};
use super::refusal::{Code, Refusal};
use super::serve::{Asker, Reply, check};
use super::socket::{Allowed, Connection, Door};
use super::visitor::{Known, Visitor};

/// Waits for gdb so long before it looks for frames.
const PATIENCE: Duration = Duration::from_millis(2);
/// Lets so many programs be connected.
const CONNECTIONS_MAX: usize = 16;

/// The door of a live run.
pub struct Reception {
    door: Door,
    peers: BTreeMap<u64, Connection>,
    next_peer: u64,
    programs: Vec<Known>,
    visitor: Visitor,
}

impl Reception {
    /// Opens the door of a NIC for debuggers of its programs.
    ///
    /// # Errors
    /// When the name is taken, or the socket cannot be made.
    pub fn open(device: &str, programs: Vec<Known>) -> Result<Self> {
        let door = Door::open(device, Allowed::default())?;
        let (peers, visitor) = (BTreeMap::new(), Visitor::default());
        Ok(Self { door, peers, next_peer: 0, programs, visitor })
    }

    /// Lets in who waits.
    fn let_in(&mut self) {
        while let Some((connection, is_allowed)) = self.door.accept() {
            if is_allowed && self.peers.len() < CONNECTIONS_MAX {
                self.peers.insert(self.next_peer, connection);
                self.next_peer += 1;
            }
        }
    }

    /// Answers who has asked something.
    fn listen(&mut self, lent: &mut Lent<'_>, observer: &mut dyn Observer) {
        let mut buffer = vec![0; MESSAGE_BYTES];
        for number in self.peers.keys().copied().collect::<Vec<_>>() {
            let Some(connection) = self.peers.get(&number) else { continue };
            let (bytes, file) = match connection.receive(&mut buffer) {
                Ok((0, _)) => {
                    self.let_go(number);
                    continue;
                }
                Ok(message) => message,
                Err(error) => {
                    let kinds = [ErrorKind::WouldBlock, ErrorKind::Interrupted];
                    if !kinds.contains(&error.kind()) {
                        self.let_go(number);
                    }
                    continue;
                }
            };
            let parsed = Header::parse(&buffer[..bytes]);
            let (header, body) = parsed.unwrap_or((Header::ask(Kind::Hello, 0), &[]));
            let answered = match check(&header) {
                _ if parsed.is_none() => Err(Refusal::garbage("it does not begin as one")),
                Err(refusal) => Err(refusal),
                Ok(Kind::Debug) => {
                    let asker = Asker::at(number, connection);
                    let (visitor, programs) = (&mut self.visitor, &self.programs);
                    visitor.answer(asker, (Body(body), file), programs, || host(lent))
                }
                Ok(_) => Err(Refusal::new(
                    Code::Nic,
                    "this NIC came with its application (pinion up): host programs want `pinion nic`",
                )),
            };
            if let Err(refusal) = &answered {
                let Connection { pid, program, .. } = connection;
                observer.notice(&format!("process {pid} ({program}) was refused: {refusal}"));
            }
            if !send(connection, header, answered) {
                self.let_go(number);
            }
        }
    }

    fn let_go(&mut self, number: u64) {
        self.peers.remove(&number);
        self.visitor.leaves(number);
    }
}

/// Sends an answer; tells whether it was taken.
fn send(
    connection: &Connection,
    header: Header,
    answered: std::result::Result<Reply, Refusal>,
) -> bool {
    match answered {
        Ok(Reply::Answer(body, files)) => {
            let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
            connection.send(&[&header.answer(0).bytes(), &body], &files).is_ok()
        }
        Ok(_) => true,
        Err(refusal) => {
            let header = header.answer(refusal.code as u32).bytes();
            connection.send(&[&header, refusal.text.as_bytes()], &[]).is_ok()
        }
    }
}

/// Makes of what is lent what a debugger visits.
fn host<'h>(lent: &'h mut Lent<'_>) -> Result<Host<'h>> {
    let Handlers { app, nic, collector, slices, .. } = match lent {
        Lent::Handlers(handlers) => handlers,
        Lent::Other(what) => {
            return Err(Error::Usage(format!(
                "a debugger attaches to packet handlers; this is {what}: record it with `pinion up \
                 --record FILE`, and debug the recording"
            )));
        }
    };
    let links = Links { out: LinkType::Ethernet, input: LinkType::Ethernet };
    let deaf = Collector::new(&Outputs::default(), links, app.context_names())?;
    let stand_in = StandIn { units: nic.clone(), collector: deaf };
    let now = slices.now(nic.now());
    let stays = nic.shared_memory().map(|memory| format!("other processes map {memory}"));
    Ok(Host { contexts: &app.contexts, units: nic, collector, now, stand_in, stays })
}

impl Guest for Reception {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let peers = self.peers.values().map(AsFd::as_fd);
        std::iter::once(self.door.as_fd()).chain(peers).chain(self.visitor.fd()).collect()
    }

    fn take_turn(
        &mut self,
        mut lent: Lent<'_>,
        outside: &mut Outside,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        self.let_in();
        self.listen(&mut lent, observer);
        let Lent::Handlers(handlers) = lent else { return Ok(false) };
        let Handlers { app, nic, collector, slices, faults } = handlers;
        let Outside { device, queue, clock, .. } = outside;
        let Some(turn) = self.visitor.turn((nic, collector), queue, PATIENCE) else {
            return Ok(false);
        };
        let mut passing = Passing { device, faults, app, observer };
        turn.effects.pass_on(&mut passing, drop);
        slices.take_over(turn.reached, turn.rests);
        clock.hold_at(turn.reached);
        if let Some(ended) = &turn.ended
            && let Some((number, message, text)) = self.visitor.end(ended)
        {
            observer.notice(&text);
            if let Some(connection) = self.peers.get(&number) {
                let _ = connection.send(&[&message], &[]);
            }
        }
        outside.device.take_error()?;
        Ok(true)
    }
}
