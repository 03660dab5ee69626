//! Asks about a packet. In: which one, and who makes the run, as often as it takes. Out: the answer.

use pinion_app::error::Result;
use pinion_observe::trace::Tracer;

use super::{Answer, Census, Found, Lines, Subject, Witness};
use crate::find::Which;
use crate::locks::Spent;

/// Finds why a packet took as long as it did, or was dropped. `hear` makes the run, heard by somebody;
/// `false`: it was interrupted. `None`: so there is no answer.
///
/// # Errors
/// When there is no such packet, and those of `hear`.
pub fn answer<'s>(
    which: Which,
    subject: impl Into<Subject<'s>>,
    hear: &mut dyn FnMut(&mut (dyn Tracer + Send)) -> Result<bool>,
) -> Result<Option<Answer>> {
    let subject = subject.into();
    let mut census = Census::default();
    if !hear(&mut census)? {
        return Ok(None);
    }
    let found = census.find(which)?;
    let mut witness = Witness::new(subject, &found);
    if !hear(&mut witness)? {
        return Ok(None);
    }
    let mut spent = Spent::default();
    if matches!(found, Found::Done(_))
        && let Some(mut lines) = Lines::new(subject, &witness)
    {
        if !hear(&mut lines)? {
            return Ok(None);
        }
        spent = lines.spent(subject);
    }
    Ok(Some(Answer::new(subject, &found, &witness, spent)))
}
