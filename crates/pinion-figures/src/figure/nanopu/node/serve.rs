//! A service under load: the service example, its arguments made of what the figure asks for, a
//! link, a load. Out: what became of the load.

use pinion_nanopu::event::Deaf;
use pinion_nanopu::node::{Node, NodeEnd, Progress};
use pinion_net::link::{Link, Pair};
use pinion_net::load::{LoadReport, LoadSource, LoadSpec, Peer as _, PeerEnd};

use super::super::{Scheduling, Service};
use super::exchange::ended;
use super::{Nodes, node};
use crate::figure::Setting;
use pinion_app::error::{Error, Result};

/// The program; its source says what the arguments mean.
const PROGRAM: &str = "nanopu_service";
/// Retransmission timeout of the published runs with a load generator (artifact, FireSim settings).
const TIMEOUT: &str = "transmit.timer.timeout_cycles=2240";
/// Bounds the time from reset to the last announcement.
const LONGEST_BOOT_CYCLES: u64 = 4_000_000;
/// Ticks of the timer's period (SDK, `TIME_SLICE_RTC_TICKS`).
const TICKS: u64 = 5;

/// Puts a load on a service.
pub(super) fn serve(
    nodes: &Nodes,
    run: &Service,
    mut load: LoadSpec,
    setting: &Setting<'_>,
) -> Result<LoadReport> {
    let image = nodes.programs.get(PROGRAM, None, setting)?;
    let variant = variant(run)?;
    let mut own = vec![TIMEOUT.to_owned()];
    if let Some(cycles) = run.bound_cycles {
        own.push(format!("hart_interface.thread_scheduler.message_cycles={cycles}"));
    }
    if run.lowered_for_good {
        own.push("hart_interface.fixes.restore_priority=false".to_owned());
    }
    if let Scheduling::Timer { cycles } = run.scheduling {
        own.push(format!("memory.timebase_cycles={}", cycles / TICKS));
    }
    let machine = nodes.machine(&own, setting)?;
    // The load says how long each request takes, overruns included: no factor of the program's.
    let arguments = [PROGRAM, variant, "clock", "1"];
    let node = node(&machine, &image, &arguments)?;
    load.startup_messages = run.threads.iter().map(|thread| thread.cores.len() as u32).sum();
    drive(node, load, run.link_cycles, LONGEST_BOOT_CYCLES)
}

/// Puts a load on a node, over a link, when as many messages as it waits for have told that the node
/// is ready; that takes so many cycles at most.
pub(super) fn drive(
    node: Node,
    mut load: LoadSpec,
    link_cycles: u64,
    longest_boot_cycles: u64,
) -> Result<LoadReport> {
    load.keep_samples = true;
    let source = LoadSource::new(load).map_err(|error| Error::part("load", error))?;
    let link = Link::new(link_cycles);
    let failed = |error| Error::part("link", error);
    let mut pair =
        Pair::new(PeerEnd::new(source), NodeEnd::new(node, Deaf), &link).map_err(failed)?;
    pair.run(u64::MAX, |pair| {
        let ended = matches!(pair.b.progress, Progress::Exited { .. } | Progress::Stopped { .. });
        let waits = !pair.a.peer().has_started() && pair.now() > longest_boot_cycles;
        !ended && !waits && !pair.a.peer().is_done(pair.now())
    })
    .map_err(failed)?;
    let started = pair.a.peer().has_started();
    let now = pair.now();
    let (source, end) = pair.finish();
    let source = source.into_peer();
    if !started || !source.is_done(now) && end.progress != Progress::Quiet {
        return Err(ended(end.progress, &end.node.memory().devices.console));
    }
    Ok(source.into_report())
}

/// Gives the program's argument for threads and scheduling.
fn variant(run: &Service) -> Result<&'static str> {
    let threads: Vec<(u16, u8, &[u32])> = run
        .threads
        .iter()
        .map(|thread| (thread.context, thread.priority, thread.cores.as_slice()))
        .collect();
    let all: &[u32] = &[0, 1, 2, 3];
    let is_timer = matches!(run.scheduling, Scheduling::Timer { .. });
    Ok(match (threads.as_slice(), is_timer) {
        ([(0, 0, cores)], false) if *cores == all => "jbsq",
        ([(0, 0, [0]), (1, 0, [1]), (2, 0, [2]), (3, 0, [3])], false) => "rss",
        ([(0, 0, high), (1, 1, low)], false) if *high == all && *low == all => "jbsq-pre",
        ([(0, 0, [0]), (1, 1, [0])], false) => "priority",
        ([(0, 0, [0]), (1, 1, [0])], true) => "priority-timer",
        ([(0, 0, [0]), (1, 0, [0])], false) => "bounded",
        ([(0, 1, [0]), (1, 1, [0])], false) => "unbounded",
        _ => {
            return Err(Error::Usage(format!(
                "the program {PROGRAM} has no variant with the threads {:?}",
                run.threads
            )));
        }
    })
}
