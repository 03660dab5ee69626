//! The way in: frames from the wire, matching, the NIC inbound engine, HERs.
//!
//! A frame is asked for when the inbound engine can take one, so back-pressure reaches the source;
//! or, where the wire cannot wait, frames wait in a FIFO of so many bytes and are lost beyond.
//! A matched packet gets room in the packet buffer, is written there over the 512-bit port, and its
//! HER goes to the MPQ engine when the write is complete. (Paper §III-A; latency 4 + beats.)

use std::collections::VecDeque;

use super::{Due, Nic, crossing::Crossing, unit};
use crate::listener::{DropReason, Event, Listener};
use crate::machine::WhenFull;
use crate::matching::Verdict;
use crate::mpq::Refusal;
use crate::task::{NO_PACKET, Packet};
use crate::turn_port::{BurstId, Side, TurnPort};
use crate::{
    Classification, ContextId, Frame, Machine, Offer, PacketRecord, Traffic, UnitEventKind,
};

/// Holds the inbound engine.
#[derive(Debug, Default)]
pub struct Ingress {
    /// Frames that wait for room, or, where the source waits, for their arrival as well.
    fifo: VecDeque<Frame>,
    /// What the matching engine said of the first of them.
    known: Option<Classification>,
    /// Bytes of them.
    fifo_bytes: u64,
    /// Bytes that may wait; `None`: one frame, and the source waits.
    fifo_limit: Option<u64>,
    /// Frame that has not arrived, where frames wait in the FIFO.
    upcoming: Option<Frame>,
    /// First cycle in which the next frame can come into the FIFO, and how many came in it.
    come_from: (u64, u32),
    /// Cycles from a frame's arrival until the engine can take it: crossing and matching.
    delay: u64,
    /// First cycle in which the engine can take the next packet: it looks at one per cycle.
    take_from: u64,
    /// The port to the packet buffer: packets that come in, and copies from the host.
    port: TurnPort,
    /// Packets that are being written, with the write's name; HERs follow in this order.
    writing: VecDeque<(u32, BurstId)>,
    /// Whether the first of them waits for a cell or a queue.
    blocked: bool,
    /// Cycle from which the next HER can be handed over, one being handed per cycle.
    her_from: u64,
    next_packet: u64,
    /// The inbound write burst during which reads were counted last: its end, and the reads.
    read_burst: (u64, u32),
    /// Reads that the port takes during one write burst.
    reads_per_burst: u32,
    /// Whether the source is not asked until `reopen`.
    paused: bool,
    ended: bool,
}

/// Frames that come into the FIFO in one cycle at most, so that time goes on where a source without a
/// rate has all of them at once: more than any wire brings.
const ARRIVALS_PER_CYCLE: u32 = 256;

/// Packets that may be on their way into the packet buffer.
const WRITING_LIMIT: usize = 1024;

impl Ingress {
    /// Makes an idle engine.
    pub fn new(machine: &Machine) -> Self {
        let limit = u64::from(machine.inbound.fifo_bytes);
        Self {
            fifo_limit: (limit > 0).then_some(limit),
            delay: machine.matching.latency_cycles + Crossing::new(machine).in_cycles(),
            reads_per_burst: machine.command.reads_per_inbound_burst,
            paused: true,
            ..Self::default()
        }
    }

    /// Gives the cycle at which a read burst of L2 that could start at `from` gets the port that it
    /// shares with the inbound writes: the port takes only so many read bursts per write burst.
    pub fn read_start(&mut self, from: u64) -> u64 {
        let mut start = from;
        loop {
            if start >= self.read_burst.0 {
                let mut ends = self.writing.iter().map(|&(_, burst)| self.written(burst));
                let Some(end) = ends.find(|&end| end > start) else { return start };
                self.read_burst = (end, 0);
            }
            if self.read_burst.1 < self.reads_per_burst {
                self.read_burst.1 += 1;
                return start;
            }
            start = self.read_burst.0;
        }
    }

    /// Gives the cycle in which a packet's write has gone through, as things stand.
    fn written(&self, burst: BurstId) -> u64 {
        self.port.end(Side::Stream, burst).unwrap_or(0)
    }

    /// Gives the port to the packet buffer, which copies from the host share with the packets that
    /// come in.
    pub fn port(&mut self) -> &mut TurnPort {
        &mut self.port
    }

    /// Lets the source be asked again; `true`: it is not being asked already.
    pub fn reopen(&mut self) -> bool {
        std::mem::take(&mut self.paused)
    }

    /// Forgets the packets that are being written: they are dropped.
    pub fn reset(&mut self) {
        self.writing.clear();
        self.port.cancel(Side::Stream);
        self.blocked = false;
        self.forget();
    }

    /// Forgets what the matching engine said of the first frame that waits: rules have changed.
    pub fn forget(&mut self) {
        self.known = None;
    }

    /// Counts a frame that comes into the FIFO at `cycle`, or is lost there.
    fn count_arrival(&mut self, cycle: u64) {
        let (from, count) = self.come_from;
        let count = if cycle > from { 1 } else { count + 1 };
        self.come_from = if count < ARRIVALS_PER_CYCLE { (cycle, count) } else { (cycle + 1, 0) };
    }

    /// Says whether the source said it has ended.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Gives the number of packets taken from the source but not yet in the packet buffer's books.
    pub fn holds(&self) -> u32 {
        self.fifo.len() as u32 + u32::from(self.upcoming.is_some())
    }

    /// Says whether the HER of the oldest packet waits for a cell or a queue.
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }
}

impl Nic {
    /// Lets the inbound engine look for a frame at `cycle`.
    pub(super) fn wake_inbound(&mut self, cycle: u64) {
        if self.wakes.inbound.request(cycle) {
            self.wheel.push(cycle, Due::Inbound);
        }
    }

    /// Takes frames as long as they have arrived and there is room.
    pub(super) fn inbound(
        &mut self,
        now: u64,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) {
        loop {
            self.fill_fifo(now, traffic, listener);
            let Some(frame) = self.ingress.fifo.front() else {
                let upcoming = self.ingress.upcoming.as_ref().map(|frame| self.comes(frame));
                return upcoming.map_or((), |cycle| self.wake_inbound(cycle));
            };
            let from = (self.arrival(frame) + self.ingress.delay).max(self.ingress.take_from);
            if from > now {
                return self.wake_inbound(from);
            }
            let known = self.ingress.known.or(frame.classification);
            let exists = |known: &Classification| self.contexts.len() > known.context.0 as usize;
            let classification = match known.filter(exists) {
                Some(classification) => classification,
                None => match self.classify(now, listener) {
                    Some(classification) => classification,
                    None => continue,
                },
            };
            if !self.take(now, classification, listener) {
                return;
            }
        }
    }

    /// Gives the cycle at which a frame's last bit arrives.
    fn arrival(&self, frame: &Frame) -> u64 {
        self.epoch + self.clock.cycle_at(frame.arrival)
    }

    /// Gives the cycle at which a frame comes into the FIFO.
    fn comes(&self, frame: &Frame) -> u64 {
        self.arrival(frame).max(self.ingress.come_from.0)
    }

    /// Asks the source for what has arrived: for one frame, or for all that the FIFO is to take.
    fn fill_fifo(&mut self, now: u64, traffic: &mut dyn Traffic, listener: &mut dyn Listener) {
        let Some(limit) = self.ingress.fifo_limit else {
            if self.ingress.fifo.is_empty()
                && let Some(frame) = self.ask(traffic)
            {
                self.ingress.fifo.push_back(frame);
            }
            return;
        };
        loop {
            if self.ingress.upcoming.is_none() {
                self.ingress.upcoming = self.ask(traffic);
            }
            let Some(frame) = &self.ingress.upcoming else { return };
            let comes = self.comes(frame);
            if comes > now {
                return;
            }
            self.ingress.count_arrival(comes);
            let Some(frame) = self.ingress.upcoming.take() else { return };
            let bytes = frame.bytes.len() as u64;
            if self.ingress.fifo_bytes + bytes > limit {
                self.totals.count_drop(DropReason::FifoFull);
                let (time, reason) = (frame.arrival, DropReason::FifoFull);
                listener.hear(&Event::Dropped { time, reason, frame: &frame.bytes });
                continue;
            }
            self.ingress.fifo_bytes += bytes;
            self.ingress.fifo.push_back(frame);
        }
    }

    /// Asks the source for a frame.
    fn ask(&mut self, traffic: &mut dyn Traffic) -> Option<Frame> {
        if self.ingress.paused || self.ingress.ended {
            return None;
        }
        match traffic.next() {
            Offer::Frame(frame) => {
                self.totals.packets_in += 1;
                self.totals.bytes_in += frame.bytes.len() as u64;
                return Some(frame);
            }
            Offer::Nothing => self.ingress.paused = true,
            Offer::End => self.ingress.ended = true,
        }
        None
    }

    /// Takes the first frame out of the FIFO.
    fn take_frame(&mut self) -> Option<Frame> {
        self.ingress.known = None;
        let frame = self.ingress.fifo.pop_front()?;
        self.ingress.fifo_bytes = self.ingress.fifo_bytes.saturating_sub(frame.bytes.len() as u64);
        Some(frame)
    }

    /// Asks the matching engine about the waiting frame; `None`: it went another way.
    fn classify(&mut self, now: u64, listener: &mut dyn Listener) -> Option<Classification> {
        let time = self.time(now);
        let frame = self.ingress.fifo.front()?;
        // Rules count from the frame's first header, whichever of them handlers see.
        let verdict = self.matching.classify(&frame.bytes);
        if let Verdict::Matched { context, message, end_of_message } = verdict {
            let bytes = (frame.bytes.len() as u32).saturating_sub(frame.skip);
            let wanted = self.contexts.get(context as usize).and_then(|context| context.l1_bytes);
            let classification = Classification {
                context: ContextId(context),
                message: message.id,
                end_of_message,
                l1_bytes: wanted.map_or(bytes, |wanted| wanted.min(bytes)),
            };
            self.ingress.known = Some(classification);
            return Some(classification);
        }
        self.totals.unmatched += 1;
        self.last_progress = now;
        self.ingress.take_from = now + 1;
        listener.hear(&Event::Unmatched { time, frame: &frame.bytes });
        self.take_frame();
        None
    }

    /// Takes the waiting frame into the packet buffer; `false`: it has to wait.
    fn take(
        &mut self,
        now: u64,
        classification: Classification,
        listener: &mut dyn Listener,
    ) -> bool {
        let Some(frame) = self.ingress.fifo.front() else { return false };
        let skip = (frame.skip as usize).min(frame.bytes.len());
        let bytes = (frame.bytes.len() - skip) as u32;
        if bytes > self.machine.inbound.max_packet_bytes {
            self.drop_waiting(now, DropReason::TooLarge, listener);
            return true;
        }
        let room = self.ingress.writing.len() < WRITING_LIMIT;
        let Some(address) = room.then(|| self.buffer.allocate(bytes)).flatten() else {
            if self.machine.inbound.when_full == WhenFull::Drop {
                self.drop_waiting(now, DropReason::BufferFull, listener);
                return true;
            }
            return false; // a completion wakes the engine
        };
        let Some(frame) = self.take_frame() else { return false };
        self.totals.matched += 1;
        self.last_progress = now;
        self.memories.write(address, &frame.bytes[skip..]);
        let beats = u64::from(bytes.div_ceil(self.machine.inbound.port_bytes)).max(1);
        let beats = (beats * self.machine.inbound.beat_sixteenths).div_ceil(16);
        let ready = now + self.machine.inbound.latency_cycles;
        let (burst, start) = self.ingress.port.book(now, Side::Stream, ready, beats);
        self.ingress.take_from = now + 1;
        let record = PacketRecord {
            packet: self.ingress.next_packet,
            tag: frame.tag,
            context: classification.context,
            message: classification.message,
            bytes,
            end_of_message: classification.end_of_message,
            arrival: frame.arrival,
            inbound: self.time(now),
            ..PacketRecord::default()
        };
        self.ingress.next_packet += 1;
        let slot = self.packets.insert(Packet {
            record,
            address,
            l1_bytes: classification.l1_bytes.min(bytes),
            next: NO_PACKET,
            static_cell: false,
        });
        if self.interest.units {
            listener.hear(&Event::PacketTaken { record: &self.packets[slot].record, address });
        }
        self.ingress.writing.push_back((slot, burst));
        if self.ingress.writing.len() == 1 {
            self.wake_her(start + beats);
        }
        true
    }

    fn drop_waiting(&mut self, now: u64, reason: DropReason, listener: &mut dyn Listener) {
        let known = self.ingress.known;
        if let Some(frame) = self.take_frame() {
            if known.or(frame.classification).is_some() {
                self.totals.matched += 1;
            }
            self.totals.count_drop(reason);
            self.last_progress = now;
            self.ingress.take_from = now + 1;
            let time = self.time(now);
            listener.hear(&Event::Dropped { time, reason, frame: &frame.bytes });
        }
    }

    /// Lets the oldest packet's HER be handed over at `cycle`.
    fn wake_her(&mut self, cycle: u64) {
        if self.wakes.her.request(cycle) {
            self.wheel.push(cycle, Due::Her);
        }
    }

    /// Tries again to hand a HER over, after something was freed.
    pub(super) fn retry_her(&mut self, now: u64) {
        if self.ingress.blocked {
            self.ingress.blocked = false;
            self.wake_her(now);
        }
    }

    /// Hands the HER of the oldest written packet to the MPQ engine, one per cycle.
    pub(super) fn hand_her(&mut self, now: u64, listener: &mut dyn Listener) {
        self.ingress.blocked = false;
        let Some(&(slot, burst)) = self.ingress.writing.front() else { return };
        let ready = self.ingress.written(burst);
        if ready > now {
            return self.wake_her(ready);
        }
        let context = self.packets[slot].record.context;
        let handlers = self.handlers[context.0 as usize];
        let timeout = self.message_timeout(context);
        if let Err(refusal) = self.mpq.accept(now, slot, &mut self.packets, handlers, timeout) {
            return self.refuse_her(now, slot, refusal, listener);
        }
        self.totals.her_stall_cycles += now.saturating_sub(ready.max(self.ingress.her_from));
        self.ingress.her_from = now + 1;
        let time = self.time(now);
        let packet = &mut self.packets[slot];
        packet.record.her = time;
        let (message, address) = (packet.record.message, packet.address);
        self.tell(listener, || unit(UnitEventKind::HerIn, now, 0, 0, message, address));
        self.wake_schedule(now + 1);
        self.next_her(now);
    }

    fn next_her(&mut self, now: u64) {
        if let Some((_, burst)) = self.ingress.writing.pop_front() {
            self.ingress.port.forget(now, Side::Stream, burst);
        }
        if let Some(&(_, burst)) = self.ingress.writing.front() {
            self.wake_her(self.ingress.written(burst).max(now + 1));
        }
        self.wake_inbound(now + 1);
    }

    fn message_timeout(&self, context: ContextId) -> u64 {
        let general = self.machine.protection.message_timeout_cycles;
        if general == 0 {
            return u64::MAX;
        }
        self.contexts[context.0 as usize].message_timeout_cycles.unwrap_or(general)
    }

    /// Deals with a HER that the MPQ engine cannot take.
    fn refuse_her(&mut self, now: u64, slot: u32, refusal: Refusal, listener: &mut dyn Listener) {
        if refusal == Refusal::NoQueue {
            if let Some(evicted) = self.mpq.evict(now) {
                self.matching.end_message(evicted.context.0, evicted.message);
                self.totals.evicted += 1;
                let time = self.time(now);
                let (context, message) = (evicted.context, evicted.message);
                listener.hear(&Event::MessageEvicted { time, context, message });
                return self.hand_her(now, listener);
            }
            if self.machine.inbound.when_full == WhenFull::Drop {
                return self.drop_her(now, slot, listener);
            }
        }
        self.ingress.blocked = true;
        if refusal == Refusal::NoQueue {
            // Nothing may ever complete: the oldest unfinished message must be given up in time.
            if let Some(at) = self.mpq.next_eviction_cycle() {
                self.wake_her(at.max(now + 1));
            }
        }
    }

    fn drop_her(&mut self, now: u64, slot: u32, listener: &mut dyn Listener) {
        let (address, bytes) = (self.packets[slot].address, self.packets[slot].record.bytes);
        self.totals.count_drop(DropReason::NoQueue);
        let time = self.time(now);
        let frame = self.memories.read(address, bytes).unwrap_or(&[]);
        listener.hear(&Event::Dropped { time, reason: DropReason::NoQueue, frame });
        self.packets.remove(slot);
        self.buffer.free(address);
        self.next_her(now);
    }
}
