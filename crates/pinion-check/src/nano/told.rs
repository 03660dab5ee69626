//! From what was found to what is told: functions and lines of source, and names.

use pinion_app::service::Service;
use pinion_observe::check::{Finding, Told, Verdict, Who};
use pinion_observe::fault::Program as Source;
use pinion_observe::fault::program::Code;

use super::NanoChecker;
use super::program::CODE;

impl NanoChecker {
    /// Says what was found in a run that is over; `rests`: because nothing happens any more.
    pub fn verdict(mut self, service: &Service, rests: bool) -> Verdict {
        self.ends(rests);
        self.tell_exceptions();
        let mut verdict = Verdict { intended: self.findings.intended, ..Verdict::default() };
        if self.findings.list().is_empty() {
            return verdict;
        }
        let file = std::fs::read(&service.built.elf).unwrap_or_default();
        let source = Source::new(&service.image, file, Code::RiscV(CODE));
        let debug = source.debug();
        let context = |who: &Who| match who {
            Who::Hart { context, .. } => Some(context.to_string()),
            Who::Hpu { .. } => None,
        };
        let time = |cycle: u64| self.clock.time(cycle);
        let lies_at = |address: u64| self.program.describe(address);
        let told = |finding: &Finding| Told::of(finding, &debug, time, context, lies_at);
        self.findings.list().iter().map(told).for_each(|told| verdict.add(told));
        verdict
    }
}
