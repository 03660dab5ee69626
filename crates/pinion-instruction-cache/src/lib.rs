//! A cluster's instruction cache, shared by its cores.
//!
//! In: the line a core asks for, and when. Out: the cycle in which its data come. Holds tags and the
//! refills under way. Each core looks at the tags itself. What it does not find it asks of one
//! controller, which takes a request in a cycle and knows which lines are on their way: cores that ask
//! for one share its refill, those that come as it is written look again, and those that come later
//! have it refilled once more. Of those that wait it prefers another one after each. Refills go through
//! the program memory's one port, on which clusters take turns, so when a line comes is known once its
//! request is in the port's queue: cores ask again then. A refill takes the way that its core found empty when it
//! looked, or one that the core draws. Off at reset: every line is then read past
//! the cache. What cores ask for ahead is their prefetch buffers' affair. (RTL: icache_bank_mp_128,
//! icache_intc, central_controller_128, merge_refill_cam_128_16, prog_mem.)

mod lines;

use lines::{Lines, NEVER};
use pinion_cores::port::{self, Answer, HeldLines};
use pinion_sim::queued_port::QueuedPort;
use pinion_spin_machine::Machine;

/// Cycles from a core's request to its turn at the controller: a look at the tags, a state and a
/// buffer (RTL: icache_bank_mp_128).
const TO_CONTROLLER_CYCLES: u64 = 3;

/// The same where the cache is off: the buffer alone.
const PAST_TO_CONTROLLER_CYCLES: u64 = 1;

/// Cycles from the controller's turn to the data of a core that is to look again (RTL:
/// merge_refill_cam_128_16, retry_fetch).
const RETRY_CYCLES: u64 = 2;

/// Cycles from the store that turns the cache on to the last request that goes past it (RTL:
/// mp_pf_icache_ctrl_unit behind the peripherals' interconnect).
const TO_CONTROL_CYCLES: u64 = 2;

/// Makes the program memory's one port, which the clusters' caches share.
pub fn program_port(machine: &Machine) -> QueuedPort {
    let beats = machine.instruction_cache.refill_port_cycles as u32;
    QueuedPort::new(machine.cluster.count, beats)
}

/// A line on its way.
#[derive(Clone, Copy, Debug)]
struct Refill {
    line: u32,
    /// Where it is to be written.
    place: usize,
    /// The cycle in which it was asked for.
    turn: u64,
    /// The cycle in which it is written, if that is known.
    written: Option<u64>,
}

/// A request that waits for its turn at the controller, or had it.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// The core's index.
    core: usize,
    /// Cycle from which it waits for its turn.
    from: u64,
    line: u32,
    /// Where the line is to be written: what the core found free when it looked; nowhere if it reads
    /// past the cache.
    place: Option<usize>,
    state: State,
}

/// Says how far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It waits for its turn.
    Waits,
    /// Its line is refilled, since this turn; when that ends is not known.
    Refills(u64),
    /// Its data come in this cycle.
    Served(u64),
}

/// Decides when a core gets its instructions.
#[derive(Clone, Debug)]
pub struct InstructionCache {
    lines: Lines,
    line_shift: u32,
    cores: usize,
    /// The first cycle in which the controller is free.
    free_at: u64,
    /// Which core it prefers: the one whose index differs least from this, the high bits first. It
    /// counts what was taken.
    preferred: usize,
    /// Whether the one that it chose last cannot be taken, for want of room.
    is_full: bool,
    /// What cores have asked for and have not heard of.
    requests: Vec<Request>,
    /// Lines on their way, and the last ones that came.
    refills: Vec<Refill>,
    /// Cycles from the one in which the port accepts a refill to that in which the line is written.
    accepted_to_written: u64,
    /// The cluster's index.
    cluster: u32,
    /// The cycle from which it is on.
    on_from: u64,
    misses: u64,
}

/// Cycles from a request to its data where the cache has them.
const HIT_CYCLES: u64 = 1;

impl InstructionCache {
    /// Makes a cache that is off.
    pub fn new(machine: &Machine, cluster: u32) -> Self {
        let config = &machine.instruction_cache;
        Self {
            lines: Lines::new(machine),
            line_shift: config.line_bytes.trailing_zeros(),
            cores: machine.cluster.cores as usize,
            free_at: 0,
            preferred: 0,
            is_full: false,
            requests: Vec::new(),
            refills: Vec::new(),
            accepted_to_written: config.miss_cycles.saturating_sub(TO_CONTROLLER_CYCLES + 1),
            cluster,
            on_from: NEVER,
            misses: 0,
        }
    }

    /// Has it turned on by a store at cycle `now`, empty; gives the cycle in which the store is answered:
    /// it waits until every line is invalid. A core goes on with the line it holds.
    pub fn turn_on(&mut self, now: u64) -> u64 {
        if self.on_from != NEVER {
            return now;
        }
        self.on_from = now + TO_CONTROL_CYCLES;
        self.free_at = self.on_from + u64::from(self.lines.sets());
        self.lines.change();
        self.free_at
    }

    /// Gives the number of lines that had to be refilled.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Lets a core ask, at cycle `now`, for a line from cycle `from` on.
    fn request(
        &mut self,
        core: usize,
        line: u32,
        (now, from): (u64, u64),
        port: &mut QueuedPort,
    ) -> Answer {
        self.settle(now, port);
        if from < self.on_from {
            return self.ask(core, line, from + PAST_TO_CONTROLLER_CYCLES, None);
        }
        if self.lines.is_there(line, from) {
            return Answer::Data(from + HIT_CYCLES);
        }
        let place = self.lines.place(line, from, core);
        self.ask(core, line, from + TO_CONTROLLER_CYCLES, Some(place))
    }

    /// Lets a core's request wait for its turn at the controller from a cycle on.
    fn ask(&mut self, core: usize, line: u32, from: u64, place: Option<usize>) -> Answer {
        self.requests.retain(|request| request.core != core);
        self.requests.push(Request { core, from, line, place, state: State::Waits });
        Answer::Later(from)
    }

    /// Gives the cycle in which the data of a core's request come, if that is known at cycle `now`.
    #[inline(always)]
    fn serve(&mut self, core: usize, now: u64, port: &mut QueuedPort) -> Result<u64, u64> {
        self.settle(now, port);
        let found = self.requests.iter().position(|request| request.core == core);
        let Some(index) = found else { return Ok(now) };
        match self.requests[index].state {
            // Its turn is no sooner; another one may come before it.
            State::Waits => {
                let again = self.requests[index].from.max(self.free_at).max(now + 1);
                Err(if self.is_full { again.max(port.room_from(self.cluster)) } else { again })
            }
            State::Refills(turn) => Err(port.not_before(self.cluster, turn + 1).max(now + 1)),
            State::Served(data_at) => {
                self.requests.swap_remove(index);
                Ok(data_at)
            }
        }
    }

    /// Goes on to a cycle: lets those have their turn who have it by then, and lines be refilled.
    fn settle(&mut self, now: u64, port: &mut QueuedPort) {
        if self.requests.is_empty() {
            return;
        }
        loop {
            let waiting = || self.requests.iter().filter(|it| it.state == State::Waits);
            let first = waiting().map(|it| it.from.max(self.free_at)).min();
            let turn = first.filter(|&turn| turn <= now);
            // What was accepted by a turn may be written by then.
            self.note_refills(turn.unwrap_or(now), port);
            let Some(turn) = turn else { return };
            let preferred = self.preferred;
            let asking = self.requests.iter_mut().filter(|it| it.state == State::Waits);
            let asking = asking.filter(|it| it.from <= turn);
            let Some(chosen) = asking.min_by_key(|it| it.core ^ preferred) else { return };
            let request = *chosen;
            let taken = self.take_turn(turn, request, port);
            (self.is_full, self.free_at) = (taken.is_none(), turn + 1);
            let Some(state) = taken else { continue };
            if let Some(request) = self.requests.iter_mut().find(|it| it.core == request.core) {
                request.state = state;
            }
            self.prefer_next();
        }
    }

    /// Notes that the controller has taken something.
    fn prefer_next(&mut self) {
        self.preferred = (self.preferred + 1) % self.cores.next_power_of_two();
    }

    /// Notes the refills that have entered the port's queue by a cycle.
    fn note_refills(&mut self, by: u64, port: &mut QueuedPort) {
        while let Some((asked, accepted)) = port.take_entered(self.cluster, by) {
            let turn = asked - 1;
            let written = accepted + self.accepted_to_written;
            for request in &mut self.requests {
                if request.state == State::Refills(turn) {
                    let hit = if request.place.is_some() { HIT_CYCLES } else { 0 };
                    request.state = State::Served(written + hit);
                }
            }
            if let Some(refill) = self.refills.iter_mut().find(|it| it.turn == turn) {
                refill.written = Some(written);
                let Refill { line, place, .. } = *refill;
                self.lines.fill(place, line, written);
            }
        }
    }

    /// Lets the controller take a request; `None`: it cannot, for it would have to ask for the line, and
    /// where those wait that it has asked for there is no room.
    fn take_turn(&mut self, turn: u64, request: Request, port: &mut QueuedPort) -> Option<State> {
        let line = request.line;
        if let Some(state) = request.place.and_then(|_| self.joins(line, turn)) {
            return Some(state);
        }
        if !port.has_room(self.cluster, turn) {
            return None;
        }
        port.ask(self.cluster, turn + 1);
        if let Some(place) = request.place {
            self.misses += 1;
            self.refills.push(Refill { line, place, turn, written: None });
        }
        Some(State::Refills(turn))
    }

    /// Says how a request for a line that is on its way, or was written last, goes on.
    fn joins(&mut self, line: u32, turn: u64) -> Option<State> {
        // The controller remembers the line that was written last for a cycle.
        self.refills.retain(|it| it.written.is_none_or(|written| turn <= written + 1));
        let refill = self.refills.iter().find(|it| it.line == line)?;
        Some(match refill.written {
            None => State::Refills(refill.turn),
            Some(written) if turn < written => State::Served(written + HIT_CYCLES),
            Some(_) => State::Served(turn + RETRY_CYCLES),
        })
    }
}

/// The cache as the port of a core in its turn: it may ask for lines.
pub struct InstructionPort<'a> {
    /// The core's index in its cluster.
    pub core: usize,
    /// The cycle.
    pub now: u64,
    /// The cache.
    pub cache: &'a mut InstructionCache,
    /// The port to program memory behind it.
    pub program: &'a mut QueuedPort,
}

impl HeldLines for InstructionCache {
    #[inline(always)]
    fn line_shift(&self) -> u32 {
        self.line_shift
    }

    #[inline(always)]
    fn has(&self, line: u32, now: u64) -> bool {
        self.lines.has(line, now)
    }

    #[inline(always)]
    fn has_with_next(&self, line: u32, now: u64) -> bool {
        self.lines.has_with_next(line, now)
    }

    #[inline]
    fn around(&self, line: u32, now: u64, most: u32) -> [u32; 2] {
        match self.lines.around(line, now, most) {
            Some(around) => around,
            None => port::around_one_by_one(self, line, now, most),
        }
    }

    #[inline]
    fn gives(&self, line: u32, from: u64) -> Option<u64> {
        let is_there =
            self.on_from <= from && self.requests.is_empty() && self.lines.stays(line, from);
        is_there.then_some(from + HIT_CYCLES)
    }

    #[inline(always)]
    fn changes(&self) -> u64 {
        self.lines.changes()
    }

    #[inline(always)]
    fn rests(&self) -> bool {
        self.requests.is_empty()
    }
}

impl HeldLines for InstructionPort<'_> {
    #[inline(always)]
    fn line_shift(&self) -> u32 {
        self.cache.line_shift()
    }

    #[inline(always)]
    fn has(&self, line: u32, now: u64) -> bool {
        self.cache.has(line, now)
    }

    fn gives(&self, line: u32, from: u64) -> Option<u64> {
        self.cache.gives(line, from)
    }

    fn changes(&self) -> u64 {
        self.cache.changes()
    }
}

impl port::InstructionPort for InstructionPort<'_> {
    fn keeps(&self, now: u64) -> bool {
        self.cache.on_from <= now
    }

    fn request(&mut self, line: u32, from: u64) -> Answer {
        self.cache.request(self.core, line, (self.now, from), self.program)
    }

    #[inline(always)]
    fn serve(&mut self) -> Result<u64, u64> {
        self.cache.serve(self.core, self.now, self.program)
    }
}

/// Loads the published machine.
#[cfg(test)]
fn machine() -> Machine {
    let text = include_str!("../../../machines/pspin.toml");
    pinion_sim::config::load("pspin.toml", text, &[]).expect("a valid machine").value
}

#[cfg(test)]
mod fetches;
#[cfg(test)]
mod tests;
