//! Live runs: frames that the kernel sends out of a TAP device arrive at the NIC, and what handlers
//! send goes back to the kernel. Or frames that a network interface receives, and sends.
//!
//! Simulated time is the host's time as long as nothing is inside the NIC (idle time costs
//! nothing); while packets are inside, the simulation takes longer than the hardware would, and
//! frames wait in a bounded queue. Frames that match no context go to the NIC's host side: a
//! second TAP device if there is one, else a stand-in that answers ARP requests and counts the rest.

pub mod arp;
pub mod clock;
mod faults;
pub mod pace;
pub mod queue;
mod wire;

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use pinion_net::capture::LinkType;
use pinion_net::fault::FaultSpec;
use pinion_net::tap::{InterfaceAddress, Tap, TapError};
use pinion_sim::Time;
use pinion_spin::{Outcome, Units};

use crate::run::links;
use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_observe::fault::Fault;
use pinion_observe::report::{Collector, Ending, Outputs, Sink, Summary};

use arp::Responder;
use clock::Clock;
use pace::Pace;
use queue::Queue;
use wire::Wire;

pub use arp::NIC_MAC;
pub use faults::Faults;
pub use wire::WireName;

/// Waits at most this long for a frame before looking whether to stop.
pub const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// The simulated time after which the device is looked at again while packets are inside.
pub const SLICE_PS: u64 = 20_000_000;
/// Reads at most this many frames at a time.
const BATCH: usize = 256;
/// Tells how to run live.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name of the wire.
    pub wire: WireName,
    /// The kernel's address on it.
    pub address: Option<InterfaceAddress>,
    /// Name of the device of the NIC's host side.
    pub host_tap: Option<String>,
    /// How long a frame may wait for the simulation.
    pub bound: Duration,
    /// Ends the run after this time.
    pub duration: Option<Duration>,
    /// Makes the wire faulty.
    pub faults: Option<FaultSpec>,
}

/// Watches a live run.
pub trait Observer {
    /// Hears that the devices are open and frames are taken.
    fn started(&mut self);
    /// Is asked many times a second; answers whether to go on.
    fn goes_on(&mut self) -> bool;
    /// Takes a line of a handler's standard output.
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str);
    /// Takes a remark about how the run goes.
    fn notice(&mut self, text: &str);
}

/// Runs an application on a TAP device until the observer stops it or the time is over.
///
/// # Errors
/// When a device cannot be opened or is lost, or an output fails.
pub fn run(
    app: &App,
    options: &Options,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let skip = app.skipped_bytes();
    let device = Device::open(options, skip > 0)?;
    let nic = app.nic()?;
    let collector = Collector::new(outputs, links(app, LinkType::Ethernet), app.context_names())?;
    let live = Live {
        nic,
        collector,
        device,
        queue: Queue::new(options.bound, skip),
        clock: Clock::new(),
        pace: Pace::default(),
        reached: Time::ZERO,
        is_stuck: None,
        faults: Faults::default(),
    };
    observer.started();
    live.run(app, options, observer)
}

struct Live {
    nic: Units,
    collector: Collector,
    device: Device,
    queue: Queue,
    clock: Clock,
    pace: Pace,
    /// Simulated time that the last slice ended at, if packets are inside.
    reached: Time,
    is_stuck: Option<String>,
    faults: Faults,
}

impl Live {
    fn run(mut self, app: &App, options: &Options, observer: &mut dyn Observer) -> Result<Summary> {
        let start = Instant::now();
        let is_over = || options.duration.is_some_and(|limit| start.elapsed() >= limit);
        let mut is_idle = true;
        while observer.goes_on() && !is_over() && self.is_stuck.is_none() {
            if is_idle && self.queue.is_empty() {
                self.device.wait()?;
            }
            self.device.read_each(|frame| self.queue.push(frame, self.clock.now()))?;
            is_idle = self.simulate(is_idle, app, observer)?;
            if let Some(text) = self.pace.notice(&mut self.queue) {
                observer.notice(&text);
            }
        }
        let mut remarks = self.pace.remarks(self.device.name(), &self.queue, options.bound);
        remarks.extend(self.device.remarks());
        let dropped = self.device.dropped_by_kernel();
        let (device, faults) = (&mut self.device, &mut self.faults);
        let stats = self.collector.finish(&mut Passing { device, faults, app, observer })?;
        let ending = self.is_stuck.map_or(Ending::Finished, Ending::Stuck);
        let ended = (ending, self.nic.now(), start.elapsed());
        let totals = self.nic.totals();
        let mut summary = Summary::new(app, totals, stats, ended);
        summary.working = self.pace.working;
        summary.remarks = remarks;
        summary.kernel_dropped = Some(dropped);
        Ok(summary)
    }

    /// Simulates for a slice; tells whether nothing is inside any more.
    fn simulate(&mut self, was_idle: bool, app: &App, observer: &mut dyn Observer) -> Result<bool> {
        if was_idle && self.queue.is_empty() {
            return Ok(true);
        }
        let started = Instant::now();
        let before = self.nic.now().max(self.reached);
        let until = before.max(self.queue.newest_arrival()) + Time::from_ps(SLICE_PS);
        self.queue.first_given = None;
        let (device, faults) = (&mut self.device, &mut self.faults);
        let mut passing = Passing { device, faults, app, observer };
        let mut ears = self.collector.ears(&mut passing);
        let outcome = self.nic.run(until, &mut self.queue, &mut ears);
        self.device.take_error()?;
        if let Some(error) = self.collector.take_error() {
            return Err(error);
        }
        // Cores may have nothing to tell until behind the slice: time goes on all the same.
        self.reached = if outcome == Outcome::TimeReached { until } else { Time::ZERO };
        let from = if was_idle { self.queue.first_given.unwrap_or(before) } else { before };
        let now = self.nic.now().max(self.reached);
        self.pace.add(now.since(from.max(before)), started.elapsed());
        Ok(match outcome {
            Outcome::Stuck(report) => {
                self.is_stuck = Some(report);
                true
            }
            // Timers may still run, but time that passes without packets is the host's.
            Outcome::TimeReached => self.nic.totals().resident == 0,
            Outcome::Idle | Outcome::Finished => true,
        })
    }
}

/// The NIC's surroundings: the wire and the host side.
pub struct Device {
    wire: Wire,
    host_tap: Option<Tap>,
    responder: Option<Responder>,
    strips_ethernet: bool,
    buffer: Vec<u8>,
    error: Option<Error>,
    /// Number of frames the kernel did not take.
    refused: u64,
    /// Number of ARP requests answered.
    answered: u64,
}

impl Device {
    /// Opens the devices.
    pub fn open(options: &Options, strips_ethernet: bool) -> Result<Self> {
        let wire = Wire::open(&options.wire, options.address, options.faults.as_ref())?;
        let host_tap = options.host_tap.as_deref().map(|name| Tap::open(name, None)).transpose()?;
        let host_bytes = host_tap.as_ref().map_or(0, Tap::max_frame_bytes);
        // Behind an interface the kernel answers ARP itself.
        let answers_arp = wire.is_tap();
        Ok(Self {
            responder: answers_arp.then_some(Responder { kernel: options.address, only: None }),
            strips_ethernet,
            buffer: vec![0; wire.max_frame_bytes().max(host_bytes)],
            wire,
            host_tap,
            error: None,
            refused: 0,
            answered: 0,
        })
    }

    /// Gives the wire's name.
    pub fn name(&self) -> &str {
        self.wire.name()
    }

    /// Counts the frames that the kernel dropped before they were read from the devices.
    pub fn dropped_by_kernel(&self) -> u64 {
        let host = self.host_tap.as_ref().map_or(0, Tap::dropped_by_kernel);
        self.wire.dropped_by_kernel() + host
    }

    /// Says what else happened to frames.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let unread = [
            (self.wire.dropped_by_kernel(), self.name()),
            self.host_tap.as_ref().map_or((0, ""), |tap| (tap.dropped_by_kernel(), tap.name())),
        ];
        for (frames, name) in unread.into_iter().filter(|(frames, _)| *frames > 0) {
            remarks.push(format!(
                "dropped by the kernel on {name}, whose queue was full: {frames} frames"
            ));
        }
        remarks.extend(self.wire.remarks());
        if self.answered > 0 {
            remarks.push(format!("ARP requests answered: {}", self.answered));
        }
        if self.refused > 0 {
            remarks.push(format!("frames the kernel did not take: {}", self.refused));
        }
        remarks
    }

    /// Waits for a frame, a short while.
    pub fn wait(&self) -> Result<()> {
        let mut waited: Vec<PollFd<'_>> =
            self.fds().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let limit = self.patience(LONGEST_WAIT);
        let limit = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
        match poll(&mut waited, limit) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(Error::part("cannot wait for frames", errno)),
        }
    }

    /// Shortens a wait to when a frame goes on that the wire's faults hold back.
    pub fn patience(&self, limit: Duration) -> Duration {
        self.wire.patience(limit)
    }

    /// Lists what tells that a frame is there.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.wire.as_fd()).chain(self.host_tap.as_ref().map(AsFd::as_fd))
    }

    /// Reads what is there: frames from the wire for the NIC, frames from the host for the wire.
    pub fn read_each(&mut self, mut take: impl FnMut(&[u8])) -> Result<()> {
        for _ in 0..BATCH {
            let Some(bytes) = self.wire.read(&mut self.buffer)? else { break };
            take(&self.buffer[..bytes]);
        }
        let Some(host) = &mut self.host_tap else { return Ok(()) };
        for _ in 0..BATCH {
            let Some(bytes) = host.read(&mut self.buffer)? else { break };
            let taken = self.wire.write(&self.buffer[..bytes])?;
            self.refused += u64::from(!taken);
        }
        Ok(())
    }

    /// Puts a frame on the wire.
    pub fn send(&mut self, frame: &[u8]) {
        let written = match self.strips_ethernet {
            false => self.wire.write(frame),
            true => {
                let framed = with_header(frame, self.wire.mac());
                self.wire.write(&framed)
            }
        };
        self.note(written);
    }

    /// Takes a frame that no context matches.
    pub fn take_unmatched(&mut self, frame: &[u8]) {
        if let Some(host) = &mut self.host_tap {
            let written = host.write(frame).map_err(Error::from);
            self.note(written);
        } else if let Some(answer) = self.responder.and_then(|arp| arp.answer(frame)) {
            self.answered += 1;
            let written = self.wire.write(&answer);
            self.note(written);
        }
    }

    fn note(&mut self, written: Result<bool>) {
        match written {
            Ok(taken) => self.refused += u64::from(!taken),
            // A handler may send anything; what is no frame does not reach the wire.
            Err(Error::Tap(TapError::NotAFrame { .. })) => self.refused += 1,
            Err(error) => self.error = Some(error),
        }
    }

    /// Gives the first error of a write, once.
    ///
    /// # Errors
    /// That one.
    pub fn take_error(&mut self) -> Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Puts an Ethernet header before a packet that starts at the IP header.
fn with_header(packet: &[u8], kernel: [u8; 6]) -> Vec<u8> {
    let kind: [u8; 2] = match packet.first().map(|byte| byte >> 4) {
        Some(6) => [0x86, 0xdd],
        _ => [0x08, 0x00],
    };
    [&kernel[..], &NIC_MAC, &kind, packet].concat()
}

/// Passes on what happens during a slice.
pub struct Passing<'a> {
    /// Takes the frames.
    pub device: &'a mut Device,
    /// Number of equal faults, so that each is told once.
    pub faults: &'a mut Faults,
    /// The application whose handlers run.
    pub app: &'a App,
    /// Hears everything else.
    pub observer: &'a mut dyn Observer,
}

impl Sink for Passing<'_> {
    fn line(&mut self, time: Time, cluster: u32, hpu: u32, text: &str) {
        self.observer.line(time, cluster, hpu, text);
    }

    fn departed(&mut self, _time: Time, frame: &[u8]) {
        self.device.send(frame);
    }

    fn unmatched(&mut self, _time: Time, frame: &[u8]) {
        self.device.take_unmatched(frame);
    }

    fn fault(&mut self, fault: &Fault) {
        if let Some(text) = self.faults.tell(self.app, fault) {
            self.observer.notice(&text);
        }
    }
}
