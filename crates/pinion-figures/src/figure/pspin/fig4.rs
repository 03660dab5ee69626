//! `pspin-fig4`: what one core needs to copy data into its own L1: from there, from another cluster's
//! L1, from L2; by loads and stores, or by the cluster's DMA engine (PsPIN paper, figure 4).

use std::sync::Arc;

use super::load::{Load, Pace};
use super::nic;
use super::observed::observe;
use super::programs::{Programs, Source};
use crate::figure::{Cell, Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::{Error, Result};

/// Names the curves, and their handlers.
const CURVES: [(&str, &str); 6] = [
    ("own L1, load/store", "copy_l1"),
    ("remote L1, load/store", "copy_remote"),
    ("L2, load/store", "copy_l2"),
    ("own L1, DMA", "dma_l1"),
    ("remote L1, DMA", "dma_remote"),
    ("L2, DMA", "dma_l2"),
];
/// Names the row of the time that giving the DMA engine its command takes.
const LAUNCH: &str = "DMA command";
/// Words that the handlers keep in their handler memory.
const JOB_WORDS: usize = 4;
/// The handlers move four words at a time.
const STEP_BYTES: u64 = 16;

pub(super) struct Fig4 {
    pub programs: Arc<Programs>,
}

impl Figure for Fig4 {
    fn name(&self) -> &'static str {
        "pspin-fig4"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("copy"),
            Column::number("bytes", "", 0),
            Column::number("time", "ns", 1),
            Column::number("bandwidth", "Gbit/s", 2),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let sizes = parameters.list("bytes")?;
        let point = |curve: &str, x: f64| Point {
            label: format!("{curve}, {x} B"),
            curve: curve.to_owned(),
            x,
            stream: 0,
            ..Point::default()
        };
        let all = CURVES.iter().flat_map(|(curve, _)| sizes.iter().map(move |&x| point(curve, x)));
        Ok(all.collect())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let app = self.programs.app(Source::Figures, setting.machine, setting.build_dir)?;
        let handler = CURVES.iter().find(|(curve, _)| *curve == point.curve);
        let handler = handler.map_or("", |(_, handler)| handler);
        let bytes = point.x as u64;
        let most = u64::from(app.contexts[0].scratchpad_bytes / 2);
        if !bytes.is_multiple_of(STEP_BYTES) || bytes == 0 || bytes > most {
            let problem = format!("a multiple of {STEP_BYTES} up to {most} can be copied");
            return Err(Error::Usage(format!("{bytes} bytes: {problem}")));
        }
        let mut nic = nic(&app, handler, &(bytes as u32).to_le_bytes())?;
        // The first packets warm the instruction cache; the last one's numbers stay.
        let load = Load {
            packets: setting.parameters.whole("packets")?,
            bytes: 64,
            messages: 1,
            pace: Pace::Apart(setting.parameters.whole("gap_ns")?),
            argument: 0,
        };
        observe(&mut nic, &mut load.traffic(), false)?;
        let mut job = [0; 4 * JOB_WORDS];
        if !nic.read_memory(app.contexts[0].handler_memory_address, &mut job) {
            return Err(Error::Usage("the handler memory cannot be read".to_owned()));
        }
        let word = |index: usize| {
            let bytes = job[4 * index..4 * index + 4].try_into().unwrap_or_default();
            f64::from(u32::from_le_bytes(bytes))
        };
        let period_ns = 1000.0 / app.machine.value.clock.frequency_mhz as f64;
        let row = |name: &str, cycles: f64| -> Row {
            let time = cycles * period_ns;
            vec![name.into(), point.x.into(), time.into(), (point.x * 8.0 / time).into()]
        };
        let (copy, timer, launch) = (word(1), word(2), word(3));
        let mut rows = vec![row(&point.curve, copy - timer)];
        // The same for all sizes.
        let first = setting.parameters.list("bytes")?.first().copied();
        if handler == "dma_l2" && first == Some(point.x) {
            let time = (launch - timer) * period_ns;
            rows.push(vec![LAUNCH.into(), Cell::Missing, time.into(), Cell::Missing]);
        }
        Ok(rows)
    }
}
