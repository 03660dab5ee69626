//! `pspin-fig13`: how much packet buffer is needed: Little's law over packet latencies and line
//! rates, the use cases' handler times on it, the times beyond which handlers are the bottleneck, and
//! what the packet buffer really held (PsPIN paper, figure 13 and §V). Code, since the shortest, the mean
//! and the longest handler are rows of all runs together.

use std::sync::Arc;

use pinion_spin::PacketRecord;

use super::observed::Observed;
use super::programs::Programs;
use super::use_cases::{CASES, Run, mean, steady_payload, time_ns};
use crate::figure::{Cell, Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

pub(super) struct Fig13 {
    pub programs: Arc<Programs>,
}

/// Names the points without a run: Little's law and critical times.
const LAW: &str = "Little's law";
/// Names the point that runs all use cases as fast as they go.
const HANDLERS: &str = "handlers";
const KIB: f64 = 1024.0;

impl Figure for Fig13 {
    fn name(&self) -> &'static str {
        "pspin-fig13"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("series"),
            Column::text("use_case"),
            Column::number("latency", "ns", 1),
            Column::number("buffer", "KiB", 1),
            Column::number("law", "KiB", 1),
            Column::number("most", "KiB", 1),
            Column::number("throughput", "Gbit/s", 1),
            Column::number("handler", "ns", 1),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let point = |label: String, curve: &str, x: f64| Point {
            label,
            curve: curve.to_owned(),
            x,
            stream: 0,
            ..Point::default()
        };
        let mut points = vec![point(HANDLERS.to_owned(), HANDLERS, 0.0)];
        for rate in parameters.list("measured_gbit_s")? {
            points.extend(CASES.map(|case| point(format!("{case} at {rate} Gbit/s"), case, rate)));
        }
        points.push(point(LAW.to_owned(), LAW, 0.0));
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        match point.curve.as_str() {
            LAW => law(setting),
            HANDLERS => self.handlers(setting),
            case => self.measured(case, point.x, setting),
        }
    }
}

impl Fig13 {
    /// Runs a use case at a rate.
    fn observe(&self, case: &str, rate: &str, setting: &Setting<'_>) -> Result<Observed> {
        let run = Run {
            case,
            bytes: setting.parameters.whole("bytes")? as u32,
            rate,
            most_packets: setting.parameters.whole("most_packets")?,
            seed: setting.seed,
        };
        Ok(run.observe(&self.programs, setting.machine, setting.build_dir, false)?.1)
    }

    /// Runs all use cases as fast as they go and gives the shortest, the mean and the longest of
    /// their handlers' times, as lines.
    fn handlers(&self, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let mut times = Vec::new();
        for case in CASES {
            let observed = self.observe(case, "max", setting)?;
            times.extend(mean(&steady_payload(&observed.handlers), time_ns));
        }
        times.sort_by(f64::total_cmp);
        let (Some(&least), Some(&most)) = (times.first(), times.last()) else {
            return Ok(Vec::new());
        };
        let logs: f64 = times.iter().map(|time| time.ln()).sum();
        let middle = (logs / times.len() as f64).exp();
        let top = setting.parameters.number("line_kib")?;
        let names = ["shortest handler", "geometric mean", "longest handler"];
        let lines = names.iter().zip([least, middle, most]);
        Ok(lines.flat_map(|(name, time)| [line(name, time, 0.0), line(name, time, top)]).collect())
    }

    /// Runs a use case at a rate and looks at the packet buffer.
    fn measured(&self, case: &str, gbit_s: f64, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let rate = format!("{gbit_s}g");
        let observed = self.observe(case, &rate, setting)?;
        let Some(held) = Held::of(&observed.packets) else { return Ok(Vec::new()) };
        Ok(vec![vec![
            format!("measured, {gbit_s} Gbit/s").into(),
            case.into(),
            held.latency_ns.into(),
            (held.mean_bytes / KIB).into(),
            (held.gbit_s * held.latency_ns / 8.0 / KIB).into(),
            (held.most_bytes as f64 / KIB).into(),
            held.gbit_s.into(),
            mean(&steady_payload(&observed.handlers), time_ns).into(),
        ]])
    }
}

fn line(series: &str, latency_ns: f64, kib: f64) -> Row {
    let mut row: Row = vec![series.into(), Cell::Missing, latency_ns.into(), kib.into()];
    row.resize(8, Cell::Missing);
    row
}

/// Computes the lines of Little's law and the handlers' critical times on them. Cores grow with the
/// line rate, as in the paper, so that the critical times are the same at all of them.
fn law(setting: &Setting<'_>) -> Result<Vec<Row>> {
    let parameters = setting.parameters;
    let machine =
        pinion_app::machine::load::<pinion_spin::Machine>("pspin", setting.machine, false)?.value;
    let base_gbit_s = parameters.number("base_gbit_s")?;
    let base_cores = f64::from(machine.cluster.count * machine.cluster.cores);
    let rates = parameters.list("gbit_s")?;
    let buffer_kib = |gbit_s: f64, latency_ns: f64| gbit_s * latency_ns / 8.0 / KIB;
    let mut rows = Vec::new();
    for &rate in &rates {
        for latency in parameters.list("latency_ns")? {
            rows.push(line(&format!("{rate} Gbit/s"), latency, buffer_kib(rate, latency)));
        }
    }
    for bytes in parameters.list("critical_bytes")? {
        for &rate in &rates {
            let cores = base_cores * rate / base_gbit_s;
            let critical_ns = cores * bytes * 8.0 / rate;
            let series = format!("critical time, {bytes} B");
            rows.push(line(&series, critical_ns, buffer_kib(rate, critical_ns)));
        }
    }
    Ok(rows)
}

/// Says what the packet buffer held in the middle half of a run, by the packets' own times: from
/// when the inbound engine took them to their completion.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    /// The mean over time.
    mean_bytes: f64,
    /// The most at a time.
    most_bytes: u64,
    /// The packets' mean time in the buffer.
    latency_ns: f64,
    /// The rate at which they come out of it.
    gbit_s: f64,
}

impl Held {
    fn of(packets: &[PacketRecord]) -> Option<Self> {
        let (first, last) = (packets.len() / 4, 3 * packets.len() / 4);
        let middle = packets.get(first..=last).filter(|middle| middle.len() > 1)?;
        let (from, to) = (middle[0].completion, middle[middle.len() - 1].completion);
        let time_ns = to.since(from).ns();
        if time_ns <= 0.0 {
            return None;
        }
        let mut changes: Vec<(u64, i64)> = Vec::with_capacity(2 * packets.len());
        for packet in packets {
            changes.push((packet.inbound.ps(), i64::from(packet.bytes)));
            changes.push((packet.completion.ps(), -i64::from(packet.bytes)));
        }
        changes.sort_unstable();
        let (mut bytes, mut most, mut area, mut before) = (0i64, 0i64, 0f64, from.ps());
        for (at, change) in changes {
            let here = at.clamp(from.ps(), to.ps());
            area += bytes as f64 * (here - before.min(here)) as f64 / 1000.0;
            before = before.max(here);
            bytes += change;
            if (from.ps()..=to.ps()).contains(&at) {
                most = most.max(bytes);
            }
        }
        let done: u64 = middle[1..].iter().map(|packet| u64::from(packet.bytes)).sum();
        let latencies =
            middle.iter().map(|p| p.completion.since(p.inbound).ns() * f64::from(p.bytes));
        let weights: f64 = middle.iter().map(|packet| f64::from(packet.bytes)).sum();
        Some(Self {
            mean_bytes: area / time_ns,
            most_bytes: most.max(0) as u64,
            latency_ns: latencies.sum::<f64>() / weights,
            gbit_s: done as f64 * 8.0 / time_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use pinion_sim::Time;

    use super::*;

    #[test]
    fn a_steady_flow_holds_what_littles_law_says() {
        // 100 B every 10 ns, each for 35 ns: 80 Gbit/s, 350 B on average, 400 B at most.
        let packet = |i: u64| PacketRecord {
            bytes: 100,
            inbound: Time::from_ns(10 * i),
            completion: Time::from_ns(10 * i + 35),
            ..PacketRecord::default()
        };
        let held = Held::of(&(0..1000).map(packet).collect::<Vec<_>>()).unwrap();
        assert_eq!((held.gbit_s, held.latency_ns, held.most_bytes), (80.0, 35.0, 400));
        assert!((held.mean_bytes - 350.0).abs() < 1.0, "{}", held.mean_bytes);
        assert_eq!(Held::of(&[]), None);
    }
}
