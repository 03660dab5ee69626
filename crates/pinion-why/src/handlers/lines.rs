//! Where the cycles of one packet's handlers went, by line of source.
//!
//! Each cycle between a handler's begin and end counts for the instruction that ends it: the one that is
//! issued then, or whose access is performed. So the lines' cycles add up to the handlers' time. What others
//! do meanwhile at words that they share tells which locks the handlers waited for.

use rustc_hash::FxHashMap as HashMap;

use pinion_sim::Time;
use pinion_spin::{Event, HandlerRecord, Hears, Interest, Spin};

use super::subject::Subject;
use super::witness::Witness;
use crate::locks::{Deed, Does, Locks, Spent};
use crate::way::shares;
use pinion_app::error::Result;
use pinion_observe::trace::{EARLY_CYCLES, Tracer};

/// Hears a packet's handlers, instruction by instruction.
pub struct Lines {
    /// Its handlers: the HPU of each, and when it ran, in cycles.
    ran: Vec<((u32, u32), u64, u64)>,
    begin: Time,
    end: Time,
    settled: Time,
    /// By handler: the cycle of its last instruction.
    last: Vec<u64>,
    /// By address: cycles and instructions.
    counts: HashMap<u32, (u64, u64)>,
    locks: Locks,
}

impl Lines {
    /// Makes a listener for the packet that a witness has kept; `None`: no handler ran for it.
    pub fn new<'s>(subject: impl Into<Subject<'s>>, witness: &Witness) -> Option<Self> {
        let life = witness.life()?;
        let clock = subject.into().clock();
        let (first, last) = (life.handlers().next()?.start, life.handlers().last()?.end);
        let begin = clock.time(clock.cycle_at(first).saturating_sub(EARLY_CYCLES));
        let ran = |one: &HandlerRecord| {
            ((one.cluster, one.hpu), clock.cycle_at(one.start), clock.cycle_at(one.end))
        };
        let ran: Vec<_> = life.handlers().map(ran).collect();
        let starts = ran.iter().map(|(_, start, _)| *start).collect();
        let (end, counts, locks) = (last, HashMap::default(), Locks::default());
        Some(Self { ran, begin, end, settled: Time::ZERO, last: starts, counts, locks })
    }

    /// Gives what the handlers spent their time with.
    pub fn spent<'s>(&self, subject: impl Into<Subject<'s>>) -> Spent {
        let counts = self.counts.iter().map(|(pc, sums)| (u64::from(*pc), *sums));
        let subject = subject.into();
        let source = subject.lines();
        let lines = shares((&source, subject.image), counts);
        let locks = self.locks.waits(subject.clock(), &source);
        Spent { lines, locks }
    }
}

impl Hears<Spin> for Lines {
    fn interest(&self) -> Interest {
        Interest { instructions: self.settled >= self.begin, ..Interest::default() }
    }

    fn hear(&mut self, event: &Event<'_>) {
        let Event::Instruction(record) = event else { return };
        let (hpu, cycle) = ((record.cluster, record.hpu), record.cycle);
        // The doorbell belongs to no task any more.
        let own = |(at, start, end): &((u32, u32), u64, u64)| {
            *at == hpu && (*start..=*end).contains(&cycle)
        };
        let handler = self.ran.iter().position(own);
        if let Some((address, does)) = record.address.zip(Does::of(&record.instruction))
            && record.trap.is_none()
        {
            let packet = record.task.map(|task| task.packet);
            let (order, found) = (cycle, u64::from(record.found as u32));
            let deed = Deed { order, cycle, seat: hpu, packet, found, does };
            self.locks.hear(u64::from(address & !3), record.pc.into(), deed, handler.is_some());
        }
        let Some(handler) = handler else { return };
        let sum = self.counts.entry(record.pc).or_default();
        let last = std::mem::replace(&mut self.last[handler], cycle);
        (sum.0, sum.1) = (sum.0 + cycle.saturating_sub(last), sum.1 + 1);
    }
}

impl Tracer for Lines {
    fn begin(&self) -> Time {
        self.begin
    }

    fn end(&self) -> Time {
        self.end
    }

    fn settle(&mut self, until: Time) -> Result<()> {
        self.settled = until;
        Ok(())
    }
}
