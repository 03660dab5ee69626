//! The debugger that has a NIC. It takes the NIC and asks for its programs first, so that gdb can be started
//! on them; then it hands over gdb's connection, and the NIC stands. When gdb leaves, or is lost, or the
//! process that brought it, the NIC goes on.

use std::fs::File;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use nix::unistd::geteuid;
use pinion_app::error::{Error, Result};
use pinion_debug::session::Ended;
use pinion_debug::visit::nodes::{NodesTurn, NodesVisit};
use pinion_debug::visit::{Turn, Visit, Written, words};
use pinion_observe::report::Collector;
use pinion_run::live::guest::Lends;
use pinion_run::live::queue::Queue;
use pinion_sim::Time;
use pinion_spin::{Offer, Units};

use super::message::{Body, Builder, Header, Kind};
use super::refusal::{Code, Refusal};
use super::serve::{Asker, Reply};

/// Begins a session in the place of a program's number.
pub const BEGIN: u32 = u32::MAX;
/// Gives up a gdb that does not take what it is sent for so long.
const SEND_TIME: Duration = Duration::from_secs(5);
/// Frames that a NIC takes at a time at most.
const FRAMES_AT_A_TIME: usize = 256;

/// A program that a debugger may want to know.
pub struct Known {
    /// Its name.
    pub name: String,
    /// Its ELF file.
    pub elf: Vec<u8>,
}

/// A visit that goes on.
pub enum Visiting {
    /// To a NIC.
    Nic(Visit),
    /// To a nanoPU or a cluster.
    Nodes(NodesVisit),
}

/// Who debugs a NIC, if anybody does.
#[derive(Default)]
pub struct Visitor {
    holder: Option<Holder>,
}

struct Holder {
    /// Number of its connection.
    number: u64,
    /// The process.
    who: String,
    /// Once gdb is there: its visit, and its connection.
    visit: Option<(Visiting, TcpStream)>,
}

impl Visitor {
    /// Answers a message about a debugger; `programs` gives those of the node that was named, if one was, and
    /// `begin` begins the visit to it when gdb's connection comes.
    pub fn answer<'p>(
        &mut self,
        asker: Asker<'_>,
        (mut body, file): (Body<'_>, Option<OwnedFd>),
        programs: impl FnOnce(Option<&str>) -> Result<&'p [Known]>,
        begin: impl FnOnce(TcpStream, Option<&str>) -> Result<Visiting>,
    ) -> std::result::Result<Reply, Refusal> {
        let Asker { pid, user, program, .. } = asker;
        if user != geteuid() && !user.is_root() {
            let why =
                "a debugger sees everything of a NIC: only whoever runs it, and root, may attach";
            return Err(Refusal::new(Code::NotAllowed, why));
        }
        let Some(number) = body.u32() else {
            return Err(Refusal::garbage("it is too short"));
        };
        let node = body.name();
        if !body.is_empty() {
            return Err(Refusal::garbage("it is too long"));
        }
        let failed = |error: Error| Refusal::new(Code::Nic, error.to_string());
        let programs = programs(node.as_deref()).map_err(failed)?;
        let who = format!("process {pid} ({program})");
        let holder = self.holder.get_or_insert(Holder { number: asker.number, who, visit: None });
        if holder.number != asker.number || number == BEGIN && holder.visit.is_some() {
            let text = format!(
                "{} debugs the NIC already; it can be attached to again when that has \
                                left",
                holder.who
            );
            return Err(Refusal::new(Code::Busy, text));
        }
        if number == BEGIN {
            let file = file.ok_or_else(|| Refusal::garbage("gdb's connection is missing"))?;
            let stream = TcpStream::from(file);
            let begun = stream.set_write_timeout(Some(SEND_TIME)).and_then(|()| stream.try_clone());
            let copy =
                begun.map_err(|error| failed(Error::part("gdb cannot be spoken with", error)))?;
            let visit = begin(stream, node.as_deref()).map_err(failed)?;
            holder.visit = Some((visit, copy));
            return Ok(Reply::Answer(Vec::new(), Vec::new()));
        }
        let body = Builder::default().u32(programs.len() as u32);
        let Some(known) = programs.get(number as usize) else {
            return Ok(Reply::Answer(body.0, Vec::new()));
        };
        let file =
            file_of(&known.elf).map_err(|error| Refusal::new(Code::Nic, error.to_string()))?;
        Ok(Reply::Answer(body.name(&known.name).0, vec![file]))
    }

    /// Gives the visit to a NIC, once gdb is there.
    pub fn visit(&mut self) -> Option<&mut Visit> {
        match self.holder.as_mut()?.visit.as_mut()? {
            (Visiting::Nic(visit), _) => Some(visit),
            (Visiting::Nodes(_), _) => None,
        }
    }

    /// Gives the visit to a nanoPU or a cluster, once gdb is there.
    pub fn nodes_visit(&mut self) -> Option<&mut NodesVisit> {
        match self.holder.as_mut()?.visit.as_mut()? {
            (Visiting::Nodes(visit), _) => Some(visit),
            (Visiting::Nic(_), _) => None,
        }
    }

    /// Gives what tells that gdb has sent something.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        let visit = self.holder.as_ref()?.visit.as_ref();
        visit.map(|(_, stream)| stream.as_fd())
    }

    /// Lets a visit go on for a turn with frames that wait, with what programs have written, and with a NIC;
    /// `None`: there is no visit.
    pub fn turn(
        &mut self,
        lent: (&mut Units, &mut Collector),
        (queue, written): (&mut Queue, Vec<Written>),
        patience: Duration,
    ) -> Option<Turn> {
        let visit = self.visit()?;
        let mut frames = Vec::new();
        if visit.takes_frames() && !queue.is_empty() {
            let reached = visit.reached();
            // What comes next was not there before.
            queue.ran(reached.ps());
            while let Some(frame) = queue.take_by(reached) {
                frames.push(frame);
                if frames.len() == FRAMES_AT_A_TIME {
                    break;
                }
            }
        }
        let turn = visit.turn(lent, (frames, written), patience);
        if turn.ended.is_some() {
            queue.ran(turn.reached.ps());
            queue.forgive();
        }
        Some(turn)
    }

    /// Lets a visit to nodes go on for a turn with frames that wait; it waits for others until a moment.
    /// `None`: there is no visit.
    pub fn nodes_turn(
        &mut self,
        lent: &mut dyn Lends,
        (queue, limit): (&mut Queue, Time),
        patience: Duration,
    ) -> Option<Result<NodesTurn>> {
        let visit = self.nodes_visit()?;
        let mut frames = Vec::new();
        while visit.takes_frames() && frames.len() < FRAMES_AT_A_TIME {
            let Some(Offer::Frame(frame)) = queue.take_by(limit) else { break };
            frames.push(frame.bytes);
        }
        let turn = visit.turn(lent, (frames, limit), patience);
        if let Ok(turn) = &turn {
            turn.slices.iter().for_each(|until| queue.ran(*until));
            if turn.ended.is_some() {
                queue.forgive();
            }
        }
        Some(turn)
    }

    /// Ends the visit that a turn has ended: tells who brought it; gives who that was, and how it ended.
    pub fn end(&mut self, ended: &Result<Ended>) -> Option<(u64, Vec<u8>, String)> {
        let holder = self.holder.take()?;
        let text = words(ended);
        let status = match ended {
            Ok(Ended::ByUser) => 0,
            _ => Code::Nic as u32,
        };
        let header = Header::ask(Kind::Debug, 0).answer(status);
        let message = [&header.bytes()[..], text.as_bytes()].concat();
        Some((holder.number, message, format!("{}: {text}", holder.who)))
    }

    /// Notes that a connection was closed; tells whether it was the one that holds the NIC for a debugger
    /// whose gdb is not there. A gdb that is there stays until it leaves.
    pub fn leaves(&mut self, number: u64) {
        if self.holder.as_ref().is_some_and(|one| one.number == number && one.visit.is_none()) {
            self.holder = None;
        }
    }
}

/// Says that there are no nodes to choose from.
pub fn no_cluster(node: &str) -> Error {
    Error::Usage(format!("--node {node} goes with clusters, and this is none"))
}

/// Puts bytes into a file that nobody else can find.
fn file_of(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    use std::io::{Seek as _, Write as _};
    let flags = nix::sys::memfd::MFdFlags::MFD_CLOEXEC;
    let mut file = File::from(nix::sys::memfd::memfd_create("pinion-program", flags)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}
