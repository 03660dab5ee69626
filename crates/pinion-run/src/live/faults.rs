//! Handlers that fail in a live run are told of when they do: the first of equal ones comes in, a text
//! goes out. The summary at the end says how often each happened.

use pinion_app::app::App;
use pinion_observe::fault::{self, Explained, Fault};

/// Holds the faults that have been told.
#[derive(Debug, Default)]
pub struct Faults(Vec<Explained>);

impl Faults {
    /// Gives what is to be told of the first of equal faults, unless it is a loop that has been told
    /// of: the watchdog ends one at any of its instructions.
    pub fn tell(&mut self, app: &App, fault: &Fault) -> Option<String> {
        let explained = fault::explain_all(app, vec![fault.clone()]).pop()?;
        if self.0.iter().any(|told| told.is_same_loop(&explained)) {
            return None;
        }
        let text = format!("a handler was ended: {}", explained.to_text("").trim_end());
        self.0.push(explained);
        Some(text)
    }
}
