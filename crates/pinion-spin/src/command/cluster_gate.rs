//! The way of commands' requests into the clusters' L1: copies from the host write there, sends and
//! copies to the host read.
//!
//! In: when a request comes, and of a write when its first beat does. Out: when a read passes. Holds how
//! long writes' requests were kept waiting. A write's request goes ahead of its data and waits for them
//! in front of the memory; reads' requests behind it wait, too, and one passes between two such writes.
//! (RTL: cluster_noc; axi_id_remap in state HoldAW, axi_to_mem.)

use std::collections::VecDeque;

/// Waits that are remembered: more commands are not on their way.
const REMEMBERED_WAITS: usize = 16;

/// Lets requests pass.
#[derive(Clone, Debug, Default)]
pub struct ClusterGate {
    waits: VecDeque<Wait>,
}

/// Says from when to when a write's request was kept waiting.
#[derive(Clone, Copy, Debug)]
struct Wait {
    from: u64,
    to: u64,
    /// Whether a read passes behind it.
    is_followed: bool,
}

impl ClusterGate {
    /// Takes a write that asks in cycle `asks` and whose first beat is in cycle `first_beat`.
    pub fn write(&mut self, asks: u64, first_beat: u64) {
        let from = self.waits.back().map_or(asks, |wait| asks.max(wait.to));
        let to = first_beat + 1;
        if from >= to {
            return;
        }
        if self.waits.len() == REMEMBERED_WAITS {
            self.waits.pop_front();
        }
        self.waits.push_back(Wait { from, to, is_followed: false });
    }

    /// Lets a read that asks in cycle `asks` pass; gives when.
    pub fn admit_read(&mut self, asks: u64) -> u64 {
        let mut passes = asks;
        for wait in &mut self.waits {
            if wait.from < passes && passes < wait.to {
                passes = wait.to;
            }
            if passes == wait.to && std::mem::replace(&mut wait.is_followed, true) {
                passes += 1;
            }
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_passes_between_two_writes_that_wait() {
        let mut gate = ClusterGate::default();
        gate.write(10, 18);
        gate.write(11, 26);
        gate.write(40, 40);
        assert_eq!([gate.admit_read(10), gate.admit_read(12), gate.admit_read(12)], [10, 19, 27]);
        assert_eq!([gate.admit_read(13), gate.admit_read(30)], [28, 30]);
        assert_eq!(gate.admit_read(60), 60);
    }
}
