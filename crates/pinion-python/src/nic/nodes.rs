//! Nanoservices and clusters step by step, whose time is counted in cycles: what `pinion up` runs, without a
//! device.

use std::borrow::Borrow;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use pinion_app::app::Options;
use pinion_app::service::Service;
use pinion_app::{Error, Result};
use pinion_observe::report::Sink;
use pinion_observe::settling::Settling;
use pinion_observe::trace::Tracer;
use pinion_run::cluster::live::Live as LiveCluster;
use pinion_run::cluster::{End, NodeTracer, OtherSide, Plan, RunOptions, Target, Tracing};
use pinion_run::live::{Cycles, Inside, Standing};
use pinion_run::nanoservice::live::{Live as LiveService, node_ip};
use pinion_run::nanoservice::{Outputs, Setup};
use pinion_run::watch::Observer;
use pinion_sim::node::Saved;
use pinion_sim::probe::Hears;
use pinion_sim::{Clock, Time};
use pinion_spin::{Event, HandlerRecord, Interest, PacketRecord, Spin};

use super::ears::{Ears, Hearing};
use super::handlers;
use super::stepped::{At, Program, Stepped, Stopped};
use crate::messages::{Kept, Log};

/// The hardware address of whoever is at the other end of the wire.
const PEER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Bytes of the largest frame on Ethernet.
const MOST_BYTES: usize = 9216;
/// Cycles of a slice: frames that left a cluster are known to have left within one.
const SLICE_CYCLES: u64 = 1_000;

/// Nodes, and who hears them.
pub struct Nodes<I> {
    cycles: Cycles<I>,
    clock: Clock,
    /// Why frames cannot be pushed, if so.
    closed: Option<String>,
    logs: Vec<Log>,
    spins: Vec<SpinLog>,
    said: Said,
}

/// What is saved of them.
struct State {
    cycles: Saved,
    logs: Vec<Kept>,
}

/// What programs print.
#[derive(Default)]
struct Said(String);

impl Sink for Said {}

impl Observer for Said {
    fn console(&mut self, text: &str) {
        self.0.push_str(text);
    }
}

/// What a sPIN NIC of a cluster said.
#[derive(Clone)]
enum Happened {
    Packet(PacketRecord),
    Handler(HandlerRecord),
}

/// Hears a sPIN NIC of a cluster; copies hear into the same place.
#[derive(Clone)]
struct SpinLog {
    node: String,
    contexts: Vec<String>,
    heard: Arc<Mutex<Vec<Happened>>>,
}

impl Hears<Spin> for SpinLog {
    fn interest(&self) -> Interest {
        Interest { handlers: true, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        let happened = match event {
            Event::PacketDone(record) => Happened::Packet((*record).clone()),
            Event::HandlerDone(record) => Happened::Handler((*record).clone()),
            _ => return,
        };
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(happened);
    }
}

impl Tracer for SpinLog {}

impl SpinLog {
    fn take(&self) -> Vec<Happened> {
        std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Where memories of nodes are.
pub trait Looks: Inside {
    /// Reads memory; tells whether there is some.
    fn read(&self, at: At, address: u64, buffer: &mut [u8]) -> bool;
}

fn of_nano(node: &pinion_nanopu::node::Node, address: u64, buffer: &mut [u8]) -> bool {
    let bytes = node.memory().bytes(address, buffer.len());
    bytes.map(|bytes| buffer.copy_from_slice(&bytes)).is_some()
}

impl<S: Borrow<Service>, L: Settling> Looks for LiveService<S, L> {
    fn read(&self, _: At, address: u64, buffer: &mut [u8]) -> bool {
        of_nano(&self.end.node, address, buffer)
    }
}

impl Looks for LiveCluster<'static> {
    fn read(&self, at: At, address: u64, buffer: &mut [u8]) -> bool {
        let look = |end: &End<'_>| match end {
            End::Nano(end) => of_nano(end.node(), address, buffer),
            End::Traced(end) => of_nano(end.node(), address, buffer),
            End::Spin(end) => handlers::read(end.nic(), at.cluster, address, buffer),
            End::Load(_) | End::Frames(_) => false,
        };
        self.fabric().look(at.node, look).unwrap_or(false)
    }
}

/// Makes a nanoservice's node, whose program is ready for messages.
pub fn service(service: &Arc<Service>, options: &Options) -> Result<(Box<dyn Stepped>, Vec<Log>)> {
    let mut setup = Setup::new(service, options)?;
    let log = Log::new("", setup.clock).with_news();
    let ip = node_ip(&setup, None);
    let (own, outputs) = (Arc::clone(service), Outputs::default());
    let live = LiveService::new(own, &mut setup, (ip, PEER_MAC), &outputs, log.clone())?;
    let mut cycles = Cycles::new(live, setup.clock, 0);
    let mut said = Said::default();
    cycles.get_ready(&mut said, |cycles, until| cycles.slice([], until, &mut |_| {}))?;
    let (clock, logs) = (setup.clock, vec![log]);
    let nodes = Nodes { cycles, clock, closed: None, logs: logs.clone(), spins: Vec::new(), said };
    Ok((Box::new(nodes), logs))
}

/// A cluster to run step by step.
pub struct Made {
    /// What runs.
    pub stepped: Box<dyn Stepped>,
    /// Who hears of its nodes' messages.
    pub logs: Vec<Log>,
    /// The nodes' names.
    pub names: Vec<String>,
    /// By node: its program, if it runs one.
    pub programs: Vec<Option<Program>>,
    /// The cluster's name.
    pub name: String,
}

/// Makes a cluster; `address` is the one of whoever pushes frames, if somebody is to.
pub fn cluster(file: &Path, options: &Options, address: Option<(Ipv4Addr, u8)>) -> Result<Made> {
    let plan = match address {
        Some((address, prefix)) => Plan::load_live(file, options, OtherSide { address, prefix })?,
        None => Plan::load(file, options)?,
    };
    let (mut tracing, mut logs, mut spins) = (Tracing::default(), Vec::new(), Vec::new());
    let mut programs = Vec::new();
    for (node, name) in plan.names.iter().enumerate() {
        let target = plan.group_of(node).map(|(group, _)| &group.target);
        programs.push(match target {
            Some(Target::Nanoservice { service, setup, .. }) => {
                let log = Log::new(name, setup.clock).with_news();
                logs.push(log.clone());
                tracing.nodes.push((node, NodeTracer::Nano(Box::new(log))));
                Some(Program::Service(Arc::clone(service)))
            }
            Some(Target::Handlers { app }) => {
                let (node_name, contexts) = (name.clone(), app.context_names());
                let log = SpinLog { node: node_name, contexts, heard: Arc::default() };
                spins.push(log.clone());
                tracing.nodes.push((node, NodeTracer::Spin(Box::new(log))));
                Some(Program::Handlers(Arc::clone(app)))
            }
            _ => None,
        });
    }
    let outside = plan.outside().map(|node| (node, PEER_MAC));
    let mut live = LiveCluster::new(&plan, &RunOptions::default(), outside, tracing)?;
    live.keep();
    let closed = "frames come to this cluster from its own nodes; say with address= (\"10.0.0.1/8\") \
                  where whoever pushes frames is in its network";
    // How nodes stand is known behind the first window.
    let window = live.fabric().window_cycles();
    let mut cycles = Cycles::new(live, plan.clock, 0);
    cycles.slice([], window, &mut |_| {})?;
    let nodes = Nodes {
        cycles,
        clock: plan.clock,
        closed: outside.is_none().then(|| closed.to_owned()),
        logs: logs.clone(),
        spins,
        said: Said::default(),
    };
    let (names, name) = (plan.names.clone(), plan.name.clone());
    Ok(Made { stepped: Box::new(nodes), logs, names, programs, name })
}

impl<I: Looks> Nodes<I> {
    /// Runs a slice up to a cycle, and tells what happened in it.
    fn slice(&mut self, until: u64, hearing: &mut Hearing<'_>) -> Result<()> {
        let mut left = Vec::new();
        self.cycles.slice([], until, &mut |frame| left.push(frame.to_vec()))?;
        for log in &mut self.logs {
            log.settle(until)?;
        }
        self.cycles.inside.pass_on(&mut self.said);
        let now = self.clock.time(until);
        // A node alone says itself when frames left.
        let exactly = match self.spins.is_empty() && self.logs.len() == 1 {
            true => self.logs[0].take_left(),
            false => Vec::new(),
        };
        if exactly.is_empty() {
            left.into_iter().for_each(|frame| hearing.departed(now, frame));
        } else {
            exactly.into_iter().for_each(|(at, frame)| hearing.departed(at, frame));
        }
        let mut news: Vec<_> = self.logs.iter().flat_map(Log::take_news).collect();
        news.sort_by_key(|news| news.at);
        news.iter().for_each(|news| hearing.message(news));
        for log in &self.spins {
            let mut ears =
                Ears { hearing: &mut *hearing, contexts: &log.contexts, node: Some(&log.node) };
            for happened in log.take() {
                match happened {
                    Happened::Packet(record) => ears.hear(&Event::PacketDone(&record)),
                    Happened::Handler(record) => ears.hear(&Event::HandlerDone(&record)),
                }
            }
        }
        let said = std::mem::take(&mut self.said.0);
        said.lines().for_each(|line| hearing.printed(now, line));
        Ok(())
    }

    fn is_over(&mut self) -> Option<Stopped> {
        if self.cycles.awaits() {
            return None;
        }
        match self.cycles.standing() {
            Standing::Ended => Some(Stopped::Ended),
            Standing::Idle | Standing::Waits => Some(Stopped::Idle),
            Standing::Works => None,
        }
    }
}

impl<I: Looks + Send> Stepped for Nodes<I> {
    fn check(&self, bytes: usize) -> Result<()> {
        if let Some(why) = &self.closed {
            return Err(Error::Usage(why.clone()));
        }
        if (1..=MOST_BYTES).contains(&bytes) {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "a frame of {bytes} bytes: there are frames of 1 to {MOST_BYTES}"
        )))
    }

    fn put(&mut self, at: Time, frame: Vec<u8>) {
        self.cycles.arrive_at(self.clock.cycle_at(at), frame);
    }

    fn run(&mut self, until: Time, hearing: &mut Hearing<'_>) -> Result<Stopped> {
        let end = self.clock.cycle_at(until);
        while self.cycles.now < end {
            if let Some(over) = self.is_over() {
                return Ok(over);
            }
            let next = self.cycles.now.saturating_add(SLICE_CYCLES).min(end);
            self.slice(next, hearing)?;
        }
        Ok(self.is_over().unwrap_or(Stopped::Reached))
    }

    fn now(&self) -> Time {
        self.clock.time(self.cycles.now)
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.cycles.inside.state(tell);
    }

    fn read(&self, at: At, address: u64, buffer: &mut [u8]) -> bool {
        self.cycles.inside.read(at, address, buffer)
    }

    fn save(&self) -> Result<Saved> {
        let cycles = self.cycles.save().map_err(|error| Error::part("cannot save", error))?;
        // What NICs said is passed on at the end of each slice.
        Ok(Saved::new(State { cycles, logs: self.logs.iter().map(Log::keep).collect() }))
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let wrong = |error| Error::part("cannot go back", error);
        let State { cycles, logs } = saved.get().map_err(wrong)?;
        self.cycles.restore(cycles).map_err(wrong)?;
        self.logs.iter().zip(logs).for_each(|(log, kept)| log.restore(kept));
        self.spins.iter().for_each(|log| drop(log.take()));
        Ok(())
    }
}
