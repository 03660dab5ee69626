//! `nanopu-draft-fig1`: how long a job of independent tasks takes when some are remote calls, for
//! distributions of their completion times (nanoservices draft, figure 1 and §1). One distribution is
//! what a simulated node gives. Code, since jobs are drawn at random, also from times that a run gave.

use std::sync::Arc;

use pinion_net::load::{Contexts, Distribution};
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use super::sweep::Sweep;
use super::{Bench, Scheduling, Service, Thread};
use crate::figure::{Cell, Column, Definition, Figure, Parameters, Point, Row, Setting};
use pinion_app::error::{Error, Result};

/// The distribution that is measured.
const SIMULATED: &str = "nanoPU, simulated";
const CORES: u32 = 4;
/// Shares at which a distribution is shown.
const SHARES: [f64; 15] =
    [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999];

pub(super) struct DraftFig1 {
    pub bench: Arc<dyn Bench>,
}

/// How long a call takes, in microseconds.
enum Completion {
    /// At least so long, and an exponential tail behind it.
    Tailed { least: f64, tail: f64 },
    /// One of those that were measured.
    Measured(Vec<f64>),
}

impl Completion {
    fn draw(&self, random: &mut Pcg64Mcg) -> f64 {
        match self {
            Self::Tailed { least, tail } => {
                // The draw is there without a tail too: all distributions get the same numbers.
                let unit = Distribution::Exponential { mean_cycles: 1.0 }.sample(random).0;
                least + tail * unit
            }
            Self::Measured(all) => all[(random.next_u64() % all.len() as u64) as usize],
        }
    }
}

impl DraftFig1 {
    /// Gives a distribution by its name: its mean and deviation are parameters, or it is measured.
    fn completion(&self, name: &str, setting: &Setting<'_>) -> Result<Completion> {
        let parameters = setting.parameters;
        let work = parameters.number("task_us")?;
        if name == SIMULATED {
            return Ok(Completion::Measured(self.simulate(work, setting)?));
        }
        let names = parameters.words("distributions")?;
        let place = names.iter().position(|known| known == name);
        let of = |list: &str| -> Result<f64> {
            let numbers = parameters.list(list)?;
            place.and_then(|place| numbers.get(place).copied()).ok_or_else(|| {
                Error::Usage(format!("parameters.{list}: there is no number for `{name}`"))
            })
        };
        let (mean, deviation) = (of("means_us")?, of("deviations_us")?);
        if deviation > mean {
            return Err(Error::Usage(format!(
                "parameters.deviations_us: `{name}` deviates by {deviation} from a mean of {mean}; \
                 a bound and an exponential tail cannot deviate by more than the mean"
            )));
        }
        Ok(Completion::Tailed { least: work + mean - deviation, tail: deviation })
    }

    /// Gives what a node adds to the work of calls, and the work.
    fn simulate(&self, work_us: f64, setting: &Setting<'_>) -> Result<Vec<f64>> {
        let parameters = setting.parameters;
        let service = Service {
            threads: vec![Thread { context: 0, priority: 0, cores: (0..CORES).collect() }],
            scheduling: Scheduling::Hardware,
            bound_cycles: None,
            lowered_for_good: false,
            link_cycles: parameters.whole("link_cycles")?,
        };
        let cycles = parameters.number("service_cycles")?;
        let time = Distribution::Fixed { cycles };
        let sweep = Sweep::of(parameters, parameters.number("gap_cycles")?)?;
        let mut load = sweep.load(setting, time);
        load.contexts = Contexts::Fixed(0);
        let report = self.bench.serve(&service, load, setting)?;
        if report.missing > 0 || report.all.count() == 0 {
            return Err(Error::Usage(format!("{} calls have no answer", report.missing)));
        }
        let period_us = self.bench.clock(setting)?.period_ps() / 1e6;
        let exact = report.all.exact().unwrap_or_default();
        Ok(exact.iter().map(|&all| work_us + (all as f64 - cycles) * period_us).collect())
    }

    /// Tells how long jobs take with so many cores, and how long their calls do.
    fn rows(name: &str, completion: &Completion, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let parameters = setting.parameters;
        let (tasks, trials) = (parameters.whole("tasks")?, parameters.whole("trials")?);
        let work = parameters.number("task_us")?;
        let cores: Vec<u64> = parameters.list("cores")?.iter().map(|&cores| cores as u64).collect();
        if trials == 0 || cores.iter().any(|&cores| cores > tasks) {
            return Err(Error::Usage(format!("a job of {tasks} tasks has no use for more cores")));
        }
        let mut random = Pcg64Mcg::seed_from_u64(setting.seed);
        let mut calls = Vec::new();
        let mut sums = vec![(0.0, 0.0); cores.len()];
        for _ in 0..trials {
            let drawn: Vec<f64> = (0..tasks).map(|_| completion.draw(&mut random)).collect();
            for (sum, &cores) in sums.iter_mut().zip(&cores) {
                let latest = drawn[..cores as usize].iter().copied().fold(0.0, f64::max);
                let own = (tasks - cores) as f64 * work;
                sum.0 += own.max(latest);
                sum.1 += own + latest;
            }
            calls.extend(drawn);
        }
        let ms = |sum: f64| sum / trials as f64 / 1e3;
        let mut rows: Vec<Row> = Vec::new();
        for (&cores, &(beside, behind)) in cores.iter().zip(&sums) {
            let job = [cores.into(), ms(beside).into(), ms(behind).into()];
            let call = [Cell::Missing, Cell::Missing];
            rows.push([Cell::from(name)].into_iter().chain(job).chain(call).collect());
        }
        calls.sort_by(f64::total_cmp);
        for share in SHARES {
            let call = calls[((calls.len() - 1) as f64 * share) as usize] / 1e3;
            let (job, call) = (vec![Cell::Missing; 3], [share.into(), call.into()]);
            rows.push([Cell::from(name)].into_iter().chain(job).chain(call).collect());
        }
        Ok(rows)
    }
}

impl Figure for DraftFig1 {
    fn name(&self) -> &'static str {
        "nanopu-draft-fig1"
    }

    fn columns(&self, _: &Definition) -> Vec<Column> {
        vec![
            Column::text("calls"),
            Column::number("cores", "", 0),
            Column::number("job", "ms", 3),
            Column::number("one_after_the_other", "ms", 3),
            Column::number("share", "", 3),
            Column::number("call", "ms", 6),
        ]
    }

    fn points(&self, _: &Definition, parameters: &Parameters) -> Result<Vec<Point>> {
        let mut names = parameters.words("distributions")?;
        names.push(SIMULATED.to_owned());
        let point = |curve: String| Point {
            label: curve.clone(),
            curve,
            x: 0.0,
            stream: 0,
            ..Point::default()
        };
        Ok(names.into_iter().map(point).collect())
    }

    fn run(&self, point: &Point, setting: &Setting<'_>) -> Result<Vec<Row>> {
        let completion = self.completion(&point.curve, setting)?;
        Self::rows(&point.curve, &completion, setting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::nanopu::ideal::Ideal;
    use crate::figure::{Produced, Request, Unobserved, produce};

    fn make(set: &[&str]) -> Result<Produced> {
        let set = set.iter().map(|text| format!("parameters.{text}")).collect();
        let request = Request { quick: true, set, ..Request::default() };
        produce(&DraftFig1 { bench: Arc::new(Ideal) }, &request, &mut Unobserved)
    }

    #[test]
    fn a_job_lasts_as_long_as_its_own_tasks_or_the_latest_call() {
        let table = make(&[]).unwrap().table;
        let job = |calls: &str, cores: &str, column: &str| {
            table.lookup(&[("calls", calls), ("cores", cores)], column).unwrap()
        };
        // 500 tasks of 0.5 ms here; calls of 5 ms beside them or behind them.
        assert_eq!(job("always 10 times", "500", "job"), 250.0);
        assert_eq!(job("always 10 times", "500", "one_after_the_other"), 255.0);
        assert_eq!(job("always 10 times", "1000", "job"), 5.0);
        assert_eq!(job("always once", "999", "job"), 0.5);
        // Less deviation helps, so does a lower mean, and a nanoPU more than both.
        let curves = ["state of the art", "a tenth of the deviation", "a tenth of both", SIMULATED];
        let jobs = curves.map(|calls| job(calls, "1000", "job"));
        assert!(jobs.windows(2).all(|pair| pair[0] > pair[1]), "{jobs:?}");
    }

    #[test]
    fn distributions_have_the_mean_that_was_asked_for() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let completion = Completion::Tailed { least: 630.0, tail: 70.0 };
        let sum: f64 = (0..100_000).map(|_| completion.draw(&mut random)).sum();
        assert!((sum / 1e5 - 700.0).abs() < 1.0, "{}", sum / 1e5);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for set in
            ["deviations_us=[800,70,70,0,0]", "deviations_us=[1]", "cores=[1001]", "trials=0"]
        {
            assert!(make(&[set]).is_err(), "{set}");
        }
    }
}
