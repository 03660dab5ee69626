//! Who hears the nodes of a cluster: nanoPUs, sPIN NICs, load generators, frames from elsewhere. Each
//! tells which frame that came led to which that left.

use pinion_net::frame::lnic::{Flags, Header};
use pinion_net::load::{Flavour, Sample};
use pinion_observe::trace::Tracer;
use pinion_run::cluster::{LoadTracer, NodeTracer, Plan, Target};
use pinion_sim::{Clock, Time};
use pinion_spin::{DropReason, Event, Hears, Interest, Spin};
use rustc_hash::FxHashMap as HashMap;

use crate::nano::Follower;

/// Hears a node.
pub enum End {
    /// A nanoPU.
    Nano(Box<Follower>),
    /// A sPIN NIC.
    Nic(Box<NicEnd>),
    /// A load generator.
    Load(Box<LoadEnd>),
    /// Frames from elsewhere, which nothing is to be heard of.
    Frames,
}

impl End {
    /// Makes a listener for a node of a cluster.
    pub fn new(plan: &Plan, node: usize) -> Self {
        match plan.group_of(node).map(|(group, _)| &group.target) {
            Some(Target::Nanoservice { setup, .. }) => Self::Nano(Box::new(Follower::new(setup))),
            Some(Target::Handlers { .. }) => Self::Nic(Box::new(NicEnd::new(plan.clock))),
            Some(Target::Load { specs }) => {
                let first = plan.group_of(node).map_or(0, |(_, index)| index);
                let is_kept = specs[first].timeout_cycles.is_some();
                Self::Load(Box::new(LoadEnd::new(specs[first].flavour.clone(), is_kept)))
            }
            Some(Target::Frames { .. }) | None => Self::Frames,
        }
    }

    /// Gives it as a run takes it.
    pub fn tracer(&mut self) -> Option<NodeTracer<'_>> {
        match self {
            Self::Nano(follower) => Some(NodeTracer::Nano(Box::new(&mut **follower))),
            Self::Nic(nic) => Some(NodeTracer::Spin(Box::new(&mut **nic))),
            Self::Load(load) => Some(NodeTracer::Load(Box::new(&mut **load))),
            Self::Frames => None,
        }
    }
}

/// Names what a frame carries: a request by its number, and which of its packets.
pub type Carried = (u64, u8);

/// Hears a load generator. A frame says which message it is of, and messages begin in the order of requests.
#[derive(Debug)]
pub struct LoadEnd {
    flavour: Flavour,
    /// Messages are kept until they are acknowledged: an id stands for one of them after the other.
    is_kept: bool,
    /// Requests by their messages' ids, and which use of the id each is.
    requests: HashMap<(u16, u16), u64>,
    begun: u64,
    /// What the frames carry that it sent, in order.
    pub sent: Vec<Option<Carried>>,
    /// Its answers, and the frames that brought them, by their numbers.
    pub answers: Vec<(u64, Sample)>,
    got: u64,
}

impl LoadTracer for LoadEnd {
    fn sends(&mut self, frame: &[u8]) {
        let carried = self.carried(frame);
        self.sent.push(carried);
    }

    fn gets(&mut self, answered: Option<&Sample>) {
        self.answers.extend(answered.map(|sample| (self.got, *sample)));
        self.got += 1;
    }
}

impl LoadEnd {
    fn new(flavour: Flavour, is_kept: bool) -> Self {
        let (sent, answers) = (Vec::new(), Vec::new());
        Self { flavour, is_kept, requests: HashMap::default(), begun: 0, sent, answers, got: 0 }
    }

    /// Tells what a frame carries; `None`: nothing of a request.
    fn carried(&mut self, frame: &[u8]) -> Option<Carried> {
        let Flavour::Lnic { protocol, .. } = self.flavour else {
            self.begun += 1;
            return Some((self.begun - 1, 0));
        };
        let (header, _) = Header::parse(frame, protocol).ok()?;
        if !header.flags.has(Flags::DATA) {
            return None;
        }
        let key = (header.tx_msg_id, if self.is_kept { header.pull_offset } else { 0 });
        let begins = !self.is_kept && header.pkt_offset == 0 || !self.requests.contains_key(&key);
        if begins {
            self.requests.insert(key, self.begun);
            self.begun += 1;
        }
        Some((self.requests[&key], header.pkt_offset))
    }

    /// Gives the frames that carried a packet of a request, up to one of them.
    pub fn copies(&self, carried: Carried, until: u64) -> Vec<u64> {
        let sent = self.sent.iter().zip(0..=until);
        sent.filter(|(other, _)| **other == Some(carried)).map(|(_, frame)| frame).collect()
    }
}

/// Hears a sPIN NIC.
#[derive(Debug)]
pub struct NicEnd {
    clock: Clock,
    /// Frames that came by the cable and were whole at a time: their numbers.
    came: HashMap<Time, u64>,
    count: u64,
    /// By packet: the frame that brought it.
    brought: HashMap<u64, u64>,
    /// Packets that are through: the frames that brought them, and when their completions were back.
    pub done: Vec<(u64, Time)>,
    departed: Vec<Departed>,
    /// Packets that were dropped: when, why, and their bytes.
    pub dropped: Vec<(Time, DropReason, usize)>,
}

/// A frame that handlers sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// The cycle of the cluster from which on it could go onto the cable.
    ready: u64,
    /// When its last bit had left the outbound engine.
    pub time: Time,
    /// The packet whose handler sent it.
    pub packet: u64,
    /// The n-th frame that was sent for that packet, from 0.
    pub nth: usize,
}

impl NicEnd {
    fn new(clock: Clock) -> Self {
        Self {
            clock,
            came: HashMap::default(),
            count: 0,
            brought: HashMap::default(),
            done: Vec::new(),
            departed: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// Puts what departed into the order in which it goes onto the cable.
    pub fn settle(&mut self) {
        self.departed.sort_by_key(|one| one.ready);
        let mut counts: HashMap<u64, usize> = HashMap::default();
        for one in &mut self.departed {
            let count = counts.entry(one.packet).or_default();
            one.nth = *count;
            *count += 1;
        }
    }

    /// Gives the n-th frame that it put onto the cable.
    pub fn departed(&self, frame: u64) -> Option<&Departed> {
        self.departed.get(frame as usize)
    }

    /// Gives the packet that a frame brought.
    pub fn packet(&self, frame: u64) -> Option<u64> {
        self.brought.iter().find(|(_, other)| **other == frame).map(|(packet, _)| *packet)
    }

    /// Gives the frame that brought a packet.
    pub fn brought(&self, packet: u64) -> Option<u64> {
        self.brought.get(&packet).copied()
    }
}

impl Hears<Spin> for NicEnd {
    fn interest(&self) -> Interest {
        Interest::default()
    }

    fn hear(&mut self, event: &Event<'_>) {
        match *event {
            Event::PacketDone(record) => {
                if let Some(frame) = self.came.remove(&record.arrival) {
                    self.brought.insert(record.packet, frame);
                    if record.departure.is_none() {
                        self.done.push((record.packet, record.completion));
                    }
                }
            }
            Event::Departed { time, packet, .. } => {
                let cycle = self.clock.cycle_at(time);
                let ready = cycle + u64::from(self.clock.time(cycle) < time);
                self.departed.push(Departed { ready, time, packet, nth: 0 });
            }
            Event::Dropped { time, reason, frame } => {
                self.dropped.push((time, reason, frame.len()));
            }
            _ => {}
        }
    }
}

impl Tracer for NicEnd {
    fn comes_by_cable(&mut self, whole: Time) {
        self.came.insert(whole, self.count);
        self.count += 1;
    }
}
