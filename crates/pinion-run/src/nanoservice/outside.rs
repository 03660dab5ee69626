//! What stands at the other end of a node's link: the node's frames come in; requests,
//! acknowledgements and nothing else go out. Requests are a capture's, a load's or a script's; they
//! wait until the program is ready. It holds the frames that are due.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use pinion_nanopu::Cycle;
use pinion_nanopu::machine::transport::{RAW_PROTOCOL, TransportKind};
use pinion_net::frame::lnic::Flags;
use pinion_net::load::{Flavour, LoadReport, LoadSource, LoadSpec, Peer, flits};
use pinion_sim::Clock;
use pinion_sim::node::{RestoreError, SaveError, Saved};

use super::script::{FILE_NAME as SCRIPT_NAME, Script};
use super::setup::Setup;
use super::wire::{Direction, Wire};
use crate::arrivals::Arrivals;
use pinion_app::error::{Error, Result};
use pinion_app::service::Service;
use pinion_app::traffic::{Pace, Packets};
use pinion_observe::load::why_idle;

/// Counts the cycles from the program's being ready to the first request, as the published test
/// bench waits; and between a message of a script that has no answer and the next.
const START_DELAY_CYCLES: Cycle = 3000;

/// Supplies a run's requests.
pub enum Traffic {
    /// Nothing comes in.
    Silent,
    /// Frames of a capture or a generator.
    Frames(Packets),
    /// A load that waits until the program is ready.
    Load(LoadSpec),
    /// A load that waits for messages that tell that it is.
    Announced(LoadSpec),
    /// Messages and their answers, one after the other.
    Script(Script),
    /// What came in during a live run; the run goes on as it did then.
    #[cfg(target_os = "linux")]
    Live(super::live::Recorded),
}

impl Traffic {
    /// Takes the messages in a service's folder; without any, nothing comes in.
    ///
    /// # Errors
    /// When their file cannot be read or is wrong.
    pub fn of_folder(service: &Service) -> Result<Self> {
        let beside = service.manifest.dir.join(SCRIPT_NAME);
        Ok(if beside.is_file() { Self::Script(Script::read(&beside)?) } else { Self::Silent })
    }

    /// Makes frames by a generator's specification.
    ///
    /// # Errors
    /// When the specification is wrong, or the machine's transport would take the frames for no messages.
    pub fn generate(
        spec: &str,
        seed: Option<u64>,
        pace: Option<Pace>,
        setup: &Setup,
    ) -> Result<Self> {
        if setup.machine.value.transport.frames() != TransportKind::Udp {
            return Err(Error::Usage(format!(
                "--generate makes packets that are no {} messages; use --load, for example --load \
                 requests=1000,gap=exp:2000, or --set transport.kind=udp",
                setup.transport().name()
            )));
        }
        Ok(Self::Frames(Packets::generate(spec, seed, pace)?))
    }

    /// Reads a load; what it leaves open is as the machine has it. With `answers` it acknowledges what
    /// the node sends.
    ///
    /// # Errors
    /// When the text is no load, one of another transport than the machine's, or has a seed beside `seed`.
    pub fn load(text: &str, seed: Option<u64>, setup: &Setup, answers: bool) -> Result<Self> {
        let machine = &setup.machine.value;
        let pairs = text.split(',').filter_map(|part| part.split_once('='));
        let given: BTreeMap<&str, &str> =
            pairs.map(|(key, value)| (key.trim(), value.trim())).collect();
        if seed.is_some() && given.contains_key("seed") {
            let why = "--seed: the load has a seed of its own (seed=); leave one of both out";
            return Err(Error::Usage(why.to_owned()));
        }
        // What a program in P4 speaks the load may say.
        let is_programmed = machine.transport.kind == TransportKind::P4;
        let speaks = match machine.transport.frames() {
            TransportKind::Udp => "udp",
            TransportKind::Homa => "homa",
            // Other frames are laid out as NDP's.
            TransportKind::Ndp | TransportKind::Raw | TransportKind::P4 => "ndp",
        };
        if !is_programmed && given.get("transport").is_some_and(|kind| *kind != speaks) {
            return Err(Error::Usage(format!(
                "--load {text}: the machine speaks {}; leave `transport` out, or change the machine \
                 with --set transport.kind=…",
                setup.transport().name()
            )));
        }
        let own = match given.get("transport").copied().unwrap_or(speaks) {
            "udp" => ("port", machine.transport.udp.port_base.to_string()),
            _ => ("window_packets", machine.transport.rtt_packets.to_string()),
        };
        let mut full = text.to_owned();
        let seed = seed.map(|seed| ("seed", seed.to_string()));
        let ours = [("transport", speaks.to_owned()), ("dst", machine.address.ip.to_string()), own];
        for (key, value) in ours.into_iter().chain(seed) {
            if !given.contains_key(key) {
                full.push_str(&format!(",{key}={value}"));
            }
        }
        let mut spec: LoadSpec = full.trim_start_matches(',').parse()?;
        if let Flavour::Lnic { protocol, ack_delay_cycles, .. } = &mut spec.flavour {
            let own = match machine.transport.kind {
                TransportKind::Raw => Some(RAW_PROTOCOL),
                _ if given.contains_key("transport") => None,
                _ => machine.transport.protocol(),
            };
            *protocol = own.unwrap_or(*protocol);
            if !answers || !setup.transport().send_rules().acknowledged {
                *ack_delay_cycles = None;
            }
        }
        // A program need not announce itself: requests wait until it is ready.
        Ok(match given.contains_key("startup") {
            true => Self::Announced(spec),
            false => Self::Load(spec),
        })
    }
}

#[derive(Clone)]
enum Source {
    Silent,
    Frames(Box<Arrivals>),
    Planned(LoadSpec),
    Load(Box<LoadSource>),
    Script(Script),
}

/// The other end.
pub struct Outside {
    turn: Turn,
    wire: Wire,
    answers: bool,
    packet_bytes: usize,
    current: Vec<u8>,
    error: Option<Error>,
}

/// What it is at.
#[derive(Clone)]
struct Turn {
    source: Source,
    waiting: BinaryHeap<Reverse<(Cycle, u64, Vec<u8>)>>,
    made: u64,
    wire_free: Cycle,
    started: Option<Cycle>,
    /// When a script goes on behind a message that nobody answers.
    resume: Option<Cycle>,
}

impl Outside {
    /// Stands at the end of a link; with `answers` it acknowledges the node's packets.
    ///
    /// # Errors
    /// When the load is impossible.
    pub fn new(traffic: Traffic, wire: Wire, answers: bool, clock: Clock) -> Result<Self> {
        let mut started = None;
        let source = match traffic {
            Traffic::Silent => Source::Silent,
            // Its frames come with the slices of the run.
            #[cfg(target_os = "linux")]
            Traffic::Live(_) => Source::Silent,
            Traffic::Frames(packets) => Source::Frames(Box::new(Arrivals::new(packets, clock))),
            Traffic::Script(script) => Source::Script(script),
            Traffic::Load(spec) => {
                LoadSource::new(spec.clone())?;
                Source::Planned(spec)
            }
            Traffic::Announced(spec) => {
                started = Some(0);
                Source::Load(Box::new(LoadSource::new(spec)?))
            }
        };
        let packet_bytes = wire.packet_bytes();
        let turn = Turn {
            source,
            waiting: BinaryHeap::new(),
            made: 0,
            wire_free: 0,
            started,
            resume: None,
        };
        Ok(Self {
            turn,
            answers: answers && wire.acknowledges(),
            packet_bytes,
            wire,
            current: Vec::new(),
            error: None,
        })
    }

    /// Keeps frames, so that they can come again.
    pub fn keep(&mut self) {
        if let Source::Frames(packets) = &self.turn.source {
            packets.keep();
        }
    }

    /// Lets requests begin: the program is ready.
    pub fn start(&mut self, now: Cycle) {
        if self.turn.started.is_some() {
            return;
        }
        self.turn.started = Some(now + START_DELAY_CYCLES);
        if let Source::Planned(spec) = &self.turn.source {
            let start_delay_cycles = now + spec.start_delay_cycles;
            let spec = LoadSpec { startup_messages: 0, start_delay_cycles, ..spec.clone() };
            match LoadSource::new(spec) {
                Ok(load) => self.turn.source = Source::Load(Box::new(load)),
                Err(error) => self.error = Some(error.into()),
            }
        }
        if let Source::Frames(packets) = &mut self.turn.source {
            packets.begin(now + START_DELAY_CYCLES);
        }
        self.play(now + START_DELAY_CYCLES);
    }

    /// Gives the requests sent so far and how many there are.
    pub fn progress(&self) -> (u64, Option<u64>) {
        match &self.turn.source {
            Source::Silent => (0, None),
            Source::Frames(packets) => packets.progress(),
            Source::Planned(spec) => (0, Some(spec.requests)),
            Source::Load(load) => (load.report().sent, Some(load.spec().requests)),
            Source::Script(script) => (script.sent(), Some(script.total())),
        }
    }

    /// Tells whether requests are over when their answers have come: a script says which those are.
    pub fn is_script(&self) -> bool {
        matches!(self.turn.source, Source::Script(_))
    }

    /// Takes the error that ended the requests, if one did.
    pub fn take_error(&mut self) -> Option<Error> {
        let packets = match &mut self.turn.source {
            Source::Frames(packets) => packets.take_error(),
            _ => None,
        };
        self.error.take().or(packets)
    }

    /// Says why nothing came from here, where nothing did until the run ended in a cycle.
    pub fn why_nothing(&self, ended: Cycle) -> String {
        let why = match &self.turn.source {
            Source::Silent => {
                "give --load SPEC, --messages FILE or --pcap-in FILE, or put a messages.toml beside \
                 app.toml"
            }
            Source::Frames(_) => "the capture, or the generator, has no packets",
            Source::Planned(_) => "the program was never ready for one (no lnic_add_context)",
            Source::Load(load) => {
                return format!("the load sent nothing, for {}", why_idle(load.spec(), ended));
            }
            Source::Script(_) => "the script has no [[message]], or the program was never ready",
        };
        why.to_owned()
    }

    /// Ends the requests, and gives a load's report and what was answered otherwise than expected.
    pub fn finish(self) -> (Option<LoadReport>, Vec<String>) {
        match self.turn.source {
            Source::Load(load) => {
                let report = load.into_report();
                let differences = report.difference().into_iter().collect();
                (Some(report), differences)
            }
            Source::Script(script) => (None, script.differences()),
            Source::Silent | Source::Frames(_) | Source::Planned(_) => (None, Vec::new()),
        }
    }

    /// Sends a script's next message, if it is its turn.
    fn play(&mut self, at: Cycle) {
        if self.turn.started.is_none() {
            return;
        }
        let Source::Script(script) = &mut self.turn.source else { return };
        let Some((number, context, message)) = script.take_next() else { return };
        self.turn.resume = script.is_due().then_some(at + START_DELAY_CYCLES);
        for frame in self.wire.message(number, context, &message) {
            self.turn.waiting.push(Reverse((at, self.turn.made, frame)));
            self.turn.made += 1;
        }
    }

    fn own_next(&self) -> Option<Cycle> {
        self.turn.waiting.peek().map(|Reverse((due, ..))| *due)
    }

    fn source_next(&mut self) -> Option<Cycle> {
        match &mut self.turn.source {
            Source::Load(load) => load.next_cycle(),
            Source::Frames(packets) => packets.next_cycle(),
            Source::Script(_) => self.turn.resume,
            Source::Silent | Source::Planned(_) => None,
        }
    }
}

impl Peer for Outside {
    fn next_cycle(&mut self) -> Option<Cycle> {
        let next = [self.own_next(), self.source_next()].into_iter().flatten().min();
        next.map(|at| at.max(self.turn.wire_free))
    }

    fn next_frame(&mut self) -> Option<(Cycle, &[u8])> {
        if let Some(at) = self.turn.resume
            && self.own_next().is_none_or(|own| at < own)
        {
            self.turn.resume = None;
            self.play(at);
        }
        let (own, source) = (self.own_next(), self.source_next());
        let due = match (own, source) {
            (Some(own), source) if source.is_none_or(|source| own <= source) => {
                let Reverse((due, _, frame)) = self.turn.waiting.pop()?;
                self.current = frame;
                due
            }
            _ => match &mut self.turn.source {
                Source::Load(load) => {
                    let (due, frame) = load.next_frame()?;
                    self.current.clear();
                    self.current.extend_from_slice(frame);
                    due
                }
                Source::Frames(packets) => {
                    let (due, frame) = packets.take()?;
                    self.current = frame;
                    due
                }
                Source::Silent | Source::Planned(_) | Source::Script(_) => return None,
            },
        };
        let cycle = due.max(self.turn.wire_free);
        self.turn.wire_free = cycle + flits(self.current.len());
        Some((cycle, &self.current))
    }

    fn frame_out(&mut self, first_flit: Cycle, last_flit: Cycle, frame: &[u8]) {
        if let Source::Load(load) = &mut self.turn.source {
            load.frame_out(first_flit, last_flit, frame);
            return;
        }
        let Ok((header, payload)) = self.wire.parse(Direction::Out, frame) else { return };
        if !header.flags.has(Flags::DATA) {
            return;
        }
        if self.answers {
            let answer = self.wire.acknowledgement(&header);
            self.turn.waiting.push(Reverse((last_flit, self.turn.made, answer)));
            self.turn.made += 1;
        }
        if let Source::Script(script) = &mut self.turn.source {
            let to = (header.dst_ip, self.wire.own_context(&header));
            script.hear(to, &header, payload, self.packet_bytes);
            self.play(last_flit + 1);
        }
    }

    fn is_done(&self, now: Cycle) -> bool {
        let source = match &self.turn.source {
            Source::Silent => true,
            Source::Frames(packets) => packets.is_over(),
            Source::Planned(_) => false,
            Source::Load(load) => load.is_done(now),
            Source::Script(script) => self.turn.started.is_some() && script.is_done(),
        };
        source && self.turn.waiting.is_empty()
    }

    fn save(&self) -> std::result::Result<Saved, SaveError> {
        if let Source::Frames(packets) = &self.turn.source {
            packets.save()?;
        }
        Ok(Saved::new(self.turn.clone()))
    }

    fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError> {
        self.turn.clone_from(saved.get()?);
        Ok(())
    }
}
