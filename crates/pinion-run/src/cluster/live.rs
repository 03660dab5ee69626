//! Clusters live: the device is one more node of the network, where all that is beyond it seems to be. A
//! frame from the host goes through the switches to the node whose address it is for; what nodes send to
//! the host's address goes to the device.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use pinion_net::fabric::{Alone, Fabric, Journal, Outcome, Status, Watcher};
use pinion_net::topology::Place;
use pinion_sim::node::{RestoreError, SaveError, Saved};

use super::end::{Counts, End};
use super::frames_end::FramesEnd;
use super::observe::ended;
use super::plan::{Plan, Target};
use super::run::{RunOptions, build, complete, failed, share_of_network, sum_up};
use super::summary::{Ended, Summary};
use super::tracing::{NetworkTracer, Tracing};
use super::watched::Watched;
use crate::live::guest::{Books, Guest};
use crate::live::{Cycles, Device, Holds, Inside, Options, Outside, Summed, drive};
use crate::nanoservice::said::whole_lines;
use crate::watch::Observer;
use pinion_app::error::{Error, Result};
use pinion_app::tape::Played;
use pinion_observe::profile::Profile;
use pinion_observe::report::{Ending, Report};

/// Runs a cluster on a device until the observer stops it, the time is over, all programs have ended that
/// a run waits for, or one has failed; a guest may take part. The plan is one of [`Plan::load_live`].
///
/// # Errors
/// When the device cannot be opened or is lost, a node cannot be made, or an output fails.
pub fn run(
    plan: &Plan,
    live: &Options,
    options: &RunOptions,
    guest: &mut dyn Guest,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let Some(outside_node) = plan.outside() else {
        return Err(Error::Usage("the cluster was not loaded for a live run".to_owned()));
    };
    let nodes = [0, outside_node - 1].map(|node| Ipv4Addr::from_bits(plan.address(node)));
    let device = Device::open(live, false)?.for_nodes(nodes);
    let outside = Some((outside_node, device.mac()));
    let (watched, nodes) = Watched::new(plan);
    let mut inside = Live::new(plan, options, outside, Tracing { nodes, network: None })?;
    inside.watched = watched;
    let mut outside = Outside::new(device, live, 0);
    if let Some(tape) = &live.tape {
        tape.peer(outside.device.mac());
    }
    let cycles = Cycles::boot(inside, plan.clock, &mut outside, observer)?;
    if let Some(tape) = &live.tape {
        tape.ready(cycles.ready);
    }
    let report = |cycles: &mut Cycles<Live<'_>>| -> Box<dyn Report> {
        Box::new(so_far(plan, options, cycles, Duration::ZERO))
    };
    let mut summed = Summed { cycles, report };
    let driven = drive(&mut summed, &mut outside, live, (guest, observer))?;
    let mut summary = sum_up_live(plan, options, summed.cycles, driven.host)?;
    driven.mark(&mut summary);
    summary.remarks.extend(outside.remarks());
    Ok(summary)
}

/// Runs a cluster as it ran live. The plan is one of [`Plan::load_live`].
///
/// # Errors
/// When the recording is damaged, a node cannot be made, or an output fails.
pub fn replay(
    plan: &Plan,
    folder: &Path,
    options: &RunOptions,
    observer: &mut dyn Observer,
    tracing: Tracing<'_>,
) -> Result<Summary> {
    let Some(outside_node) = plan.outside() else {
        return Err(Error::Usage("the cluster was not loaded for a live run".to_owned()));
    };
    let mut played = Played::open(folder)?;
    let inside = Live::new(plan, options, Some((outside_node, played.peer)), tracing)?;
    let until = options.cycles.unwrap_or(u64::MAX);
    let (cycles, host) = Cycles::play(inside, plan.clock, (&mut played, until), observer)?;
    sum_up_live(plan, options, cycles, host)
}

/// Sums up a live run, apart from how it went outside.
fn sum_up_live(
    plan: &Plan,
    options: &RunOptions,
    mut cycles: Cycles<Live<'_>>,
    host: Duration,
) -> Result<Summary> {
    let now = cycles.now;
    complete(&mut cycles.inside.fabric, now)?;
    let summary = so_far(plan, options, &mut cycles, host);
    let Live { fabric, watch, .. } = cycles.inside;
    fabric.finish().map_err(failed)?;
    watch.network.map_or(Ok(()), |mut network| network.finish())?;
    Ok(summary)
}

/// Sums up what a live cluster has done so far.
pub fn so_far(
    plan: &Plan,
    options: &RunOptions,
    cycles: &mut Cycles<Live<'_>>,
    host: Duration,
) -> Summary {
    let Live { fabric, watch, rests, .. } = &mut cycles.inside;
    let ending = watch.ended().unwrap_or(Ending::Finished);
    let ended = Ended { ending, rests: *rests, at: cycles.now };
    let mut share = share_of_network(plan, options, fabric);
    fabric.for_each_node(|number, node| share.add_node(plan, number, node, &ended));
    sum_up(plan, options, share, &ended, host, (1, 1))
}

fn is_load(target: &Target) -> bool {
    matches!(target, Target::Load { .. })
}

/// A cluster behind a wire.
pub struct Live<'a> {
    fabric: Fabric<End<'a>>,
    names: Vec<String>,
    outside_node: Option<usize>,
    watch: Watch<'a>,
    /// Who hears where cycles go, while somebody looks.
    watched: Watched<'a>,
    /// Nothing happens until a frame comes.
    rests: bool,
    /// By node: the bytes of its programs' output that were passed on.
    printed: Vec<usize>,
}

/// What is saved of it.
struct State {
    fabric: Saved,
    status: Status,
    rests: bool,
}

/// What is kept of a run beside the nodes' state.
struct Kept {
    counts: Vec<Counts>,
    printed: Vec<usize>,
}

/// Notes how the nodes stand.
struct Watch<'a> {
    /// The run waits for programs to end.
    waits: bool,
    status: Status,
    /// Who hears what happens to frames, and what went wrong there.
    network: Option<Box<dyn NetworkTracer + Send + 'a>>,
    error: Option<Error>,
}

impl Watch<'_> {
    fn ended(&self) -> Option<Ending> {
        ended(&self.status, self.waits)
    }
}

impl Watcher for Watch<'_> {
    fn passed(&mut self, place: Place, journal: &Journal) {
        if let Some(network) = &mut self.network {
            network.passed(place, journal);
        }
    }

    fn goes_on(&mut self, now: u64, status: &Status) -> bool {
        self.status = *status;
        let settled = self.network.as_mut().map_or(Ok(()), |network| network.settle(now));
        self.error = settled.err();
        self.error.is_none() && self.ended().is_none()
    }
}

impl<'a> Live<'a> {
    /// Makes a cluster behind a wire, at a node of its network, whose other side has a hardware address; or
    /// one without a wire.
    ///
    /// # Errors
    /// When a node cannot be made.
    pub fn new(
        plan: &Plan,
        options: &RunOptions,
        outside: Option<(usize, [u8; 6])>,
        tracing: Tracing<'a>,
    ) -> Result<Self> {
        // Slices are short: threads would begin and end all the time.
        let mut fabric = build(plan, options, 1, &Alone, tracing.nodes)?;
        if tracing.network.is_some() {
            fabric.follow();
        }
        if let Some((node, peer)) = outside
            && let Some(end) = fabric.node_mut(node)
        {
            *end = End::Frames(Box::new(FramesEnd::of_device(peer)));
        }
        let waits = plan.groups.iter().any(|group| group.ends && !is_load(&group.target));
        let (status, network) = (Status::NONE, tracing.network);
        let watch = Watch { waits, status, network, error: None };
        let printed = vec![0; plan.nodes()];
        let names = plan.names.clone();
        let outside_node = outside.map(|(node, _)| node);
        let watched = Watched::default();
        Ok(Self { fabric, names, outside_node, watch, watched, rests: false, printed })
    }

    /// Keeps what comes in from elsewhere, so that it can be saved.
    pub fn keep(&mut self) {
        self.fabric.for_each_node(|_, end| end.keep());
    }

    /// Gives the nodes and what is between them.
    pub fn fabric(&self) -> &Fabric<End<'a>> {
        &self.fabric
    }

    fn outside(&mut self) -> Option<&mut FramesEnd> {
        match self.fabric.node_mut(self.outside_node?) {
            Some(End::Frames(end)) => Some(end),
            _ => None,
        }
    }
}

impl Inside for Live<'_> {
    fn arrive(&mut self, first_flit: u64, frame: Vec<u8>) {
        self.rests = false;
        if let Some(outside) = self.outside() {
            outside.put(first_flit, frame);
        }
    }

    fn run(&mut self, until: u64, sent: &mut dyn FnMut(&[u8])) -> Result<()> {
        let outcome = self.fabric.run(until, &mut Alone, &mut self.watch).map_err(failed)?;
        self.watch.error.take().map_or(Ok(()), Err)?;
        self.rests = outcome == Outcome::Rests;
        let left = self.outside().map(FramesEnd::take_left);
        left.into_iter().flatten().for_each(|frame| sent(&frame));
        Ok(())
    }

    fn is_quiet(&mut self) -> bool {
        self.rests
    }

    fn is_ready(&mut self) -> bool {
        true
    }

    fn ended(&mut self) -> Option<Ending> {
        self.watch.ended()
    }

    fn moved(&mut self) -> u64 {
        self.watch.status.moved
    }

    fn holds(&mut self) -> Holds {
        let mut holds = Holds::Nothing;
        self.fabric.for_each_node(|_, end| holds = holds.max(end.holds()));
        holds
    }

    fn pass_on(&mut self, observer: &mut dyn Observer) {
        let (names, printed) = (&self.names, &mut self.printed);
        self.fabric.for_each_node(|number, end| {
            let new = end.console().get(printed[number]..).unwrap_or_default();
            let whole = whole_lines(new);
            for line in String::from_utf8_lossy(&new[..whole]).lines() {
                observer.console(&format!("[{}] {line}\n", names[number]));
            }
            printed[number] += whole;
        });
    }

    fn state(&self, tell: &mut dyn FnMut(&str, u64)) {
        self.fabric.state(tell);
    }

    fn listen(&mut self, closely: bool) {
        self.watched.listen(closely);
    }

    fn profiles(&self) -> Vec<Profile<'_>> {
        self.watched.profiles()
    }

    fn save(&self) -> std::result::Result<Saved, SaveError> {
        let (fabric, status) = (self.fabric.save()?, self.watch.status);
        Ok(Saved::new(State { fabric, status, rests: self.rests }))
    }

    fn restore(&mut self, saved: &Saved) -> std::result::Result<(), RestoreError> {
        let State { fabric, status, rests } = saved.get()?;
        self.fabric.restore(fabric)?;
        (self.watch.status, self.rests) = (*status, *rests);
        Ok(())
    }

    fn blank_books(&self) -> Books {
        let nodes = 0..self.names.len();
        let counts = nodes.map(|node| self.fabric.look(node, |end| end.blank_counts()));
        let counts = counts.map(|counts| counts.unwrap_or(Counts::Nothing)).collect();
        Books::new(Kept { counts, printed: vec![0; self.names.len()] })
    }

    fn exchange_books(&mut self, books: &mut Books) {
        let Kept { counts, printed } = books.get();
        self.fabric.for_each_node(|number, end| end.exchange_counts(&mut counts[number]));
        std::mem::swap(&mut self.printed, printed);
    }
}
