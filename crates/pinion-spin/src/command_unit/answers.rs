//! What is done at the interfaces, on its way back to the HPUs: one answer in a cycle.
//!
//! In: commands that are done, from their interfaces. Out: each one's answer to its HPU, and its free slot. Holds what
//! waits: of several interfaces one has its turn. (RTL: cmd_unit, i_resp_fifo and i_cmd_resp_arb.)

use std::collections::VecDeque;

use pinion_sim::arbiter::Arbiter;

use super::CommandUnit;
use crate::command::Kind;
use crate::shared::Shared;
use crate::wake::{Due, Wake};

/// A command that is done in its interface.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub command: u32,
    pub kind: Kind,
    pub to_host: bool,
}

/// Lets the interfaces answer in turns.
#[derive(Clone, Debug)]
pub struct AnswerTurns {
    turns: Arbiter,
    /// By interface, in the order of [`Kind`].
    waiting: [VecDeque<Done>; 3],
    /// When the next one goes.
    pub wake: Wake,
}

impl AnswerTurns {
    /// Makes idle ones.
    pub fn new() -> Self {
        Self { turns: Arbiter::new(3), waiting: Default::default(), wake: Wake::default() }
    }

    /// Notes what is done at cycle `now`.
    pub fn add(&mut self, now: u64, done: Done) {
        let waiting = &mut self.waiting[done.kind as usize];
        waiting.push_back(done);
        if waiting.len() == 1 {
            self.turns.ask(now, done.kind as u32);
        }
    }

    /// Takes what has its turn at cycle `now`.
    fn take(&mut self, now: u64) -> Option<Done> {
        let interface = self.turns.grant(now)?;
        let waiting = &mut self.waiting[interface as usize];
        let done = waiting.pop_front();
        if !waiting.is_empty() {
            self.turns.ask(now + 1, interface);
        }
        done
    }
}

impl CommandUnit {
    /// Lets the command be answered whose turn was in the cycle before `now`, of which all is known: its slot is free
    /// again, and its HPU learns of it.
    pub fn answer(&mut self, shared: &mut Shared, now: u64) {
        let turn = now - 1;
        let taken = self.answers.take(turn);
        if let Some(next) = self.answers.turns.next(turn) {
            shared.wake(&mut self.answers.wake, next + 1, Due::CommandAnswer);
        }
        let Some(Done { command, kind, to_host }) = taken else { return };
        if let Some(seat) = shared.hardware.commands() {
            seat.done(kind, to_host);
        }
        let free = self.slots(kind).release(turn);
        self.wake_at(shared, free);
        let response = turn + shared.machine.command.response_cycles;
        shared.wheel.push(response, Due::CommandResponse(command));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_answered_in_a_cycle() {
        let mut answers = AnswerTurns::new();
        let done = |kind, command| Done { command, kind, to_host: false };
        answers.add(5, done(Kind::HostDma, 1));
        answers.add(5, done(Kind::Send, 2));
        answers.add(6, done(Kind::Send, 3));
        let mut order = Vec::new();
        for cycle in 4..9 {
            order.push(answers.take(cycle).map(|done| done.command));
        }
        // The tree's pointer goes from 0 to the lowest above it that asks, which is the one that was served, and only then on.
        assert_eq!(order, [None, Some(2), Some(3), Some(1), None]);
    }
}
