//! What a core's loads, stores and atomics do and how long they take, by where they go.
//!
//! The own L1 answers in a cycle when the bank is free; the HPU's own registers likewise; L2, other
//! clusters' L1 and program memory take the way through the PE interconnect, one access at a time per
//! core, and share their ports. (Paper §III-A; cycles measured on the RTL, in the machine file.)

use pinion_isa::{Access, Exception, MemoryKind, Privilege};
use pinion_l2_port::accesses::{Asked, Way};

use super::Clusters;
use super::lanes::LOOKAHEAD_CYCLES;
use super::own_l1::denied;
use crate::cluster::hpu::Waiting;
use crate::cluster::hpu::permissions::Right;
use crate::hardware::core_accesses::{Asks, Kind};
use crate::listener::{Event, Listener};
use crate::machine::RemoteAmo;
use crate::memory::Place;
use crate::shared::Shared;
use crate::wake::Due;

/// Says what became of an access.
pub enum Performed {
    /// It was performed.
    Done {
        /// What was read.
        value: u32,
        /// Cycle of the next instruction.
        next: u64,
    },
    /// The core waits; the access is performed when it goes on.
    Wait(Waiting),
    /// It is not allowed.
    Fault(Exception<u32>),
}

/// Offset of the HPU driver in the cluster's peripherals.
pub const DRIVER: u32 = 0x5000;

impl Clusters {
    /// Performs an access at cycle `now`, which must be its turn.
    #[inline]
    pub fn perform(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        if shared.interest.instructions {
            self.look_at(shared, id, access.address);
        }
        let core = &mut self.cores[id];
        let writes = access.kind.writes();
        if core.model.hart.privilege == Privilege::User {
            let right = if writes { Right::Write } else { Right::Read };
            // What may be written may be read, but for the output device, which an atomic does not
            // reach: so one look is enough for atomics.
            if !core.permissions.allows(access.address, access.bytes, right) {
                return fault(access);
            }
        }
        if let Some(mut next) = core.arrives.take() {
            if let Some(turn) = core.turn {
                let start = self.dma_ports.reads.load_start(turn).unwrap_or(now);
                if start > now {
                    // A copy goes before it.
                    next += start - now;
                    core.model.stalls.remote += start - now;
                    core.arrives = Some(next);
                    self.resume(shared, id, start);
                    return Performed::Wait(Waiting::Nothing);
                }
                core.turn = None;
                self.dma_ports.reads.forget_load(turn);
                self.packet_load_read(shared, start);
                self.look_at_accesses(shared);
            }
            // The access has come to the other cluster's L1, or to L2.
            let core = &mut self.cores[id];
            return match shared.memories.place(access.address, core.cluster) {
                Some(place @ (Place::L2Packet(_) | Place::L2Handler(_)))
                    if access.split(4).is_some() && !std::mem::replace(&mut core.second, true) =>
                {
                    core.model.stalls.remote += 1;
                    self.access_l2(shared, id, access, place, next)
                }
                Some(place) => self.answer_remote(shared, id, access, place, next),
                None => fault(access),
            };
        }
        match shared.memories.place(access.address, core.cluster) {
            Some(Place::L1 { cluster, offset }) if cluster == core.cluster => {
                self.access_own_l1(shared, id, access, offset, now)
            }
            Some(Place::Peripheral(offset)) => {
                self.access_peripheral(shared, id, access, offset, now, listener)
            }
            Some(Place::Output(_)) if matches!(access.kind, MemoryKind::Amo(_)) => fault(access),
            Some(Place::Output(offset)) => {
                if access.kind == MemoryKind::Store {
                    let time = shared.time(now);
                    let (cluster, hpu) = (offset >> 7 & 0xf, offset >> 3 & 0xf);
                    let byte = access.data as u8;
                    listener.hear(&Event::Output { time, cluster, hpu, byte });
                }
                Performed::Done { value: 0, next: now + 1 }
            }
            Some(Place::SocControl) => Performed::Done { value: 0, next: now + 1 },
            Some(place) => self.access_remote(shared, id, access, place, now),
            None => fault(access),
        }
    }

    #[inline]
    fn access_own_l1(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
    ) -> Performed {
        let core = &mut self.cores[id];
        let cluster = core.cluster;
        let banks = &mut self.each[cluster as usize].banks;
        let grant = banks.serve(now, offset, access);
        if let Some(seat) = shared.hardware.interconnect(cluster)
            && access.split(4).is_none()
        {
            let (index, bank) = (core.index, banks.rules.index(offset) as u32);
            seat.asks(now..grant, 1 << index, bank);
            seat.serves(grant, index as usize, bank, matches!(access.kind, MemoryKind::Amo(_)));
        }
        core.model.stalls.l1 += grant - now;
        let next = grant + 1;
        core.model.loads(access);
        match self.touch(shared, id, access, Place::L1 { cluster, offset }) {
            Some(value) => Performed::Done { value, next },
            None => fault(access),
        }
    }

    fn access_remote(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        place: Place,
        now: u64,
    ) -> Performed {
        if let Place::L2Packet(_) | Place::L2Handler(_) = place {
            return self.access_l2(shared, id, access, place, now);
        }
        let pieces = if access.split(4).is_some() { 2 } else { 1 };
        let Place::L1 { cluster, .. } = place else {
            if access.kind.writes() && self.cores[id].model.hart.privilege == Privilege::User {
                return fault(access);
            }
            let next = now + shared.machine.program.access_cycles * pieces;
            self.cores[id].model.stalls.remote += next - now - 1;
            return self.answer_remote(shared, id, access, place, next);
        };
        let l1 = &shared.machine.l1;
        let cycles = match access.kind {
            MemoryKind::Amo(_) => l1.remote_amo_cycles,
            _ if access.kind.writes() => l1.remote_store_cycles,
            _ => l1.remote_load_cycles,
        };
        if matches!(access.kind, MemoryKind::Amo(_)) && cycles == 0 {
            return fault(access); // this memory knows no atomics
        }
        let free = &mut self.each[cluster as usize].remote_port_free;
        let start = now.max(*free);
        *free = start + l1.remote_port_cycles * pieces;
        let next = start + cycles * pieces;
        self.cores[id].model.stalls.remote += next - now - 1;
        // Its own cores may have run ahead by so much.
        self.cores[id].arrives = Some(next);
        self.resume(shared, id, start + LOOKAHEAD_CYCLES);
        Performed::Wait(Waiting::Nothing)
    }

    /// Lets an access to L2 ask for its turn; the core goes on when that has come. Of one that lies in two words, each
    /// asks, the second when the first has been answered. (RTL: RI5CY's load-store unit.)
    #[inline(always)]
    fn access_l2(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        place: Place,
        now: u64,
    ) -> Performed {
        let machine = &shared.machine;
        let (memory, load) = match place {
            Place::L2Packet(_) => (&machine.l2_packet, Way::PacketLoad),
            _ => (&machine.l2_handler, Way::HandlerLoad),
        };
        let atomic = matches!(access.kind, MemoryKind::Amo(_));
        if atomic && memory.amo_cycles == 0 {
            return fault(access); // this memory knows no atomics
        }
        let (way, cycles, port_cycles) = match access.kind.writes() {
            true => (Way::Write, memory.store_cycles, memory.store_port_cycles),
            false => (load, memory.load_cycles, memory.load_port_cycles),
        };
        let (cycles, atomic_cycles, keeps_loads) = match atomic {
            true => (memory.amo_cycles, memory.amo_port_cycles, memory.amo_read_port_cycles),
            false => (cycles, 0, 0),
        };
        let core = &self.cores[id];
        let asked = Asked {
            at: now,
            core: id as u32,
            index: core.index,
            generation: core.generation,
            way,
            port_cycles,
            cycles,
            atomic_cycles,
            keeps_loads,
        };
        if let Some(seat) = shared.hardware.accesses() {
            seat.asks(now, Asks { core: id as u32, kind: kind_of(&asked) });
        }
        self.l2.ask(core.cluster, asked);
        self.look_at_accesses(shared);
        Performed::Wait(Waiting::Nothing)
    }

    /// Lets cores go on whose accesses to L2 have been served.
    pub fn serve_accesses(&mut self, shared: &mut Shared, now: u64) {
        while let Some((asked, mut start)) = self.l2.next(now) {
            if let Some(seat) = shared.hardware.accesses() {
                seat.serves(start, asked.core, kind_of(&asked));
            }
            let id = asked.core as usize;
            let goes_on = self.cores[id].generation == asked.generation; // or its handler was ended
            let mut performed = start;
            if asked.way == Way::PacketLoad {
                let way = self.l2.packet_load_cycles();
                if !goes_on {
                    self.packet_load_read(shared, start + way);
                    continue;
                }
                // The clusters' copies use that port, too (rows swap_l2-burst_512 and swap_l2-spread_512).
                let reads = &mut self.dma_ports.reads;
                let address = self.cores[id].pending.map_or(0, |access| access.address);
                let (core, cycles) = (asked.core, asked.port_cycles);
                let (turn, read) = reads.book_load(start + way, core, cycles, address);
                self.cores[id].turn = Some(turn);
                (start, performed) = (read - way, read);
            }
            if goes_on {
                let next = start + asked.cycles;
                let core = &mut self.cores[id];
                core.model.stalls.remote += next - asked.at - 1;
                core.arrives = Some(next);
                self.resume(shared, id, performed.max(now));
            }
        }
        self.look_at_accesses(shared);
    }

    /// Lets another load go on its way, as packet memory reads for one at a cycle.
    pub fn packet_load_read(&mut self, shared: &mut Shared, cycle: u64) {
        self.l2.packet_load_read(cycle);
        if let Some(seat) = shared.hardware.accesses() {
            seat.reads(cycle);
        }
    }

    /// Describes the cores' accesses to L2.
    pub fn describe_accesses(&self) -> String {
        self.l2.describe()
    }

    /// Has somebody look when accesses to L2 may be served.
    pub fn look_at_accesses(&mut self, shared: &mut Shared) {
        if let Some(look) = self.l2.look() {
            shared.wake(&mut self.l2_wake, look, Due::Accesses);
        }
    }

    /// Answers an access to a memory that is not the own L1: what needs a load's result behind it waits a cycle
    /// for it, as behind any load (rows kvcache-single_64, filter-burst of the applications).
    fn answer_remote(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        place: Place,
        next: u64,
    ) -> Performed {
        let core = &mut self.cores[id];
        core.second = false;
        core.model.loads(access);
        match self.touch(shared, id, access, place) {
            Some(value) => Performed::Done { value, next },
            None => fault(access),
        }
    }

    /// Reads or changes the bytes of an access.
    #[inline]
    pub fn touch(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        place: Place,
    ) -> Option<u32> {
        match access.kind {
            MemoryKind::Load => shared.memories.load(place, access.bytes),
            MemoryKind::Store => {
                shared.memories.store(place, access.bytes, access.data)?;
                self.stored(access);
                if let Place::Program(_) = place {
                    self.program.invalidate(access.address, u64::from(access.bytes));
                }
                Some(0)
            }
            MemoryKind::Amo(op) => {
                let old = shared.memories.load(place, access.bytes)?;
                let new = op.apply(old, access.data, access.bytes);
                shared.memories.store(place, access.bytes, new)?;
                self.stored(access);
                Some(self.amo_answer(shared, id, access, place, old))
            }
            MemoryKind::LoadReserved => {
                let value = shared.memories.load(place, access.bytes)?;
                self.cores[id].reservation.reserve(access.address);
                self.reservations = true;
                Some(value)
            }
            MemoryKind::StoreConditional => {
                if !self.cores[id].reservation.take(access.address) {
                    return Some(1);
                }
                shared.memories.store(place, access.bytes, access.data)?;
                self.stored(access);
                Some(0)
            }
            MemoryKind::EventLoad => shared.memories.load(place, access.bytes),
        }
    }

    /// Gives what an atomic answers that found a value in memory.
    #[inline]
    fn amo_answer(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        place: Place,
        old: u32,
    ) -> u32 {
        match (place, shared.machine.core.remote_amo) {
            (_, RemoteAmo::Old) => old,
            (Place::L1 { cluster, .. }, _) if cluster == self.cores[id].cluster => old,
            (_, RemoteAmo::One) => {
                shared.totals.false_answers += u64::from(access.rd != 0 && old != 1);
                1
            }
        }
    }

    /// Ends the reservations that a store breaks.
    #[inline]
    fn stored(&mut self, access: &Access<u32>) {
        if self.reservations {
            for core in &mut self.cores {
                core.reservation.snoop_store(access.address, u32::from(access.bytes));
            }
            self.reservations = self.cores.iter().any(|core| core.reservation.address().is_some());
        }
    }
}

/// Says what an access to L2 is, to a block.
const fn kind_of(asked: &Asked) -> Kind {
    match asked.way {
        Way::HandlerLoad => Kind::HandlerLoad,
        Way::PacketLoad => Kind::PacketLoad,
        Way::Write if asked.atomic_cycles > 0 => Kind::Atomic,
        Way::Write => Kind::Store,
    }
}

/// Answers an access that is not allowed.
pub fn fault(access: &Access<u32>) -> Performed {
    Performed::Fault(denied(access))
}
