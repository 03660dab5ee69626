//! Loops that do nothing but poll for a message: shown to do so twice alike, they sleep, and their
//! turns are left out of the simulation, not of the count.

use super::{Activity, Core, RETIRE};
use crate::Cycle;

impl Core {
    /// Meets a poll that found nothing: when the loop does nothing but poll, the core may sleep.
    pub(super) fn poll(&mut self, pc: u64, t: Cycle) {
        let period = t - self.poll.at;
        let history = self.predictor.history();
        let same = self.poll.pc == pc
            && self.poll.history == history
            && self.poll.effects == self.effects
            && self.poll.registers == self.hart.x;
        let instructions = self.hart.instret - self.poll.retired;
        if same && period == self.poll.period {
            self.activity = Activity::Polling { period, instructions };
        }
        self.poll.pc = pc;
        self.poll.history = history;
        self.poll.at = t;
        self.poll.period = if same { period } else { 0 };
        self.poll.retired = self.hart.instret;
        self.poll.effects = self.effects;
        if !same {
            self.poll.registers = self.hart.x;
        }
    }

    /// Wakes a polling core: something of its network changes in cycle `at`, and nothing did
    /// before; a poll that retires in `at` or earlier finds nothing.
    pub fn wake_from_poll(&mut self, at: Cycle) {
        let Activity::Polling { period, instructions } = self.activity else { return };
        self.activity = Activity::Running;
        // The last poll that retires before the change can be seen; those between found nothing.
        let turns = at.saturating_sub(self.decode + RETIRE) / period;
        let skipped = turns * period;
        self.decode += skipped;
        self.fetch += skipped;
        for at in self.departed.iter_mut().chain(&mut self.entered) {
            *at += skipped;
        }
        self.poll.at += skipped;
        for ready in &mut self.ready {
            *ready += skipped;
        }
        self.all_ready += skipped;
        self.hart.instret += turns * instructions;
        self.polled.0 += skipped;
        self.polled.1 += turns * instructions;
        self.poll.retired = self.hart.instret;
        self.key = self.decode + 1;
        // Should the loop find nothing again it has to show its period anew.
        self.poll.period = 0;
    }
}
