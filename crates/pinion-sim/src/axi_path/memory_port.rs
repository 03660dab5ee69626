//! A memory's port: it serves a beat in a cycle, reads and writes by turns.

use std::collections::VecDeque;

use super::Burst;
use crate::arbiter::RoundRobin;

/// Answers that a port has room for (RTL: nhi_port_wrap, BufDepth).
const MOST_ANSWERS: u8 = 4;
/// Numbers of what asks for a beat.
const WRITES: u32 = 0;
const READS: u32 = 1;

/// What is to be given back of a burst.
#[derive(Clone, Copy, Debug)]
struct Answer {
    master: usize,
    token: u32,
    left: u64,
}

/// Holds the bursts that are read from a memory (RTL: axi_to_mem_interleaved).
#[derive(Clone, Debug, Default)]
pub struct MemoryPort {
    answers: VecDeque<Answer>,
    /// Beats of the last burst that were not read yet, and the line of the first of them.
    to_read: u64,
    line: u64,
    /// Beats that were read and wait to go back.
    waiting: u8,
    /// Whose turn it is where both ask.
    turns: RoundRobin,
}

impl MemoryPort {
    /// Says whether a burst that it took was not read to its end: it takes no other then.
    pub fn is_reading(&self) -> bool {
        self.to_read > 0
    }

    /// Says whether it has something to give back.
    pub fn responds(&self) -> bool {
        self.waiting > 0
    }

    /// Says whether there is room for an answer.
    pub fn has_room(&self) -> bool {
        self.waiting < MOST_ANSWERS
    }

    /// Gives the line that it asks for of a burst that it took, if it does.
    pub fn asks(&self) -> Option<u64> {
        (self.is_reading() && self.has_room()).then_some(self.line)
    }

    /// Serves a read or a write, each of its line: by turns where both ask (RTL: rr_arb_tree). The memory says whether
    /// it gives that line in this cycle; if not, they ask again.
    pub fn serve(
        &mut self,
        reads: Option<u64>,
        writes: Option<u64>,
        gives: impl FnOnce(u64) -> bool,
    ) -> (bool, bool) {
        let asks = u64::from(writes.is_some()) << WRITES | u64::from(reads.is_some()) << READS;
        let mut turns = self.turns.clone();
        let read = turns.grant_word(asks) == Some(READS);
        let line = if read { reads } else { writes };
        let Some(line) = line else { return (false, false) };
        if !gives(line) {
            return (false, false);
        }
        self.turns = turns;
        (read, !read)
    }

    /// Takes a burst to read.
    pub fn take(&mut self, master: usize, burst: Burst) {
        (self.to_read, self.line) = (burst.beats, burst.line);
        self.answers.push_back(Answer { master, token: burst.token, left: burst.beats });
    }

    /// Reads a beat.
    pub fn read_beat(&mut self) {
        self.to_read -= 1;
        self.line += 1;
        self.waiting += 1;
    }

    /// Gives a beat back; gives the master and the token of the burst that it ends.
    pub fn give_back(&mut self) -> Option<(usize, u32)> {
        self.waiting -= 1;
        let first = self.answers.front_mut()?;
        first.left -= 1;
        let ended = (first.left == 0).then_some((first.master, first.token));
        if ended.is_some() {
            self.answers.pop_front();
        }
        ended
    }

    /// Gives the master of the first burst and the cycles until its last beat can go back, from the
    /// next one on.
    pub fn next_end(&self) -> Option<(usize, u64)> {
        let first = self.answers.front()?;
        Some((first.master, first.left - 1 + u64::from(self.waiting == 0)))
    }
}
