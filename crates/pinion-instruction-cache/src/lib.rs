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

/// Stands for a line that is not there.
const NEVER: u64 = u64::MAX;

/// Makes the program memory's one port, which the clusters' caches share.
pub fn program_port(machine: &Machine) -> QueuedPort {
    let beats = machine.instruction_cache.refill_port_cycles as u32;
    QueuedPort::new(machine.cluster.count, beats)
}

/// Holds a line's tag and the cycle in which it is written: whoever looks in a later one finds it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    line: u32,
    written: u64,
    /// When it was last written, for cores that had looked before; [`NEVER`]: it is on its way.
    again: u64,
    /// Turn of its last refill.
    turn: u64,
}

impl Entry {
    /// Gives the cycle in which cores that waited for the line get its data.
    fn ready(self) -> u64 {
        self.written.saturating_add(1)
    }
}

const EMPTY: u32 = u32::MAX;

/// Bits of a word that has one for each line.
const WORD_BITS: usize = 64;

/// Chooses ways for a core by an 8-bit shift register with inverted linear feedback (bits 7, 3, 2, 1).
#[derive(Clone, Copy, Debug)]
struct RandomWays(u8);

impl RandomWays {
    fn next(&mut self, ways: usize) -> usize {
        let fed = self.0 >> 7 ^ self.0 >> 3 ^ self.0 >> 2 ^ self.0 >> 1;
        let way = usize::from(self.0 >> 1) % ways;
        self.0 = self.0 << 1 | (!fed & 1);
        way
    }
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
    entries: Vec<Entry>,
    ways: usize,
    sets_mask: u32,
    line_shift: u32,
    /// By core: each looks at the tags itself, and chooses.
    random: Vec<RandomWays>,
    /// The first cycle in which the controller is free.
    free_at: u64,
    /// Which core it prefers: the one whose index differs least from this, the high bits first. It
    /// counts what was taken.
    preferred: usize,
    /// What cores have asked for and have not heard of.
    requests: Vec<Request>,
    /// Cycles from the one in which the port accepts a refill to that in which the line is written.
    accepted_to_written: u64,
    /// The cluster's index.
    cluster: u32,
    /// By line of program memory: the cycle from which it and the next one are there, [`NEVER`] if
    /// one is not.
    pairs: Vec<u64>,
    /// By line, too, a bit each: both are there once the last one has come.
    paired: Vec<u64>,
    /// No line was or will be written later than this, as far as is known.
    last_ready: u64,
    /// The first of those lines.
    first_line: u32,
    /// The cycle from which it is on.
    on_from: u64,
    misses: u64,
    /// Counts what was filled or turned on.
    changes: u64,
}

/// Cycles from a request to its data where the cache has them.
const HIT_CYCLES: u64 = 1;

impl InstructionCache {
    /// Makes a cache that is off.
    pub fn new(machine: &Machine, cluster: u32) -> Self {
        let config = &machine.instruction_cache;
        let entries = (config.bytes / config.line_bytes) as usize;
        let ways = config.ways as usize;
        let lines = (machine.program.bytes / config.line_bytes) as usize + 1;
        Self {
            entries: vec![Entry { line: EMPTY, written: 0, again: 0, turn: NEVER }; entries],
            ways,
            sets_mask: (entries / ways) as u32 - 1,
            line_shift: config.line_bytes.trailing_zeros(),
            random: vec![RandomWays(0); machine.cluster.cores as usize],
            free_at: 0,
            preferred: 0,
            requests: Vec::new(),
            accepted_to_written: config.miss_cycles.saturating_sub(TO_CONTROLLER_CYCLES + 1),
            cluster,
            pairs: vec![NEVER; lines],
            // With a word on either side in which nothing is there.
            paired: vec![0; lines / WORD_BITS + 3],
            last_ready: 0,
            first_line: machine.program.base / config.line_bytes,
            on_from: NEVER,
            misses: 0,
            changes: 0,
        }
    }

    /// Has it turned on by a store at cycle `now`, empty; gives the cycle in which the store is answered:
    /// it waits until every line is invalid. A core goes on with the line it holds.
    pub fn turn_on(&mut self, now: u64) -> u64 {
        if self.on_from != NEVER {
            return now;
        }
        self.on_from = now + TO_CONTROL_CYCLES;
        self.free_at = self.on_from + u64::from(self.sets_mask) + 1;
        self.changes += 1;
        self.free_at
    }

    /// Gives the number of lines that had to be refilled.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    fn set(&self, line: u32) -> std::ops::Range<usize> {
        let first = (line & self.sets_mask) as usize * self.ways;
        first..first + self.ways
    }

    #[inline]
    fn find(&self, line: u32) -> Option<usize> {
        self.set(line).find(|&index| self.entries[index].line == line)
    }

    /// Gives the last place of a line's set that holds nothing a core can see in a cycle.
    fn free_place(&self, line: u32, now: u64) -> Option<usize> {
        let free = |index: &usize| {
            let entry = self.entries[*index];
            entry.line == EMPTY || entry.written > now
        };
        self.set(line).rev().find(free)
    }

    /// Has a line written to a place.
    fn fill(&mut self, place: usize, entry: Entry) {
        self.changes += 1;
        let line = entry.line;
        let replaced = std::mem::replace(&mut self.entries[place], entry).line;
        for line in [replaced, line] {
            self.note_pair(line.wrapping_sub(1));
            self.note_pair(line);
        }
    }

    /// Notes from when on a line and the next one are there.
    fn note_pair(&mut self, line: u32) {
        let ready = |line| self.find(line).map_or(NEVER, |index| self.entries[index].ready());
        let both = ready(line).max(ready(line.wrapping_add(1)));
        let index = line.wrapping_sub(self.first_line) as usize;
        if let Some(pair) = self.pairs.get_mut(index) {
            *pair = both;
            let (word, bit) = (index / WORD_BITS + 1, index % WORD_BITS);
            self.paired[word] = self.paired[word] & !(1 << bit) | u64::from(both != NEVER) << bit;
            if both != NEVER {
                self.last_ready = self.last_ready.max(both);
            }
        }
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
        let has = |index: usize| self.entries[index].written <= from;
        if self.find(line).is_some_and(has) {
            return Answer::Data(from + HIT_CYCLES);
        }
        let ways = self.ways;
        let place = self
            .free_place(line, from)
            .unwrap_or_else(|| self.set(line).start + self.random[core].next(ways));
        self.ask(core, line, from + TO_CONTROLLER_CYCLES, Some(place))
    }

    /// Lets a core's request wait for its turn at the controller from a cycle on.
    fn ask(&mut self, core: usize, line: u32, from: u64, place: Option<usize>) -> Answer {
        self.requests.retain(|request| request.core != core);
        self.requests.push(Request { core, from, line, place, state: State::Waits });
        Answer::Later(from)
    }

    /// Gives the cycle in which the data of a core's request come, if that is known at cycle `now`.
    fn serve(&mut self, core: usize, now: u64, port: &mut QueuedPort) -> Result<u64, u64> {
        self.settle(now, port);
        let found = self.requests.iter().position(|request| request.core == core);
        let Some(index) = found else { return Ok(now) };
        match self.requests[index].state {
            // Its turn is no sooner; another one may come before it.
            State::Waits => Err(self.requests[index].from.max(self.free_at).max(now + 1)),
            State::Refills(_) => Err(port.next().max(now + 1)),
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
            let state = self.take_turn(turn, request, port);
            if let Some(request) = self.requests.iter_mut().find(|it| it.core == request.core) {
                request.state = state;
            }
            self.free_at = turn + 1;
            self.prefer_next();
        }
    }

    /// Notes that the controller has taken something.
    fn prefer_next(&mut self) {
        self.preferred = (self.preferred + 1) % self.random.len().next_power_of_two();
    }

    /// Notes the refills that have entered the port's queue by a cycle.
    fn note_refills(&mut self, by: u64, port: &mut QueuedPort) {
        while let Some((asked, accepted)) = port.take_entered(self.cluster, by) {
            let turn = asked - 1;
            let written = accepted + self.accepted_to_written;
            self.last_ready = self.last_ready.max(written + 1);
            for entry in self.entries.iter_mut().filter(|entry| entry.turn == turn) {
                (entry.written, entry.again) = (written.min(entry.written), written);
            }
            let mut line = None;
            for request in &mut self.requests {
                if request.state == State::Refills(turn) {
                    if request.place.is_none() {
                        request.state = State::Served(written);
                        continue;
                    }
                    request.state = State::Served(written + HIT_CYCLES);
                    line = Some(request.line);
                }
            }
            if let Some(line) = line {
                self.changes += 1;
                self.note_pair(line.wrapping_sub(1));
                self.note_pair(line);
            }
        }
    }

    /// Lets the controller take a request.
    fn take_turn(&mut self, turn: u64, request: Request, port: &mut QueuedPort) -> State {
        let line = request.line;
        let Some(place) = request.place else {
            port.ask(self.cluster, turn + 1);
            return State::Refills(turn);
        };
        let found = self.find(line);
        if let Some(index) = found {
            let entry = self.entries[index];
            if entry.again == NEVER {
                return State::Refills(entry.turn);
            }
            // The controller remembers the line that was written last for a cycle.
            let last = [entry.written, entry.again].into_iter().find(|&at| turn <= at + 1);
            match last {
                Some(written) if turn < written => return State::Served(written + HIT_CYCLES),
                Some(_) => return State::Served(turn + RETRY_CYCLES),
                None => {}
            }
        }
        self.misses += 1;
        port.ask(self.cluster, turn + 1);
        if let Some(index) = found {
            (self.entries[index].again, self.entries[index].turn) = (NEVER, turn);
        }
        if found != Some(place) {
            self.fill(place, Entry { line, written: NEVER, again: NEVER, turn });
        }
        State::Refills(turn)
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
        self.find(line).is_some_and(|index| self.entries[index].ready() <= now)
    }

    #[inline(always)]
    fn has_with_next(&self, line: u32, now: u64) -> bool {
        match self.pairs.get(line.wrapping_sub(self.first_line) as usize) {
            Some(&ready) => ready <= now,
            None => self.has(line, now) && self.has(line.wrapping_add(1), now),
        }
    }

    #[inline]
    fn around(&self, line: u32, now: u64, most: u32) -> [u32; 2] {
        let index = line.wrapping_sub(self.first_line) as usize;
        if index >= self.pairs.len() {
            return [0, 0];
        }
        if self.last_ready > now {
            return port::around_one_by_one(self, line, now, most);
        }
        // The bits before the line's, the last one first, and those behind it.
        let (word, bit) = (index / WORD_BITS + 1, (index % WORD_BITS) as u32);
        let words =
            |word: usize| u128::from(self.paired[word + 1]) << 64 | u128::from(self.paired[word]);
        let before = (words(word - 1) << (64 - bit)).leading_ones();
        let behind = (words(word) >> bit >> 1).trailing_ones();
        [before.min(most), behind.min(most)]
    }

    #[inline]
    fn gives(&self, line: u32, from: u64) -> Option<u64> {
        let has = |index: usize| self.entries[index].written <= from;
        let is_there =
            self.on_from <= from && self.requests.is_empty() && self.find(line).is_some_and(has);
        is_there.then_some(from + HIT_CYCLES)
    }

    #[inline(always)]
    fn changes(&self) -> u64 {
        self.changes
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
