//! Notices that simulated time stands still: steps come in, too many in one cycle go out as a report
//! of who took the last.
//!
//! Whatever a NIC does takes time, so this never happens; where it did, no watchdog, no limit and no
//! Ctrl-C would end the run, as all of them wait for time to advance.

use super::Nic;
use crate::wake::Due;

/// The most steps within one cycle: a thousand of each core of the largest machine.
const MOST_STEPS: u32 = 1_000_000;

/// Counts the steps since time advanced.
#[derive(Clone, Debug, Default)]
pub(super) struct Standstill {
    cycle: u64,
    steps: u32,
    last: Option<Step>,
}

/// Says what a step was.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// An event of the queue.
    Event(Due),
    /// A cluster's cores in their own L1.
    Lane(usize),
}

impl Standstill {
    /// Comes to a cycle; it may be the same one.
    #[inline]
    pub(super) fn go_on(&mut self, cycle: u64) {
        if cycle > self.cycle {
            (self.cycle, self.steps) = (cycle, 0);
        }
    }

    /// Gives the cycle it has come to.
    #[inline]
    pub(super) fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Counts a step; says whether it is the first of its cycle.
    #[inline]
    pub(super) fn note(&mut self, step: Step) -> bool {
        self.steps += 1;
        if self.is_one() {
            self.note_last(step);
        }
        self.steps == 1
    }

    /// Notes the step that was one too many.
    #[cold]
    fn note_last(&mut self, step: Step) {
        self.last = Some(step);
    }

    /// Says whether time stands still.
    #[inline]
    pub(super) fn is_one(&self) -> bool {
        self.steps > MOST_STEPS
    }
}

impl Nic {
    /// Tells who keeps time from advancing.
    pub(super) fn describe_standstill(&self) -> String {
        let core = |id: usize| {
            let core = &self.clusters.cores[id];
            let (cluster, hpu, pc) = (core.cluster, core.index, core.model.hart.pc);
            format!("cluster {cluster} HPU {hpu} at pc {pc:#010x}")
        };
        let who = match self.standstill.last {
            Some(Step::Event(Due::Core { core: id, .. } | Due::Line(id) | Due::Watchdog(id))) => {
                core(id.into())
            }
            Some(Step::Event(due)) => format!("{due:?}"),
            Some(Step::Lane(cluster)) => {
                let first = self.clusters.core_id(cluster as u32, 0);
                let cores = first..first + self.shared.machine.cluster.cores as usize;
                let all: Vec<String> = cores.map(core).collect();
                format!("one of {}", all.join(", "))
            }
            None => "nobody".to_owned(),
        };
        format!(
            "{} steps were taken at {} and time does not advance; the last was that of {who}. This \
             is a mistake in the simulator: please report it with the program\n  {}",
            self.standstill.steps,
            self.shared.time(self.standstill.cycle),
            self.describe_stuck(self.standstill.cycle)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_until_time_advances() {
        let mut standstill = Standstill::default();
        for cycle in [0, 7] {
            standstill.go_on(cycle);
            for step in 0..MOST_STEPS {
                assert_eq!(standstill.note(Step::Lane(0)), step == 0);
                assert!(!standstill.is_one());
            }
        }
        standstill.go_on(7);
        standstill.note(Step::Event(Due::Her));
        assert!(standstill.is_one());
        standstill.go_on(8);
        standstill.note(Step::Lane(0));
        assert!(!standstill.is_one());
    }
}
