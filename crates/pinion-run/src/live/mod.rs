//! Live runs: frames that the kernel sends out of a TAP device arrive at what is simulated, and what that
//! sends goes back to the kernel. Or frames that a network interface receives, and sends.
//!
//! Handlers on a NIC or on the native engine, a nanoPU and whole clusters are the subjects of one loop:
//! wait for frames, read them into a bounded queue, let the subject take them and go on for a slice.
//! Simulated time is the host's time as long as nothing is inside (idle time costs nothing); while
//! there is work, the simulation takes longer than the hardware would, and frames wait in the queue.
//! Frames that match no context of a NIC go to its host side: a second TAP device if there is one, else a
//! stand-in that answers ARP requests and counts the rest.

pub mod arp;
pub mod clock;
mod cycles;
mod device;
mod faults;
pub mod guest;
mod handlers;
pub mod pace;
pub mod queue;
pub mod slices;
mod wire;

use std::time::{Duration, Instant};

use pinion_net::fault::FaultSpec;
use pinion_net::tap::InterfaceAddress;

use crate::watch::{Observer, Progress, Seen};
use pinion_app::error::Result;
use pinion_app::tape::Tape;
use pinion_observe::report::{Ending, Summary};

use clock::Clock;
use guest::{Guest, Lent};
use pace::Pace;
use queue::Queue;

pub use arp::NIC_MAC;
pub(crate) use cycles::Summed;
pub use cycles::{Cycles, Holds, Inside};
pub use device::Device;
pub use faults::Faults;
pub use handlers::{Passing, run};
pub use wire::WireName;

/// Waits at most this long for a frame before looking whether to stop.
pub const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// Waits at most this long for a frame while what is inside waits for one too.
const SHORT_WAIT: Duration = Duration::from_millis(1);
/// The simulated time after which the device is looked at again while there is work.
pub const SLICE_PS: u64 = 20_000_000;

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
    /// Keeps what comes in.
    pub tape: Option<Tape>,
}

/// Tells how what is simulated stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There is nothing to do until a frame comes.
    Idle,
    /// All there is to do is to wait for the other end, for a while: an acknowledgement may be lost.
    Waits,
    /// There is work.
    Works,
    /// It is over.
    Ended,
}

/// What a live run simulates.
pub(crate) trait Subject: Seen {
    /// Tells how it stands.
    fn standing(&mut self) -> Standing;

    /// Takes frames that wait outside and goes on for a slice, if there is something to do.
    ///
    /// # Errors
    /// When a device is lost, or an output fails.
    fn simulate(&mut self, outside: &mut Outside, observer: &mut dyn Observer) -> Result<()>;

    /// Lends itself to a guest for a turn.
    fn lend(&mut self) -> Lent<'_>;
}

/// What a live run has outside.
pub struct Outside {
    /// Where frames come from and go to.
    pub device: Device,
    /// Frames that wait.
    pub queue: Queue,
    /// When frames that come now arrive.
    pub clock: Clock,
    /// How well the simulation keeps up.
    pub pace: Pace,
    bound: Duration,
}

impl Outside {
    /// Puts a queue and a clock behind a device; handlers do not see the first `skip` bytes of frames.
    pub fn new(device: Device, options: &Options, skip: u32) -> Self {
        let (mut queue, clock) = (Queue::new(options.bound, skip), Clock::new());
        queue.record(options.tape.clone());
        Self { device, queue, clock, pace: Pace::default(), bound: options.bound }
    }

    /// Reads the frames that are there into the queue.
    ///
    /// # Errors
    /// When the device is lost.
    pub fn read(&mut self) -> Result<()> {
        let Self { device, queue, clock, .. } = self;
        device.read_each(|frame| queue.push(frame, clock.now()))
    }

    /// Tells the observer, now and then, when the simulation cannot keep up.
    pub fn notice(&mut self, observer: &mut dyn Observer) {
        if let Some(text) = self.pace.notice(&mut self.queue) {
            observer.notice(&text);
        }
    }

    /// Adds to a run's summary how it went outside.
    pub fn tell<S>(&self, summary: &mut Summary<S>) {
        summary.remarks.extend(self.remarks());
        summary.kernel_dropped = Some(self.device.dropped_by_kernel());
    }

    /// Says how the run went, outside.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.pace.remarks(self.device.name(), &self.queue, self.bound);
        remarks.extend(self.device.remarks());
        remarks
    }
}

/// How a live run went from outside.
#[derive(Debug, Clone, Copy)]
pub struct Driven {
    /// The host's time that it took.
    pub host: Duration,
    /// Whether the observer ended it, before its time was over and what is simulated had ended.
    pub is_interrupted: bool,
}

impl Driven {
    /// Lets a summary say that the run was interrupted, if it was.
    pub fn mark<S>(&self, summary: &mut Summary<S>) {
        if self.is_interrupted && summary.ending == Ending::Finished {
            summary.ending = Ending::Interrupted;
        }
    }
}

/// Runs a subject until it is over, the observer stops it or the time is over; a guest may take part.
pub(crate) fn drive(
    subject: &mut dyn Subject,
    outside: &mut Outside,
    options: &Options,
    (guest, observer): (&mut dyn Guest, &mut dyn Observer),
) -> Result<Driven> {
    observer.started();
    let start = Instant::now();
    outside.clock = Clock::new();
    loop {
        let standing = subject.standing();
        observer.sees(&mut *subject);
        let goes_on = observer.goes_on(&Progress::live(subject.simulated(), start));
        let is_over = options.duration.is_some_and(|limit| start.elapsed() >= limit);
        if !goes_on || is_over || standing == Standing::Ended {
            guest.leave(subject.lend(), outside, observer)?;
            let is_interrupted = !goes_on && !is_over && standing != Standing::Ended;
            return Ok(Driven { host: start.elapsed(), is_interrupted });
        }
        let longest = match standing {
            Standing::Idle => LONGEST_WAIT,
            Standing::Waits => SHORT_WAIT,
            _ => Duration::ZERO,
        };
        if !longest.is_zero() && outside.queue.is_empty() {
            outside.device.wait_too(longest, &guest.fds())?;
        }
        outside.read()?;
        if guest.take_turn(subject.lend(), outside, observer)? {
            continue;
        }
        subject.simulate(outside, observer)?;
        outside.notice(observer);
    }
}
