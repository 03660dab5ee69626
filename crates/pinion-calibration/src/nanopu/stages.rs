//! Warm messages' ways through the node: each event from the message's first flit on.

use pinion_nanopu::event::Event;

use super::observation::Observation;
use super::set::Stage;
use super::trace;

/// Lists the events of a table that the model knows, as (message, cycle, event).
///
/// # Errors
/// When a row of the table is malformed.
pub fn table(stages: &[Stage]) -> Result<Vec<(usize, i64, Event)>, String> {
    let mut events = Vec::new();
    for stage in stages {
        let event = trace::event(&stage.event, stage.core.unwrap_or(0), &stage.detail)?;
        let cycle = stage.cycles_after_first_flit_in;
        events.extend(event.map(|event| (stage.message, cycle, event)));
    }
    Ok(events)
}

/// Lists what happened to a message: everything from its first flit to the last flit of its reply,
/// in cycles from the first flit.
pub fn seen(seen: &Observation, message: usize) -> Vec<(i64, Event)> {
    let Some(request) = seen.requests().nth(message) else { return Vec::new() };
    let Some(reply) = seen.data_out().nth(message) else { return Vec::new() };
    let from = seen.events.partition_point(|&(at, _)| at < request.first);
    let until = seen.events.partition_point(|&(at, _)| at <= reply.last);
    let events = seen.events.get(from..until).unwrap_or(&[]);
    events.iter().map(|&(at, event)| (at - request.first, event)).collect()
}
