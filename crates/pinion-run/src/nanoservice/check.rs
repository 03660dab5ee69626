//! A run of a nanoservice that is checked: every access of its harts, every word of its messages.

use pinion_check::NanoChecker;
use pinion_observe::report::Ending;

use super::frames::Outputs;
use super::run::{RunOptions, run};
use super::setup::Setup;
use super::summary::Summary;
use crate::watch::Observer;
use pinion_app::error::Result;
use pinion_app::service::Service;

/// Makes a checker of a nanoservice's node.
pub fn checker(service: &Service, setup: &Setup) -> NanoChecker {
    NanoChecker::of(service, &setup.machine.value, setup.address.ip, setup.clock)
}

/// Runs a nanoservice as [`run`] does, and checks it.
///
/// # Errors
/// As [`run`].
pub fn check(
    service: &Service,
    setup: &Setup,
    options: RunOptions,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let mut checker = checker(service, setup);
    let mut summary = run(service, setup, options, outputs, observer, &mut checker)?;
    summary.check = Some(checker.verdict(service, rests(&summary.ending)));
    Ok(summary)
}

/// Tells whether a run ended because nothing happened any more: messages that are not done then never are.
pub fn rests(ending: &Ending) -> bool {
    matches!(ending, Ending::Finished | Ending::Stuck(_))
}
