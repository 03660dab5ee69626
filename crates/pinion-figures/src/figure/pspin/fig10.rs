//! `pspin-fig10`: throughput of the six use cases over the packet size, on the default machine and
//! with more clusters (PsPIN paper, figure 10 and §IV-C1).

use std::sync::Arc;

use super::programs::Programs;
use super::use_cases::{CASES, Run, mean, steady_payload, time_ns};
use crate::figure::{Column, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

pub(super) struct Fig10 {
    pub programs: Arc<Programs>,
}

/// Names a curve: the use case, and how many clusters run it.
fn curve(case: &str, clusters: u64) -> String {
    format!("{case}, {clusters} clusters")
}

impl Figure for Fig10 {
    fn name(&self) -> &'static str {
        "pspin-fig10"
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::text("curve"),
            Column::text("use_case"),
            Column::number("clusters", "", 0),
            Column::number("bytes", "", 0),
            Column::number("throughput", "Gbit/s", 1),
            Column::number("packets", "per ns", 4),
            Column::number("handler", "ns", 1),
            Column::number("instructions", "", 1),
            Column::number("latency", "ns", 1),
        ]
    }

    fn points(&self, parameters: &Parameters) -> Result<Vec<Point>> {
        let sizes = parameters.list("bytes")?;
        let more = parameters.list("more_bytes")?;
        let mut points = Vec::new();
        for clusters in parameters.list("clusters")? {
            for case in CASES {
                let extra = more.iter().filter(|_| case == "strided_ddt");
                for &bytes in sizes.iter().chain(extra) {
                    points.push(Point {
                        label: format!("{case}, {clusters} clusters, {bytes} B"),
                        curve: curve(case, clusters as u64),
                        x: bytes,
                        stream: bytes as u64,
                    });
                }
            }
        }
        // Small packets are many and take longest: they begin first.
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let (case, clusters) = point.curve.split_once(", ").unwrap_or((&point.curve, ""));
        let clusters = clusters.split(' ').next().unwrap_or_default();
        let mut overrides = vec![format!("cluster.count={clusters}")];
        overrides.extend_from_slice(setting.machine);
        let run = Run {
            case,
            bytes: point.x as u32,
            rate: "max",
            most_packets: setting.parameters.whole("most_packets")?,
            seed: setting.seed,
        };
        let observed = run.observe(&self.programs, &overrides, setting.build_dir)?;
        let handlers = steady_payload(&observed.handlers);
        Ok(vec![vec![
            point.curve.as_str().into(),
            case.into(),
            clusters.parse::<f64>().unwrap_or(f64::NAN).into(),
            point.x.into(),
            observed.inbound_gbit_s().into(),
            observed.packets_per_ns().into(),
            mean(&handlers, time_ns).into(),
            mean(&handlers, |record| record.instructions as f64).into(),
            observed.latency_ns().into(),
        ]])
    }
}
