//! The receive side: pins, ingress pipeline, reassembly, global receive queues, core selection
//! (nanoPU paper, figure 1).
//!
//! In: frames from the pins; harts that bind a context or are done with a message. Out: words in
//! the harts' local queues; requests to the transmit side ([`Requests`]). Holds what waits in
//! between. A message waits for its last packet, for room in its context's global queue, for a
//! hart that may take it, and for room in that hart's queue.
//!
//! Time: everything is computed from the cycle in which something arrives, so there is an event per
//! frame and per message, not per cycle. [`Receive::next_event`] says when there is one;
//! [`Receive::advance`] does all that is due. Words are handed to a hart ahead of time, with the
//! cycle in which each enters the queue.

pub mod accounting;
mod blocks;
pub mod core_selection;
mod dispatch;
mod events;
mod global_receive;
mod ingress;
pub mod jbsq;
mod message_table;
mod reassembly;

use std::collections::VecDeque;

pub use accounting::Accounting;
use core_selection::{CoreSelection, Lane};
use dispatch::Dispatcher;
use events::Handled;
use global_receive::{GlobalReceive, Queued};
use ingress::{Gate, Ingress};
use reassembly::{Reassembly, WORDS};

use super::{ControlRequest, Credit, Delivered};
use crate::Cycle;
use crate::event::{Event, Listener};
use crate::hart_interface::HartInterface;
use crate::machine::receive::{ReceiveSection, ReceiveSectionError};
use crate::transport::{Change, EventKind};
use crate::transport::{Transport, Verdict};
use crate::waypoint::Waypoint;

/// Takes the receive side's requests to the transmit side; `at` in each says when it takes effect,
/// some cycles after the call.
pub trait Requests {
    /// Asks for control frames.
    fn control(&mut self, request: ControlRequest);
    /// Tells that a packet of ours arrived.
    fn delivered(&mut self, delivered: Delivered);
    /// Gives credit or asks for a retransmission.
    fn credit(&mut self, credit: Credit);
    /// Sends a frame that the ingress pipeline has made, from this cycle on.
    fn frame(&mut self, at: Cycle, frame: Vec<u8>);
    /// Changes tables of the egress program.
    fn change_tables(&mut self, changes: &[Change]);
}

/// Says what stopped the RTL at a point where the fixes that help are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A message for this context arrived, which nobody has bound.
    UnboundContext(u16),
}

impl Stop {
    /// Says in a few words what stopped the RTL.
    pub fn describe(self) -> &'static str {
        match self {
            Self::UnboundContext(_) => "a message came for a context that no hart has bound",
        }
    }
}

/// A complete message on its way into the global receive queues.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    rx_id: u16,
    lane: Lane,
    /// 64 B words that have gone.
    done: u32,
    /// Cycle in which the next word goes, if there is room.
    at: Cycle,
    /// Cycle before which it does not, whenever room comes.
    not_before: Cycle,
}

/// Holds the receive side of a NIC.
#[derive(Clone)]
pub struct Receive {
    section: ReceiveSection,
    transport: Box<dyn Transport>,
    ingress: Ingress,
    reassembly: Reassembly,
    /// Messages that are complete, and from when their first word may go.
    assembled: VecDeque<(Cycle, u16)>,
    delivery: Option<Delivery>,
    /// When the next message may follow the last.
    delivery_free: Cycle,
    /// Messages whose last word has gone, and when.
    gone: VecDeque<(Cycle, u16)>,
    global: GlobalReceive,
    selection: CoreSelection,
    dispatcher: Dispatcher,
    books: Accounting,
    /// When the next timer of the transport's program fires.
    timer: Cycle,
    /// By event: what the transport's program handles.
    handled: Handled,
    stopped: Option<(Cycle, Stop)>,
    /// The earliest cycle in which there is something to do without new input, or the end of time.
    next: Cycle,
    /// There are blocks of hardware, which take every cycle.
    has_blocks: bool,
}

impl std::fmt::Debug for Receive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Receive");
        debug.field("transport", &self.transport.name()).field("books", &self.books);
        debug.finish_non_exhaustive()
    }
}

impl Receive {
    /// Makes the receive side of a NIC with `harts` harts.
    ///
    /// # Errors
    /// [`ReceiveSectionError`] names the number that describes no machine.
    pub fn new(
        section: &ReceiveSection,
        transport: Box<dyn Transport>,
        harts: usize,
    ) -> Result<Self, ReceiveSectionError> {
        section.check()?;
        let timing =
            transport.cycles().map_or(section.ingress, |cycles| section.ingress.with(cycles));
        let selection = CoreSelection::new(&section.core_selection, section.global.contexts, harts);
        Ok(Self {
            handled: Handled::of(&*transport),
            timer: Cycle::MAX,
            transport,
            ingress: Ingress::new(timing),
            reassembly: Reassembly::new(section),
            assembled: VecDeque::new(),
            delivery: None,
            delivery_free: 0,
            gone: VecDeque::new(),
            global: GlobalReceive::new(&section.global, selection.lanes_per_context()),
            selection,
            dispatcher: Dispatcher::new(section.global, harts),
            books: Accounting::default(),
            stopped: None,
            next: Cycle::MAX,
            has_blocks: false,
            section: section.clone(),
        })
    }

    /// Takes a frame whose first flit is on the pins in cycle `first_flit`; frames come in order
    /// and do not overlap, and may be given ahead of time.
    pub fn frame(&mut self, first_flit: Cycle, bytes: &[u8]) {
        self.ingress.accept(first_flit, bytes);
        self.note_next();
    }

    /// Hears that a hart binds a context. Returns false for a context without a queue.
    pub fn bind(&mut self, hart: u8, context: u16, now: Cycle) -> bool {
        let has_queue = self.selection.bind(hart, context, now);
        self.note_next();
        has_queue
    }

    /// Hears that a hart is done with a message of a context, by an instruction that retires in
    /// `now`.
    pub fn message_done(&mut self, hart: u8, context: u16, now: Cycle) {
        self.dispatcher.message_done(hart, context, now);
        self.note_next();
    }

    /// Gives the earliest cycle in which there is something to do without new input; `None` when
    /// idle. When words wait for room in a hart's queue, [`HartInterface::next_room`] says
    /// when there is some; advance the receive side then.
    pub fn next_event(&self) -> Option<Cycle> {
        Some(self.next).filter(|at| *at != Cycle::MAX)
    }

    /// Notes when there is something to do; to be called behind whatever may have changed it.
    fn note_next(&mut self) {
        let next = self.next_events().into_iter().min().filter(|_| self.stopped.is_none());
        self.next = next.unwrap_or(Cycle::MAX);
    }

    /// Gives the next cycles of the units: look-up, freeing, dispatch, delivery, timers; the end of time for
    /// those with nothing to do.
    fn next_events(&self) -> [Cycle; 5] {
        [
            self.ingress.next_event().unwrap_or(Cycle::MAX),
            self.gone.front().map_or(Cycle::MAX, |(at, _)| *at),
            self.dispatcher.next_event().unwrap_or(Cycle::MAX),
            self.next_delivery(),
            self.timer,
        ]
    }

    /// Does all that is due up to cycle `now`.
    pub fn advance(
        &mut self,
        now: Cycle,
        requests: &mut impl Requests,
        harts: &mut [HartInterface],
        listener: &mut impl Listener,
    ) {
        let waits = self.dispatcher.waits();
        if self.next > now && !waits && !self.has_blocks {
            return;
        }
        if waits {
            self.pump(harts, listener);
        }
        self.selection.clock(now);
        self.reassembly.clock(now);
        while self.stopped.is_none() {
            let [lookup, gone, dispatch, delivery, timer] = self.next_events();
            let at = lookup.min(gone).min(dispatch).min(delivery).min(timer);
            self.next = at;
            if at > now || at == Cycle::MAX {
                break;
            }
            // In one cycle, look-ups see the buffers and queues of the cycle before.
            if at == lookup {
                self.decide(at, requests, listener);
            } else if at == gone {
                self.free(at, requests, listener);
            } else if at == dispatch {
                self.dispatcher.step(at, &mut self.selection, &self.global, &mut self.books);
                self.pump(harts, listener);
            } else if at == timer {
                self.fire(at, requests, listener);
            } else {
                self.deliver(at, requests, listener);
                if self.dispatcher.waits() {
                    self.pump(harts, listener);
                }
            }
        }
        if self.stopped.is_some() {
            self.next = Cycle::MAX;
        }
        self.ingress.clock(now);
    }

    /// Gives what became of every frame so far.
    pub fn accounting(&self) -> Accounting {
        self.books.clone()
    }

    /// Tells what stopped the RTL here and when; nothing moves on after that.
    pub fn stopped(&self) -> Option<(Cycle, Stop)> {
        self.stopped
    }

    /// Tells whether nothing is in the receive side, nor on its way out of it.
    pub fn is_empty(&self) -> bool {
        self.books.resident_packets == 0 && self.ingress.next_event().is_none()
    }

    /// Gives the transport.
    pub fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    /// Counts the messages of a context that are outstanding at a hart.
    pub fn outstanding(&self, hart: u8, context: u16) -> u16 {
        self.selection.outstanding(hart, context)
    }

    /// Tells whether some hart serves a context.
    pub fn serves(&self, context: u16) -> bool {
        self.selection.is_bound(context)
    }

    /// Counts the frames that have come.
    pub fn frames_come(&self) -> u64 {
        self.books.frames + self.ingress.undecided()
    }

    /// Decides about the next frame, whose message is looked up in cycle `at`.
    fn decide(&mut self, at: Cycle, requests: &mut impl Requests, listener: &mut impl Listener) {
        let Some(frame) = self.ingress.next_frame() else { return };
        self.ingress.trace_in(&frame, listener);
        self.books.frames += 1;
        let decided = self.ingress.decided(&frame);
        if self.handled.is_active {
            self.transport.tell_time(at, decided);
        }
        let parsed = self.transport.parse(&frame.bytes);
        let made = if self.handled.is_active { self.transport.made() } else { None };
        match parsed {
            Err(reason) => {
                let number = self.books.frames - 1;
                listener.waypoint(at, Waypoint::Dropped { frame: number, reason });
                self.books.drop_packet(reason);
                self.dropped(at, reason, None, requests, listener);
            }
            Ok((header, payload)) => {
                let own = made.as_ref().and_then(|made| made.payload.as_deref());
                let payload = own.unwrap_or(payload);
                let gate = &mut Gate {
                    reassembly: &mut self.reassembly,
                    selection: &self.selection,
                    fixes: &self.section.fixes,
                    requests,
                    listener,
                    payload,
                    block: self.ingress.hardware.get_mut(),
                    looked_up: at,
                    decided,
                };
                let verdict = self.transport.arrive(&header, payload, gate);
                let taken = match verdict {
                    Verdict::Reassemble { rx_id } => Ok(rx_id),
                    Verdict::Whole => gate
                        .served(header.dst_context)
                        .and_then(|()| gate.reassembly.whole(&header, payload))
                        .map_err(|refusal| Some(refusal.into())),
                    Verdict::Consume | Verdict::Return => Err(None),
                    Verdict::Drop(reason) => Err(Some(reason)),
                };
                let number = self.books.frames - 1;
                match taken {
                    Ok(rx_id) => {
                        self.books.resident_packets += 1;
                        let place = (rx_id, header.pkt_offset);
                        let out = self.ingress.payload_out(&frame, place, payload, listener);
                        let complete = self.reassembly.write(rx_id, &header, payload);
                        self.reassembly.written(rx_id, out, complete);
                        let waypoint = Waypoint::Packet {
                            frame: number,
                            message: self.reassembly.number(rx_id),
                            packet: header.pkt_offset,
                            stored: out,
                            complete,
                        };
                        listener.waypoint(at, waypoint);
                        if complete {
                            let ready = out + self.section.reassembly.deliver_cycles;
                            self.assembled.push_back((ready, rx_id));
                        }
                    }
                    Err(Some(reason)) => {
                        listener.waypoint(at, Waypoint::Dropped { frame: number, reason });
                        self.books.drop_packet(reason);
                        self.dropped(at, reason, Some(&header), requests, listener);
                    }
                    Err(None) => {
                        let trimmed = verdict == Verdict::Consume && is_data(&header);
                        listener.waypoint(at, Waypoint::Consumed { frame: number, trimmed });
                        self.books.trimmed += u64::from(trimmed);
                        self.books.control += u64::from(!trimmed);
                        if trimmed {
                            self.about(EventKind::Trim, at, &header, requests, listener);
                        }
                    }
                }
            }
        }
        if self.handled.is_active {
            self.take_made(decided, made, requests);
        }
        self.ingress.recycle(frame);
    }

    /// Gives the cycle in which the next word can go into the global receive queues.
    fn next_delivery(&self) -> Cycle {
        match self.delivery {
            Some(delivery) => delivery.at,
            None => {
                let ready = self.assembled.front().map(|(ready, _)| *ready);
                ready.map_or(Cycle::MAX, |ready| ready.max(self.delivery_free))
            }
        }
    }

    /// Moves words of a complete message into the global receive queues, the first in cycle `at`.
    fn deliver(&mut self, at: Cycle, requests: &mut impl Requests, listener: &mut impl Listener) {
        let Some(mut delivery) = self.delivery.or_else(|| self.next_assembled(at)) else { return };
        delivery.at = at;
        let context = self.reassembly.header(delivery.rx_id).dst_context;
        if !self.selection.in_range(context) {
            // The RTL waits for room that never comes.
            self.delivery = Some(Delivery { at: Cycle::MAX, ..delivery });
            return;
        }
        let words = self.reassembly.words(delivery.rx_id);
        let total = words.len().div_ceil(WORDS) as u32;
        if !self.selection.is_bound(context) {
            listener.event(at, Event::ReassemblyOut { last: total == 1 });
            self.stopped = Some((at, Stop::UnboundContext(context)));
            return;
        }
        let n = self.global.room(context, at).min(total - delivery.done);
        if n == 0 {
            // Room comes when a message is dispatched, which looks here again.
            delivery.not_before = at;
            delivery.at = self.global.next_room(context).unwrap_or(Cycle::MAX).max(at);
            self.delivery = Some(delivery);
            return;
        }
        if delivery.done == 0 {
            let number = self.reassembly.number(delivery.rx_id);
            listener.waypoint(at, Waypoint::Queued { message: number, context });
            let queued = Queued {
                number,
                application_header: self.reassembly.application_header(delivery.rx_id),
                words: words.len() as u32,
                stored: 0,
                packets: self.reassembly.arrived(delivery.rx_id),
            };
            self.global.begin(delivery.lane, queued);
            self.dispatcher.arrived(delivery.lane, at);
        }
        let from = delivery.done as usize * WORDS;
        let to = words.len().min(from + n as usize * WORDS);
        self.global.store(delivery.lane, context, &words[from..to]);
        delivery.done += n;
        let waiting = self.handled.hears_queues().then(|| self.global.fill(context, at));
        for i in 0..n {
            let last = i + 1 == n && delivery.done == total;
            listener.event(at + Cycle::from(i), Event::ReassemblyOut { last });
        }
        delivery.at = at + Cycle::from(n);
        if delivery.done == total {
            self.delivery = None;
            self.delivery_free = delivery.at + 1;
            self.gone.push_back((delivery.at - 1, delivery.rx_id));
        } else {
            self.delivery = Some(delivery);
        }
        if let Some(words) = waiting {
            self.queued(at, context, (words - n, words), requests, listener);
        }
    }

    /// Takes the next complete message.
    fn next_assembled(&mut self, at: Cycle) -> Option<Delivery> {
        let (ready, rx_id) = self.assembled.front_mut()?;
        let rx_id = *rx_id;
        if !self.reassembly.take(rx_id, at) {
            *ready = at + 1;
            return None;
        }
        self.assembled.pop_front();
        let header = self.reassembly.header(rx_id);
        let served = self.selection.is_bound(header.dst_context);
        let lane = if served { self.selection.lane(header) } else { 0 };
        Some(Delivery { rx_id, lane, done: 0, at, not_before: at })
    }

    /// Frees what the message that has just gone held.
    fn free(&mut self, now: Cycle, requests: &mut impl Requests, listener: &mut impl Listener) {
        if let Some((_, rx_id)) = self.gone.pop_front() {
            let header = *self.reassembly.header(rx_id);
            self.about(EventKind::Delivery, now, &header, requests, listener);
            self.transport.finished(rx_id);
            self.reassembly.free(rx_id, now);
        }
    }

    /// Moves words to the harts, and on into the room they leave.
    fn pump(&mut self, harts: &mut [HartInterface], listener: &mut impl Listener) {
        self.dispatcher.pump(&mut self.global, harts, &mut self.books, listener);
        let Some(delivery) = self.delivery.as_mut().filter(|d| d.at == Cycle::MAX) else { return };
        let context = self.reassembly.header(delivery.rx_id).dst_context;
        if self.selection.in_range(context) {
            let room = self.global.next_room(context).unwrap_or(Cycle::MAX);
            delivery.at = room.max(delivery.not_before);
        }
    }
}

/// Tells whether a frame that was consumed carried data once.
fn is_data(header: &pinion_net::frame::lnic::Header) -> bool {
    header.flags.has(pinion_net::frame::lnic::Flags::DATA)
}

#[cfg(test)]
mod tests;
