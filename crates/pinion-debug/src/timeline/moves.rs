//! How a run gets from one position to another.
//!
//! Forward it goes cycle by cycle, so that it is at the stop when it has found it. Back it goes by
//! snapshots: what lies between the last one and the present position is run again, and the last stop
//! in it is the one; if there is none, the stretch before is run.

use std::time::{Duration, Instant};

use super::snapshots::INTERVAL_CYCLES;
use super::{Arrival, Timeline, nothing_begun};
use crate::conditions::{Access, Conditions, Event};
use crate::hunt::{Candidate, Hunt, Reason};
use crate::log::{Log, Target};
use crate::{Goal, Position};
use pinion_app::error::Result;

/// Cycles between two looks at the time.
const CHUNK_CYCLES: u64 = 512;

/// Where going back ends it is likely to go on: by so many cycles before that there is a snapshot,
/// unless one is there within so many more.
const NEAR_CYCLES: u64 = 1024;
const NEAR_APART_CYCLES: u64 = 3 * NEAR_CYCLES;

/// Where a run goes.
pub enum Move {
    /// On, until something is found.
    Forward {
        /// What it looks for.
        hunt: Hunt,
        /// Memory that is compared.
        watched: Vec<Option<Vec<u8>>>,
    },
    /// Through a stretch before the position, and those before it, until something is found.
    Backward {
        /// What it looks for.
        hunt: Hunt,
        /// Memory that is compared.
        watched: Vec<Option<Vec<u8>>>,
        /// The stretch begins with the last snapshot at or before this cycle.
        reach: u64,
        /// The cycle at which it begins, once it has begun.
        from: Option<u64>,
        /// The last cycle of it.
        end: u64,
    },
    /// To a position.
    Seek {
        /// Which.
        to: Position,
        /// What is told then.
        arrival: Arrival,
    },
    /// Nowhere: it does not go back.
    Stay {
        /// Why.
        why: String,
    },
}

impl Timeline {
    /// Begins to go somewhere; [`Timeline::advance`] goes.
    ///
    /// `only` lets stops of one hart count alone. `past` is a breakpoint that is out of the conditions
    /// so that a hart gets past it: others stop at it.
    pub fn begin(
        &mut self,
        forward: bool,
        goal: Goal,
        only: Option<u32>,
        past: Option<(u32, u64)>,
    ) {
        let seeks = matches!(goal, Goal::Position(_));
        self.debuggee.dwell(!seeks && self.conditions.compare_memory());
        let goes_back = !forward || matches!(goal, Goal::Position(to) if to < self.position);
        if goes_back && self.cannot_go_back() {
            return;
        }
        let step = match goal {
            Goal::Position(to) => {
                self.load_for(to.cycle);
                let arrival = Arrival { hart: None, reason: Reason::Stepped };
                self.under_way = Some(Move::Seek { to, arrival });
                return;
            }
            Goal::Step { hart, range } => Some((hart, range)),
            Goal::Condition => None,
        };
        let mut hunt = Hunt {
            conditions: self.conditions.clone(),
            forward,
            bound: self.position,
            only,
            step,
            begun: false,
            past,
            best: None,
            written: 0,
        };
        self.under_way = Some(match forward {
            true => {
                self.consider_heard(&mut hunt);
                let watched = self.watched(&hunt);
                Move::Forward { hunt, watched }
            }
            false => {
                let end = self.position.cycle;
                Move::Backward { hunt, watched: Vec::new(), reach: end, from: None, end }
            }
        });
    }

    /// Begins to go to where the work at a packet or message begins, ahead or behind; other stops do not
    /// count.
    pub fn begin_for(&mut self, target: Target) {
        if let Some(start) = self.kept.starts.get(&target) {
            let Candidate { position: to, hart, reason } = start.clone();
            if to < self.position && self.cannot_go_back() {
                return;
            }
            self.load_for(to.cycle);
            self.under_way = Some(Move::Seek { to, arrival: Arrival { hart, reason } });
            return;
        }
        // Nothing that was run has it.
        self.load_for(u64::MAX);
        self.position = self.position.max(Position::of_units(self.cycle()));
        let events = vec![match target {
            Target::Packet(packet) => Event::Packet(packet),
            Target::Message(message) => Event::Message(message),
        }];
        let alone = Conditions { breakpoints: Vec::new(), watchpoints: Vec::new(), events };
        let conditions = std::mem::replace(&mut self.conditions, alone);
        self.begin(true, Goal::Condition, None, None);
        self.conditions = conditions;
    }

    /// Stays where it is if nothing is kept that it could go back by; tells whether it does.
    fn cannot_go_back(&mut self) -> bool {
        let why = self.snapshots.as_ref().err().cloned();
        let is_so = why.is_some();
        self.under_way = why.map(|why| Move::Stay { why });
        is_so
    }

    /// Goes on for about so long; `None`: it is not there yet.
    ///
    /// # Errors
    /// When what comes in cannot be read.
    pub fn advance(&mut self, budget: Duration) -> Result<Option<Arrival>> {
        let start = Instant::now();
        loop {
            self.trouble.take().map_or(Ok(()), Err)?;
            let under_way = self.under_way.take().ok_or_else(nothing_begun)?;
            let arrival = self.pursue(under_way)?;
            if arrival.is_some() || self.rests() || start.elapsed() >= budget {
                return Ok(arrival);
            }
        }
    }

    /// Stops wherever it is.
    pub fn stop(&mut self) {
        if self.under_way.take().is_some() {
            self.position = Position::of_units(self.cycle());
            self.heard.settle(self.position.cycle);
        }
    }

    /// Goes a piece of the way; `None`: there is more of it.
    fn pursue(&mut self, under_way: Move) -> Result<Option<Arrival>> {
        match under_way {
            Move::Forward { hunt, watched } => self.pursue_forward(hunt, watched),
            Move::Backward { hunt, watched, reach, from, end } => {
                self.pursue_backward(hunt, watched, from.ok_or(reach), end)
            }
            Move::Seek { to, arrival } => self.pursue_seek(to, arrival),
            Move::Stay { why } => Ok(Some(Arrival { hart: None, reason: Reason::NoWayBack(why) })),
        }
    }

    fn pursue_forward(
        &mut self,
        mut hunt: Hunt,
        mut watched: Vec<Option<Vec<u8>>>,
    ) -> Result<Option<Arrival>> {
        for _ in 0..CHUNK_CYCLES {
            let found = hunt.best.as_ref().map(|best| best.position.cycle);
            let is_there = found.is_some_and(|cycle| cycle <= self.cycle());
            if is_there || self.ended().is_some() {
                let end = Candidate {
                    position: Position::end(self.cycle()),
                    hart: None,
                    reason: Reason::End,
                };
                let Candidate { position, hart, reason } = hunt.best.unwrap_or(end);
                return self.arrive(position, Arrival { hart, reason }).map(Some);
            }
            self.run_cycle(&mut hunt, &mut watched)?;
            if self.rests() {
                break;
            }
        }
        self.heard.settle(self.cycle());
        self.keep_snapshot(INTERVAL_CYCLES)?;
        Ok(self.go_on(Move::Forward { hunt, watched }))
    }

    fn pursue_backward(
        &mut self,
        mut hunt: Hunt,
        mut watched: Vec<Option<Vec<u8>>>,
        from: std::result::Result<u64, u64>,
        end: u64,
    ) -> Result<Option<Arrival>> {
        let from = match from {
            Ok(from) => from,
            Err(reach) => {
                self.load(reach);
                self.consider_heard(&mut hunt);
                watched = self.watched(&hunt);
                self.cycle()
            }
        };
        let until = end.min(self.cycle() + CHUNK_CYCLES);
        if watched.is_empty() {
            self.run_to(until, Some(&mut hunt))?;
        }
        while self.cycle() < until && self.ended().is_none() {
            self.run_cycle(&mut hunt, &mut watched)?;
        }
        if self.cycle() < end && self.ended().is_none() {
            self.heard.settle(self.cycle());
            self.keep_snapshot(INTERVAL_CYCLES)?;
            let reach = from;
            let from = Some(from);
            return Ok(self.go_on(Move::Backward { hunt, watched, reach, from, end }));
        }
        if let Some(Candidate { position, hart, reason }) = hunt.best {
            self.load_for(position.cycle);
            let arrival = Arrival { hart, reason };
            return Ok(self.go_on(Move::Seek { to: position, arrival }));
        }
        if from <= self.first {
            self.load_for(self.first);
            let arrival = Arrival { hart: None, reason: Reason::Begin };
            return Ok(self.go_on(Move::Seek { to: Position::of_units(self.first), arrival }));
        }
        let reach = from - 1;
        Ok(self.go_on(Move::Backward { hunt, watched, reach, from: None, end: from }))
    }

    fn pursue_seek(&mut self, to: Position, arrival: Arrival) -> Result<Option<Arrival>> {
        if self.cycle() >= to.cycle {
            return self.arrive(to, arrival).map(Some);
        }
        if self.ended().is_some() {
            let arrival = Arrival { hart: None, reason: Reason::End };
            return self.arrive(Position::end(self.cycle()), arrival).map(Some);
        }
        let near = to.cycle.saturating_sub(NEAR_CYCLES);
        let mut until = to.cycle.min(self.cycle() + CHUNK_CYCLES);
        if self.cycle() < near {
            until = until.min(near);
        }
        self.run_to(until, None)?;
        self.heard.settle(self.cycle().min(to.cycle));
        let apart = if until == near { NEAR_APART_CYCLES } else { INTERVAL_CYCLES };
        self.keep_snapshot(apart)?;
        Ok(self.go_on(Move::Seek { to, arrival }))
    }

    fn arrive(&mut self, position: Position, arrival: Arrival) -> Result<Arrival> {
        self.position = position;
        self.heard.settle(position.cycle);
        let is_shown =
            self.shown.as_ref().is_some_and(|shown| shown.reached.cycle == position.cycle);
        if self.cycle() > position.cycle
            && !is_shown
            && let Ok(snapshots) = &self.snapshots
        {
            let from = snapshots.at_or_before(position.cycle);
            let mut heard = from.heard.clone();
            let mut log = Log { heard: &mut heard, kept: None, hunt: None };
            self.debuggee.show(&from.saved, position.cycle, &mut log)?;
            heard.settle(position.cycle);
            heard.reached.cycle = position.cycle;
            self.shown = Some(heard);
        }
        Ok(arrival)
    }

    fn go_on(&mut self, rest: Move) -> Option<Arrival> {
        self.under_way = Some(rest);
        None
    }

    /// Takes the state from which a cycle is reached soonest.
    pub(super) fn load_for(&mut self, cycle: u64) {
        let Ok(snapshots) = &self.snapshots else { return };
        let kept = snapshots.at_or_before(cycle).heard.reached.cycle;
        if self.cycle() > cycle || kept > self.cycle() {
            self.load(cycle);
        }
    }

    /// Takes the last state that was kept at or before a cycle.
    fn load(&mut self, cycle: u64) {
        let Ok(snapshots) = &self.snapshots else { return };
        let kept = snapshots.at_or_before(cycle);
        self.shown = None;
        self.heard.clone_from(&kept.heard);
        self.trouble = self.trouble.take().or(self.debuggee.restore(&kept.saved).err());
    }

    fn keep_snapshot(&mut self, apart: u64) -> Result<()> {
        let Ok(snapshots) = &self.snapshots else { return Ok(()) };
        if self.ended().is_none() && snapshots.wants(self.cycle(), apart) {
            let snapshot = self.snapshot()?;
            if let Ok(snapshots) = &mut self.snapshots {
                snapshots.keep(snapshot);
            }
        }
        Ok(())
    }

    /// Considers what was heard already and lies ahead.
    fn consider_heard(&self, hunt: &mut Hunt) {
        self.heard.harts.heard().for_each(|(hart, step)| hunt.consider(hart, step));
        self.heard.notes.iter().for_each(|note| hunt.consider_note(note));
        hunt.written = 0;
    }

    /// Runs the next cycle, and compares the memory that is watched.
    fn run_cycle(&mut self, hunt: &mut Hunt, watched: &mut [Option<Vec<u8>>]) -> Result<()> {
        hunt.written = 0;
        self.run_to(self.cycle() + 1, Some(hunt))?;
        for (number, before) in watched.iter_mut().enumerate() {
            let Some(before) = before else { continue };
            let (now, reason) = self.look(hunt, number);
            if now != *before {
                *before = now;
                if hunt.written >> (number & 63) & 1 == 0 {
                    hunt.consider_change(self.cycle(), reason);
                }
            }
        }
        Ok(())
    }

    /// Gives the memory that has to be compared; nothing if none has.
    fn watched(&self, hunt: &Hunt) -> Vec<Option<Vec<u8>>> {
        let conditions = &hunt.conditions;
        if !conditions.compare_memory() || !self.debuggee.units_write_memory() {
            return Vec::new();
        }
        let count = conditions.watchpoints.len() + conditions.events.len();
        let is_compared = |number: usize| match conditions.watchpoints.get(number) {
            Some(watchpoint) => watchpoint.access != Access::Read,
            None => {
                let event = &conditions.events[number - conditions.watchpoints.len()];
                matches!(event, Event::Host(_))
            }
        };
        let numbers = 0..count;
        numbers.map(|number| is_compared(number).then(|| self.look(hunt, number).0)).collect()
    }

    /// Looks at what a watchpoint, or behind them an event, watches; says what it is if it changes.
    fn look(&self, hunt: &Hunt, number: usize) -> (Vec<u8>, Reason) {
        let conditions = &hunt.conditions;
        let mut bytes = Vec::new();
        let Some(watchpoint) = conditions.watchpoints.get(number) else {
            let event = &conditions.events[number - conditions.watchpoints.len()];
            let Event::Host(range) = event else { return (bytes, Reason::Stepped) };
            bytes.resize(range.bytes as usize, 0);
            self.debuggee.read_host(range.address, &mut bytes);
            return (bytes, Reason::HostChanged { address: range.address });
        };
        for &place in &watchpoint.places {
            self.debuggee.append_bytes(place, watchpoint.bytes, &mut bytes);
        }
        let (address, access) = (watchpoint.given, watchpoint.access);
        (bytes, Reason::Watchpoint { address, access, by_unit: true })
    }
}
