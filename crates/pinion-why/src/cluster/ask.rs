//! The question, asked. In: which request is meant, and a way to make the run, heard by somebody. Out: the
//! answer; the run is made up to three times, the later ones to hear closely where the request was.

use pinion_app::error::{Error, Result};
use pinion_run::cluster::{Plan, Tracing};

use super::{Answer, Ears, Visits};
use crate::Which;

/// Makes a run of the cluster, heard by somebody, to its end or a cycle; `false`: somebody interrupted it.
pub type Hear<'h> = dyn FnMut(Option<u64>, Tracing<'_>) -> Result<bool> + 'h;

/// What is done with the answer, which borrows what was heard.
pub type Tell<'t, T> = dyn FnMut(&Answer<'_>) -> Result<T> + 't;

/// Tells why a request took as long as it did across all nodes, or a frame was lost; `None`: interrupted.
///
/// # Errors
/// When there is no such request, or the run cannot be made.
pub fn ask<T>(
    which: Which,
    plan: &Plan,
    hear: &mut Hear<'_>,
    tell: &mut Tell<'_, T>,
) -> Result<Option<T>> {
    if matches!(which, Which::Packet(_)) {
        let why = "every node counts its own packets: ask about a message, a request of the whole cluster";
        return Err(Error::Usage(why.to_owned()));
    }
    let mut ears = Ears::new(plan);
    if !hear(None, ears.tracing())? {
        return Ok(None);
    }
    let heard = ears.heard(plan);
    if let Which::Dropped(index) = which {
        let lost = heard.find_lost(index)?;
        return tell(&Answer::of_lost(&heard, lost)).map(Some);
    }
    let meant = heard.find(which)?;
    let mut visits = Visits::new(plan, &heard, &meant.journey);
    let until = visits.until();
    if let Some(tracing) = visits.tracing()
        && !hear(until, tracing)?
    {
        return Ok(None);
    }
    if let Some(tracing) = visits.tracing_handlers()
        && !hear(None, tracing)?
    {
        return Ok(None);
    }
    tell(&Answer::new(&heard, meant, visits.heard())).map(Some)
}
