//! A nanoservice's or a cluster's run that is debugged, whether its machine meets what it is given or what came in
//! during a live run that was recorded.

use pinion_app::error::Result;
use pinion_app::service::Service;
#[cfg(target_os = "linux")]
use pinion_app::tape::Played;
use pinion_run::cluster::{self, Plan};
#[cfg(target_os = "linux")]
use pinion_run::nanoservice::Traffic;
use pinion_run::nanoservice::{Setup, run};

use crate::debuggee::Debuggee;
#[cfg(target_os = "linux")]
use crate::slices::{self, Origin};
use crate::{among, nano};

/// Debugs a nanoservice.
///
/// # Errors
/// When the program does not fit, the requests are none, or the recording is damaged.
pub fn service(
    service: Service,
    setup: &Setup,
    options: run::RunOptions,
) -> Result<Box<dyn Debuggee>> {
    #[cfg(target_os = "linux")]
    if let Traffic::Live(recorded) = &options.traffic {
        let played = Played::open(&recorded.folder)?;
        let at = (recorded.kernel, played.peer);
        let begun = slices::service(service.into(), setup, at, Origin::Recorded(Box::new(played)))?;
        return Ok(begun.debuggee);
    }
    nano::service(service, setup, options)
}

/// Debugs a node of a cluster; `None`: it runs no program.
///
/// # Errors
/// When a node cannot be made, or the recording is damaged.
pub fn node(
    plan: &Plan,
    options: &cluster::RunOptions,
    number: usize,
) -> Result<Option<Box<dyn Debuggee>>> {
    #[cfg(target_os = "linux")]
    if let Some(folder) = &options.live {
        let played = Played::open(folder)?;
        let begun =
            slices::node(plan, options, (number, played.peer), Origin::Recorded(Box::new(played)))?;
        return Ok(begun.map(|begun| begun.debuggee));
    }
    among::node(plan, options, number)
}
