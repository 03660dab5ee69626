//! A run: an application, packets and outputs come in, the summary goes out.
//!
//! What executes handlers is the simulated NIC or the native engine. Either advances in
//! slices, so that an [`Observer`] can show progress and stop it in between; the slices change no
//! result.

use std::time::Instant;

use pinion_net::capture::LinkType;
use pinion_sim::Time;
use pinion_spin::hardware::cluster_dma::Done;
use pinion_spin::machine::AllocatorKind;
use pinion_spin::{Listener, Outcome, Totals, Units};

use crate::watch::{Observer, Progress, Slice};
use pinion_app::app::App;
use pinion_app::error::{Error, Result};
use pinion_app::manifest::PacketStart;
use pinion_app::traffic::{ETHERNET_HEADER_BYTES, Packets};
use pinion_hardware::choice::Choice;
use pinion_observe::report::{Collector, Ending, Links, Outputs, Summary, Traces};
use pinion_observe::trace::Tracer;
use pinion_sim::probe::Both;

/// The shortest slice of simulated time.
const LEAST_SLICE_PS: u64 = 10_000_000;

/// Holds a finished run: its summary and the machine as it was left.
pub struct Finished {
    /// Sums the run up.
    pub summary: Summary,
    pub(crate) left: Left,
}

/// What a run leaves behind.
pub(crate) enum Left {
    /// The simulated machine.
    Nic(Box<Units>),
    /// The native engine.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Native(Box<std::cell::RefCell<pinion_native::Runner>>),
}

impl Finished {
    /// Reads a context's host memory.
    ///
    /// # Errors
    /// When there is no such context.
    pub fn host_memory(&self, app: &App, name: &str) -> Result<Vec<u8>> {
        let context = app.context(name).ok_or_else(|| {
            Error::Usage(format!(
                "there is no context `{name}`; {} has {}",
                app.manifest.app.name,
                app.context_names().join(", ")
            ))
        })?;
        let mut bytes = vec![0; context.host_memory_bytes as usize];
        let address = context.host_memory_address;
        match &self.left {
            Left::Nic(nic) => nic.read_host(address, &mut bytes),
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            Left::Native(engine) => {
                if !engine.borrow_mut().read_host(address, &mut bytes) {
                    return Err(Error::Usage(format!(
                        "the host memory of `{name}` is gone with the process that handlers ran in"
                    )));
                }
            }
        }
        Ok(bytes)
    }
}

fn too_large(app: &App, time: Time, bytes: usize) -> Error {
    let machine = &app.machine.value;
    let limit = machine.inbound.max_packet_bytes;
    Error::Usage(format!(
        "the packet that arrives at {time} has {} bytes, and {} takes packets of up to {limit}; \
         leave it out, or change the machine with --set inbound.max_packet_bytes={}",
        bytes.saturating_sub(app.skipped_bytes() as usize),
        machine.name,
        bytes.next_power_of_two()
    ))
}

/// Tells what packets begin with on both sides of an application.
pub fn links(app: &App, input: LinkType) -> Links {
    let out = match app.manifest.app.packet {
        PacketStart::Ethernet => LinkType::Ethernet,
        PacketStart::Ip => LinkType::RawIp,
    };
    Links { out, input }
}

/// Runs an application on packets until all are through, or the observer stops it.
///
/// # Errors
/// When an input or an output fails; no output is then left under its final name.
pub fn run(
    app: &App,
    packets: Packets,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Finished> {
    run_heard(app, packets, outputs, observer, None)
}

/// Does the same with blocks of hardware in the places of units, or beside them.
///
/// # Errors
/// As [`run`], when a block cannot be made, and where it differs from the model or does what no unit may.
pub fn run_with_hardware(
    app: &App,
    packets: Packets,
    outputs: &Outputs,
    observer: &mut dyn Observer,
    hardware: &Choice,
) -> Result<Finished> {
    let mut nic = app.nic()?;
    hardware.seat(&mut nic)?;
    let ran = execute(Simulated(nic), app, packets, outputs, observer, None)?;
    let (mut summary, Simulated(nic)) = ran;
    summary.remarks.push(hardware.summary());
    summary.remarks.extend(moved_transfers(nic.hardware_transfers()));
    Ok(Finished { summary, left: Left::Nic(Box::new(nic)) })
}

/// Does the same, and lets a tracer hear everything; the run ends when it wants to hear no more.
///
/// # Errors
/// As [`run`], and when the trace cannot be written.
pub fn trace(
    app: &App,
    packets: Packets,
    outputs: &Outputs,
    observer: &mut dyn Observer,
    tracer: &mut dyn Tracer,
) -> Result<Finished> {
    run_heard(app, packets, outputs, observer, Some(tracer))
}

fn run_heard(
    app: &App,
    packets: Packets,
    outputs: &Outputs,
    observer: &mut dyn Observer,
    tracer: Option<&mut dyn Tracer>,
) -> Result<Finished> {
    let nic = Simulated(app.nic()?);
    let (summary, Simulated(nic)) = execute(nic, app, packets, outputs, observer, tracer)?;
    Ok(Finished { summary, left: Left::Nic(Box::new(nic)) })
}

/// What executes handlers: takes packets, and tells what becomes of them.
pub(crate) trait Executor {
    /// Takes packets and lets handlers run, for a slice: up to `until`, where it simulates time.
    fn advance(&mut self, until: Time, packets: &mut Packets, ears: &mut dyn Listener) -> Outcome;

    /// Does what is left to do for packets inside when the observer has ended the run.
    fn interrupt(&mut self, _ears: &mut dyn Listener) {}

    /// Gives the simulated time; zero where none is.
    fn now(&self) -> Time;

    /// Gives the counters.
    fn totals(&self) -> Totals;

    /// Counts packets inside.
    fn unfinished(&self) -> u64;

    /// Takes what has ended it, if something has.
    fn take_error(&mut self) -> Option<Error> {
        None
    }

    /// Tells whether packets that are too large are dropped and counted, as on hardware that does so.
    fn drops_large(&self) -> bool;

    /// Adds to the summary what it alone knows.
    fn sum_up(&self, summary: Summary) -> Summary;
}

/// The simulated NIC.
struct Simulated(Units);

impl Executor for Simulated {
    fn advance(&mut self, until: Time, packets: &mut Packets, ears: &mut dyn Listener) -> Outcome {
        self.0.run(until, packets, ears)
    }

    fn now(&self) -> Time {
        self.0.now()
    }

    fn totals(&self) -> Totals {
        self.0.totals()
    }

    fn unfinished(&self) -> u64 {
        self.0.unfinished()
    }

    fn take_error(&mut self) -> Option<Error> {
        self.0.hardware_failure().map(|failure| Error::Other(failure.into()))
    }

    fn drops_large(&self) -> bool {
        self.0.machine().allocator.kind != AllocatorKind::Ring
    }

    fn sum_up(&self, mut summary: Summary) -> Summary {
        summary.remarks.extend(hardware_limits(&self.0.totals()));
        summary
    }
}

/// Runs an application's handlers on packets until all are through, the observer ends the run, or the
/// tracer wants to hear no more. Gives the executor back as it was left.
pub(crate) fn execute<E: Executor>(
    mut executor: E,
    app: &App,
    packets: Packets,
    outputs: &Outputs,
    observer: &mut dyn Observer,
    mut tracer: Option<&mut dyn Tracer>,
) -> Result<(Summary, E)> {
    let start = Instant::now();
    let mut packets = packets.skip(app.skipped_bytes());
    let links = links(app, packets.link());
    let mut collector = Collector::new(outputs, links, app.context_names())?;
    let mut slice = Slice::new(LEAST_SLICE_PS, u64::MAX);
    let mut reached = Time::ZERO;
    let ending = loop {
        let until = Time::from_ps(executor.now().ps().saturating_add(slice.begin()));
        // A live run is repeated slice by slice.
        let until = packets.until().unwrap_or(until);
        let mut ears = collector.ears(observer);
        let (until, outcome) = match &mut tracer {
            None => (until, executor.advance(until, &mut packets, &mut ears)),
            Some(tracer) => {
                let until = cut(until, reached, *tracer);
                let mut both = Both::new(&mut ears, &mut **tracer);
                (until, executor.advance(until, &mut packets, &mut both))
            }
        };
        let failed = packets.take_error().or_else(|| collector.take_error());
        if let Some(error) = failed.or_else(|| executor.take_error()) {
            return Err(error);
        }
        // Where the hardware drops them, they are counted and the run goes on.
        if let Some((time, bytes)) = collector.too_large()
            && !executor.drops_large()
        {
            return Err(too_large(app, time, bytes));
        }
        let is_through = outcome != Outcome::TimeReached;
        let is_stuck = matches!(outcome, Outcome::Stuck(_));
        if let Some(end) = packets.until().filter(|_| !is_stuck) {
            if (until >= end || is_through) && !packets.turn() {
                break Ending::Finished;
            }
        } else if is_through {
            break Ending::from(outcome);
        }
        reached = until;
        if let Some(tracer) = &mut tracer {
            tracer.settle(until)?;
            if until >= tracer.end() || tracer.is_over() {
                // Between the slices of a live run there may be nothing to interrupt.
                let goes_on = outcome == Outcome::TimeReached;
                break if goes_on { Ending::Interrupted } else { Ending::Finished };
            }
        }
        slice.end();
        let progress = Progress {
            done: packets.given(),
            total: packets.total(),
            simulated: executor.now(),
            host: start.elapsed(),
        };
        if !observer.goes_on(&progress) {
            executor.interrupt(&mut collector.ears(observer));
            break Ending::Interrupted;
        }
    };
    if let Some(tracer) = tracer {
        tracer.finish(executor.now())?;
    }
    let mut stats = collector.finish(observer)?;
    let traces = Traces::of(&mut stats, outputs);
    let ended = (ending, executor.now(), start.elapsed());
    let mut totals = executor.totals();
    if links.input == LinkType::RawIp {
        // Headers made up on the way in are not counted.
        totals.bytes_in -= totals.packets_in * ETHERNET_HEADER_BYTES as u64;
    }
    let mut summary = Summary::new(app, totals, stats, ended);
    summary.remarks.extend(packets.remark());
    let mut summary = executor.sum_up(summary);
    let remarks = traces.remarks(app, &summary, executor.unfinished())?;
    summary.remarks.extend(remarks);
    Ok((summary, executor))
}

/// Says where the hardware did not do what the program asked of it, as far as nobody hears of it.
fn hardware_limits(totals: &Totals) -> impl Iterator<Item = String> {
    let counted = [
        (
            totals.false_answers,
            "atomics outside their HPU's own L1 answered 1 and not what they found, as on the \
             published RTL (core.remote_amo): a lock or counter there that takes the answer fails",
        ),
        (
            totals.unreached_transfers,
            "copies by handlers came from or went to where the cluster's DMA engine does not reach, \
             as on the published RTL (dma.core_reach): they gave 0xbadcab1e, or wrote nothing",
        ),
    ];
    let told = counted.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("{count} {what}"))
}

/// Says how many transfers a block was done with in other cycles than the model, if some.
fn moved_transfers(done: Done) -> Option<String> {
    let Done { all, moved, cycles: [before, behind] } = done;
    (moved > 0).then(|| {
        format!(
            "cluster_dma was to end {moved} of {all} transfers in other cycles than the model, up to {before} before \
             and {behind} behind, for its beats keep each other waiting otherwise"
        )
    })
}

/// Cuts a slice where a tracer begins to listen closely, and where it ends.
fn cut(until: Time, reached: Time, tracer: &dyn Tracer) -> Time {
    let begin = if reached < tracer.begin() { tracer.begin() } else { Time::MAX };
    until.min(begin).min(tracer.end())
}
