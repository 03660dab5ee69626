//! `pspin-fig8`: the packets that come in: throughput and HPUs used over the instructions of a
//! handler (PsPIN paper, figure 8).

use std::sync::Arc;

use pinion_spin::Machine;

use super::load::{Load, Pace};
use super::nic;
use super::observed::observe;
use super::programs::{Programs, Source};
use crate::error::Result;
use crate::figure::{Cell, Column, Figure, Measure, Parameters, Point, Row, Setting, Table};

/// Begins the names of curves that are computed.
const LIMIT: &str = "limit, ";

pub(super) struct Fig8 {
    pub programs: Arc<Programs>,
}

impl Figure for Fig8 {
    fn name(&self) -> &'static str {
        "pspin-fig8"
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::text("packet"),
            Column::number("instructions", "", 0),
            Column::number("throughput", "Gbit/s", 1),
            Column::number("packets", "per ns", 3),
            Column::number("hpus", "", 0),
            Column::number("mean_hpus", "", 2),
            Column::number("different_hpus", "", 0),
            Column::number("handler", "ns", 1),
        ]
    }

    fn points(&self, parameters: &Parameters) -> Result<Vec<Point>> {
        let counts = parameters.list("instructions")?;
        let mut sizes = parameters.list("bytes")?;
        sizes.extend(sizes.clone().iter().map(|bytes| bytes + 1.0));
        let point = |bytes: f64, x: f64| Point {
            label: format!("{bytes} B, {x} instructions"),
            curve: format!("{bytes} B"),
            x,
            stream: bytes as u64,
        };
        let all = sizes.iter().flat_map(|&bytes| counts.iter().map(move |&x| point(bytes, x)));
        Ok(all.collect())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let app = self.programs.app(Source::Figures, setting.machine)?;
        let (bytes, instructions) = (point.stream as u32, point.x as u64);
        let load = Load {
            packets: setting.parameters.whole("packets")?,
            bytes,
            messages: setting.parameters.whole("messages")? as u32,
            pace: Pace::BackToBack,
            argument: 0,
        };
        let mut nic = nic(&app, &format!("alu_{instructions}"), &[])?;
        let observed = observe(&mut nic, &mut load.traffic(), true)?;
        let hpus = observed.hpus();
        let mut rows = vec![vec![
            point.curve.as_str().into(),
            point.x.into(),
            observed.inbound_gbit_s().into(),
            observed.packets_per_ns().into(),
            Cell::from(u64::from(hpus.most)),
            hpus.mean.into(),
            Cell::from(u64::from(hpus.different)),
            observed.handler_ns().into(),
        ]];
        let is_aligned = bytes.is_multiple_of(nic.machine().dma.port_bytes);
        if is_aligned {
            let limit = limit_gbit_s(nic.machine(), bytes, instructions);
            let mut row: Row = vec![format!("{LIMIT}{}", point.curve).into(), point.x.into()];
            row.extend([limit.into(), (limit / f64::from(bytes) / 8.0).into()]);
            row.resize(self.columns().len(), Cell::Missing);
            rows.push(row);
        }
        Ok(rows)
    }

    fn measures(&self, table: &Table) -> Vec<Measure> {
        let at = |packet: &str, column: &str| {
            table.lookup(&[("packet", packet), ("instructions", "0")], column)
        };
        let mut measures = vec![Measure::new("packets per cycle", at("64 B", "packets"))];
        for packet in table.names("packet") {
            measures.push(Measure::new(format!("{packet}: HPUs"), at(&packet, "hpus")));
            let limit = at(&format!("{LIMIT}{packet}"), "throughput");
            let share = at(&packet, "throughput").zip(limit).map(|(ours, limit)| ours / limit);
            measures.push(Measure::new(format!("{packet}: of the limit"), share));
        }
        measures
    }
}

/// Gives the most that can come in (paper, §IV-B2): what the interconnect carries, or what all HPUs
/// process that do nothing but the handler's instructions.
fn limit_gbit_s(machine: &Machine, bytes: u32, instructions: u64) -> f64 {
    let ghz = machine.clock.frequency_mhz as f64 / 1000.0;
    let interconnect = f64::from(machine.dma.port_bytes) * 8.0 * ghz;
    let hpus = f64::from(machine.cluster.count * machine.cluster.cores);
    let cores = hpus * f64::from(bytes) * 8.0 * ghz / instructions as f64;
    interconnect.min(cores)
}
