//! `nanopu-fig3`: threads switched by the hardware as messages arrive, against a timer (nanoPU paper,
//! figure 3).

use std::sync::Arc;

use pinion_net::load::{Contexts, Distribution};

use super::sweep;
use super::{Bench, Scheduling, Service, Thread};
use crate::figure::{Column, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::Result;

const HARDWARE: &str = "hardware";
const TIMER: &str = "timer";

pub(super) struct Fig3 {
    pub bench: Arc<dyn Bench>,
}

impl Figure for Fig3 {
    fn name(&self) -> &'static str {
        "nanopu-fig3"
    }

    fn columns(&self) -> Vec<Column> {
        sweep::columns()
    }

    fn points(&self, parameters: &Parameters) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        for (curve, gaps) in [(HARDWARE, "gaps_cycles"), (TIMER, "timer_gaps_cycles")] {
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
        let scheduling = match point.curve.as_str() {
            TIMER => Scheduling::Timer { cycles: parameters.whole("timer_cycles")? },
            _ => Scheduling::Hardware,
        };
        let thread =
            |number: u8| Thread { context: u16::from(number), priority: number, cores: vec![0] };
        let service = Service {
            threads: vec![thread(0), thread(1)],
            scheduling,
            bound_cycles: None,
            lowered_for_good: false,
            link_cycles: parameters.whole("link_cycles")?,
        };
        let mut load = sweep::load(parameters, setting, point.x, Distribution::Fixed { cycles })?;
        load.contexts = Contexts::Uniform(2);
        let report = self.bench.serve(&service, load, setting)?;
        let clock = self.bench.clock(setting)?;
        let capacity = clock.hz() / cycles;
        let names = ["high priority", "low priority"].into_iter().enumerate();
        let rows = names.filter_map(|(context, name)| {
            let latencies = report.by_context.get(&(context as u16))?;
            let curve = format!("{}, {name}", point.curve);
            Some(sweep::row(&curve, point.x, &report, latencies, clock, capacity))
        });
        Ok(rows.collect())
    }
}
