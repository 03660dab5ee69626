//! Events that a transport's program handles beside a packet's arrival (nanoPU draft, §3.1): timers, drops, trimmed
//! packets, queues that pass a threshold, messages delivered.
//!
//! In: what happens in the receive side. Out: the program's requests and frames, as many cycles later as its
//! control has stages; packets are not held up. What nobody handles costs nothing.

use pinion_net::frame::lnic::Header;

use super::ingress::Gate;
use super::{Receive, Requests};
use crate::Cycle;
use crate::event::Listener;
use crate::transport::{DropReason, EventKind, Happening, Made, Transport};

/// By event: the cycles from it to what it makes others do, and the words of a queue that passes.
#[derive(Clone, Debug)]
pub(super) struct Handled {
    events: [Option<(Cycle, u32)>; EventKind::ALL.len()],
    /// There is more to ask the transport than its verdict.
    pub is_active: bool,
}

impl Handled {
    pub(super) fn of(transport: &dyn Transport) -> Self {
        let events = EventKind::ALL.map(|event| transport.handles(event));
        Self { events, is_active: transport.is_event_driven() }
    }

    fn get(&self, event: EventKind) -> Option<(Cycle, u32)> {
        self.events[event as usize]
    }

    /// Tells whether somebody wants to know of queues.
    pub(super) fn hears_queues(&self) -> bool {
        self.get(EventKind::Queue).is_some()
    }
}

/// Gives what a header says of a packet or message.
fn told(header: &Header) -> Happening {
    Happening {
        flags: header.flags.0,
        src_ip: header.src_ip,
        src_context: header.src_context,
        dst_context: header.dst_context,
        msg_len: header.msg_len,
        pkt_offset: header.pkt_offset,
        tx_msg_id: header.tx_msg_id,
        ..Happening::default()
    }
}

impl Receive {
    /// Lets the program hear of an event, if it handles it.
    fn happen(
        &mut self,
        event: EventKind,
        at: Cycle,
        happening: &Happening,
        requests: &mut impl Requests,
        listener: &mut impl Listener,
    ) {
        let Some((cycles, _)) = self.handled.get(event) else { return };
        let decided = at + cycles;
        self.transport.tell_time(at, decided);
        let gate = &mut Gate {
            reassembly: &mut self.reassembly,
            selection: &self.selection,
            fixes: &self.section.fixes,
            requests: &mut *requests,
            listener,
            payload: &[],
            block: None,
            looked_up: at,
            decided,
        };
        self.transport.happen(event, happening, gate);
        self.take_made(decided, None, requests);
    }

    /// Tells of a packet that was dropped.
    pub(super) fn dropped(
        &mut self,
        at: Cycle,
        reason: DropReason,
        header: Option<&Header>,
        requests: &mut impl Requests,
        listener: &mut impl Listener,
    ) {
        if self.handled.get(EventKind::Drop).is_some() {
            let reason = reason as u8 + 1;
            let happening = Happening { reason, ..header.map(told).unwrap_or_default() };
            self.happen(EventKind::Drop, at, &happening, requests, listener);
        }
    }

    /// Tells of an event that concerns a packet or message with this header.
    pub(super) fn about(
        &mut self,
        event: EventKind,
        at: Cycle,
        header: &Header,
        requests: &mut impl Requests,
        listener: &mut impl Listener,
    ) {
        if self.handled.get(event).is_some() {
            self.happen(event, at, &told(header), requests, listener);
        }
    }

    /// Tells of a queue that has grown, if it has passed the threshold by that.
    pub(super) fn queued(
        &mut self,
        at: Cycle,
        context: u16,
        (before, words): (u32, u32),
        requests: &mut impl Requests,
        listener: &mut impl Listener,
    ) {
        let Some((_, threshold)) = self.handled.get(EventKind::Queue) else { return };
        if before < threshold && words >= threshold {
            let words = words.min(u16::MAX.into()) as u16;
            let happening = Happening { dst_context: context, words, ..Happening::default() };
            self.happen(EventKind::Queue, at, &happening, requests, listener);
        }
    }

    /// Lets a timer fire.
    pub(super) fn fire(
        &mut self,
        at: Cycle,
        requests: &mut impl Requests,
        listener: &mut impl Listener,
    ) {
        let Some((_, timer)) = self.transport.next_timer() else { return };
        let happening = Happening { timer, ..Happening::default() };
        self.happen(EventKind::Timer, at, &happening, requests, listener);
    }

    /// Lets what the pipeline has made go where it belongs, from cycle `decided` on.
    pub(super) fn take_made(
        &mut self,
        decided: Cycle,
        parsed: Option<Box<Made>>,
        requests: &mut impl Requests,
    ) {
        for made in [parsed, self.transport.made()].into_iter().flatten() {
            for frame in made.frames {
                requests.frame(decided, frame);
            }
            if !made.changes.is_empty() {
                self.transport.change_tables(&made.changes);
                requests.change_tables(&made.changes);
            }
        }
        self.timer = self.transport.next_timer().map_or(Cycle::MAX, |(at, _)| at);
    }
}
