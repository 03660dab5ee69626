//! How the engine begins: workers go to their places, `init_handlers` runs, and a program that several
//! clusters would have to share is refused.

use pinion_isa::elf::Image;
use pinion_spin::{ExecutionContext, Machine};

use super::Workers;
use crate::crew::Crew;
use crate::error::NativeError;
use crate::layout::ContextLayout;
use crate::outbox::Outbox;
use crate::signals;
use crate::watchdog::{FLOOR_NS, Watchdog, Watched};
use crate::worker::Worker;

/// The runtime's function that calls `init_handlers`.
const START: &str = "pinion_native_start";
/// The section of variables that each cluster of the NIC has of its own; those of the runtime in
/// it are eight bytes or fewer per cluster.
const CLUSTER_DATA: &str = ".data_tiny_l1";

/// Puts the workers to their places.
pub(super) fn man(mut crew: Vec<Worker>) -> Result<(Workers, Vec<Watched>), NativeError> {
    if crew.len() > 1 {
        let crew = Crew::start(crew)?;
        let watched = crew.watched();
        return Ok((Workers::Threads(crew), watched));
    }
    let mut worker = Box::new(crew.remove(0));
    worker.settle_down();
    let watched = watched_here(&worker);
    Ok((Workers::Inline(worker), vec![watched]))
}

/// Lets a worker be watched that works on this thread.
fn watched_here(worker: &Worker) -> Watched {
    // SAFETY: asks for this thread's own name.
    let thread = unsafe { libc::pthread_self() };
    Watched { block: worker.block(), thread }
}

/// Runs the application's `init_handlers` on this thread, guarded like a handler; gives what came
/// out of it.
pub(super) fn initialise(
    worker: &mut Worker,
    image: &Image,
    machine: &Machine,
) -> Result<Outbox, NativeError> {
    let start = image.symbol(START).ok_or(NativeError::NoRuntime(START))?;
    signals::adopt(worker.block());
    let watchdog = Watchdog::start(vec![watched_here(worker)])?;
    let nobody = ContextLayout::new(machine, (0, &ExecutionContext::default()), FLOOR_NS);
    worker.run_init(start.address as u32, &nobody);
    drop(watchdog);
    signals::release();
    Ok(std::mem::take(worker.outbox()))
}

/// Refuses variables of which each cluster should have its own, when workers of several clusters
/// would share them. The runtime's own few do no harm: they number an HPU's requests.
pub(super) fn check_cluster_data(
    image: &Image,
    machine: &Machine,
    workers: u32,
) -> Result<(), NativeError> {
    let cores = machine.cluster.cores;
    let section = image.sections.iter().find(|section| section.name == CLUSTER_DATA);
    let bytes = section.map_or(0, |section| section.size);
    if workers <= cores || bytes <= u64::from(cores) {
        return Ok(());
    }
    Err(NativeError::SharedClusterData { bytes, cores })
}
