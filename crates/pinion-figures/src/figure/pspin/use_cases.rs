//! The paper's six use cases (§IV-C): the examples of the same names on their standard traffic. In:
//! which one, packets of what size, how fast. Out: what the NIC did.

use std::path::Path;
use std::sync::Arc;

use pinion_net::generator::GeneratorSpec;
use pinion_spin::{HandlerKind, HandlerRecord};

use super::observed::{Observed, observe_units};
use super::programs::{Programs, Source};
use pinion_app::app::App;
use pinion_app::error::Result;
use pinion_app::traffic::{self, Packets};

/// Names them in the paper's order.
pub(super) const CASES: [&str; 6] =
    ["aggregate", "filtering", "histogram", "kvstore", "reduce", "strided_ddt"];

/// Says how a use case is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    /// Name of the example.
    pub case: &'a str,
    /// The size of a frame.
    pub bytes: u32,
    /// The rate at which they come: `max`, or as `200g`.
    pub rate: &'a str,
    /// The most packets there are; the standard traffic may have fewer.
    pub most_packets: u64,
    /// Seeds the traffic.
    pub seed: u64,
}

impl Run<'_> {
    /// Gives the standard traffic, in frames of this run's size, at its rate, cut to its length.
    ///
    /// # Errors
    /// When frames cannot have that size.
    pub(super) fn traffic(&self, app: &App) -> Result<GeneratorSpec> {
        let bytes = self.bytes.to_string();
        let changes = [("packet.bytes", bytes.as_str()), ("packet.rate", self.rate)];
        let mut spec = traffic::standard(&app.manifest, &changes)?;
        if spec.total_frames() > self.most_packets {
            let whole = if spec.messages == 1 { 1 } else { spec.packets };
            let count = (self.most_packets / whole).max(1) * whole;
            spec.set_count(count)?;
        }
        spec.seed = self.seed;
        Ok(spec)
    }

    /// Runs it and gives what the NIC did; `accesses` asks for those outside the own L1.
    ///
    /// # Errors
    /// When the example cannot be built, does not fit the machine, or goes wrong.
    pub(super) fn observe(
        &self,
        programs: &Programs,
        machine: &[String],
        build_dir: Option<&Path>,
        accesses: bool,
    ) -> Result<(Arc<App>, Observed)> {
        let app = programs.app(Source::Example(self.case), machine, build_dir)?;
        let mut packets = self.packets(&app)?;
        let machine = accesses.then(|| app.machine.value.clone());
        let observed = observe_units(&mut app.nic()?, &mut packets, machine)?;
        Ok((app, observed))
    }

    fn packets(&self, app: &App) -> Result<Packets> {
        Ok(Packets::of(self.traffic(app)?, None, None)?.skip(app.skipped_bytes()))
    }
}

/// Gives the payload handlers that ended in the middle half of the run.
pub(super) fn steady_payload(handlers: &[HandlerRecord]) -> Vec<&HandlerRecord> {
    let is_payload = |record: &&HandlerRecord| record.kind == HandlerKind::Payload;
    let all: Vec<&HandlerRecord> = handlers.iter().filter(is_payload).collect();
    let (first, last) = (all.len() / 4, (3 * all.len()).div_ceil(4));
    all[first..last].to_vec()
}

/// Gives the mean of something over handlers.
pub(super) fn mean(
    handlers: &[&HandlerRecord],
    value: impl Fn(&HandlerRecord) -> f64,
) -> Option<f64> {
    let sum: f64 = handlers.iter().map(|record| value(record)).sum();
    (!handlers.is_empty()).then(|| sum / handlers.len() as f64)
}

/// Gives the time of a handler from taking the task to the doorbell, in ns.
pub(super) fn time_ns(record: &HandlerRecord) -> f64 {
    record.end.since(record.start).ns()
}

/// Holds what a box plot shows: quartiles, and whiskers at the outermost values within one and a
/// half times the distance of the quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Box5 {
    /// The lower whisker.
    pub low: f64,
    /// The lower quartile.
    pub lower: f64,
    /// The value that half are within.
    pub median: f64,
    /// The upper quartile.
    pub upper: f64,
    /// The upper whisker.
    pub high: f64,
}

impl Box5 {
    /// Takes them from times, the shortest first.
    pub(super) fn of(sorted: &[f64]) -> Self {
        let at = |share: f64| {
            let place = share * sorted.len().saturating_sub(1) as f64;
            let (below, above) = (place.floor() as usize, place.ceil() as usize);
            match (sorted.get(below), sorted.get(above)) {
                (Some(a), Some(b)) => a + (b - a) * place.fract(),
                _ => f64::NAN,
            }
        };
        let (lower, median, upper) = (at(0.25), at(0.5), at(0.75));
        let reach = 1.5 * (upper - lower);
        let within = |value: &&f64| (lower - reach..=upper + reach).contains(*value);
        Self {
            low: sorted.iter().find(within).copied().unwrap_or(lower),
            lower,
            median,
            upper,
            high: sorted.iter().rev().find(within).copied().unwrap_or(upper),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_quartiles_and_whiskers_without_outliers() {
        let box_ns = Box5::of(&[1.0, 2.0, 3.0, 4.0, 100.0]);
        assert_eq!((box_ns.lower, box_ns.median, box_ns.upper), (2.0, 3.0, 4.0));
        assert_eq!((box_ns.low, box_ns.high), (1.0, 4.0));
        assert!(Box5::of(&[]).median.is_nan());
    }
}
