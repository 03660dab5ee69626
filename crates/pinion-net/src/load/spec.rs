//! What a load is made of, and whether that is possible.

use super::store::MOST_VALUE_BYTES;
use super::{Arrivals, Distribution, LoadError, Sizes, StoreRequests, Timing};
use crate::frame::Endpoints;
use crate::frame::lnic::NDP_PROTOCOL;
use std::net::Ipv4Addr;

/// Smallest request: the time of sending.
pub(super) const SENT_ONLY_BYTES: u16 = 8;
/// The usual request: service time and time of sending (artifact, load generator's message).
pub(super) const SERVICE_AND_SENT_BYTES: u16 = 16;

/// Describes a load. [`LoadSpec::parse`] reads one from text; the default is one request after the
/// other.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSpec {
    /// Chooses all random numbers.
    pub seed: u64,
    /// How many requests; the published evaluations have 20,000 for each point.
    pub requests: u64,
    /// When they come.
    pub arrivals: Arrivals,
    /// Which node each goes to.
    pub nodes: Nodes,
    /// How many cycles the program is asked to work on each.
    pub service: Distribution,
    /// Lets one context overrun, if any.
    pub overrun: Option<Overrun>,
    /// Which context each goes to.
    pub contexts: Contexts,
    /// Bytes of a request: 16 (service time, time of sending), more (random bytes behind those), or
    /// 8 (time of sending only).
    pub message_bytes: u16,
    /// Draws the bytes of each request from a published workload; none has fewer than `message_bytes`.
    pub sizes: Option<Sizes>,
    /// Makes the requests those to a key-value store; `message_bytes` stays as it is by default.
    pub store: Option<StoreRequests>,
    /// How frames look.
    pub flavour: Flavour,
    /// Who sends to whom.
    pub ends: Ends,
    /// Keeps requests until they are acknowledged and sends packets again (NDP only): those whose
    /// payload was trimmed when the node pulls them, others that nothing was heard of in so many
    /// cycles. `None`: every packet is sent once, as the published load generator does.
    pub timeout_cycles: Option<u64>,
    /// Messages that the node sends first, to say that it is ready.
    pub startup_messages: u32,
    /// Cycles from the last of them to the start.
    pub start_delay_cycles: u64,
    /// Messages of service time 0 at the end, one for each context in turn; the published programs
    /// end on one.
    pub closing_messages: u32,
    /// How an answer is matched with its request.
    pub matching: Matching,
    /// Which flit of an answer ends the response time.
    pub response_at: ResponseAt,
    /// Cycles after which a request is given up.
    pub patience_cycles: u64,
    /// Keeps a [`Sample`](super::Sample) of every answer, and exact quantiles.
    pub keep_samples: bool,
}

/// Says which context a request goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contexts {
    /// Always the same.
    Fixed(u16),
    /// Each of so many, from 0, with the same probability (the receiver-side scaling of the papers:
    /// the load generator picks the port).
    Uniform(u16),
    /// In turn, from 0.
    InTurn(u16),
    /// The service time's mode: 0 for short and 1 for long requests.
    ByMode,
}

/// Says which node a request goes to. Several have consecutive addresses, from that of
/// [`Ends::addresses`] on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nodes {
    /// There is one.
    #[default]
    One,
    /// Each of so many with the same probability.
    Uniform(u32),
    /// In turn, from the first.
    InTurn(u32),
}

impl Nodes {
    /// Counts them.
    pub fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Uniform(count) | Self::InTurn(count) => count,
        }
    }
}

/// Lets a context's requests take longer now and then (nanoPU paper, §4.2 d).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// The context.
    pub context: u16,
    /// Every so many-th of its requests.
    pub every: u64,
    /// By so much longer.
    pub factor: u64,
}

/// Says how the frames of a load look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Frames between nanoPUs; see [`crate::frame::lnic`].
    Lnic {
        /// IPv4 protocol number: NDP's or Homa's.
        protocol: u8,
        /// Initial window in packets, which acknowledgements grant anew.
        rtt_packets: u16,
        /// Cycles from a packet's last flit to its acknowledgement's first; `None`: never. FireSim's
        /// switch answers at once.
        ack_delay_cycles: Option<u64>,
    },
    /// UDP datagrams, one for each message, to the port that stands for a context.
    Udp {
        /// Port of context 0; others follow.
        base_port: u16,
    },
}

/// Names the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Addresses from the source to the node.
    pub addresses: Endpoints,
    /// The source's own context (its UDP port).
    pub context: u16,
}

/// Says how answers find their requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Matching {
    /// The answer carries the request's time of sending where the request does.
    #[default]
    SentTime,
    /// An answer belongs to the oldest request to the context it comes from.
    Oldest,
}

/// Says when an answer has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ResponseAt {
    /// With the first flit of its last packet, as FireSim's switch stamps frames.
    #[default]
    FirstFlit,
    /// With the last flit of its last packet.
    LastFlit,
}

impl Default for Ends {
    /// Takes 10.0.0.1 for the source, 10.0.0.2 for the node and the hardware addresses of the
    /// published test bench.
    fn default() -> Self {
        let addresses = Endpoints {
            src_mac: [0x08, 0x55, 0x66, 0x77, 0x88, 0x08],
            dst_mac: [0x08, 0x11, 0x22, 0x33, 0x44, 0x08],
            src: Ipv4Addr::new(10, 0, 0, 1),
            dst: Ipv4Addr::new(10, 0, 0, 2),
        };
        Self { addresses, context: 0 }
    }
}

impl Flavour {
    /// Makes NDP frames with the published evaluation's window of 2 packets and instant
    /// acknowledgement.
    pub fn ndp() -> Self {
        Self::Lnic { protocol: NDP_PROTOCOL, rtt_packets: 2, ack_delay_cycles: Some(0) }
    }
}

impl Default for LoadSpec {
    fn default() -> Self {
        Self {
            seed: 1,
            requests: 1000,
            arrivals: Arrivals::Closed {
                outstanding: 1,
                think: Distribution::Fixed { cycles: 0.0 },
            },
            nodes: Nodes::One,
            service: Distribution::Fixed { cycles: 0.0 },
            overrun: None,
            contexts: Contexts::Fixed(0),
            message_bytes: SERVICE_AND_SENT_BYTES,
            sizes: None,
            store: None,
            flavour: Flavour::ndp(),
            ends: Ends::default(),
            timeout_cycles: None,
            startup_messages: 1,
            start_delay_cycles: 3000,
            closing_messages: 0,
            matching: Matching::SentTime,
            response_at: ResponseAt::FirstFlit,
            patience_cycles: 10_000_000,
            keep_samples: true,
        }
    }
}

impl LoadSpec {
    /// Makes the open loop of the published evaluations: Poisson arrivals, 20,000 requests, windows
    /// of the link's latency of 140 cycles unless `timing` says otherwise.
    pub fn published(gap_cycles: f64, service: Distribution, timing: Timing) -> Self {
        Self {
            requests: 20_000,
            arrivals: Arrivals::Open {
                gap: Distribution::Exponential { mean_cycles: gap_cycles },
                timing,
            },
            service,
            ..Self::default()
        }
    }

    /// Gives the timing of the published load generator.
    pub fn published_timing() -> Timing {
        Timing::Windowed { window_cycles: 140 }
    }

    /// Checks that the numbers make sense together.
    ///
    /// # Errors
    /// [`LoadError::Impossible`] names the part that does not.
    pub fn check(&self) -> Result<(), LoadError> {
        let wrong =
            |what, problem: &str| Err(LoadError::Impossible { what, problem: problem.to_owned() });
        let distributions = match &self.arrivals {
            Arrivals::Open { gap, .. } => [("gap", gap), ("service", &self.service)],
            Arrivals::Closed { think, .. } => [("think", think), ("service", &self.service)],
        };
        for (what, distribution) in distributions {
            if let Some(problem) = distribution.problem() {
                return wrong(what, problem);
            }
        }
        match self.arrivals {
            Arrivals::Closed { outstanding: 0, .. } => {
                return wrong("outstanding", "at least one request is outstanding");
            }
            Arrivals::Open { timing: Timing::Windowed { window_cycles: 0 }, .. } => {
                return wrong("window", "a window has at least one cycle");
            }
            _ => {}
        }
        if matches!(self.contexts, Contexts::Uniform(0) | Contexts::InTurn(0)) {
            return wrong("contexts", "there is at least one context");
        }
        if self.nodes.count() == 0 {
            return wrong("nodes", "there is at least one node");
        }
        if self.timeout_cycles == Some(0) {
            return wrong("timeout", "nothing is acknowledged within 0 cycles");
        }
        let is_ndp = matches!(self.flavour, Flavour::Lnic { protocol: NDP_PROTOCOL, .. });
        if self.timeout_cycles.is_some() && !is_ndp {
            return wrong("timeout", "only NDP's packets are sent again; leave it out");
        }
        if self.overrun.is_some_and(|overrun| overrun.every == 0) {
            return wrong("overrun", "every 0th request is none; count from 1");
        }
        if self.message_bytes != SENT_ONLY_BYTES && self.message_bytes < SERVICE_AND_SENT_BYTES {
            return wrong("size", "a request has 8 bytes (time of sending) or from 16 on");
        }
        if let Some(store) = self.store {
            let StoreRequests { keys, value_bytes } = store;
            if keys == 0 || value_bytes % 8 != 0 || value_bytes > MOST_VALUE_BYTES {
                return wrong(
                    "store",
                    "there is a key, and a value has a multiple of 8 bytes to 976",
                );
            }
            if self.closing_messages > 0 && self.service == (Distribution::Fixed { cycles: 0.0 }) {
                let problem = "every request to the store has service time 0, too; give `service`";
                return wrong("closing", problem);
            }
        }
        if self.patience_cycles == 0 {
            return wrong("patience", "no request is answered within 0 cycles");
        }
        Ok(())
    }

    /// Tells whether requests carry a service time.
    pub(super) fn has_service(&self) -> bool {
        self.message_bytes >= SERVICE_AND_SENT_BYTES
    }

    /// Gives the number of the request's word with the time of sending.
    pub(super) fn sent_word(&self) -> usize {
        usize::from(self.has_service())
    }

    /// Tells whether a node with an address is one that requests go to.
    pub fn is_for(&self, address: u32) -> bool {
        let first = self.ends.addresses.dst.to_bits();
        (first..first.saturating_add(self.nodes.count())).contains(&address)
    }

    /// Gives the number of the word by which an answer finds its request, where it is one.
    pub fn matching_word(&self) -> Option<usize> {
        (self.matching == Matching::SentTime).then(|| self.sent_word())
    }

    /// Gives the number of contexts that requests go to.
    pub fn context_count(&self) -> u16 {
        match self.contexts {
            Contexts::Fixed(_) => 1,
            Contexts::Uniform(count) | Contexts::InTurn(count) => count,
            Contexts::ByMode => self.service.modes() as u16,
        }
    }
}
