//! What is shown of a live run. In: packets that are through, looks at what is simulated. Out: a page, its
//! parts alone, metrics and the summary, made when somebody asks for one of them.

use std::time::Instant;

use pinion_app::error::{Error, Result};
use pinion_observe::profile::{Profile, Rows, Sources};
use pinion_observe::words::seconds;
use pinion_page::{Latencies, Page, annotated, escaped};
use pinion_run::watch::Seen;
use pinion_spin::PacketRecord;

use crate::door::Door;
use crate::levels::Levels;
use crate::metrics;
use crate::server::{Desk, Server, Shown};
use crate::slowest::Slowest;

/// Shows a live run to whoever may ask on this computer.
pub struct Dashboard {
    title: String,
    desk: Desk,
    url: String,
    latencies: Latencies,
    levels: Levels,
    slowest: Slowest,
    sources: Sources,
    begun: Instant,
    _server: Server,
}

impl Dashboard {
    /// Listens at an address of this computer; `title` says what runs.
    ///
    /// # Errors
    /// When the address is none of this computer alone, or is taken.
    pub fn open(address: &str, title: &str) -> Result<Self> {
        let (door, listener) = Door::open(address)?;
        let (url, desk) = (door.url(), Desk::default());
        Ok(Self {
            title: title.to_owned(),
            url,
            latencies: Latencies::default(),
            levels: Levels::default(),
            slowest: Slowest::default(),
            sources: Sources::default(),
            begun: Instant::now(),
            _server: Server::start(listener, door, desk.clone())
                .map_err(|error| Error::part("cannot show the run on a page", error))?,
            desk,
        })
    }

    /// Gives the address of the page, with what lets a browser in.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Hears of a packet that is through.
    pub fn packet(&mut self, record: &PacketRecord) {
        self.latencies.packet(record);
        self.slowest.packet(record);
    }

    /// Looks at what is simulated: samples what its units hold, and shows it to who waits for that.
    pub fn sees(&mut self, seen: &mut dyn Seen) {
        self.levels.sample(self.begun.elapsed(), |tell| seen.state(tell));
        // Every instruction is heard while somebody looks; a run that nobody looks at is as fast as without.
        seen.listen(self.desk.is_followed());
        if !self.desk.is_asked() {
            return;
        }
        let report = seen.report();
        let document = report.to_json();
        let mut units = Vec::new();
        seen.state(&mut |name, value| units.push((name.to_owned(), value)));
        let page = self.page(&report.to_text(), seen);
        self.desk.show(Shown {
            page: page.to_html(&document),
            parts: page.parts().to_string(),
            metrics: metrics::text(&document, &units),
            document: document.to_string(),
        });
    }

    fn page(&mut self, summary: &str, seen: &dyn Seen) -> Page {
        let mut page = Page::live(&self.title);
        let running = seconds(self.begun.elapsed().as_secs_f64());
        let simulated = seen.simulated();
        page.text("Summary", &format!("{summary}\n  running for {running}, {simulated} simulated"));
        if let Some(svg) = self.slowest.to_svg() {
            page.picture("Where the slowest one's time went", &svg);
        }
        let every = match self.latencies.every() {
            1 => String::new(),
            every => format!(", of each {every}th packet"),
        };
        if let Some(curves) = self.latencies.over_time() {
            page.curves(&format!("Latency over time{every}"), &curves);
        }
        if let Some(curves) = self.latencies.shares() {
            page.curves(&format!("Shares of latency{every}"), &curves);
        }
        if let Some(curves) = self.levels.curves() {
            page.curves("Queues and units over time", &curves);
        }
        let source = source(&seen.profiles(), &mut self.sources);
        if !source.is_empty() {
            page.html("Source, while somebody looked", source);
        }
        page
    }
}

/// Shows the source of programs with the cycles of each line; of several, each with its name.
fn source(profiles: &[Profile<'_>], sources: &mut Sources) -> String {
    let mut html = String::new();
    // Nothing ran yet for whoever has just come.
    for profile in profiles.iter().filter(|profile| profile.sum().instructions > 0) {
        let rows = Rows::with(profile, sources);
        let own = annotated(profile, &rows, sources);
        if !own.is_empty() && profiles.len() > 1 {
            html.push_str(&format!("<h3>{}</h3>", escaped(&profile.app)));
        }
        html.push_str(&own);
    }
    html
}
