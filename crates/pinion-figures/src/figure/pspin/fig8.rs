//! `pspin-fig8`: the packets that come in: throughput and HPUs used over the instructions of a
//! handler (PsPIN paper, figure 8).

use std::sync::Arc;

use pinion_spin::Machine;

use super::load::{Load, Pace};
use super::nic;
use super::observed::{Observed, observe};
use super::programs::{Programs, Source};
use crate::figure::{Cell, Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

/// Begins the names of curves that are computed.
const LIMIT: &str = "limit, ";
/// Ends the names of runs on a machine of a single HPU.
const ALONE: &str = ", one HPU";
/// Ends the name of the run on the machine with the fewest HPUs that keep up.
const FEWEST: &str = ", fewest HPUs";

pub(super) struct Fig8 {
    pub programs: Arc<Programs>,
}

impl Figure for Fig8 {
    fn name(&self) -> &'static str {
        "pspin-fig8"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("packet"),
            Column::number("instructions", "", 0),
            Column::number("throughput", "Gbit/s", 1),
            Column::number("packets", "per ns", 3),
            Column::number("hpus", "", 0),
            Column::number("mean_hpus", "", 2),
            Column::number("hpus_ever", "", 0),
            Column::number("handler", "ns", 1),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let counts = parameters.list("instructions")?;
        let mut sizes = parameters.list("bytes")?;
        sizes.extend(sizes.clone().iter().map(|bytes| bytes + 1.0));
        let point = |bytes: f64, kind: &str, x: f64| Point {
            label: format!("{bytes} B{kind}, {x} instructions"),
            curve: format!("{bytes} B{kind}"),
            x,
            stream: bytes as u64,
            ..Point::default()
        };
        let all = sizes.iter().flat_map(|&bytes| counts.iter().map(move |&x| (bytes, x)));
        let mut points: Vec<Point> = all.map(|(bytes, x)| point(bytes, "", x)).collect();
        for bytes in parameters.list("alone_bytes")? {
            let counts = parameters.list("alone_instructions")?;
            points.extend(counts.into_iter().map(|x| point(bytes, ALONE, x)));
        }
        let fewest = parameters.list("fewest_bytes")?;
        points.extend(fewest.into_iter().map(|bytes| point(bytes, FEWEST, 0.0)));
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        if point.curve.ends_with(FEWEST) {
            return self.fewest(point, setting);
        }
        let own: &[&str] = match point.curve.ends_with(ALONE) {
            true => &["cluster.count=1", "cluster.cores=1"],
            false => &[],
        };
        let (machine, observed) = self.observe(point, own, setting)?;
        let mut rows = vec![row(point, &observed)];
        let bytes = point.stream as u32;
        if bytes.is_multiple_of(machine.dma.port_bytes) && own.is_empty() {
            let limit = limit_gbit_s(&machine, bytes, point.x);
            let mut row: Row = vec![format!("{LIMIT}{}", point.curve).into(), point.x.into()];
            row.extend([limit.into(), (limit / f64::from(bytes) / 8.0).into()]);
            row.resize(8, Cell::Missing);
            rows.push(row);
        }
        Ok(rows)
    }
}

impl Fig8 {
    /// Runs a point on the machine with further changes; gives the machine too.
    fn observe(
        &self,
        point: &Point,
        own: &[&str],
        setting: &Setting<'_>,
    ) -> Result<(Machine, Observed)> {
        let mut overrides = setting.machine.to_vec();
        overrides.extend(own.iter().map(|&text| text.to_owned()));
        let app = self.programs.app(Source::Figures, &overrides, setting.build_dir)?;
        let load = Load {
            packets: setting.parameters.whole("packets")?,
            bytes: point.stream as u32,
            messages: setting.parameters.whole("messages")? as u32,
            pace: Pace::BackToBack,
            argument: 0,
        };
        let mut nic = nic(&app, &format!("alu_{}", point.x), &[])?;
        let observed = observe(&mut nic, &mut load.traffic(), true)?;
        Ok((nic.machine().clone(), observed))
    }

    /// Takes HPUs away from every cluster, as long as the throughput stays what it is.
    fn fewest(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let (machine, mut best) = self.observe(point, &[], setting)?;
        let full = best.inbound_gbit_s().unwrap_or_default();
        let holds = setting.parameters.number("holds")?;
        for cores in (1..machine.cluster.cores).rev() {
            let own = format!("cluster.cores={cores}");
            let (_, observed) = self.observe(point, &[own.as_str()], setting)?;
            if observed.inbound_gbit_s().is_none_or(|ours| ours < holds * full) {
                break;
            }
            best = observed;
        }
        Ok(vec![row(point, &best)])
    }
}

fn row(point: &Point, observed: &Observed) -> Row {
    let hpus = observed.hpus();
    vec![
        point.curve.as_str().into(),
        point.x.into(),
        observed.inbound_gbit_s().into(),
        observed.packets_per_ns().into(),
        Cell::from(u64::from(hpus.most)),
        hpus.mean.into(),
        Cell::from(u64::from(hpus.most_ever)),
        observed.handler_ns().into(),
    ]
}

/// Gives the most that can come in (paper, §IV-B2): what the interconnect carries, or what all HPUs
/// process that do nothing but the handler's instructions.
fn limit_gbit_s(machine: &Machine, bytes: u32, instructions: f64) -> f64 {
    let ghz = machine.clock.frequency_mhz as f64 / 1000.0;
    let interconnect = f64::from(machine.dma.port_bytes) * 8.0 * ghz;
    let hpus = f64::from(machine.cluster.count * machine.cluster.cores);
    let cores = hpus * f64::from(bytes) * 8.0 * ghz / instructions;
    interconnect.min(cores)
}
