//! The ports of what orders the cores' accesses to L2. In: who asks for what, and when packet memory has read for a
//! load. Out: when each access is served; whose load goes to handler memory the model does not tell, but when its answer
//! comes. It runs beside the model, some cycles behind: the model looks what was
//! served only when something can have been.

use pinion_sim::block::{Block, Port, bits_for};
use pinion_spin_machine::Machine;

use super::{Needs, Seat, lines, power_of_two};
use crate::timeline::{Timed, Timeline};

const ASK_VALID: usize = 0;
const ASK_KIND: usize = 1;
const HANDLER_READY: usize = 3;
const ANSWER_VALID: usize = 5;
const ANSWER_CORE: usize = 6;
const PACKET_VALID: usize = 7;
const PACKET_READY: usize = 8;
const PACKET_CORE: usize = 9;
const PACKET_READS: usize = 10;
const STORE_VALID: usize = 11;
const STORE_READY: usize = 12;
const STORE_CORE: usize = 13;
const ATOMIC_VALID: usize = 14;
const ATOMIC_READY: usize = 15;
const ATOMIC_CORE: usize = 16;

const KIND_BITS: u32 = 2;
const READS_BITS: u32 = 2;
/// What the block has fixed: the queue behind the turns, cycles of a load at handler memory, atomics of packet
/// memory.
const QUEUED: u64 = 2;
const HANDLER_CYCLES: u64 = 2;
const PACKET_ATOMICS: u64 = 0;
/// Words of the kinds of all cores' accesses, of the most cores that a machine has.
const MOST_WORDS: usize = 16;
/// Cycles until the model knows of each access that was served; cores may ask ahead of the NIC's time.
const KNOWN_CYCLES: u64 = 64;

/// Says what a block needs.
pub fn needs(machine: &Machine) -> Result<Needs, String> {
    let (ports, handler, packet) = (&machine.core_ports, &machine.l2_handler, &machine.l2_packet);
    let clusters = power_of_two("cluster.count", machine.cluster.count, 1)?;
    let cores = power_of_two("cluster.cores", machine.cluster.cores, 2)?;
    lines::has("core_ports.queued", ports.queued.into(), QUEUED)?;
    lines::has("l2_handler.load_port_cycles", handler.load_port_cycles, HANDLER_CYCLES)?;
    lines::has("l2_packet.amo_cycles", packet.amo_cycles, PACKET_ATOMICS)?;
    let store = handler.store_port_cycles;
    lines::has("l2_packet.store_port_cycles", packet.store_port_cycles, store)?;
    for (key, value, least) in [
        ("core_ports.loads", ports.loads.into(), 2),
        ("core_ports.handler_loads", ports.handler_loads.into(), 2),
        ("core_ports.way_cycles", ports.way_cycles, 1),
        ("core_ports.packet_cycles", ports.packet_cycles, 1),
        ("core_ports.packet_return_cycles", ports.packet_return_cycles, 1),
        ("core_ports.handler_answer_cycles", ports.handler_answer_cycles, 1),
        (
            "core_ports.handler_return_cycles",
            ports.handler_return_cycles,
            ports.handler_answer_cycles + 1,
        ),
        ("l2_handler.store_port_cycles", store, 1),
        ("l2_handler.amo_port_cycles", handler.amo_port_cycles, 1),
        ("l2_handler.amo_read_port_cycles", handler.amo_read_port_cycles, 1),
    ] {
        if value < least {
            return Err(format!("{key} is {value}; the block needs {least}: --set {key}={least}"));
        }
    }
    let hpus = machine.hpus();
    let core = bits_for(hpus.into());
    let block_ports = vec![
        Port::input("ask_valid", hpus),
        Port::input("ask_kind", KIND_BITS * hpus),
        Port::output("handler_valid", 1),
        Port::input("handler_ready", 1),
        Port::output("handler_core", core),
        Port::output("answer_valid", 1),
        Port::output("answer_core", core),
        Port::output("packet_valid", 1),
        Port::input("packet_ready", 1),
        Port::output("packet_core", core),
        Port::input("packet_reads", READS_BITS),
        Port::output("store_valid", 1),
        Port::input("store_ready", 1),
        Port::output("store_core", core),
        Port::output("atomic_valid", 1),
        Port::input("atomic_ready", 1),
        Port::output("atomic_core", core),
    ];
    let parameters = vec![
        ("CLUSTERS", clusters),
        ("CORES", cores),
        ("LOADS", ports.loads.into()),
        ("HANDLER_LOADS", ports.handler_loads.into()),
        ("WAY_CYCLES", ports.way_cycles),
        ("PACKET_CYCLES", ports.packet_cycles),
        ("PACKET_RETURN_CYCLES", ports.packet_return_cycles),
        ("ANSWER_CYCLES", ports.handler_answer_cycles),
        ("RETURN_CYCLES", ports.handler_return_cycles),
        ("STORE_CYCLES", store),
        ("ATOMIC_CYCLES", handler.amo_port_cycles),
        ("KEEPS_CYCLES", handler.amo_read_port_cycles),
    ];
    Ok(Needs { ports: block_ports, parameters })
}

/// Names the kinds of accesses, as the block numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A load from handler memory.
    HandlerLoad,
    /// A load from packet memory.
    PacketLoad,
    /// A store.
    Store,
    /// An atomic.
    Atomic,
}

/// Is an access that a core asks for.
#[derive(Clone, Copy, Debug)]
pub struct Asks {
    /// The core, among all.
    pub core: u32,
    /// What it is.
    pub kind: Kind,
}

/// Says what happens in a cycle.
#[derive(Debug, Default)]
pub struct Cycle {
    asks: Vec<Asks>,
    /// By kind: the core whose access is served.
    served: [Option<u32>; 4],
    packet_reads: u64,
}

/// Remembers what happens in the cycles ahead, and how the machine counts.
#[derive(Debug)]
pub struct Accesses {
    time: Timeline<Cycle>,
    /// By kind: cycles from when the model says that an access is served, as if its way took no time, to when the
    /// block says it.
    way_cycles: [u64; 4],
}

impl Timed for Accesses {
    type Now = Cycle;

    fn time(&mut self) -> &mut Timeline<Cycle> {
        &mut self.time
    }
}

/// Is the block at the place of what orders accesses.
pub type AccessesSeat = Seat<Accesses>;

impl AccessesSeat {
    /// Puts a block at its place.
    pub fn new(block: Box<dyn Block>, compares: bool, machine: &Machine) -> Self {
        let ports = &machine.core_ports;
        let way = ports.way_cycles;
        let (answer, packet) = (way + ports.handler_answer_cycles, way + ports.packet_cycles);
        let behind = KNOWN_CYCLES + answer.max(packet);
        let way_cycles = [answer, packet, way, way];
        Self::at(block, compares, Accesses { time: Timeline::new(behind), way_cycles })
    }

    /// Notes that a core asks for an access in a cycle.
    pub fn asks(&mut self, cycle: u64, asks: Asks) {
        self.set(cycle, |now| now.asks.push(asks));
    }

    /// Notes that the model serves a core's access in a cycle, as if its way had taken no time.
    pub fn serves(&mut self, start: u64, core: u32, kind: Kind) {
        let cycle = start + self.own.way_cycles[kind as usize];
        self.set(cycle, |now| now.served[kind as usize] = Some(core));
    }

    /// Notes that packet memory reads for a load in a cycle.
    pub fn reads(&mut self, cycle: u64) {
        self.set(cycle, |now| now.packet_reads += 1);
    }

    /// Begins a cycle.
    pub fn begin(&mut self, now: u64) {
        let (_, cycle) = self.own.time.begin(now);
        let block = &mut self.block;
        let mut words = [[0; MOST_WORDS]; 2];
        let mut put = |port: usize, bit: u32, value: u32| {
            words[port][bit as usize / 32] |= value << (bit % 32);
        };
        for Asks { core, kind } in cycle.asks {
            put(ASK_VALID, core, 1);
            put(ASK_KIND, KIND_BITS * core, kind as u32);
        }
        for (port, words) in words.iter().enumerate() {
            block.put_words(port, words);
        }
        for port in [HANDLER_READY, PACKET_READY, STORE_READY, ATOMIC_READY] {
            block.put(port, 1);
        }
        block.put(PACKET_READS, cycle.packet_reads);
        let ports = [
            (ANSWER_VALID, ANSWER_CORE),
            (PACKET_VALID, PACKET_CORE),
            (STORE_VALID, STORE_CORE),
            (ATOMIC_VALID, ATOMIC_CORE),
        ];
        for ((valid, whose), served) in ports.into_iter().zip(cycle.served) {
            block.expect(valid, served.is_some().into());
            if let Some(core) = served {
                block.expect(whose, core.into());
            }
        }
    }

    /// Says whether it has cycles to go that the model knows already.
    pub fn is_behind(&self) -> bool {
        self.own.time.is_behind()
    }
}
