//! The pinging client at the other end of the cable: `ping` (the kernel takes the time of the
//! reply) or a UDP client (the program does).

use pinion_host::HostModel;
use pinion_host::model::to_ps;
use pinion_net::frame::{
    Checksums, Endpoints, build_icmp_echo_request, build_udp_frame, verify_checksums,
};

use super::receive::ReceivePath;
use super::world::{Actor, World};
use pinion_app::error::{Error, Result};

/// Names what is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// ICMP echo requests.
    #[default]
    Icmp,
    /// UDP datagrams to an echo port.
    Udp {
        /// Where they go to.
        port: u16,
    },
}

/// Says what a client does.
#[derive(Clone, Copy, Debug)]
pub struct PingPlan {
    /// What it sends.
    pub protocol: Protocol,
    /// How many bytes each carries.
    pub payload_bytes: usize,
    /// How many it sends.
    pub count: u32,
    /// The time between two, in ns; the next goes when the reply is there at the earliest.
    pub interval_ns: u64,
}

impl Default for PingPlan {
    fn default() -> Self {
        Self { protocol: Protocol::Icmp, payload_bytes: 56, count: 5, interval_ns: 10_000_000 }
    }
}

/// A client's port.
const CLIENT_PORT: u16 = 40_000;
/// A ping's identifier.
const IDENTIFIER: u16 = 0x1234;
/// Bytes of the headers in front of the payload: Ethernet, IPv4, UDP or ICMP.
const HEADER_BYTES: usize = 42;

const SEND: u64 = 0;
const RECEIVED: u64 = 1;
const PROGRAM: u64 = 2;

/// Sends pings and measures how long the replies take.
#[derive(Debug)]
pub struct Ping {
    model: HostModel,
    plan: PingPlan,
    ends: Endpoints,
    path: ReceivePath,
    sequence: u16,
    sent_ps: u64,
    round_trips_ps: Vec<u64>,
    problem: Option<String>,
}

impl Ping {
    /// Makes a client.
    ///
    /// # Errors
    /// When the payload does not fit a frame.
    pub fn new(model: &HostModel, plan: PingPlan) -> Result<Self> {
        if plan.payload_bytes > 1472 {
            let bytes = plan.payload_bytes;
            return Err(Error::Usage(format!("a ping of {bytes} bytes: a frame carries 1472")));
        }
        Ok(Self {
            model: model.clone(),
            plan,
            ends: Endpoints::default(),
            path: ReceivePath::default(),
            sequence: 0,
            sent_ps: 0,
            round_trips_ps: Vec::new(),
            problem: None,
        })
    }

    /// Gives the times from sending to the reply, in ps.
    pub fn round_trips_ps(&self) -> &[u64] {
        &self.round_trips_ps
    }

    /// Gives the median of them, in µs.
    ///
    /// # Errors
    /// When a reply was wrong or is missing.
    pub fn median_us(&self) -> Result<f64> {
        if let Some(problem) = &self.problem {
            return Err(Error::Usage(format!("the co-simulated client: {problem}")));
        }
        let mut sorted = self.round_trips_ps.clone();
        sorted.sort_unstable();
        if sorted.len() != self.plan.count as usize || sorted.is_empty() {
            let (got, count) = (sorted.len(), self.plan.count);
            return Err(Error::Usage(format!("{got} of {count} pings were answered")));
        }
        let middle = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) as f64 / 2.0;
        Ok(middle / 1e6)
    }

    fn payload(&self) -> Vec<u8> {
        (0..self.plan.payload_bytes).map(|index| (index * 7 + 3) as u8).collect()
    }

    fn request(&self) -> Option<Vec<u8>> {
        let payload = self.payload();
        let frame = match self.plan.protocol {
            Protocol::Icmp => {
                build_icmp_echo_request(&self.ends, IDENTIFIER, self.sequence, &payload)
            }
            Protocol::Udp { port } => build_udp_frame(&self.ends, CLIENT_PORT, port, &payload),
        };
        frame.ok()
    }

    /// Says what is wrong with a reply.
    fn check(&self, frame: &[u8]) -> Option<String> {
        let sums = verify_checksums(frame);
        if sums.as_ref().map(|sums| *sums != Checksums::ALL_GOOD).unwrap_or(true) {
            return Some(format!("a reply's checksums are wrong: {sums:?}"));
        }
        let fits = frame.get(HEADER_BYTES..HEADER_BYTES + self.plan.payload_bytes);
        if fits != Some(&self.payload()[..]) {
            return Some("a reply has another payload than its request".to_owned());
        }
        let to_client = match self.plan.protocol {
            Protocol::Icmp => frame[34] == 0 && frame[40..42] == self.sequence.to_be_bytes(),
            Protocol::Udp { .. } => frame[36..38] == CLIENT_PORT.to_be_bytes(),
        };
        let back =
            frame[26..30] == self.ends.dst.octets() && frame[30..34] == self.ends.src.octets();
        (!to_client || !back).then(|| "a reply is not for this client's request".to_owned())
    }

    fn replied(&mut self, world: &mut World<'_>) {
        self.round_trips_ps.push(world.now_ps() - self.sent_ps);
        self.sequence += 1;
        if u32::from(self.sequence) >= self.plan.count {
            return world.stop();
        }
        let next = self.sent_ps + self.plan.interval_ns * 1000;
        world.at(next.max(world.now_ps()), SEND);
    }
}

impl Actor for Ping {
    fn start(&mut self, world: &mut World<'_>) {
        // The first comes as late after the start as the others after each other: all find a host
        // that has been idle.
        world.at(self.plan.interval_ns * 1000, SEND);
    }

    fn timer(&mut self, token: u64, world: &mut World<'_>) {
        let kernel = &self.model.kernel;
        match token {
            SEND => {
                self.sent_ps = world.now_ps();
                let Some(frame) = self.request() else { return world.stop() };
                let doorbell = self.sent_ps + kernel.send_ps(frame.len());
                let first = doorbell + self.model.nic.transmit_ps(frame.len());
                world.send(first, frame);
            }
            RECEIVED => {
                let Some(frame) = self.path.finish() else { return };
                self.problem = self.problem.take().or_else(|| self.check(&frame));
                match self.plan.protocol {
                    Protocol::Icmp => self.replied(world),
                    Protocol::Udp { .. } => {
                        let woken = self.path.work(world.now_ps(), kernel.wake_call_ns);
                        let runs = woken + kernel.wake_ps(self.path.was_asleep(), false);
                        world.at(runs + to_ps(kernel.receive_ns), PROGRAM);
                    }
                }
                if let Some(done) = self.path.begin(&self.model) {
                    world.at(done, RECEIVED);
                }
            }
            _ => self.replied(world),
        }
    }

    fn frame(&mut self, frame: Vec<u8>, world: &mut World<'_>) {
        if let Some(done) = self.path.arrive(world.now_ps(), frame, &self.model) {
            world.at(done, RECEIVED);
        }
    }
}
