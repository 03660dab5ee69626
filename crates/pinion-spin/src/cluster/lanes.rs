//! Runs cores whose next access goes to their own cluster's L1: ordered within the cluster only.
//!
//! What a cluster's cores do in their own L1 nobody else sees at once: another cluster's access
//! arrives there [`LOOKAHEAD_CYCLES`] after it was issued, at least. So a cluster may run that far
//! ahead of the others, bounded by the next event of the queue, and its cores' accesses, which are
//! most of what handlers do, cost no event at all. Everything else a core does goes through the
//! queue at its exact cycle.

use pinion_cores::port::Destinations;
use pinion_cores::pulp::Costs;
use pinion_cores::pulp::behind_access::{pass_to_access, run_behind_access, run_behind_block};
use pinion_cores::pulp::code::{Code, block_of};
use pinion_cores::pulp::lean::{Start, run_lean, run_to_near};
use pinion_cores::pulp::near_access::NearAccess;
use pinion_cores::pulp::run_ahead::{RUN_AHEAD_CYCLES, Stop, Unwatched, run_ahead};
use pinion_sim::calendar::{CORES, NEVER, Turns};

use super::Clusters;
use super::lane::{Lane, SECOND};
use super::own_l1::{OwnL1, perform, word_of};
use super::tcdm_interconnect::MOST_BANKS;
use crate::cluster::hpu::port::Port;
use crate::cluster::hpu::trace::{Before, Executed, Traced};
use crate::cluster::hpu::{Core, Waiting};
use crate::hardware::InterconnectSeat;
use crate::listener::Listener;
use crate::shared::Shared;

/// Cycles by which a cluster may run ahead of the others: the way of an access to another cluster's
/// L1 takes longer (22 cycles in all, row remote_l1).
pub const LOOKAHEAD_CYCLES: u64 = 8;

/// Cycles behind which no core has done anything when a NIC has come to a cycle: what a core has alone it
/// may do that far ahead, once up to an access and once behind it, an access included that waits long.
pub const AHEAD_CYCLES: u64 = LOOKAHEAD_CYCLES + 3 * RUN_AHEAD_CYCLES;

/// What a lane's turn, and a core's way from one event to the next, take of the host, as cycles of a core
/// that computes: about.
const TURN_WORK: u64 = 64;
const RUN_WORK: u64 = 32;

impl Clusters {
    /// Puts a core into its cluster's lane: its next access goes to its own L1 at `time`.
    #[inline(always)]
    fn enter_lane(&mut self, id: usize, time: u64, address: u32) {
        let core = &self.cores[id];
        let access = NearAccess::new(address, self.program.place(core.model.hart.pc));
        let (cluster, index) = (core.cluster as usize, core.index as usize);
        self.lanes[cluster].enter(index, time, access, &mut self.each[cluster].banks);
        self.lane_next[cluster] = self.lane_next[cluster].min(time);
    }

    /// Says whether the instruction behind a core's access, which is due at `time`, is to ask for a line while the
    /// access waits for its turn.
    fn asks_behind(&self, id: usize, time: u64) -> bool {
        let core = &self.cores[id];
        let port = Port::of(core, &self.each, self.near);
        core.model.asks_behind(time, &self.program, &port)
    }

    /// Lets the instruction behind a core's access to its own L1 ask for its line at cycle `now`, in which the access is
    /// due, and the access wait for its turn; `false`: the core does something else.
    pub fn look_behind(&mut self, shared: &mut Shared, id: usize, now: u64) -> bool {
        let core = &self.cores[id];
        let port = Port::of(core, &self.each, self.near);
        let access = core.model.next_access(&port, &self.costs, &self.program);
        let Some(Stop::Near(address)) = access else { return false };
        self.ask_behind(id, now);
        self.ask_for_line(shared, id, now);
        self.enter_lane(id, now, address);
        true
    }

    /// Takes a core out of its lane.
    pub fn leave_lane(&mut self, id: usize) {
        let core = &mut self.cores[id];
        let (cluster, index) = (core.cluster as usize, core.index as usize);
        core.model.stalls.l1 += self.lanes[cluster].leave(index, &mut self.each[cluster].banks);
    }

    /// Shows new blocks beside the banks whose turn it is at each before cycle `now`.
    pub fn show_turns(&self, shared: &mut Shared, now: u64) {
        for (cluster, units) in (0..).zip(&self.each) {
            if let Some(seat) = shared.hardware.interconnect(cluster) {
                let banks = units.banks.banks.iter().take(shared.machine.l1.banks as usize);
                seat.begin_as(now, banks.map(|bank| bank.order.pointer()));
            }
        }
    }

    /// Describes who waits for which bank of a cluster.
    pub fn describe_lane(&self, cluster: usize) -> String {
        self.lanes[cluster].describe(&self.each[cluster].banks)
    }

    /// Gives the cluster whose lane is due first and the cycle.
    #[inline]
    pub fn next_lane(&self) -> Option<(usize, u64)> {
        let mut first = (0, NEVER);
        for (cluster, &time) in self.lane_next.iter().enumerate() {
            if time < first.1 {
                first = (cluster, time);
            }
        }
        (first.1 != NEVER).then_some(first)
    }

    /// Runs the cores of a cluster's lane, which is due at `now`, as far as nobody can see it.
    pub fn run_lane(
        &mut self,
        shared: &mut Shared,
        cluster: usize,
        now: u64,
        listener: &mut dyn Listener,
    ) {
        // A block of hardware may begin something in any cycle.
        let ahead = if shared.hardware.acts() { 1 } else { LOOKAHEAD_CYCLES };
        let end = now + ahead;
        loop {
            let stopped = if shared.interest.instructions {
                let stopped = self.run_lane_until::<true, true>(shared, cluster, end);
                self.tell_executed(shared, listener);
                stopped
            } else if self.costs.xpulp || self.reservations || shared.hardware.has_interconnects() {
                // This way goes access by access, so that a block sees who asks for a bank.
                self.run_lane_until::<false, true>(shared, cluster, end)
            } else {
                self.run_lane_until::<false, false>(shared, cluster, end)
            };
            let Some((index, stop, time)) = stopped else { return };
            let id = cluster * self.cores_each as usize + index;
            self.stopped(shared, id, stop, time, listener);
        }
    }

    /// Runs a lane until its turn is over (`None`) or a core does something else than touching its
    /// own L1: gives that core, why it stopped, and when.
    #[inline(never)]
    fn run_lane_until<const TRACED: bool, const XPULP: bool>(
        &mut self,
        shared: &mut Shared,
        cluster: usize,
        end: u64,
    ) -> Option<(usize, Stop, u64)> {
        let bound = shared.wheel.next_cycle().map_or(end, |event| event.min(end));
        if !TRACED && !XPULP && self.program.is_sample_due(TURN_WORK) {
            self.look_at_access(cluster, end);
        }
        let units = &mut self.each[cluster];
        let lane = &mut self.lanes[cluster];
        let each = self.cores_each as usize;
        let cores = &mut self.cores[cluster * each..(cluster + 1) * each];
        let (base, alias) = (cores[0].l1_base, shared.machine.l1.alias);
        let bytes = shared.memories.l1_mut(cluster);
        let banks = &mut *units.banks;
        let port = Port { cache: &units.cache, near: self.near, l1_base: base };
        let (costs, code, executed) = (&self.costs, &self.program, &mut self.executed);
        let (program, micro) = ((code, code.micro()), code.micro());
        let goes_on = GoesOn { port, costs, code };
        let (blocks, code_base) = (code.translated_blocks(), code.base());
        loop {
            let now = lane.calendar.next_time();
            if now >= bound {
                self.lane_next[cluster] = now;
                return None;
            }
            let beats_bit = banks.rules.come_to(now);
            let mut turns = lane.calendar.begin(now);
            while let Some(index) = turns.next_core() {
                let due = lane.due[index % CORES];
                let bank = &mut banks.banks[due.bank as usize % MOST_BANKS];
                // Nothing is in the way of nearly all accesses. The place of one that has waited is none of the program.
                if !TRACED
                    && !XPULP
                    && bank.is_free(turns.due, now)
                    && let Some(one) = micro.get(due.place as usize)
                    && let Some(core) = cores.get_mut(index)
                    && let Some(word) = word_of(bytes, base, core, one, due.address)
                    && let beats = banks.rules.beats_from(beats_bit, due.address)
                    && beats & 1 == 0
                {
                    let atomic = one.flags.is_atomic();
                    banks.rules.serve_alone(bank, index, now, (due.address, atomic), beats);
                    let (mut time, mut stop);
                    let next = if let Some(placed) = block_of(blocks, one.block)
                        && placed.is_reached(&core.model, &port, code_base)
                    {
                        // As `run_behind_access`, which takes 5 % more host instructions of `reduce` here: an access
                        // that has not waited leaves less to say.
                        let core = &mut core.model;
                        let left = placed.execute(core, word, placed.budget);
                        if left.at_access() && port.is_near(left.address()) {
                            let time = now + left.cycles();
                            let next = pass_to_access(core, code_base, left, time);
                            lane.enter(index, time, next, banks);
                            continue;
                        }
                        (time, stop) = (now, Stop::Shared);
                        let left = (placed, left, false);
                        run_behind_block(core, port, costs, program, left, &mut time, &mut stop)
                    } else {
                        perform(core, one, word);
                        (time, stop) = (now + 1, Stop::Shared);
                        let start = Start::behind(one, due.place, costs.response);
                        let core = &mut core.model;
                        core.executed(one, time);
                        run_to_near(core, port, costs, program, start, &mut time, &mut stop)
                    };
                    let Some(next) = next else {
                        lane.calendar.put_back(turns);
                        return Some((index, stop, time));
                    };
                    lane.enter(index, time, next, banks);
                    continue;
                }
                let reservations = self.reservations;
                let l1 = OwnL1 { bytes, banks, base, alias };
                let seat = shared.hardware.interconnect(cluster as u32);
                let goes_on = &goes_on;
                let mut turn = Turn { lane, cores, l1, goes_on, executed, reservations, seat };
                let stopped = turn.serve::<TRACED, XPULP>(&mut turns, index, now);
                if stopped.is_some() {
                    lane.calendar.put_back(turns);
                    return stopped;
                }
            }
        }
    }

    /// Looks at the access of one of a lane's cores: what cores often do may be translated.
    #[cold]
    #[inline(never)]
    fn look_at_access(&mut self, cluster: usize, cycle: u64) {
        let index = (cycle % u64::from(self.cores_each)) as usize;
        let place = self.lanes[cluster].due[index % CORES].place();
        let (retired, core) =
            (self.instructions(), &self.cores[cluster * self.cores_each as usize]);
        let port = Port::of(core, &self.each, self.near);
        self.program.look_at_access(port, (place, cycle), retired, &self.costs);
    }

    /// Looks at what a core is going to do.
    #[cold]
    #[inline(never)]
    fn look_ahead(&mut self, id: usize, time: u64) {
        let core = &self.cores[id];
        let port = Port::of(core, &self.each, self.near);
        self.program.look_ahead(&core.model, port, time, &self.costs);
    }

    /// Lets a core run ahead from `time` until it touches something; puts it where it waits.
    pub fn advance(
        &mut self,
        shared: &mut Shared,
        id: usize,
        mut time: u64,
        listener: &mut dyn Listener,
    ) {
        let stop = self.go_ahead(shared, id, None, &mut time, listener);
        self.stopped(shared, id, stop, time, listener);
    }

    /// Lets a core run ahead from `time`, where it has come to or from `start`, until it touches something; says what.
    fn go_ahead(
        &mut self,
        shared: &mut Shared,
        id: usize,
        start: Option<Start>,
        time: &mut u64,
        listener: &mut dyn Listener,
    ) -> Stop {
        if shared.interest.instructions {
            let stop = self.run_ahead::<true, true>(id, start, time);
            self.tell_executed(shared, listener);
            stop
        } else if self.costs.xpulp {
            self.run_ahead::<false, true>(id, start, time)
        } else {
            self.run_ahead::<false, false>(id, start, time)
        }
    }

    #[inline(always)]
    fn run_ahead<const TRACED: bool, const XPULP: bool>(
        &mut self,
        id: usize,
        start: Option<Start>,
        time: &mut u64,
    ) -> Stop {
        let model = &mut self.cores[id].model;
        let mut start = start.unwrap_or_else(|| Start::of(model, &self.program));
        let place = start.place;
        if !TRACED && !XPULP && self.program.is_wanted(place) {
            start.settle(model, &self.program); // it is looked at whole
            self.look_ahead(id, *time);
            start = Start::of(&mut self.cores[id].model, &self.program);
        }
        let core = &mut self.cores[id];
        let port = Port::of(core, &self.each, self.near);
        let (costs, code, begun) = (&self.costs, &self.program, *time);
        let stop = go_on::<TRACED, XPULP>(core, port, costs, code, start, time, &mut self.executed);
        if !TRACED && !XPULP && self.program.is_sample_due(RUN_WORK + *time - begun) {
            let retired = self.instructions();
            self.program.look_back(place, retired);
        }
        stop
    }

    /// Puts a core that stopped at `time` where it waits; what only it sees it does at once, for as
    /// long as it may run ahead.
    fn stopped(
        &mut self,
        shared: &mut Shared,
        id: usize,
        mut stop: Stop,
        mut time: u64,
        listener: &mut dyn Listener,
    ) {
        let limit = time.saturating_add(RUN_AHEAD_CYCLES);
        loop {
            let (next, start) = match stop {
                Stop::Near(address) => {
                    if self.asks_behind(id, time) {
                        self.cores[id].looks_behind = true; // when it is due, not before
                        break;
                    }
                    return self.enter_lane(id, time, address);
                }
                Stop::Shared => break,
                // Beside a block each access has its turn.
                Stop::Private if shared.hardware.has_drivers() => break,
                Stop::Private => match self.access_private(shared, id, time) {
                    Some(next) => next,
                    None => break,
                },
                Stop::Trap(exception) => (self.trap(shared, id, exception, time, listener), None),
            };
            time = next;
            if self.cores[id].waiting == Waiting::Ever {
                return;
            }
            if time >= limit {
                if let Some(start) = start {
                    start.settle(&mut self.cores[id].model, &self.program);
                }
                break;
            }
            stop = self.go_ahead(shared, id, start, &mut time, listener);
        }
        self.resume(shared, id, time);
    }
}

/// Joins what a core goes on with behind an access.
struct GoesOn<'a> {
    port: Port<'a>,
    costs: &'a Costs,
    code: &'a Code,
}

/// Joins what a core's turn in its lane touches.
struct Turn<'a> {
    lane: &'a mut Lane,
    cores: &'a mut [Core],
    l1: OwnL1<'a>,
    goes_on: &'a GoesOn<'a>,
    executed: &'a mut Vec<Executed>,
    /// Whether some core of the NIC holds a reservation.
    reservations: bool,
    /// A block beside the banks.
    seat: Option<&'a mut InterconnectSeat>,
}

impl Turn<'_> {
    /// Serves one of those who ask for the bank of a core's access in a cycle, whatever its access is and meets, and
    /// lets it go on to the next one; gives who does something else than touching its own L1, why it stopped, and
    /// when, if it does.
    #[cold]
    #[inline(never)]
    fn serve<const TRACED: bool, const XPULP: bool>(
        &mut self,
        turns: &mut Turns,
        index: usize,
        now: u64,
    ) -> Option<(usize, Stop, u64)> {
        let Self { lane, cores, l1, goes_on, executed, reservations, seat } = self;
        let GoesOn { port, costs, code } = **goes_on;
        let seat = &mut seat.as_deref_mut();
        let served = lane.choose(turns, index, now, l1.banks, seat)?;
        let index = served.core;
        let (core, due) = (cores.get_mut(index)?, lane.due[index % CORES]);
        let number = due.bank as usize % MOST_BANKS;
        core.model.stalls.l1 += lane.settle(index, now);
        if *reservations {
            // Others' reservations may break.
            served.pass_over(turns, &mut l1.banks.banks[number]);
            return Some((index, Stop::Shared, now));
        }
        let (address, place, held) = (due.address, due.place(), due.is_held());
        let micro = code.micro();
        let one = micro.get(place as usize);
        core.look_up_region(one, address);
        let second = due.place & SECOND != 0;
        if let Some(one) = one
            && !second
            && one.lies_in_two(address)
            && !one.flags.is_atomic()
        {
            let bank = &mut l1.banks.banks[number];
            l1.banks.rules.serve(bank, now, address, false);
            lane.serve(served, now, bank, seat);
            lane.enter_second(index, now, l1.banks);
            return None;
        }
        if !TRACED
            && !XPULP
            && let Some(one) = one
            && let Some(word) = word_of(l1.bytes, l1.base, core, one, address)
        {
            let bank = &mut l1.banks.banks[number];
            l1.banks.rules.serve(bank, now, address, one.flags.is_atomic());
            lane.serve(served, now, bank, seat);
            let (mut time, mut stop) = (now, Stop::Shared);
            let next = if let Some(placed) = block_of(code.translated_blocks(), one.block)
                && (!held || placed.may_wait())
                && placed.is_reached(&core.model, &port, code.base())
            {
                let (core, block) = (&mut core.model, (placed, word, held));
                run_behind_access(core, port, costs, (code, micro), block, &mut time, &mut stop)
            } else {
                perform(core, one, word);
                time += 1;
                let start = Start { waited: held, ..Start::behind(one, place, costs.response) };
                let core = &mut core.model;
                core.executed(one, time);
                run_to_near(core, port, costs, (code, micro), start, &mut time, &mut stop)
            };
            let Some(next) = next else { return Some((index, stop, time)) };
            lane.enter(index, time, next, l1.banks);
            return None;
        }
        let instruction = if TRACED { code.at(place) } else { None };
        let before = instruction.map(|instruction| Before::new(&core.model, instruction));
        let found = if TRACED { l1.found(address) } else { 0 };
        let (program, mut start) = ((code, micro), Start::NONE);
        let (access, goes_on_from) = ((address, place, number), (&mut start, held, second));
        let mut time = match l1.access::<XPULP>(core, program, now, access, goes_on_from) {
            Ok(next) => next,
            Err(stop) => {
                served.give_back(turns);
                return Some((index, stop, now));
            }
        };
        lane.serve(served, now, &mut l1.banks.banks[number], seat);
        if let Some(before) = before {
            executed.push(before.accessed(core, time - 1, address, found));
        }
        if TRACED || XPULP {
            core.model.stalls.load_use += costs.response;
            time += costs.response;
        } else {
            start.response = costs.response;
        }
        let stop = go_on::<TRACED, XPULP>(core, port, costs, code, start, &mut time, executed);
        let Stop::Near(address) = stop else { return Some((index, stop, time)) };
        if core.model.asks_behind(time, code, &port) {
            return Some((index, stop, time));
        }
        let place = code.place(core.model.hart.pc);
        lane.enter(index, time, NearAccess::new(address, place), l1.banks);
        None
    }
}

/// Lets a core run ahead from where an access has left it; says why it stopped.
#[inline(always)]
fn go_on<const TRACED: bool, const XPULP: bool>(
    core: &mut Core,
    port: Port,
    costs: &Costs,
    code: &Code,
    start: Start,
    time: &mut u64,
    executed: &mut Vec<Executed>,
) -> Stop {
    let (cluster, hpu, core) = (core.cluster, core.index, &mut core.model);
    if !TRACED && !XPULP {
        return run_lean(core, port, costs, code, start, time);
    }
    start.settle(core, code);
    if TRACED {
        let mut watch = Traced { executed, cluster, hpu };
        run_ahead::<XPULP, _, _>(core, &port, costs, code, time, &mut watch)
    } else {
        run_ahead::<XPULP, _, _>(core, &port, costs, code, time, &mut Unwatched)
    }
}
