//! Runs a small core on past lines that it asks for without anybody's noticing.
//!
//! In: a core that has come to a line which its cluster's cache has, but not the next one, so that it must
//! ask for it in its turn. Out: the cycles in which it asks, one after the other, and why it stops behind
//! the last of them. The core is ahead of its machine then, which goes from one of those cycles to the
//! next in the order of all events, as if the core asked in each, and finds it has nothing to do there.
//! Before anything changes that the core has seen, [`Onward::take_back`] brings it back to where the
//! machine believes it to be: the cache's lines, the program, or the core itself.

use super::Core;
use super::code::Code;
use super::costs::Costs;
use super::lean::{Start, run_lean};
use super::run_ahead::RUN_AHEAD_CYCLES;
use super::turn::Stand;
use crate::port::{Destinations, HeldLines, Stop};

/// Cycles before it comes to a line by which a core has come to the fetch stage at most.
const EARLIER_CYCLES: u64 = 8;

/// Cycles that follow each other at the same distance.
#[derive(Clone, Copy, Debug, Default)]
struct Series {
    first: u64,
    apart: u64,
    count: u64,
}

/// Holds what a core has done beyond the line it came to.
#[derive(Clone, Debug)]
pub struct Onward {
    /// The line to which the machine comes next, and those that follow it at the same distance.
    next: Series,
    /// How many series were begun.
    begun: usize,
    /// When the core comes to the lines.
    lines: Vec<Series>,
    /// The core as it came to the first of the lines.
    before: Core,
    /// Why it stops behind the last of them.
    stop: Stop,
    /// When.
    time: u64,
}

impl Onward {
    /// Makes one that has nothing to tell yet, with the core that it is for.
    pub fn new(core: &Core) -> Self {
        let (next, before) = (Series::default(), core.clone());
        Self { next, begun: 0, lines: Vec::new(), before, stop: Stop::Shared, time: 0 }
    }

    /// Runs a core on, without Xpulp, that has come to an instruction at `time` which it must fetch, for as
    /// long as nobody notices, up to a cycle `until`; `false`: somebody would at once, and nothing is done.
    pub fn run<P: HeldLines + Destinations + Copy>(
        &mut self,
        core: &mut Core,
        port: P,
        (costs, code): (&Costs, &Code),
        time: u64,
        until: u64,
    ) -> bool {
        if !is_at_line(core, code) {
            return false;
        }
        self.before.clone_from(core);
        let Some(mut now) = fetch_unnoticed(core, code, &port, time) else { return false };
        self.lines.clear();
        let until = until.min(time + RUN_AHEAD_CYCLES);
        let mut came = time;
        let mut last: Option<Stand> = None;
        loop {
            self.note(came);
            // What a turn finds may depend on the cycles shortly before it.
            if let Some(last) = &last
                && port.is_settled(last.came.saturating_sub(EARLIER_CYCLES))
            {
                let (turns, cycles) = last.repeat(core, code, (came, now), until);
                if turns > 0 {
                    self.note_more(turns, cycles);
                    (came, now) = (came + turns * cycles, now + turns * cycles);
                }
            }
            last = Some(Stand::of(core, came, now));
            let start = Start::of(core, code);
            let stop = run_lean(core, port, costs, code, start, &mut now);
            if stop == Stop::Shared
                && now <= until
                && is_at_line(core, code)
                && let Some(executes) = fetch_unnoticed(core, code, &port, now)
            {
                (came, now) = (now, executes);
                continue;
            }
            (self.stop, self.time) = (stop, now);
            self.begun = 0;
            self.begin();
            return true;
        }
    }

    /// Notes the cycle in which the core comes to a line.
    fn note(&mut self, at: u64) {
        if let Some(last) = self.lines.last_mut() {
            if last.count == 1 {
                last.apart = at - last.first;
            }
            if at == last.first + last.apart * last.count {
                last.count += 1;
                return;
            }
        }
        self.lines.push(Series { first: at, apart: 0, count: 1 });
    }

    /// Notes further lines, as far apart as the last two are.
    fn note_more(&mut self, count: u64, apart: u64) {
        if let Some(last) = self.lines.last_mut() {
            debug_assert!(last.apart == apart || last.count == 1, "{last:?}");
            (last.apart, last.count) = (apart, last.count + count);
        }
    }

    /// Begins the next series; `false`: there is none.
    fn begin(&mut self) -> bool {
        let next = self.lines.get(self.begun).copied();
        self.begun += 1;
        self.next = next.unwrap_or_default();
        next.is_some()
    }

    /// Says whether the line to which the machine comes next is the last one.
    #[inline]
    pub fn is_last(&self) -> bool {
        self.next.count <= 1 && self.begun >= self.lines.len()
    }

    /// Gives the cycle in which the core comes to the next line, once the machine has come to the one
    /// before.
    ///
    /// # Errors
    /// Why it stops behind the last one, and when.
    #[inline]
    pub fn pass(&mut self) -> Result<u64, (Stop, u64)> {
        if self.next.count > 1 {
            self.next.first += self.next.apart;
            self.next.count -= 1;
        } else if !self.begin() {
            return Err((std::mem::replace(&mut self.stop, Stop::Shared), self.time));
        }
        Ok(self.next.first)
    }

    /// Takes a core back to the line to which the machine comes next.
    pub fn take_back<P: HeldLines + Destinations + Copy>(
        &mut self,
        core: &mut Core,
        port: P,
        (costs, code): (&Costs, &Code),
    ) {
        core.clone_from(&self.before);
        let begun: u64 =
            self.lines[..self.begun.min(self.lines.len())].iter().map(|one| one.count).sum();
        let passed = begun - self.next.count;
        let mut now = self.lines.first().map_or(0, |first| first.first);
        for _ in 0..passed {
            let executes = fetch_unnoticed(core, code, &port, now);
            debug_assert!(executes.is_some(), "nothing has changed");
            now = executes.unwrap_or(now);
            let start = Start::of(core, code);
            run_lean(core, port, costs, code, start, &mut now);
        }
        debug_assert_eq!(now, self.next.first, "it came there as before");
    }
}

/// Says whether a core has come to an instruction that is known and has to be fetched.
fn is_at_line(core: &Core, code: &Code) -> bool {
    !core.buffer.covers(core.hart.pc) && code.get(core.hart.pc).is_some()
}

/// Fetches what a core has come to at `time` if the cache has it and notices nothing; gives the cycle in
/// which it executes.
#[inline]
pub fn fetch_unnoticed(
    core: &mut Core,
    code: &Code,
    cache: &impl HeldLines,
    time: u64,
) -> Option<u64> {
    let executes = core.buffer.fetch_unnoticed(&core.arrival(time), code, cache)?;
    core.fetched(time, executes);
    Some(executes)
}
