//! A sPIN NIC as a process: frames come from a wire, host programs from a socket; what no program
//! wants goes to the host as before (FPsPIN §IV-B).
//!
//! One thread does everything, in turns: it waits for frames, programs and messages, answers
//! messages, and simulates a slice. Nothing is asked twice and nothing waits for a clock: what
//! comes ends the wait. While handlers run, simulated time goes as fast as the simulation, at most as fast
//! as the host's; times measured from outside are the host's.

mod ask;
mod attach;
mod board;
mod debugged;
mod debugger;
mod deed;
mod holder;
mod images;
mod log;
mod message;
mod notices;
mod reception;
mod refusal;
mod replay;
mod script;
mod serve;
mod socket;
mod status;
mod tells;
mod visitor;
mod watched;
mod windows;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use pinion_spin::{EngineCore, Machine};

use pinion_app::error::{Error, Result};
use pinion_observe::profile::Profile;
use pinion_observe::report::{Outputs, Report, Summary};
use pinion_run::live::{Driven, LONGEST_WAIT, Options as LiveOptions};
use pinion_run::watch::{Observer, Progress, Seen};
use pinion_sim::Time;

use board::Board;
use debugged::Debugged;
use deed::Deed;
use images::read_image;
use log::{Cursor, Log};
use message::{Body, Builder, Header, Kind, MESSAGE_BYTES};
use notices::Limited;
use refusal::{Code, Refusal};
use serve::{Asker, Reply, serve};
use socket::{Connection, Door};

pub use ask::{Lines, log_line_json, log_lines, status, status_text};
pub use debugger::{Attachment, attach};
pub use reception::Reception;
pub use replay::replay;
pub use socket::Allowed;
pub use visitor::Known;

/// Answers at most so many messages of a program before the simulation goes on.
const MESSAGES_AT_A_TIME: usize = 64;
/// Lets at most so many programs in at a time.
const VISITORS_AT_A_TIME: usize = 16;
/// Lets so many programs be connected.
const CONNECTIONS_MAX: usize = 256;
/// Tries again this often to give lines to a reader that does not take them.
const RETRY: Duration = Duration::from_millis(5);

/// Tells how to run a NIC.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name of the wire, and how long the run is.
    pub live: LiveOptions,
    /// The machine.
    pub machine: Machine,
    /// How this computer executes what its cores do.
    pub engine_core: EngineCore,
    /// Name of the device.
    pub device: String,
    /// Number of the contexts that handler memory is shared among; `None`: as many as there are.
    pub contexts: Option<u32>,
    /// Who may use it.
    pub allowed: Allowed,
    /// Number of the lines of output that are kept.
    pub log_lines: usize,
}

/// What messages are answered from besides the board.
struct Setting {
    device: String,
    contexts: u32,
    /// Number of refusals.
    refused: Cell<u64>,
}

/// A program that is connected.
struct Peer {
    connection: Connection,
    /// Where a reader of lines has come to, and whether it stays.
    lines: Option<(Cursor, bool)>,
}

/// Runs a NIC until the observer stops it or the time is over.
///
/// # Errors
/// When a device cannot be opened or is lost, the name is taken, or an output fails.
pub fn run(options: &Options, outputs: &Outputs, observer: &mut dyn Observer) -> Result<Summary> {
    let setting = check(options)?;
    let door = Door::open(&options.device, options.allowed.clone())?;
    let board = Board::new(options, outputs)?;
    let (peers, debugged) = (BTreeMap::new(), Debugged::default());
    let mut house = House { board, setting, door, peers, next_peer: 0, debugged };
    let observer = &mut Limited::new(observer);
    observer.started();
    let start = Instant::now();
    let is_over = || options.live.duration.is_some_and(|limit| start.elapsed() >= limit);
    let mut goes_on = true;
    while !is_over() && house.board.slices.stuck.is_none() {
        observer.sees(&mut house);
        goes_on = observer.goes_on(&Progress::live(house.board.now(), start));
        if !goes_on {
            break;
        }
        house.turn(observer)?;
    }
    let House { board, setting, .. } = house;
    let mut summary = board.finish(&setting.device, observer)?;
    Driven { host: start.elapsed(), is_interrupted: !goes_on }.mark(&mut summary);
    Ok(summary)
}

/// Checks that a machine can be a NIC with host programs.
fn check(options: &Options) -> Result<Setting> {
    let machine = &options.machine;
    let available = machine.matching.rulesets;
    let contexts = options.contexts.unwrap_or(available);
    if contexts == 0 || contexts > available {
        return Err(Error::Usage(format!(
            "--contexts {contexts}: {} has 1 to {available}",
            machine.name
        )));
    }
    if machine.units.count > 1 || machine.hpus() as usize > message::HPUS_MAX {
        return Err(Error::Usage(format!(
            "{} cannot be a NIC with host programs: that takes one unit of at most {} HPUs",
            machine.name,
            message::HPUS_MAX
        )));
    }
    Ok(Setting { device: options.device.clone(), contexts, refused: Cell::new(0) })
}

struct House {
    board: Board,
    setting: Setting,
    door: Door,
    peers: BTreeMap<u64, Peer>,
    next_peer: u64,
    debugged: Debugged,
}

impl Seen for House {
    fn report(&mut self) -> Box<dyn Report> {
        Box::new(self.board.sum_up(&self.setting.device))
    }

    fn simulated(&self) -> Time {
        self.board.now()
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.board.nic.state(tell);
    }

    fn listen(&mut self, closely: bool) {
        self.board.watched.listen(closely);
    }

    fn profiles(&self) -> Vec<Profile<'_>> {
        self.board.watched.profiles()
    }
}

impl House {
    /// Waits for what comes next and does it.
    fn turn(&mut self, observer: &mut dyn Observer) -> Result<()> {
        let (has_frames, has_visitor, talking) = self.wait()?;
        if has_frames {
            self.board.outside.read()?;
        }
        for number in talking {
            self.listen(number, observer);
        }
        if has_visitor {
            for _ in 0..VISITORS_AT_A_TIME {
                let Some((connection, is_allowed)) = self.door.accept() else { break };
                self.let_in(connection, is_allowed, observer);
            }
        }
        if !self.attend(observer)? {
            self.board.simulate(observer)?;
        }
        self.pass_lines_on(observer);
        Ok(())
    }

    /// Waits; tells whether frames, a visitor and which peers' messages are there.
    fn wait(&self) -> Result<(bool, bool, Vec<u64>)> {
        let entry = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut waited: Vec<PollFd<'_>> = self.board.outside.device.fds().map(entry).collect();
        let devices = waited.len();
        waited.push(entry(self.door.as_fd()));
        waited.extend(self.peers.values().map(|peer| entry(peer.connection.as_fd())));
        waited.extend(self.debugged.visitor.fd().map(entry));
        let limit = self.board.rest().unwrap_or(LONGEST_WAIT);
        let limit = if self.owes_lines() { limit.min(RETRY) } else { limit };
        let limit = self.board.outside.device.patience(limit);
        match ppoll(&mut waited, Some(TimeSpec::from_duration(limit)), None) {
            Ok(0) | Err(Errno::EINTR) => return Ok((self.is_due(), false, Vec::new())),
            Ok(_) => {}
            Err(errno) => return Err(Error::part("cannot wait for frames and programs", errno)),
        }
        let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        let has_frames = self.is_due() || waited[..devices].iter().any(is_ready);
        let peers = self.peers.keys().zip(&waited[devices + 1..]);
        let talking = peers.filter(|(_, fd)| is_ready(fd)).map(|(number, _)| *number).collect();
        Ok((has_frames, is_ready(&waited[devices]), talking))
    }

    /// Says whether a frame goes on now that the wire's faults held back.
    fn is_due(&self) -> bool {
        self.board.outside.device.patience(LONGEST_WAIT).is_zero()
    }

    fn owes_lines(&self) -> bool {
        let owes = |peer: &Peer| {
            peer.lines.is_some_and(|(cursor, _)| self.board.log.next(cursor).is_some())
        };
        self.peers.values().any(owes)
    }

    /// Lets a program in, or says why not.
    fn let_in(&mut self, connection: Connection, is_allowed: bool, observer: &mut dyn Observer) {
        let refusal = if !is_allowed {
            Some(Refusal::new(
                Code::NotAllowed,
                format!(
                    "user {} may not use NIC {}; whoever runs it can let them (pinion nic \
                     --allow-user or --allow-group)",
                    connection.user, self.setting.device
                ),
            ))
        } else if self.peers.len() >= CONNECTIONS_MAX {
            Some(Refusal::new(Code::Limit, format!("{CONNECTIONS_MAX} programs are connected")))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            self.setting.refused.set(self.setting.refused.get() + 1);
            observer.notice(&format!("process {} was refused: {refusal}", connection.pid));
            let header = Header::ask(Kind::Hello, 0).answer(refusal.code as u32);
            let _ = connection.send(&[&header.bytes(), refusal.text.as_bytes()], &[]);
            return;
        }
        self.peers.insert(self.next_peer, Peer { connection, lines: None });
        self.next_peer += 1;
    }

    /// Answers a peer's messages, some at a time; one that has hung up is let go.
    fn listen(&mut self, number: u64, observer: &mut dyn Observer) {
        let mut buffer = vec![0; MESSAGE_BYTES];
        for _ in 0..MESSAGES_AT_A_TIME {
            let Some(peer) = self.peers.get(&number) else { return };
            let (bytes, file) = match peer.connection.receive(&mut buffer) {
                Ok((0, _)) => return self.let_go(number, observer),
                Ok(message) => message,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return self.let_go(number, observer),
            };
            let Some((header, body)) = Header::parse(&buffer[..bytes]) else {
                let header = Header::ask(Kind::Hello, 0);
                let refusal = Refusal::garbage("it does not begin as one");
                self.refuse(number, header, &refusal, observer);
                return self.let_go(number, observer);
            };
            let kind = match serve::check(&header) {
                Ok(kind) => kind,
                Err(refusal) => {
                    self.refuse(number, header, &refusal, observer);
                    return self.let_go(number, observer);
                }
            };
            let asker = Asker::at(number, &peer.connection);
            let reply = if kind == Kind::Debug {
                self.debugged.answer(&mut self.board, asker, Body(body), file)
            } else {
                let file = file.map(read_image);
                self.board.keep(|| Deed::of(asker, kind, body, &file));
                let message = (kind, Body(body));
                serve(&mut self.board, &self.setting, asker, message, file, observer)
            };
            self.debugged.is_outdated |=
                matches!(kind, Kind::Attach | Kind::Load | Kind::Unload | Kind::Rules);
            let is_garbage = reply.as_ref().is_err_and(|refusal| refusal.code == Code::Garbage);
            if !self.reply(number, header, reply, observer) || is_garbage {
                return self.let_go(number, observer);
            }
        }
    }

    /// Sends a reply; tells whether the peer took it.
    fn reply(
        &mut self,
        number: u64,
        header: Header,
        reply: std::result::Result<Reply, Refusal>,
        observer: &mut dyn Observer,
    ) -> bool {
        let Some(peer) = self.peers.get_mut(&number) else { return false };
        match reply {
            Ok(Reply::Nothing) => true,
            Ok(Reply::Lines(cursor, follows)) => {
                peer.lines = Some((cursor, follows));
                true
            }
            Ok(Reply::Answer(body, files)) => {
                let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
                peer.connection.send(&[&header.answer(0).bytes(), &body], &files).is_ok()
            }
            Err(refusal) => self.refuse(number, header, &refusal, observer),
        }
    }

    fn refuse(
        &mut self,
        number: u64,
        header: Header,
        refusal: &Refusal,
        observer: &mut dyn Observer,
    ) -> bool {
        let Some(peer) = self.peers.get(&number) else { return false };
        self.setting.refused.set(self.setting.refused.get() + 1);
        let Connection { pid, program, .. } = &peer.connection;
        observer.notice(&format!("process {pid} ({program}) was refused: {refusal}"));
        // What is sent unasked for is not answered, a refusal neither.
        if header.kind == Some(Kind::Answer) {
            return true;
        }
        let header = header.answer(refusal.code as u32).bytes();
        peer.connection.send(&[&header, refusal.text.as_bytes()], &[]).is_ok()
    }

    /// Forgets a peer, and releases what it held.
    fn let_go(&mut self, number: u64, observer: &mut dyn Observer) {
        self.peers.remove(&number);
        self.debugged.visitor.leaves(number);
        if self.board.holders.contains_key(&number) {
            self.debugged.is_outdated = true;
            self.board.keep(|| Some(Deed::Gone { from: number }));
        }
        self.board.let_go(number, observer);
    }

    /// Gives readers the lines they have not had.
    fn pass_lines_on(&mut self, observer: &mut dyn Observer) {
        let mut ended = Vec::new();
        for (number, peer) in &mut self.peers {
            let Some((cursor, follows)) = &mut peer.lines else { continue };
            let is_there = pass_on(&peer.connection, &self.board.log, cursor);
            if !is_there.unwrap_or(false) && (is_there.is_none() || !*follows) {
                ended.push(*number);
            }
        }
        for number in ended {
            self.let_go(number, observer);
        }
    }
}

/// Sends a reader's lines; tells whether more wait until it reads, or `None` that it is gone.
fn pass_on(connection: &Connection, log: &Log, cursor: &mut Cursor) -> Option<bool> {
    let header = Header::ask(Kind::Log, 0).bytes();
    while let Some((line, lost)) = log.next(*cursor) {
        let body = Builder::default().u64(line.time.ps()).u64(lost).u32(line.cluster).u32(line.hpu);
        match connection.send(&[&header, &body.0, line.text.as_bytes()], &[]) {
            Ok(()) => log.advance(cursor),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(true),
            Err(_) => return None,
        }
    }
    Some(false)
}
