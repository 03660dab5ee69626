//! The pins and the ingress pipeline (nanoPU paper, §2.1 and §3.1; RTL LNIC/Ingress.scala).
//!
//! In: frames, with the cycle of their first flit on the pins. Out: the transport's verdict about
//! each, its requests to the transmit side, and the cycle in which its payload is in its buffer.
//! Holds frames that have not been decided about. Nothing makes it wait: it takes a flit in every
//! cycle.

use std::collections::VecDeque;

use pinion_net::frame::lnic::Header;

use super::Requests;
use super::core_selection::CoreSelection;
use super::reassembly::Reassembly;
use crate::Cycle;
use crate::event::{Event, Listener};
use crate::hardware::ndp_ingress::{Control, Look, Named, Notice, Verdict};
use crate::hardware::{InLoop, IngressSeat};
use crate::machine::receive::{DATAPATH_BYTES, IngressSection, ReceiveFixes};
use crate::transport::{ControlRequest, Credit, Delivered};
use crate::transport::{DropReason, Externs, MessageInfo, Refusal};

/// A frame on its way in.
#[derive(Clone, Debug)]
pub struct Frame {
    first_flit: Cycle,
    /// When its header is in the pipeline.
    header: Cycle,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Holds frames on their way in.
#[derive(Clone, Debug)]
pub struct Ingress {
    timing: IngressSection,
    frames: VecDeque<Frame>,
    spare: Vec<Vec<u8>>,
    /// The block beside it.
    pub hardware: InLoop<IngressSeat>,
}

impl Ingress {
    /// Makes an empty pipeline.
    pub fn new(timing: IngressSection) -> Self {
        Self { timing, frames: VecDeque::new(), spare: Vec::new(), hardware: InLoop::default() }
    }

    /// Takes a frame whose first flit is on the pins in cycle `first_flit`.
    pub fn accept(&mut self, first_flit: Cycle, bytes: &[u8]) {
        if let Some(seat) = self.hardware.get_mut() {
            seat.frame(first_flit, bytes);
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(bytes);
        let header = self.arrival(first_flit, bytes.len().min(DATAPATH_BYTES));
        self.frames.push_back(Frame { first_flit, header, bytes: buffer });
    }

    /// Gives the cycle in which the next frame's message is looked up.
    pub fn next_event(&self) -> Option<Cycle> {
        self.frames.front().map(|frame| frame.header + self.timing.lookup_cycles)
    }

    /// Lets its block take all cycles before one of which everything is known.
    pub fn clock(&mut self, to: Cycle) {
        let limit = self.next_event().map_or(to, |next| next.min(to));
        if let Some(seat) = self.hardware.get_mut() {
            seat.clock(limit);
        }
    }

    /// Counts the frames that have not been decided about.
    pub fn undecided(&self) -> u64 {
        self.frames.len() as u64
    }

    /// Takes the next frame.
    pub fn next_frame(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }

    /// Takes a frame's memory back.
    pub fn recycle(&mut self, frame: Frame) {
        self.spare.push(frame.bytes);
    }

    /// Gives the cycle in which the transport's requests for a frame take effect.
    pub fn decided(&self, frame: &Frame) -> Cycle {
        frame.header + self.timing.decide_cycles
    }

    /// Tells the listener when a frame's words enter the pipeline.
    pub fn trace_in(&self, frame: &Frame, listener: &mut impl Listener) {
        let bytes = frame.bytes.len();
        let words = bytes.div_ceil(DATAPATH_BYTES).max(1);
        for word in 1..=words {
            let end = (word * DATAPATH_BYTES).min(bytes);
            let at = self.arrival(frame.first_flit, end);
            listener.event(at, Event::IngressIn { last: word == words });
        }
    }

    /// Gives the cycle in which the last word of a packet's payload leaves the pipeline, and tells the listener and the
    /// block about each.
    pub fn payload_out(
        &mut self,
        frame: &Frame,
        packet: (u16, u8),
        payload: &[u8],
        listener: &mut impl Listener,
    ) -> Cycle {
        let bytes = frame.bytes.len();
        let header_bytes = bytes.saturating_sub(payload.len());
        let words = (bytes - header_bytes).div_ceil(DATAPATH_BYTES).max(1);
        let mut out = frame.header + self.timing.header_cycles - 1;
        for word in 1..=words {
            let end = (header_bytes + word * DATAPATH_BYTES).min(bytes);
            let first = if word == 1 { self.timing.first_word_cycles } else { 0 };
            let ready = self.arrival(frame.first_flit, end) + self.timing.payload_cycles + first;
            out = ready.max(out + 1);
            if let Some(seat) = self.hardware.get_mut() {
                seat.write(out, packet, word - 1, payload);
            }
            listener.event(out, Event::IngressOut { last: word == words });
        }
        out
    }

    /// Gives the cycle in which the pipeline has the word that ends with a frame's `end`th byte.
    fn arrival(&self, first_flit: Cycle, end: usize) -> Cycle {
        let flits = (end as u64).div_ceil(self.timing.pin_bytes).max(1);
        first_flit + flits - 1 + self.timing.arrival_cycles
    }
}

/// Answers a transport's questions about the frame at hand.
pub struct Gate<'a, R, L> {
    /// Where messages are put together.
    pub reassembly: &'a mut Reassembly,
    /// Who serves which context.
    pub selection: &'a CoreSelection,
    /// Which weaknesses are mended.
    pub fixes: &'a ReceiveFixes,
    /// The transmit side.
    pub requests: &'a mut R,
    /// Who hears events.
    pub listener: &'a mut L,
    /// The block beside the pipeline.
    pub block: Option<&'a mut IngressSeat>,
    /// The frame's payload.
    pub payload: &'a [u8],
    /// The cycle of the look-up.
    pub looked_up: Cycle,
    /// The cycle in which requests take effect.
    pub decided: Cycle,
}

impl<R, L> Gate<'_, R, L> {
    /// Checks that somebody serves the context a message is for.
    pub fn served(&self, context: u16) -> Result<(), Refusal> {
        if self.fixes.context_out_of_range && !self.selection.in_range(context) {
            return Err(Refusal::Bad(DropReason::ContextOutOfRange));
        }
        let unbound = self.selection.in_range(context) && !self.selection.is_bound(context);
        if self.fixes.unbound_context && unbound {
            return Err(Refusal::Bad(DropReason::ContextUnbound));
        }
        Ok(())
    }
}

impl<R: Requests, L: Listener> Externs for Gate<'_, R, L> {
    fn now(&self) -> Cycle {
        self.decided
    }

    fn message(&mut self, header: &Header, trimmed: bool) -> Result<MessageInfo, Refusal> {
        let served = self.served(header.dst_context);
        let answer = served
            .and_then(|()| self.reassembly.message(header, self.payload, trimmed, self.looked_up));
        if let Some(seat) = &mut self.block {
            let verdict = served.ok().map(|()| match answer {
                Ok(message) => Verdict::Taken { id: message.rx_id, begins: message.new },
                Err(Refusal::Duplicate { .. }) => Verdict::Duplicate,
                Err(_) => Verdict::NoRoom,
            });
            let (at, named) = (self.looked_up, Named::of(header));
            seat.look(Look { at, named, is_trimmed: trimmed, verdict });
        }
        answer
    }

    fn control(&mut self, request: ControlRequest) {
        self.listener.event(request.at, Event::ControlRequest);
        if let Some(seat) = &mut self.block {
            let (at, named) = (request.at, Named::of(&request.answers));
            let (acknowledges, credit) = (request.acknowledge, request.pull_offset);
            seat.control(Control { at, named, acknowledges, credit });
        }
        self.requests.control(request);
    }

    fn delivered(&mut self, delivered: Delivered) {
        self.listener.event(delivered.at, Event::Delivered);
        let (at, id) = (delivered.at, delivered.tx_msg_id);
        if let Some(seat) = &mut self.block {
            seat.notice(Notice {
                at,
                id,
                delivered: Some(delivered.packet),
                again: None,
                credit: None,
            });
        }
        self.requests.delivered(delivered);
    }

    fn credit(&mut self, credit: Credit) {
        self.listener.event(credit.at, Event::Credit);
        let (at, id, again) = (credit.at, credit.tx_msg_id, credit.retransmit);
        if let Some(seat) = &mut self.block {
            seat.notice(Notice { at, id, delivered: None, again, credit: credit.credit });
        }
        self.requests.credit(credit);
    }
}
