//! What must be said of a run that came to nothing: what it counted, and packets that no context
//! matched, come in; sentences go out.

use pinion_spin::matching::NearMiss;

use super::collector::{Outputs, Stats};
use super::ending::Ending;
use crate::words::count;
use pinion_app::app::App;
use pinion_app::error::Result;

/// Limits the unmatched packets that are looked at.
pub(super) const KEPT_PACKETS: usize = 64;
/// Limits the bytes kept of each: more than any engine sees.
pub(super) const KEPT_BYTES: usize = 256;

/// What tells that a run came to nothing, taken from its [`Stats`] before they become a summary.
pub struct Traces {
    unmatched: Vec<Vec<u8>>,
    printed: bool,
    wants_departed: bool,
}

impl Traces {
    /// Takes what is needed.
    pub fn of(stats: &mut Stats, outputs: &Outputs) -> Self {
        Self {
            unmatched: std::mem::take(&mut stats.unmatched),
            printed: stats.printed,
            wants_departed: outputs.pcap_out.is_some(),
        }
    }

    /// Lists what must be said of a finished run; `unfinished` counts the messages whose completion
    /// handler has not run.
    ///
    /// # Errors
    /// None that a run that could begin has.
    pub fn remarks(
        &self,
        app: &App,
        summary: &super::Summary,
        unfinished: u64,
    ) -> Result<Vec<String>> {
        let totals = &summary.section.totals;
        let mut remarks = Vec::new();
        // What was cut short may have been about to come to something.
        if summary.ending != Ending::Finished {
            return Ok(remarks);
        }
        if totals.packets_in == 0 {
            remarks.push("no packet came in: there was none, or the link lost all".to_owned());
            return Ok(remarks);
        }
        if let Some(why) = self.why_none_matched(app, summary)? {
            remarks.push(why);
        } else if totals.processed > 0 && totals.packets_out == 0 && totals.faults == 0 {
            remarks.extend(self.why_silent(totals.host_writes));
        }
        if unfinished > 0 {
            let (messages, each) = match unfinished {
                1 => ("1 message has".to_owned(), "it"),
                _ => (format!("{} messages have", count(unfinished)), "each"),
            };
            remarks.push(format!(
                "{messages} no end, so that no completion handler ran: the packet that ends {each} \
                 did not come (end_of_message in app.toml)"
            ));
        }
        Ok(remarks)
    }

    /// Says why packets came and none matched a context, if that is so.
    ///
    /// # Errors
    /// None that a run that could begin has.
    pub fn why_none_matched(&self, app: &App, summary: &super::Summary) -> Result<Option<String>> {
        let totals = &summary.section.totals;
        let is_so = totals.matched == 0 && totals.unmatched > 0;
        is_so.then(|| self.why_unmatched(app)).transpose()
    }

    /// Says which context came nearest to taking a packet, and what it wanted.
    fn why_unmatched(&self, app: &App) -> Result<String> {
        let engine = app.engine()?;
        let misses = self.unmatched.iter().filter_map(|packet| engine.nearest(packet));
        let Some(miss) = misses.min_by_key(|miss: &NearMiss| miss.failed) else {
            return Ok("no packet matched a context, and no context's rules let one".to_owned());
        };
        let names = app.context_names();
        let name = names.get(miss.context as usize).map_or("?", String::as_str);
        Ok(format!("no packet matched a context; `{name}` came nearest: {miss}"))
    }

    /// Says that nothing left the NIC, where somebody waits for it or nothing else happened.
    fn why_silent(&self, host_writes: u64) -> Option<String> {
        if self.wants_departed {
            return Some(
                "no packet left the NIC: no handler sent one; --pcap-out is empty".to_owned(),
            );
        }
        let is_silent = host_writes == 0 && !self.printed;
        is_silent.then(|| {
            "no packet left the NIC, nothing was written to host memory, and no handler printed \
             anything"
                .to_owned()
        })
    }
}
