//! From what was found to what is told: functions and lines of source, and names.

use pinion_app::app::App;
use pinion_observe::check::{Finding, Told, Verdict, Who};
use pinion_observe::fault::Program;
use pinion_observe::fault::program::{Code, Debug};

use super::{Checker, Unit};

impl Checker {
    /// Says what was found.
    pub fn verdict(&self, app: &App) -> Verdict {
        let file = std::fs::read(&app.built.elf).unwrap_or_default();
        let program = Program::new(&app.image, file, Code::HPU);
        let debug = program.debug();
        let intended = self.units.iter().map(|unit| unit.findings.intended).sum();
        let mut verdict = Verdict { intended, ..Verdict::default() };
        let of = |unit: &Unit| {
            let findings = unit.findings.list().iter();
            findings.map(|finding| unit.told(app, &debug, finding)).collect::<Vec<_>>()
        };
        let mut told: Vec<Told> = self.units.iter().flat_map(of).collect();
        if self.units.len() > 1 {
            told.sort_by_key(|told| told.accesses.first().map(|access| access.seen.cycle));
        }
        told.into_iter().for_each(|told| verdict.add(told));
        verdict
    }
}

impl Unit {
    fn told(&self, app: &App, debug: &Debug<'_>, finding: &Finding) -> Told {
        let context = |who: &Who| match who {
            Who::Hpu { task: Some(task), .. } => {
                app.contexts.get(task.context.0 as usize).map(|context| context.name.clone())
            }
            _ => None,
        };
        let lies_at = |address: u64| self.map.describe(address as u32);
        Told::of(finding, debug, |cycle| self.clock.time(cycle), context, lies_at)
    }
}
