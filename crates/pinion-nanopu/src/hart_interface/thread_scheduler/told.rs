//! The outputs of the thread scheduler in every cycle, for a block beside it.

use std::collections::VecDeque;

use super::super::local_receive::ContextQueue;
use super::{Clocks, NO_CONTEXT, ThreadScheduler};
use crate::Cycle;
use crate::hardware::Expected;

impl ThreadScheduler {
    /// Looks at all cycles before `to`, one by one.
    pub(super) fn tell_until(&mut self, to: Cycle, queues: &[ContextQueue]) {
        while self.settled < to {
            let (cycle, before) = (self.settled, self.clocks);
            self.look(cycle + 1, queues);
            // Who is lowered in a cycle is still chosen in it as if they were not.
            let clocks = Clocks { lowered: before.lowered, ..self.clocks };
            let (target, _) = self.target_under(&clocks, cycle, queues);
            let up = self.up(cycle..cycle + 1, queues).is_some();
            let told = Expected {
                cycle,
                is_up: up,
                target: (target != NO_CONTEXT).then_some(target),
                priority: self.priority(&self.clocks, target),
            };
            self.told.get_or_insert_default().push_back(told);
        }
    }

    /// Tells of every cycle from now on what the outputs are in it.
    pub fn tell(&mut self) {
        self.told = Some(VecDeque::new());
    }

    /// Gives what the outputs are in the next cycle, of those before `to` that are settled.
    pub fn next_told(&mut self, to: Cycle) -> Option<Expected> {
        let told = self.told.as_mut()?;
        told.front().filter(|expected| expected.cycle < to)?;
        told.pop_front()
    }
}
