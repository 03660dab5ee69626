//! The NIC inbound engine: frames from the wire into the packet buffer, and a HER for each.
//!
//! In: frames, classified by the matching engine where they do not say it themselves. Out: packets in
//! the L2 packet buffer, over the 512-bit port, and their HERs (`her.rs`) to the MPQ engine when the
//! write is complete. Holds the packet buffer's books and the packets being written; where the wire
//! cannot wait, a FIFO of so many bytes that loses frames beyond. Waits for room in the packet buffer
//! and for the MPQ engine; a frame is asked for when it can be taken, so back-pressure reaches the
//! source. (Paper §III-A; RTL: the NIC inbound engine of the published model; latency 4 + beats.)

mod hardware;
mod her;

use std::collections::VecDeque;

use pinion_l2_port::packet_buffer::PacketBuffer;
use pinion_sim::turn_port::{BurstId, Side, TurnPort};

use crate::crossing::Crossing;
use crate::hardware::matching_engine::AHEAD;
use crate::listener::{DropReason, Event, Listener};
use crate::machine::WhenFull;
use crate::matching::{Found, MatchingEngine, Verdict};
use crate::shared::Shared;
use crate::task::{NO_PACKET, Packet};
use crate::wake::{Due, Wake};
use crate::{Classification, ContextId, Frame, Machine, Offer, PacketRecord, Traffic};

pub use her::HerPath;

use hardware::classify_beside;

/// Holds the inbound engine.
#[derive(Clone, Debug)]
pub struct InboundEngine {
    /// Room in the L2 packet buffer.
    buffer: PacketBuffer,
    /// When it looks for a frame.
    pub frames_wake: Wake,
    /// When the oldest packet's HER is handed over.
    pub her_wake: Wake,
    /// Packet that it has begun to write: from which cycle, in how many, and where to. It looks at one in a cycle.
    pub written: Option<(u64, u64, u32)>,
    /// Frames that wait for room, or, where the source waits, for their arrival as well.
    fifo: VecDeque<Frame>,
    /// What the matching engine said of the first of them.
    known: Option<Classification>,
    /// Cycle at which the first of them arrives, once somebody asked.
    arrives: Option<u64>,
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
    /// When the write came in with which the last read was let through.
    read_admitted: u64,
    /// Whether the first frame waits for room.
    waits: bool,
    /// Rooms that were freed, with the cycle: beside a block they are there from the next one on.
    freed: Vec<(u64, u64, u32)>,
    /// What a block in the matching engine's place says of the first frame.
    found: Option<Found>,
    /// First cycle in which the first frame waits for a block in a unit's place.
    block_from: Option<u64>,
    /// The bytes of the last frame that was taken, for the source.
    spent: Vec<u8>,
    /// Whether the source is not asked until `reopen`.
    paused: bool,
    ended: bool,
}

/// Frames that come into the FIFO in one cycle at most, so that time goes on where a source without a
/// rate has all of them at once: more than any wire brings.
const ARRIVALS_PER_CYCLE: u32 = 256;

/// Packets that may be on their way into the packet buffer.
const WRITING_LIMIT: usize = 1024;

impl InboundEngine {
    /// Makes an idle engine.
    pub fn new(machine: &Machine) -> Self {
        let limit = u64::from(machine.inbound.fifo_bytes);
        Self {
            fifo_limit: (limit > 0).then_some(limit),
            delay: machine.matching.latency_cycles + Crossing::new(machine).in_cycles(),
            waits: false,
            paused: true,
            buffer: PacketBuffer::new(machine),
            frames_wake: Wake::default(),
            her_wake: Wake::default(),
            written: None,
            fifo: VecDeque::new(),
            known: None,
            arrives: None,
            fifo_bytes: 0,
            upcoming: None,
            come_from: (0, 0),
            take_from: 0,
            port: TurnPort::with_queue(machine.inbound.queue_bursts),
            writing: VecDeque::new(),
            blocked: false,
            her_from: 0,
            next_packet: 0,
            read_admitted: 0,
            freed: Vec::new(),
            found: None,
            block_from: None,
            spent: Vec::new(),
            ended: false,
        }
    }

    /// Lets a request to read L2 through that comes at cycle `at`; gives when. While a write's request is
    /// kept waiting in front of the port, reads' requests are, too, and one passes behind each write
    /// that comes in (RTL axi_id_remap, state HoldAW).
    pub fn admit_read(&mut self, at: u64) -> u64 {
        let Some(entry) = self.port.next_admission(at, self.read_admitted) else { return at };
        self.read_admitted = entry;
        entry + 1
    }

    /// Gives the cycle in which a packet's write has gone through, as things stand.
    #[inline]
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

    /// Forgets the packets that are being written and the packet buffer's books: they are dropped.
    pub fn reset(&mut self, machine: &Machine) {
        self.buffer = PacketBuffer::new(machine);
        self.freed.clear();
        self.writing.clear();
        self.port.cancel(Side::Stream);
        self.blocked = false;
        self.forget();
    }

    /// Forgets what is known of the first frame that waits: rules have changed, or time began anew.
    pub fn forget(&mut self) {
        (self.known, self.arrives) = (None, None);
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

    /// Has it look again in the next cycle, after something was freed, unless its frame waits for
    /// its arrival only. When the last packet has left, time goes on for that cycle all the same.
    #[inline]
    fn room_came(&mut self, shared: &mut Shared, now: u64) {
        if self.waits || self.fifo_limit.is_some() || shared.packets.live() == 0 {
            self.wake_inbound(shared, now + 1);
        }
    }

    /// Lets it look for a frame at `cycle`.
    #[inline]
    pub fn wake_inbound(&mut self, shared: &mut Shared, cycle: u64) {
        shared.wake(&mut self.frames_wake, cycle, Due::Inbound);
    }

    /// Takes frames as long as they have arrived and there is room, and writes them to the packet
    /// buffer.
    #[inline]
    pub fn take_frames(
        &mut self,
        shared: &mut Shared,
        matching: &mut MatchingEngine,
        now: u64,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) {
        self.waits = false;
        loop {
            if self.fifo_limit.is_some() || self.fifo.is_empty() || shared.hardware.is_some() {
                self.fill_fifo(shared, now, traffic, listener);
                self.ask_block(shared, now);
            }
            let Some(frame) = self.fifo.front() else {
                let upcoming = self.upcoming.as_ref().map(|frame| self.comes(shared, frame));
                return upcoming.map_or((), |cycle| self.wake_inbound(shared, cycle));
            };
            let arrival = self.arrives.unwrap_or_else(|| self.arrival(shared, frame));
            self.arrives = Some(arrival);
            let from = (arrival + self.delay).max(self.take_from);
            if from > now {
                return self.wake_inbound(shared, from);
            }
            let known = self.known.or(frame.classification);
            if known.is_none() && self.waits_for_block(shared, now) {
                return;
            }
            let exists =
                |known: &Classification| shared.contexts.list.len() > known.context.0 as usize;
            let classification = match known.filter(exists) {
                Some(classification) => classification,
                None => match self.classify(shared, matching, now, listener) {
                    Some(classification) => classification,
                    None => continue,
                },
            };
            if !self.take(shared, now, classification, listener) {
                self.waits = true;
                if self.has_handed(now) {
                    self.wake_inbound(shared, now + 1);
                }
                return;
            }
        }
    }

    /// Says whether a HER was handed over in this cycle: its place is there from the next one on, whichever
    /// comes first.
    fn has_handed(&self, now: u64) -> bool {
        self.her_from == now + 1
    }

    /// Gives the cycle at which a frame's last bit arrives.
    #[inline]
    fn arrival(&self, shared: &Shared, frame: &Frame) -> u64 {
        shared.epoch + shared.clock.cycle_at(frame.arrival)
    }

    /// Gives the cycle at which a frame comes into the FIFO.
    fn comes(&self, shared: &Shared, frame: &Frame) -> u64 {
        self.arrival(shared, frame).max(self.come_from.0)
    }

    /// Asks the source for what has arrived: for one frame, or for all that the FIFO is to take.
    fn fill_fifo(
        &mut self,
        shared: &mut Shared,
        now: u64,
        traffic: &mut dyn Traffic,
        listener: &mut dyn Listener,
    ) {
        let Some(limit) = self.fifo_limit else {
            // A block that matches has several at a time.
            let most = if shared.hardware.matches().is_some() { AHEAD } else { 1 };
            while self.fifo.len() < most
                && let Some(frame) = self.ask(shared, traffic)
            {
                self.fifo.push_back(frame);
            }
            return;
        };
        loop {
            if self.upcoming.is_none() {
                self.upcoming = self.ask(shared, traffic);
            }
            let Some(frame) = &self.upcoming else { return };
            let comes = self.comes(shared, frame);
            if comes > now {
                return;
            }
            self.count_arrival(comes);
            let Some(frame) = self.upcoming.take() else { return };
            let bytes = frame.bytes.len() as u64;
            if self.fifo_bytes + bytes > limit {
                shared.totals.count_drop(DropReason::FifoFull);
                let (time, reason) = (frame.arrival, DropReason::FifoFull);
                listener.hear(&Event::Dropped { time, reason, frame: &frame.bytes });
                continue;
            }
            self.fifo_bytes += bytes;
            self.fifo.push_back(frame);
        }
    }

    /// Asks the source for a frame.
    fn ask(&mut self, shared: &mut Shared, traffic: &mut dyn Traffic) -> Option<Frame> {
        if self.paused || self.ended {
            return None;
        }
        if self.spent.capacity() > 0 {
            traffic.reuse(std::mem::take(&mut self.spent));
        }
        match traffic.next() {
            Offer::Frame(frame) => {
                shared.totals.packets_in += 1;
                shared.totals.bytes_in += frame.bytes.len() as u64;
                return Some(frame);
            }
            Offer::Nothing => self.paused = true,
            Offer::End => self.ended = true,
        }
        None
    }

    /// Takes the first frame out of the FIFO.
    fn take_frame(&mut self) -> Option<Frame> {
        (self.known, self.arrives) = (None, None);
        let frame = self.fifo.pop_front()?;
        self.fifo_bytes = self.fifo_bytes.saturating_sub(frame.bytes.len() as u64);
        Some(frame)
    }

    /// Asks the matching engine about the waiting frame; `None`: it went another way.
    fn classify(
        &mut self,
        shared: &mut Shared,
        matching: &mut MatchingEngine,
        now: u64,
        listener: &mut dyn Listener,
    ) -> Option<Classification> {
        let time = shared.time(now);
        let frame = self.fifo.front()?;
        // Rules count from the frame's first header, whichever of them handlers see.
        let verdict = classify_beside(shared, matching, frame, self.found.take());
        if let Verdict::Matched { context, message, end_of_message } = verdict {
            let bytes = (frame.bytes.len() as u32).saturating_sub(frame.skip);
            let wanted =
                shared.contexts.list.get(context as usize).and_then(|context| context.l1_bytes);
            let classification = Classification {
                context: ContextId(context),
                message: message.id,
                end_of_message,
                l1_bytes: wanted.map_or(bytes, |wanted| wanted.min(bytes)),
            };
            self.known = Some(classification);
            return Some(classification);
        }
        shared.totals.unmatched += 1;
        shared.last_progress = now;
        self.take_from = now + 1;
        listener.hear(&Event::Unmatched { time, frame: &frame.bytes });
        self.take_frame();
        None
    }

    /// Takes the waiting frame into the packet buffer; `false`: it has to wait.
    fn take(
        &mut self,
        shared: &mut Shared,
        now: u64,
        classification: Classification,
        listener: &mut dyn Listener,
    ) -> bool {
        let Some(frame) = self.fifo.front() else { return false };
        let skip = (frame.skip as usize).min(frame.bytes.len());
        let bytes = (frame.bytes.len() - skip) as u32;
        if bytes > shared.machine.inbound.max_packet_bytes {
            self.drop_waiting(shared, now, DropReason::TooLarge, listener);
            return true;
        }
        let room = self.writing.len() + usize::from(self.has_handed(now)) < WRITING_LIMIT;
        let allocated = if room { self.allocate(shared, now, bytes) } else { None };
        if allocated == Some(None) {
            self.drop_waiting(shared, now, DropReason::TooLarge, listener);
            return true;
        }
        let Some(address) = allocated.flatten() else {
            if shared.machine.inbound.when_full == WhenFull::Drop {
                self.drop_waiting(shared, now, DropReason::BufferFull, listener);
                return true;
            }
            return false; // a completion wakes the engine
        };
        let Some(frame) = self.take_frame() else { return false };
        shared.totals.matched += 1;
        shared.last_progress = now;
        shared.memories.write(address, &frame.bytes[skip..]);
        let beats = shared.machine.inbound.port_cycles(bytes);
        let ready = now + shared.machine.inbound.latency_cycles;
        let (burst, start) = self.port.book(now, Side::Stream, ready, beats);
        self.written = Some((start, beats, address));
        self.take_from = now + 1;
        let record = PacketRecord {
            packet: self.next_packet,
            tag: frame.tag,
            context: classification.context,
            message: classification.message,
            bytes,
            end_of_message: classification.end_of_message,
            arrival: frame.arrival,
            inbound: shared.time(now),
            ..PacketRecord::default()
        };
        self.next_packet += 1;
        let slot = shared.packets.insert(Packet {
            record,
            address,
            l1_bytes: classification.l1_bytes.min(bytes),
            next: NO_PACKET,
            static_cell: false,
        });
        if shared.interest.units {
            listener.hear(&Event::PacketTaken { record: &shared.packets[slot].record, address });
        }
        self.writing.push_back((slot, burst));
        if self.writing.len() == 1 {
            self.wake_her(shared, start + beats);
        }
        self.spent = frame.bytes;
        true
    }

    fn drop_waiting(
        &mut self,
        shared: &mut Shared,
        now: u64,
        reason: DropReason,
        listener: &mut dyn Listener,
    ) {
        let known = self.known;
        if let Some(frame) = self.take_frame() {
            if known.or(frame.classification).is_some() {
                shared.totals.matched += 1;
            }
            shared.totals.count_drop(reason);
            shared.last_progress = now;
            self.take_from = now + 1;
            let time = shared.time(now);
            listener.hear(&Event::Dropped { time, reason, frame: &frame.bytes });
        }
    }
}
