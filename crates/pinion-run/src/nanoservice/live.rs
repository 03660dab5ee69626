//! Live runs of nanoservices: frames that the kernel sends out of a TAP device arrive at the node, and
//! what the node sends goes back to the kernel.
//!
//! Simulated time never runs ahead of the host's; while the node has work it falls behind, since
//! the simulation is slower than the hardware. Frames wait in the kernel's queue meanwhile. A node
//! has one address, for which ARP is answered here.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pinion_nanopu::Cycle;
use pinion_nanopu::event::Deaf;
use pinion_nanopu::node::{NodeEnd, Progress as NodeProgress};
use pinion_net::load::flits;
use pinion_net::tap::{InterfaceAddress, Tap, TapError};
use pinion_sim::node::Node as _;

use super::ears::Ears;
use super::frames::{Frames, Matching, Outputs};
use super::hang;
use super::run::{Observer, PEER_IP, Progress, empty_read};
use super::setup::Setup;
use super::summary::{Ending, Summary};
use super::wire::Wire;
use crate::live::NIC_MAC;
use crate::live::arp::Responder;
use pinion_app::error::Result;
use pinion_app::service::Service;

/// Waits at most this long for a frame before looking whether to stop.
const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// Waits this long while the node waits for its peer.
const SHORT_WAIT: Duration = Duration::from_millis(1);
/// Counts the cycles after which the device is looked at again while there is work.
const SLICE_CYCLES: Cycle = 64_000;
/// Takes a node in which nothing has moved for so long for one that waits.
const SETTLED_CYCLES: Cycle = 50_000;
/// Gives a program so long to become ready.
const LONGEST_BOOT_CYCLES: Cycle = 100_000_000;
/// Reads at most this many frames at a time.
const BATCH: usize = 256;
/// Waits this long for an acknowledgement: a peer beyond a kernel takes its time.
const TIMEOUT: Duration = Duration::from_millis(10);
/// Names the machine's number that says so.
const TIMEOUT_KEY: &str = "transmit.timer.timeout_cycles";

/// Tells how to run live.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name of the TAP device.
    pub tap: String,
    /// The kernel's address on it.
    pub address: Option<InterfaceAddress>,
    /// Ends the run after this time.
    pub duration: Option<Duration>,
}

/// Gives the node's address on a network: the machine's if it lies there, else the first that is
/// not the kernel's.
pub fn node_ip(setup: &Setup, kernel: Option<InterfaceAddress>) -> Ipv4Addr {
    let own = setup.machine.value.address.ip;
    let Some(kernel) = kernel else { return own };
    let shift = 32 - u32::from(kernel.prefix.min(32));
    let network = |ip: Ipv4Addr| ip.to_bits().checked_shr(shift).unwrap_or(0);
    if network(own) == network(kernel.address) && own != kernel.address {
        return own;
    }
    let base = network(kernel.address).checked_shl(shift).unwrap_or(0);
    let first = (1..=2).map(|host| Ipv4Addr::from_bits(base | host));
    first.into_iter().find(|ip| *ip != kernel.address).unwrap_or(own)
}

/// Runs a nanoservice on a TAP device until its program ends, the observer stops it or the time is
/// over.
///
/// # Errors
/// When the device cannot be opened or is lost, or an output fails.
pub fn run(
    service: &Service,
    mut setup: Setup,
    options: &Options,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let tap = Tap::open(&options.tap, options.address)?;
    let ip = node_ip(&setup, options.address);
    setup.address.ip = ip.to_bits();
    setup.address.mac = NIC_MAC;
    setup.address.next_hop_mac = tap.mac();
    let is_set = |key: &str| setup.machine.entries.iter().any(|e| e.key == key && e.overridden);
    if !is_set(TIMEOUT_KEY) {
        let mhz = setup.machine.value.clock.frequency_mhz;
        Arc::make_mut(&mut setup.machine).value.transmit.timer.timeout_cycles =
            TIMEOUT.as_micros() as u64 * mhz;
    }
    let wire = || Wire::new(&setup, PEER_IP);
    let frames = Frames::new(outputs, wire(), Matching::Oldest, setup.clock)?;
    let node = setup.node(service)?;
    let ears = Ears::new(node.harts(), frames, Deaf);
    let end = NodeEnd::new(node, ears);
    let live = Live {
        device: Device {
            buffer: vec![0; tap.max_frame_bytes()],
            responder: Responder { kernel: options.address, only: Some(ip) },
            tap,
            error: None,
            refused: 0,
            answered: 0,
        },
        warned: vec![false; end.node.harts()],
        end,
        service,
        contexts: setup.machine.value.hart_interface.contexts,
        now: 0,
        wire_free: 0,
        printed: 0,
        working: (0, Duration::ZERO),
    };
    live.run(&setup, options, observer)
}

struct Device {
    tap: Tap,
    buffer: Vec<u8>,
    responder: Responder,
    error: Option<TapError>,
    refused: u64,
    answered: u64,
}

struct Live<'a> {
    end: NodeEnd<Ears<Deaf>>,
    device: Device,
    service: &'a Service,
    contexts: u16,
    /// Everything before this cycle has happened.
    now: Cycle,
    wire_free: Cycle,
    printed: usize,
    warned: Vec<bool>,
    /// Cycles with work inside, and the host time they took.
    working: (Cycle, Duration),
}

impl Live<'_> {
    fn run(
        mut self,
        setup: &Setup,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Summary> {
        self.boot(observer)?;
        let ready = self.now;
        observer.started();
        let start = Instant::now();
        let is_over = || options.duration.is_some_and(|limit| start.elapsed() >= limit);
        let goes_on = |observer: &mut dyn Observer| {
            let progress = Progress {
                requests: 0,
                total: None,
                simulated: pinion_sim::Time::ZERO,
                host: start.elapsed(),
            };
            observer.goes_on(&progress)
        };
        while goes_on(observer) && !is_over() && !self.end.has_ended() {
            let host = pinion_sim::Time::from_ps((start.elapsed().as_nanos() as u64) * 1000);
            let host = ready + setup.clock.cycle_at(host);
            let has_work = self.has_work();
            let is_ahead = self.now >= host;
            if !has_work || is_ahead || self.awaits_peer() {
                let wait = if has_work { SHORT_WAIT } else { LONGEST_WAIT };
                self.device.tap.wait(Some(wait))?;
            }
            if self.end.is_quiet() {
                // Idle time costs nothing.
                self.simulate(host.max(self.now))?;
            }
            self.read()?;
            if self.has_work() {
                let started = Instant::now();
                let until = (self.now + SLICE_CYCLES).min(host.max(self.now + SETTLED_CYCLES));
                let before = self.now;
                self.simulate(until)?;
                self.working.0 += self.now - before;
                self.working.1 += started.elapsed();
            }
            self.pass_on(observer);
        }
        self.conclude(setup, ready, start.elapsed())
    }

    /// Runs until the program is ready for frames.
    fn boot(&mut self, observer: &mut dyn Observer) -> Result<()> {
        while self.now < LONGEST_BOOT_CYCLES && !self.end.is_quiet() && !self.end.has_ended() {
            self.simulate(self.now + SLICE_CYCLES)?;
            self.pass_on(observer);
            let serves = (0..self.contexts).any(|c| self.end.node.receive().serves(c));
            if serves && self.now > self.end.moved() + SETTLED_CYCLES {
                break;
            }
        }
        Ok(())
    }

    /// Tells whether the node has more to do than to wait for frames.
    fn has_work(&self) -> bool {
        let end = &self.end;
        let is_empty = end.node.receive().is_empty()
            && end.unread_words(self.contexts) == 0
            && end.begun(self.contexts) == 0
            && end.node.transmit().resident().next().is_none();
        let settled = is_empty && self.now > end.moved() + SETTLED_CYCLES;
        !(end.is_quiet() || settled)
    }

    /// Tells whether all that the node waits for is its peer.
    fn awaits_peer(&self) -> bool {
        let end = &self.end;
        self.now > end.moved() + SETTLED_CYCLES
            && end.node.receive().is_empty()
            && end.begun(self.contexts) == 0
    }

    fn simulate(&mut self, until: Cycle) -> Result<()> {
        let device = &mut self.device;
        self.end.run(until, &mut |_: usize, _: Cycle, _: Cycle, frame: Vec<u8>| {
            let written = device.tap.write(&frame);
            device.note(written);
        });
        self.now = self.now.max(until);
        self.end.ears.frames.settle(self.now)?;
        match self.device.error.take() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Reads what is there and gives it to the node, one frame behind the other.
    fn read(&mut self) -> Result<()> {
        for _ in 0..BATCH {
            let device = &mut self.device;
            let Some(bytes) = device.tap.read(&mut device.buffer)? else { break };
            let frame = &device.buffer[..bytes];
            if let Some(answer) = device.responder.answer(frame) {
                device.answered += 1;
                let written = device.tap.write(&answer);
                device.note(written);
                continue;
            }
            if frame.get(12..14) == Some(&[0x08, 0x06]) {
                continue;
            }
            let first = self.wire_free.max(self.now + 1);
            self.wire_free = first + flits(bytes);
            self.end.arrive(0, first, frame.to_vec());
        }
        Ok(())
    }

    fn pass_on(&mut self, observer: &mut dyn Observer) {
        let console = &self.end.node.memory().devices.console[self.printed..];
        let end = console.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let end = if self.end.has_ended() { console.len() } else { end };
        if end > 0 {
            observer.console(&String::from_utf8_lossy(&console[..end]));
            self.printed += end;
        }
        for hart in 0..self.warned.len() {
            if self.end.node.core(hart).empty_reads > 0 && !self.warned[hart] {
                self.warned[hart] = true;
                if let Some(text) = empty_read(&self.end.node, self.service, hart) {
                    observer.warning(&text);
                }
            }
        }
    }

    fn conclude(self, setup: &Setup, ready: Cycle, host: Duration) -> Result<Summary> {
        let ending = match self.end.progress {
            NodeProgress::Exited { code, at } => Ending::Exited { code, at },
            NodeProgress::Stopped { why, at } => Ending::Stopped { why: why.to_owned(), at },
            _ if self.end.begun(self.contexts) > 0 && !self.end.is_quiet() => {
                Ending::Stuck(hang::describe(&self.end.node, &self.service.image, self.contexts))
            }
            _ => Ending::Finished,
        };
        let ended = (self.now, Some(ready));
        let mut summary = Summary::new(self.service, setup, &self.end, ending, ended);
        let (counts, latency) = self.end.ears.frames.finish()?;
        summary.frames = counts;
        summary.latency = latency.quantiles();
        summary.host = host;
        let device = &self.device;
        let (cycles, worked) = self.working;
        let simulated = setup.clock.time(cycles).ps() as f64 / 1e12;
        summary.remarks.push(format!(
            "live on {}: {:.0} times slower than the hardware while there was work",
            device.tap.name(),
            if simulated > 0.0 { worked.as_secs_f64() / simulated } else { 0.0 }
        ));
        let dropped = device.tap.dropped_by_kernel();
        summary.kernel_dropped = Some(dropped);
        for (number, text) in [
            (dropped, "frames dropped by the kernel, whose queue was full"),
            (device.answered, "ARP requests answered"),
            (device.refused, "frames that the kernel did not take"),
        ] {
            if number > 0 {
                summary.remarks.push(format!("{text}: {number}"));
            }
        }
        summary.check();
        Ok(summary)
    }
}

impl Device {
    fn note(&mut self, written: std::result::Result<bool, TapError>) {
        match written {
            Ok(taken) => self.refused += u64::from(!taken),
            Err(TapError::NotAFrame { .. }) => self.refused += 1,
            Err(error) => self.error = Some(error),
        }
    }
}
