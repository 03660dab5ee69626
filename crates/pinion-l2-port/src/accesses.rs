//! How the cores' own accesses come to L2.
//!
//! In: loads, stores and atomics, each with its core and the cycle in which the core asks. Out: when each is served.
//! A cluster lets one in a cycle through, of those that ask at once the one that the arbitration tree's counter leads
//! to, and keeps their order; then loads go one way and writes another. On each, clusters take turns, and behind the
//! turns are a short queue and a place for each that may be on its way: one for writes, which the port to L2 takes one
//! after the other, several for loads. Between queue and places one gate stands in front of both ways: while a write waits
//! there that was there in an earlier cycle, no load passes. (RTL: XBAR_PE and per2axi in the cluster, whose buffers hold
//! an access of every core; axi_mux of pe_noc with a spill register behind it; axi_id_remap, state HoldAW;
//! axi_dw_converter. Rows st_l2, st_l2_2, handler_l2_st, ldst_l2, kvcache.)

mod handler;
mod holds;
mod memory;
mod turns;

use std::collections::VecDeque;

use pinion_sim::calendar::CORES;
use pinion_spin_machine::{CorePorts, Machine};

use handler::HandlerLoads;
use holds::Holds;
use memory::BehindPort;
use turns::Turns;

/// Names the ways to L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// That of loads from handler memory.
    HandlerLoad,
    /// That of loads from packet memory.
    PacketLoad,
    /// That of stores and atomics.
    Write,
}

/// Describes an access that a core asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Cycle in which the core asked.
    pub at: u64,
    /// The core, among all.
    pub core: u32,
    /// Its number in the cluster.
    pub index: u32,
    /// What tells this access of the core from others of it.
    pub generation: u32,
    /// Where it goes.
    pub way: Way,
    /// Cycles for which it takes the port.
    pub port_cycles: u64,
    /// Cycles from when it is served to the core's next instruction.
    pub cycles: u64,
    /// Cycles for which it keeps other atomics waiting behind the port.
    pub atomic_cycles: u64,
    /// Cycles for which it keeps loads from handler memory waiting.
    pub keeps_loads: u64,
}

/// As many cores as the counter of a cluster's arbitration tree tells apart: the most that one has.
const PLACES: u64 = CORES as u64;

/// A cycle that does not come.
const NEVER: u64 = u64::MAX;

/// Holds what comes from one cluster.
#[derive(Clone, Debug)]
struct Source {
    /// Those that ask.
    asking: Vec<Asked>,
    /// Number of those that were let through; its bits choose at each level of the arbitration tree.
    served: u64,
    /// First cycle in which the next one may be let through.
    free_from: u64,
    /// Cycle in which it is, or [`NEVER`].
    next: u64,
}

impl Source {
    fn new() -> Self {
        Self { asking: Vec::new(), served: 0, free_from: 0, next: NEVER }
    }

    /// Takes an access.
    fn ask(&mut self, asked: Asked) {
        self.next = self.next.min(asked.at.max(self.free_from));
        self.asking.push(asked);
    }

    /// Lets the next one through, in its cycle; somebody must ask.
    fn let_through(&mut self) -> Asked {
        let cycle = self.next;
        let asked = match self.asking[..] {
            [alone] => {
                self.asking.clear();
                alone
            }
            _ => self.asking.remove(self.choose(cycle)),
        };
        self.served += 1;
        self.free_from = cycle + 1;
        self.next = self.first().unwrap_or(NEVER);
        asked
    }

    /// Gives where the one is that the tree leads to in a cycle.
    fn choose(&self, cycle: u64) -> usize {
        let order = |asked: &Asked| (u64::from(asked.index) ^ self.served) % PLACES;
        let asks = self.asking.iter().enumerate().filter(|(_, asked)| asked.at <= cycle);
        asks.min_by_key(|(_, asked)| order(asked)).map_or(0, |(index, _)| index)
    }

    /// Gives the cycle in which the first of those that ask may be let through.
    fn first(&self) -> Option<u64> {
        self.asking.iter().map(|asked| asked.at.max(self.free_from)).min()
    }
}

/// Orders the cores' accesses to L2. What changes next is kept wherever it is found, for it is asked for
/// at each access, and mostly nothing has changed.
#[derive(Clone, Debug)]
pub struct CoreAccesses {
    sources: Vec<Source>,
    /// Cycle in which the next access of all clusters is let through, or [`NEVER`].
    through: u64,
    /// By way: how many ask, and since when the first of them does, or [`NEVER`].
    asking: [(u32, u64); 3],
    loads: Turns,
    writes: Turns,
    /// When a write that nobody took kept loads from passing the gate in front of the places.
    held: Holds,
    handler: HandlerLoads,
    /// Loads on their way to packet memory's port, and when they come there.
    packet: VecDeque<(u64, Asked)>,
    /// Writes that have had the port.
    behind: BehindPort,
    ports: CorePorts,
}

impl CoreAccesses {
    /// Makes idle ports.
    pub fn new(machine: &Machine) -> Self {
        let (clusters, ports) = (machine.cluster.count, machine.core_ports);
        Self {
            sources: vec![Source::new(); clusters as usize],
            through: NEVER,
            asking: [(0, NEVER); 3],
            loads: Turns::new(clusters, ports.queued, ports.loads),
            writes: Turns::new(clusters, ports.queued, 1),
            held: Holds::default(),
            handler: HandlerLoads::new(&ports),
            packet: VecDeque::with_capacity(ports.loads as usize),
            behind: BehindPort::new(ports.queued),
            ports,
        }
    }

    /// Takes an access of a cluster's core.
    pub fn ask(&mut self, cluster: u32, asked: Asked) {
        let source = &mut self.sources[cluster as usize];
        source.ask(asked);
        self.through = self.through.min(source.next);
        let (count, since) = &mut self.asking[asked.way as usize];
        (*count, *since) = (*count + 1, asked.at.min(*since));
    }

    /// Lets another load be on its way, as one from packet memory was read there in a cycle.
    pub fn packet_load_read(&mut self, cycle: u64) {
        self.loads.release(cycle + self.ports.packet_return_cycles);
    }

    /// Gives the cycles from when a load from packet memory is served to when it is at that memory's port.
    pub fn packet_load_cycles(&self) -> u64 {
        self.ports.way_cycles + self.ports.packet_cycles
    }

    /// Gives an access that was served before cycle `now`, and when, as if its way had taken no time. A load from
    /// packet memory is given when it comes to that memory's port, where it may have to wait, and keeps others
    /// waiting until [`Self::packet_load_read`].
    pub fn next(&mut self, now: u64) -> Option<(Asked, u64)> {
        let last = now.checked_sub(1)?;
        let way = self.ports.way_cycles;
        if self.through <= last {
            self.let_through(last);
        }
        while self.writes.next_change() <= last {
            let cycle = self.writes.next_change();
            let offered = self.writes.offered();
            if let Some(asked) = self.writes.step(cycle, true) {
                if let Some(offered) = offered {
                    self.held.note(offered + 1, cycle + 1);
                }
                let (start, free_at) = self.behind.take(cycle, &asked);
                self.writes.release(free_at);
                self.handler.keep_waiting(start, asked.keeps_loads);
                return Some((asked, start - way));
            }
        }
        self.next_load(last)
    }

    /// Lets one of each cluster through in each cycle up to `last`.
    fn let_through(&mut self, last: u64) {
        self.through = NEVER;
        for (cluster, source) in self.sources.iter_mut().enumerate() {
            while source.next <= last {
                let at = source.next + self.ports.way_cycles;
                let asked = source.let_through();
                let (count, since) = &mut self.asking[asked.way as usize];
                *count -= 1;
                *since = if *count == 0 { NEVER } else { *since };
                match asked.way {
                    Way::Write => self.writes.come(cluster, at, asked),
                    Way::HandlerLoad | Way::PacketLoad => self.loads.come(cluster, at, asked),
                }
            }
            self.through = self.through.min(source.next);
        }
    }

    /// Goes through the loads' cycles up to `last`, or to the first that is served.
    fn next_load(&mut self, last: u64) -> Option<(Asked, u64)> {
        let way = self.ports.way_cycles;
        loop {
            let at_packets = self.next_at_packets();
            let (turn, at_handler) = (self.next_turn_of_loads(), self.handler.next_change());
            let cycle = at_packets.min(turn).min(at_handler);
            if cycle > last {
                if self.loads.are_idle() {
                    self.held.forget(last);
                    self.handler.forget_atomics(last);
                }
                return None;
            }
            if at_packets == cycle {
                let (_, asked) = self.packet.pop_front()?;
                return Some((asked, cycle - way - self.ports.packet_cycles));
            }
            if turn == cycle {
                self.held.forget(cycle);
                let passes = self.passes_from(cycle) == cycle;
                match self.loads.step(cycle, passes) {
                    Some(asked) if asked.way == Way::HandlerLoad => self.handler.take(cycle, asked),
                    Some(asked) => {
                        self.packet.push_back((cycle + self.ports.packet_cycles, asked));
                    }
                    None => {}
                }
            } else if let Some(asked) = self.handler.step(cycle) {
                let served = cycle - self.ports.handler_answer_cycles;
                self.loads.release(served + self.ports.handler_return_cycles);
                return Some((asked, served - way));
            }
        }
    }

    /// Gives the next cycle in which something may change for the loads that have not had their place, or [`NEVER`].
    #[inline]
    fn next_turn_of_loads(&self) -> u64 {
        self.loads.next_change_where(|cycle| self.passes_from(cycle))
    }

    /// Gives the first cycle from one on in which a load may pass the gate, or [`NEVER`]: not before a write is taken
    /// that waits there.
    #[inline]
    fn passes_from(&self, cycle: u64) -> u64 {
        let cycle = self.held.opens(cycle);
        match self.writes.offered() {
            Some(offered) if offered < cycle => NEVER,
            _ => cycle,
        }
    }

    /// Gives the cycle in which the first load is at packet memory's port, or [`NEVER`].
    #[inline]
    fn next_at_packets(&self) -> u64 {
        self.packet.front().map_or(NEVER, |&(cycle, _)| cycle)
    }

    /// Describes who is on the way.
    pub fn describe(&self) -> String {
        let asking: usize = self.sources.iter().map(|source| source.asking.len()).sum();
        let packet = self.packet.len();
        format!("{asking} accesses ask; {packet} loads are on their way to packet memory")
    }

    /// Gives the cycle in which to look again, before which nothing can have been served; `None`: not before
    /// something is asked or read. What happens until then is made up for.
    pub fn look(&self) -> Option<u64> {
        let to_memory = self.ports.handler_answer_cycles.min(self.ports.packet_cycles);
        // A write may be served as it comes to its turn, a load some cycles later.
        let ports = &self.ports;
        let to_served = [ports.handler_answer_cycles, ports.packet_cycles, 0];
        let served = |(&(_, since), cycles): (&(u32, u64), u64)| {
            since.max(self.through).saturating_add(ports.way_cycles + cycles)
        };
        let asked = self.asking.iter().zip(to_served).map(served).fold(NEVER, u64::min);
        let loads = self.next_turn_of_loads().saturating_add(to_memory);
        let writes = self.writes.next_change();
        let memories = self.next_at_packets().min(self.handler.next_answer());
        let next = asked.min(loads).min(writes).min(memories);
        (next != NEVER).then(|| next + 1)
    }

    /// Checks what is kept against what is there.
    #[cfg(test)]
    fn check_kept(&self) {
        for source in &self.sources {
            assert_eq!(source.next, source.first().unwrap_or(NEVER));
        }
        assert_eq!(Some(self.through), self.sources.iter().map(|source| source.next).min());
        for (way, &(count, since)) in self.asking.iter().enumerate() {
            let asking = self.sources.iter().flat_map(|source| &source.asking);
            let of_way = asking.filter(|asked| asked.way as usize == way);
            assert_eq!(count as usize, of_way.clone().count());
            assert!(of_way.map(|asked| asked.at).min().unwrap_or(NEVER) >= since);
        }
        self.loads.check_kept();
        self.writes.check_kept();
    }
}

#[cfg(test)]
mod tests;
