//! How busy units were over time: gauges of the same kind added up, as means over stretches of the run. Out: a
//! table, and a chart with a panel for each kind.

use pinion_sim::{Clock, Time};

use super::{Follower, Gauge};
use crate::plot::{Panel, panels};
use pinion_app::error::{Error, Result};

/// Stretches at most; with more, two become one.
const STRETCHES: usize = 256;
/// Cycles of a stretch at first.
const FIRST_CYCLES: u64 = 16;

/// A chart of a machine: what its gauges show together.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// Name of its column in the table.
    pub column: &'static str,
    /// Title of its panel.
    pub title: &'static str,
    /// What is shown of its gauges.
    pub scale: Scale,
}

/// What is shown of gauges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// How many there are, in the mean.
    Mean,
    /// How many more there are in each cycle.
    PerCycle,
    /// How many more bytes there are, in Gbit/s.
    GbitPerSecond,
}

/// Sums over stretches of time, all equally long.
#[derive(Clone, Debug)]
struct Sums {
    cycles: u64,
    sums: Vec<f64>,
}

impl Sums {
    fn new() -> Self {
        Self { cycles: FIRST_CYCLES, sums: Vec::new() }
    }

    /// Adds `amount` for each cycle of a time.
    fn add(&mut self, from: u64, to: u64, amount: f64) {
        while to / self.cycles >= STRETCHES as u64 {
            self.halve();
        }
        let last = (to.saturating_sub(1).max(from) / self.cycles) as usize;
        if self.sums.len() <= last {
            self.sums.resize(last + 1, 0.0);
        }
        let mut at = from;
        while at < to {
            let stretch = at / self.cycles;
            let end = ((stretch + 1) * self.cycles).min(to);
            self.sums[stretch as usize] += (end - at) as f64 * amount;
            at = end;
        }
    }

    fn halve(&mut self) {
        self.cycles *= 2;
        let pairs = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.sums = pairs;
    }
}

/// Follows the gauges of a machine.
#[derive(Debug)]
pub struct Occupancy {
    title: String,
    clock: Clock,
    charts: &'static [Chart],
    /// By gauge: its chart, and its value.
    gauges: Vec<(Option<usize>, u64)>,
    /// By chart: how many there are, and since when.
    levels: Vec<(u64, u64)>,
    sums: Vec<Sums>,
    end: u64,
}

impl Occupancy {
    /// Makes the charts of a machine's gauges; `title` says whose they are.
    pub fn new(title: String, clock: Clock, charts: &'static [Chart], gauges: &[Gauge]) -> Self {
        Self {
            title,
            clock,
            charts,
            gauges: gauges.iter().map(|gauge| (gauge.chart, 0)).collect(),
            levels: vec![(0, 0); charts.len()],
            sums: vec![Sums::new(); charts.len()],
            end: 0,
        }
    }

    /// Counts a chart's level up to a cycle.
    fn count(&mut self, chart: usize, cycle: u64) {
        let (level, since) = self.levels[chart];
        if cycle > since {
            self.sums[chart].add(since, cycle, level as f64);
            self.levels[chart].1 = cycle;
        }
    }

    /// Lets the charts end in a cycle, if they do not end later.
    pub fn end_at(&mut self, cycle: u64) {
        self.end = self.end.max(cycle);
        for chart in 0..self.charts.len() {
            self.count(chart, self.end);
        }
    }

    /// Gives each row's cycle and the means of the stretch behind it.
    fn rows(&self) -> Vec<(u64, Vec<f64>)> {
        let mut sums = self.sums.clone();
        let cycles = sums.iter().map(|sums| sums.cycles).max().unwrap_or(FIRST_CYCLES);
        for sums in &mut sums {
            while sums.cycles < cycles {
                sums.halve();
            }
        }
        let stretches = self.end.div_ceil(cycles);
        let row = |stretch: u64| {
            let from = stretch * cycles;
            // The last one may be shorter.
            let long = (self.end - from).min(cycles).max(1) as f64;
            let mean = |sums: &Sums| sums.sums.get(stretch as usize).map_or(0.0, |sum| sum / long);
            (from, sums.iter().map(mean).collect())
        };
        (0..stretches).map(row).collect()
    }

    /// Writes a row per stretch of time as CSV.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn to_csv(&self) -> Result<String> {
        let failed = |error: csv::Error| Error::Usage(format!("cannot write the table: {error}"));
        let mut writer = csv::Writer::from_writer(Vec::new());
        let head = ["cycle", "ns"].into_iter().chain(self.charts.iter().map(|chart| chart.column));
        writer.write_record(head).map_err(failed)?;
        for (cycle, means) in self.rows() {
            let ns = format!("{}", self.clock.time(cycle).ns());
            let means = means.iter().map(|mean| format!("{mean:.4}"));
            let row = [cycle.to_string(), ns].into_iter().chain(means);
            writer.write_record(row).map_err(failed)?;
        }
        let bytes = writer.into_inner().map_err(|error| failed(error.into_error().into()))?;
        Ok(String::from_utf8(bytes).expect("CSV of texts is text"))
    }

    /// Draws a panel for each chart, in SVG.
    ///
    /// # Errors
    /// When it cannot be drawn.
    pub fn to_svg(&self) -> Result<String> {
        let rows = self.rows();
        let us = |cycle: u64| self.clock.time(cycle).ns() / 1e3;
        let panel = |(index, chart): (usize, &Chart)| {
            let steps = rows.iter().map(|(cycle, means)| (us(*cycle), means[index]));
            Panel { title: chart.title.to_owned(), steps: steps.collect() }
        };
        let all: Vec<Panel> = self.charts.iter().enumerate().map(panel).collect();
        panels(&format!("{}: how busy its units were", self.title), "time, µs", us(self.end), &all)
    }
}

impl Follower for Occupancy {
    fn change(&mut self, at: Time, gauge: usize, value: Option<u64>) -> Result<()> {
        let (chart, before) = &mut self.gauges[gauge];
        let now = value.unwrap_or(0);
        let before = std::mem::replace(before, now);
        let Some(chart) = *chart else { return Ok(()) };
        let cycle = self.clock.cycle_at(at);
        self.end = self.end.max(cycle);
        let more = now.saturating_sub(before) as f64;
        match self.charts[chart].scale {
            Scale::Mean => {
                self.count(chart, cycle);
                let level = &mut self.levels[chart].0;
                *level = *level + now - before;
            }
            Scale::PerCycle => self.sums[chart].add(cycle, cycle + 1, more),
            Scale::GbitPerSecond => {
                let ns = self.clock.time(1).ns();
                self.sums[chart].add(cycle, cycle + 1, more * 8.0 / ns);
            }
        }
        Ok(())
    }

    fn finish(&mut self, now: Time) -> Result<()> {
        self.end_at(self.clock.cycle_at(now));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_whole_when_stretches_grow() {
        let mut sums = Sums::new();
        let mut whole = 0.0;
        for step in 0..5_000u64 {
            let (from, to) = (step * 7, step * 7 + step % 40);
            sums.add(from, to, 2.0);
            whole += (to - from) as f64 * 2.0;
        }
        assert!(sums.sums.len() <= STRETCHES && sums.cycles > FIRST_CYCLES);
        assert!((sums.sums.iter().sum::<f64>() - whole).abs() < 1e-6);
    }
}
