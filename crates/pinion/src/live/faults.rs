//! Handlers that fail in a live run are told of when they do: the first of equal ones comes in, a text
//! goes out. The summary at the end says how often each happened.

use crate::app::App;
use crate::fault::{Explained, Fault};

/// Holds the faults that have been told.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Explained>);

impl Faults {
    /// Gives what is to be told of the first of equal faults, unless it is a loop that has been told
    /// of: the watchdog ends one at any of its instructions.
    pub(crate) fn tell(&mut self, app: &App, fault: &Fault) -> Option<String> {
        let explained = app.explain(vec![fault.clone()]).pop()?;
        if self.0.iter().any(|told| told.is_same_loop(&explained)) {
            return None;
        }
        let text = format!("a handler was ended: {}", explained.to_text("").trim_end());
        self.0.push(explained);
        Some(text)
    }
}
