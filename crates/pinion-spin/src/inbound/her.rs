//! HERs (handler execution requests): one for each packet that was written to the packet buffer, in
//! order, one a cycle, to the MPQ engine. One that finds no cell and no queue waits here, and the
//! inbound engine's packets behind it.

use pinion_sim::turn_port::Side;

use super::InboundEngine;
use crate::context::Handlers;
use crate::hardware::mpq_engine::Her;
use crate::listener::{DropReason, Event, Listener};
use crate::machine::WhenFull;
use crate::matching::MatchingEngine;
use crate::mpq_engine::{MpqEngine, Refusal};
use crate::shared::{Shared, unit};
use crate::wake::Due;
use crate::{ContextId, UnitEventKind};

/// Names whom a HER meets: the MPQ engine, and the matching engine, which hears of messages that are evicted.
pub struct HerPath<'a> {
    pub mpq: &'a mut MpqEngine,
    pub matching: &'a mut MatchingEngine,
}

/// Describes the HER of a packet as hardware sees it.
fn her(shared: &Shared, slot: u32, handlers: Handlers) -> Her {
    let record = &shared.packets[slot].record;
    Her {
        packet: slot,
        context: record.context,
        message: record.message,
        end: record.end_of_message,
        has_header: handlers.header != 0,
        has_completion: handlers.completion != 0,
    }
}

impl InboundEngine {
    /// Lets the oldest packet's HER be handed over at `cycle`.
    pub fn wake_her(&mut self, shared: &mut Shared, cycle: u64) {
        shared.wake(&mut self.her_wake, cycle, Due::Her);
    }

    /// Tries again to hand a HER over, after something was freed.
    #[inline]
    pub fn retry_her(&mut self, shared: &mut Shared, now: u64) {
        if self.blocked {
            self.blocked = false;
            self.wake_her(shared, now);
        }
    }

    /// Hands the HER of the oldest written packet to the MPQ engine, one per cycle.
    #[inline]
    pub fn hand_her(
        &mut self,
        shared: &mut Shared,
        to: &mut HerPath<'_>,
        now: u64,
        listener: &mut dyn Listener,
    ) {
        self.blocked = false;
        let Some(&(slot, burst)) = self.writing.front() else { return };
        let ready = self.written(burst);
        if ready > now {
            return self.wake_her(shared, ready);
        }
        let context = shared.packets[slot].record.context;
        let handlers = shared.contexts.handlers[context.0 as usize];
        let timeout = self.message_timeout(shared, context);
        if shared.hardware.replaces_mpq() {
            let her = her(shared, slot, handlers);
            if !shared.hardware.mpq().is_some_and(|seat| seat.offer(&her)) {
                self.blocked = true; // the NIC asks the block in every cycle
                return;
            }
        } else {
            let accepted = to.mpq.accept(now, slot, &mut shared.packets, handlers, timeout);
            if shared.hardware.is_some() {
                let her = her(shared, slot, handlers);
                if let Some(seat) = shared.hardware.mpq() {
                    seat.follow_her(&her, accepted.is_ok());
                }
            }
            if let Err(refusal) = accepted {
                return self.refuse_her(shared, to, now, slot, refusal, listener);
            }
        }
        shared.totals.her_stall_cycles += now.saturating_sub(ready.max(self.her_from));
        self.her_from = now + 1;
        let (written, her) = (shared.time(ready), shared.time(now));
        let packet = &mut shared.packets[slot];
        (packet.record.written, packet.record.her) = (written, her);
        let (message, address) = (packet.record.message, packet.address);
        shared.tell(listener, || unit(UnitEventKind::HerIn, now, 0, 0, message, address));
        to.mpq.wake_at(shared, now + 1);
        self.next_her(shared, now);
    }

    #[inline]
    fn next_her(&mut self, shared: &mut Shared, now: u64) {
        if let Some((_, burst)) = self.writing.pop_front() {
            self.port.forget(now, Side::Stream, burst);
        }
        if let Some(&(_, burst)) = self.writing.front() {
            self.wake_her(shared, self.written(burst).max(now + 1));
        }
        self.room_came(shared, now);
    }

    fn message_timeout(&self, shared: &Shared, context: ContextId) -> u64 {
        let general = shared.machine.protection.message_timeout_cycles;
        if general == 0 {
            return u64::MAX;
        }
        shared.contexts.list[context.0 as usize].message_timeout_cycles.unwrap_or(general)
    }

    /// Deals with a HER that the MPQ engine cannot take.
    fn refuse_her(
        &mut self,
        shared: &mut Shared,
        to: &mut HerPath<'_>,
        now: u64,
        slot: u32,
        refusal: Refusal,
        listener: &mut dyn Listener,
    ) {
        if to.mpq.has_freed(now) {
            self.blocked = true;
            return self.wake_her(shared, now + 1);
        }
        if refusal == Refusal::NoQueue {
            if let Some(evicted) = to.mpq.evict(now) {
                to.matching.end_message(evicted.context.0, evicted.message);
                shared.totals.evicted += 1;
                let time = shared.time(now);
                let (context, message) = (evicted.context, evicted.message);
                listener.hear(&Event::MessageEvicted { time, context, message });
                return self.hand_her(shared, to, now, listener);
            }
            if shared.machine.inbound.when_full == WhenFull::Drop {
                return self.drop_her(shared, now, slot, listener);
            }
        }
        self.blocked = true;
        if refusal == Refusal::NoQueue {
            // Nothing may ever complete: the oldest unfinished message must be given up in time.
            if let Some(at) = to.mpq.next_eviction_cycle() {
                self.wake_her(shared, at.max(now + 1));
            }
        }
    }

    fn drop_her(&mut self, shared: &mut Shared, now: u64, slot: u32, listener: &mut dyn Listener) {
        let packet = &shared.packets[slot];
        let (number, address, bytes) = (packet.record.packet, packet.address, packet.record.bytes);
        shared.totals.count_drop(DropReason::NoQueue);
        let time = shared.time(now);
        let frame = shared.memories.read(address, bytes).unwrap_or(&[]);
        listener.hear(&Event::Dropped { time, reason: DropReason::NoQueue, frame });
        shared.packets.remove(slot);
        self.buffer.free(number, address);
        self.next_her(shared, now);
    }
}
