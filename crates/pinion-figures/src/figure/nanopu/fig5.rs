//! `nanopu-fig5`: how requests find a core: RSS, JBSQ, JBSQ with priorities (nanoPU paper, figure 5).

use std::sync::Arc;

use pinion_net::load::{Contexts, Distribution, Normal};

use super::sweep;
use super::{Bench, Scheduling, Service, Thread};
use crate::figure::{Column, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

const RSS: &str = "RSS";
const JBSQ: &str = "JBSQ";
const JBSQ_PRE: &str = "JBSQ-PRE";
const CORES: u32 = 4;

pub(super) struct Fig5 {
    pub bench: Arc<dyn Bench>,
}

impl Fig5 {
    /// Gives the threads of a curve and how requests are spread over their contexts.
    fn threads(curve: &str) -> (Vec<Thread>, Contexts) {
        let all = || (0..CORES).collect::<Vec<u32>>();
        match curve {
            RSS => {
                let own = |core| Thread { context: core as u16, priority: 0, cores: vec![core] };
                ((0..CORES).map(own).collect(), Contexts::Uniform(CORES as u16))
            }
            JBSQ => (vec![Thread { context: 0, priority: 0, cores: all() }], Contexts::Fixed(0)),
            _ => {
                let of = |number: u8| Thread {
                    context: u16::from(number),
                    priority: number,
                    cores: all(),
                };
                (vec![of(0), of(1)], Contexts::ByMode)
            }
        }
    }

    fn service_time(parameters: &Parameters) -> Result<Distribution> {
        let normal = |mean: &str| -> Result<Normal> {
            Ok(Normal {
                mean_cycles: parameters.number(mean)?,
                deviation_cycles: parameters.number("deviation_cycles")?,
            })
        };
        Ok(Distribution::Bimodal {
            low: normal("short_cycles")?,
            high: normal("long_cycles")?,
            high_probability: parameters.number("long_probability")?,
            min_cycles: parameters.number("min_cycles")?,
            max_cycles: parameters.number("max_cycles")?,
        })
    }
}

impl Figure for Fig5 {
    fn name(&self) -> &'static str {
        "nanopu-fig5"
    }

    fn columns(&self) -> Vec<Column> {
        sweep::columns()
    }

    fn points(&self, parameters: &Parameters) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        for curve in [RSS, JBSQ, JBSQ_PRE] {
            let gaps = if curve == JBSQ_PRE { "pre_gaps_cycles" } else { "gaps_cycles" };
            points.extend(parameters.list(gaps)?.into_iter().map(|gap| Point {
                label: format!("{curve}, gap {gap}"),
                curve: curve.to_owned(),
                x: gap,
                stream: gap as u64,
            }));
        }
        Ok(points)
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let parameters = setting.parameters;
        let (threads, contexts) = Self::threads(&point.curve);
        let service = Service {
            threads,
            scheduling: Scheduling::Hardware,
            // As in the artifact; with RSS and JBSQ nothing else runs where a long request overruns.
            bound_cycles: Some(parameters.whole("bound_cycles")?),
            lowered_for_good: false,
            link_cycles: parameters.whole("link_cycles")?,
        };
        let service_time = Self::service_time(parameters)?;
        let clock = self.bench.clock(setting)?;
        let capacity = f64::from(CORES) * clock.hz() / service_time.mean_cycles();
        let mut load = sweep::load(parameters, setting, point.x, service_time)?;
        load.contexts = contexts;
        let report = self.bench.serve(&service, load, setting)?;
        Ok(vec![sweep::row(&point.curve, point.x, &report, &report.all, clock, capacity)])
    }
}
