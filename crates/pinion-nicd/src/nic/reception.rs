//! Lets debuggers in to `pinion up`: the door of a live run whose application came with it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use pinion_app::error::{Error, Result};
use pinion_debug::session::Ended;
use pinion_debug::slices::{Done, Said};
use pinion_debug::visit::nodes::{Nodes, NodesVisit, find};
use pinion_debug::visit::{HearNic, Host, Lent as StandIn, Visit};
use pinion_net::capture::LinkType;
use pinion_observe::report::{Collector, Links, Outputs};
use pinion_run::live::guest::{Guest, Handlers, Lends, Lent};
use pinion_run::live::{Outside, Passing};
use pinion_run::watch::Observer;

use super::message::{Body, Header, Kind, MESSAGE_BYTES};
use super::refusal::{Code, Refusal};
use super::serve::{Asker, Reply, check};
use super::socket::{Allowed, Connection, Door};
use super::tells::{self, Asked};
use super::visitor::{Known, Visiting, Visitor, no_cluster};

/// Waits for gdb so long before it looks for frames.
const PATIENCE: Duration = Duration::from_millis(2);
/// Lets so many programs be connected.
const CONNECTIONS_MAX: usize = 16;

/// The door of a live run.
pub struct Reception {
    /// What is behind it, if it is not a NIC.
    nodes: Option<Nodes>,
    door: Door,
    peers: BTreeMap<u64, Connection>,
    next_peer: u64,
    programs: Vec<Known>,
    visitor: Visitor,
}

impl Reception {
    /// Opens the door of a live run for debuggers of its programs; `nodes` is what runs, if it is not a NIC.
    ///
    /// # Errors
    /// When the name is taken, or the socket cannot be made.
    pub fn open(device: &str, programs: Vec<Known>, nodes: Option<Nodes>) -> Result<Self> {
        let door = Door::open(device, Allowed::default())?;
        let (peers, visitor) = (BTreeMap::new(), Visitor::default());
        Ok(Self { nodes, door, peers, next_peer: 0, programs, visitor })
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
    fn listen(&mut self, lent: &mut Lent<'_>, outside: &Outside, observer: &mut dyn Observer) {
        let peer = outside.device.mac();
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
                    let nodes = self.nodes.as_ref();
                    let known = |node: Option<&str>| programs(&self.programs, nodes, node);
                    self.visitor.answer(asker, (Body(body), file), known, |stream, node| {
                        begin(lent, nodes, (node, peer), stream)
                    })
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

    /// Ends a visit that is over, and says so.
    fn part(&mut self, ended: &Result<Ended>, observer: &mut dyn Observer) {
        if let Some((number, message, text)) = self.visitor.end(ended) {
            observer.notice(&text);
            if let Some(connection) = self.peers.get(&number) {
                let _ = connection.send(&[&message], &[]);
            }
        }
    }

    /// Has a visit to nodes take its turn; tells whether there is one.
    fn visit_nodes(
        &mut self,
        lent: &mut dyn Lends,
        outside: &mut Outside,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        let waits = (&mut outside.queue, outside.clock.now());
        let Some(turn) = self.visitor.nodes_turn(lent, waits, PATIENCE) else { return Ok(false) };
        let turn = turn?;
        pass_on(turn.done, outside, observer);
        outside.clock.hold_at(turn.reached);
        if let Some(ended) = &turn.ended {
            self.part(ended, observer);
        }
        outside.device.take_error()?;
        Ok(true)
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

/// Gives the programs that a debugger asks for, of a cluster that of the node that it names: there is one for
/// each group of nodes.
fn programs<'p>(
    all: &'p [Known],
    nodes: Option<&Nodes>,
    node: Option<&str>,
) -> Result<&'p [Known]> {
    let Some(Nodes::Cluster(plan, _)) = nodes else {
        return node.map_or(Ok(all), |node| Err(no_cluster(node)));
    };
    let number = find(plan, node)?;
    let group = plan.groups.iter().rposition(|group| group.first <= number);
    Ok(group.and_then(|group| all.get(group..=group)).unwrap_or_default())
}

/// Passes on what nodes have done.
fn pass_on(done: Vec<Done>, outside: &mut Outside, observer: &mut dyn Observer) {
    for done in done {
        done.left.iter().for_each(|frame| outside.device.send(frame));
        for said in done.said {
            match said {
                Said::Printed(text) => observer.console(&text),
                Said::Notice(text) => observer.notice(&text),
            }
        }
    }
}

/// Begins a debugger's visit to what is lent, whose wire's other side has a hardware address; to one of its
/// nodes if it is a cluster.
fn begin(
    lent: &mut Lent<'_>,
    nodes: Option<&Nodes>,
    (node, peer): (Option<&str>, [u8; 6]),
    stream: TcpStream,
) -> Result<Visiting> {
    match (lent, nodes) {
        (Lent::Handlers(handlers), _) => {
            let asked = Asked::of(handlers.app);
            let tell = Box::new(move |target, hear: &mut HearNic<'_>| asked.tell(target, hear));
            Visit::begin(host(handlers)?, stream, tell).map(Visiting::Nic)
        }
        (Lent::Nodes(lent), Some(nodes)) => {
            let tell = tells::of_node;
            NodesVisit::begin(nodes, node, (&mut **lent, peer), stream, tell).map(Visiting::Nodes)
        }
        (Lent::Other(what), _) => Err(Error::Usage(format!(
            "a debugger attaches to what is simulated; this is {what}: run it without --engine native"
        ))),
        (Lent::Nodes(_), None) => Err(Error::Usage("nobody said what these nodes run".to_owned())),
    }
}

/// Makes of a NIC what a debugger visits.
fn host<'h>(handlers: &'h mut Handlers<'_>) -> Result<Host<'h>> {
    let Handlers { app, nic, collector, slices, .. } = handlers;
    let links = Links { out: LinkType::Ethernet, input: LinkType::Ethernet };
    let deaf = Collector::new(&Outputs::default(), links, app.context_names())?;
    let stand_in = StandIn { units: nic.clone(), collector: deaf };
    let now = slices.now(nic.now());
    Ok(Host { contexts: &app.contexts, units: nic, collector, now, stand_in })
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
        self.listen(&mut lent, outside, observer);
        let handlers = match lent {
            Lent::Handlers(handlers) => handlers,
            Lent::Nodes(lent) => return self.visit_nodes(lent, outside, observer),
            Lent::Other(_) => return Ok(false),
        };
        let Handlers { app, nic, collector, slices, faults } = handlers;
        let Outside { device, queue, clock, .. } = outside;
        let Some(turn) = self.visitor.turn((nic, collector), (queue, Vec::new()), PATIENCE) else {
            return Ok(false);
        };
        let mut passing = Passing { device, faults, app, observer };
        turn.effects.pass_on(&mut passing, drop);
        slices.take_over(turn.reached, turn.rests);
        clock.hold_at(turn.reached);
        if let Some(ended) = &turn.ended {
            self.part(ended, observer);
        }
        outside.device.take_error()?;
        Ok(true)
    }

    fn leave(
        &mut self,
        lent: Lent<'_>,
        outside: &mut Outside,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        match lent {
            Lent::Handlers(Handlers { app, nic, collector, faults, .. }) => {
                let Some(visit) = self.visitor.visit() else { return Ok(()) };
                let effects = visit.leave((nic, collector))?;
                let device = &mut outside.device;
                effects.pass_on(&mut Passing { device, faults, app, observer }, drop);
            }
            Lent::Nodes(lent) => {
                let Some(visit) = self.visitor.nodes_visit() else { return Ok(()) };
                visit.leave(lent)?;
                let (slices, done) = visit.take_done();
                slices.iter().for_each(|until| outside.queue.ran(*until));
                pass_on(done, outside, observer);
            }
            Lent::Other(_) => {}
        }
        Ok(())
    }
}
