//! Packets that are messages of their own, of the inline worker: they need no queue. Those that have one
//! handler wait for each other, and are run in one go.

use pinion_spin::{HandlerKind, Listener};

use super::tell::{tell_handler, tell_packet};
use super::{Engine, Incoming, Workers};
use crate::packets::Packet;
use crate::worker::{BLOCK_BYTES, Done, Given, Job, place};

/// Slots of the packet buffer in which they lie one behind the other.
pub(super) const SLOTS: u32 = 8;

impl Engine {
    /// Takes a message that is one packet without its queue, the shortest way: it waits until its handler is
    /// run with those of others. `false`: it cannot, and nothing is done.
    #[inline]
    pub(super) fn add_alone(&mut self, (context, message): (u32, u32), frame: &Incoming) -> bool {
        let seen = frame.bytes.get(frame.skip as usize..).unwrap_or(&[]);
        if seen.len() > self.most_bytes {
            return false;
        }
        let Some(queue) = self.mpq.queue_of_alone((context, message)) else { return false };
        let Workers::Inline(worker) = &mut self.workers else { return false };
        if !worker.has_room(seen.len()) || seen.len() > self.alone.len() {
            self.run_waiting();
        }
        let packet = self.next_number;
        self.next_number += 1;
        self.totals.matched += 1;
        let (l2_address, bytes) = (self.alone.start, seen.len() as u32);
        self.alone.start += bytes.next_multiple_of(BLOCK_BYTES as u32);
        self.waiting += 1;
        let layout = &self.shared.contexts[context as usize];
        let Workers::Inline(worker) = &mut self.workers else { return false };
        let given = |handler| Given { handler, context, message, queue, packet, l2_address, bytes };
        if let Some(handler) = layout.only_handler {
            worker.add_new(layout, given(handler), seen);
            return true;
        }
        // SAFETY: the range is as large as the largest packet, and what is free of it nobody has.
        unsafe { place(seen, l2_address) };
        // What one of its handlers writes to the packet the next one finds in its copy.
        worker.run_waiting();
        for handler in layout.handlers.into_iter().filter(|handler| *handler != 0) {
            worker.execute(layout, given(handler));
        }
        true
    }

    /// Runs the handlers of the packets that wait.
    #[inline]
    pub(super) fn run_waiting(&mut self) {
        if let Workers::Inline(worker) = &mut self.workers
            && self.waiting > 0
        {
            worker.run_waiting();
            self.totals.processed += std::mem::take(&mut self.waiting);
            self.alone = self.alone_slots.clone();
        }
    }

    /// Does the same with times, and tells about handlers and packet.
    pub(super) fn run_alone_timed(
        &mut self,
        mut packet: Packet,
        queue: u32,
        seen: &[u8],
        listener: &mut dyn Listener,
    ) {
        let l2_address = self.alone.start;
        // SAFETY: the reserved slot is as large as the largest packet, and no handler runs.
        unsafe { place(seen, l2_address) };
        self.totals.processed += 1;
        let layout = &self.shared.contexts[packet.context as usize];
        let Workers::Inline(worker) = &mut self.workers else { return };
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
            self.busy_ns += packet.note(&done);
            if self.handlers {
                tell_handler(&done, &self.shared.machine, listener);
            }
        }
        tell_packet(&packet, &self.shared.machine, listener);
    }
}
