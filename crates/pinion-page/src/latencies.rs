//! How long packets took, in flat memory. In: packets that are through. Out: curves.

use pinion_spin::PacketRecord;

use crate::curves::{Curves, Panel};

/// Packets that are kept at most; of more, every second, fourth, … one.
const KEPT: usize = 4096;
/// Places of the curve of shares.
const SHARES: usize = 400;

/// Hears how long packets took.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Arrival in µs and latency in ns.
    kept: Vec<(f64, f64)>,
    heard: u64,
    every: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { kept: Vec::new(), heard: 0, every: 1 }
    }
}

impl Latencies {
    /// Hears of a packet that is through.
    pub fn packet(&mut self, record: &PacketRecord) {
        let is_kept = self.heard.is_multiple_of(self.every);
        self.heard += 1;
        if !is_kept {
            return;
        }
        if self.kept.len() == KEPT {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every *= 2;
            if !(self.heard - 1).is_multiple_of(self.every) {
                return;
            }
        }
        let took = record.completion.ns() - record.her.ns();
        self.kept.push((record.arrival.ns() / 1e3, took));
    }

    /// Tells how many packets it heard of for each that the curves show.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// Gives each packet's latency over its arrival; `None`: no packet is through.
    pub fn over_time(&self) -> Option<Curves> {
        let mut kept = self.kept.clone();
        kept.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (at, values): (Vec<f64>, Vec<f64>) = kept.into_iter().unzip();
        let mut curves = Curves::over_time("arrival, µs", at);
        curves.has_points = true;
        curves.panels.push(Panel { title: "latency, ns".to_owned(), values });
        (!self.kept.is_empty()).then_some(curves)
    }

    /// Gives the latency that each share of the packets stays within; `None`: no packet is through.
    pub fn shares(&self) -> Option<Curves> {
        let mut sorted: Vec<f64> = self.kept.iter().map(|(_, took)| *took).collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let places = (0..=SHARES).map(|place| place as f64 / SHARES as f64);
        let at: Vec<f64> = places.clone().map(|share| share * 100.0).collect();
        let values = places.map(|share| sorted[(share * last as f64).round() as usize]).collect();
        let axis = "share of the packets, %".to_owned();
        let panels = vec![Panel { title: "latency at most, ns".to_owned(), values }];
        Some(Curves { axis, is_over_time: false, has_points: false, at, panels })
    }
}

#[cfg(test)]
mod tests {
    use pinion_sim::Time;

    use super::*;

    fn record(number: u64) -> PacketRecord {
        let her = Time::from_ps(number * 1_000_000);
        let completion = Time::from_ps(her.ps() + (number % 100) * 1_000);
        PacketRecord { packet: number, arrival: her, her, completion, ..PacketRecord::default() }
    }

    #[test]
    fn many_packets_take_no_more_memory_and_keep_their_shape() {
        let mut latencies = Latencies::default();
        assert!(latencies.over_time().is_none() && latencies.shares().is_none());
        for number in 0..100_000 {
            latencies.packet(&record(number));
        }
        assert!(latencies.kept.len() <= KEPT && latencies.every() == 32);
        let over_time = latencies.over_time().unwrap();
        assert!(over_time.at.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(*over_time.at.last().unwrap() > 99_000.0);
        let shares = latencies.shares().unwrap();
        let values = &shares.panels[0].values;
        assert_eq!((values[0], values[SHARES]), (0.0, 96.0));
        assert!((values[SHARES / 2] - 48.0).abs() <= 4.0);
    }
}
