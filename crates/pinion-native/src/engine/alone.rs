//! Packets that are messages of their own, of the inline worker: they need no queue. Those that have one
//! handler wait for each other, and are run in one go.

use pinion_spin::matching::MatchingEngine;
use pinion_spin::{HandlerKind, Listener, Totals};

use super::tell::{tell_handler, tell_packet};
use super::{Engine, FRAMES_PER_LOOK, Incoming, Workers};
use crate::layout::ContextLayout;
use crate::packets::Packet;
use crate::row::{Given, place};
use crate::worker::{Done, Job, Worker};

/// Slots of the packet buffer in which they lie one behind the other.
pub(super) const SLOTS: u32 = 8;

/// Stands for the context of packets that match none.
const NONE: u32 = u32::MAX;

/// Says why [`Engine::fill`] went no further.
pub(super) enum Filled<'a> {
    /// There are no more frames.
    End,
    /// It is time to look at what came out.
    Look,
    /// This one goes another way, to the context that it matches; with its message's id, if it has one.
    Other(Incoming<'a>, Option<u32>, Option<u32>),
}

/// Says where packets of a context go: the way of the one before is that of most.
#[derive(Clone, Copy)]
struct Way<'a> {
    context: u32,
    /// Of a context whose packets are messages of their own with a single handler, which is the next one.
    layout: Option<&'a ContextLayout>,
    handler: u32,
}

impl<'a> Way<'a> {
    #[inline(never)]
    fn of(context: u32, matching: &MatchingEngine, layouts: &'a [ContextLayout]) -> Self {
        let layout = layouts.get(context as usize).filter(|_| matching.is_alone(context));
        let handler = layout.and_then(|layout| layout.only_handler);
        Self {
            context,
            layout: layout.filter(|_| handler.is_some()),
            handler: handler.unwrap_or(0),
        }
    }
}

impl Engine {
    /// Takes frames the shortest way, for as long as each is a message of its own: it needs no queue, and
    /// waits until its handler is run with those of others.
    #[inline]
    pub(super) fn fill<'a>(
        &mut self,
        frames: &mut impl Iterator<Item = Incoming<'a>>,
    ) -> Filled<'a> {
        let Workers::Inline(worker) = &mut self.workers else { return self.other(frames) };
        let Some(mut row) = worker.row().filter(|_| self.may_wait) else {
            return self.other(frames);
        };
        let mut entries = worker.entries();
        let most = FRAMES_PER_LOOK - self.totals.packets_in % FRAMES_PER_LOOK;
        let (mut packets_in, mut bytes_in) = (0, 0);
        let mut way = Way { context: NONE, layout: None, handler: 0 };
        let idle_bits = self.mpq.bits_while_idle();
        let filled = loop {
            if packets_in == most {
                break Filled::Look;
            }
            let Some(frame) = frames.next() else { break Filled::End };
            packets_in += 1;
            bytes_in += frame.bytes.len() as u64;
            let seen = frame.bytes.get(frame.skip as usize..).unwrap_or(&[]);
            let matched = self.matching.matched(frame.bytes);
            let context = matched.unwrap_or(NONE);
            if context != way.context {
                way = Way::of(context, &self.matching, &self.shared.contexts);
            }
            let (Some(layout), true) = (way.layout, seen.len() <= self.most_bytes) else {
                break Filled::Other(frame, matched, None);
            };
            let message = self.matching.take_message_number();
            let queue = match idle_bits {
                Some(bits) => message & bits,
                None => match self.mpq.queue_of_alone((context, message)) {
                    Some(queue) => queue,
                    None => break Filled::Other(frame, matched, Some(message)),
                },
            };
            if !row.has_room(entries, seen.len()) {
                worker.keep(row);
                self.next_number += run_waiting(worker, &mut self.totals);
                row.clear();
                entries = worker.entries();
            }
            let (l2_address, bytes) = (row.next_in_l2(), seen.len() as u32);
            let l1_bytes = bytes.min(layout.l1_bytes);
            // SAFETY: there is room, what is free of it nobody has, and no handler runs.
            unsafe {
                if l1_bytes == bytes {
                    place(seen, [l2_address, row.next_in_l1()]);
                } else {
                    place(seen, [l2_address]);
                    place(seen.get(..l1_bytes as usize).unwrap_or(seen), [row.next_in_l1()]);
                }
            }
            let (handler, packet) = (way.handler, self.next_number + row.waiting() as u64);
            let given = Given { handler, context, message, queue, packet, l2_address, bytes };
            row.note(entries, layout, given, (l1_bytes, row.home_by_bits(queue)));
        };
        worker.keep(row);
        self.totals.packets_in += packets_in;
        self.totals.bytes_in += bytes_in;
        filled
    }

    /// Takes a frame that cannot go the shortest way, whatever it is.
    #[inline(never)]
    fn other<'a>(&mut self, frames: &mut impl Iterator<Item = Incoming<'a>>) -> Filled<'a> {
        let Some(frame) = frames.next() else { return Filled::End };
        self.totals.packets_in += 1;
        self.totals.bytes_in += frame.bytes.len() as u64;
        let matched = self.matching.matched(frame.bytes);
        Filled::Other(frame, matched, None)
    }

    /// Runs the handlers of the packets that wait.
    #[inline]
    pub(super) fn run_waiting(&mut self) {
        if let Workers::Inline(worker) = &mut self.workers
            && worker.waiting() > 0
        {
            self.next_number += run_waiting(worker, &mut self.totals);
        }
    }

    /// Counts the packets whose handlers wait to be run.
    pub(super) fn waiting(&self) -> u64 {
        match &self.workers {
            Workers::Inline(worker) => worker.waiting(),
            Workers::Threads(_) => 0,
        }
    }

    /// Runs the handlers of a packet that is a message of its own, at once; tells about them and the packet
    /// where times are taken.
    pub(super) fn run_alone(
        &mut self,
        mut packet: Packet,
        queue: u32,
        seen: &[u8],
        listener: &mut dyn Listener,
    ) {
        let Workers::Inline(worker) = &mut self.workers else { return };
        let l2_address = worker.next_in_l2();
        // SAFETY: the reserved slots are as large as the largest packet, and no handler runs.
        unsafe { place(seen, [l2_address]) };
        self.totals.processed += 1;
        let layout = &self.shared.contexts[packet.context as usize];
        let kinds = [HandlerKind::Header, HandlerKind::Payload, HandlerKind::Completion];
        for (&handler, kind) in layout.handlers.iter().zip(kinds) {
            if handler == 0 {
                continue;
            }
            let Packet { context, message, number, bytes, .. } = packet;
            let given =
                Given { handler, context, message, queue, packet: number, l2_address, bytes };
            let job = Job { given, kind, slot: 0, frees: false };
            let done = Done { job, worker: 0, ran: worker.execute(layout, given) };
            if self.shared.timed {
                self.busy_ns += packet.note(&done);
            }
            if self.handlers {
                tell_handler(&done, &self.shared.machine, listener);
            }
        }
        if self.shared.timed {
            tell_packet(&packet, &self.shared.machine, listener);
        }
    }
}

/// Runs the handlers of the packets that wait for a worker, and counts them.
#[inline(never)]
fn run_waiting(worker: &mut Worker, totals: &mut Totals) -> u64 {
    let packets = worker.waiting();
    totals.matched += packets;
    totals.processed += packets;
    worker.run_waiting();
    packets
}
