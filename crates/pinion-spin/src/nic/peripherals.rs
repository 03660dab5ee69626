//! A cluster's peripherals as its cores see them: HPU driver, DMA ports, event unit, timer,
//! instruction cache control.

use pinion_isa::{Access, MemoryKind};

use super::memory_access::{Performed, fault};
use super::{Nic, unit};
use crate::UnitEventKind;
use crate::cluster::dma::{Requester, Route, Transfer};
use crate::hpu::Waiting;
use crate::hpu::driver::{DmaFrontEnd, register};
use crate::hpu::permissions::{Right, Subject};
use crate::listener::Listener;
use crate::memory::Place;
use crate::scene::Refused;

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

impl Nic {
    /// Performs an access to a cluster's peripherals.
    pub(super) fn access_peripheral(
        &mut self,
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
            part::DRIVER.. => self.access_driver(id, access, offset - part::DRIVER, now, listener),
            part::DMA..part::DMA_END => {
                self.access_dma(id, write, word - part::DMA, access, now, listener)
            }
            part::EVENT_UNIT_PRIVATE..part::DMA => {
                self.access_events(id, access, word - part::EVENT_UNIT_PRIVATE, now)
            }
            part::PUBLIC_DMA..part::EVENT_UNIT_PRIVATE => {
                self.access_dma(id, write, word - part::PUBLIC_DMA, access, now, listener)
            }
            part::CACHE..part::PUBLIC_DMA => {
                if write && access.data != 0 {
                    let cluster = self.cores[id].cluster as usize;
                    self.clusters[cluster].cache.request_on();
                }
                done(0, now)
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
        if let Performed::Done { .. } = performed
            && access.kind != MemoryKind::Store
        {
            self.cores[id].loaded = access.rd;
        }
        let shift = 8 * (access.address & 3);
        match performed {
            Performed::Done { value, next } => Performed::Done { value: value >> shift, next },
            other => other,
        }
    }

    fn access_events(
        &mut self,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
    ) -> Performed {
        let (cluster, index) = (self.cores[id].cluster, self.cores[id].index);
        let events = &mut self.clusters[cluster as usize].events;
        match access.kind {
            MemoryKind::EventLoad => match events.take(index, offset) {
                Some(value) => done(value, now),
                None => Performed::Wait(Waiting::Event),
            },
            kind if kind.writes() => {
                let awake = events.write(index, offset, access.data);
                for core in 0..self.machine.cluster.cores {
                    let core_id = self.core_id(cluster, core);
                    if awake >> core & 1 == 1 && self.cores[core_id].waiting == Waiting::Event {
                        self.resume(core_id, now + 1);
                    }
                }
                done(0, now)
            }
            _ => done(events.read(index, offset), now),
        }
    }

    fn access_driver(
        &mut self,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        if offset >= register::PAGE {
            return done(0, now);
        }
        match offset % register::SPAN {
            offset @ ..register::ISSUE => self.access_task(id, access, offset, now, listener),
            offset @ ..register::WIDE_TASK => {
                self.access_commands(id, access, offset & !3, now, listener)
            }
            _ if access.kind.writes() => done(0, now),
            offset => done(self.drivers[id].task_register(offset), now),
        }
    }

    /// Accesses the half of the registers that holds the task. It looks at whole addresses, and for
    /// the doorbell not at whether it is read or written.
    fn access_task(
        &mut self,
        id: usize,
        access: &Access<u32>,
        offset: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let driver = &self.drivers[id];
        let writes = access.kind.writes();
        let waits_for_task = driver.running.is_none_or(|running| running.started.is_none());
        match offset {
            register::HANDLER if !writes && waits_for_task => self.take_task(id, now, listener),
            register::DOORBELL if driver.completion.is_some() => {
                Performed::Wait(Waiting::Completion)
            }
            register::DOORBELL => {
                self.end_task(now, id, listener);
                done(self.drivers[id].answer(offset, Some(0)), now)
            }
            _ => {
                if offset == register::ERROR && writes {
                    self.report_error(id, access.data, now, listener);
                }
                done(self.drivers[id].task_register(offset), now)
            }
        }
    }

    /// Reports what the runtime's trap handler writes.
    fn report_error(&mut self, id: usize, cause: u32, now: u64, listener: &mut dyn Listener) {
        let interrupted = cause >> 31 == 1; // the watchdog has reported this one
        if !interrupted {
            self.report_exception(now, id, cause, listener);
        }
    }

    /// Accesses the half of the registers that issues commands.
    fn access_commands(
        &mut self,
        id: usize,
        access: &Access<u32>,
        word: u32,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let (writes, data) = (access.kind.writes(), access.data);
        let driver = &mut self.drivers[id];
        let value = match word {
            register::ISSUE if !writes => match self.issue_command(now, id, listener) {
                Some(command) => Some(command),
                None if self.drivers[id].running.is_none() => return fault(access),
                None => return Performed::Wait(Waiting::Issue),
            },
            register::WAIT if writes => {
                if let Some(slot) = driver.busy_slot(data) {
                    return Performed::Wait(Waiting::Command(slot));
                }
                None
            }
            register::TEST if writes => {
                driver.tested = u32::from(driver.busy_slot(data).is_none());
                None
            }
            register::TEST => Some(driver.tested),
            _ => {
                if writes {
                    driver.write_draft(word, data);
                }
                None
            }
        };
        done(self.drivers[id].answer(word, value), now)
    }

    /// Answers the load of the handler's address. A task assigned in this very cycle is there in the
    /// next: then the core waits that long.
    fn take_task(&mut self, id: usize, now: u64, listener: &mut dyn Listener) -> Performed {
        let Some(running) = self.drivers[id].running.as_mut() else {
            return Performed::Wait(Waiting::Task);
        };
        let core = &mut self.cores[id];
        let now = now.max(running.assigned + 1);
        running.started = Some(now);
        running.instret = core.hart.instret;
        core.stalls = crate::Stalls::default();
        let (task, context) = (running.task, running.context);
        let (cluster, hpu) = (core.cluster, core.index);
        let packet = &self.packets[task.packet];
        let subject = Subject {
            cluster,
            hpu,
            l1_packet: (task.l1_address, packet.l1_bytes),
            l2_packet: (packet.address, packet.record.bytes),
        };
        let (message, address) = (packet.record.message, packet.address);
        let context = &self.contexts[context as usize];
        core.permissions.set(&self.machine, context, &subject);
        if self.machine.protection.watchdog {
            let limit = context.watchdog_cycles.unwrap_or(self.machine.protection.watchdog_cycles);
            if self.drivers[id].arm(now.saturating_add(limit)) {
                self.push_alarm(id, now.saturating_add(limit));
            }
        }
        self.tell(listener, || unit(UnitEventKind::HpuGet, now, cluster, hpu, message, address));
        self.tell_started(now, id, listener);
        done(self.drivers[id].task_register(register::HANDLER), now)
    }

    fn access_dma(
        &mut self,
        id: usize,
        write: bool,
        offset: u32,
        access: &Access<u32>,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let front = &mut self.drivers[id].dma;
        if write {
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
                if front.launched - front.done >= self.machine.dma.core_transfers {
                    return Performed::Wait(Waiting::Dma);
                }
                let front = *front;
                return self.launch(id, &front, now, listener);
            }
            _ => 0,
        };
        done(value, now)
    }

    fn launch(
        &mut self,
        id: usize,
        front: &DmaFrontEnd,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Performed {
        let cluster = self.cores[id].cluster;
        let (from, to, bytes) = (front.source, front.destination, front.bytes);
        let end = |address: u32| self.memories.place(address, cluster);
        let inside = |place: Option<Place>| {
            place.is_some_and(|place| self.memories.slice(place, bytes).is_some())
        };
        let (source, destination) = (end(from), end(to));
        let mut wrong = None;
        if !inside(source) || !inside(destination) {
            wrong = Some("a DMA transfer leaves the NIC's memories");
        } else if self.machine.protection.check_commands
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
            self.report_refusal(now, id, what, refused, listener);
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
        self.drivers[id].dma.launched = launched;
        let requester = Requester::Core(id as u32);
        self.request_dma(now, cluster, Transfer { requester, from, to, bytes, route });
        done(launched, now)
    }

    /// Notes that a core's transfer is done.
    pub(super) fn core_transfer_done(&mut self, now: u64, core: usize) {
        self.drivers[core].dma.done += 1;
        if self.cores[core].waiting == Waiting::Dma {
            self.resume(core, now + 1);
        }
        self.offer_completion(now, core);
    }

    /// Turns a cluster's instruction cache on once none of its cores fetches.
    pub(super) fn core_waits(&mut self, id: usize, now: u64) {
        let cluster = self.cores[id].cluster;
        if !self.clusters[cluster as usize].cache.is_requested() {
            return;
        }
        let first = self.core_id(cluster, 0);
        let cores = first..first + self.machine.cluster.cores as usize;
        let cores = &self.cores[cores];
        if cores.iter().all(|core| core.waiting != Waiting::Nothing) {
            let lines = cores.iter().map(|core| core.buffer.line());
            self.clusters[cluster as usize].cache.turn_on(now, lines);
        }
    }
}

fn done(value: u32, now: u64) -> Performed {
    Performed::Done { value, next: now + 1 }
}
