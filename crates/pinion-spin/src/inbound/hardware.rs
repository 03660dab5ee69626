//! Blocks of hardware in the place of the matching engine and the packet allocator, or beside them.
//!
//! In: frames that wait, and room that is freed. Out: which context takes a frame, and where it lies, as a block
//! in the model's place says; beside it, what the model says. A block that matches is asked about frames before
//! it is their turn, so that its own cycles lie within those of the machine (`matching.latency_cycles`).

use super::InboundEngine;
use crate::Frame;
use crate::hardware::PATIENCE_CYCLES;
use crate::hardware::matching_engine::{AHEAD, CYCLES};
use crate::hardware::packet_allocator::Answer;
use crate::machine::WhenFull;
use crate::matching::{Found, MatchingEngine, Verdict};
use crate::shared::Shared;

impl InboundEngine {
    /// Gives a packet's room in the packet buffer back; a frame may wait for it.
    #[inline]
    pub fn free(&mut self, shared: &mut Shared, now: u64, (number, address): (u64, u32)) {
        if let Some(seat) = shared.hardware.allocator() {
            seat.free(address);
        }
        if shared.hardware.allocated_bytes().is_none() {
            // Where there are blocks, room is there from the next cycle on.
            match shared.hardware.is_some() {
                true => self.freed.push((now, number, address)),
                false => self.buffer.free(number, address),
            }
        }
        self.room_came(shared, now);
    }

    /// Gives a packet room; `None`: it has to wait, `Some(None)`: it fits nowhere.
    pub(super) fn allocate(
        &mut self,
        shared: &mut Shared,
        now: u64,
        bytes: u32,
    ) -> Option<Option<u32>> {
        let may_wait = shared.machine.inbound.when_full != WhenFull::Drop;
        if let Some(seat) = shared.hardware.allocator().filter(|seat| !seat.compares) {
            let answer = seat.allocate(bytes, may_wait);
            if answer != Answer::Waits {
                self.block_from = None;
            } else if may_wait && shared.packets.live() == 0 {
                self.wait_for_block(shared, now);
            }
            return match answer {
                Answer::At(address) => Some(Some(address)),
                Answer::TooLarge => Some(None),
                Answer::Waits => None,
            };
        }
        if !self.freed.is_empty() {
            for (_, number, address) in self.freed.extract_if(.., |(at, ..)| *at < now) {
                self.buffer.free(number, address);
            }
        }
        let address = self.buffer.allocate(self.next_packet, bytes);
        if let Some(seat) = shared.hardware.allocator() {
            seat.follow(bytes, address, may_wait);
        }
        if address.is_none() && !self.freed.is_empty() {
            self.wake_inbound(shared, now + 1);
        }
        address.map(Some)
    }

    /// Looks again in the next cycle whether a block has answered, for as long as one is waited for.
    fn wait_for_block(&mut self, shared: &mut Shared, now: u64) {
        if now < *self.block_from.get_or_insert(now) + PATIENCE_CYCLES {
            self.wake_inbound(shared, now + 1);
        }
    }

    /// Gives the bytes of the packet buffer that are held.
    pub fn occupied_bytes(&self, shared: &Shared) -> u32 {
        shared.hardware.allocated_bytes().unwrap_or_else(|| self.buffer.occupied_bytes())
    }

    /// Describes what waits, for who looks at its blocks.
    pub fn describe(&self) -> String {
        let (waiting, next, held) =
            (self.fifo.len(), self.next_packet, self.buffer.occupied_bytes());
        format!("{waiting} frames wait, the next packet is {next}, {held} bytes are held")
    }

    /// Asks a block in the matching engine's place about frames that wait.
    pub(super) fn ask_block(&mut self, shared: &mut Shared, now: u64) {
        let Some(seat) = shared.hardware.matches() else { return };
        let delay = self.delay.saturating_sub(CYCLES);
        let behind = self.fifo.iter().skip(usize::from(self.known.is_some()));
        let unknown = behind.filter(|frame| frame.classification.is_none());
        while seat.asked() < AHEAD
            && let Some(frame) = unknown.clone().nth(seat.asked())
        {
            let arrival = shared.epoch + shared.clock.cycle_at(frame.arrival);
            seat.ask((arrival + delay).max(now), &frame.bytes);
        }
        // The next one is asked about before the first one's turn.
        if let Some(frame) = &self.upcoming {
            let comes = self.comes(shared, frame);
            self.wake_inbound(shared, comes);
        }
    }

    /// Says whether the first frame waits for a block in the matching engine's place.
    pub(super) fn waits_for_block(&mut self, shared: &mut Shared, now: u64) -> bool {
        let contexts = shared.contexts.list.len();
        let Some(seat) = shared.hardware.matches() else { return false };
        let Some(found) = seat.answer() else {
            self.wait_for_block(shared, now);
            return true;
        };
        self.block_from = None;
        self.found = found;
        if let Some(found) = found.filter(|found| found.context as usize >= contexts) {
            seat.refuse(found.context, contexts);
            self.found = None;
        }
        false
    }
}

/// Says where a frame goes, as the matching engine says, a block in its place has `found`, or both.
pub(super) fn classify_beside(
    shared: &mut Shared,
    matching: &mut MatchingEngine,
    frame: &Frame,
    found: Option<Found>,
) -> Verdict {
    match shared.hardware.matching() {
        None => matching.classify(&frame.bytes),
        Some(seat) if seat.compares => {
            let verdict = matching.classify(&frame.bytes);
            seat.follow(&frame.bytes, verdict, matching);
            verdict
        }
        Some(_) => {
            found.map_or(Verdict::Unmatched, |found| matching.classify_found(&frame.bytes, found))
        }
    }
}
