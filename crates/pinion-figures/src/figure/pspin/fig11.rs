//! `pspin-fig11`: what one core does with the use cases' payload handlers, on PsPIN and on this
//! computer, and per area (PsPIN paper, figure 11 and table IV). Code, since it runs on this computer,
//! too, if that can, one engine at a time.
//!
//! A core's throughput is that of a packet in the median time of its payload handler while all
//! cores work, as in the paper. This computer's are those of the native engine; another computer
//! gives other numbers.

use std::sync::Arc;

use super::native::{Host, Times};
use super::programs::{Programs, Source};
use crate::figure::{Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;
use pinion_app::traffic::{self, Packets};
use pinion_observe::report::{HandlerRow, Outputs};
use pinion_run::run;
use pinion_run::watch;

/// Names the use cases in the paper's order.
pub(super) const CASES: [&str; 6] =
    ["aggregate", "reduce", "histogram", "filtering", "kvstore", "strided_ddt"];
/// Names the machine.
const PSPIN: &str = "PsPIN";

/// Names a platform: this computer with so many workers, or PsPIN for none.
fn platform(workers: u32) -> String {
    match workers {
        0 => PSPIN.to_owned(),
        1 => "x86, 1 worker".to_owned(),
        count => format!("x86, {count} workers"),
    }
}

pub(super) struct Fig11 {
    pub programs: Arc<Programs>,
    pub host: Arc<Host>,
}

impl Figure for Fig11 {
    fn name(&self) -> &'static str {
        "pspin-fig11"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("use_case"),
            Column::text("platform"),
            Column::number("bytes", "B", 0),
            Column::number("handlers", "", 0),
            Column::number("median", "ns", 1),
            Column::number("mean", "ns", 1),
            Column::number("instructions", "", 0),
            Column::number("mips", "", 0),
            Column::number("per_core", "Gbit/s", 2),
            Column::number("per_area", "Gbit/s/mm²", 3),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let mut workers = vec![0.0];
        if super::native::IS_THERE {
            workers.extend(parameters.list("workers")?);
        }
        let point = |case: &str, workers: f64| Point {
            label: format!("{case} on {}", platform(workers as u32)),
            curve: case.to_owned(),
            x: workers,
            stream: 0,
            ..Point::default()
        };
        let of_case = |case| workers.iter().map(move |&workers| point(case, workers));
        Ok(CASES.into_iter().flat_map(of_case).collect())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let parameters = setting.parameters;
        let (case, workers) = (point.curve.as_str(), point.x as u32);
        let bytes = parameters.whole("packet_bytes")?;
        let size = bytes.to_string();
        let (times, area) = if workers == 0 {
            let app =
                self.programs.app(Source::Example(case), setting.machine, setting.build_dir)?;
            let spec = traffic::standard(&app.manifest, &[("packet.bytes", &size)])?;
            let packets = Packets::of(spec, Some(setting.seed), None)?;
            let outputs = Outputs { handlers: true, ..Outputs::default() };
            let finished = run::run(&app, packets, &outputs, &mut watch::Unobserved)?;
            let row = payload_row(&finished.summary.section.handlers);
            (row.map(Times::of), parameters.number("area_pspin_mm2")?)
        } else {
            let times = self.host.times(case, &size, workers, setting)?;
            (times, parameters.number("area_xeon_mm2")?)
        };
        let Some(times) = times else { return Ok(Vec::new()) };
        let per_core = bytes as f64 * 8.0 / times.median_ns;
        Ok(vec![vec![
            case.into(),
            platform(workers).into(),
            bytes.into(),
            times.handlers.into(),
            times.median_ns.into(),
            times.mean_ns.into(),
            times.instructions.into(),
            times.instructions.map(|count| count * 1000.0 / times.mean_ns).into(),
            per_core.into(),
            (per_core / area).into(),
        ]])
    }
}

/// Finds the payload handler's row.
pub(super) fn payload_row(rows: &[HandlerRow]) -> Option<&HandlerRow> {
    rows.iter().find(|row| row.kind == "payload")
}
