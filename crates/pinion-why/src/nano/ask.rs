//! Asks about a message. In: which one, and who makes the run, as often as it takes. Out: the answer.

use pinion_app::error::Result;
use pinion_app::service::Service;
use pinion_nanopu::waypoint::Met;
use pinion_observe::settling::Settling;
use pinion_run::nanoservice::Setup;

use super::{Answer, Follower, WorkLines};
use crate::find::Which;
use crate::locks::Spent;

/// Finds why a message to a nanoservice took as long as it did, or a frame was dropped. `hear` makes the
/// run, heard by somebody; `false`: it was interrupted. `None`: so there is no answer.
///
/// # Errors
/// When there is no such message, and those of `hear`.
pub fn answer(
    which: Which,
    what: (&Service, &Setup),
    hear: &mut dyn FnMut(&mut (dyn Settling + Send)) -> Result<bool>,
) -> Result<Option<Answer>> {
    answer_since(which, what, &Met::default(), hear)
}

/// Does the same of a node that had run already when it was heard first.
///
/// # Errors
/// As [`answer`].
pub fn answer_since(
    which: Which,
    (service, setup): (&Service, &Setup),
    met: &Met,
    hear: &mut dyn FnMut(&mut (dyn Settling + Send)) -> Result<bool>,
) -> Result<Option<Answer>> {
    let mut follower = Follower::since(setup, met);
    if !hear(&mut follower)? {
        return Ok(None);
    }
    let found = follower.find(which)?;
    let (mut spent, life) = (Spent::default(), found.life());
    if let Some(mut lines) = life.and_then(|life| WorkLines::new(&follower, service, life)) {
        if !hear(&mut lines)? {
            return Ok(None);
        }
        spent = lines.spent(service, setup.clock);
    }
    let names = [&service.manifest.app.name, &setup.machine.value.name].map(String::as_str);
    Ok(Some(Answer::new(names, &found, &follower, spent)))
}
