//! `nanopu-fig4`: a well-behaved thread beside one that overruns, with and without the bound on
//! message time (nanoPU paper, figure 4).

use std::sync::Arc;

use pinion_net::load::{Contexts, Distribution, Overrun};

use super::sweep;
use super::{Bench, Scheduling, Service, Thread};
use crate::figure::{Column, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

const BOUNDED: &str = "bounded";
const UNBOUNDED: &str = "unbounded";
/// Bounded, but a demoted thread has its priority back when its message ends.
const RESTORED: &str = "bounded by message";
/// The context of the thread that overruns; the other's is 0.
const MISBEHAVING: u16 = 1;

pub(super) struct Fig4 {
    pub bench: Arc<dyn Bench>,
}

impl Figure for Fig4 {
    fn name(&self) -> &'static str {
        "nanopu-fig4"
    }

    fn columns(&self) -> Vec<Column> {
        sweep::columns()
    }

    fn points(&self, parameters: &Parameters) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        for (curve, gaps) in [
            (BOUNDED, "gaps_cycles"),
            (UNBOUNDED, "unbounded_gaps_cycles"),
            (RESTORED, "restored_gaps_cycles"),
        ] {
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
        let cycles = parameters.number("service_cycles")?;
        let overrun = Overrun {
            context: MISBEHAVING,
            every: parameters.whole("overrun_every")?,
            factor: parameters.whole("overrun_factor")?,
        };
        // Only priority 0 is bounded; the artifact's unbounded run has both threads at 1.
        let priority = u8::from(point.curve == UNBOUNDED);
        let thread = |context: u16| Thread { context, priority, cores: vec![0] };
        let service = Service {
            threads: vec![thread(0), thread(MISBEHAVING)],
            scheduling: Scheduling::Hardware,
            bound_cycles: Some(parameters.whole("bound_cycles")?),
            lowered_for_good: point.curve == BOUNDED,
            link_cycles: parameters.whole("link_cycles")?,
        };
        let mut load = sweep::load(parameters, setting, point.x, Distribution::Fixed { cycles })?;
        load.contexts = Contexts::Uniform(2);
        load.overrun = Some(overrun);
        let report = self.bench.serve(&service, load, setting)?;
        let clock = self.bench.clock(setting)?;
        // Half of the requests are the overrunning thread's.
        let longer = (overrun.factor as f64 - 1.0) / overrun.every as f64 / 2.0;
        let capacity = clock.hz() / (cycles * (1.0 + longer));
        let names = ["well-behaved", "misbehaving"].into_iter().enumerate();
        let rows = names.filter_map(|(context, name)| {
            let latencies = report.by_context.get(&(context as u16))?;
            let curve = format!("{}, {name}", point.curve);
            Some(sweep::row(&curve, point.x, &report, latencies, clock, capacity))
        });
        Ok(rows.collect())
    }
}
