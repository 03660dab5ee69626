//! A cluster's peripherals as its cores see them: HPU driver, DMA ports, event unit, timer,
//! instruction cache control.

use pinion_isa::{Access, MemoryKind};

use super::Clusters;
use super::dma::{Requester, Route, Transfer};
use super::pe_interconnect::{Performed, fault};
use crate::cluster::hpu::Waiting;
use crate::cluster::hpu::driver::DmaFrontEnd;
use crate::cluster::hpu::permissions::Right;
use crate::listener::Listener;
use crate::memory::Place;
use crate::scene::Refused;
use crate::shared::Shared;

/// Names the parts by their offset in a cluster's peripherals (RTL address map).
mod part {
    pub const CONTROL: u32 = 0x0000;
    pub const TIMER: u32 = 0x0400;
    pub const EVENT_UNIT: u32 = 0x0800;
    pub const CACHE: u32 = 0x1400;
    pub const PUBLIC_DMA: u32 = 0x1800;
    pub const EVENT_UNIT_PRIVATE: u32 = 0x4000;
    pub const DMA: u32 = 0x4400;
    pub const DMA_END: u32 = 0x4800;
    pub const DRIVER: u32 = 0x5000;
}

/// Names the registers of a DMA port.
mod dma {
    pub const SOURCE: u32 = 0x00;
    pub const DESTINATION: u32 = 0x08;
    pub const BYTES: u32 = 0x10;
    pub const LAUNCH: u32 = 0x18;
    pub const DONE: u32 = 0x20;
}

/// Offset of the timer's counter.
const TIMER_COUNT: u32 = 0x08;

impl Clusters {
    /// Performs an access to a cluster's peripherals.
    pub fn access_peripheral(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let is_driver = offset >= part::DRIVER;
        // What the core's demultiplexer reaches gets an atomic as a store that answers, whatever its
        // operation (RTL core_demux).
        let is_atomic = matches!(access.kind, MemoryKind::Amo(_));
        if is_atomic && offset < part::EVENT_UNIT_PRIVATE || access.is_misaligned() && !is_driver {
            return fault(access);
        }
        let write = access.kind.writes();
        let word = offset & !3;
        let performed = match offset {
            part::DRIVER.. => {
                self.access_driver(shared, id, access, offset - part::DRIVER, now, listener)
            }
            part::DMA..part::DMA_END => {
                self.access_dma(shared, id, word - part::DMA, access, now, listener)
            }
            part::EVENT_UNIT_PRIVATE..part::DMA => {
                self.access_events(shared, id, access, word - part::EVENT_UNIT_PRIVATE, now)
            }
            part::PUBLIC_DMA..part::EVENT_UNIT_PRIVATE => {
                self.access_dma(shared, id, word - part::PUBLIC_DMA, access, now, listener)
            }
            part::CACHE..part::PUBLIC_DMA => {
                let next = if write && access.data != 0 {
                    self.each[self.cores[id].cluster as usize].cache.turn_on(now)
                } else {
                    now
                };
                done(0, next)
            }
            part::EVENT_UNIT..part::CACHE => done(0, now),
            part::TIMER..part::EVENT_UNIT => {
                let count = if word - part::TIMER == TIMER_COUNT { now as u32 } else { 0 };
                done(count, now)
            }
            _ => {
                if write && word == part::CONTROL && access.data & 1 == 1 {
                    self.cores[id].waiting = Waiting::Ever;
                    self.ended = true;
                    return Performed::Wait(Waiting::Ever);
                }
                done(0, now)
            }
        };
        if let Performed::Done { .. } = performed {
            self.cores[id].model.loads(access);
        }
        let shift = 8 * (access.address & 3);
        match performed {
            Performed::Done { value, next } => Performed::Done { value: value >> shift, next },
            other => other,
        }
    }

    fn access_events(
        &mut self,
        shared: &mut Shared,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
    ) -> Performed {
        let (cluster, index) = (self.cores[id].cluster, self.cores[id].index);
        let events = &mut self.each[cluster as usize].events;
        match access.kind {
            MemoryKind::EventLoad => match events.take(index, offset) {
                Some(value) => done(value, now),
                None => Performed::Wait(Waiting::Event),
            },
            kind if kind.writes() => {
                let awake = events.write(index, offset, access.data);
                for core in 0..self.cores_each {
                    let core_id = self.core_id(cluster, core);
                    if awake >> core & 1 == 1 && self.cores[core_id].waiting == Waiting::Event {
                        self.resume(shared, core_id, now + 1);
                    }
                }
                done(0, now)
            }
            _ => done(events.read(index, offset), now),
        }
    }

    fn access_dma(
        &mut self,
        shared: &mut Shared,
        id: usize,
        offset: u32,
        access: &Access<u32>,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let front = &mut self.drivers[id].dma;
        if access.kind.writes() {
            match offset {
                dma::SOURCE => front.source = access.data,
                dma::DESTINATION => front.destination = access.data,
                dma::BYTES => front.bytes = access.data,
                _ => {} // the upper halves of the addresses, which no NIC memory needs
            }
            return done(0, now);
        }
        let value = match offset {
            dma::SOURCE => front.source,
            dma::DESTINATION => front.destination,
            dma::BYTES => front.bytes,
            dma::DONE => front.done,
            dma::LAUNCH => {
                if front.launched - front.done >= shared.machine.dma.core_transfers {
                    return Performed::Wait(Waiting::Dma);
                }
                let front = *front;
                let (cluster, index) = (self.cores[id].cluster, self.cores[id].index);
                if !self.each[cluster as usize].dma_turns.take(index) {
                    self.ask_dma_turn(shared, now, id);
                    return Performed::Wait(Waiting::DmaTurn);
                }
                self.count_wait(id, now);
                return self.launch(shared, id, &front, now, listener);
            }
            _ => 0,
        };
        done(value, now)
    }

    fn launch(
        &mut self,
        shared: &mut Shared,
        id: usize,
        front: &DmaFrontEnd,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let cluster = self.cores[id].cluster;
        let (from, to, bytes) = (front.source, front.destination, front.bytes);
        let end = |address: u32| shared.memories.place(address, cluster);
        let inside = |place: Option<Place>| {
            place.is_some_and(|place| shared.memories.slice(place, bytes).is_some())
        };
        let (source, destination) = (end(from), end(to));
        let mut wrong = None;
        if !inside(source) || !inside(destination) {
            wrong = Some("a DMA transfer leaves the NIC's memories");
        } else if shared.machine.protection.check_commands
            && self.drivers[id].running.is_some()
            && !(self.cores[id].permissions.covers(from, bytes, Right::Read)
                && self.cores[id].permissions.covers(to, bytes, Right::Write))
        {
            wrong = Some("a DMA transfer touches what the handler may not touch");
        }
        let launched = front.launched + 1;
        if let Some(what) = wrong {
            let other_address = Some(u64::from(to));
            let refused = Refused { nic_address: from, other_address, bytes };
            self.report_refusal(shared, now, id, what, refused, listener);
            // It counts as done, so nobody waits for it.
            let front = &mut self.drivers[id].dma;
            front.launched = launched;
            front.done += 1;
            return done(launched, now);
        }
        let in_l2 = |place: Option<Place>| !matches!(place, Some(Place::L1 { .. }));
        let own = |place: Option<Place>| matches!(place, Some(Place::L1 { cluster: at, .. }) if at == cluster);
        let route = match (in_l2(source), in_l2(destination)) {
            (true, true) => Route::WithinL2,
            (true, false) if matches!(source, Some(Place::L2Handler(_))) => {
                Route::FromHandlerMemory
            }
            (true, false) => Route::FromL2,
            (false, true) => Route::ToL2,
            (false, false) if own(source) && own(destination) => Route::Local,
            (false, false) => Route::Remote,
        };
        self.hold_completion(id, now);
        self.drivers[id].dma.launched = launched;
        let requester = Requester::Core(id as u32);
        self.request_dma(shared, now, cluster, Transfer { requester, from, to, bytes, route });
        done(launched, now)
    }

    /// Notes that a core's transfer is done.
    pub fn core_transfer_done(&mut self, shared: &mut Shared, now: u64, core: usize) {
        self.drivers[core].dma.done += 1;
        if self.cores[core].waiting == Waiting::Dma {
            self.resume(shared, core, now + 1);
        }
        self.offer_completion(shared, now, core);
    }
}

/// Answers an access in its cycle.
pub fn done(value: u32, now: u64) -> Performed {
    Performed::Done { value, next: now + 1 }
}
