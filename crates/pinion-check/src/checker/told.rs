//! From what was found to what is told: functions and lines of source, and names.

use pinion_app::app::App;
use pinion_observe::check::{Access, Seen, Told, Verdict};
use pinion_observe::fault::Program;
use pinion_observe::fault::program::{Code, Debug, describe};

use super::Checker;
use crate::findings::Finding;

impl Checker {
    /// Says what was found.
    pub fn verdict(&self, app: &App) -> Verdict {
        let file = std::fs::read(&app.built.elf).unwrap_or_default();
        let program = Program::new(&app.image, file, Code::HPU);
        let debug = program.debug();
        let mut verdict = Verdict { intended: self.intended(), ..Verdict::default() };
        for finding in self.findings() {
            verdict.add(self.told(app, &debug, finding));
        }
        verdict
    }

    fn told(&self, app: &App, debug: &Debug<'_>, finding: &Finding) -> Told {
        let access = |seen: &Seen| {
            let places = debug.places(u64::from(seen.pc));
            let own = places.iter().find(|place| !place.is_of_sdk());
            let place = own.or(places.first());
            let function = place.and_then(|place| place.function.clone());
            let context = seen.task.and_then(|task| app.contexts.get(task.context.0 as usize));
            Access {
                seen: *seen,
                function: function.or_else(|| describe(&app.image, u64::from(seen.pc))),
                source: place.and_then(|place| place.source()),
                context: context.map(|context| context.name.clone()),
                time: self.time(seen.cycle),
            }
        };
        Told {
            kind: finding.kind,
            count: finding.count,
            memory: finding.memory.map(|(at, bytes)| (at, bytes, self.describe(at))),
            note: finding.note.clone(),
            accesses: finding.seen.iter().map(access).collect(),
        }
    }
}
